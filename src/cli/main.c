/* The hotpath program: a table of commands. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "hotpath.h"

static const struct hp_command *const commands[] = {
    &hp_command_report,
};

#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

void hp_command_help(const struct hp_command *command)
{
    printf("usage: %s\n\n%s\n\n%s", command->usage, command->help, command->details);
}

int hp_command_misuse(const struct hp_command *command, const char *problem, const char *subject)
{
    fprintf(stderr, "hotpath: %s '%s'; see 'hotpath %s --help'\n", problem, subject, command->name);
    return EXIT_USAGE;
}

static int print_help(void)
{
    printf("hotpath " HOTPATH_VERSION ": the all-in-one profiler for C and C++ programs\n\n"
           "usage: hotpath COMMAND [OPTIONS]\n       hotpath --help | --version\n\ncommands:\n");
    for (size_t at = 0; at < COMMAND_COUNT; at++)
        printf("  %-10s %s\n", commands[at]->name, commands[at]->help);
    printf("\n'hotpath COMMAND --help' says more about each, 'hotpath help environment' lists the variables.\n");
    return EXIT_DONE;
}

static const struct hp_command *find(const char *name)
{
    for (size_t at = 0; at < COMMAND_COUNT; at++)
        if (strcmp(commands[at]->name, name) == 0)
            return commands[at];
    return NULL;
}

static int misuse(const char *problem, const char *subject)
{
    fprintf(stderr, "hotpath: %s%s%s%s; see 'hotpath --help'\n", problem, *subject ? " '" : "", subject,
            *subject ? "'" : "");
    return EXIT_USAGE;
}

static int help(int argc, char **argv)
{
    if (argc < 3)
        return print_help();
    if (strcmp(argv[2], "environment") == 0) {
        hp_help_environment();
        return EXIT_DONE;
    }
    const struct hp_command *command = find(argv[2]);
    if (command == NULL)
        return misuse("unknown command", argv[2]);
    hp_command_help(command);
    return EXIT_DONE;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return misuse("a command is missing", "");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return help(argc, argv);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("hotpath " HOTPATH_VERSION);
        return EXIT_DONE;
    }
    const struct hp_command *command = find(argv[1]);
    if (command == NULL)
        return misuse(argv[1][0] == '-' ? "unknown option" : "unknown command", argv[1]);
    return command->run(argc - 1, argv + 1);
}
