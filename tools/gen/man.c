/* Lists of options and commands in man page format. SPDX-License-Identifier: MIT */
#include <string.h>

#include "gen.h"

/* A typed dash is not a hyphen, a backslash is escaped, and a line must not begin with a dot or a quote. */
static void put(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text != '\0'; text++) {
        if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\\')
            fputs("\\e", out);
        else
            fputc(*text, out);
    }
}

static void put_flag(FILE *out, const struct gen_flag *flag)
{
    fputs(".TP\n", out);
    if (flag->letter != 0)
        fprintf(out, "\\fB\\-%c\\fR, ", flag->letter);
    fputs("\\fB\\-\\-", out);
    put(out, flag->name);
    fputs("\\fR", out);
    if (flag->value != NULL) {
        fputs(" \\fI", out);
        put(out, flag->value);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put(out, flag->help);
    fputc('\n', out);
    if (flag->variable != NULL)
        fprintf(out, "In the environment: \\fB%s\\fR.\n", flag->variable);
}

void gen_man_options(FILE *out, const struct hp_command *command)
{
    struct gen_flag flag;
    for (size_t n = 0; gen_flag_of(command, n, &flag); n++)
        put_flag(out, &flag);
}

void gen_man_commands(FILE *out)
{
    for (size_t at = 0; at < hp_command_count; at++) {
        fprintf(out, ".TP\n.BR hotpath\\-%s (1)\n", hp_commands[at]->name);
        put(out, hp_commands[at]->summary);
        fputc('\n', out);
    }
}
