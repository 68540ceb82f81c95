/* Generators of texts from the tables of options and commands: one function each. SPDX-License-Identifier: MIT */
#ifndef GEN_H
#define GEN_H

#include <stdio.h>

#include "command.h"

void gen_environment(FILE *out);
void gen_bash(FILE *out);
void gen_zsh(FILE *out);
void gen_fish(FILE *out);

/* The end of the schema of reports: the sections. */
void gen_schema(FILE *out);

/* In man page format: the list of options of a command, and that of all commands. */
void gen_man_options(FILE *out, const struct hp_command *command);
void gen_man_commands(FILE *out);

/* One flag of a command, from either table. */
struct gen_flag {
    const char *name, *value, *help, *variable; /* value and variable may be NULL */
    char letter;
};

/* The nth flag of a command, --help last; false: there are no more. */
bool gen_flag_of(const struct hp_command *command, size_t n, struct gen_flag *ret_flag);

#endif
