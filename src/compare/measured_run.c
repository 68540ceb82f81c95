/* A run as its report in JSON has it. SPDX-License-Identifier: MIT */
#include "measured_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "growing_array.h"
#include "json_reader.h"
#include "text.h"

#define NONE UINT32_MAX
#define NAME_BYTES 2048u
#define MOST_COLUMNS 12u
#define MOST_LOCKS 1000u

struct reading {
    struct hp_measured_run *run;
    struct hp_json_reader json;
    bool has_no_memory;
    double version;
    const char *hotpath; /* that wrote it */
    bool is_report, is_by_thread, is_focused;
    bool counts_allocations, has_all_allocations; /* the section may be there without any being counted */
    double cpu_total_ns, found_total_ns;          /* by clocks, and by samples */
};

/* A row of a table while it is read. Rows of all sections are read alike; a section uses what it has. */
struct row {
    char name[NAME_BYTES], file[NAME_BYTES], library[NAME_BYTES], cause[64];
    uint32_t line;
    double values[HP_METRICS];
    uint32_t known;
};

static const char *copy_text(struct reading *reading)
{
    char *copy = hp_arena_take(&reading->run->arena, reading->json.length + 1);
    if (copy == NULL) {
        reading->has_no_memory = true;
        return "";
    }
    hp_json_copy(&reading->json, copy, reading->json.length + 1);
    return copy;
}

static const char *next_text(struct reading *reading)
{
    return hp_json_next(&reading->json) == HP_JSON_STRING ? copy_text(reading) : "";
}

/* -1: the next value is no number. Whatever it is, it has been read. */
static double next_number(struct reading *reading)
{
    const enum hp_json_token token = hp_json_next(&reading->json);
    if (token == HP_JSON_OBJECT || token == HP_JSON_ARRAY)
        hp_json_leave(&reading->json);
    return token == HP_JSON_NUMBER ? reading->json.number : -1;
}

/* ---------------------------------------------------------------------------------------------------- functions */

/* "parser:120 load" names a place to tell functions of one name apart; a line more above it changes nothing. */
static void drop_lines(char *name)
{
    char *to = name;
    for (const char *at = name; *at != '\0';) {
        const size_t digits = *at == ':' ? strspn(at + 1, "0123456789") : 0;
        if (digits > 0 && at[1 + digits] == ' ')
            at += 1 + digits;
        else
            *to++ = *at++;
    }
    *to = '\0';
}

/* Its number; created on first use. NONE: no memory. */
static uint32_t number_of(struct reading *reading, const char *name, const char *library, bool is_sampled)
{
    struct hp_measured_run *run = reading->run;
    if (!hp_hash_make_room(&run->index) || !HP_MAKE_ZEROED_ROOM(run->functions, run->count + 1, run->room)) {
        reading->has_no_memory = true;
        return NONE;
    }
    const uint32_t hash = hp_hash_with_text(&run->index, hp_hash_with_text(&run->index, is_sampled, library), name);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(&run->index, hash, &slot)) != 0;) {
        const struct hp_measured_function *function = &run->functions[number - 1];
        if (function->is_sampled == is_sampled && strcmp(function->name, name) == 0 &&
            strcmp(function->library, library) == 0)
            return number - 1;
    }
    struct hp_measured_function *function = &run->functions[run->count];
    *function = (struct hp_measured_function){.name = hp_arena_copy(&run->arena, name, strlen(name)),
                                              .library = hp_arena_copy(&run->arena, library, strlen(library)),
                                              .file = "",
                                              .path = "",
                                              .is_sampled = is_sampled};
    if (function->name == NULL || function->library == NULL) {
        reading->has_no_memory = true;
        return NONE;
    }
    hp_hash_put(&run->index, slot, hash, (uint32_t)++run->count);
    return (uint32_t)run->count - 1;
}

static void set_metric(struct row *row, enum hp_metric metric, double value)
{
    row->values[metric] = value >= 0 ? value : 0;
    row->known |= value >= 0 ? 1u << metric : 0;
}

