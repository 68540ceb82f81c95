/* Converts a run to weighted stacks. SPDX-License-Identifier: MIT */
#include "run_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "demangle.h"
#include "session_dirs.h"
#include "sessions.h"
#include "stack_range.h"
#include "stack_watch.h"
#include "text.h"
#include "units.h"
#include "weight_sources.h"

/* ---------------------------------------------------------------------------------------------------- stacks */

static bool is_among(const struct hp_sessions *sessions, const struct hp_stored_session *session)
{
    for (size_t at = 0; at < sessions->count; at++)
        if (strcmp(hp_session_name(&sessions->all[at]), hp_session_name(session)) == 0)
            return true;
    return false;
}

/* Of single processes of a run, only their stacks. False: no memory. */
static bool leave_others_out(struct hp_named_stacks *named, const struct hp_sessions *sessions, const char *folder)
{
    struct hp_sessions all = {0};
    const bool is_part = hp_sessions_in(&all, folder) && all.count > sessions->count;
    uint32_t *pids = is_part ? calloc(all.count, sizeof *pids) : NULL;
    size_t count = 0;
    for (size_t at = 0; pids != NULL && at < all.count; at++)
        if (is_among(sessions, &all.all[at]))
            pids[count++] = all.all[at].pid;
    const bool is_done = !is_part || (pids != NULL && hp_named_stacks_keep(named, pids, count));
    free(pids);
    hp_sessions_free(&all);
    return is_done;
}

/* False: they are not of a run. */
static bool folder_of(const struct hp_sessions *sessions, char folder[sizeof sessions->all[0].path])
{
    return sessions->count > 0 &&
           hp_session_dir_find_run(sessions->all[0].path, folder, sizeof sessions->all[0].path);
}

/* The files that hooks have written in the folder of a run, of these processes or all. */
typedef bool read_files(const char *folder, const uint32_t *pids, size_t pid_count, void *ret_read);

/* Processes that have no session, such as very short ones, count with the whole run. */
static bool read_of(const struct hp_sessions *sessions, read_files *read, void *ret_read)
{
    char folder[sizeof sessions->all[0].path];
    struct hp_sessions all = {0};
    if (!folder_of(sessions, folder)) /* a single session may have its own */
        return sessions->count == 1 && read(sessions->all[0].path, NULL, 0, ret_read);
    const bool is_part = hp_sessions_in(&all, folder) && all.count > sessions->count;
    hp_sessions_free(&all);
    uint32_t *pids = is_part ? calloc(sessions->count, sizeof *pids) : NULL;
    for (size_t at = 0; pids != NULL && at < sessions->count; at++)
        pids[at] = sessions->all[at].pid;
    const bool is_read = (!is_part || pids != NULL) && read(folder, pids, is_part ? sessions->count : 0, ret_read);
    free(pids);
    return is_read;
}

static bool read_locks(const char *folder, const uint32_t *pids, size_t pid_count, void *ret_read)
{
    return hp_locks_read(folder, pids, pid_count, ret_read);
}

bool hp_run_locks_read(const struct hp_sessions *sessions, struct hp_named_locks *ret_locks)
{
    return read_of(sessions, read_locks, ret_locks);
}

static bool read_io(const char *folder, const uint32_t *pids, size_t pid_count, void *ret_read)
{
    return hp_io_read(folder, pids, pid_count, ret_read);
}

bool hp_run_io_read(const struct hp_sessions *sessions, struct hp_named_io *ret_io)
{
    return read_of(sessions, read_io, ret_io);
}

bool hp_run_stacks_read(const struct hp_sessions *sessions, struct hp_run_stacks *ret_stacks)
{
    char folder[sizeof sessions->all[0].path];
    if (!folder_of(sessions, folder))
        return false;
    if (!hp_stack_watch_now(folder, &ret_stacks->named)) {
        if (errno != ENOENT)
            hp_fail("cannot read the stacks in '%s': %s", folder,
                    errno == EPROTO ? "they are of another version of hotpath" : strerror(errno));
        return false;
    }
    return leave_others_out(&ret_stacks->named, sessions, folder) &&
           hp_function_sums_make(&ret_stacks->named, &ret_stacks->functions);
}

void hp_run_stacks_free(struct hp_run_stacks *stacks)
{
    hp_function_sums_free(&stacks->range_functions);
    hp_named_stacks_free(&stacks->range);
    hp_function_sums_free(&stacks->functions);
    hp_named_stacks_free(&stacks->named);
}

/* ------------------------------------------------------------------------------------------------- time ranges */

/* Stacks are collected until a moment after the end of the last session. */
bool hp_run_stacks_cut(struct hp_run_stacks *stacks, const struct hp_run *run, uint64_t from_ns, uint64_t to_ns)
{
    const uint64_t until_ns = to_ns < hp_run_elapsed_ns(run) ? to_ns : UINT64_MAX;
    stacks->named.began_ns = run->start_ns;
    return hp_named_stacks_have_ranges(&stacks->named) &&
           hp_named_stacks_between(&stacks->named, from_ns, until_ns, &stacks->range) &&
           hp_function_sums_make(&stacks->range, &stacks->range_functions);
}

