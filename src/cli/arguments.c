/*
 * Parses the command line of a command with getopt_long. The option table is built from the command's own flags and
 * from the options whose scope the command takes. SPDX-License-Identifier: MIT
 */
#include "arguments.h"

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "cold.h"
#include "instrumented.h"
#include "options.h"
#include "process.h"
#include "section.h"
#include "session_dirs.h"
#include "spelling.h"
#include "text.h"

/* ------------------------------------------------------------------------------------------- requested sections */

/*
 * Checks the names of requested sections and columns before anything is run: an error at the end of a long run
 * would come too late.
 *
 * Only the sections know which columns exist, so this makes a report of an empty session that has all of them.
 */

/* ------------------------------------------------------------------------------------------------ sections */

static bool is_word(struct hp_spelling *spelling, const char *word)
{
    if (word == NULL)
        return false;
    hp_spelling_try(spelling, word);
    return hp_text_equal_nocase(spelling->word, spelling->length, word);
}

static bool is_section(struct hp_spelling *spelling, const hotpath_results *unused)
{
    (void)unused;
    bool is_known = is_word(spelling, "short") || is_word(spelling, "auto") || is_word(spelling, "all");
    for (size_t at = 0; at < hp_section_type_count && !is_known; at++)
        is_known = is_word(spelling, hp_section_types[at]->name) ||
                   is_word(spelling, hp_section_types[at]->alias) || is_word(spelling, hp_section_types[at]->group);
    return is_known;
}

/* ------------------------------------------------------------------------------------------------- columns */

static const hotpath_results *report_of_nothing(struct hp_arena *arena, const struct hp_settings *given)
{
    static struct hp_header header;
    static struct hp_snapshot snapshot;
    static struct hp_settings settings;
    static const struct hp_snapshot *const session = &snapshot;
    memcpy(header.magic, HP_MAGIC, sizeof header.magic);
    header.byte_order = HP_BYTE_ORDER;
    header.version = HP_LAYOUT_VERSION;
    header.header_bytes = HP_HEADER_BYTES;
    header.features = HP_FEATURE_TIMING | HP_FEATURE_ALLOC | HP_FEATURE_CPU;
    header.capacity = header.backed = header.used = HP_HEADER_BYTES;
    header.state = HP_STATE_FINISHED;
    header.main_site = UINT32_MAX;
    settings = *given;
    settings.show.by = HP_BY_THREAD; /* adds one more column */
    settings.show.columns[0] = settings.show.sort[0] = settings.show.focus[0] = settings.record.filter[0] = '\0';
    settings.show.report[0] = '\0';
    strcpy(settings.show.slowest, "/./");
    for (size_t at = 0; at < hp_section_type_count; at++) {
        const size_t length = strlen(settings.show.report);
        snprintf(settings.show.report + length, sizeof settings.show.report - length, "%s,",
                 hp_section_types[at]->name);
    }
    hp_cold_reader = hp_instrumented_read;
    if (hp_snapshot_open(&snapshot, (const unsigned char *)&header, sizeof header, NULL) != NULL)
        return NULL;
    const struct hp_snapshots sessions = {.all = &session, .count = 1};
    return hp_results_build(arena, &sessions, &settings);
}

/* As users write it: without the unit. */
static void try_column(struct hp_spelling *spelling, const hotpath_results *results, const char *key)
{
    static const char *const units[] = {"_ns", "_usable_bytes", "_bytes", "_count", "_blocks"};
    hp_spelling_try(spelling, key);
    for (size_t at = 0; at < sizeof units / sizeof units[0]; at++)
        if (hp_text_has_suffix(key, units[at])) {
            const char *stem = hp_arena_copy(results->model->arena, key, strlen(key) - strlen(units[at]));
            if (stem != NULL)
                hp_spelling_try(spelling, stem);
        }
}

static bool is_column(struct hp_spelling *spelling, const hotpath_results *results)
{
    bool is_known = results == NULL || is_word(spelling, "all");
    for (size_t at = 0; !is_known && at < results->section_count; at++) {
        const struct hotpath_section *section = results->sections[at];
        is_known = hp_section_has_column(section, spelling->word, spelling->length);
        for (size_t column = 0; column < section->column_count; column++)
            try_column(spelling, results, section->columns[column].shown.key);
    }
    return is_known;
}

/* ---------------------------------------------------------------------------------------------------- lists */