/* Metrics that rows of different sections have are added: a function has a row in `waits` for each cause. */
static void add_row(struct reading *reading, const struct row *row, bool is_sampled)
{
    static const uint32_t per_call = 1u << HP_METRIC_TYPICAL | 1u << HP_METRIC_QUARTER | 1u << HP_METRIC_P50 |
                                     1u << HP_METRIC_P90 | 1u << HP_METRIC_P95 | 1u << HP_METRIC_P99 |
                                     1u << HP_METRIC_P99_9 | 1u << HP_METRIC_MAX;
    const uint32_t number = number_of(reading, row->name, is_sampled ? row->library : "", is_sampled);
    struct hp_measured_run *run = reading->run;
    if (number == NONE)
        return;
    struct hp_measured_function *function = &run->functions[number];
    uint32_t known = row->known;
    if ((function->known & known & 1u << HP_METRIC_CALLS) != 0) { /* two functions that only lines tell apart */
        function->known &= ~per_call;
        known &= ~per_call;
    }
    for (enum hp_metric metric = 0; metric < HP_METRICS; metric++)
        function->values[metric] += (known >> metric & 1) != 0 ? row->values[metric] : 0;
    function->known |= known;
    function->line = row->line > 0 ? row->line : function->line;
    if (row->file[0] != '\0')
        function->path = hp_arena_copy(&run->arena, row->file, strlen(row->file));
    function->file = function->path != NULL ? hp_text_base_name(function->path) : "";
    if (function->path == NULL) {
        function->path = "";
        reading->has_no_memory = true;
    }
}

/* ----------------------------------------------------------------------------------------------------- sections */

/* What a column of a section is to us. */
struct column {
    const char *key;
    enum hp_metric metric;
};

static const struct section {
    const char *name;
    bool is_sampled;
    struct column columns[MOST_COLUMNS];
} sections[] = {
    {"timing",
     false,
     {{"calls", HP_METRIC_CALLS},
      {"typical_ns", HP_METRIC_TYPICAL},
      {"quarter_ns", HP_METRIC_QUARTER},
      {"p50_ns", HP_METRIC_P50},
      {"p90_ns", HP_METRIC_P90},
      {"p95_ns", HP_METRIC_P95},
      {"p99_ns", HP_METRIC_P99},
      {"p99_9_ns", HP_METRIC_P99_9},
      {"max_ns", HP_METRIC_MAX},
      {"self_ns", HP_METRIC_SELF},
      {"total_ns", HP_METRIC_TOTAL},
      {"self_instructions", HP_METRIC_INSTRUCTIONS}}},
    {"cpu", false, {{"own_cpu_ns", HP_METRIC_CPU}}},
    {"waits", false, {{"waited_ns", HP_METRIC_WAITING}}},
    {"alloc-bytes",
     false,
     {{"own_count", HP_METRIC_ALLOCATIONS}, {"own_bytes", HP_METRIC_BYTES}, {"peak_usable_bytes", HP_METRIC_PEAK}}},
    {"functions",
     true,
     {{"samples", HP_METRIC_SAMPLES},
      {"self_ns", HP_METRIC_SELF},
      {"waiting_ns", HP_METRIC_WAITING},
      {"self_instructions", HP_METRIC_INSTRUCTIONS}}},
};

static void read_location(struct reading *reading, struct row *row)
{
    if (hp_json_next(&reading->json) != HP_JSON_OBJECT)
        return;
    while (hp_json_next(&reading->json) == HP_JSON_KEY) {
        if (hp_json_is(&reading->json, "line")) {
            const double line = next_number(reading);
            row->line = line > 0 && line < 1e9 ? (uint32_t)line : 0;
        } else if (!hp_json_is(&reading->json, "file")) {
            hp_json_skip(&reading->json);
        } else if (hp_json_next(&reading->json) == HP_JSON_STRING) {
            hp_json_copy(&reading->json, row->file, sizeof row->file);
        }
    }
}

static void read_text(struct reading *reading, char *text, size_t size)
{
    if (hp_json_next(&reading->json) == HP_JSON_STRING)
        hp_json_copy(&reading->json, text, size);
}

