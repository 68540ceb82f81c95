/*
 * The table of options, the parsers of their values, and the way from all sources to one struct of settings.
 *
 * Values are applied level by level (defaults, program, environment) and, within a level, in the order of the
 * table. That alone makes HOTPATH_LIMIT work: it stands before the limits of single sections and sets them all, so
 * that a single one overrules it within its own level and is overruled by it from the next. Warnings are written
 * when all levels are done, because only then is it known what is used instead.
 *
 * A parser writes to the settings when all is well, and otherwise says what is wrong as the end of a sentence that
 * begins with the value: "is not a number". So a value that failed can be parsed again for its sentence.
 *
 * SPDX-License-Identifier: MIT
 */
#include "options.h"

#include <errno.h>
#include <string.h>

#include "files.h"
#include "layout.h"
#include "memory.h"
#include "number.h"
#include "spelling.h"
#include "text.h"

#define PROBLEM_BYTES 360
#define LINE_BYTES 640
#define SHOWN_BYTES 40
#define LIST_FILE_BYTES 65536 /* of a file of patterns */

/* ---------------------------------------------------------------------------------------------- parsers */

static bool complain(struct hp_text *problem, const char *what)
{
    hp_text_string(problem, what);
    return false;
}

static void *setting(const struct hp_option *option, struct hp_settings *settings)
{
    return (char *)settings + option->settings_offset;
}

static bool complain_too_long(struct hp_text *problem, const struct hp_option *option)
{
    hp_text_string(problem, "is longer than ");
    hp_text_u64(problem, option->settings_size - 1);
    hp_text_string(problem, " bytes");
    return false;
}

static bool parse_text(const struct hp_option *option, const char *text, struct hp_settings *settings,
                       struct hp_text *ret_problem)
{
    const size_t length = strlen(text);
    if (length >= option->settings_size)
        return complain_too_long(ret_problem, option);
    memcpy(setting(option, settings), text, length + 1);
    return true;
}

static bool parse_pattern(const struct hp_option *option, const char *text, struct hp_settings *settings,
                          struct hp_text *ret_problem)
{
    struct hp_pattern pattern;
    if (strlen(text) >= option->settings_size)
        return complain_too_long(ret_problem, option);
    const char *error = hp_pattern_compile(&pattern, text);
    if (!error)
        return parse_text(option, text, settings, ret_problem);
    hp_text_string(ret_problem, "is not a text or /regex/: ");
    hp_text_string(ret_problem, error);
    return false;
}

_Static_assert(sizeof((struct hp_settings *)0)->show.slowest == HP_PATTERN_BYTES, "every name fits into a pattern");

/* ---------------------------------------------------------------------------------- lists of patterns */

/* Bytes of a value as one can show them on any terminal and in any log. */
static void add_shown(struct hp_text *line, const char *value)
{
    size_t shown = 0;
    for (; value[shown] && shown < SHOWN_BYTES; shown++) {
        const unsigned char byte = (unsigned char)value[shown];
        if (byte >= ' ' && byte <= '~') {
            hp_text_char(line, (char)byte);
        } else {
            hp_text_string(line, "\\x");
            hp_text_hex(line, byte, 2);
        }
    }
    if (value[shown])
        hp_text_string(line, "...");
}

/* What reading a list takes: too much for a stack. */
struct list_reader {
    struct hp_text *problem;
    struct hp_text list;
    char list_bytes[HP_PATTERN_LIST_BYTES];
    struct hp_pattern scratch;
    char path[1024];
    char file[LIST_FILE_BYTES + 1];
};

/* "line 3 of 'functions.txt': ", or without a line "the file 'functions.txt' " */
static bool complain_about_file(const struct list_reader *reader, size_t line, const char *what)
{
    struct hp_text *problem = reader->problem;
    hp_text_string(problem, line > 0 ? "line " : "the file '");
    if (line > 0) {
        hp_text_u64(problem, line);
        hp_text_string(problem, " of '");
    }
    add_shown(problem, reader->path);
    hp_text_string(problem, line > 0 ? "': " : "' ");
    hp_text_string(problem, what);
    return false;
}

static bool complain_unreadable(const struct list_reader *reader, int error)
{
    complain_about_file(reader, 0, "cannot be read: ");
    return complain(reader->problem, hp_file_error(error));
}

/* The file that an item @PATH names. Other than regular ones could keep us waiting. */
static bool read_list_file(struct list_reader *reader, const char *path, size_t length)
{
    if (length == 0)
        return complain(reader->problem, "'@' has no path behind it");
    if (length >= sizeof reader->path)
        return complain(reader->problem, "the path behind '@' is longer than 1023 bytes");
    memcpy(reader->path, path, length);
    reader->path[length] = '\0';
    const ssize_t size = hp_file_read_regular(reader->path, reader->file, sizeof reader->file);
    if (size < 0)
        return complain_unreadable(reader, errno);
    if (size > LIST_FILE_BYTES)
        return complain_about_file(reader, 0, "is longer than 65536 bytes");
    if (memchr(reader->file, '\0', (size_t)size) != NULL)
        return complain_about_file(reader, 0, "is no text");
    reader->file[size] = '\0';
    return true;
}

_Static_assert(LIST_FILE_BYTES == 65536, "the message above names the limit");

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static bool add_line(struct list_reader *reader, const char *line, size_t length, size_t number, bool is_out)
{
    char bytes[PROBLEM_BYTES];
    struct hp_text what;
    for (; length > 0 && is_blank(line[0]); length--)
        line++;
    while (length > 0 && is_blank(line[length - 1]))
        length--;
    if (length == 0 || line[0] == '#')
        return true;
    if (line[0] == '@' || (line[0] == '-' && line[1] == '@'))
        return complain_about_file(reader, number, "a file cannot name another");
    hp_text_init(&what, bytes, sizeof bytes);
    if (!hp_pattern_item_check(line, length, &reader->scratch, &what))
        return complain_about_file(reader, number, hp_text_end(&what));
    hp_pattern_list_put(&reader->list, line, length, is_out);
    return true;
}

static bool add_file(struct list_reader *reader, const char *path, size_t length, bool is_out)
{
    size_t number = 0;
    if (!read_list_file(reader, path, length))
        return false;
    for (const char *line = reader->file, *end; *line != '\0'; line = end + (*end != '\0')) {
        end = line + strcspn(line, "\n");
        if (!add_line(reader, line, (size_t)(end - line), ++number, is_out))
            return false;
    }
    return true;
}

