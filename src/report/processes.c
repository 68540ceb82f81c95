/*
 * The section `processes`: one row per session, so one for each program that a process executed, sorted by measured
 * time.
 *
 * That is the time of all outermost zones, added up over its threads, which equals the sum of the self times of all
 * its functions. A process that waits inside main measures that, too; HOTPATH_EXCLUDE_WRAPPER leaves out the self
 * time of main functions. SPDX-License-Identifier: MIT
 */
#include "section.h"

#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "identity.h"
#include "order.h"
#include "profile.h"
#include "shares.h"
#include "sort.h"
#include "task_profile.h"
#include "text.h"
#include "thread_usage_profile.h"
#include "utf8.h"
#include "wait_profile.h"

#define COMMAND_COLUMNS 80u /* of the command in the name; its own column has all of it */
#define MOST_SINGLE 100u    /* up to this many processes, one row each; beyond, one row per program */
#define UNWATCHED_PART 10u  /* of the CPU time: processes with less are not worth a note */
#define MOST_REASONS 4u     /* listed below the table; a column has all of them */

/* A program of a process, or of all processes that ran it. */
struct process {
    const struct hp_snapshot *snapshot; /* of the first */
    uint64_t measured;                  /* ticks */
    uint64_t cpu_ns, calls, polls, threads;
    uint64_t began_ns, elapsed; /* after the beginning of the run; ticks from the first beginning to the last end */
    uint64_t count;             /* processes: each counts in the last program that it executed */
    uint64_t starts;            /* of the program; 0: one */
    size_t number;              /* in the given order */
    struct hp_transfers moved;
    bool is_program, is_scaled, has_moved;
};

/* Facts of this section. */
enum { HAS_CPU = HP_FACT_OWN, HAS_POLLS = HP_FACT_OWN << 1, HAS_ZONES = HP_FACT_OWN << 2 };

struct view {
    struct hotpath_results *results;
    uint64_t whole; /* ticks measured by all of them */
};

static const char *program_of(const struct hp_snapshot *snapshot)
{
    const char *file = hp_snapshot_text(snapshot, snapshot->header.executable);
    return file[0] != '\0' ? file : hp_snapshot_text(snapshot, snapshot->header.command);
}

/* "1234 ./server --worker", or "/usr/bin/cc (120 processes)". */
static const char *name_process(struct hp_arena *arena, const struct process *process)
{
    char bytes[64 + 4 * COMMAND_COLUMNS];
    struct hp_text name;
    const struct hp_snapshot *snapshot = process->snapshot;
    const char *command =
        process->is_program ? program_of(snapshot) : hp_snapshot_text(snapshot, snapshot->header.command);
    hp_text_init(&name, bytes, sizeof bytes);
    if (process->starts <= 1 && !process->is_program) {
        hp_text_format(&name, "%u%s", snapshot->header.pid, command[0] != '\0' ? " " : "");
    }
    hp_utf8_put_fitted(&name, command, strlen(command), COMMAND_COLUMNS);
    if (process->count > 1) {
        hp_text_format(&name, " (%" PRIu64 " processes)", process->count);
    }
    return hp_arena_copy(arena, bytes, name.length);
}

static const char *state_of(const struct hp_snapshot *snapshot)
{
    return snapshot->header.outside != 0 ? "outside" : hp_snapshot_state_name(hp_snapshot_state(snapshot));
}

static uint64_t identity_of(const struct hp_snapshot *snapshot)
{
    return hp_identity_with_number(hp_identity_with_number(0, snapshot->header.pid),
                                   snapshot->header.wall_start_ns);
}

static const char *command_of(const struct hp_snapshot *snapshot)
{
    return hp_snapshot_text(snapshot, snapshot->header.command);
}

static const char *reason_of(const struct hp_snapshot *snapshot)
{
    return snapshot->header.outside != 0 ? hp_snapshot_text(snapshot, snapshot->header.outside) : NULL;
}