/* Where instructions are counted, executions are no samples: counts are compared exactly. */
static bool is_counted(const struct reading *reading, enum hp_metric metric)
{
    return metric == HP_METRIC_SAMPLES && hp_text_begins(reading->run->clock, "instructions");
}

static void read_cell(struct reading *reading, const struct section *section, struct row *row)
{
    for (size_t at = 0; at < MOST_COLUMNS && section->columns[at].key != NULL; at++)
        if (hp_json_is(&reading->json, section->columns[at].key)) {
            const double number = next_number(reading);
            if (!is_counted(reading, section->columns[at].metric))
                set_metric(row, section->columns[at].metric, number);
            return;
        }
    if (hp_json_is(&reading->json, "name"))
        read_text(reading, row->name, sizeof row->name);
    else if (hp_json_is(&reading->json, "library"))
        read_text(reading, row->library, sizeof row->library);
    else if (hp_json_is(&reading->json, "cause"))
        read_text(reading, row->cause, sizeof row->cause);
    else if (hp_json_is(&reading->json, "location"))
        read_location(reading, row);
    else
        hp_json_skip(&reading->json);
}

static void read_rows(struct reading *reading, const struct section *section)
{
    static struct row row;
    if (hp_json_next(&reading->json) != HP_JSON_ARRAY)
        return;
    while (hp_json_next(&reading->json) == HP_JSON_OBJECT) {
        row.name[0] = row.file[0] = row.library[0] = row.cause[0] = '\0';
        row.line = row.known = 0;
        while (hp_json_next(&reading->json) == HP_JSON_KEY)
            read_cell(reading, section, &row);
        drop_lines(row.name);
        if (strcmp(row.cause, "lock") == 0)
            set_metric(&row, HP_METRIC_LOCKS, row.values[HP_METRIC_WAITING]);
        if (strcmp(row.cause, "run queue") != 0) /* the machine, not the function */
            add_row(reading, &row, section->is_sampled);
    }
}

static void add_lock(struct reading *reading, const char *name, const struct hp_measured_lock *lock)
{
    struct hp_measured_run *run = reading->run;
    size_t at = 0;
    while (at < run->lock_count && strcmp(run->locks[at].name, name) != 0)
        at++;
    if (at == MOST_LOCKS)
        return;
    if (at == run->lock_count) {
        const char *copy = hp_arena_copy(&run->arena, name, strlen(name));
        if (copy == NULL || !HP_MAKE_ROOM(run->locks, run->lock_count + 1, run->lock_room)) {
            reading->has_no_memory = true;
            return;
        }
        run->locks[run->lock_count++] = (struct hp_measured_lock){.name = copy};
    }
    run->locks[at].locked += fmax(lock->locked, 0);
    run->locks[at].contended += fmax(lock->contended, 0);
    run->locks[at].wait_ns += fmax(lock->wait_ns, 0);
}

static void read_lock_rows(struct reading *reading)
{
    static char name[NAME_BYTES];
    if (hp_json_next(&reading->json) != HP_JSON_ARRAY)
        return;
    while (hp_json_next(&reading->json) == HP_JSON_OBJECT) {
        struct hp_measured_lock lock = {0};
        name[0] = '\0';
        while (hp_json_next(&reading->json) == HP_JSON_KEY)
            if (hp_json_is(&reading->json, "name"))
                read_text(reading, name, sizeof name);
            else if (hp_json_is(&reading->json, "locked"))
                lock.locked = next_number(reading);
            else if (hp_json_is(&reading->json, "contended"))
                lock.contended = next_number(reading);
            else if (hp_json_is(&reading->json, "wait_ns"))
                lock.wait_ns = next_number(reading);
            else
                hp_json_skip(&reading->json);
        drop_lines(name);
        add_lock(reading, name, &lock);
    }
}

static void read_locks(struct reading *reading)
{
    if (hp_json_next(&reading->json) != HP_JSON_OBJECT)
        return;
    while (hp_json_next(&reading->json) == HP_JSON_KEY)
        if (hp_json_is(&reading->json, "rows"))
            read_lock_rows(reading);
        else
            hp_json_skip(&reading->json);
}

