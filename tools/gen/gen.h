/* What is written from the tables of options and commands: one function each. SPDX-License-Identifier: MIT */
#ifndef GEN_H
#define GEN_H

#include <stdio.h>

#include "command.h"

void gen_environment(FILE *out);
void gen_bash(FILE *out);
void gen_zsh(FILE *out);
void gen_fish(FILE *out);

/* The end of the schema of reports: what is said of sections. */
void gen_schema(FILE *out);

/* The list of options of a command in the language of man pages. */
void gen_man_options(FILE *out, const struct hp_command *command);

/* One flag of a command, whichever table it comes from. */
struct gen_flag {
    const char *name, *value, *help, *variable; /* value and variable may be NULL */
    char letter;
};

/* The n-th flag of a command, --help the last; false when there are no more. */
bool gen_flag_of(const struct hp_command *command, size_t n, struct gen_flag *ret_flag);

#endif