static const struct name_list {
    const char *variable, *what, *advice;
    size_t offset; /* in the list of the settings */
    bool (*is_known)(struct hp_spelling *spelling, const hotpath_results *results);
} name_lists[] = {
    {"HOTPATH_SECTIONS", "section", "; 'all' shows all sections", offsetof(struct hp_settings, show.report),
     is_section},
    {"HOTPATH_COLUMNS", "column", "; 'all' shows all columns", offsetof(struct hp_settings, show.columns),
     is_column},
    {"HOTPATH_SORT", "column", "; --columns all shows all columns", offsetof(struct hp_settings, show.sort),
     is_column},
};

static bool are_known_names(const struct name_list *names, const char *list, const hotpath_results *results,
                            char *problem, size_t size)
{
    size_t length;
    for (const char *item; (item = hp_text_next_item(&list, &length)) != NULL;) {
        const size_t minus = item[0] == '-';
        struct hp_spelling spelling = hp_spelling_of(item + minus, length - minus);
        if (names->is_known(&spelling, results))
            continue;
        snprintf(problem, size, "no %s '%.*s'%s%s%s", names->what, (int)spelling.length, spelling.word,
                 spelling.best != NULL ? " (did you mean '" : names->advice,
                 spelling.best != NULL ? spelling.best : "", spelling.best != NULL ? "'?)" : "");
        return false;
    }
    return true;
}

/*
 * Whether all sections or columns named by this option exist: HOTPATH_SECTIONS, HOTPATH_COLUMNS or HOTPATH_SORT;
 * other options name none. False: `problem` says which does not, and what may have been meant.
 */
static bool wishes_are_known(const struct hp_settings *settings, const char *variable, char *problem, size_t size)
{
    struct hp_arena arena = {0};
    bool are_known = true;
    for (size_t at = 0; at < sizeof name_lists / sizeof name_lists[0]; at++) {
        const struct name_list *names = &name_lists[at];
        const char *list = (const char *)settings + names->offset;
        if (strcmp(names->variable, variable) != 0 || list[0] == '\0')
            continue;
        const hotpath_results *results = names->is_known == is_column ? report_of_nothing(&arena, settings) : NULL;
        are_known = are_known_names(names, list, results, problem, size);
    }
    hp_arena_release(&arena);
    return are_known;
}

/* ---------------------------------------------------------------------------------------------------- arguments */

/* getopt's return values: letters come first, then the command's own flags, then options. */
#define OWN 256
#define SHARED 512
#define HELP 'h'
#define IN_PLACE 1 /* an operand; of commands with a divider they are returned one by one */

struct grammar {
    struct option longs[HP_MAX_FLAGS + HP_MAX_OPTIONS + 2];
    int what[256]; /* by letter */
    char shorts[3 * (HP_MAX_FLAGS + HP_MAX_OPTIONS) + 5];
    size_t long_count, short_length;
};

static void add_flag(struct grammar *grammar, const char *name, char letter, bool has_value, int what)
{
    grammar->longs[grammar->long_count++] =
        (struct option){name, has_value ? required_argument : no_argument, NULL, what};
    if (letter == 0)
        return;
    grammar->what[(unsigned char)letter] = what;
    grammar->shorts[grammar->short_length++] = letter;
    if (has_value)
        grammar->shorts[grammar->short_length++] = ':';
}

static bool has_value(const struct hp_option *option) { return option->type != HP_OPTION_FLAG; }

static void make_grammar(struct grammar *grammar, const struct hp_command *command)
{
    memset(grammar, 0, sizeof *grammar);
    if (command->stops_at_operand)
        grammar->shorts[grammar->short_length++] = '+';
    if (command->divider != NULL)
        grammar->shorts[grammar->short_length++] = '-';
    grammar->shorts[grammar->short_length++] = ':';
    for (size_t at = 0; at < command->flag_count && at < HP_MAX_FLAGS; at++) {
        const struct hp_flag *flag = &command->flags[at];
        add_flag(grammar, flag->name, flag->letter, flag->value != NULL, OWN + (int)at);
    }
    for (size_t at = 0; at < hp_option_count && at < HP_MAX_OPTIONS; at++)
        if (hp_options[at].scope & command->scopes)
            add_flag(grammar, hp_options[at].flag, hp_command_letter(command, hp_options[at].letter),
                     has_value(&hp_options[at]), SHARED + (int)at);
    add_flag(grammar, "help", HELP, false, HELP);
}

static int take_option(struct hp_arguments *arguments, size_t index, const char *value)
{
    const struct hp_option *option = &hp_options[index];
    char problem[400];
    arguments->options[index] = has_value(option) ? value : "1";
    if (hp_option_accepts(option, arguments->options[index], problem, sizeof problem))
        return -1;
    return hp_misuse(arguments->command, "--%s '%s' %s", option->flag, value, problem);
}

