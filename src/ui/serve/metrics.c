/* The numbers of sessions for metrics collectors. SPDX-License-Identifier: MIT */
#include "metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "demangle.h"
#include "growing_array.h"
#include "hotpath.h"
#include "plain_name.h"
#include "process.h"
#include "reader.h"
#include "section.h"
#include "service_name.h"
#include "session_dirs.h"
#include "text.h"
#include "trust.h"

/* ------------------------------------------------------------------------------------------------- one session */

/* One session that is read. */
struct reading {
    struct hp_model *model;
    const hotpath_results *results;
    struct hp_metric_sums *sums;
    uint32_t service;
    bool is_of_one, hides_texts;
    struct hp_metric_points *points;
    /* Names of the rows of a section, which many families have in common. */
    struct {
        const struct hotpath_section *section;
        uint8_t kind;
        size_t column;
        uint32_t *numbers;
    } rows;
};

static const struct hotpath_section *find_section(const hotpath_results *results, const char *name)
{
    for (size_t at = 0; at < results->section_count; at++)
        if (strcmp(results->sections[at]->name, name) == 0)
            return results->sections[at];
    return NULL;
}

static size_t column_of(const struct hotpath_section *section, const char *key)
{
    return hp_section_find_column(section, key, strlen(key));
}

/* Rows of single instances are in that of their class. */
static bool is_part(const struct hotpath_section *section, const struct hp_row *row, size_t instance)
{
    return row->depth > 0 || (instance < section->column_count && row->cells[instance].has_value);
}

static uint32_t name_of(struct reading *reading, const struct hp_row *row, size_t column, enum hp_metric_kind kind)
{
    char plain[256];
    const char *text = row->cells[column].text != NULL ? row->cells[column].text : "";
    return hp_metric_sums_name(reading->sums, reading->service, kind,
                               reading->hides_texts ? hp_without_key(text, plain, sizeof plain) : text);
}

/* False: the section lacks the column of a label, or there is no memory. */
static bool name_rows(struct reading *reading, const struct hotpath_section *section,
                      const struct hp_metric_label *label)
{
    const size_t column = label->column != NULL ? column_of(section, label->column) : 0;
    if (reading->rows.section == section && reading->rows.kind == label->kind && reading->rows.column == column &&
        label->column != NULL)
        return true;
    if (column >= section->column_count)
        return false;
    reading->rows.numbers = hp_arena_take_array(reading->model->arena, section->row_count + 1, sizeof(uint32_t));
    if (reading->rows.numbers == NULL) {
        reading->sums->is_out_of_memory = true;
        return false;
    }
    reading->rows.section = section;
    reading->rows.kind = label->kind;
    reading->rows.column = column;
    for (size_t at = 0; at < section->row_count && label->kind != HP_METRIC_NO_KIND; at++)
        reading->rows.numbers[at] =
            label->column == NULL ? hp_metric_sums_name(reading->sums, reading->service, label->kind, label->always)
                                  : name_of(reading, &section->rows[at], column, label->kind);
    return true;
}

static void add_point(struct reading *reading, uint32_t series, uint32_t bucket, double value)
{
    if (series == 0 || !isfinite(value))
        return;
    if (!hp_metric_points_add(reading->points, series, bucket, value))
        reading->sums->is_out_of_memory = true;
}

/* The sum is that of the mean, which is exact; NULL: the bars say it within a hundredth. */
static void add_histogram(struct reading *reading, uint32_t series, const struct hotpath_histogram *histogram,
                          const struct hp_cell *mean)
{
    double calls = 0, sum = 0;
    for (size_t at = 0; at < histogram->bars; at++) {
        const double middle = (histogram->from[at] + histogram->to[at]) / 2 * 1e-9;
        const double amount = (double)histogram->amounts[at];
        add_point(reading, series, hp_metric_bound_of(middle), amount);
        add_point(reading, series, hp_metric_power_of(middle), amount);
        calls += amount;
        sum += (histogram->from[at] + histogram->to[at]) / 2 * amount;
    }
    add_point(reading, series, 0, mean != NULL && mean->has_value ? mean->number * calls : sum);
}