/* Puts what files hold in the place of their names. */
static bool read_list(struct list_reader *reader, const char *text)
{
    size_t length;
    for (const char *rest = text, *item; (item = hp_pattern_list_next(&rest, &length)) != NULL;) {
        const bool is_out = item[0] == '-', is_file = item[is_out] == '@';
        if (!is_file)
            hp_pattern_list_put(&reader->list, item, length, false);
        else if (!add_file(reader, item + is_out + 1, length - is_out - 1, is_out))
            return false;
    }
    hp_text_end(&reader->list);
    return !reader->list.is_cut || complain(reader->problem, "the list is longer than 8191 bytes");
}

_Static_assert(HP_PATTERN_LIST_BYTES == 8192, "the message above names the limit");

static bool compile_list(const char *text, struct hp_text *problem)
{
    struct hp_pattern_list *list = hp_memory_map(sizeof *list);
    const bool is_good = list != NULL ? hp_pattern_list_compile(list, text, false, problem)
                                      : complain(problem, "there is no memory for it");
    hp_memory_unmap(list, sizeof *list);
    return is_good;
}

static bool parse_patterns(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem)
{
    char bytes[PROBLEM_BYTES];
    struct hp_text what;
    struct list_reader *reader = hp_memory_map(sizeof *reader);
    if (reader == NULL)
        return complain(ret_problem, "has no effect: there is no memory for it");
    hp_text_init(&what, bytes, sizeof bytes);
    hp_text_init(&reader->list, reader->list_bytes, sizeof reader->list_bytes);
    reader->problem = &what;
    const bool is_good = read_list(reader, text) && compile_list(reader->list_bytes, &what);
    if (is_good) {
        memcpy(setting(option, settings), reader->list_bytes, sizeof reader->list_bytes);
    } else {
        hp_text_string(ret_problem, "is not a list of texts, globs and /regex/: ");
        hp_text_string(ret_problem, hp_text_end(&what));
    }
    hp_memory_unmap(reader, sizeof *reader);
    return is_good;
}

/* ----------------------------------------------------------------------------------------- other lists */

static bool is_name_byte(char c, bool is_first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (!is_first && (c == '_' || c == '-' || c == '.'));
}

/* A name of a section or column, with an optional minus in front. */
static bool is_name(const char *item, size_t length)
{
    const size_t start = length > 0 && item[0] == '-';
    for (size_t i = start; i < length; i++)
        if (!is_name_byte(item[i], i == start))
            return false;
    return length > start;
}

static bool is_pair(const char *item, size_t length)
{
    const char *equals = memchr(item, '=', length);
    return equals != NULL && equals != item;
}

static bool are_items(const char *list, bool (*is_allowed)(const char *item, size_t length))
{
    const char *item;
    size_t length;
    size_t count = 0;
    for (const char *rest = list; (item = hp_text_next_item(&rest, &length)) != NULL; count++)
        if (!is_allowed(item, length))
            return false;
    return count > 0;
}

/* Copies a list without the blanks around its items. */
static void copy_items(char *bytes, size_t size, const char *list)
{
    const char *item;
    size_t length;
    struct hp_text copy;
    hp_text_init(&copy, bytes, size);
    for (const char *rest = list; (item = hp_text_next_item(&rest, &length)) != NULL;) {
        if (copy.length > 0)
            hp_text_char(&copy, ',');
        hp_text_bytes(&copy, item, length);
    }
    hp_text_end(&copy);
}

static bool parse_items(const struct hp_option *option, const char *text, struct hp_settings *settings,
                        struct hp_text *ret_problem, bool (*is_allowed)(const char *item, size_t length),
                        const char *what)
{
    if (strlen(text) >= option->settings_size)
        return complain_too_long(ret_problem, option);
    if (!are_items(text, is_allowed))
        return complain(ret_problem, what);
    copy_items(setting(option, settings), option->settings_size, text);
    return true;
}

static bool parse_sections(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem)
{
    return parse_items(option, text, settings, ret_problem, is_name,
                       "is not a list of sections such as auto, all, timing,calltree or -timing");
}

static bool parse_columns(const struct hp_option *option, const char *text, struct hp_settings *settings,
                          struct hp_text *ret_problem)
{
    return parse_items(option, text, settings, ret_problem, is_name,
                       "is not a list of columns such as self,min,max or all");
}

/* One column, without blanks around it. */
static bool parse_sort(const struct hp_option *option, const char *text, struct hp_settings *settings,
                       struct hp_text *ret_problem)
{
    size_t length = 0, ignored;
    const char *rest = text;
    const char *item = hp_text_next_item(&rest, &length);
    if (item == NULL || !is_name(item, length) || hp_text_next_item(&rest, &ignored) != NULL)
        return complain(ret_problem, "is not a column such as total, self, calls or name, or -calls");
    if (length >= option->settings_size)
        return complain_too_long(ret_problem, option);
    copy_items(setting(option, settings), option->settings_size, text);
    return true;
}

static bool parse_metadata(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem)
{
    return parse_items(option, text, settings, ret_problem, is_pair,
                       "is not a list of pairs such as key=value,key=value");
}

/* Keeps the percentiles ascending, each once. Returns false when there is no space for one more. */
static bool add_percentile(double *percentiles, uint32_t *count, double percentile)
{
    uint32_t at = 0;
    while (at < *count && percentiles[at] < percentile)
        at++;
    if (at < *count && percentiles[at] <= percentile)
        return true;
    if (*count == HP_MAX_PERCENTILES)
        return false;
    memmove(&percentiles[at + 1], &percentiles[at], (*count - at) * sizeof *percentiles);
    percentiles[at] = percentile;
    ++*count;
    return true;
}

_Static_assert(HP_MAX_PERCENTILES == 10, "the message below names the limit");

static bool parse_percentiles(const struct hp_option *option, const char *text, struct hp_settings *settings,
                              struct hp_text *ret_problem)
{
    double percentiles[HP_MAX_PERCENTILES];
    uint32_t count = 0;
    const char *item;
    size_t length;
    (void)option;
    for (const char *rest = text; (item = hp_text_next_item(&rest, &length)) != NULL;) {
        double percentile;
        if (!hp_number_decimal(item, length, &percentile) || percentile > 100 ||
            !add_percentile(percentiles, &count, percentile))
            return complain(ret_problem, "is not a list of at most 10 numbers from 0 to 100");
    }
    if (count == 0)
        return complain(ret_problem, "is not a list of at most 10 numbers from 0 to 100");
    memcpy(settings->show.percentiles, percentiles, count * sizeof *percentiles);
    settings->show.percentile_count = count;
    return true;
}

