/* Writes the numbers of a session for metrics collectors. SPDX-License-Identifier: MIT */
#include "metrics.h"

#include <stdlib.h>
#include <string.h>

#include "hotpath.h"
#include "section.h"
#include "thread_usage_profile.h"
#include "trust.h"
#include "utf8.h"

#define LONGEST_NAME 200u /* of a label, in bytes */
#define MOST_CAUSES 32u

/* A function as one series: rows of the same name are added up, since a series must be unique. */
struct function {
    const char *name;
    uint64_t hash;
    bool is_chosen;
    double values[6];
};

enum value { CALLS, TOTAL, SELF, USER, KERNEL, BYTES, VALUES };

struct cause {
    const char *name;
    double ns;
};

struct metrics {
    struct hp_text *out;
    bool is_openmetrics;
    struct function *functions;
    size_t function_count;
    uint32_t *index; /* by hash: the number of a function from 1; 0: a free slot */
    size_t index_mask;
    bool has_values[VALUES];
    struct cause causes[MOST_CAUSES];
    size_t cause_count;
};

/* --------------------------------------------------------------------------------------------- collecting */

static const struct hotpath_section *find_section(const hotpath_results *results, const char *name)
{
    for (size_t at = 0; at < results->section_count; at++)
        if (strcmp(results->sections[at]->name, name) == 0)
            return results->sections[at];
    return NULL;
}

static double number_of(const struct hotpath_section *section, const struct hp_row *row, size_t column)
{
    const struct hp_cell *cell = &row->cells[column];
    if (!cell->has_value)
        return 0;
    const uint32_t unit = section->columns[column].shown.unit;
    return unit == HOTPATH_UNIT_COUNT || unit == HOTPATH_UNIT_BYTES ? (double)cell->count : cell->number;
}

static struct function *function_of(struct metrics *metrics, const char *name, bool may_be_new)
{
    const uint64_t hash = hp_text_hash(name, strlen(name));
    size_t at = (size_t)hash & metrics->index_mask;
    for (; metrics->index[at] != 0; at = (at + 1) & metrics->index_mask) {
        struct function *function = &metrics->functions[metrics->index[at] - 1];
        if (function->hash == hash && strcmp(function->name, name) == 0)
            return function;
    }
    if (!may_be_new)
        return NULL;
    struct function *function = &metrics->functions[metrics->function_count++];
    *function = (struct function){.name = name, .hash = hash};
    metrics->index[at] = (uint32_t)metrics->function_count;
    return function;
}

/* For this many functions. False: no memory. */
static bool make_room(struct metrics *metrics, struct hp_arena *arena, size_t count)
{
    size_t places = 16;
    while (places < 2 * count)
        places *= 2;
    metrics->functions = hp_arena_take_array(arena, count + 1, sizeof *metrics->functions);
    metrics->index = hp_arena_take_array(arena, places, sizeof *metrics->index);
    metrics->index_mask = places - 1;
    if (metrics->functions == NULL || metrics->index == NULL)
        return false;
    memset(metrics->index, 0, places * sizeof *metrics->index);
    return true;
}

/*
 * Adds a column of a section to a value of its functions. Timing must come first: other sections have rows that are
 * not functions.
 */
static void add(struct metrics *metrics, const hotpath_results *results, const char *name, const char *column,
                enum value value)
{
    const struct hotpath_section *section = find_section(results, name);
    if (section == NULL || section->row_count == 0)
        return;
    const size_t at = hp_section_find_column(section, column, strlen(column));
    const size_t named = hp_section_find_column(section, "name", 4);
    if (at >= section->column_count || named >= section->column_count)
        return;
    metrics->has_values[value] = true;
    for (size_t row = 0; row < section->row_count; row++) {
        const char *text = section->rows[row].cells[named].text;
        struct function *function = text != NULL ? function_of(metrics, text, value == CALLS) : NULL;
        if (function != NULL)
            function->values[value] += number_of(section, &section->rows[row], at);
    }
}

static void add_causes(struct metrics *metrics, const hotpath_results *results)
{
    const struct hotpath_section *section = find_section(results, "waits");
    const size_t cause = section != NULL ? hp_section_find_column(section, "cause", 5) : 0;
    const size_t waited = section != NULL ? hp_section_find_column(section, "waited_ns", 9) : 0;
    if (section == NULL || cause >= section->column_count || waited >= section->column_count)
        return;
    for (size_t row = 0; row < section->row_count; row++) {
        const char *name = section->rows[row].cells[cause].text;
        size_t at = 0;
        while (name != NULL && at < metrics->cause_count && strcmp(metrics->causes[at].name, name) != 0)
            at++;
        if (name == NULL || at == MOST_CAUSES)
            continue;
        if (at == metrics->cause_count)
            metrics->causes[metrics->cause_count++] = (struct cause){.name = name};
        metrics->causes[at].ns += number_of(section, &section->rows[row], waited);
    }
}