/* What is wrong with an option that getopt does not accept, from the number of names that begin like it. */
static const char *problem_of_long(const struct grammar *grammar, const char *word)
{
    const char *name = word + strspn(word, "-");
    const size_t length = strcspn(name, "=");
    size_t matches = 0;
    for (size_t at = 0; at < grammar->long_count; at++) {
        if (strncmp(grammar->longs[at].name, name, length) != 0)
            continue;
        if (grammar->longs[at].name[length] == '\0')
            return "takes no value";
        matches++;
    }
    return matches == 0 ? "is unknown" : matches == 1 ? "takes no value" : "is ambiguous";
}

/* getopt only says that something is wrong; which word it was depends on whether it was one of several letters. */
static int refuse(const struct hp_arguments *arguments, const struct grammar *grammar, char **argv, bool is_known)
{
    /* If a value is missing, some C libraries have moved past the end of argv. */
    const char *word = argv[optind - 1] != NULL ? argv[optind - 1] : "";
    if (optopt > 0 && optopt < OWN && strncmp(word, "--", 2) != 0)
        return hp_misuse(arguments->command, "option '-%c' %s", optopt, is_known ? "needs a value" : "is unknown");
    return hp_misuse(arguments->command, "option '%s' %s", word,
                     is_known ? "needs a value" : problem_of_long(grammar, word));
}

static bool is_repeatable(const struct hp_command *command, const char *flag)
{
    for (size_t at = 0; at < sizeof command->repeatable / sizeof command->repeatable[0]; at++)
        if (command->repeatable[at] != NULL && strcmp(command->repeatable[at], flag) == 0)
            return true;
    return false;
}

static int take(struct hp_arguments *arguments, const struct grammar *grammar, int what, char **argv)
{
    if (what == ':' || what == '?')
        return refuse(arguments, grammar, argv, what == ':');
    if (what < OWN)
        what = grammar->what[what];
    if (what == HELP) {
        hp_help_command(arguments->command);
        return EXIT_DONE;
    }
    if (what >= SHARED)
        return take_option(arguments, (size_t)(what - SHARED), optarg);
    const char *name = arguments->command->flags[what - OWN].name;
    arguments->flags[what - OWN] = optarg != NULL ? optarg : "";
    if (!is_repeatable(arguments->command, name))
        return -1;
    if (arguments->repeated_count == HP_MAX_REPEATED)
        return hp_misuse(arguments->command, "--%s is given more than %u times", name, HP_MAX_REPEATED);
    arguments->repeated_as[arguments->repeated_count] = name;
    arguments->repeated[arguments->repeated_count++] = optarg;
    return -1;
}

static const char *look_up(const char *variable, void *context)
{
    const char *given = hp_arguments_option(context, variable);
    return given != NULL ? given : getenv(variable);
}

static const char *variable_of(const struct hp_option *option)
{
    const char *value = getenv(option->variable);
    return option->other_variable == NULL || (value != NULL && value[0] != '\0') ? option->variable
                                                                                 : option->other_variable;
}

/*
 * A misspelt name on the command line is an error; in the environment it only costs a line, which the report prints
 * itself.
 */
static int check_lists(struct hp_arguments *arguments)
{
    static struct hp_settings settings;
    char problem[300];
    if (!(arguments->command->scopes & HP_SCOPE_SHOW))
        return -1;
    hp_settings_resolve(&settings, NULL, look_up, arguments, NULL, NULL);
    for (size_t at = 0; at < hp_option_count && at < HP_MAX_OPTIONS; at++) {
        const struct hp_option *option = &hp_options[at];
        if (wishes_are_known(&settings, option->variable, problem, sizeof problem))
            continue;
        if (arguments->options[at] != NULL)
            return hp_misuse(arguments->command, "--%s: %s", option->flag, problem);
        if (arguments->command->scopes & HP_SCOPE_RECORD)
            hp_fail("%s: %s", variable_of(option), problem);
    }
    return -1;
}

/*
 * Operands of a command with a divider, in the order they have. They are kept at the front of argv, where getopt
 * has been already. The value of the divider is the first of the others.
 */