static bool parse_percent(const struct hp_option *option, const char *text, struct hp_settings *settings,
                          struct hp_text *ret_problem)
{
    double percent;
    if (!hp_number_decimal(text, strlen(text), &percent) || percent > 100)
        return complain(ret_problem, "is not a number from 0 to 100, such as 0.5");
    memcpy(setting(option, settings), &percent, sizeof percent);
    return true;
}

/* Sets a uint32_t to the index of the word. */
static bool parse_choice(const struct hp_option *option, const char *text, struct hp_settings *settings,
                         const char *const *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (hp_text_equal_nocase(text, strlen(text), words[i])) {
            memcpy(setting(option, settings), &i, sizeof i);
            return true;
        }
    return false;
}

static bool parse_format(const struct hp_option *option, const char *text, struct hp_settings *settings,
                         struct hp_text *ret_problem)
{
    static const char *const names[] = {
        [HP_FORMAT_TABLE] = "table",
        [HP_FORMAT_JSON] = "json",
        [HP_FORMAT_JSON_PRETTY] = "json-pretty",
        [HP_FORMAT_NONE] = "none",
    };
    return parse_choice(option, text, settings, names, sizeof names / sizeof names[0]) ||
           complain(ret_problem, "is not one of table, json, json-pretty, none");
}

static bool parse_by(const struct hp_option *option, const char *text, struct hp_settings *settings,
                     struct hp_text *ret_problem)
{
    static const char *const names[] = {[HP_BY_FUNCTION] = "function", [HP_BY_THREAD] = "thread"};
    return parse_choice(option, text, settings, names, sizeof names / sizeof names[0]) ||
           complain(ret_problem, "is not one of function, thread");
}

static const char *const metric_names[] = {[HP_ALLOC_BYTES_TOTAL] = "bytes-total",
                                           [HP_ALLOC_BYTES_MAX] = "bytes-max",
                                           [HP_ALLOC_COUNT_TOTAL] = "count-total",
                                           [HP_ALLOC_COUNT_MAX] = "count-max"};

#define METRIC_COUNT (sizeof metric_names / sizeof metric_names[0])

const char *hp_alloc_metric_name(uint32_t metric) { return metric_names[metric % METRIC_COUNT]; }

/* "bytes" and "count" are the totals. */
static bool parse_metric(const struct hp_option *option, const char *text, struct hp_settings *settings,
                         struct hp_text *ret_problem)
{
    static const char *const short_names[] = {
        [HP_ALLOC_BYTES_TOTAL] = "bytes", [HP_ALLOC_BYTES_MAX] = "bytes-max", [HP_ALLOC_COUNT_TOTAL] = "count"};
    return parse_choice(option, text, settings, metric_names, METRIC_COUNT) ||
           parse_choice(option, text, settings, short_names, sizeof short_names / sizeof short_names[0]) ||
           complain(ret_problem, "is not one of bytes-total, bytes-max, count-total, count-max");
}

static const struct {
    const char *name;
    uint32_t bit;
} records[] = {{"timing", HP_RECORD_TIMING}, {"alloc", HP_RECORD_ALLOC}, {"cpu", HP_RECORD_CPU}};

#define RECORD_COUNT (sizeof records / sizeof records[0])

static uint32_t record_bit(const char *name, size_t length)
{
    for (size_t i = 0; i < RECORD_COUNT; i++)
        if (hp_text_equal_nocase(name, length, records[i].name))
            return records[i].bit;
    return 0;
}

/* The bits of a list of names; 0 when one of them is unknown. */
static uint32_t record_bits(const char *list)
{
    uint32_t bits = 0;
    const char *item;
    size_t length;
    for (const char *rest = list; (item = hp_text_next_item(&rest, &length)) != NULL;) {
        const uint32_t bit = record_bit(item, length);
        if (bit == 0)
            return 0;
        bits |= bit;
    }
    return bits;
}

static bool parse_engine(const struct hp_option *option, const char *text, struct hp_settings *settings,
                         struct hp_text *ret_problem)
{
    static const char *const names[] = {[HP_CPU_ENGINE_AUTO] = "auto", [HP_CPU_ENGINE_TIMERS] = "timers"};
    return parse_choice(option, text, settings, names, sizeof names / sizeof names[0]) ||
           complain(ret_problem, "is not one of auto, timers");
}

/* A flag or a list. */
static bool parse_record(const struct hp_option *option, const char *text, struct hp_settings *settings,
                         struct hp_text *ret_problem)
{
    bool is_on = true;
    const bool is_flag = hp_number_flag(text, strlen(text), &is_on);
    const uint32_t bits = is_flag ? HP_RECORD_USUAL : record_bits(text);
    (void)option;
    if (bits == 0)
        return complain(ret_problem, "is not 0, 1 or a list of timing, alloc, cpu");
    settings->record.kinds = is_on ? bits : 0;
    settings->record.is_off = !is_on;
    settings->record.is_list = !is_flag;
    return true;
}

static bool parse_count(const struct hp_option *option, const char *text, struct hp_settings *settings,
                        struct hp_text *ret_problem)
{
    uint64_t number;
    if (!hp_number_unsigned(text, strlen(text), UINT32_MAX, &number))
        return complain(ret_problem, "is not a number from 0 to 4294967295");
    const uint32_t count = (uint32_t)number;
    memcpy(setting(option, settings), &count, sizeof count);
    return true;
}

static bool parse_cpu_rate(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem)
{
    uint64_t number;
    (void)option;
    if (!hp_number_unsigned(text, strlen(text), HP_MAX_CPU_RATE, &number) || number == 0)
        return complain(ret_problem, "is not a number from 1 to 10000");
    settings->record.cpu_rate = (uint32_t)number;
    return true;
}

static bool read_limit(const char *text, uint32_t *ret_limit, struct hp_text *ret_problem)
{
    uint64_t number;
    if (!hp_number_unsigned(text, strlen(text), HOTPATH_NO_LIMIT - 1, &number))
        return complain(ret_problem, "is not a number from 0 to 4294967294 (0: no limit)");
    *ret_limit = number == 0 ? HOTPATH_NO_LIMIT : (uint32_t)number;
    return true;
}

static bool parse_limit(const struct hp_option *option, const char *text, struct hp_settings *settings,
                        struct hp_text *ret_problem)
{
    uint32_t limit;
    if (!read_limit(text, &limit, ret_problem))
        return false;
    memcpy(setting(option, settings), &limit, sizeof limit);
    settings->show.functions_limit_is_given |=
        option->settings_offset == offsetof(struct hp_settings, show.functions_limit);
    return true;
}