bool hp_run_limits(const struct hp_run *run, const struct hp_time_limits *limits, uint64_t *ret_from_ns,
                   uint64_t *ret_to_ns)
{
    char text[40];
    struct hp_text whole;
    const uint64_t elapsed_ns = hp_run_elapsed_ns(run);
    if (hp_run_counts_instructions(run)) {
        hp_fail("this run counted instructions, so --from and --to, which are times, do not work");
        return false;
    }
    *ret_from_ns = limits->from.is_given ? hp_timestamp_in(&limits->from, elapsed_ns) : 0;
    *ret_to_ns = limits->to.is_given ? hp_timestamp_in(&limits->to, elapsed_ns) : elapsed_ns;
    if (*ret_from_ns < *ret_to_ns)
        return true;
    hp_text_init(&whole, text, sizeof text);
    hp_units_ns(&whole, (double)elapsed_ns);
    hp_fail("the time range is empty: --from must be before --to, and the run took %s", hp_text_end(&whole));
    return false;
}

/* --------------------------------------------------------------------------------------------------- weights */

static bool read_sessions(struct hp_run_weights *run)
{
    for (size_t at = 0; at < run->sessions.count; at++)
        if (!hp_reader_add(&run->reader, run->sessions.all[at].path))
            hp_fail("%s", run->reader.problem);
    if (run->reader.count == 0)
        return false;
    if (!hp_reader_refresh(&run->reader)) {
        hp_fail("%s", run->reader.problem);
        return false;
    }
    return true;
}

static bool explain_memory(bool has_memory)
{
    if (!has_memory)
        hp_fail("not enough memory for the stacks of the run");
    return has_memory;
}

static bool add_all(struct hp_run_weights *run, struct hp_weighted *weighted)
{
    if (hp_run_stacks_read(&run->sessions, &run->stacks) && !hp_stack_weights_add(weighted, &run->stacks.named))
        return explain_memory(false);
    struct hp_model *model = hp_reader_model(&run->reader);
    if (run->stacks.named.node_count > 0)
        model->functions = &run->stacks.functions;
    return explain_memory(hp_zone_weights_add(weighted, model) && hp_path_weights_add(weighted, model));
}

/* The call tree of measured functions has no history. */
static bool add_range(struct hp_run_weights *run, const struct hp_time_limits *limits, struct hp_weighted *weighted)
{
    const struct hp_run *about = &hp_reader_model(&run->reader)->run;
    if (!hp_run_limits(about, limits, &run->from_ns, &run->to_ns))
        return false;
    run->has_range = true;
    if (!hp_run_stacks_read(&run->sessions, &run->stacks) ||
        !hp_run_stacks_cut(&run->stacks, about, run->from_ns, run->to_ns)) {
        hp_fail("this session has no stacks, and only they are known by time: leave out --from and --to");
        return false;
    }
    return explain_memory(hp_stack_weights_add(weighted, &run->stacks.range));
}

bool hp_run_weights_open(struct hp_run_weights *run, const struct hp_settings *settings, const char *name,
                         const struct hp_time_limits *limits, struct hp_weighted *weighted)
{
    memset(run, 0, sizeof *run);
    hp_reader_open(&run->reader, hp_demangle);
    if (!hp_session_choose(&run->sessions, settings, name) || !read_sessions(run))
        return false;
    const struct hp_snapshot *first = &run->reader.sessions[0]->file.snapshot;
    hp_copy_printable(run->command, sizeof run->command, hp_snapshot_text(first, first->header.command));
    const bool is_part = limits != NULL && hp_has_time_limits(limits);
    return is_part ? add_range(run, limits, weighted) : add_all(run, weighted);
}

void hp_run_weights_close(struct hp_run_weights *run)
{
    hp_reader_close(&run->reader);
    hp_run_stacks_free(&run->stacks);
    hp_sessions_free(&run->sessions);
}

void hp_run_weights_describe(struct hp_run_weights *run, struct hp_export *export)
{
    const struct hp_header *header = &run->reader.sessions[0]->file.snapshot.header;
    export->command = run->command;
    export->pid = header->pid;
    export->began_ns = header->wall_start_ns;
    export->counts_instructions = hp_run_counts_instructions(&hp_reader_model(&run->reader)->run);
    if (!export->counts_instructions) {
        export->elapsed_ns = hp_run_elapsed_ns(&hp_reader_model(&run->reader)->run);
        export->period_ns = run->stacks.named.counts.period_ns;
    }
    if (run->has_range) {
        export->began_ns += run->from_ns;
        export->elapsed_ns = run->to_ns - run->from_ns;
        return;
    }
    if (export->counts_instructions) /* nothing in it has a time */
        return;
    export->counters = hp_export_counters_make(hp_reader_model(&run->reader));
    export->calls = hp_export_calls_make(hp_reader_model(&run->reader));
}

static bool can_have(const struct hp_export_format *format, enum hp_dimension dimension)
{
    const bool is_bytes = hp_dimension_types[dimension].unit == HP_WEIGHT_BYTES;
    return format == NULL || !(is_bytes ? format->is_of_time : format->is_of_bytes);
}

void hp_export_take_all(struct hp_export *export, const struct hp_export_format *format)
{
    export->dimension_count = 0;
    for (enum hp_dimension at = 0; at < HP_DIMENSIONS; at++)
        if (hp_weighted_is_new(export->weighted, at) && can_have(format, at))
            export->dimensions[export->dimension_count++] = at;
}

int hp_export_to(const struct hp_export *export,
                 bool (*write)(const struct hp_export *export, struct hp_text *text), FILE *stream,
                 const char *path)
{
    static char buffer[1 << 16];
    struct hp_text text;
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_write_to_stream, stream);
    const bool has_memory = write(export, &text);
    const bool is_written = hp_text_finish(&text) && fflush(stream) == 0;
    if (!has_memory)
        return hp_fail("not enough memory to write '%s'", path);
    if (!is_written)
        return hp_fail("cannot write all of '%s': %s", path, strerror(errno));
    return EXIT_DONE;
}