static void read_totals(struct reading *reading, const struct section *section)
{
    double cpu_ns = 0;
    if (hp_json_next(&reading->json) != HP_JSON_OBJECT)
        return;
    while (hp_json_next(&reading->json) == HP_JSON_KEY)
        if (hp_json_is(&reading->json, "cpu_ns"))
            cpu_ns = next_number(reading);
        else
            hp_json_skip(&reading->json);
    if (strcmp(section->name, "cpu") == 0)
        reading->cpu_total_ns = cpu_ns;
    else if (section->is_sampled)
        reading->found_total_ns = cpu_ns;
}

static void read_section(struct reading *reading, const struct section *section)
{
    double total_rows = 0, shown_rows = 0;
    if (hp_json_next(&reading->json) != HP_JSON_OBJECT)
        return;
    while (hp_json_next(&reading->json) == HP_JSON_KEY)
        if (hp_json_is(&reading->json, "rows"))
            read_rows(reading, section);
        else if (hp_json_is(&reading->json, "totals"))
            read_totals(reading, section);
        else if (hp_json_is(&reading->json, "total_rows"))
            total_rows = next_number(reading);
        else if (hp_json_is(&reading->json, "shown_rows"))
            shown_rows = next_number(reading);
        else
            hp_json_skip(&reading->json);
    if (strcmp(section->name, "timing") == 0)
        reading->run->is_cut = shown_rows < total_rows;
    else if (strcmp(section->name, "alloc-bytes") == 0)
        reading->has_all_allocations = shown_rows >= total_rows;
}

/* --------------------------------------------------------------------------------------------------- call tree */

/* A row comes before its children, which are its last key: only the path to the current row is kept. */
struct path {
    uint32_t *functions; /* from the root */
    size_t depth, room;
};

static void add_call(struct reading *reading, uint32_t caller, uint32_t callee, double calls)
{
    struct hp_measured_run *run = reading->run;
    const uint32_t pair = hp_pair_table_put(&run->callees, caller, callee);
    if (pair == HP_NO_PAIR || !HP_MAKE_ZEROED_ROOM(run->calls, (size_t)pair + 1, run->calls_room))
        reading->has_no_memory = true;
    else
        run->calls[pair] += calls;
}

/* The row's name and calls are known. */
static void enter_row(struct reading *reading, struct path *path, struct row *row)
{
    drop_lines(row->name);
    const uint32_t function = number_of(reading, row->name, "", false);
    if (function == NONE || !HP_MAKE_ROOM(path->functions, path->depth + 1, path->room)) {
        reading->has_no_memory = true;
        return;
    }
    for (size_t at = 0; at < path->depth; at++)
        if (path->functions[at] == function)
            reading->run->functions[function].is_nested = true;
    if (path->depth > 0)
        add_call(reading, path->functions[path->depth - 1], function, row->values[HP_METRIC_CALLS]);
    path->functions[path->depth++] = function;
}

/* Does not recurse: the tree may be deep. Between two rows the reader is in an array of them. */
static void read_tree_rows(struct reading *reading, struct path *path)
{
    static struct row row;
    if (hp_json_next(&reading->json) != HP_JSON_ARRAY)
        return;
    reading->run->has_tree = true;
    while (!reading->has_no_memory) {
        const enum hp_json_token token = hp_json_next(&reading->json);
        if (token == HP_JSON_OBJECT) {
            row.name[0] = '\0';
            row.values[HP_METRIC_CALLS] = 0;
        } else if (token == HP_JSON_ARRAY_END && path->depth == 0) {
            return;
        } else if (token == HP_JSON_ARRAY_END) {
            path->depth--; /* the end of the children; that of their parent follows */
        } else if (token == HP_JSON_KEY && hp_json_is(&reading->json, "children")) {
            enter_row(reading, path, &row);
            if (hp_json_next(&reading->json) != HP_JSON_ARRAY)
                return;
        } else if (token == HP_JSON_KEY && hp_json_is(&reading->json, "name")) {
            read_text(reading, row.name, sizeof row.name);
        } else if (token == HP_JSON_KEY && hp_json_is(&reading->json, "calls")) {
            set_metric(&row, HP_METRIC_CALLS, next_number(reading));
        } else if (token == HP_JSON_KEY) {
            hp_json_skip(&reading->json);
        } else if (token != HP_JSON_OBJECT_END) {
            return;
        }
    }
}