static void add_cell(struct reading *reading, uint32_t family, const struct hotpath_section *section,
                     const struct hp_row *row, size_t column, const uint32_t labels[HP_METRIC_LABELS])
{
    const struct hp_cell *cell = &row->cells[column];
    const uint32_t unit = section->columns[column].shown.unit;
    const uint32_t series = hp_metric_sums_series(reading->sums, family, reading->service, labels);
    const char *mean = hp_metric_families[family].mean;
    const size_t average = mean != NULL ? column_of(section, mean) : section->column_count;
    if (unit != HOTPATH_UNIT_HISTOGRAM)
        add_point(reading, series, 0, hp_cell_number(cell, unit));
    else
        add_histogram(reading, series, cell->histogram,
                      average < section->column_count ? &row->cells[average] : NULL);
}

static void add_rows(struct reading *reading, uint32_t number, const struct hotpath_section *section)
{
    const struct hp_metric_family *family = &hp_metric_families[number];
    const struct hp_metric_label *second = &family->labels[1];
    const size_t column = column_of(section, family->column), instance = column_of(section, "instance");
    const size_t other = second->column != NULL ? column_of(section, second->column) : 0;
    if (column >= section->column_count || other >= section->column_count ||
        !name_rows(reading, section, &family->labels[0]))
        return;
    for (size_t at = 0; at < section->row_count; at++) {
        const struct hp_row *row = &section->rows[at];
        uint32_t labels[HP_METRIC_LABELS] = {reading->rows.numbers[at]};
        if (!row->cells[column].has_value || is_part(section, row, instance))
            continue;
        if (second->column != NULL)
            labels[1] = name_of(reading, row, other, second->kind);
        else if (second->always != NULL)
            labels[1] = hp_metric_sums_name(reading->sums, reading->service, second->kind, second->always);
        add_cell(reading, number, section, row, column, labels);
    }
}

static void add_total(struct reading *reading, uint32_t number, const struct hotpath_section *section)
{
    static const uint32_t none[HP_METRIC_LABELS];
    for (size_t at = 0; at < section->total_count; at++) {
        const struct hp_total *total = &section->totals[at];
        if (strcmp(total->key, hp_metric_families[number].column) == 0 && total->cell.has_value)
            add_point(reading, hp_metric_sums_series(reading->sums, number, reading->service, none), 0,
                      hp_cell_number(&total->cell, total->unit));
    }
}

static double fact_of(struct hp_model *model, enum hp_metric_fact fact)
{
    const struct hp_trust *trust;
    double lost = 0;
    switch (fact) {
    case HP_METRIC_RUNNING:
        return hp_run_state(&model->run) == HP_SNAPSHOT_RUNNING;
    case HP_METRIC_ELAPSED:
        return (double)hp_run_elapsed_ns(&model->run);
    case HP_METRIC_PROCESSES:
    case HP_METRIC_STARTS:
        return (double)model->run.process_count;
    default:
        trust = hp_model_trust(model);
        for (size_t at = 0; trust != NULL && at < HP_LOSSES; at++)
            lost += (double)trust->lost[at];
        return lost;
    }
}

static void add_family(struct reading *reading, uint32_t number)
{
    static const uint32_t none[HP_METRIC_LABELS];
    const struct hp_metric_family *family = &hp_metric_families[number];
    const struct hotpath_section *section =
        family->section != NULL ? find_section(reading->results, family->section) : NULL;
    if (family->is_of_one && !reading->is_of_one)
        return;
    if (family->unit != NULL && strcmp(family->unit, "seconds") == 0 &&
        hp_run_counts_instructions(&reading->model->run))
        return; /* it has no durations */
    if (family->section == NULL)
        add_point(reading, hp_metric_sums_series(reading->sums, number, reading->service, none), 0,
                  fact_of(reading->model, family->fact));
    else if (section != NULL && family->is_total)
        add_total(reading, number, section);
    else if (section != NULL && section->row_count > 0)
        add_rows(reading, number, section);
}