static void take_in_place(struct hp_arguments *arguments, char **argv, int what)
{
    const size_t flag = (size_t)(what - OWN);
    const bool is_divider = what >= OWN && what < SHARED &&
                            strcmp(arguments->command->flags[flag].name, arguments->command->divider) == 0;
    if (is_divider)
        arguments->divided_at = arguments->operand_count;
    if (is_divider || what == IN_PLACE)
        argv[1 + arguments->operand_count++] = optarg;
}

/* Words after "--" are operands, too. */
static void end_in_place(struct hp_arguments *arguments, int argc, char **argv)
{
    for (int at = optind; at < argc; at++)
        argv[1 + arguments->operand_count++] = argv[at];
    arguments->operands = argv + 1;
    if (hp_arguments_flag(arguments, arguments->command->divider) == NULL)
        arguments->divided_at = arguments->operand_count;
}

int hp_arguments_read(struct hp_arguments *arguments, const struct hp_command *command, int argc, char **argv)
{
    struct grammar grammar;
    memset(arguments, 0, sizeof *arguments);
    arguments->command = command;
    make_grammar(&grammar, command);
    opterr = 0;
    optind = 0; /* reset getopt: this argv is not the program's */
    for (int what; (what = getopt_long(argc, argv, grammar.shorts, grammar.longs, NULL)) != -1;) {
        const int status = what == IN_PLACE ? -1 : take(arguments, &grammar, what, argv);
        if (status >= 0)
            return status;
        if (command->divider != NULL)
            take_in_place(arguments, argv, what);
    }
    if (command->divider != NULL) {
        end_in_place(arguments, argc, argv);
    } else {
        arguments->operands = argv + optind;
        arguments->operand_count = argc - optind;
    }
    if (command->operand == HP_OPERAND_NONE && arguments->operand_count > 0)
        return hp_misuse(command, "unexpected argument '%s'", arguments->operands[0]);
    return check_lists(arguments);
}

const char *hp_arguments_flag(const struct hp_arguments *arguments, const char *name)
{
    for (size_t at = 0; at < arguments->command->flag_count; at++)
        if (strcmp(arguments->command->flags[at].name, name) == 0)
            return arguments->flags[at];
    return NULL;
}

bool hp_arguments_timestamp(const struct hp_arguments *arguments, const char *name,
                            struct hp_timestamp *ret_timestamp)
{
    const char *text = hp_arguments_flag(arguments, name);
    if (text == NULL || hp_timestamp_read(text, ret_timestamp))
        return true;
    hp_misuse(arguments->command, "--%s '%s' is not a time such as 2s, 1m30s, 80%% or -10s", name, text);
    return false;
}

const char *hp_arguments_option(const struct hp_arguments *arguments, const char *variable)
{
    for (size_t at = 0; at < hp_option_count && at < HP_MAX_OPTIONS; at++)
        if (strcmp(hp_options[at].variable, variable) == 0)
            return arguments->options[at];
    return NULL;
}

static void warn(const char *line, void *context)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

/*
 * --tree adds the call tree to the chosen sections, --cold the functions never called. --verbose is instead of the
 * short report: it adds nothing where --section names what to show.
 */
static void add_section(const struct hp_arguments *arguments, const char *flag, struct hp_settings *settings,
                        const char *item)
{
    const size_t length = strlen(settings->show.report);
    if (hp_arguments_flag(arguments, flag) != NULL && length + strlen(item) < sizeof settings->show.report)
        memcpy(settings->show.report + length, item, strlen(item) + 1);
}

/*
 * Inside a run, HOTPATH_DIR is the folder of that run; this command is about all sessions, in the folder above it.
 */
static void leave_run(struct hp_settings *settings)
{
    char *slash = strrchr(settings->record.dir, '/');
    settings->record.is_run = false;
    if (slash != NULL && hp_text_has_suffix(settings->record.dir, HP_RUN_SUFFIX))
        *slash = '\0';
}

void hp_arguments_settle(const struct hp_arguments *arguments, struct hp_settings *settings)
{
    struct hp_arguments copy = *arguments;
    hp_settings_resolve(settings, NULL, look_up, &copy, warn, NULL);
    hp_options_warn_unknown(hp_environment_all(), warn, NULL);
    if (settings->record.is_run && hp_arguments_option(arguments, "HOTPATH_DIR") == NULL)
        leave_run(settings);
    const char *named = hp_arguments_option(arguments, "HOTPATH_SECTIONS");
    if (named == NULL || hp_text_equal_nocase(named, strlen(named), "short"))
        add_section(arguments, "verbose", settings, ",auto");
    add_section(arguments, "tree", settings, ",tree");
    add_section(arguments, "cold", settings, ",cold");
}
