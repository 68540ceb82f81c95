/* The command line of a command, read by its table of flags. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_ARGUMENTS_H
#define HP_CLI_ARGUMENTS_H

#include "command.h"
#include "options.h"

#define HP_MAX_FLAGS 16u

struct hp_arguments {
    const struct hp_command *command;
    const char
        *flags[HP_MAX_FLAGS]; /* by index in the command's flags: the value, "" without one, NULL: not given */
    const char *options[HP_MAX_OPTIONS]; /* likewise, by index in hp_options */
    char **operands;
    int operand_count;
};

/*
 * Reads argv, of which argv[0] is the command's name. -1: go on. Anything else is the exit status: help was asked for
 * and printed, or something is wrong and one line says what.
 */
int hp_arguments_read(struct hp_arguments *arguments, const struct hp_command *command, int argc, char **argv);

/* The value of the command's own flag of this name, NULL when it was not given. */
const char *hp_arguments_flag(const struct hp_arguments *arguments, const char *name);

/* The value of an option that was given as a flag, NULL when it was not; `variable` is its name in the environment. */
const char *hp_arguments_option(const struct hp_arguments *arguments, const char *variable);

/* The settings: flags, then the environment, then defaults. Wrong values in the environment cost a line each. */
void hp_arguments_settle(const struct hp_arguments *arguments, struct hp_settings *settings);

#endif