static void read_tree(struct reading *reading)
{
    struct path path = {0};
    if (hp_json_next(&reading->json) != HP_JSON_OBJECT)
        return;
    while (hp_json_next(&reading->json) == HP_JSON_KEY)
        if (hp_json_is(&reading->json, "rows"))
            read_tree_rows(reading, &path);
        else
            hp_json_skip(&reading->json);
    free(path.functions);
}

static void read_sections(struct reading *reading)
{
    if (hp_json_next(&reading->json) != HP_JSON_OBJECT)
        return;
    while (hp_json_next(&reading->json) == HP_JSON_KEY) {
        size_t at = 0;
        while (at < sizeof sections / sizeof sections[0] && !hp_json_is(&reading->json, sections[at].name))
            at++;
        if (at < sizeof sections / sizeof sections[0])
            read_section(reading, &sections[at]);
        else if (hp_json_is(&reading->json, "calltree"))
            read_tree(reading);
        else if (hp_json_is(&reading->json, "locks"))
            read_locks(reading);
        else
            hp_json_skip(&reading->json);
    }
}

/* ------------------------------------------------------------------------------------------------------ reports */

static void read_clock(struct reading *reading)
{
    if (hp_json_next(&reading->json) != HP_JSON_OBJECT)
        return;
    while (hp_json_next(&reading->json) == HP_JSON_KEY)
        if (hp_json_is(&reading->json, "kind"))
            reading->run->clock = next_text(reading);
        else if (hp_json_is(&reading->json, "hz"))
            reading->run->hz = next_number(reading);
        else
            hp_json_skip(&reading->json);
}

static void read_source(struct reading *reading)
{
    struct hp_measured_source *source = &reading->run->source;
    if (hp_json_next(&reading->json) != HP_JSON_OBJECT)
        return;
    while (hp_json_next(&reading->json) == HP_JSON_KEY)
        if (hp_json_is(&reading->json, "commit"))
            source->commit = next_text(reading);
        else if (hp_json_is(&reading->json, "branch"))
            source->branch = next_text(reading);
        else if (hp_json_is(&reading->json, "ci"))
            source->ci = next_text(reading);
        else if (hp_json_is(&reading->json, "job"))
            source->job = next_text(reading);
        else if (hp_json_is(&reading->json, "dirty"))
            source->dirty = hp_json_next(&reading->json) == HP_JSON_TRUE ? "true" : "false";
        else
            hp_json_skip(&reading->json);
}

static void read_meta(struct reading *reading)
{
    struct hp_measured_run *run = reading->run;
    if (hp_json_next(&reading->json) != HP_JSON_OBJECT)
        return;
    while (hp_json_next(&reading->json) == HP_JSON_KEY)
        if (hp_json_is(&reading->json, "command"))
            run->command = next_text(reading);
        else if (hp_json_is(&reading->json, "system"))
            run->system = next_text(reading);
        else if (hp_json_is(&reading->json, "library"))
            run->library = next_text(reading);
        else if (hp_json_is(&reading->json, "cores"))
            run->cores = next_number(reading);
        else if (hp_json_is(&reading->json, "clock"))
            read_clock(reading);
        else if (hp_json_is(&reading->json, "source"))
            read_source(reading);
        else
            hp_json_skip(&reading->json);
}

static bool next_is(struct reading *reading, const char *word)
{
    return hp_json_next(&reading->json) == HP_JSON_STRING && hp_json_is(&reading->json, word);
}