static void fields(struct hp_fields *to, void *of, const void *entry)
{
    const struct view *view = of;
    const struct process *process = entry;
    if (to->row != NULL) {
        to->row->id = identity_of(process->snapshot);
        to->row->is_sampled = process->is_scaled;
    }
    HP_FIELD(to, name_process(to->results->model->arena, process), "name", "Process", TEXT, HP_COLUMN_FIRST,
             "The process id and the command, shortened if it is long; if there are very many processes, the "
             "program and their number.");
    HP_FIELD(to, state_of(process->snapshot), "state", "State", TEXT, HP_COLUMN_SHOWN,
             "The state, as in the report; outside: it left no session and was seen only from outside. For several "
             "processes, that of the first.",
             .words = "running|finished|ended|outside");
    HP_FIELD(to, process->began_ns, "started_ns", "Started", NS, HP_COLUMN_SHOWN,
             "Time from the start of the first session to the start of this one.");
    HP_FIELD(to, hp_fields_ns(to, process->elapsed), "elapsed_ns", "Elapsed", NS,
             HP_COLUMN_SHOWN | HP_COLUMN_TICKS);
    HP_FIELD_IF(to, process->snapshot->header.features & HP_FEATURE_CPU, process->cpu_ns, "cpu_ns", "CPU Time", NS,
                HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
                "CPU time of the program, from its start to its end; null: not requested.", .shown_by = HAS_CPU);
    HP_FIELD(to, process->threads, "threads", "Threads", COUNT, HP_COLUMN_SHOWN, "Threads that ever recorded.");
    HP_FIELD(to, process->calls, "calls", "Calls", COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "Calls of measured functions and blocks; tasks are in the column polls.", .shown_by = HAS_ZONES);
    HP_FIELD(to, process->polls, "polls", "Polls", COUNT, HP_COLUMN_SHOWN, "How often tasks ran.",
             .shown_by = HAS_POLLS);
    HP_FIELD(
        to, hp_fields_ns(to, process->measured), "total_ns", "Total", NS,
        HP_COLUMN_TICKS | HP_COLUMN_KEEP | HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN,
        "Time in outermost zones, summed over threads; if the main function is excluded, without its own time.",
        .shown_by = HAS_ZONES);
    HP_FIELD(to, hp_percent_of(process->measured, view->whole), "percent_total", "% Total", PERCENT,
             HP_COLUMN_LATE | HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "Percent of the sum over all processes.", .shown_by = HAS_ZONES);
    HP_FIELD(to, process->snapshot->header.pid, "pid", "PID", COUNT, 0);
    HP_FIELD(to, process->snapshot->header.parent_pid, "parent_pid", "Parent", COUNT, 0);
    HP_FIELD(to, command_of(process->snapshot), "command", "Command", TEXT, 0);
    HP_FIELD(
        to, process->count, "processes", "Processes", COUNT, 0,
        "Number of processes in the row. One that executes another program counts in the row of its last one.");
    HP_FIELD(to, reason_of(process->snapshot), "reason", "Reason", TEXT, HP_COLUMN_MAYBE,
             "Why it could not be followed; null: it was followed.");
    HP_FIELD_IF(to, process->has_moved, process->moved.read_calls, "read_calls", "Reads", COUNT, 0,
                "Calls of read and its relatives, as far as it was observed; null: unknown.");
    HP_FIELD_IF(to, process->has_moved, process->moved.read_bytes, "read_bytes", "Read", BYTES, 0,
                "What they moved: of files, pipes and sockets.");
    HP_FIELD_IF(to, process->has_moved, process->moved.write_calls, "write_calls", "Writes", COUNT, 0,
                "The same of write.");
    HP_FIELD_IF(to, process->has_moved, process->moved.write_bytes, "write_bytes", "Written", BYTES, 0);
    HP_FIELD(
        to, hp_wait_unwatched_reason(process->snapshot), "unwatched", "Unwatched", TEXT, HP_COLUMN_MAYBE,
        "Why it is not known what it waited for; null: it is known, or was not to be. For several processes, of "
        "the first.");
    HP_FIELD(to, hp_share_scaled_name(process->is_scaled, false), "scaled", "Scaled", TEXT, 0, HP_ABOUT_SCALED,
             .words = HP_SCALED_WORDS);
}

/* -------------------------------------------------------------------------------------------------- processes */

static uint64_t measured_by(const struct hp_session_sums *session, const struct hp_settings *settings)
{
    const uint64_t apart = settings->show.exclude_wrapper ? hp_not_negative(session->in_main) : 0;
    return session->total > apart ? session->total - apart : 0;
}

