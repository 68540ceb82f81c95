/*
 * Resolves all sources of options into one struct of settings.
 *
 * Values are applied level by level (defaults, program, environment) and, within a level, in the order of the
 * table. That alone makes HOTPATH_LIMIT work: it comes before the limits of single sections and sets them all, so a
 * single one overrides it within its own level and is overridden by it from the next level. Warnings are written
 * after all levels, because only then is it known what is used instead. SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "option_values.h"
#include "options.h"
#include "spelling.h"
#include "text.h"

/* ------------------------------------------------------------------------------------ options of the program */

#define HP_PROGRAM_VALUE_BYTES 24

#define END_OF(member) (offsetof(struct hotpath_options, member) + sizeof((struct hotpath_options *)0)->member)

/* The first version ended with these fields, which later ones may use; programs built with it will stay around. */
#define FIRST_VERSION_BYTES (offsetof(struct hotpath_options, exclude_wrapper) + 12) /* flags, and reserved bytes */
/* No struct is larger; a larger size is invalid. */
#define LARGEST_BYTES 4096u

static bool are_zero(const struct hotpath_options *options, size_t from, size_t to)
{
    const unsigned char *bytes = (const unsigned char *)options;
    for (size_t i = from; i < to && i < options->size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* Between the reserved fields and the end of the struct there may be padding with arbitrary contents. */
bool hp_options_are_known(const struct hotpath_options *options)
{
    if (!options)
        return true;
    return options->size >= FIRST_VERSION_BYTES && options->size <= LARGEST_BYTES &&
           are_zero(options, offsetof(struct hotpath_options, reserved), END_OF(reserved)) &&
           are_zero(options, sizeof *options, options->size);
}

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

/* Converts a number of the program to environment syntax. */
static const char *number_text(const struct hp_option *option, uint64_t number, char buffer[HP_PROGRAM_VALUE_BYTES])
{
    struct hp_text text;
    if (option->type == HP_OPTION_FLAG)
        number = 1;
    if (option->type == HP_OPTION_LIMIT && number == HOTPATH_NO_LIMIT)
        number = 0;
    hp_text_init(&text, buffer, HP_PROGRAM_VALUE_BYTES);
    hp_text_u64(&text, number);
    return hp_text_end(&text);
}

/* The same for a number with decimals; NaN and infinity are not accepted. */
static const char *decimal_text(double number, char buffer[HP_PROGRAM_VALUE_BYTES])
{
    struct hp_text text;
    hp_text_init(&text, buffer, HP_PROGRAM_VALUE_BYTES);
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

/* The program's value of an option, in environment syntax; NULL: not set. */
static const char *program_value(const struct hp_option *option, const struct hotpath_options *options,
                                 char buffer[HP_PROGRAM_VALUE_BYTES])
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

/* -------------------------------------------------------------------------------------------------- settings */

#define LINE_BYTES 640

/* --------------------------------------------------------------------------------------------- resolving */

enum level { LEVEL_DEFAULT, LEVEL_PROGRAM, LEVEL_ENVIRONMENT, LEVELS };

/* State of one call of hp_settings_resolve. */
struct resolution {
    struct hp_settings *settings;
    const struct hotpath_options *options;
    hp_lookup *lookup;
    void *lookup_context;
    hp_warn *warn;
    void *warn_context;
    uint8_t origin[HP_MAX_OPTIONS]; /* enum level: where the effective value comes from */
    bool is_wrong[LEVELS][HP_MAX_OPTIONS];
};

/* NULL: not set. */
static const char *look_up(const struct resolution *resolution, const char *variable)
{
    const char *value = resolution->lookup ? resolution->lookup(variable, resolution->lookup_context) : NULL;
    return value && value[0] ? value : NULL;
}

/* The variable that counts for an option. */
static const char *variable_of(const struct resolution *resolution, const struct hp_option *option)
{
    return option->other_variable && !look_up(resolution, option->variable) ? option->other_variable
                                                                            : option->variable;
}

/* The value of an option at one level; NULL: not set. */
static const char *value_at(const struct resolution *resolution, enum level level, const struct hp_option *option,
                            char buffer[HP_PROGRAM_VALUE_BYTES])
{
    switch (level) {
    case LEVEL_DEFAULT:
        return option->initial[0] ? option->initial : NULL;
    case LEVEL_PROGRAM:
        return program_value(option, resolution->options, buffer);
    default:
        return look_up(resolution, variable_of(resolution, option));
    }
}

static void apply_level(struct resolution *resolution, enum level level)
{
    char buffer[HP_PROGRAM_VALUE_BYTES];
    char bytes[HP_OPTION_PROBLEM_BYTES];
    struct hp_text ignored;
    for (size_t i = 0; i < hp_option_count; i++) {
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
static void begin_warning(struct hp_text *line, char bytes[LINE_BYTES], const char *name, enum level level,
                          const char *value)
{
    hp_text_init(line, bytes, LINE_BYTES);
    hp_text_string(line, "hotpath: ");
    if (level == LEVEL_PROGRAM)
        hp_text_string(line, "option ");
    hp_text_format(line, "%s='", name);
    hp_option_put_shown(line, value);
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

/* An invalid limit is replaced by others from several levels, so the result is shown as a number. */
static void add_limits_used(struct hp_text *line, const struct hp_option *option,
                            const struct hp_settings *settings)
{
    if (option->parse == hp_option_parse_limit) {
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

/* What is used instead of an invalid value. */
static void add_used(struct hp_text *line, const struct resolution *resolution, size_t index)
{
    const struct hp_option *option = &hp_options[index];
    hp_text_string(line, "; using ");
    if (option->type == HP_OPTION_LIMIT) {
        add_limits_used(line, option, resolution->settings);
    } else if (resolution->origin[index] == LEVEL_ENVIRONMENT) {
        hp_text_format(line, "the value of %s", variable_of(resolution, option));
    } else if (resolution->origin[index] == LEVEL_PROGRAM) {
        hp_text_string(line, "the program's own value");
    } else {
        hp_text_string(line, option->initial[0] ? option->initial : option->unset);
    }
}

static void warn_about(const struct resolution *resolution, enum level level, size_t index)
{
    const struct hp_option *option = &hp_options[index];
    char number[HP_PROGRAM_VALUE_BYTES];
    char problem_bytes[HP_OPTION_PROBLEM_BYTES];
    char line_bytes[LINE_BYTES];
    struct hp_text problem;
    struct hp_text line;
    const char *value = value_at(resolution, level, option, number);
    hp_text_init(&problem, problem_bytes, sizeof problem_bytes);
    option->parse(option, value, resolution->settings, &problem); /* fails again: see the top of this file */
    begin_warning(&line, line_bytes, level == LEVEL_PROGRAM ? option->field : variable_of(resolution, option),
                  level, value);
    hp_text_string(&line, hp_text_end(&problem));
    add_used(&line, resolution, index);
    give_warning(resolution, &line);
}

static void warn_about_all(const struct resolution *resolution)
{
    for (size_t i = 0; i < hp_option_count; i++)
        for (enum level level = LEVEL_PROGRAM; level < LEVELS; level++)
            if (resolution->is_wrong[level][i])
                warn_about(resolution, level, i);
}

static bool is_variable(struct hp_spelling *spelling, const char *name)
{
    hp_spelling_try(spelling, name);
    return strlen(name) == spelling->length && memcmp(name, spelling->word, spelling->length) == 0;
}

static bool is_known_variable(struct hp_spelling *spelling)
{
    bool is_known = is_variable(spelling, "HOTPATH_PRELOAD"); /* src/preload/preload.c */
    for (size_t i = 0; i < hp_option_count && !is_known; i++)
        is_known = is_variable(spelling, hp_options[i].variable) ||
                   (hp_options[i].other_variable != NULL && is_variable(spelling, hp_options[i].other_variable));
    return is_known;
}

void hp_options_warn_unknown(char *const *environment, hp_warn *warn, void *context)
{
    for (; environment != NULL && *environment != NULL; environment++) {
        char bytes[LINE_BYTES];
        struct hp_text line;
        if (!hp_text_begins(*environment, "HOTPATH_"))
            continue;
        struct hp_spelling spelling = hp_spelling_of(*environment, strcspn(*environment, "="));
        if (is_known_variable(&spelling))
            continue;
        hp_text_init(&line, bytes, sizeof bytes);
        hp_text_string(&line, "hotpath: unknown variable ");
        hp_text_bytes(&line, spelling.word, spelling.length < 60 ? spelling.length : 60);
        hp_text_format(&line, "%s%s%s",
                       spelling.best != NULL ? "; did you mean " : "; see 'hotpath help environment'",
                       spelling.best != NULL ? spelling.best : "", spelling.best != NULL ? "?" : "");
        warn(hp_text_end(&line), context);
    }
}

/*
 * HOTPATH_CPU overrides a list in HOTPATH, which overrides the program's option, which adds to what else it
 * records.
 */
static void choose_cpu(const struct resolution *resolution)
{
    struct hp_settings *settings = resolution->settings;
    const bool is_listed = resolution->origin[HP_RECORD_INDEX] == LEVEL_ENVIRONMENT && settings->record.is_list;
    if (settings->record.is_off || settings->record.kinds == 0)
        return;
    if (resolution->origin[HP_CPU_INDEX] == LEVEL_ENVIRONMENT && !settings->record.cpu)
        settings->record.kinds &= ~HP_RECORD_CPU;
    else if (settings->record.cpu && (resolution->origin[HP_CPU_INDEX] == LEVEL_ENVIRONMENT || !is_listed))
        settings->record.kinds |= HP_RECORD_CPU;
}

static void finish_record(const struct resolution *resolution)
{
    struct hp_settings *settings = resolution->settings;
    settings->record.alloc_is_asked = resolution->origin[HP_RECORD_INDEX] != LEVEL_DEFAULT &&
                                      settings->record.is_list && (settings->record.kinds & HP_RECORD_ALLOC);
    settings->record.is_set = resolution->origin[HP_RECORD_INDEX] == LEVEL_ENVIRONMENT && !settings->record.is_off;
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
