/*
 * A report as JSON. Numbers are raw, with their unit in the key; every column is present, visible in a table or
 * not; null means no value. SPDX-License-Identifier: MIT
 */
#include "json_report.h"

#include <string.h>

#include "alloc_profile.h"
#include "cpu_profile.h"
#include "json.h"
#include "time_range.h"
#include "trust_line.h"
#include "units.h"

#define REPORT_VERSION 2u

/* Nothing is measured below a picosecond, and a tick is never shorter than a tenth of a nanosecond. */
static void put_ns(struct hp_json *json, double ns)
{
    if (ns >= 1e6)
        hp_json_u64(json, hp_units_round(ns));
    else
        hp_json_number(json, (double)hp_units_round(ns * 1000) / 1000, 12);
}

/* ---------------------------------------------------------------------------------------------- meta */

/*
 * The wall clock is read once per session, so the end of the run is computed from the start of the primary
 * session.
 */
static void put_moment(struct hp_json *json, const struct hp_run *run)
{
    char bytes[40];
    struct hp_text moment;
    const uint64_t wall_start = run->sessions[0]->header.wall_start_ns;
    const uint64_t before = hp_run_started_ns(run, run->sessions[0]);
    const uint64_t elapsed = run->range != NULL ? run->range->whole_ns : hp_run_elapsed_ns(run);
    uint64_t end;
    hp_text_init(&moment, bytes, sizeof bytes);
    if (__builtin_add_overflow(wall_start, elapsed > before ? elapsed - before : 0, &end))
        end = wall_start;
    hp_units_timestamp(&moment, end);
    hp_json_put_string(json, "created_at", hp_text_end(&moment));
}

/* Places count characters, not bytes: most readers have texts of characters. */
static size_t count_characters(const char *bytes, size_t length)
{
    size_t count = 0;
    for (size_t at = 0; at < length; at++)
        count += ((unsigned char)bytes[at] & 0xc0) != 0x80;
    return count;
}