static uint64_t higher(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void fill_process(struct process *process, const struct hotpath_results *results, size_t at)
{
    const struct hp_session_sums *sums = &results->model->profile->sessions[at];
    const struct hp_header *header = &sums->snapshot->header;
    *process = (struct process){
        .snapshot = sums->snapshot,
        .measured = measured_by(sums, results->settings),
        .cpu_ns = hp_snapshot_cpu_ns(sums->snapshot),
        .calls = sums->calls > sums->polls ? sums->calls - sums->polls : 0,
        .polls = sums->polls,
        .threads = header->threads_seen,
        .began_ns = hp_run_started_ns(&results->model->run, sums->snapshot),
        .elapsed = hp_snapshot_elapsed(sums->snapshot),
        .count = results->model->run.counted[at],
        .starts = header->outside != 0
                      ? higher(higher(header->losses[HP_LOSS_PROCESSES], header->brief), header->processes)
                      : 1,
        .number = at,
        .is_scaled = sums->is_scaled,
    };
    process->has_moved = hp_process_transfers(sums->snapshot, &process->moved);
}

/* The most time first, then the most CPU time; else in the given order. */
static int compare_processes(const void *a, const void *b)
{
    const struct process *x = a, *y = b;
    if (x->measured != y->measured)
        return x->measured > y->measured ? -1 : 1;
    if (x->cpu_ns != y->cpu_ns)
        return x->cpu_ns > y->cpu_ns ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_programs(const void *a, const void *b)
{
    const struct process *x = a, *y = b;
    const int order = strcmp(program_of(x->snapshot), program_of(y->snapshot));
    if (order != 0)
        return order;
    const int reason = strcmp(hp_snapshot_text(x->snapshot, x->snapshot->header.outside),
                              hp_snapshot_text(y->snapshot, y->snapshot->header.outside));
    if (reason != 0)
        return reason;
    return x->number < y->number ? -1 : x->number > y->number;
}

static bool is_same_program(const struct process *x, const struct process *y)
{
    return strcmp(program_of(x->snapshot), program_of(y->snapshot)) == 0 &&
           strcmp(hp_snapshot_text(x->snapshot, x->snapshot->header.outside),
                  hp_snapshot_text(y->snapshot, y->snapshot->header.outside)) == 0;
}

static void add_process(const struct hp_run *run, struct process *sum, const struct process *process)
{
    const uint64_t later = process->began_ns > sum->began_ns ? process->began_ns - sum->began_ns : 0;
    const uint64_t end = (uint64_t)((double)later / run->ns_per_tick) + process->elapsed;
    sum->is_program = true;
    sum->is_scaled |= process->is_scaled;
    sum->measured += process->measured;
    sum->cpu_ns += process->cpu_ns;
    sum->calls += process->calls;
    sum->polls += process->polls;
    sum->threads += process->threads;
    sum->count += process->count;
    sum->has_moved |= process->has_moved;
    sum->moved.read_calls += process->moved.read_calls;
    sum->moved.read_bytes += process->moved.read_bytes;
    sum->moved.write_calls += process->moved.write_calls;
    sum->moved.write_bytes += process->moved.write_bytes;
    sum->elapsed = higher(sum->elapsed, end);
}

/*
 * One row per program. Sessions are sorted by their beginning, so the first one of a program gives its beginning.
 */
static size_t merge(const struct hp_run *run, struct process **order, size_t count)
{
    size_t kept = 0;
    hp_sort(order, count, compare_programs);
    for (size_t at = 0; at < count; at++)
        if (kept > 0 && is_same_program(order[kept - 1], order[at]))
            add_process(run, order[kept - 1], order[at]);
        else
            order[kept++] = order[at];
    return kept;
}

/* The sorted processes; NULL: no memory. */
static struct process **rank(struct view *view, size_t *ret_count)
{
    const struct hotpath_results *results = view->results;
    const size_t count = results->model->run.count;
    struct process *processes = hp_arena_take_array(results->model->arena, count, sizeof *processes);
    struct process **order = hp_arena_take_array(results->model->arena, count, sizeof(void *));
    if (processes == NULL || order == NULL)
        return NULL;
    for (size_t at = 0; at < count; at++) {
        fill_process(&processes[at], results, at);
        view->whole += processes[at].measured;
        order[at] = &processes[at];
    }
    *ret_count = count > MOST_SINGLE ? merge(&results->model->run, order, count) : count;
    hp_sort(order, *ret_count, compare_processes);
    return order;
}

/* ------------------------------------------------------------------------------------------------------ notes */

/* Unlike cells, notes are printed as they are. NULL: no memory. */
static void put_name(struct hp_text *text, const char *name)
{
    if (name != NULL)
        hp_utf8_put_safe(text, name, strlen(name));
}

/* "1234 sed: what it waited for is not known: it ended before it was looked at" */
static const char *explain_unwatched(struct hp_arena *arena, const struct process *process)
{
    char bytes[600];
    struct hp_text text;
    const char *name = name_process(arena, process);
    hp_text_init(&text, bytes, sizeof bytes);
    put_name(&text, name);
    hp_text_format(&text, ": what it waited for is not known: %s", hp_wait_unwatched_reason(process->snapshot));
    return hp_arena_copy(arena, bytes, text.length);
}

/* Those that matter. */
static void note_unwatched(const struct hotpath_results *results, struct hotpath_section *section,
                           struct process **order, size_t count)
{
    uint64_t cpu_ns = 0;
    size_t named = 0;
    for (size_t at = 0; at < count; at++)
        cpu_ns += order[at]->cpu_ns;
    for (size_t at = 0; at < count && named < MOST_REASONS; at++) {
        const struct process *process = order[at];
        if (process->cpu_ns <= cpu_ns / UNWATCHED_PART || process->snapshot->header.outside != 0 ||
            hp_wait_unwatched_reason(process->snapshot) == NULL)
            continue;
        const char *note = explain_unwatched(results->model->arena, process);
        if (note != NULL)
            hp_section_note(section, note);
        named++;
    }
}

/* "1234 /bin/busybox could not be followed: it is linked statically" */
static const char *explain(struct hp_arena *arena, const struct process *process)
{
    char bytes[600];
    struct hp_text text;
    const struct hp_snapshot *snapshot = process->snapshot;
    const char *name = name_process(arena, process), *reason = hp_snapshot_text(snapshot, snapshot->header.outside);
    hp_text_init(&text, bytes, sizeof bytes);
    put_name(&text, name);
    hp_text_string(&text, " could not be followed: ");
    hp_utf8_put_fitted(&text, reason, strlen(reason), (size_t)2 * COMMAND_COLUMNS);
    return hp_arena_copy(arena, bytes, text.length);
}

static void add_notes(const struct hotpath_results *results, struct hotpath_section *section,
                      struct process **order, size_t count)
{
    size_t named = 0, outside = 0;
    if (results->model->run.states[HP_SNAPSHOT_ENDED] > 0)
        hp_section_note(section, "ended: by a signal, _exit or exec; counted up to its last recorded time");
    bool has_brief = false, has_sums = false, has_others = false;
    for (size_t at = 0; at < count; at++) {
        has_sums |= order[at]->count > 1;
        has_others |= order[at]->count == 0;
        has_brief |= order[at]->snapshot->header.brief > 0;
        if (order[at]->snapshot->header.outside == 0 || order[at]->snapshot->header.brief > 0)
            continue;
        const char *note = named < MOST_REASONS ? explain(results->model->arena, order[at]) : NULL;
        if (note != NULL)
            hp_section_note(section, note);
        named += note != NULL;
        outside++;
    }
    note_unwatched(results, section, order, count);
    if (outside > named)
        hp_section_note(section, "more processes could not be followed; see the column 'reason'");
    if (has_sums && has_others)
        hp_section_note(section, "a process that executes another program counts in the row of its last one");
    if (has_brief)
        hp_section_note(section, "processes that end before they do anything that is recorded are only counted");
    bool has_scaled = false;
    for (size_t at = 0; at < count; at++)
        has_scaled |= order[at]->is_scaled;
    if (has_scaled)
        hp_share_note_scaled(results->model->profile, section);
    if (results->settings->show.exclude_wrapper)
        hp_section_note(section, "Total excludes the main function's own time");
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {.results = results};
    size_t count = 0;
    const struct hp_run *run = &results->model->run;
    const uint32_t facts = (hp_run_has_feature(run, HP_FEATURE_CPU) ? HAS_CPU : 0u) |
                           (hp_run_has_objects(run, hp_is_task_kind) ? HAS_POLLS : 0u) |
                           (results->model->profile->site_count > 0 ? HAS_ZONES : 0u);
    if (!hp_section_begin(results, section, &view, facts, "total_ns", "percent_total"))
        return false;
    section->description = facts & HAS_ZONES ? "Time in zones per process." : "CPU time per process.";
    section->percent_of = "rows";
    struct process **order = rank(&view, &count);
    if (order == NULL)
        return false;
    add_notes(results, section, order, count);
    return hp_section_fill_rows(results, section, (const void *const *)order, count, &view);
}

static bool has_data(const struct hotpath_results *results)
{
    return results->model->run.count > 1 || results->model->run.sessions[0]->header.outside != 0;
}

const struct hp_section_type hp_section_processes = {
    .name = "processes", .has_data = has_data, .fill = fill, .fields = fields, .always = "percent_of|order"};