static void read_key(struct reading *reading)
{
    const struct hp_json_reader *json = &reading->json;
    if (hp_json_is(json, "type"))
        reading->is_report = next_is(reading, "hotpath_report");
    else if (hp_json_is(json, "version"))
        reading->version = next_number(reading);
    else if (hp_json_is(json, "hotpath"))
        reading->hotpath = next_text(reading);
    else if (hp_json_is(json, "meta"))
        read_meta(reading);
    else if (hp_json_is(json, "state"))
        reading->run->is_running = next_is(reading, "running");
    else if (hp_json_is(json, "by"))
        reading->is_by_thread = next_is(reading, "thread");
    else if (hp_json_is(json, "alloc"))
        reading->counts_allocations = hp_json_skip(&reading->json);
    else if (hp_json_is(json, "stretch"))
        reading->run->is_part = hp_json_skip(&reading->json);
    else if (hp_json_is(json, "elapsed_ns"))
        reading->run->elapsed_ns = next_number(reading);
    else if (hp_json_is(json, "sections"))
        read_sections(reading);
    else {
        reading->is_focused = reading->is_focused || hp_json_is(json, "focus") || hp_json_is(json, "min_percent");
        hp_json_skip(&reading->json);
    }
}

/* NULL: it can be compared. */
static const char *problem_of(const struct reading *reading, bool is_json)
{
    if (reading->has_no_memory)
        return "is too large for the memory there is";
    if (!is_json)
        return "is not JSON, or not all of it";
    if (!reading->is_report)
        return "is not a report of hotpath";
    if (reading->is_by_thread)
        return "is a report by thread, which cannot be compared; make one by function";
    if (reading->is_focused)
        return "has a part of the functions (--focus or --min-percent); make a report with all of them";
    return NULL;
}

/* Which versions of hotpath wrote them is in docs/compare.md. */
static void put_version_problem(const struct reading *reading, char *problem, size_t size)
{
    const bool is_newer = reading->version > HP_REPORT_NEWEST;
    snprintf(problem, size, "is a report of version %.0f, by hotpath %.20s; this hotpath reads version %u: %s",
             reading->version, reading->hotpath, HP_REPORT_NEWEST,
             is_newer ? "use the newer hotpath" : "record the run again");
}

bool hp_measured_run_read(struct hp_measured_run *run, const char *path, const char *bytes, size_t length,
                          char *problem, size_t size)
{
    struct reading reading = {.run = run, .json = hp_json_reader_of(bytes, length), .hotpath = "?"};
    *run = (struct hp_measured_run){.path = "", .command = "", .system = "", .clock = "", .library = ""};
    run->source = (struct hp_measured_source){"", "", "", "", ""};
    const char *copy = hp_arena_copy(&run->arena, path, strlen(path));
    run->path = copy != NULL ? copy : "";
    reading.has_no_memory = copy == NULL;
    if (hp_json_next(&reading.json) == HP_JSON_OBJECT)
        while (hp_json_next(&reading.json) == HP_JSON_KEY)
            read_key(&reading);
    const bool is_json = reading.json.token == HP_JSON_OBJECT_END && hp_json_finish(&reading.json);
    const char *what = problem_of(&reading, is_json);
    run->cpu_ns = reading.cpu_total_ns > 0 ? reading.cpu_total_ns : reading.found_total_ns;
    if (reading.counts_allocations && reading.has_all_allocations)
        run->known = 1u << HP_METRIC_ALLOCATIONS | 1u << HP_METRIC_BYTES | 1u << HP_METRIC_PEAK;
    if (what != NULL)
        snprintf(problem, size, "%s", what);
    else if (reading.version < HP_REPORT_OLDEST || reading.version > HP_REPORT_NEWEST)
        put_version_problem(&reading, problem, size);
    else
        return true;
    return false;
}

void hp_measured_run_free(struct hp_measured_run *run)
{
    hp_arena_release(&run->arena);
    hp_hash_free(&run->index);
    hp_pair_table_free(&run->callees);
    free(run->functions);
    free(run->calls);
    free(run->locks);
    *run = (struct hp_measured_run){0};
}
