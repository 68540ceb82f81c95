/* What a run did as a whole. SPDX-License-Identifier: MIT */
#include "run_state.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "model.h"
#include "sort.h"
#include "text.h"
#include "time_range.h"
#include "verdict.h"

/* A process, with all programs that it executed. */
struct hp_process_use {
    uint32_t pid;
    const struct hp_program_use *program; /* that used most of its CPU time */
};

static const char *program_of(const struct hp_snapshot *session)
{
    const char *file = hp_text_base_name(hp_snapshot_text(session, session->header.executable));
    return file[0] != '\0' ? file : hp_snapshot_text(session, session->header.command);
}

static const char *shown_of(struct hp_arena *arena, const struct hp_snapshot *session)
{
    const char *begin;
    const size_t length = hp_text_program(hp_snapshot_text(session, session->header.command), &begin);
    const char *name = length > 0 ? hp_arena_copy(arena, begin, length) : NULL;
    return name != NULL ? name : program_of(session);
}

/* --------------------------------------------------------------------------------------------------- programs */

struct use {
    const struct hp_snapshot *session;
    uint64_t cpu_ns; /* in the time range, if there is one */
    struct hp_program_use *program;
    uint64_t processes;
};

static int by_program(const void *a, const void *b)
{
    return strcmp(program_of(((const struct use *)a)->session), program_of(((const struct use *)b)->session));
}

static int by_time(const void *a, const void *b)
{
    const struct hp_program_use *x = a, *y = b;
    const int order = hp_by_number(y->cpu_ns, x->cpu_ns);
    return order != 0 ? order : strcmp(x->name, y->name);
}

static int by_pid(const void *a, const void *b)
{
    const struct use *x = a, *y = b;
    const int order = hp_by_number(x->session->header.pid, y->session->header.pid);
    return order != 0 ? order : hp_by_number(y->cpu_ns, x->cpu_ns);
}

static void add_transfers(struct hp_transfers *sum, const struct hp_snapshot *session)
{
    struct hp_transfers moved;
    if (!hp_process_transfers(session, &moved))
        return;
    sum->read_calls += moved.read_calls;
    sum->read_bytes += moved.read_bytes;
    sum->write_calls += moved.write_calls;
    sum->write_bytes += moved.write_bytes;
}

static bool group_programs(struct hp_run_state *state, struct hp_model *model, struct use **uses)
{
    const size_t count = model->run.count;
    struct hp_program_use *programs = hp_arena_take_array(model->arena, count + 1, sizeof *programs);
    state->programs = hp_arena_take_array(model->arena, count + 1, sizeof(void *));
    if (programs == NULL || state->programs == NULL)
        return false;
    hp_sort(uses, count, by_program);
    for (size_t at = 0; at < count; at++) {
        const struct hp_snapshot *session = uses[at]->session;
        if (at == 0 || by_program(uses[at - 1], uses[at]) != 0) {
            state->programs[state->program_count] = &programs[state->program_count];
            programs[state->program_count++] =
                (struct hp_program_use){.name = program_of(session), .shown = shown_of(model->arena, session)};
        }
        struct hp_program_use *program = &programs[state->program_count - 1];
        uses[at]->program = program;
        if (uses[at]->cpu_ns > program->longest_ns) {
            program->longest_ns = uses[at]->cpu_ns;
            program->shown = shown_of(model->arena, session);
        }
        program->cpu_ns += uses[at]->cpu_ns;
        program->processes += uses[at]->processes;
        add_transfers(&program->moved, session);
        state->used_ns += uses[at]->cpu_ns;
        if (uses[at]->processes <= 1 && uses[at]->cpu_ns > state->largest_process_ns)
            state->largest_process_ns = uses[at]->cpu_ns;
    }
    hp_sort(state->programs, state->program_count, by_time);
    return true;
}

/* ---------------------------------------------------------------------------------------------------- processes */

/* The first session of each is the one with the most CPU time. */
static bool list_processes(struct hp_run_state *state, struct hp_model *model, struct use **uses)
{
    state->known = hp_arena_take_array(model->arena, model->run.count + 1, sizeof *state->known);
    if (state->known == NULL)
        return false;
    hp_sort(uses, model->run.count, by_pid);
    for (size_t at = 0; at < model->run.count; at++) {
        const uint32_t pid = uses[at]->session->header.pid;
        if (state->known_count == 0 || state->known[state->known_count - 1].pid != pid)
            state->known[state->known_count++] = (struct hp_process_use){pid, uses[at]->program};
    }
    return true;
}

const struct hp_program_use *hp_run_state_program(const struct hp_run_state *state, uint32_t pid)
{
    size_t from = 0, to = state->known_count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (state->known[middle].pid < pid)
            from = middle + 1;
        else
            to = middle;
    }
    return from < state->known_count && state->known[from].pid == pid ? state->known[from].program : NULL;
}

