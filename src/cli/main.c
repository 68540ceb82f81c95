/* The hotpath program: dispatches to its commands. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arguments.h"
#include "command.h"
#include "program_file.h"
#include "spelling.h"

/* --------------------------------------------------------------------------------------- mistyped names */

/* The command that was probably meant, or NULL. */
static const char *nearest(const char *name)
{
    struct hp_spelling spelling = hp_spelling_of(name, strlen(name));
    for (size_t at = 0; at < hp_command_count; at++)
        hp_spelling_try(&spelling, hp_commands[at]->name);
    return spelling.best;
}

/* ---------------------------------------------------------------------------------------------- dispatch */

static int run(const struct hp_command *command, int argc, char **argv)
{
    struct hp_arguments arguments;
    const int status = hp_arguments_read(&arguments, command, argc, argv);
    return status >= 0 ? status : command->run(&arguments);
}

/* Not a command: a program to run, or a typing error. argv begins one word earlier, as commands expect. */
static int run_program(int argc, char **argv)
{
    const char *name = argv[1];
    if (strcmp(name, "flame") == 0)
        return hp_misuse(NULL, "the flame graph is now a view: hotpath open --view flame");
    const char *meant = strchr(name, '/') == NULL ? nearest(name) : NULL;
    if (meant != NULL)
        return hp_misuse(NULL,
                         "no command '%s'; did you mean '%s'? To run a program of that name, use 'hotpath run %s'",
                         name, meant, name);
    if (strchr(name, '/') == NULL && !hp_is_in_path(name))
        return hp_misuse(NULL, "no command and no program '%s'", name);
    return run(&hp_command_run, argc, argv);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2 || argv[1][0] == '\0')
        return hp_misuse(NULL, "missing command");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        hp_help_overview();
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("hotpath " HOTPATH_VERSION);
        return EXIT_DONE;
    }
    if (argv[1][0] == '-')
        return hp_misuse(NULL, "unknown option '%s'", argv[1]);
    const struct hp_command *command = hp_command_find(argv[1]);
    return command != NULL ? run(command, argc - 1, argv + 1) : run_program(argc, argv);
}

int main(int argc, char **argv)
{
    const int status = dispatch(argc, argv);
    if (fflush(stdout) != 0 && status == EXIT_DONE)
        return hp_fail("cannot write to standard output: %s", strerror(errno));
    return status;
}