/* The sections of all families, as in --section. */
static void name_sections(char *names, size_t size)
{
    struct hp_text text;
    hp_text_init(&text, names, size);
    for (size_t at = 0; at < hp_metric_family_count; at++) {
        const char *section = hp_metric_families[at].section;
        bool is_new = section != NULL;
        for (size_t other = 0; other < at && is_new; other++)
            is_new = hp_metric_families[other].section == NULL ||
                     strcmp(hp_metric_families[other].section, section) != 0;
        if (is_new)
            hp_text_format(&text, "%s%s", text.length > 0 ? "," : "", section);
    }
    hp_text_end(&text);
}

/* All rows, whatever a report would show; functions with most time of their own come first. */
static const hotpath_results *results_of(struct hp_model *model, const struct hp_settings *settings)
{
    struct hp_settings *ours = hp_arena_take(model->arena, sizeof *ours);
    if (ours == NULL)
        return NULL;
    hp_settings_copy(ours, settings);
    name_sections(ours->show.report, sizeof ours->show.report);
    ours->show.functions_limit = HOTPATH_NO_LIMIT;
    ours->show.functions_limit_is_given = true;
    ours->show.columns[0] = '\0';
    memcpy(ours->show.sort, "self_ns", sizeof "self_ns");
    ours->show.by = HP_BY_FUNCTION;
    ours->show.min_percent = 0;
    ours->show.fine_histograms = true;
    ours->show.percentile_count = 0; /* collectors compute them */
    ours->show.cpu_inclusive = ours->show.alloc_cumulative = ours->show.time_exclusive = false;
    return hp_results_of_model(model, ours);
}

static bool read_points(struct reading reading, const struct hp_settings *settings)
{
    reading.results = results_of(reading.model, settings);
    reading.sums->is_out_of_memory = reading.results == NULL;
    reading.points->count = 0;
    for (uint32_t at = 0; at < hp_metric_family_count && !reading.sums->is_out_of_memory; at++)
        add_family(&reading, at);
    return !reading.sums->is_out_of_memory;
}

bool hp_metrics_read(struct hp_model *model, const struct hp_settings *settings, struct hp_metric_sums *sums,
                     uint32_t service, struct hp_metric_points *ret_points)
{
    return read_points(
        (struct reading){.model = model, .sums = sums, .service = service, .is_of_one = true, .points = ret_points},
        settings);
}

void hp_metrics_program(char *name, size_t size, const char *command)
{
    const char *begin;
    struct hp_text text;
    const size_t length = hp_text_program(command, &begin);
    hp_text_init(&text, name, size);
    hp_text_bytes(&text, begin, length);
    hp_text_end(&text);
}

void hp_metrics_service(char *name, size_t size, const struct hp_model *model)
{
    const struct hp_snapshot *first = model->run.sessions[0];
    const char *label = hp_snapshot_text(first, first->header.label);
    if (label[0] != '\0')
        snprintf(name, size, "%s", label);
    else if (hp_snapshot_state(first) != HP_SNAPSHOT_RUNNING ||
             first->header.pid_namespace != hp_process_namespace() ||
             !hp_service_name_of(first->header.pid, name, size))
        hp_metrics_program(name, size, hp_snapshot_text(first, first->header.command));
}

/* ------------------------------------------------------------------------------------- all sessions of the host */

#define MOST_SESSIONS 11000u
#define MOST_ENDED 10000u /* which do not keep out those that begin */
#define LEAST_REFRESH_NS UINT64_C(1000000000)
#define SETTLING_NS UINT64_C(3000000000)    /* after its end, numbers of a program may still be written */
#define FORGOTTEN_NS UINT64_C(600000000000) /* one that is not listed any more may come back until then */

struct hp_metric_session {
    char *path;
    uint64_t key, began_ns;
    uint32_t service;
    struct hp_metric_points points;
    struct hp_side_watch sides;
    uint64_t ended_ns; /* when its end was noticed; 0: it goes on */
    uint64_t seen_ns;  /* when it was listed last */
    bool is_settled;   /* it is not read again */
};

static void forget(struct hp_metric_session *session)
{
    free(session->path);
    hp_metric_points_free(&session->points);
    hp_side_watch_free(&session->sides);
}

void hp_host_metrics_free(struct hp_host_metrics *host)
{
    for (size_t at = 0; at < host->count; at++)
        forget(&host->sessions[at]);
    free(host->sessions);
    hp_hash_free(&host->index);
    hp_metric_points_free(&host->fresh);
    hp_metric_sums_free(&host->sums);
    *host = (struct hp_host_metrics){0};
}

