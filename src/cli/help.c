/* The table of commands, and help from it and the table of options. SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agents_page.h"
#include "arguments.h"
#include "command.h"
#include "options.h"
#include "text.h"
#include "utf8.h"

#define ENTRY(name) &hp_command_##name,
const struct hp_command *const hp_commands[] = {HP_COMMANDS(ENTRY)};
const size_t hp_command_count = sizeof hp_commands / sizeof hp_commands[0];

const struct hp_command *hp_command_find(const char *name)
{
    for (size_t at = 0; at < hp_command_count; at++)
        if (strcmp(hp_commands[at]->name, name) == 0)
            return hp_commands[at];
    return NULL;
}

char hp_command_letter(const struct hp_command *command, char letter)
{
    for (size_t at = 0; at < command->flag_count; at++)
        if (command->flags[at].letter == letter)
            return 0;
    return letter;
}

bool hp_command_reads(const struct hp_command *command, const char *variable)
{
    return command->ignored_variable == NULL || strcmp(command->ignored_variable, variable) != 0;
}

/* ----------------------------------------------------------------------------------------------- help */

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

/* ----------------------------------------------------------------------------------------- environment */

static void print_help_entry(const struct hp_option *option)
{
    char text[512];
    printf("\n  %s=%s%s%s\n", option->variable, option->value, option->other_variable != NULL ? "  or " : "",
           option->other_variable != NULL ? option->other_variable : "");
    snprintf(text, sizeof text, "%s Default: %s.", option->help,
             option->initial[0] ? option->initial : option->unset);
    print_wrapped(text);
}

void hp_help_environment(void)
{
    printf("Environment variables of programs that are measured with hotpath. Each overrides\n"
           "the option set in the program; an empty variable counts as not set.\n");
    for (size_t i = 0; i < hp_option_count; i++)
        print_help_entry(&hp_options[i]);
}

/* --------------------------------------------------------------------------------------------- a command */

static void print_flag(const char *name, char letter, const char *value, const char *help)
{
    if (letter != 0)
        printf("  -%c, --%s", letter, name);
    else
        printf("  --%s", name);
    if (value != NULL)
        printf(" %s", value);
    putchar('\n');
    print_wrapped(help);
}

static void print_option(const struct hp_command *command, const struct hp_option *option)
{
    char text[600];
    if (hp_command_reads(command, option->variable))
        snprintf(text, sizeof text, "%s (%s)", option->help, option->variable);
    else
        snprintf(text, sizeof text, "%s", option->help);
    print_flag(option->flag, hp_command_letter(command, option->letter),
               option->type == HP_OPTION_FLAG ? NULL : option->value, text);
}

void hp_help_command(const struct hp_command *command)
{
    const bool has_options = command->flag_count > 0 || command->scopes != 0;
    printf("usage: hotpath %s%s%s%s\n\n%s\n", command->name, has_options ? " [OPTIONS]" : "",
           command->operands[0] ? " " : "", command->operands, command->summary);
    if (command->details[0])
        printf("\n%s", command->details);
    printf("\noptions:\n");
    for (size_t at = 0; at < command->flag_count; at++) {
        const struct hp_flag *flag = &command->flags[at];
        print_flag(flag->name, flag->letter, flag->value, flag->help);
    }
    for (size_t at = 0; at < hp_option_count; at++)
        if (hp_options[at].scope & command->scopes)
            print_option(command, &hp_options[at]);
    print_flag("help", 'h', NULL, "Show this help.");
}

static void print_group(const char *title, enum hp_group group)
{
    printf("\n%s:\n", title);
    for (size_t at = 0; at < hp_command_count; at++)
        if (hp_commands[at]->group == group)
            printf("  %-8s %s\n", hp_commands[at]->name, hp_commands[at]->summary);
}

void hp_help_overview(void)
{
    printf("hotpath " HOTPATH_VERSION ": profiler for C and C++ programs\n\n"
           "usage: hotpath COMMAND [OPTIONS] ...\n"
           "       hotpath ./PROGRAM [ARGUMENTS]     short for: hotpath run ./PROGRAM ...\n"
           "       hotpath --help | --version\n");
    print_group("record", HP_GROUP_RECORD);
    print_group("look", HP_GROUP_LOOK);
    printf("\ncompare:\n"
           "  open --view flame --against SESSION\n           Shows in the flame graph what grew and what shrank "
           "since another run.\n");
    print_group("control", HP_GROUP_CONTROL);
    printf("\n"
           "Run 'hotpath COMMAND --help' for the options of a command, and\n"
           "'hotpath help environment' for the environment variables of measured programs.\n");
}

/* ------------------------------------------------------------------------------------------------ errors */

/* Names and paths come from anywhere; none may control the terminal. */
void hp_copy_printable(char *copy, size_t size, const char *from)
{
    struct hp_text text;
    hp_text_init(&text, copy, size);
    hp_utf8_put_safe(&text, from, strlen(from));
    hp_text_end(&text);
}

static char latest_failure[4096];

const char *hp_failure(void) { return latest_failure; }

__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list values)
{
    char line[2048];
    vsnprintf(line, sizeof line, format, values);
    hp_copy_printable(latest_failure, sizeof latest_failure, line);
    fprintf(stderr, "hotpath: %s", latest_failure);
}

int hp_fail(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say(format, values);
    va_end(values);
    fputc('\n', stderr);
    return EXIT_FAILED;
}

int hp_misuse(const struct hp_command *command, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say(format, values);
    va_end(values);
    fprintf(stderr, "; see 'hotpath %s%s--help'\n", command != NULL ? command->name : "",
            command != NULL ? " " : "");
    return EXIT_USAGE;
}

bool hp_write_to_stream(void *stream, const char *bytes, size_t length)
{
    return fwrite(bytes, 1, length, stream) == length;
}

/* ------------------------------------------------------------------------------------------ the command */

static void print_agents_page(void)
{
    char buffer[4096];
    struct hp_text text;
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_write_to_stream, stdout);
    hp_agents_page_put(&text);
    hp_text_finish(&text);
}

static int help(const struct hp_arguments *arguments)
{
    if (arguments->operand_count > 1)
        return hp_misuse(&hp_command_help, "unexpected argument '%s'", arguments->operands[1]);
    if (arguments->operand_count == 0) {
        hp_help_overview();
        return EXIT_DONE;
    }
    const char *topic = arguments->operands[0];
    const struct hp_command *command = hp_command_find(topic);
    if (strcmp(topic, "environment") == 0)
        hp_help_environment();
    else if (strcmp(topic, "agents") == 0)
        print_agents_page();
    else if (command != NULL)
        hp_help_command(command);
    else
        return hp_misuse(NULL, "no command '%s'", topic);
    return EXIT_DONE;
}

const struct hp_command hp_command_help = {
    .name = "help",
    .group = HP_GROUP_CONTROL,
    .operands = "[COMMAND|environment|agents]",
    .operand = HP_OPERAND_TOPIC,
    .summary = "Explains a command, the environment variables, or the workflow for agents.",
    .details = "",
    .run = help,
};