static bool parse_limit_of_all(const struct hp_option *option, const char *text, struct hp_settings *settings,
                               struct hp_text *ret_problem)
{
    uint32_t limit;
    (void)option;
    if (!read_limit(text, &limit, ret_problem))
        return false;
    settings->show.functions_limit = limit;
    settings->show.functions_limit_is_given = true;
    settings->show.calltree_limit = limit;
    return true;
}

/* A part of the whole, "0.0625" or "1/16", as one in so many; the nearest there is. */
static bool read_part(const char *text, uint32_t *ret_period)
{
    uint64_t whole;
    double part;
    const size_t length = strlen(text);
    if (length > 2 && memcmp(text, "1/", 2) == 0) {
        if (!hp_number_unsigned(text + 2, length - 2, UINT32_MAX, &whole) || whole == 0)
            return false;
        *ret_period = (uint32_t)whole;
        return true;
    }
    if (!hp_number_decimal(text, length, &part) || part > 1)
        return false;
    *ret_period = part < 1e-9 ? UINT32_MAX : (uint32_t)(1 / part + 0.5);
    return true;
}

static bool parse_sampling_rate(const struct hp_option *option, const char *text, struct hp_settings *settings,
                                struct hp_text *ret_problem)
{
    (void)option;
    if (!read_part(text, &settings->record.time_period))
        return complain(ret_problem, "is not a part of all calls such as 1/16 or 0.0625");
    return true;
}

static bool parse_bound(const struct hp_option *option, const char *text, struct hp_settings *settings,
                        struct hp_text *ret_problem)
{
    uint64_t percent;
    (void)option;
    if (!hp_number_unsigned(text, strlen(text), 100, &percent))
        return complain(ret_problem, "is not a percentage from 0 to 100 (0: no bound)");
    settings->record.measuring_bound = (uint32_t)percent;
    return true;
}

#define MOST_BYTES (UINT64_C(4) << 30)
_Static_assert(HP_MIN_BYTES == 262144, "the message below names the limit");

static bool parse_max_bytes(const struct hp_option *option, const char *text, struct hp_settings *settings,
                            struct hp_text *ret_problem)
{
    uint64_t bytes;
    (void)option;
    if (!hp_number_bytes(text, strlen(text), MOST_BYTES, &bytes) || (bytes > 0 && bytes < HP_MIN_BYTES))
        return complain(ret_problem, "is not a size from 256KB to 4GB");
    settings->record.max_bytes = bytes;
    return true;
}

static bool parse_flag(const struct hp_option *option, const char *text, struct hp_settings *settings,
                       struct hp_text *ret_problem)
{
    bool flag;
    if (!hp_number_flag(text, strlen(text), &flag))
        return complain(ret_problem, "is not one of 1, true, yes, on, 0, false, no, off");
    memcpy(setting(option, settings), &flag, sizeof flag);
    return true;
}

/* NO_COLOR means what it says whatever its value is: https://no-color.org. */
static bool parse_no_color(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem)
{
    (void)option;
    (void)text;
    (void)ret_problem;
    settings->output.no_color = true;
    return true;
}

/* ------------------------------------------------------------------------------------------------ table */

/* Entries that are looked at by themselves. */
#define RECORD_INDEX 0
#define CPU_INDEX 1

/* Where the values of an option are: in both structs, mostly under the same name, or in one of them only. */
#define AT_SETTINGS_TOO(field) offsetof(struct hp_settings, field), sizeof((struct hp_settings *)0)->field
#define AT_BOTH(group, name) offsetof(struct hotpath_options, name), AT_SETTINGS_TOO(group.name)
#define AT_KINDS(name) offsetof(struct hotpath_options, name), AT_SETTINGS_TOO(record.kinds)
#define AT_RATE(name) offsetof(struct hotpath_options, name), AT_SETTINGS_TOO(record.time_period)
#define AT_OPTIONS(name) offsetof(struct hotpath_options, name), 0, 0
#define AT_SETTINGS(field) 0, AT_SETTINGS_TOO(field)

/* The same on the command line. */
#define FLAG(name, letter, scope) name, letter, HP_SCOPE_##scope
#define FLAG_OF_TWO(name, letter, one, other) name, letter, HP_SCOPE_##one | HP_SCOPE_##other
#define NO_FLAG NULL, 0, 0