static int most_time_first(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    if (x->values[SELF] != y->values[SELF])
        return x->values[SELF] < y->values[SELF] ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* A series that a collector has seen must stay. */
static void choose(struct metrics *metrics, struct hp_served *served)
{
    if (metrics->function_count > 1)
        qsort(metrics->functions, metrics->function_count, sizeof *metrics->functions, most_time_first);
    for (size_t at = 0; at < metrics->function_count; at++) {
        struct function *function = &metrics->functions[at];
        for (size_t known = 0; known < served->metric_name_count && !function->is_chosen; known++)
            function->is_chosen = served->metric_names[known] == function->hash;
    }
    for (size_t at = 0; at < metrics->function_count && served->metric_name_count < HP_SERVED_METRIC_NAMES; at++) {
        struct function *function = &metrics->functions[at];
        if (!function->is_chosen)
            served->metric_names[served->metric_name_count++] = function->hash;
        function->is_chosen = true;
    }
}

/* ------------------------------------------------------------------------------------------------ writing */

/* The head of a family. In OpenMetrics the name of a counter lacks the _total of its samples. */
static void put_head(const struct metrics *metrics, const char *name, const char *type, const char *unit,
                     const char *help)
{
    struct hp_text *out = metrics->out;
    const bool is_counter = strcmp(type, "counter") == 0, is_info = strcmp(type, "info") == 0;
    const char *suffix = metrics->is_openmetrics ? "" : is_counter ? "_total" : is_info ? "_info" : "";
    const char *const lines[][2] = {
        {"HELP", help}, {"TYPE", is_info && !metrics->is_openmetrics ? "gauge" : type}, {"UNIT", unit}};
    for (size_t at = 0; at < (metrics->is_openmetrics && unit != NULL ? 3 : 2); at++) {
        hp_text_format(out, "# %s %s%s %s\n", lines[at][0], name, suffix, lines[at][1]);
    }
}

/*
 * The value of a label: invalid UTF-8 and control characters are replaced; a long value is cut, but stays unique.
 */
static void put_label(const struct metrics *metrics, const char *label, const char *value)
{
    char safe[8 * LONGEST_NAME];
    struct hp_text text;
    const bool is_long = strlen(value) > LONGEST_NAME;
    size_t length = is_long ? LONGEST_NAME - 10 : strlen(value);
    while (is_long && length > 0 && ((unsigned char)value[length] & 0xc0) == 0x80)
        length--; /* not inside a character */
    hp_text_init(&text, safe, sizeof safe);
    hp_utf8_put_safe(&text, value, length);
    if (is_long) {
        hp_text_char(&text, '~');
        hp_text_hex(&text, (uint32_t)hp_text_hash(value, strlen(value)), 8);
    }
    hp_text_end(&text);
    hp_text_format(metrics->out, "%s=\"", label);
    for (const char *at = safe; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            hp_text_char(metrics->out, '\\');
        hp_text_char(metrics->out, *at);
    }
    hp_text_char(metrics->out, '"');
}

static void put_sample(const struct metrics *metrics, const char *name, const char *suffix, const char *label,
                       const char *value, double number)
{
    struct hp_text *out = metrics->out;
    hp_text_format(out, "%s%s", name, suffix);
    if (label != NULL) {
        hp_text_char(out, '{');
        put_label(metrics, label, value);
        hp_text_char(out, '}');
    }
    hp_text_char(out, ' ');
    hp_text_real(out, number, 15);
    hp_text_char(out, '\n');
}

static void put_gauge(const struct metrics *metrics, const char *name, const char *unit, const char *help,
                      double number)
{
    put_head(metrics, name, "gauge", unit, help);
    put_sample(metrics, name, "", NULL, NULL, number);
}

static void put_functions(const struct metrics *metrics)
{
    static const struct {
        const char *name, *unit, *help;
        double scale;
    } families[VALUES] = {
        [CALLS] = {"hotpath_function_calls", NULL, "Calls of a measured function.", 1},
        [TOTAL] = {"hotpath_function_seconds", "seconds", "Time in a function and its callees, over all threads.",
                   1e-9},
        [SELF] = {"hotpath_function_self_seconds", "seconds", "Time in a function itself, over all threads.", 1e-9},
        [USER] = {"hotpath_function_cpu_user_seconds", "seconds", "CPU time of a function itself in user mode.",
                  1e-9},
        [KERNEL] = {"hotpath_function_cpu_kernel_seconds", "seconds",
                    "CPU time of a function itself in the kernel.", 1e-9},
        [BYTES] = {"hotpath_function_allocated_bytes", "bytes", "Bytes that a function itself allocated.", 1},
    };
    for (unsigned value = 0; value < VALUES; value++) {
        if (!metrics->has_values[value])
            continue;
        put_head(metrics, families[value].name, "counter", families[value].unit, families[value].help);
        for (size_t at = 0; at < metrics->function_count; at++)
            if (metrics->functions[at].is_chosen)
                put_sample(metrics, families[value].name, "_total", "function", metrics->functions[at].name,
                           metrics->functions[at].values[value] * families[value].scale);
    }
}

static void put_waits(const struct metrics *metrics)
{
    if (metrics->cause_count == 0)
        return;
    put_head(metrics, "hotpath_waiting_seconds", "counter", "seconds", "Time that threads waited, by cause.");
    for (size_t at = 0; at < metrics->cause_count; at++)
        put_sample(metrics, "hotpath_waiting_seconds", "_total", "cause", metrics->causes[at].name,
                   metrics->causes[at].ns * 1e-9);
}

static void put_about(const struct metrics *metrics, struct hp_model *model)
{
    const struct hp_snapshot *first = model->run.sessions[0];
    const struct hp_trust *trust = hp_model_trust(model);
    const char *command = hp_snapshot_text(first, first->header.command);
    char program[256];
    struct hp_text text;
    uint64_t lost = 0;
    hp_text_init(&text, program, sizeof program);
    hp_text_bytes(&text, command, strcspn(command, " "));
    hp_text_end(&text);
    put_head(metrics, "hotpath_session", "info", NULL, "The program that is measured.");
    hp_text_string(metrics->out, "hotpath_session_info{");
    put_label(metrics, "program", hp_text_base_name(program));
    hp_text_char(metrics->out, ',');
    put_label(metrics, "version", HOTPATH_VERSION);
    hp_text_string(metrics->out, "} 1\n");
    put_gauge(metrics, "hotpath_running", NULL, "1 while the program runs, 0 after its end.",
              hp_run_state(&model->run) == HP_SNAPSHOT_RUNNING);
    put_gauge(metrics, "hotpath_elapsed_seconds", "seconds", "How long the program has run.",
              (double)hp_run_elapsed_ns(&model->run) * 1e-9);
    put_gauge(metrics, "hotpath_processes", NULL, "Processes of the run.", (double)model->run.process_count);
    const struct hp_run_thread_usage *usage =
        hp_run_has_thread_usage(&model->run) ? hp_model_thread_usage(model) : NULL;
    if (usage != NULL) {
        put_gauge(metrics, "hotpath_threads", NULL, "Running threads.", (double)usage->threads);
        put_gauge(metrics, "hotpath_resident_bytes", "bytes", "Resident memory of running processes.",
                  (double)usage->rss_bytes);
    }
    for (size_t at = 0; trust != NULL && at < HP_LOSSES; at++)
        lost += trust->lost[at];
    put_head(metrics, "hotpath_lost_records", "counter", NULL, "Records that were lost.");
    put_sample(metrics, "hotpath_lost_records", "_total", NULL, NULL, (double)lost);
}

static void put_left_out(const struct metrics *metrics)
{
    size_t left_out = 0;
    for (size_t at = 0; at < metrics->function_count; at++)
        left_out += !metrics->functions[at].is_chosen;
    put_gauge(metrics, "hotpath_functions_without_metrics", NULL,
              "Functions without metrics, because too many have metrics already.", (double)left_out);
}

/* All rows, whatever a report would show. */
static const hotpath_results *results_of(struct hp_model *model, const struct hp_settings *settings)
{
    static const char sections[] = "timing,cpu,alloc-bytes,waits";
    struct hp_settings *ours = hp_arena_take(model->arena, sizeof *ours);
    if (ours == NULL)
        return NULL;
    hp_settings_copy(ours, settings);
    memcpy(ours->show.report, sections, sizeof sections);
    ours->show.functions_limit = HOTPATH_NO_LIMIT;
    ours->show.functions_limit_is_given = true;
    ours->show.columns[0] = ours->show.sort[0] = '\0';
    ours->show.by = HP_BY_FUNCTION;
    ours->show.min_percent = 0;
    ours->show.cpu_inclusive = ours->show.alloc_cumulative = ours->show.time_exclusive = false;
    return hp_results_of_model(model, ours);
}

bool hp_metrics_write(struct hp_serving *serving, struct hp_served *served, bool is_openmetrics,
                      struct hp_text *out)
{
    struct hp_model *model = hp_reader_model(&served->reader);
    const hotpath_results *results = results_of(model, serving->settings);
    const struct hotpath_section *timing = results != NULL ? find_section(results, "timing") : NULL;
    struct metrics metrics = {.out = out, .is_openmetrics = is_openmetrics};
    if (results == NULL || !make_room(&metrics, model->arena, timing != NULL ? timing->row_count : 0))
        return false;
    add(&metrics, results, "timing", "calls", CALLS);
    add(&metrics, results, "timing", "total_ns", TOTAL);
    add(&metrics, results, "timing", "self_ns", SELF);
    add(&metrics, results, "cpu", "user_ns", USER);
    add(&metrics, results, "cpu", "kernel_ns", KERNEL);
    add(&metrics, results, "alloc-bytes", "own_bytes", BYTES);
    add_causes(&metrics, results);
    choose(&metrics, served);
    put_about(&metrics, model);
    put_functions(&metrics);
    put_waits(&metrics);
    put_left_out(&metrics);
    if (is_openmetrics)
        hp_text_string(out, "# EOF\n");
    return true;
}
