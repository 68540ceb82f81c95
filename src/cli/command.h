/*
 * The commands of the hotpath program, as data. One table drives dispatch, help, completions and the option lists
 * in the man pages. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_COMMAND_H
#define HP_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* A flag of one command alone. Flags from the table of options are selected by `scopes`. */
struct hp_flag {
    const char *name;  /* tree: --tree */
    char letter;       /* t: -t; 0 when there is none */
    const char *value; /* name of its value in the help; NULL: takes none */
    const char *help;  /* one sentence */
};

/* What an operand can be, for completions. */
enum hp_operand { HP_OPERAND_NONE, HP_OPERAND_SESSION, HP_OPERAND_PROCESS, HP_OPERAND_PROGRAM, HP_OPERAND_TOPIC };

/* What it is for: its place in the overview. */
enum hp_group { HP_GROUP_RECORD, HP_GROUP_LOOK, HP_GROUP_CONTROL };

struct hp_arguments;

struct hp_command {
    const char *name;
    enum hp_group group;
    const char *operands; /* "[SESSION]", as in the usage line */
    enum hp_operand operand;
    const char *summary; /* one sentence */
    const char *details; /* paragraphs for --help; every line ends with a newline */
    const struct hp_flag *flags;
    size_t flag_count;
    uint32_t scopes;              /* enum hp_option_scope: options that are flags here */
    const char *ignored_variable; /* of an option that is a flag here; NULL: the command reads all of them */
    bool stops_at_operand;        /* words after the first operand belong to the program */
    const char *repeatable[2];    /* flags that may be given several times; their values are in `repeated` */
    const char *divider;          /* a flag that divides the operands: its value and all after it are the others */
    int (*run)(const struct hp_arguments *arguments);
};

/* All commands, in the order of the help, which has them by group; each is one file. A new one is one line here. */
#define HP_COMMANDS(COMMAND)                                                                                       \
    COMMAND(demo)                                                                                                  \
    COMMAND(run)                                                                                                   \
    COMMAND(record)                                                                                                \
    COMMAND(console)                                                                                               \
    COMMAND(stacks)                                                                                                \
    COMMAND(report)                                                                                                \
    COMMAND(open)                                                                                                  \
    COMMAND(serve)                                                                                                 \
    COMMAND(agent)                                                                                                 \
    COMMAND(mcp)                                                                                                   \
    COMMAND(annotate)                                                                                              \
    COMMAND(diff)                                                                                                  \
    COMMAND(bench)                                                                                                 \
    COMMAND(check)                                                                                                 \
    COMMAND(export)                                                                                                \
    COMMAND(ls)                                                                                                    \
    COMMAND(clean)                                                                                                 \
    COMMAND(on)                                                                                                    \
    COMMAND(off)                                                                                                   \
    COMMAND(doctor)                                                                                                \
    COMMAND(help)
#define HP_DECLARE_COMMAND_(name) extern const struct hp_command hp_command_##name;
HP_COMMANDS(HP_DECLARE_COMMAND_)

extern const struct hp_command *const hp_commands[];
extern const size_t hp_command_count;

const struct hp_command *hp_command_find(const char *name);

/* The letter of an option in this command; 0: a flag of the command itself uses it. */
char hp_command_letter(const struct hp_command *command, char letter);

/* Whether this command reads the variable of an option. */
bool hp_command_reads(const struct hp_command *command, const char *variable);

/* What `hotpath COMMAND --help`, `hotpath --help` and `hotpath help environment` print. */
void hp_help_command(const struct hp_command *command);
void hp_help_overview(void);
void hp_help_environment(void);

/* Print "hotpath: " and one line on stderr. Return EXIT_FAILED and EXIT_USAGE. */
int hp_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int hp_misuse(const struct hp_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The latest of these lines, without "hotpath: "; "": none. `hotpath mcp` tells it its client. */
const char *hp_failure(void);

/* Copies a text from an untrusted source, without terminal control characters. */
void hp_copy_printable(char *copy, size_t size, const char *from);

/* A sink for hp_text_init_stream and hp_report_render whose context is a FILE. */
bool hp_write_to_stream(void *stream, const char *bytes, size_t length);

#endif
