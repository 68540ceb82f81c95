/* Parsers for option values: texts, words, numbers. SPDX-License-Identifier: MIT */
#include "option_values.h"

#include <string.h>

#include "text.h"
#include "units.h"

#define SHOWN_BYTES 40

bool hp_option_complain(struct hp_text *problem, const char *what)
{
    hp_text_string(problem, what);
    return false;
}

void *hp_option_place(const struct hp_option *option, struct hp_settings *settings)
{
    return (char *)settings + option->settings_offset;
}

bool hp_option_too_long(struct hp_text *problem, const struct hp_option *option)
{
    hp_text_format(problem, "is longer than %zu bytes", option->settings_size - 1);
    return false;
}

bool hp_option_parse_text(const struct hp_option *option, const char *text, struct hp_settings *settings,
                          struct hp_text *ret_problem)
{
    const size_t length = strlen(text);
    if (length >= option->settings_size)
        return hp_option_too_long(ret_problem, option);
    memcpy(hp_option_place(option, settings), text, length + 1);
    return true;
}

bool hp_option_parse_pattern(const struct hp_option *option, const char *text, struct hp_settings *settings,
                             struct hp_text *ret_problem)
{
    struct hp_pattern pattern;
    if (strlen(text) >= option->settings_size)
        return hp_option_too_long(ret_problem, option);
    const char *error = hp_pattern_compile(&pattern, text);
    if (!error)
        return hp_option_parse_text(option, text, settings, ret_problem);
    hp_text_format(ret_problem, "is not a text or /regex/: %s", error);
    return false;
}

_Static_assert(sizeof((struct hp_settings *)0)->show.slowest == HP_PATTERN_BYTES, "every name fits into a pattern");
/* Writes the bytes of a value so that any terminal and log can show them. */
void hp_option_put_shown(struct hp_text *line, const char *value)
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

bool hp_option_parse_percent(const struct hp_option *option, const char *text, struct hp_settings *settings,
                             struct hp_text *ret_problem)
{
    double percent;
    if (!hp_number_decimal(text, strlen(text), &percent) || percent > 100)
        return hp_option_complain(ret_problem, "is not a number from 0 to 100, such as 0.5");
    memcpy(hp_option_place(option, settings), &percent, sizeof percent);
    return true;
}

/* Sets a uint32_t to the index of the word. */
static bool parse_choice(const struct hp_option *option, const char *text, struct hp_settings *settings,
                         const char *const *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (hp_text_equal_nocase(text, strlen(text), words[i])) {
            memcpy(hp_option_place(option, settings), &i, sizeof i);
            return true;
        }
    return false;
}

bool hp_option_parse_format(const struct hp_option *option, const char *text, struct hp_settings *settings,
                            struct hp_text *ret_problem)
{
    static const char *const names[] = {
        [HP_FORMAT_TABLE] = "table", [HP_FORMAT_JSON] = "json",         [HP_FORMAT_JSON_PRETTY] = "json-pretty",
        [HP_FORMAT_CSV] = "csv",     [HP_FORMAT_MARKDOWN] = "markdown", [HP_FORMAT_HTML] = "html",
        [HP_FORMAT_NONE] = "none",
    };
    return parse_choice(option, text, settings, names, sizeof names / sizeof names[0]) ||
           hp_option_complain(ret_problem, "is not one of table, json, json-pretty, csv, markdown, html, none");
}

bool hp_option_parse_by(const struct hp_option *option, const char *text, struct hp_settings *settings,
                        struct hp_text *ret_problem)
{
    static const char *const names[] = {[HP_BY_FUNCTION] = "function", [HP_BY_THREAD] = "thread"};
    return parse_choice(option, text, settings, names, sizeof names / sizeof names[0]) ||
           hp_option_complain(ret_problem, "is not one of function, thread");
}

static const char *const metric_names[] = {[HP_ALLOC_BYTES_TOTAL] = "bytes-total",
                                           [HP_ALLOC_BYTES_MAX] = "bytes-max",
                                           [HP_ALLOC_COUNT_TOTAL] = "count-total",
                                           [HP_ALLOC_COUNT_MAX] = "count-max"};

#define METRIC_COUNT (sizeof metric_names / sizeof metric_names[0])

const char *hp_alloc_metric_name(uint32_t metric) { return metric_names[metric % METRIC_COUNT]; }

