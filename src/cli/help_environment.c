/* hotpath help environment: the table of options as plain text. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "options.h"

#define TEXT_WIDTH 80
#define TEXT_INDENT 6

/* Breaks a text into indented lines. */
static void print_wrapped(const char *text)
{
    size_t column = 0;
    while (*text) {
        const size_t word = strcspn(text, " ");
        if (column > 0 && column + 1 + word > TEXT_WIDTH) {
            putchar('\n');
            column = 0;
        }
        if (column == 0)
            column = (size_t)printf("%*s", TEXT_INDENT, "");
        else
            column += (size_t)printf(" ");
        column += (size_t)printf("%.*s", (int)word, text);
        text += word;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void print_help_entry(const struct hp_option *option)
{
    char text[512];
    printf("\n  %s=%s\n", option->variable, option->value);
    snprintf(text, sizeof text, "%s Default: %s.", option->help,
             option->initial[0] ? option->initial : option->unset);
    print_wrapped(text);
}

void hp_help_environment(void)
{
    printf("Environment variables of programs that are measured with hotpath. Each overrules\n"
           "the program's own option; an empty one counts as not set.\n");
    for (size_t i = 0; i < hp_option_count; i++)
        print_help_entry(&hp_options[i]);
}