/* What it is known by beside its path, which another may get. A run begins with the first part known so far. */
static uint64_t key_of(uint64_t began_ns, const char *path)
{
    return hp_session_dir_is_of_run(path) ? 0 : began_ns;
}

/* The session that is listed, known or new. NULL: there would be more than `most`, or there is no memory. */
static struct hp_metric_session *take_session(struct hp_host_metrics *host, const struct hp_stored_session *stored,
                                              size_t most)
{
    if (!hp_hash_make_room(&host->index) || !HP_MAKE_ROOM(host->sessions, host->count + 1, host->room))
        return NULL;
    const uint64_t key = key_of(stored->began_ns, stored->path);
    const uint32_t hash = hp_hash_with_text(&host->index, hp_hash_with(&host->index, 0, key), stored->path);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(&host->index, hash, &slot)) != 0;) {
        struct hp_metric_session *session = &host->sessions[number - 1];
        if (session->key == key && strcmp(session->path, stored->path) == 0)
            return session;
    }
    char *path = host->count < most ? strdup(stored->path) : NULL;
    if (path == NULL)
        return NULL;
    struct hp_metric_session *session = &host->sessions[host->count++];
    *session = (struct hp_metric_session){.path = path, .key = key, .began_ns = stored->began_ns};
    hp_hash_put(&host->index, slot, hash, (uint32_t)host->count);
    return session;
}

/* After some were taken out. */
static void index_again(struct hp_host_metrics *host)
{
    hp_hash_free(&host->index);
    for (size_t at = 0; at < host->count && hp_hash_make_room(&host->index); at++) {
        const struct hp_metric_session *session = &host->sessions[at];
        const uint32_t hash =
            hp_hash_with_text(&host->index, hp_hash_with(&host->index, 0, session->key), session->path);
        size_t slot = HP_HASH_BEGIN;
        while (hp_hash_next(&host->index, hash, &slot) != 0) {
        }
        hp_hash_put(&host->index, slot, hash, (uint32_t)at + 1);
    }
}

/* It stays what it was when the session was first read. */
static uint32_t service_of(struct hp_metric_sums *sums, const struct hp_model *model)
{
    char name[1024];
    hp_metrics_service(name, sizeof name, model);
    return hp_metric_sums_service(sums, name);
}

static bool read_model(struct hp_host_metrics *host, struct hp_metric_session *session, struct hp_model *model,
                       const struct hp_settings *settings)
{
    hp_side_watch_look_at(&session->sides, session->path, model->run.sessions[0]->header.pid);
    model->locks = session->sides.locks;
    model->io = session->sides.io;
    if (session->service == 0)
        session->service = service_of(&host->sums, model);
    const struct reading reading = {.model = model,
                                    .sums = &host->sums,
                                    .service = session->service,
                                    .hides_texts = host->hides_texts,
                                    .points = &host->fresh};
    return session->service != 0 && read_points(reading, settings) &&
           hp_metric_sums_update(&host->sums, &session->points, &host->fresh);
}

/*
 * A reader for as long as it takes: what stays are the sums. Its floors, which keep the numbers of a live program
 * from falling, are not missed: the sums do not fall either. False: it cannot be read.
 */
static bool read_session(struct hp_host_metrics *host, struct hp_metric_session *session,
                         const struct hp_program_source *source, const struct hp_settings *settings, uint64_t now)
{
    struct hp_reader reader;
    struct hp_sessions parts = {0};
    hp_reader_open(&reader, hp_demangle);
    if (source->parts(&parts, session->path))
        for (size_t at = 0; at < parts.count; at++)
            hp_reader_add(&reader, parts.all[at].path);
    hp_sessions_free(&parts);
    const bool is_read = reader.count > 0 && hp_reader_refresh(&reader) &&
                         read_model(host, session, hp_reader_model(&reader), settings);
    const bool is_live = is_read && hp_run_state(&hp_reader_model(&reader)->run) == HP_SNAPSHOT_RUNNING;
    if (is_live)
        session->ended_ns = 0;
    else if (is_read && session->ended_ns == 0)
        session->ended_ns = now;
    hp_reader_close(&reader);
    return is_read;
}