/* "bytes" and "count" are the totals. */
bool hp_option_parse_metric(const struct hp_option *option, const char *text, struct hp_settings *settings,
                            struct hp_text *ret_problem)
{
    static const char *const short_names[] = {
        [HP_ALLOC_BYTES_TOTAL] = "bytes", [HP_ALLOC_BYTES_MAX] = "bytes-max", [HP_ALLOC_COUNT_TOTAL] = "count"};
    return parse_choice(option, text, settings, metric_names, METRIC_COUNT) ||
           parse_choice(option, text, settings, short_names, sizeof short_names / sizeof short_names[0]) ||
           hp_option_complain(ret_problem, "is not one of bytes-total, bytes-max, count-total, count-max");
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

/* The bits of a list of names; 0: one of them is unknown. */
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

bool hp_option_parse_engine(const struct hp_option *option, const char *text, struct hp_settings *settings,
                            struct hp_text *ret_problem)
{
    static const char *const names[] = {[HP_CPU_ENGINE_AUTO] = "auto", [HP_CPU_ENGINE_TIMERS] = "timers"};
    return parse_choice(option, text, settings, names, sizeof names / sizeof names[0]) ||
           hp_option_complain(ret_problem, "is not one of auto, timers");
}

bool hp_option_parse_clock(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem)
{
    static const char *const names[] = {[HP_CLOCK_OF_TIME] = "time",
                                        [HP_CLOCK_OF_INSTRUCTIONS] = "instructions",
                                        [HP_CLOCK_OF_QEMU_INSTRUCTIONS] = "instructions:qemu",
                                        [HP_CLOCK_OF_CPU_INSTRUCTIONS] = "instructions:pmu"};
    return parse_choice(option, text, settings, names, sizeof names / sizeof names[0]) ||
           hp_option_complain(ret_problem, "is not one of time, instructions, instructions:qemu, instructions:pmu");
}

/* A flag or a list. */
bool hp_option_parse_record(const struct hp_option *option, const char *text, struct hp_settings *settings,
                            struct hp_text *ret_problem)
{
    bool is_on = true;
    const bool is_flag = hp_number_flag(text, strlen(text), &is_on);
    const uint32_t bits = is_flag ? HP_RECORD_USUAL : record_bits(text);
    (void)option;
    if (bits == 0)
        return hp_option_complain(ret_problem, "is not 0, 1 or a list of timing, alloc, cpu");
    settings->record.kinds = is_on ? bits : 0;
    settings->record.is_off = !is_on;
    settings->record.is_list = !is_flag;
    return true;
}

bool hp_option_parse_count(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem)
{
    uint64_t number;
    if (!hp_number_unsigned(text, strlen(text), UINT32_MAX, &number))
        return hp_option_complain(ret_problem, "is not a number from 0 to 4294967295");
    const uint32_t count = (uint32_t)number;
    memcpy(hp_option_place(option, settings), &count, sizeof count);
    return true;
}

bool hp_option_parse_cpu_rate(const struct hp_option *option, const char *text, struct hp_settings *settings,
                              struct hp_text *ret_problem)
{
    uint64_t number;
    (void)option;
    if (!hp_number_unsigned(text, strlen(text), HP_MAX_CPU_RATE, &number) || number == 0)
        return hp_option_complain(ret_problem, "is not a number from 1 to 10000");
    settings->record.cpu_rate = (uint32_t)number;
    return true;
}

static bool read_limit(const char *text, uint32_t *ret_limit, struct hp_text *ret_problem)
{
    uint64_t number;
    if (!hp_number_unsigned(text, strlen(text), HOTPATH_NO_LIMIT - 1, &number))
        return hp_option_complain(ret_problem, "is not a number from 0 to 4294967294 (0: no limit)");
    *ret_limit = number == 0 ? HOTPATH_NO_LIMIT : (uint32_t)number;
    return true;
}

bool hp_option_parse_limit(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem)
{
    uint32_t limit;
    if (!read_limit(text, &limit, ret_problem))
        return false;
    memcpy(hp_option_place(option, settings), &limit, sizeof limit);
    settings->show.functions_limit_is_given |=
        option->settings_offset == offsetof(struct hp_settings, show.functions_limit);
    return true;
}

bool hp_option_parse_limit_of_all(const struct hp_option *option, const char *text, struct hp_settings *settings,
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

/* A fraction, "0.0625" or "1/16", as one in N; the nearest there is. */
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

bool hp_option_parse_sampling_rate(const struct hp_option *option, const char *text, struct hp_settings *settings,
                                   struct hp_text *ret_problem)
{
    (void)option;
    if (!read_part(text, &settings->record.time_period))
        return hp_option_complain(ret_problem, "is not a fraction such as 1/16 or 0.0625");
    return true;
}

bool hp_option_parse_bound(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem)
{
    uint64_t percent;
    (void)option;
    if (!hp_number_unsigned(text, strlen(text), 100, &percent))
        return hp_option_complain(ret_problem, "is not a percentage from 0 to 100 (0: no bound)");
    settings->record.measuring_bound = (uint32_t)percent;
    return true;
}

#define MOST_ALLOC_STACKS (UINT64_C(1) << 30)
#define MOST_BYTES (UINT64_C(4) << 30)
_Static_assert(HP_MIN_BYTES == 262144, "the message below names the limit");

bool hp_option_parse_max_bytes(const struct hp_option *option, const char *text, struct hp_settings *settings,
                               struct hp_text *ret_problem)
{
    uint64_t bytes;
    (void)option;
    if (!hp_number_bytes(text, strlen(text), MOST_BYTES, &bytes) || (bytes > 0 && bytes < HP_MIN_BYTES))
        return hp_option_complain(ret_problem, "is not a size from 256KB to 4GB");
    settings->record.max_bytes = bytes;
    return true;
}

bool hp_option_parse_alloc_stacks(const struct hp_option *option, const char *text, struct hp_settings *settings,
                                  struct hp_text *ret_problem)
{
    uint64_t bytes;
    (void)option;
    if (!hp_number_bytes(text, strlen(text), MOST_ALLOC_STACKS, &bytes))
        return hp_option_complain(ret_problem, "is not a size from 0 to 1GB");
    settings->record.alloc_stacks = (uint32_t)bytes;
    return true;
}

bool hp_option_parse_flag(const struct hp_option *option, const char *text, struct hp_settings *settings,
                          struct hp_text *ret_problem)
{
    bool flag;
    if (!hp_number_flag(text, strlen(text), &flag))
        return hp_option_complain(ret_problem, "is not one of 1, true, yes, on, 0, false, no, off");
    memcpy(hp_option_place(option, settings), &flag, sizeof flag);
    return true;
}

/* NO_COLOR applies whatever its value is: https://no-color.org. */
bool hp_option_parse_no_color(const struct hp_option *option, const char *text, struct hp_settings *settings,
                              struct hp_text *ret_problem)
{
    (void)option;
    (void)text;
    (void)ret_problem;
    settings->output.no_color = true;
    return true;
}