const struct hp_option hp_options[] = {
    [RECORD_INDEX] = {"HOTPATH", "record", FLAG("only", 0, RECORD), "0|1|LIST", "timing,alloc", "",
                      "What is recorded: 0 nothing, 1 the usual, or a list of timing, alloc (where malloc is "
                      "watched), cpu; other than 0 it also starts recording in programs without HOTPATH_MAIN.",
                      HP_OPTION_TEXT, AT_KINDS(record), parse_record},
    [CPU_INDEX] = {"HOTPATH_CPU", "cpu", FLAG("cpu", 0, RECORD), "0|1", "0", "",
                   "Sample whose processor time it is, beside what else is recorded; hotpath run does unless told "
                   "otherwise.",
                   HP_OPTION_FLAG, AT_BOTH(record, cpu), parse_flag},
    {"HOTPATH_CPU_RATE", "cpu_rate", FLAG("cpu-rate", 0, RECORD), "N", "997", "",
     "Samples for each second of processor time, from 1 to 10000.", HP_OPTION_COUNT, AT_BOTH(record, cpu_rate),
     parse_cpu_rate},
    {"HOTPATH_CPU_ENGINE", "cpu_engine", FLAG("cpu-engine", 0, RECORD), "auto|timers", "auto", "",
     "What samples processor time: the best there is, or timers alone.", HP_OPTION_CHOICE,
     AT_BOTH(record, cpu_engine), parse_engine},
    {"HOTPATH_FILTER", "filter", FLAG("filter", 0, RECORD), "LIST", "", "no filter (every site)",
     "Record only the functions and blocks that a list of patterns chooses, such as parse*,/^lex/,file:json.c; "
     "-ITEM leaves out, @PATH is a file of items. See PATTERNS in hotpath(7).",
     HP_OPTION_TEXT, AT_BOTH(record, filter), parse_patterns},
    {"HOTPATH_SKIP", "skip", FLAG("skip", 0, RECORD), "LIST", "", "nothing left out",
     "Do not record the functions and blocks that match any item of this list of patterns.", HP_OPTION_TEXT,
     AT_BOTH(record, skip), parse_patterns},
    {"HOTPATH_LOG", "log", FLAG("log", 0, RECORD), "LIST", "", "only what the program logs itself",
     "Keep the latest calls, with their notes, of the functions and blocks that match this list of patterns.",
     HP_OPTION_TEXT, AT_BOTH(record, log), parse_patterns},
    /* The general rate before those of single sections, as with the limits. */
    {"HOTPATH_TIME_SAMPLING_RATE", "time_sampling_rate", FLAG("sampling", 0, RECORD), "1/N|PART", "1", "",
     "Part of the calls that is timed, such as 1/16 or 0.0625; all are counted, and times are scaled up.",
     HP_OPTION_TEXT, AT_RATE(time_sampling_rate), parse_sampling_rate},
    {"HOTPATH_FUNCTIONS_TIME_SAMPLING_RATE", "functions_time_sampling_rate", FLAG("functions-sampling", 0, RECORD),
     "1/N|PART", "", "HOTPATH_TIME_SAMPLING_RATE", "The same for functions and blocks alone.", HP_OPTION_TEXT,
     AT_RATE(functions_time_sampling_rate), parse_sampling_rate},
    {"HOTPATH_MEASURING_BOUND", "measuring_bound", FLAG("measuring-bound", 0, RECORD), "PERCENT", "50", "",
     "Functions measured by the compiler are only counted, and now and then timed, where measuring would be more "
     "than "
     "this part of their time; 0 times every call.",
     HP_OPTION_LIMIT, AT_BOTH(record, measuring_bound), parse_bound},
    {"HOTPATH_KEYS_LIMIT", "keys_limit", FLAG("keys-limit", 0, RECORD), "N", "256", "",
     "Keys of one HOTPATH_BLOCK_KEY that get rows of their own; further ones share one.", HP_OPTION_COUNT,
     AT_BOTH(record, keys_limit), parse_count},
    {"HOTPATH_REPORT", "report", FLAG("section", 's', SHOW), "LIST", "auto", "",
     "Sections of the report: auto, all, a list such as timing,calltree, or -NAME to leave one out.",
     HP_OPTION_TEXT, AT_BOTH(show, report), parse_sections},
    {"HOTPATH_FOCUS", "focus", FLAG("focus", 0, SHOW), "LIST", "", "no focus (every row)",
     "Show only the rows that a list of patterns chooses, as HOTPATH_FILTER does.", HP_OPTION_TEXT,
     AT_BOTH(show, focus), parse_patterns},
    {"HOTPATH_SLOWEST", "slowest", FLAG("slowest", 0, SHOW), "NAME|/REGEX/", "", "no function",
     "Show the slowest call of the function NAME, or of those whose name contains NAME or matches REGEX, with what "
     "ran "
     "inside it.",
     HP_OPTION_TEXT, AT_BOTH(show, slowest), parse_pattern},
    {"HOTPATH_COLUMNS", "columns", FLAG("columns", 'c', SHOW), "LIST", "", "the usual columns",
     "Further columns of the table, such as self,min,max,threads, or all.", HP_OPTION_TEXT, AT_BOTH(show, columns),
     parse_columns},
    {"HOTPATH_SORT", "sort", FLAG("sort", 0, SHOW), "COLUMN", "", "the usual order",
     "Order of the rows: by a column such as total, self, calls, avg, p95 or name; -COLUMN turns it round.",
     HP_OPTION_TEXT, AT_BOTH(show, sort), parse_sort},
    {"HOTPATH_BY", "by", FLAG("by", 0, SHOW), "function|thread", "function", "",
     "What a row of the sections about functions is about: a function, or a function on one thread.",
     HP_OPTION_CHOICE, AT_BOTH(show, by), parse_by},
    {"HOTPATH_PERCENTILES", "percentiles", FLAG("percentiles", 'p', SHOW), "LIST", "95", "",
     "Percentiles shown: up to 10 numbers from 0 to 100, fractions allowed; 0 is the minimum and 100 the maximum.",
     HP_OPTION_TEXT, AT_BOTH(show, percentiles), parse_percentiles},
    /* Before the limits of single sections: see the top of this file. */
    {"HOTPATH_LIMIT", "limit", FLAG("limit", 'n', SHOW), "N", "", "the limit of each section",
     "Rows shown of every section; 0 shows all.", HP_OPTION_LIMIT, AT_OPTIONS(limit), parse_limit_of_all},
    {"HOTPATH_FUNCTIONS_LIMIT", "functions_limit", FLAG("functions-limit", 0, SHOW), "N", "15", "",
     "Rows shown of the sections about functions and processes; 0 shows all.", HP_OPTION_LIMIT,
     AT_BOTH(show, functions_limit), parse_limit},
    {"HOTPATH_CALLTREE_LIMIT", "calltree_limit", FLAG("calltree-limit", 0, SHOW), "N", "50", "",
     "Rows shown of the call tree; 0 shows all.", HP_OPTION_LIMIT, AT_BOTH(show, calltree_limit), parse_limit},
    {"HOTPATH_LOGS_LIMIT", "logs_limit", FLAG_OF_TWO("logs-limit", 0, RECORD, SHOW), "N", "50", "",
     "Latest calls kept, and shown, of each function whose calls are logged; 0 sets no limit.", HP_OPTION_LIMIT,
     AT_BOTH(record, logs_limit), parse_limit},
    {"HOTPATH_MIN_PERCENT", "min_percent", FLAG("min-percent", 0, SHOW), "P", "0", "",
     "Leave out functions and paths of calls whose share of the whole is below P percent, fractions allowed.",
     HP_OPTION_NUMBER, AT_BOTH(show, min_percent), parse_percent},
    {"HOTPATH_TIME_EXCLUSIVE", "time_exclusive", FLAG("exclusive", 0, SHOW), "0|1", "0", "",
     "Rank and show the time spent in a function itself, without the measured functions it calls.", HP_OPTION_FLAG,
     AT_BOTH(show, time_exclusive), parse_flag},
    {"HOTPATH_ALLOC_CUMULATIVE", "alloc_cumulative", FLAG("alloc-cumulative", 0, SHOW), "0|1", "0", "",
     "Count what measured functions inside allocate to the functions that call them, too.", HP_OPTION_FLAG,
     AT_BOTH(show, alloc_cumulative), parse_flag},
    {"HOTPATH_ALLOC_METRIC", "alloc_metric", FLAG("alloc-metric", 0, SHOW),
     "bytes-total|bytes-max|count-total|count-max", "bytes-total", "",
     "What the table of allocations leads with: bytes or numbers, of all that a call allocates or of the most that "
     "lived "
     "at once during it.",
     HP_OPTION_CHOICE, AT_BOTH(show, alloc_metric), parse_metric},
    {"HOTPATH_CPU_INCLUSIVE", "cpu_inclusive", FLAG("cpu-inclusive", 0, SHOW), "0|1", "0", "",
     "Count the processor time of measured functions inside to the functions that call them, too.", HP_OPTION_FLAG,
     AT_BOTH(show, cpu_inclusive), parse_flag},
    {"HOTPATH_EXCLUDE_WRAPPER", "exclude_wrapper", FLAG("exclude-wrapper", 0, SHOW), "0|1", "0", "",
     "Leave the main function out and show shares of the sum of the other rows.", HP_OPTION_FLAG,
     AT_BOTH(show, exclude_wrapper), parse_flag},
    {"HOTPATH_OUTPUT_FORMAT", "format", FLAG("format", 'f', OUTPUT), "table|json|json-pretty|none", "table", "",
     "How the report is written.", HP_OPTION_CHOICE, AT_BOTH(output, format), parse_format},
    {"HOTPATH_OUTPUT_PATH", "output_path", FLAG("output", 'o', OUTPUT), "PATH", "", "stderr",
     "File the report is written to; %p in it stands for the process id.", HP_OPTION_TEXT,
     AT_BOTH(output, output_path), parse_text},
    {"HOTPATH_REPORT_LABEL", "label", FLAG("label", 0, SHOW), "TEXT", "", "no label",
     "A name for this run, shown in the report.", HP_OPTION_TEXT, AT_BOTH(record, label), parse_text},
    {"HOTPATH_USER_METADATA", "metadata", FLAG("metadata", 0, SHOW), "KEY=VALUE,...", "", "no metadata",
     "Facts of your own about this run, kept in the report.", HP_OPTION_TEXT, AT_BOTH(record, metadata),
     parse_metadata},
    {"HOTPATH_SHUTDOWN_MS", "shutdown_ms", FLAG("timeout", 0, RECORD), "MS", "0", "",
     "Report and end the process after this many milliseconds, by HOTPATH_MAIN or hotpath run; 0 never does.",
     HP_OPTION_COUNT, AT_BOTH(record, shutdown_ms), parse_count},
    {"HOTPATH_LEAVE_SIGNALS", "leave_signals", NO_FLAG, "0|1", "0", "",
     "Do not report on SIGINT and SIGTERM; without it HOTPATH_MAIN has both report and then do what they did "
     "before.",
     HP_OPTION_FLAG, AT_BOTH(record, leave_signals), parse_flag},
    {"HOTPATH_DIR", "dir", FLAG("dir", 0, FOLDER), "PATH", "",
     "$XDG_RUNTIME_DIR/hotpath, /dev/shm/hotpath-UID or /tmp/hotpath-UID", "Folder of the session file.",
     HP_OPTION_TEXT, AT_BOTH(record, dir), parse_text},
    {"HOTPATH_MAX_BYTES", "max_bytes", FLAG("max-bytes", 0, RECORD), "SIZE", "",
     "a quarter of the free space, at most 64MB",
     "Largest size of the session file, from 256KB to 4GB; K, M and G are powers of 1024.", HP_OPTION_BYTES,
     AT_BOTH(record, max_bytes), parse_max_bytes},
    {"HOTPATH_RESERVE", "reserve", FLAG("reserve", 0, RECORD), "0|1", "0", "",
     "Reserve the whole session file at start, so that recording makes no system call later; then only the thread "
     "that starts is recorded.",
     HP_OPTION_FLAG, AT_BOTH(record, reserve), parse_flag},
    {"HOTPATH_WAITS", "waits", NO_FLAG, "0|1", "0", "",
     "A thread of the library watches what the program's threads wait for; hotpath run does that from outside.",
     HP_OPTION_FLAG, AT_BOTH(record, waits), parse_flag},
    {"HOTPATH_KEEP", "keep", FLAG("keep", 0, RECORD), "N", "20", "",
     "Finished sessions kept in the folder when another one begins; 0 keeps none.", HP_OPTION_COUNT,
     AT_BOTH(record, keep), parse_count},
    {"HOTPATH_RUN", NULL, NO_FLAG, "0|1", "0", "",
     "Set by hotpath run, which reports when all is over: the program writes no report at its end.", HP_OPTION_FLAG,
     AT_SETTINGS(record.is_run), parse_flag},
    {"NO_COLOR", NULL, FLAG("no-color", 0, SHOW), "ANY", "", "colour on a terminal",
     "Set to anything: no colour, not even on a terminal.", HP_OPTION_FLAG, AT_SETTINGS(output.no_color),
     parse_no_color},
};