/* Those that go on first: names of theirs get series before the limits are reached. */
static void read_listed(struct hp_host_metrics *host, const struct hp_sessions *listed, bool is_of_ended,
                        const struct hp_program_source *source, const struct hp_settings *settings, uint64_t now)
{
    for (size_t at = 0; at < listed->count; at++) {
        const struct hp_stored_session *stored = &listed->all[at];
        if ((stored->state == HP_SESSION_FINISHED || stored->state == HP_SESSION_CRASHED) != is_of_ended)
            continue;
        struct hp_metric_session *session = take_session(host, stored, is_of_ended ? MOST_ENDED : MOST_SESSIONS);
        if (session != NULL)
            session->seen_ns = now;
        const bool is_read =
            session != NULL && (session->is_settled || read_session(host, session, source, settings, now));
        host->left_out += !is_read;
        host->live += is_read && !session->is_settled && session->ended_ns == 0;
        if (!is_read || session->is_settled || session->ended_ns == 0)
            continue;
        hp_metric_sums_end(&host->sums, &session->points);
        session->is_settled = now - session->ended_ns > SETTLING_NS;
        if (session->is_settled) { /* what it has counted is in the sums */
            hp_side_watch_free(&session->sides);
            hp_metric_points_free(&session->points);
        }
    }
}

/* What they had counted stays in the sums. */
static void leave_behind(struct hp_host_metrics *host, uint64_t now, bool is_complete)
{
    size_t kept = 0;
    for (size_t at = 0; at < host->count; at++) {
        struct hp_metric_session *session = &host->sessions[at];
        const bool is_gone = is_complete && session->seen_ns != now;
        if (is_gone)
            hp_metric_sums_end(&host->sums, &session->points);
        if (is_gone && now - session->seen_ns > FORGOTTEN_NS)
            forget(session);
        else
            host->sessions[kept++] = *session;
    }
    if (kept < host->count) {
        host->count = kept;
        index_again(host);
    }
}

bool hp_host_metrics_refresh(struct hp_host_metrics *host, const struct hp_program_source *source,
                             const struct hp_settings *settings)
{
    struct hp_sessions listed = {0};
    const uint64_t now = hp_clock_monotonic_ns();
    if (host->listed_ns != 0 && now - host->listed_ns < LEAST_REFRESH_NS)
        return true;
    host->listed_ns = now;
    host->live = host->left_out = 0;
    host->sums.is_out_of_memory = false;
    const bool is_complete = source->list(source->context, &listed);
    read_listed(host, &listed, false, source, settings, now);
    read_listed(host, &listed, true, source, settings, now);
    leave_behind(host, now, is_complete);
    hp_sessions_free(&listed);
    return !host->sums.is_out_of_memory;
}

/* ------------------------------------------------------------------------------------------------------- bytes */

/* A folder, by whatever path. */
struct place {
    const char *path;
    uint64_t device, inode; /* 0: unknown */
};

static struct place place_of(const char *path)
{
    struct stat status;
    const bool is_there = stat(path, &status) == 0;
    return (struct place){path, is_there ? status.st_dev : 0, is_there ? status.st_ino : 0};
}

static bool put_session(struct hp_body *body, const struct hp_metric_session *session, const struct place *place)
{
    return hp_metric_put_number(body, place->device) && hp_metric_put_number(body, place->inode) &&
           hp_metric_put_text(body, hp_text_base_name(session->path)) && hp_metric_put_number(body, session->key) &&
           hp_metric_put_number(body, session->began_ns) && hp_metric_put_number(body, session->service) &&
           hp_metric_put_number(body, session->is_settled) && hp_metric_put_points(body, &session->points);
}

bool hp_host_metrics_save(const struct hp_host_metrics *host, struct hp_body *body)
{
    char folder[2048] = "", before[sizeof folder] = "";
    struct place place = {0};
    bool has_memory = hp_metric_sums_put(&host->sums, body) && hp_metric_put_number(body, host->count);
    for (size_t at = 0; at < host->count && has_memory; at++) {
        const struct hp_metric_session *session = &host->sessions[at];
        snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(session->path, '/') - session->path), session->path);
        if (strcmp(folder, before) != 0)
            place = place_of(folder);
        memcpy(before, folder, sizeof folder);
        has_memory = put_session(body, session, &place);
    }
    return has_memory;
}

