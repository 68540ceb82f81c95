/* Commands of the hotpath program: one function each, in cmd_NAME.c. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_COMMAND_H
#define HP_CLI_COMMAND_H

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct hp_command {
    const char *name;
    const char *usage;                 /* "hotpath report [--format FORMAT] [FILE]" */
    const char *help;                  /* one sentence */
    const char *details;               /* more lines for --help, each ended */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit status */
};

extern const struct hp_command hp_command_report;

/* What `hotpath help environment` prints. */
void hp_help_environment(void);

/* What `hotpath COMMAND --help` prints. */
void hp_command_help(const struct hp_command *command);

/* One line about wrong usage and where to find the right one, on stderr. Returns EXIT_USAGE. */
int hp_command_misuse(const struct hp_command *command, const char *problem, const char *subject);

#endif