/* ------------------------------------------------------------------------------------------------------ threads */

#define SMALL_PART 0.05 /* of the run's CPU time: housekeeping threads have no say */

static void add_thread(struct hp_run_state *state, const struct hp_thread_usage_member *thread)
{
    const uint64_t cpu_ns = hp_thread_usage_cpu_ns(thread);
    if (thread->label->threads <= 1 && cpu_ns > state->busiest_ns)
        state->busiest_ns = cpu_ns;
    if (!hp_run_state_has_waits(thread))
        return;
    state->watched_ns += cpu_ns;
    if ((double)cpu_ns >= SMALL_PART * (double)state->used_ns)
        state->queued_ns += thread->waited_ns[HP_WAIT_RUN_QUEUE];
    for (uint32_t cause = 0; cause < HP_THREAD_USAGE_CAUSES; cause++)
        state->waited_ns[cause] += thread->waited_ns[cause];
}

#define IDLE_LEAST 0.25 /* of the run */
#define UNSEEN_PART 0.2 /* of the CPU time, in threads whose waits were not seen: idle time is a guess then */

/* Time that all threads together did not idle; without time in the run queue. */
static double blocked_ns(const struct hp_run_state *state)
{
    static const uint32_t causes[] = {HP_WAIT_DISK, HP_WAIT_SOCKET, HP_WAIT_FAULT, HP_WAIT_OTHER, HP_WAIT_LOCK};
    double sum = 0;
    for (size_t at = 0; at < sizeof causes / sizeof *causes; at++)
        sum += (double)state->waited_ns[causes[at]];
    return sum;
}

/* Of all threads together, but in the run queue. */
static double waiting_ns(const struct hp_run_state *state)
{
    double sum = 0;
    for (uint32_t cause = 0; cause < HP_THREAD_USAGE_CAUSES; cause++)
        sum += cause != HP_WAIT_RUN_QUEUE ? (double)state->waited_ns[cause] : 0;
    return sum;
}

/*
 * What was observed cannot be more idle than the CPU time leaves. Where the run was not observed as a whole, its
 * threads were: they may have worked at different times, so it was idle for no less than this.
 */
static void measure_work(struct hp_run_state *state, const struct hp_run *run)
{
    const struct hp_run_work work = hp_run_work(run);
    const double elapsed = (double)state->elapsed_ns, used = (double)state->used_ns;
    const double queued = (double)state->waited_ns[HP_WAIT_RUN_QUEUE];
    const double unseen = (double)hp_less(state->used_ns, state->watched_ns);
    double idle = work.is_known ? (double)work.idle_ns : elapsed - used - queued - blocked_ns(state);
    const double worked = work.is_known ? (double)work.worked_ns : used + queued;
    state->worked_ns = work.is_known ? work.worked_ns : 0;
    const double waited = waiting_ns(state), ready = worked > used ? worked - used : 0;
    if (!work.is_known && idle > waited)
        idle = waited;
    state->knows_work = state->watched_ns > 0 && elapsed > 0 && unseen <= UNSEEN_PART * used;
    idle = idle > elapsed - used ? elapsed - used : idle;
    if (!state->knows_work || idle <= 0)
        return;
    state->idle_part = idle / elapsed;
    /*
     * A busy machine makes a program no less idle: time that it was only ready to run does not count. But then
     * little is left, and what was observed has to be more than noise.
     */
    state->is_idle = idle >= HP_VERDICT_IDLE_RUN * (elapsed - ready) && idle >= IDLE_LEAST * elapsed &&
                     waited >= HP_VERDICT_IDLE_RUN * idle;
}

bool hp_run_state_make(struct hp_run_state *state, struct hp_model *model)
{
    const struct hp_run *run = &model->run;
    struct use *all = hp_arena_take_array(model->arena, run->count + 1, sizeof *all);
    struct use **uses = hp_arena_take_array(model->arena, run->count + 1, sizeof(void *));
    *state = (struct hp_run_state){.elapsed_ns = hp_run_elapsed_ns(run), .processes = run->process_count};
    state->cpus = run->sessions[0]->header.cores > 0 ? run->sessions[0]->header.cores : 1;
    state->usage = hp_model_thread_usage(model);
    if (all == NULL || uses == NULL || state->usage == NULL)
        return false;
    for (size_t at = 0; at < run->count; at++) {
        all[at] = (struct use){.session = run->sessions[at],
                               .cpu_ns = run->range != NULL ? run->range->uses[at].cpu_ns
                                                            : hp_snapshot_cpu_ns(run->sessions[at]),
                               .processes = run->counted[at]};
        uses[at] = &all[at];
    }
    if (!group_programs(state, model, uses) || !list_processes(state, model, uses))
        return false;
    for (size_t at = 0; at < state->usage->count; at++)
        add_thread(state, state->usage->all[at]);
    measure_work(state, run);
    return true;
}