/* One of a folder that is not there any more is kept for a while, as any that is not listed any more. */
static bool take_saved(struct hp_host_metrics *host, struct hp_metric_input *in,
                       const struct hp_metric_renumbered *renumbered, const struct place *places,
                       size_t place_count)
{
    struct hp_stored_session stored = {0};
    const uint64_t device = hp_metric_take_number(in), inode = hp_metric_take_number(in);
    const char *name = hp_metric_take_text(in), *folder = "?";
    const uint64_t key = hp_metric_take_number(in);
    stored.began_ns = hp_metric_take_number(in);
    const uint64_t service = hp_metric_take_number(in), is_settled = hp_metric_take_number(in);
    for (size_t at = 0; at < place_count; at++)
        if (inode != 0 && places[at].device == device && places[at].inode == inode)
            folder = places[at].path;
    const int length = snprintf(stored.path, sizeof stored.path, "%s/%s", folder, name);
    in->is_bad |= service == 0 || service >= host->sums.service_count || strchr(name, '/') != NULL ||
                  (size_t)length >= sizeof stored.path || key != key_of(stored.began_ns, stored.path);
    struct hp_metric_session *session = in->is_bad ? NULL : take_session(host, &stored, MOST_SESSIONS);
    if (session == NULL)
        return false;
    session->service = (uint32_t)service;
    session->is_settled = is_settled != 0;
    session->seen_ns = hp_clock_monotonic_ns();
    return hp_metric_take_points(in, &host->sums, renumbered, &session->points);
}

static bool take_all_saved(struct hp_host_metrics *host, struct hp_metric_input *in, const struct place *places,
                           size_t place_count)
{
    struct hp_metric_renumbered renumbered = {0};
    struct hp_metric_points all = {0}, none = {0};
    bool is_done = hp_metric_sums_take(in, &host->sums, true, &all, &renumbered, NULL) &&
                   hp_metric_sums_update(&host->sums, &none, &all);
    for (size_t left = hp_metric_take_count(in); left > 0 && is_done; left--)
        is_done = take_saved(host, in, &renumbered, places, place_count);
    hp_metric_points_free(&all);
    hp_metric_points_free(&none);
    free(renumbered.numbers);
    return is_done && !in->is_bad && in->at == in->end;
}

bool hp_host_metrics_load(struct hp_host_metrics *host, struct hp_metric_input *in, const char *const *folders,
                          size_t folder_count)
{
    const bool hides_texts = host->hides_texts;
    struct place *places = calloc(folder_count + 1, sizeof *places);
    for (size_t at = 0; at < folder_count && places != NULL; at++)
        places[at] = place_of(folders[at]);
    const bool is_done = places != NULL && take_all_saved(host, in, places, folder_count);
    if (!is_done) {
        hp_host_metrics_free(host);
        host->hides_texts = hides_texts;
    }
    free(places);
    return is_done;
}

/* --------------------------------------------------------------------------------------------------- questions */

uint32_t hp_host_metrics_service(const struct hp_host_metrics *host, const char *name)
{
    for (uint32_t at = 1; at < host->sums.service_count; at++)
        if (strcmp(hp_metric_service_name(&host->sums, at), name) == 0)
            return at;
    for (size_t at = 0; at < host->count; at++)
        if (hp_session_is_called(host->sessions[at].path, name))
            return host->sessions[at].service;
    return 0;
}

void hp_host_metrics_sessions(const struct hp_host_metrics *host, uint32_t service, uint64_t since_ns,
                              struct hp_host_sessions *ret_sessions)
{
    *ret_sessions = (struct hp_host_sessions){.count = 0};
    for (size_t at = 0; at < host->count; at++) {
        const struct hp_metric_session *session = &host->sessions[at];
        if (session->service != service || session->seen_ns != host->listed_ns ||
            (session->ended_ns != 0 && session->began_ns < since_ns))
            continue;
        if (ret_sessions->count < HP_HOST_SESSIONS)
            ret_sessions->paths[ret_sessions->count++] = session->path;
        else
            ret_sessions->left_out++;
    }
}