static void put_headline_functions(struct hp_json *json, const hotpath_results *results)
{
    hp_json_key(json, "headline_functions");
    hp_json_begin_array(json);
    for (size_t at = 0; results->headline != NULL && at < results->headline_name_count; at++) {
        const struct hp_name_place *place = &results->headline_names[at];
        if (!place->is_function)
            continue;
        hp_json_begin_object(json);
        hp_json_put_u64(json, "at", count_characters(results->headline, place->at));
        hp_json_put_u64(json, "length", count_characters(results->headline + place->at, place->length));
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

/* Splits "key=value" at the first "="; an item without one is a key with an empty value. */
static size_t key_length(const char *item, size_t length)
{
    const char *sign = memchr(item, '=', length);
    return sign != NULL ? (size_t)(sign - item) : length;
}

/* "commit=...,dirty=true" */
static void put_source(struct hp_json *json, const char *facts)
{
    size_t length;
    hp_json_key(json, "source");
    hp_json_begin_object(json);
    for (const char *item; (item = hp_text_next_item(&facts, &length)) != NULL;) {
        const size_t key = key_length(item, length), value = key < length ? key + 1 : length;
        hp_json_key_bytes(json, item, key);
        if (key == 5 && memcmp(item, "dirty", 5) == 0)
            hp_json_bool(json, item[value] == 't');
        else
            hp_json_string_bytes(json, item + value, length - value);
    }
    hp_json_end_object(json);
}

/* Programs that were executed without the emulator. */
static void put_uncounted(struct hp_json *json, const char *lines)
{
    hp_json_key(json, "uncounted");
    hp_json_begin_array(json);
    for (const char *line = lines, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        const char *tab = memchr(line, '\t', (size_t)(end - line));
        if (tab == NULL || tab == line)
            continue;
        hp_json_begin_object(json);
        hp_json_key(json, "program");
        hp_json_string_bytes(json, tab + 1, (size_t)(end - tab) - 1);
        hp_json_key(json, "reason");
        hp_json_string_bytes(json, line, (size_t)(tab - line));
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

static void put_meta(struct hp_json *json, const hotpath_results *results)
{
    const struct hp_snapshot *snapshot = results->model->run.sessions[0];
    const struct hp_header *header = &snapshot->header;
    hp_json_key(json, "meta");
    hp_json_begin_object(json);
    put_moment(json, &results->model->run);
    hp_json_put_string(json, "command", hp_snapshot_text(snapshot, header->command));
    hp_json_put_string(json, "executable", hp_snapshot_text(snapshot, header->executable));
    hp_json_put_u64(json, "pid", header->pid);
    hp_json_put_u64(json, "parent_pid", header->parent_pid);
    hp_json_put_string(json, "host", hp_snapshot_text(snapshot, header->host));
    hp_json_put_string(json, "system", hp_snapshot_text(snapshot, header->system));
    hp_json_put_u64(json, "cores", header->cores);
    hp_json_put_u64(json, "threads", header->threads_seen);
    hp_json_put_string(json, "library", hp_snapshot_text(snapshot, header->library));
    hp_json_key(json, "clock");
    hp_json_begin_object(json);
    hp_json_put_string(json, "kind", results->trust->clock);
    hp_json_key(json, "hz");
    if (results->trust->clock_hz > 0)
        hp_json_u64(json, hp_units_round(results->trust->clock_hz));
    else
        hp_json_null(json);
    hp_json_end_object(json);
    hp_json_put_u64(json, "processes", results->model->run.process_count);
    if (results->model->source != NULL)
        put_source(json, results->model->source);
    if (results->model->natives != NULL)
        put_uncounted(json, results->model->natives);
    hp_json_key(json, "headline");
    if (results->headline != NULL)
        hp_json_string(json, results->headline);
    else
        hp_json_null(json);
    put_headline_functions(json, results);
    hp_json_end_object(json);
}

/* Of a repeated key only the last counts: an object has each key once. */
static bool comes_again(const char *rest, const char *key, size_t length)
{
    size_t item_length;
    for (const char *item; (item = hp_text_next_item(&rest, &item_length)) != NULL;)
        if (key_length(item, item_length) == length && memcmp(item, key, length) == 0)
            return true;
    return false;
}

static void put_metadata(struct hp_json *json, const char *metadata)
{
    size_t length;
    hp_json_key(json, "user_metadata");
    hp_json_begin_object(json);
    for (const char *rest = metadata, *item; (item = hp_text_next_item(&rest, &length)) != NULL;) {
        const size_t key = key_length(item, length);
        const size_t value = key < length ? key + 1 : length;
        if (comes_again(rest, item, key))
            continue;
        hp_json_key_bytes(json, item, key);
        hp_json_string_bytes(json, item + value, length - value);
    }
    hp_json_end_object(json);
}

/* ---------------------------------------------------------------------------------------------- rows */

static void put_location(struct hp_json *json, const struct hp_location *location)
{
    hp_json_begin_object(json);
    hp_json_put_string(json, "file", location->file);
    hp_json_put_u64(json, "line", location->line);
    hp_json_put_string(json, "function", location->function);
    hp_json_end_object(json);
}

static void put_thread(struct hp_json *json, const struct hp_thread_label *thread)
{
    hp_json_begin_object(json);
    hp_json_put_string(json, "name", thread->name);
    hp_json_put_u64(json, "pid", thread->pid);
    hp_json_put_u64(json, "tid", thread->tid);
    hp_json_put_u64(json, "threads", thread->threads);
    hp_json_end_object(json);
}

/* A bar is [from, to, amount], or an entry with its label as key. */
static void put_histogram(struct hp_json *json, const struct hotpath_histogram *histogram)
{
    const bool has_labels = histogram->labels != NULL;
    if (has_labels)
        hp_json_begin_object(json);
    else
        hp_json_begin_array(json);
    for (size_t at = 0; at < histogram->bars; at++) {
        if (has_labels) {
            hp_json_put_u64(json, histogram->labels[at], histogram->amounts[at]);
            continue;
        }
        hp_json_begin_array(json);
        put_ns(json, histogram->from[at]);
        put_ns(json, histogram->to[at]);
        hp_json_u64(json, histogram->amounts[at]);
        hp_json_end_array(json);
    }
    if (has_labels)
        hp_json_end_object(json);
    else
        hp_json_end_array(json);
}

/* A point is [nanoseconds after the beginning, value]. */
static void put_series(struct hp_json *json, const struct hotpath_series *series)
{
    hp_json_begin_array(json);
    for (size_t at = 0; at < series->points; at++) {
        hp_json_begin_array(json);
        hp_json_u64(json, series->times_ns[at]);
        hp_json_number(json, series->values[at], 12);
        hp_json_end_array(json);
    }
    hp_json_end_array(json);
}

static void put_instant(struct hp_json *json, uint64_t ns)
{
    char bytes[40];
    struct hp_text moment;
    hp_text_init(&moment, bytes, sizeof bytes);
    hp_units_timestamp(&moment, ns);
    hp_json_string(json, hp_text_end(&moment));
}

static void put_value(struct hp_json *json, uint32_t unit, const struct hp_cell *cell)
{
    switch ((enum hotpath_unit)unit) {
    case HOTPATH_UNIT_TEXT:
    case HOTPATH_UNIT_STATE:
        hp_json_string(json, cell->text);
        break;
    case HOTPATH_UNIT_COUNT:
    case HOTPATH_UNIT_BYTES:
        hp_json_u64(json, cell->count);
        break;
    case HOTPATH_UNIT_NS:
    case HOTPATH_UNIT_INSTRUCTIONS:
        put_ns(json, cell->number);
        break;
    case HOTPATH_UNIT_PERCENT:
    case HOTPATH_UNIT_NUMBER:
    case HOTPATH_UNIT_RATE:
        hp_json_number(json, cell->number, 8);
        break;
    case HOTPATH_UNIT_INSTANT:
        put_instant(json, cell->count);
        break;
    case HOTPATH_UNIT_HISTOGRAM:
        put_histogram(json, cell->histogram);
        break;
    case HOTPATH_UNIT_SERIES:
        put_series(json, cell->series);
        break;
    case HOTPATH_UNIT_SIGNED_COUNT:
    case HOTPATH_UNIT_SIGNED_BYTES:
        hp_json_i64(json, (int64_t)cell->count);
        break;
    case HOTPATH_UNIT_VALUE:
        if (hp_cell_is_whole_value(cell))
            hp_json_i64(json, (int64_t)cell->count);
        else
            hp_json_number(json, cell->number, 15);
        break;
    }
}

void hp_json_report_put_cell(struct hp_json *json, const struct hp_column *column, const struct hp_cell *cell)
{
    if (!cell->has_value)
        hp_json_null(json);
    else if (column->traits & HP_COLUMN_LOCATION)
        put_location(json, cell->location);
    else if (column->traits & HP_COLUMN_THREAD)
        put_thread(json, cell->thread);
    else
        put_value(json, column->shown.unit, cell);
}

void hp_json_report_put_id(struct hp_json *json, uint64_t id)
{
    char digits[17] = {0};
    for (size_t at = 0; at < 16; at++)
        digits[at] = "0123456789abcdef"[id >> (60 - 4 * at) & 15];
    if (id != 0)
        hp_json_string(json, digits);
    else
        hp_json_null(json);
}

static struct hp_key_text key_of(const struct hotpath_section *section, size_t column)
{
    const struct hotpath_column *shown = &section->columns[column].shown;
    return hp_column_key(shown->key, section->counts_instructions || shown->unit == HOTPATH_UNIT_INSTRUCTIONS);
}

static void begin_row(struct hp_json *json, const struct hotpath_section *section, const struct hp_row *row)
{
    hp_json_begin_object(json);
    hp_json_key(json, "id");
    hp_json_report_put_id(json, row->id);
    if (section->is_tree) {
        hp_json_key(json, "parent");
        hp_json_report_put_id(json, row->parent > 0 ? section->rows[row->parent - 1].id : 0);
    }
    for (size_t column = 0; column < section->column_count; column++) {
        hp_json_key(json, key_of(section, column).bytes);
        hp_json_report_put_cell(json, &section->columns[column], &row->cells[column]);
    }
}

static void put_flat_rows(struct hp_json *json, const struct hotpath_section *section)
{
    for (size_t row = 0; row < section->row_count; row++) {
        begin_row(json, section, &section->rows[row]);
        hp_json_end_object(json);
    }
}

/* Rows come parent first, each at most one level below the one before: `open` counts the rows not yet closed. */
static void put_tree_rows(struct hp_json *json, const struct hotpath_section *section)
{
    uint32_t open = 0;
    for (size_t row = 0; row < section->row_count; row++) {
        for (; open > section->rows[row].depth; open--) {
            hp_json_end_array(json);
            hp_json_end_object(json);
        }
        begin_row(json, section, &section->rows[row]);
        hp_json_key(json, "children");
        hp_json_begin_array(json);
        open++;
    }
    for (; open > 0; open--) {
        hp_json_end_array(json);
        hp_json_end_object(json);
    }
}

static void put_order(struct hp_json *json, const struct hotpath_section *section)
{
    hp_json_key(json, "order");
    hp_json_begin_object(json);
    hp_json_put_string(json, "column", key_of(section, section->order.column).bytes);
    hp_json_put_string(json, "direction", section->order.is_ascending ? "ascending" : "descending");
    hp_json_end_object(json);
}

static void put_totals(struct hp_json *json, const struct hotpath_section *section)
{
    hp_json_key(json, "totals");
    hp_json_begin_object(json);
    for (size_t at = 0; at < section->total_count; at++) {
        hp_json_key(json, hp_column_key(section->totals[at].key, section->counts_instructions).bytes);
        if (section->totals[at].cell.has_value)
            put_value(json, section->totals[at].unit, &section->totals[at].cell);
        else
            hp_json_null(json);
    }
    hp_json_end_object(json);
}

static void put_estimated(struct hp_json *json, const char *key, hp_put_fields *fields)
{
    struct hp_column_list list;
    hp_fields_list(fields, NULL, &list);
    hp_json_key(json, key);
    hp_json_begin_array(json);
    for (size_t at = 0; at < list.count; at++)
        if (list.specs[at]->traits & HP_COLUMN_ESTIMATE)
            hp_json_string(json, list.specs[at]->key);
    hp_json_end_array(json);
}

/* The columns and totals that are estimated from samples; most sections have none. */
static void put_estimates(struct hp_json *json, const struct hp_section_type *type)
{
    if (!hp_section_has_estimates(type))
        return;
    hp_json_key(json, "estimated");
    hp_json_begin_object(json);
    put_estimated(json, "columns", type->fields);
    put_estimated(json, "totals", type->totals);
    hp_json_end_object(json);
}

void hp_json_report_put_head(struct hp_json *json, const struct hotpath_section *section)
{
    hp_json_put_string(json, "description", section->description);
    hp_json_key(json, "main");
    if (section->main != NULL)
        hp_json_string(json, section->main);
    else
        hp_json_null(json);
    if (section->percent_of != NULL)
        hp_json_put_string(json, "percent_of", section->percent_of);
    if (section->order.is_set)
        put_order(json, section);
    if (section->total_count > 0)
        put_totals(json, section);
    put_estimates(json, section->type);
    hp_json_put_u64(json, "total_rows", section->total_rows);
    hp_json_put_u64(json, "shown_rows", section->row_count);
}

static void put_section(struct hp_json *json, const struct hotpath_section *section)
{
    hp_json_key(json, section->name);
    hp_json_begin_object(json);
    hp_json_report_put_head(json, section);
    hp_json_key(json, "rows");
    hp_json_begin_array(json);
    if (section->is_tree)
        put_tree_rows(json, section);
    else
        put_flat_rows(json, section);
    hp_json_end_array(json);
    hp_json_end_object(json);
}

/* ------------------------------------------------------------------------------------------- report */

static void put_cpu_trust(struct hp_json *json, const struct hp_cpu *cpu)
{
    if (cpu == NULL)
        return;
    hp_json_key(json, "cpu");
    hp_json_begin_object(json);
    hp_json_put_string(json, "engine", hp_cpu_engine_name(cpu));
    hp_json_put_u64(json, "rate_asked", cpu->rate);
    hp_json_key(json, "rate");
    hp_json_number(json, hp_cpu_achieved_rate(cpu), 8);
    hp_json_put_u64(json, "refusal", cpu->refusal);
    hp_json_end_object(json);
}

/* In JSON instructions have keys of their own, by which no reader takes them for nanoseconds. */
static void put_duration(struct hp_json *json, const char *key, bool is_of_instructions, double ns)
{
    hp_json_key(json, hp_column_key(key, is_of_instructions).bytes);
    put_ns(json, ns);
}

static void put_trust(struct hp_json *json, const struct hp_trust *trust)
{
    const bool is_counted = hp_text_begins(trust->clock, "instructions");
    hp_json_key(json, "trust");
    hp_json_begin_object(json);
    put_duration(json, "zone_cost_ns", is_counted, trust->zone_cost_ns);
    put_duration(json, "zone_inner_ns", is_counted, trust->zone_inner_ns);
    hp_json_key(json, "overhead_share_percent");
    hp_json_number(json, trust->share_percent, 8);
    hp_json_key(json, "overhead_least_percent");
    hp_json_number(json, trust->least_percent, 8);
    put_duration(json, "overhead_cpu_ns", is_counted, trust->cost_ns);
    hp_json_put_string(json, "overhead_of", trust->is_of_cpu ? "cpu" : "run");
    put_cpu_trust(json, trust->cpu);
    if (trust->shares_counter)
        hp_json_key(json, "shared_counter"), hp_json_bool(json, true);
    if (trust->lacks_counter)
        hp_json_key(json, "missing_counter"), hp_json_bool(json, true);
    if (hp_trust_storage(trust) != NULL)
        hp_json_put_string(json, "storage", hp_trust_storage(trust));
    if (hp_trust_refusal(trust) != NULL)
        hp_json_put_string(json, "refusal", hp_trust_refusal(trust));
    if (hp_trust_sandbox(trust) != NULL)
        hp_json_put_string(json, "sandbox", hp_trust_sandbox(trust));
    if (trust->uncounted > 0)
        hp_json_put_u64(json, "uncounted_processes", trust->uncounted);
    if (trust->unpassed > 0)
        hp_json_put_u64(json, "unpassed_processes", trust->unpassed);
    if (trust->brief > 0)
        hp_json_put_u64(json, "brief_processes", trust->brief);
    if (trust->left_out > 0)
        hp_json_put_u64(json, "left_out_functions", trust->left_out);
    hp_json_key(json, "lost");
    hp_json_begin_object(json);
    for (size_t at = 0; at < hp_loss_count; at++)
        hp_json_put_u64(json, hp_loss_words[at].key, trust->lost[at]);
    hp_json_end_object(json);
    hp_json_end_object(json);
}

static void put_cut_off(struct hp_json *json, const struct hp_run *run)
{
    char bytes[80];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_trust_put_cut_off(run, &line);
    hp_json_string(json, hp_text_end(&line));
}

static void put_warnings(struct hp_json *json, const hotpath_results *results)
{
    hp_json_key(json, "warnings");
    hp_json_begin_array(json);
    if (results->model->run.cut_off > 0)
        put_cut_off(json, &results->model->run);
    for (size_t at = 0; at < results->warning_count; at++)
        hp_json_string(json, results->warnings[at]);
    hp_json_end_array(json);
}

static void put_work(struct hp_json *json, const struct hp_run *run)
{
    const struct hp_run_work work = hp_run_work(run);
    if (!work.is_known)
        return;
    hp_json_key(json, "work");
    hp_json_begin_object(json);
    hp_json_put_u64(json, "covered_ns", work.covered_ns);
    hp_json_put_u64(json, "worked_ns", work.worked_ns);
    hp_json_put_u64(json, "blocked_ns", work.blocked_ns);
    hp_json_put_u64(json, "socket_ns", work.socket_ns);
    hp_json_put_u64(json, "idle_ns", work.idle_ns);
    hp_json_end_object(json);
}

static void put_range(struct hp_json *json, const struct hp_time_range *range)
{
    hp_json_key(json, "stretch");
    hp_json_begin_object(json);
    hp_json_put_u64(json, "from_ns", range->from_ns);
    hp_json_put_u64(json, "to_ns", range->to_ns);
    hp_json_put_u64(json, "whole_ns", range->whole_ns);
    hp_json_end_object(json);
}

void hp_json_report_put_about(struct hp_json *json, const hotpath_results *results)
{
    hp_json_put_string(json, "type", "hotpath_report");
    hp_json_put_u64(json, "version", REPORT_VERSION);
    hp_json_put_string(json, "hotpath", HOTPATH_VERSION);
    put_meta(json, results);
    if (results->label[0] != '\0')
        hp_json_put_string(json, "label", results->label);
    if (results->metadata[0] != '\0')
        put_metadata(json, results->metadata);
    if (results->settings->show.focus[0] != '\0')
        hp_json_put_string(json, "focus", results->settings->show.focus);
    if (results->settings->show.min_percent > 0) {
        hp_json_key(json, "min_percent");
        hp_json_number(json, results->settings->show.min_percent, 15);
    }
    hp_json_put_string(json, "state", hp_snapshot_state_name(hp_run_state(&results->model->run)));
    hp_json_put_string(json, "time", results->settings->show.time_exclusive ? "exclusive" : "inclusive");
    hp_json_put_string(json, "by", results->settings->show.by == HP_BY_THREAD ? "thread" : "function");
    if (hp_run_has_allocs(&results->model->run)) {
        hp_json_put_string(json, "alloc", results->settings->show.alloc_cumulative ? "cumulative" : "exclusive");
        hp_json_put_string(json, "alloc_metric", hp_alloc_metric_name(results->settings->show.alloc_metric));
    }
    if (hp_run_has_cpu(&results->model->run))
        hp_json_put_string(json, "cpu", results->settings->show.cpu_inclusive ? "inclusive" : "exclusive");
    hp_json_put_u64(json, hp_column_key("elapsed_ns", hp_run_counts_instructions(&results->model->run)).bytes,
                    hp_run_elapsed_ns(&results->model->run));
    put_work(json, &results->model->run);
    if (results->model->run.range != NULL)
        put_range(json, results->model->run.range);
}

void hp_json_report_put_end(struct hp_json *json, const hotpath_results *results)
{
    put_warnings(json, results);
    put_trust(json, results->trust);
}

void hp_json_report_render(const hotpath_results *results, struct hp_text *out, bool is_pretty)
{
    struct hp_json json;
    hp_json_init(&json, out, is_pretty);
    hp_json_begin_object(&json);
    hp_json_report_put_about(&json, results);
    hp_json_key(&json, "sections");
    hp_json_begin_object(&json);
    for (size_t at = 0; at < results->section_count; at++)
        put_section(&json, results->sections[at]);
    hp_json_end_object(&json);
    hp_json_report_put_end(&json, results);
    hp_json_end_object(&json);
    hp_text_char(out, '\n');
}