#define OPTION_COUNT (sizeof hp_options / sizeof hp_options[0])

const size_t hp_option_count = OPTION_COUNT;

bool hp_option_accepts(const struct hp_option *option, const char *value, char *problem, size_t size)
{
    static struct hp_settings ignored; /* too large for a stack, and nobody reads it */
    struct hp_text text;
    hp_text_init(&text, problem, size);
    const bool is_accepted = option->parse(option, value, &ignored, &text);
    hp_text_end(&text);
    return is_accepted;
}

/* ------------------------------------------------------------------------------------ the program's struct */

#define END_OF(member) (offsetof(struct hotpath_options, member) + sizeof((struct hotpath_options *)0)->member)

/* The first version ended with these fields, which later ones may put to use; its programs will be around. */
#define FIRST_VERSION_BYTES                                                                                        \
    (offsetof(struct hotpath_options, exclude_wrapper) + 12) /* flags, and bytes to become some */
/* Nobody's struct is larger; a size that is, is not a size. */
#define LARGEST_BYTES 4096u

static bool are_zero(const struct hotpath_options *options, size_t from, size_t to)
{
    const unsigned char *bytes = (const unsigned char *)options;
    for (size_t i = from; i < to && i < options->size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* Between the reserved fields and the end of the struct the compiler may leave a gap, in which anything may be. */
bool hp_options_are_known(const struct hotpath_options *options)
{
    if (!options)
        return true;
    return options->size >= FIRST_VERSION_BYTES && options->size <= LARGEST_BYTES &&
           are_zero(options, offsetof(struct hotpath_options, reserved), END_OF(reserved)) &&
           are_zero(options, sizeof *options, options->size);
}

#define NUMBER_BYTES 24

static size_t field_size(enum hp_option_type type)
{
    switch (type) {
    case HP_OPTION_COUNT:
    case HP_OPTION_LIMIT:
        return sizeof(uint32_t);
    case HP_OPTION_BYTES:
        return sizeof(uint64_t);
    case HP_OPTION_NUMBER:
        return sizeof(double);
    case HP_OPTION_FLAG:
        return sizeof(uint8_t);
    case HP_OPTION_TEXT:
    case HP_OPTION_CHOICE:
        break;
    }
    return sizeof(const char *);
}

/* The number in a field of the program's struct. */
static uint64_t field_number(const struct hp_option *option, const void *field)
{
    uint8_t flag;
    uint32_t count;
    uint64_t bytes;
    switch (field_size(option->type)) {
    case sizeof flag:
        memcpy(&flag, field, sizeof flag);
        return flag;
    case sizeof count:
        memcpy(&count, field, sizeof count);
        return count;
    default:
        memcpy(&bytes, field, sizeof bytes);
        return bytes;
    }
}

/* Writes a number of the program as the environment would have it. */
static const char *number_text(const struct hp_option *option, uint64_t number, char buffer[NUMBER_BYTES])
{
    struct hp_text text;
    if (option->type == HP_OPTION_FLAG)
        number = 1;
    if (option->type == HP_OPTION_LIMIT && number == HOTPATH_NO_LIMIT)
        number = 0;
    hp_text_init(&text, buffer, NUMBER_BYTES);
    hp_text_u64(&text, number);
    return hp_text_end(&text);
}

/* The same for one with decimals; what is no number is not taken for one. */
static const char *decimal_text(double number, char buffer[NUMBER_BYTES])
{
    struct hp_text text;
    hp_text_init(&text, buffer, NUMBER_BYTES);
    if (!(number > 0)) {
        hp_text_string(&text, number < 0 ? "-" : "nan");
        number = -number;
    }
    if (number > 0) {
        hp_text_fixed(&text, number, 9);
        while (memchr(buffer, '.', text.length) != NULL && strchr(".0", buffer[text.length - 1]) != NULL)
            text.length--;
    }
    return hp_text_end(&text);
}

/* What the program says about an option, as the environment would say it; NULL when it says nothing. */
static const char *program_value(const struct hp_option *option, const struct hotpath_options *options,
                                 char buffer[NUMBER_BYTES])
{
    if (!options || !option->field || option->options_offset + field_size(option->type) > options->size)
        return NULL;
    const char *field = (const char *)options + option->options_offset;
    if (option->type == HP_OPTION_TEXT || option->type == HP_OPTION_CHOICE) {
        const char *text;
        memcpy(&text, field, sizeof text);
        return text && text[0] ? text : NULL;
    }
    if (option->type == HP_OPTION_NUMBER) {
        double number;
        memcpy(&number, field, sizeof number);
        return number < 0 || number > 0 || number != number ? decimal_text(number, buffer) : NULL;
    }
    const uint64_t number = field_number(option, field);
    return number != 0 ? number_text(option, number, buffer) : NULL;
}

/* --------------------------------------------------------------------------------------------- resolving */

enum level { LEVEL_DEFAULT, LEVEL_PROGRAM, LEVEL_ENVIRONMENT, LEVELS };

/* Everything that one call of hp_settings_resolve works with. */
struct resolution {
    struct hp_settings *settings;
    const struct hotpath_options *options;
    hp_lookup *lookup;
    void *lookup_context;
    hp_warn *warn;
    void *warn_context;
    uint8_t origin[OPTION_COUNT]; /* enum level: where the value in the settings comes from */
    bool is_wrong[LEVELS][OPTION_COUNT];
};

static const char *environment_value(const struct resolution *resolution, const struct hp_option *option)
{
    const char *value =
        resolution->lookup ? resolution->lookup(option->variable, resolution->lookup_context) : NULL;
    return value && value[0] ? value : NULL;
}

/* What one level says about an option; NULL when it says nothing. */
static const char *value_at(const struct resolution *resolution, enum level level, const struct hp_option *option,
                            char buffer[NUMBER_BYTES])
{
    switch (level) {
    case LEVEL_DEFAULT:
        return option->initial[0] ? option->initial : NULL;
    case LEVEL_PROGRAM:
        return program_value(option, resolution->options, buffer);
    default:
        return environment_value(resolution, option);
    }
}

static void apply_level(struct resolution *resolution, enum level level)
{
    char buffer[NUMBER_BYTES];
    char bytes[PROBLEM_BYTES];
    struct hp_text ignored;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct hp_option *option = &hp_options[i];
        const char *value = value_at(resolution, level, option, buffer);
        hp_text_init(&ignored, bytes, sizeof bytes);
        if (!value)
            continue;
        if (option->parse(option, value, resolution->settings, &ignored))
            resolution->origin[i] = (uint8_t)level;
        else
            resolution->is_wrong[level][i] = true;
    }
}

/* ---------------------------------------------------------------------------------------------- warnings */

/* "hotpath: HOTPATH_LIMIT='many' " or "hotpath: option format='xml' " */
static void begin_warning(struct hp_text *line, char bytes[LINE_BYTES], enum level level,
                          const struct hp_option *option, const char *value)
{
    hp_text_init(line, bytes, LINE_BYTES);
    hp_text_string(line, "hotpath: ");
    if (level == LEVEL_PROGRAM)
        hp_text_string(line, "option ");
    hp_text_string(line, level == LEVEL_PROGRAM ? option->field : option->variable);
    hp_text_string(line, "='");
    add_shown(line, value);
    hp_text_string(line, "' ");
}

static void give_warning(const struct resolution *resolution, struct hp_text *line)
{
    const char *text = hp_text_end(line);
    if (resolution->warn)
        resolution->warn(text, resolution->warn_context);
}

static void add_limit(struct hp_text *line, uint32_t limit)
{
    if (limit == HOTPATH_NO_LIMIT)
        hp_text_string(line, "no limit");
    else
        hp_text_u64(line, limit);
}

/* A limit that was not understood gives way to others on several levels, so the result is named as a number. */
static void add_limits_used(struct hp_text *line, const struct hp_option *option,
                            const struct hp_settings *settings)
{
    if (option->parse == parse_limit) {
        uint32_t limit;
        memcpy(&limit, (const char *)settings + option->settings_offset, sizeof limit);
        add_limit(line, limit);
        return;
    }
    add_limit(line, settings->show.functions_limit);
    if (settings->show.calltree_limit != settings->show.functions_limit) {
        hp_text_string(line, " (call tree: ");
        add_limit(line, settings->show.calltree_limit);
        hp_text_char(line, ')');
    }
}

/* What is used instead of a value that was not understood. */
static void add_used(struct hp_text *line, const struct resolution *resolution, size_t index)
{
    const struct hp_option *option = &hp_options[index];
    hp_text_string(line, "; using ");
    if (option->type == HP_OPTION_LIMIT) {
        add_limits_used(line, option, resolution->settings);
    } else if (resolution->origin[index] == LEVEL_ENVIRONMENT) {
        hp_text_string(line, "the value of ");
        hp_text_string(line, option->variable);
    } else if (resolution->origin[index] == LEVEL_PROGRAM) {
        hp_text_string(line, "the value the program gives");
    } else {
        hp_text_string(line, option->initial[0] ? option->initial : option->unset);
    }
}

static void warn_about(const struct resolution *resolution, enum level level, size_t index)
{
    const struct hp_option *option = &hp_options[index];
    char number[NUMBER_BYTES];
    char problem_bytes[PROBLEM_BYTES];
    char line_bytes[LINE_BYTES];
    struct hp_text problem;
    struct hp_text line;
    const char *value = value_at(resolution, level, option, number);
    hp_text_init(&problem, problem_bytes, sizeof problem_bytes);
    option->parse(option, value, resolution->settings, &problem); /* fails again: see the top of this file */
    begin_warning(&line, line_bytes, level, option, value);
    hp_text_string(&line, hp_text_end(&problem));
    add_used(&line, resolution, index);
    give_warning(resolution, &line);
}

static void warn_about_all(const struct resolution *resolution)
{
    for (size_t i = 0; i < OPTION_COUNT; i++)
        for (enum level level = LEVEL_PROGRAM; level < LEVELS; level++)
            if (resolution->is_wrong[level][i])
                warn_about(resolution, level, i);
}

/* HOTPATH_CPU wins over a list in HOTPATH, that one over the program's option, and that adds to what else it records. */
static bool is_variable(struct hp_spelling *spelling, const char *name)
{
    hp_spelling_try(spelling, name);
    return strlen(name) == spelling->length && memcmp(name, spelling->word, spelling->length) == 0;
}

static bool is_known_variable(struct hp_spelling *spelling)
{
    bool is_known = is_variable(spelling, "HOTPATH_PRELOAD"); /* src/alloc/preload.c */
    for (size_t i = 0; i < OPTION_COUNT && !is_known; i++)
        is_known = is_variable(spelling, hp_options[i].variable);
    return is_known;
}

void hp_options_warn_unknown(char *const *environment, hp_warn *warn, void *context)
{
    for (; environment != NULL && *environment != NULL; environment++) {
        char bytes[LINE_BYTES];
        struct hp_text line;
        struct hp_spelling spelling = hp_spelling_of(*environment, strcspn(*environment, "="));
        if (strncmp(*environment, "HOTPATH_", strlen("HOTPATH_")) != 0 || is_known_variable(&spelling))
            continue;
        hp_text_init(&line, bytes, sizeof bytes);
        hp_text_string(&line, "hotpath: there is no variable ");
        hp_text_bytes(&line, spelling.word, spelling.length < 60 ? spelling.length : 60);
        hp_text_string(&line, spelling.best != NULL ? "; did you mean " : "; see hotpath help environment");
        hp_text_string(&line, spelling.best != NULL ? spelling.best : "");
        hp_text_string(&line, spelling.best != NULL ? "?" : "");
        warn(hp_text_end(&line), context);
    }
}

static void choose_cpu(const struct resolution *resolution)
{
    struct hp_settings *settings = resolution->settings;
    const bool is_listed = resolution->origin[RECORD_INDEX] == LEVEL_ENVIRONMENT && settings->record.is_list;
    if (settings->record.is_off || settings->record.kinds == 0)
        return;
    if (resolution->origin[CPU_INDEX] == LEVEL_ENVIRONMENT && !settings->record.cpu)
        settings->record.kinds &= ~HP_RECORD_CPU;
    else if (settings->record.cpu && (resolution->origin[CPU_INDEX] == LEVEL_ENVIRONMENT || !is_listed))
        settings->record.kinds |= HP_RECORD_CPU;
}

static void finish_record(const struct resolution *resolution)
{
    struct hp_settings *settings = resolution->settings;
    settings->record.alloc_is_asked = resolution->origin[RECORD_INDEX] != LEVEL_DEFAULT &&
                                      settings->record.is_list && (settings->record.kinds & HP_RECORD_ALLOC);
    settings->record.is_set = resolution->origin[RECORD_INDEX] == LEVEL_ENVIRONMENT && !settings->record.is_off;
    choose_cpu(resolution);
}

#define LISTS_BEGIN offsetof(struct hp_settings, record.filter)
#define LISTS_END offsetof(struct hp_settings, show.percentiles)

static const size_t lists[] = {offsetof(struct hp_settings, record.filter),
                               offsetof(struct hp_settings, record.skip), offsetof(struct hp_settings, record.log),
                               offsetof(struct hp_settings, show.focus)};
_Static_assert(LISTS_END - LISTS_BEGIN == sizeof lists / sizeof lists[0] * HP_PATTERN_LIST_BYTES, "all of them");

void hp_settings_copy(struct hp_settings *to, const struct hp_settings *from)
{
    memcpy(to, from, LISTS_BEGIN);
    for (size_t at = 0; at < sizeof lists / sizeof lists[0]; at++) {
        const char *list = (const char *)from + lists[at];
        memcpy((char *)to + lists[at], list, strlen(list) + 1);
    }
    memcpy((char *)to + LISTS_END, (const char *)from + LISTS_END, sizeof *to - LISTS_END);
}

static void clear(struct hp_settings *settings)
{
    memset(settings, 0, LISTS_BEGIN);
    for (size_t at = 0; at < sizeof lists / sizeof lists[0]; at++)
        *((char *)settings + lists[at]) = '\0';
    memset((char *)settings + LISTS_END, 0, sizeof *settings - LISTS_END);
}

void hp_settings_resolve(struct hp_settings *settings, const struct hotpath_options *options, hp_lookup *lookup,
                         void *lookup_context, hp_warn *warn, void *warn_context)
{
    struct resolution resolution = {
        .settings = settings,
        .options = options,
        .lookup = lookup,
        .lookup_context = lookup_context,
        .warn = warn,
        .warn_context = warn_context,
    };
    clear(settings);
    apply_level(&resolution, LEVEL_DEFAULT);
    settings->show.functions_limit_is_given = false;
    apply_level(&resolution, LEVEL_PROGRAM);
    apply_level(&resolution, LEVEL_ENVIRONMENT);
    warn_about_all(&resolution);
    finish_record(&resolution);
}
