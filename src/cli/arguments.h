/* The command line of a command, parsed by its table of flags. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_ARGUMENTS_H
#define HP_CLI_ARGUMENTS_H

#include "command.h"
#include "options.h"
#include "timestamp.h"

#define HP_MAX_FLAGS 16u
#define HP_MAX_REPEATED 16u

struct hp_arguments {
    const struct hp_command *command;
    const char
        *flags[HP_MAX_FLAGS]; /* by index in the command's flags: the value, "" without one, NULL: not given */
    const char *options[HP_MAX_OPTIONS];      /* likewise, by index in hp_options */
    const char *repeated[HP_MAX_REPEATED];    /* values of the command's repeatable flags, in their order, ... */
    const char *repeated_as[HP_MAX_REPEATED]; /* ... with the names of the flags */
    size_t repeated_count;
    char **operands;
    int operand_count;
    int divided_at; /* operands before the command's divider; the others begin there */
};

/*
 * Parses argv; argv[0] is the command's name. Returns -1 to go on, else the exit status: help was printed, or one
 * line says what is wrong.
 */
int hp_arguments_read(struct hp_arguments *arguments, const struct hp_command *command, int argc, char **argv);

/* The value of the command's own flag of this name; NULL: not given. */
const char *hp_arguments_flag(const struct hp_arguments *arguments, const char *name);

/* Reads a flag that is a moment of a run. False: it is given but is none; one line on stderr says so. */
bool hp_arguments_timestamp(const struct hp_arguments *arguments, const char *name,
                            struct hp_timestamp *ret_timestamp);

/* The value of an option given as a flag; NULL: not given. `variable` is its name in the environment. */
const char *hp_arguments_option(const struct hp_arguments *arguments, const char *variable);

/*
 * Fills in the settings: flags first, then the environment, then defaults. Each wrong value in the environment
 * costs a line.
 */
void hp_arguments_settle(const struct hp_arguments *arguments, struct hp_settings *settings);

#endif
