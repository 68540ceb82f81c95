/*
 * The first sentence about what is not measured.
 *
 * Rules are tried in order: the first that fits gives the sentence. Time in the run queue never decides what is
 * named, so a busy machine gets the sentence of a quiet one. SPDX-License-Identifier: MIT
 */
#include "program_sentence.h"

#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "arith.h"
#include "bottleneck.h"
#include "channel_profile.h"
#include "function_role.h"
#include "hot_function.h"
#include "lock_causes.h"
#include "model.h"
#include "name_marks.h"
#include "program_links.h"
#include "run_state.h"
#include "units.h"

/* --- The thresholds. */

#define FEW_SAMPLES 100u /* fewer are said */
#define ALONE_PART 0.9   /* of the CPU time: one program */
#define MAIN_PART 0.6    /* of the CPU time: the program that matters */
#define LOCK_PART 0.3    /* of the time of threads that do anything, waiting for locks */
#define LOCK_RUN 0.15    /* of the run's time */
#define LEAST_LOCK_NS 1e8
#define UNSAMPLED_PART 0.3 /* of the CPU time, in processes too short to sample */
#define DEVICE_CPU 1.5     /* a wait, in CPU times of its thread */
#define DEVICE_PART 0.2    /* of the run's time */
#define DEVICE_ALL 1.2     /* all such waits, in CPU times of the run */
#define LEAST_IDLE_NS 3e8  /* a shorter run is not idle */
#define MANY_PROCESSES 20u
#define SHORT_PROCESS_NS 6e6    /* CPU time */
#define BRIEF_PROCESS_NS 2.5e6  /* CPU time: it has hardly done more than to start */
#define STARTING_PART 0.4       /* of the CPU time, in starts and ends of processes */
#define OWN_PART 0.15           /* of the CPU time, in hotpath itself */
#define NAMED_WAIT_PART 0.3     /* of the run's time, by one thread */
#define PIPE_PART 0.5           /* of a thread's life */
#define SEEN_PART 0.4           /* of the CPU time of a program, in its stacks: else they name no function */
#define SHARED_PART 0.5         /* of the CPU time, in two programs that are named together */
#define WORKER_PART 0.02        /* of the CPU time: a thread that does anything */
#define LOCK_WAITER_PART 0.1    /* of its life, for locks: a thread that waits for them a lot */
#define LOCK_ALONE_PART 0.5     /* of the run's time, by one thread */
#define COUNTED_LOCK_PART 0.5   /* of waiting for locks: those that hooks counted explain it */
#define LONG_PART 0.4           /* of the run's time: what lasted as long as most of it */
#define HARDLY_BUSY_PART 0.05   /* of the run's time, CPU time: it does not matter */
#define LARGE_PROCESS_PART 0.25 /* of the CPU time: more than one of many */
#define SERVED_PART 0.5         /* of a wait for a socket, in which others worked */
#define SMALL_CALL_BYTES 64u    /* on average: calls that move less cost more than what they move ... */
#define SMALL_CALL_PART 0.3     /* ... if they have this part of the CPU time, */
#define SMALL_CALLS 10000u      /* and are so many */
/* The state of the run. */
#define QUEUED_PART 0.25      /* of the run's time, ready to run */
#define SPARE_PART 0.8        /* of all CPUs: less were used */
#define ALL_CPUS_PART 0.85    /* of all CPUs: all were used */
#define UNSEEN_WAITS_PART 0.5 /* of the CPU time, in threads whose waits are unknown ... */
#define UNSEEN_CPUS 0.6       /* ... where fewer CPUs were used */
#define ONE_CPU 0.7           /* CPUs used: one is busy */
#define ONE_THREAD_PART 0.85  /* of the CPU time */
#define SAID_IDLE_PART 0.25   /* of the run's time */
#define READY_PART 0.7        /* of the run's time, running or ready to run */

struct sentence {
    struct hp_text *line;
    const struct hotpath_results *results;
    struct hp_model *model;
    const struct hp_function_profile *functions; /* empty without stacks */
    bool has_stacks;
    struct hp_run_state state;
    struct hp_program_links links;
    const struct hp_program_use *program; /* the one with the most CPU time; NULL: none */
    double program_part;                  /* of the CPU time */
    double cpu_ns, elapsed_ns;            /* CPU time by samples; without stacks, by clocks */
    struct hp_hot_function hot;
    bool has_memory;
};

static void put_ns(const struct sentence *sentence, double ns)
{
    hp_text_string(sentence->line, hp_ns_text(ns).bytes);
}

static void put_share(const struct sentence *sentence, double part)
{
    hp_bottleneck_put_share(sentence->line, part < 1 ? part : 1);
}

static void put_text(const struct sentence *sentence, const char *text)
{
    hp_text_put_marked(sentence->line, text, strlen(text));
}

/* ------------------------------------------------------------------------------------------------------ waiters */

/* The function that waits longest for a cause, and what for. */
struct waiter {
    const struct hp_found_function *function;
    uint64_t ns;
    struct hp_found_cause waits;
};

/* The innermost function with a name that waits at a node: of the program, if one is known. */
static uint32_t waiting_function(const struct sentence *sentence, const unsigned char *roles, uint32_t node)
{
    const struct hp_function_profile *functions = sentence->functions;
    uint32_t nameless = HP_NO_FOUND;
    for (uint32_t at = functions->nodes[node].parent; at != 0; at = functions->nodes[at].parent) {
        const uint32_t function = functions->nodes[at].function;
        if (function == HP_NO_FOUND)
            continue;
        if (roles[function] == HP_ROLE_CODE && strcmp(functions->all[function].name, "main") != 0)
            return function;
        if (roles[function] == HP_ROLE_NAMELESS && nameless == HP_NO_FOUND)
            nameless = function;
    }
    return nameless;
}

/* Leaves out what it waits for, if that is less than half of it: a search reads many files. */
static struct waiter with_main_cause(const struct sentence *sentence, const unsigned char *roles,
                                     struct waiter waiter)
{
    const struct hp_function_profile *functions = sentence->functions;
    uint64_t ns = 0;
    for (uint32_t at = 1; waiter.function != NULL && at < functions->node_count; at++)
        if (functions->nodes[at].waits.text == waiter.waits.text &&
            waiting_function(sentence, roles, at) == (uint32_t)(waiter.function - functions->all))
            ns += functions->nodes[at].waited_ns;
    if (ns < waiter.ns / 2)
        waiter.waits = (struct hp_found_cause){0};
    return waiter;
}

static struct waiter waiter_for(struct sentence *sentence, uint32_t cause)
{
    const struct hp_function_profile *functions = sentence->functions;
    struct waiter best = {0};
    unsigned char *roles = hp_arena_take(sentence->model->arena, functions->count + 1);
    uint64_t *sums = hp_arena_take_array(sentence->model->arena, functions->count + 1, sizeof *sums);
    uint64_t *longest = hp_arena_take_array(sentence->model->arena, functions->count + 1, sizeof *longest);
    sentence->has_memory &= roles != NULL && sums != NULL && longest != NULL;
    for (size_t at = 0; sentence->has_memory && at < functions->count; at++)
        roles[at] = (unsigned char)hp_function_role(functions->all[at].name, functions->all[at].library);
    for (uint32_t at = 1; sentence->has_memory && at < functions->node_count; at++) {
        const struct hp_found_node *node = &functions->nodes[at];
        if (node->waits.text == NULL || node->cause != cause)
            continue;
        const uint32_t function = waiting_function(sentence, roles, at);
        if (function == HP_NO_FOUND)
            continue;
        sums[function] += node->waited_ns;
        if (sums[function] > best.ns || &functions->all[function] == best.function) {
            const bool is_longer =
                &functions->all[function] != best.function || node->waited_ns > longest[function];
            best.waits = is_longer ? node->waits : best.waits;
            best.function = &functions->all[function];
            best.ns = sums[function];
        }
        longest[function] = node->waited_ns > longest[function] ? node->waited_ns : longest[function];
    }
    return sentence->has_memory ? with_main_cause(sentence, roles, best) : best;
}

/* "save in libdb", or "libdb" if its functions have no names. */
static void put_function(const struct sentence *sentence, const struct hp_found_function *function)
{
    const bool is_nameless = hp_function_role(function->name, function->library) == HP_ROLE_NAMELESS;
    if (is_nameless)
        hp_hot_put_library(sentence->line, function->library);
    else
        hp_hot_put_name(sentence->line, function->shown);
}

/* The function, or without one the thread. */
static void put_waiter(struct sentence *sentence, const struct waiter *waiter,
                       const struct hp_thread_usage_member *thread)
{
    if (waiter->function != NULL)
        put_function(sentence, waiter->function);
    else
        put_text(sentence, thread->label->name);
    sentence->hot.function = waiter->function;
}

/* The base name of what is waited for, with a blank and `before`: " for x.db" of "disk: /data/x.db". */
static void put_detail(const struct sentence *sentence, const char *before, const struct hp_found_cause *waits)
{
    const char *colon = waits->text != NULL ? memchr(waits->text, ':', waits->length) : NULL;
    if (colon == NULL || waits->text + waits->length < colon + 3)
        return;
    const char *begin = colon + 2, *const end = waits->text + waits->length;
    for (const char *at = begin; at + 1 < end; at++)
        if (*at == '/')
            begin = at + 1;
    hp_text_string(sentence->line, before);
    hp_text_put_marked(sentence->line, begin, (size_t)(end - begin));
}

/* " from xz", " to md5sum", " with redis-server", " from another python3": what is at the other end of a wait. */
static void put_other_end(const struct sentence *sentence, const struct hp_thread_usage_member *thread,
                          uint32_t cause)
{
    const struct hp_program_use *waiter = hp_run_state_program(&sentence->state, thread->label->pid);
    const struct hp_program_link *link = hp_program_link_of(&sentence->links, waiter, cause);
    if (waiter == NULL || link == NULL)
        return;
    hp_text_string(sentence->line, cause == HP_WAIT_SOCKET ? " with " : link->is_sender ? " from " : " to ");
    hp_text_string(sentence->line, link->other == waiter ? "another " : "");
    put_text(sentence, link->other->shown);
}

/* "sleep", "poll: epoll_wait", "pipe from xz" */
static void put_wait(const struct sentence *sentence, const struct waiter *waiter,
                     const struct hp_thread_usage_member *thread, uint32_t cause)
{
    hp_text_string(sentence->line, hp_wait_cause_name(cause));
    put_detail(sentence, ": ", &waiter->waits);
    put_other_end(sentence, thread, cause);
}

/* ----------------------------------------------------------------------------------------- program and function */

/* The program of a process with stacks; NULL: unknown. */
static const struct hp_program_use *program_of(const struct sentence *sentence, uint32_t process)
{
    const struct hp_found_process *found = &sentence->functions->processes[process];
    const struct hp_run_state *state = &sentence->state;
    const char *name = hp_text_base_name(found->file);
    for (size_t at = 0; name[0] != '\0' && at < state->program_count; at++)
        if (strcmp(state->programs[at]->name, name) == 0)
            return state->programs[at];
    return hp_run_state_program(state, found->pid);
}

static bool is_of_program(const void *context, uint32_t process)
{
    const struct sentence *sentence = context;
    return process != HP_NO_FOUND && program_of(sentence, process) == sentence->program;
}

static bool make_stacks(struct sentence *sentence, struct hp_hot_stacks *stacks, bool is_alone)
{
    const bool is_made = hp_hot_stacks_make(stacks, sentence->model->arena, sentence->functions,
                                            is_alone ? NULL : is_of_program, sentence);
    sentence->has_memory &= is_made;
    if (sentence->program != NULL) {
        stacks->program = sentence->program->name;
        stacks->shown = sentence->program->shown;
    }
    return is_made;
}

/* What shares of functions are of. */
static const char *whole_of(const struct hp_hot_stacks *stacks, bool is_alone)
{
    if (stacks->is_wall)
        return is_alone ? " of the wall-clock time" : " of its wall-clock time";
    return is_alone ? " of the CPU time" : " of its CPU time";
}

static bool begins_with(const struct hp_text *line, size_t from, const char *text)
{
    const size_t length = strlen(text);
    return line->length - from >= length && memcmp(line->bytes + from, text, length) == 0;
}

/* Before the function: nothing for one process; else the program. */
static void put_program(const struct sentence *sentence)
{
    const struct hp_program_use *program = sentence->program;
    const uint64_t processes = sentence->state.processes;
    if (sentence->program_part < HP_HOT_ALL && processes > 1) {
        put_text(sentence, program->shown);
        hp_text_string(sentence->line, " has ");
        put_share(sentence, sentence->program_part);
        hp_text_format(sentence->line, " of the CPU time of %" PRIu64 " processes", processes);
        hp_text_string(sentence->line, sentence->program_part >= ALONE_PART ? ": " : "; in it, ");
        return;
    }
    if (processes <= 1)
        return;
    put_text(sentence, program->shown);
    if (program->processes > 1) {
        hp_text_format(sentence->line, " (%" PRIu64 " processes)", program->processes);
    }
    hp_text_string(sentence->line, ": ");
}

/* CPU time of the system calls that /proc/PID/io counts as reads or writes, and the largest of them. */
static double moving_ns(const struct hp_hot_stacks *stacks, const char *kind, uint32_t *ret_largest)
{
    static const char before[] = "[kernel: ";
    double sum = 0;
    *ret_largest = HP_NO_FOUND;
    for (uint32_t at = 0; at < stacks->profile->count; at++) {
        const char *name = hp_hot_found(stacks, at)->name;
        if (stacks->frame_of[at] != at || !hp_text_begins(name, before))
            continue;
        const char *call = name + sizeof before - 1;
        call += *call == 'p' && !hp_text_begins(call, "page"); /* pread64, pwritev */
        if (!hp_text_begins(call, kind))
            continue;
        sum += (double)stacks->total_ns[at];
        if (*ret_largest == HP_NO_FOUND || stacks->total_ns[at] > stacks->total_ns[*ret_largest])
            *ret_largest = at;
    }
    return sum;
}

/*
 * "; a write is of 1 byte on average", and if it is not the function that was named: " (in emit_char)". How many
 * there are is known up to the last probe only, and for the whole process. But where the mean is so small, calls of
 * few bytes have nearly all of the time: it takes longer to make a call than to copy this many bytes.
 */
static void put_small_calls(const struct sentence *sentence, const struct hp_hot_stacks *stacks, const char *kind,
                            uint64_t calls, uint64_t bytes)
{
    const double mean = hp_part_of((double)bytes, (double)calls);
    uint32_t largest;
    if (calls < SMALL_CALLS || mean >= SMALL_CALL_BYTES ||
        moving_ns(stacks, kind, &largest) < SMALL_CALL_PART * (double)stacks->ns)
        return;
    const struct hp_found_function *caller = largest != HP_NO_FOUND ? hp_hot_main_caller(stacks, largest) : NULL;
    const uint64_t whole = (uint64_t)(mean + 0.5);
    hp_text_format(sentence->line, "; a %s is of %" PRIu64, kind, whole);
    hp_text_string(sentence->line, whole == 1 ? " byte on average" : " bytes on average");
    if (caller == NULL || caller == sentence->hot.function)
        return;
    hp_text_string(sentence->line, " (in ");
    hp_hot_put_name(sentence->line, caller->shown);
    hp_text_char(sentence->line, ')');
}

/*
 * "cc1 has 82 % of the CPU time of 37 processes; in it, parse takes 60 % of its CPU time". False: nothing is known.
 */
static bool put_owner(struct sentence *sentence)
{
    const bool is_alone = sentence->program_part >= ALONE_PART || sentence->state.processes <= 1;
    struct hp_hot_stacks stacks;
    if (sentence->program == NULL || (!is_alone && sentence->program_part < MAIN_PART) ||
        !make_stacks(sentence, &stacks, is_alone))
        return false;
    const size_t before = sentence->line->length;
    put_program(sentence);
    const size_t after = sentence->line->length;
    if (stacks.count == 0 ||
        (!is_alone && (double)stacks.ns < SEEN_PART * sentence->program_part * sentence->cpu_ns)) {
        sentence->line->length = before;
        put_text(sentence, sentence->program->shown);
        hp_text_string(sentence->line, " has ");
        put_share(sentence, sentence->program_part);
        hp_text_string(sentence->line, " of the CPU time");
        return true;
    }
    hp_hot_function_put(sentence->line, &stacks, whole_of(&stacks, is_alone), &sentence->hot);
    if (after == before && begins_with(sentence->line, after, "its own code")) {
        sentence->line->length = after;
        put_text(sentence, sentence->program->shown);
        hp_text_string(sentence->line, ": ");
        hp_hot_function_put(sentence->line, &stacks, whole_of(&stacks, true), &sentence->hot);
    }
    const struct hp_transfers *moved = &sentence->program->moved;
    put_small_calls(sentence, &stacks, "read", moved->read_calls, moved->read_bytes);
    put_small_calls(sentence, &stacks, "write", moved->write_calls, moved->write_bytes);
    return true;
}

static bool is_shell(const char *name)
{
    return strcmp(name, "sh") == 0 || strcmp(name, "bash") == 0 || strcmp(name, "dash") == 0 ||
           strcmp(name, "zsh") == 0;
}

/* "redis-benchmark (57 %) and redis-server (40 %) share the CPU time of 10 processes" */
static void put_sharers(struct sentence *sentence)
{
    const struct hp_run_state *state = &sentence->state;
    size_t chosen[2] = {0}, count = 0, named = 0;
    double sum = 0;
    for (size_t at = 0; at < state->program_count && count < 2; at++)
        if (!is_shell(state->programs[at]->name)) {
            sum += hp_part_of((double)state->programs[at]->cpu_ns, (double)state->used_ns);
            chosen[count++] = at;
        }
    if (count < 2 || sum < SHARED_PART)
        for (count = 0; count < 2 && count < state->program_count; count++)
            chosen[count] = count;
    for (size_t at = 0; at < count; at++) {
        const struct hp_program_use *program = state->programs[chosen[at]];
        hp_text_string(sentence->line, at > 0 ? " and " : "");
        put_text(sentence, program->shown);
        hp_text_string(sentence->line, " (");
        put_share(sentence, hp_part_of((double)program->cpu_ns, (double)state->used_ns));
        hp_text_char(sentence->line, ')');
        named += (size_t)program->processes;
    }
    hp_text_string(sentence->line, " share the CPU time");
    if (state->processes > named) {
        hp_text_format(sentence->line, " of %" PRIu64 " processes", state->processes);
    }
    struct hp_hot_stacks stacks;
    sentence->program = state->programs[chosen[0]];
    if (!make_stacks(sentence, &stacks, false) || stacks.count == 0)
        return;
    hp_text_string(sentence->line, "; in ");
    put_text(sentence, sentence->program->shown);
    hp_text_string(sentence->line, ", ");
    hp_hot_function_put(sentence->line, &stacks, whole_of(&stacks, false), &sentence->hot);
}

/* ---------------------------------------------------------------------------------------------------- the rules */

static const struct hp_thread_usage_member *next_waiter(const struct sentence *sentence, size_t *at)
{
    const struct hp_run_thread_usage *usage = sentence->state.usage;
    while (*at < usage->count) {
        const struct hp_thread_usage_member *thread = usage->all[(*at)++];
        if (hp_run_state_has_waits(thread))
            return thread;
    }
    return NULL;
}

static uint64_t threads_of(const struct hp_thread_usage_member *thread)
{
    return thread->label->threads > 0 ? thread->label->threads : 1;
}

/*
 * What threads lose at locks. On a busy machine the holder of a lock has to wait for a CPU, and who waits for the
 * lock waits longer. So waiting is compared with CPU time as if all threads had always had a CPU.
 */
struct lock_loss {
    double waited_ns, lived_ns; /* of threads that wait for them a lot */
    double queued_ns;           /* of the same */
    double at_work_ns;          /* of all that do anything: ran, or waited for locks, by `fair_ns` */
    double fair_ns;             /* of the waiting for locks: without what holders waited for a CPU meanwhile */
    double longest_ns;          /* of one thread */
    uint64_t threads;
};

static struct lock_loss lock_loss_of(const struct sentence *sentence)
{
    struct lock_loss loss = {0};
    const struct hp_thread_usage_member *thread;
    double ran = 0, queued = 0;
    for (size_t at = 0; (thread = next_waiter(sentence, &at)) != NULL;) {
        const double waited = (double)thread->waited_ns[HP_WAIT_LOCK], cpu = (double)hp_thread_usage_cpu_ns(thread);
        if (cpu >= WORKER_PART * sentence->cpu_ns || waited > 0) {
            ran += cpu;
            queued += (double)thread->waited_ns[HP_WAIT_RUN_QUEUE];
        }
        if (waited <= LOCK_WAITER_PART * (double)thread->lived_ns)
            continue;
        loss.waited_ns += waited;
        loss.lived_ns += (double)thread->lived_ns;
        loss.queued_ns += (double)thread->waited_ns[HP_WAIT_RUN_QUEUE];
        loss.threads += threads_of(thread);
        if (waited / (double)threads_of(thread) > loss.longest_ns)
            loss.longest_ns = waited / (double)threads_of(thread);
    }
    loss.fair_ns = loss.waited_ns * hp_part_of(ran, ran + queued);
    loss.at_work_ns = loss.fair_ns + ran;
    return loss;
}

/* "; meanwhile update_index takes 60 % of the CPU time" */
static void put_meanwhile(struct sentence *sentence)
{
    const size_t before = sentence->line->length;
    if ((double)sentence->functions->counts.samples < HP_VERDICT_LEAST_SAMPLES)
        return;
    hp_text_string(sentence->line, ". Of what runs, ");
    if (!put_owner(sentence))
        sentence->line->length = before;
}

/* The longest wait for a lock whose holder is known; NULL: none. */
static const struct hp_wait_sums *held_wait(struct sentence *sentence)
{
    const struct hp_run_waits *waits =
        hp_run_has_waits(&sentence->model->run) ? hp_model_waits(sentence->model) : NULL;
    for (size_t at = 0; waits != NULL && at < waits->count; at++)
        if (waits->all[at]->cause == HP_WAIT_LOCK && waits->all[at]->holder != NULL)
            return waits->all[at];
    return NULL;
}

/* ": update takes 98 % of that time, all of it in compute". False: too little is known of it. */
static bool put_held(struct sentence *sentence, const struct hp_found_function *waiter,
                     struct hp_hot_function *ret_named)
{
    struct hp_hot_stacks stacks;
    if (waiter == NULL || waiter->held_samples < HP_LEAST_HOLDS)
        return false;
    const bool is_made = hp_hot_stacks_make_held(&stacks, sentence->model->arena, sentence->functions, waiter);
    sentence->has_memory &= is_made;
    if (!is_made || stacks.count == 0)
        return false;
    hp_text_string(sentence->line, ": ");
    hp_hot_function_put(sentence->line, &stacks, " of that time", ret_named);
    return true;
}

/* "; its holder, worker, waits meanwhile (disk)": as it was recorded, or not at all. */
static bool put_holder(struct sentence *sentence, const struct hp_found_function *waiter)
{
    const struct hp_wait_sums *wait = held_wait(sentence);
    if (wait == NULL) {
        hp_text_string(sentence->line, "; the holder was not recorded");
        return false;
    }
    const struct hp_wait_holder *holder = wait->holder;
    hp_text_string(sentence->line, "; its holder");
    const bool is_told = sentence->program == NULL || !hp_text_begins(sentence->program->name, holder->name);
    if (holder->name[0] != '\0' && is_told) {
        hp_text_string(sentence->line, " (");
        put_text(sentence, holder->name);
        hp_text_char(sentence->line, ')');
    }
    if (holder->working >= holder->waiting)
        hp_text_string(sentence->line, " works meanwhile");
    else
        hp_text_format(sentence->line, " waits meanwhile (%s)", hp_wait_cause_name(holder->cause));
    return put_held(sentence, waiter, &(struct hp_hot_function){0});
}

/* The lock that threads lose most at, if hooks counted locks, and these explain the loss. NULL: none. */
static const struct hp_lock_row *counted_lock(const struct sentence *sentence, const struct lock_loss *loss,
                                              double *ret_part)
{
    double all_ns;
    const struct hp_lock_row *lock = hp_lock_longest(sentence->model->locks, HP_WAIT_LOCK, &all_ns);
    *ret_part = hp_part_of(lock != NULL ? lock->wait_ns : 0, all_ns);
    return all_ns >= COUNTED_LOCK_PART * loss->waited_ns ? lock : NULL;
}

/* ", held by update (98 % of that, 3.20 ms at a time)" */
static void put_counted_holder(struct sentence *sentence, const struct hp_lock_row *lock)
{
    const char *holder = lock->worst != NULL ? lock->worst->holder : NULL;
    if (holder == NULL)
        return;
    hp_text_string(sentence->line, ", held by ");
    hp_hot_put_name(sentence->line, holder);
    hp_text_string(sentence->line, " (");
    put_share(sentence, hp_part_of(hp_lock_held_ns(sentence->model->locks, lock, holder), lock->wait_ns));
    hp_text_string(sentence->line, " of that");
    if (lock->holds > 0) {
        hp_text_string(sentence->line, ", ");
        put_ns(sentence, lock->hold_ns / (double)lock->holds);
        hp_text_string(sentence->line, " at a time");
    }
    hp_text_char(sentence->line, ')');
}

/* ": compute takes 98 % of that time, called by update": only what adds to the name of the holder. */
static bool put_counted_hold(struct sentence *sentence, const struct hp_found_function *waiter, const char *holder)
{
    const size_t before = sentence->line->length;
    struct hp_hot_function named;
    if (holder != NULL && put_held(sentence, waiter, &named) && named.function != NULL &&
        !hp_lock_is_function(named.function->name, holder) &&
        strstr(hp_text_end(sentence->line) + before, holder) != NULL)
        return true;
    sentence->line->length = before;
    return false;
}

/* " for index_lock in publish, held by update (98 % of that, 3.20 ms at a time)" */
static void put_counted(struct sentence *sentence, const struct hp_lock_row *lock, double part,
                        const struct hp_found_function *waiter)
{
    const char *holder = lock->worst != NULL ? lock->worst->holder : NULL;
    if (part < COUNTED_LOCK_PART) {
        hp_text_string(sentence->line, " for locks, ");
        put_share(sentence, part);
        hp_text_string(sentence->line, " of that");
    }
    hp_text_string(sentence->line, " for ");
    put_text(sentence, lock->name);
    if (lock->worst != NULL && lock->worst->waiter != NULL) {
        hp_text_string(sentence->line, " in ");
        hp_hot_put_name(sentence->line, lock->worst->waiter);
    }
    put_counted_holder(sentence, lock);
    if (!put_counted_hold(sentence, waiter, holder))
        put_meanwhile(sentence);
}

/* " for a lock in publish; the holder was not recorded": as samples found it. */
static void put_sampled(struct sentence *sentence, const struct hp_found_function *waiter)
{
    hp_text_string(sentence->line, " for a lock");
    if (waiter != NULL) {
        hp_text_string(sentence->line, " in ");
        put_function(sentence, waiter);
    }
    if (!put_holder(sentence, waiter))
        put_meanwhile(sentence);
}

/* "Lock contention: 6 threads wait 52 % of their time for a lock in publish (the holder was not recorded)" */
static bool put_lock(struct sentence *sentence)
{
    const struct lock_loss loss = lock_loss_of(sentence);
    double part;
    if (loss.fair_ns < LOCK_PART * loss.at_work_ns || loss.waited_ns < LOCK_RUN * sentence->elapsed_ns ||
        loss.waited_ns < LOCK_PART * (loss.lived_ns - loss.queued_ns) || loss.waited_ns < LEAST_LOCK_NS ||
        (loss.threads < 2 && loss.longest_ns < LOCK_ALONE_PART * sentence->elapsed_ns))
        return false;
    const struct waiter waiter = waiter_for(sentence, HP_WAIT_LOCK);
    hp_text_string(sentence->line, "Lock contention: ");
    if (loss.threads > 1) {
        hp_text_format(sentence->line, "%" PRIu64 " threads wait ", loss.threads);
    } else {
        hp_text_string(sentence->line, "one thread waits ");
    }
    put_share(sentence, hp_part_of(loss.waited_ns, loss.lived_ns));
    hp_text_string(sentence->line, loss.threads > 1 ? " of their time" : " of its time");
    sentence->hot.function = waiter.function;
    const struct hp_hot_function named = sentence->hot;
    const struct hp_lock_row *lock = counted_lock(sentence, &loss, &part);
    if (lock != NULL)
        put_counted(sentence, lock, part, waiter.function);
    else
        put_sampled(sentence, waiter.function);
    sentence->hot = named.function != NULL ? named : sentence->hot;
    return true;
}

static bool is_for_others(uint32_t cause)
{
    return cause == HP_WAIT_CHILD || cause == HP_WAIT_THREAD || cause == HP_WAIT_RUN_QUEUE ||
           cause == HP_WAIT_SIGNAL;
}

/* The longest wait of a thread that is not for another one to end; HP_THREAD_USAGE_CAUSES: none. */
static uint32_t longest_cause(const struct hp_thread_usage_member *thread)
{
    uint32_t longest = HP_THREAD_USAGE_CAUSES;
    for (uint32_t cause = 0; cause < HP_THREAD_USAGE_CAUSES; cause++)
        if (!is_for_others(cause) && thread->waited_ns[cause] > 0 &&
            (longest == HP_THREAD_USAGE_CAUSES || thread->waited_ns[cause] > thread->waited_ns[longest]))
            longest = cause;
    return longest;
}

/* The child that is waited for longest and does not work either; NULL: none. */
static const char *idle_child(struct sentence *sentence)
{
    const struct hp_run_waits *waits =
        hp_run_has_waits(&sentence->model->run) ? hp_model_waits(sentence->model) : NULL;
    for (size_t at = 0; waits != NULL && at < waits->count; at++) {
        const struct hp_wait_sums *wait = waits->all[at];
        if (wait->cause == HP_WAIT_CHILD && wait->what[0] != '\0' && strstr(wait->what, "(busy)") == NULL &&
            (double)wait->ns >= LONG_PART * sentence->elapsed_ns)
            return wait->what;
    }
    return NULL;
}

/* A full channel, where there is no CPU time to speak of. */
static bool put_channel(struct sentence *sentence)
{
    struct hp_channel_jam jam;
    const bool has_samples =
        !sentence->has_stacks || (double)sentence->functions->counts.samples >= HP_VERDICT_LEAST_SAMPLES;
    if ((has_samples && !sentence->state.is_idle) || !hp_channel_jam_of(sentence->model, true, &jam))
        return false;
    hp_bottleneck_put_jam(sentence->line, &jam, true);
    return true;
}

/* How much of the run is left to a thread that had to wait for a CPU: that makes no program less idle. */
static double own_time_ns(const struct sentence *sentence, const struct hp_thread_usage_member *thread)
{
    const double rest = sentence->elapsed_ns - (double)thread->waited_ns[HP_WAIT_RUN_QUEUE];
    const double least = DEVICE_PART * sentence->elapsed_ns;
    return rest > least ? rest : least;
}

static bool is_outer_event(uint32_t cause)
{
    return cause == HP_WAIT_POLL || cause == HP_WAIT_SLEEP || cause == HP_WAIT_PIPE || cause == HP_WAIT_CLIENT ||
           cause == HP_WAIT_TERMINAL || cause == HP_WAIT_SOCKET;
}

/* The busiest thread that waits for events from outside; NULL: none. */
static const struct hp_thread_usage_member *idle_thread(const struct sentence *sentence, uint32_t *ret_cause)
{
    const struct hp_thread_usage_member *thread, *busiest = NULL;
    for (size_t at = 0; (thread = next_waiter(sentence, &at)) != NULL;) {
        uint64_t sum = 0;
        uint32_t longest = HP_WAIT_POLL;
        for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++)
            if (is_outer_event(cause)) {
                sum += thread->waited_ns[cause];
                longest = thread->waited_ns[cause] > thread->waited_ns[longest] ? cause : longest;
            }
        const uint64_t cpu_ns = hp_thread_usage_cpu_ns(thread);
        if ((double)sum <= NAMED_WAIT_PART * own_time_ns(sentence, thread) || cpu_ns == 0 ||
            (busiest != NULL && cpu_ns <= hp_thread_usage_cpu_ns(busiest)))
            continue;
        busiest = thread;
        *ret_cause = longest;
    }
    return busiest;
}

/*
 * The thread that has waited for longest, for the cause of most of that; NULL: none has. What the program does is
 * up to a thread that serves, not to one in the background, which may have waited longer.
 */
static const struct hp_thread_usage_member *named_waiter(const struct sentence *sentence, uint32_t *ret_cause)
{
    const struct hp_thread_usage_member *longest = idle_thread(sentence, ret_cause), *thread;
    if (longest != NULL && (double)longest->waited_ns[*ret_cause] > NAMED_WAIT_PART * sentence->elapsed_ns)
        return longest;
    longest = NULL;
    for (size_t at = 0; (thread = next_waiter(sentence, &at)) != NULL;) {
        const uint32_t its = longest_cause(thread);
        if (its < HP_THREAD_USAGE_CAUSES &&
            (longest == NULL || thread->waited_ns[its] > longest->waited_ns[*ret_cause])) {
            longest = thread;
            *ret_cause = its;
        }
    }
    return longest;
}

/* Fewer samples than name a function. A program that hardly ran still waited for something. */
static bool put_short(struct sentence *sentence)
{
    uint32_t cause = 0;
    if (!sentence->has_stacks || (double)sentence->functions->counts.samples >= HP_VERDICT_LEAST_SAMPLES)
        return false;
    const struct hp_thread_usage_member *longest = named_waiter(sentence, &cause);
    const double used = sentence->cpu_ns > 0 ? sentence->cpu_ns : (double)sentence->state.used_ns;
    if (longest != NULL && used < HARDLY_BUSY_PART * sentence->elapsed_ns &&
        (double)longest->waited_ns[cause] > NAMED_WAIT_PART * sentence->elapsed_ns) {
        const struct waiter waiter = waiter_for(sentence, cause);
        hp_text_format(sentence->line, "Idle: %s of CPU time in %s; ", hp_ns_text(used).bytes,
                       hp_ns_text(sentence->elapsed_ns).bytes);
        put_waiter(sentence, &waiter, longest);
        hp_text_string(sentence->line, " waits (");
        put_wait(sentence, &waiter, longest, cause);
        hp_text_string(sentence->line, ") for ");
        put_share(sentence, hp_part_of((double)longest->waited_ns[cause], sentence->elapsed_ns));
        hp_text_string(sentence->line, sentence->model->run.range != NULL ? " of that time" : " of the run");
        return true;
    }
    const char *child = used < HARDLY_BUSY_PART * sentence->elapsed_ns ? idle_child(sentence) : NULL;
    if (child != NULL) {
        hp_text_format(sentence->line, "Idle: %s of CPU time in %s; it waits for the end of ",
                       hp_ns_text(used).bytes, hp_ns_text(sentence->elapsed_ns).bytes);
        put_text(sentence, child);
        hp_text_string(sentence->line, ", which is idle");
        return true;
    }
    hp_text_format(sentence->line, "Too short to tell: %" PRIu64 " CPU sample%s",
                   sentence->functions->counts.samples, sentence->functions->counts.samples == 1 ? "" : "s");
    hp_text_format(sentence->line, " (%s of CPU time in %s)", hp_ns_text(used).bytes,
                   hp_ns_text(sentence->elapsed_ns).bytes);
    if (sentence->state.processes > 1 && sentence->program_part >= MAIN_PART) {
        hp_text_string(sentence->line, "; most of it in ");
        put_text(sentence, sentence->program->shown);
    }
    return true;
}

static double unsampled_ns(const struct sentence *sentence)
{
    double sum = 0;
    for (size_t at = 0; at < sentence->functions->count; at++)
        if (hp_text_begins(sentence->functions->all[at].name, HP_NOT_SAMPLED))
            sum += (double)(sentence->functions->all[at].user_ns + sentence->functions->all[at].kernel_ns);
    return sum;
}

static bool is_of_start(const char *name, const char *library)
{
    static const char *const calls[] = {"clone",       "clone3",
                                        "fork",        "vfork",
                                        "execve",      "exit_group",
                                        "exit",        "wait4",
                                        "munmap",      "mmap",
                                        "brk",         "mprotect",
                                        "arch_prctl",  "set_robust_list",
                                        "page faults", "page faults and interrupts"};
    static const char before[] = "[kernel: ";
    if (strcmp(name, "[kernel]") == 0 || hp_text_begins(library, "ld-linux") || hp_text_begins(name, "_dl_"))
        return true;
    if (!hp_text_begins(name, before))
        return false;
    for (size_t at = 0; at < sizeof calls / sizeof *calls; at++)
        if (strncmp(name + sizeof before - 1, calls[at], strlen(calls[at])) == 0 &&
            name[sizeof before - 1 + strlen(calls[at])] == ']')
            return true;
    return false;
}

/* CPU time of starting and ending processes: in these system calls, and in the dynamic linker. */
static double starting_ns(struct sentence *sentence)
{
    const struct hp_function_profile *functions = sentence->functions;
    bool *is_starting = hp_arena_take_array(sentence->model->arena, functions->node_count + 1, sizeof *is_starting);
    double sum = 0;
    sentence->has_memory &= is_starting != NULL;
    for (size_t at = 1; is_starting != NULL && at < functions->node_count; at++) {
        const struct hp_found_node *node = &functions->nodes[at];
        const struct hp_found_function *function =
            node->function != HP_NO_FOUND ? &functions->all[node->function] : NULL;
        is_starting[at] =
            is_starting[node->parent] || (function != NULL && is_of_start(function->name, function->library));
        sum += is_starting[at] ? (double)(node->user_ns + node->kernel_ns) : 0;
    }
    return sum;
}

/*
 * "Starting processes is the cost: 803 processes in 1.00 s, 612.00 µs of CPU time each; 52 % ...": they are many,
 * none matters by itself, and what they do is mostly to start and to end.
 */
static bool put_starts(struct sentence *sentence)
{
    const struct hp_run_state *state = &sentence->state;
    const double each = hp_part_of((double)state->used_ns, (double)state->processes);
    const double own = (double)sentence->functions->own_ns, unsampled = unsampled_ns(sentence);
    if (state->used_ns == 0 || state->is_idle || state->processes < MANY_PROCESSES || each >= SHORT_PROCESS_NS ||
        (double)state->largest_process_ns > LARGE_PROCESS_PART * (double)state->used_ns)
        return false;
    const double starting = starting_ns(sentence);
    const bool is_starting = starting >= STARTING_PART * (sentence->cpu_ns - own - unsampled);
    const bool is_unsampled = unsampled > UNSAMPLED_PART * sentence->cpu_ns;
    if (!is_starting && !is_unsampled && each >= BRIEF_PROCESS_NS)
        return false;
    hp_text_format(sentence->line, "Starting processes is the cost: %" PRIu64 " processes in %s, ",
                   state->processes, hp_ns_text(sentence->elapsed_ns).bytes);
    put_ns(sentence, each);
    hp_text_string(sentence->line, " of CPU time each");
    if (!is_unsampled && !is_starting)
        return true;
    hp_text_string(sentence->line, "; ");
    put_share(sentence, hp_part_of(is_unsampled ? unsampled : starting, sentence->cpu_ns));
    hp_text_string(sentence->line, is_unsampled ? " of the CPU time is in processes too short to sample"
                                                : " of the CPU time is in fork, exec, exit, page faults and the "
                                                  "dynamic linker");
    return true;
}

/* "82 % of the CPU time is in processes too short to sample: 1503 processes in 2.10 s" */
static bool put_unsampled(struct sentence *sentence)
{
    const double unsampled = unsampled_ns(sentence);
    if (unsampled <= UNSAMPLED_PART * sentence->cpu_ns || sentence->state.processes < MANY_PROCESSES)
        return false;
    put_share(sentence, hp_part_of(unsampled, sentence->cpu_ns));
    hp_text_format(sentence->line,
                   " of the CPU time is in processes too short to sample: %" PRIu64 " processes in %s",
                   sentence->state.processes, hp_ns_text(sentence->elapsed_ns).bytes);
    return true;
}

/* Whether another thread worked while one waited for a socket: then that is the bottleneck. */
static bool is_served_by_work(const struct sentence *sentence, const struct hp_thread_usage_member *waiter,
                              double ns)
{
    const struct hp_thread_usage_member *thread;
    double worked = 0;
    for (size_t at = 0; (thread = next_waiter(sentence, &at)) != NULL;)
        worked +=
            thread == waiter ? 0 : (double)(hp_thread_usage_cpu_ns(thread) + thread->waited_ns[HP_WAIT_RUN_QUEUE]);
    return worked >= SERVED_PART * ns;
}

static const struct {
    uint32_t cause;
    const char *words;
} devices[] = {{HP_WAIT_DISK, "the disk"}, {HP_WAIT_SOCKET, "a socket"}, {HP_WAIT_FAULT, "pages from disk"}};

/* The thread that waits longest for a device, and long enough to matter; NULL: none. */
static const struct hp_thread_usage_member *device_waiter(const struct sentence *sentence, uint32_t cause)
{
    const struct hp_thread_usage_member *thread, *longest = NULL;
    for (size_t at = 0; (thread = next_waiter(sentence, &at)) != NULL;) {
        const double waited = (double)thread->waited_ns[cause];
        if (waited >= DEVICE_PART * own_time_ns(sentence, thread) &&
            waited >= DEVICE_CPU * (double)hp_thread_usage_cpu_ns(thread) &&
            (longest == NULL || waited > (double)longest->waited_ns[cause]))
            longest = thread;
    }
    if (longest == NULL || (double)sentence->state.waited_ns[cause] < DEVICE_ALL * sentence->cpu_ns)
        return NULL;
    const bool is_socket = cause == HP_WAIT_SOCKET;
    return is_socket && is_served_by_work(sentence, longest, (double)longest->waited_ns[cause]) ? NULL : longest;
}

/* "Waiting for the disk: save waits 89 % of its time for x.db (1.90 s against 232.00 ms of CPU time)" */
static bool put_device(struct sentence *sentence)
{
    for (size_t at = 0; at < sizeof devices / sizeof *devices; at++) {
        const uint32_t cause = devices[at].cause;
        const struct hp_thread_usage_member *thread = device_waiter(sentence, cause);
        if (thread == NULL)
            continue;
        const struct waiter waiter = waiter_for(sentence, cause);
        const double waited = (double)thread->waited_ns[cause], cpu = (double)hp_thread_usage_cpu_ns(thread);
        const double queued = (double)thread->waited_ns[HP_WAIT_RUN_QUEUE];
        hp_text_format(sentence->line, "Waiting for %s: ", devices[at].words);
        put_waiter(sentence, &waiter, thread);
        hp_text_string(sentence->line, " waits ");
        put_share(sentence, hp_part_of(waited, waited + cpu));
        hp_text_string(sentence->line, " of its time");
        put_detail(sentence, " for ", &waiter.waits);
        if (cause == HP_WAIT_SOCKET)
            put_other_end(sentence, thread, cause);
        hp_text_format(sentence->line, " (%s against %s of CPU time", hp_ns_text(waited).bytes,
                       hp_ns_text(cpu).bytes);
        /* A busy machine does not change the cause, but most of the run would not be explained. */
        if (queued > waited + cpu)
            hp_text_format(sentence->line, "; ready without a free CPU for %s", hp_ns_text(queued).bytes);
        hp_text_char(sentence->line, ')');
        return true;
    }
    return false;
}

/* "Idle for 65 % of 1.10 s: serve waits (poll: epoll_wait). When it works, parse takes 70 % of the CPU time" */
static bool put_idle(struct sentence *sentence)
{
    const double idle = sentence->state.idle_part;
    uint32_t cause = 0;
    if (!sentence->state.knows_work || !sentence->state.is_idle || sentence->elapsed_ns <= LEAST_IDLE_NS)
        return false;
    hp_text_string(sentence->line, "Idle for ");
    put_share(sentence, idle);
    hp_text_string(sentence->line, " of ");
    put_ns(sentence, sentence->elapsed_ns);
    const char *child = idle_child(sentence);
    const struct hp_thread_usage_member *thread = child == NULL ? idle_thread(sentence, &cause) : NULL;
    if (child != NULL) {
        hp_text_string(sentence->line, ": waits for the end of ");
        put_text(sentence, child);
        hp_text_string(sentence->line, ", which is idle");
    } else if (thread != NULL) {
        const struct waiter waiter = waiter_for(sentence, cause);
        hp_text_string(sentence->line, ": ");
        put_waiter(sentence, &waiter, thread);
        hp_text_string(sentence->line, " waits (");
        put_wait(sentence, &waiter, thread, cause);
        hp_text_char(sentence->line, ')');
    }
    const size_t before = sentence->line->length;
    hp_text_string(sentence->line, ". When it works, ");
    if (!put_owner(sentence)) {
        sentence->line->length = before;
        hp_text_string(sentence->line, ". ");
        put_sharers(sentence);
    }
    return true;
}

/* ------------------------------------------------------------------------------------------- the last rule: CPU */

/* Of many short threads, few are found in the run queue; but it is known when any was ready to run. */
static double least_queued_ns(const struct hp_run_state *state)
{
    const uint64_t ready_ns = hp_less(state->worked_ns, state->used_ns);
    return (double)(ready_ns > state->queued_ns ? ready_ns : state->queued_ns);
}

/* "CPU-bound on one CPU" */
static void put_state(const struct sentence *sentence)
{
    const struct hp_run_state *state = &sentence->state;
    /* By clocks: a sample of a thread that was short of CPU may stand for more than its time. */
    const double used = state->used_ns > 0 ? (double)state->used_ns : sentence->cpu_ns,
                 elapsed = sentence->elapsed_ns, queued = (double)state->queued_ns;
    const double cpus = hp_part_of(used, elapsed), unseen = (double)hp_less(state->used_ns, state->watched_ns);
    const double idle = state->idle_part;
    struct hp_text *line = sentence->line;
    if (queued >= used && queued > QUEUED_PART * elapsed && cpus < SPARE_PART * state->cpus) {
        hp_text_format(line, "Short of CPU (ran %s, queued %s)", hp_ns_text(used).bytes, hp_ns_text(queued).bytes);
    } else if (cpus >= ALL_CPUS_PART * state->cpus && state->cpus > 1) {
        hp_text_format(line, "CPU-bound on all %u CPUs", state->cpus);
    } else if (unseen >= UNSEEN_WAITS_PART * (double)state->used_ns && cpus < UNSEEN_CPUS) {
        hp_text_format(line, "Ran %s of %s, waits not seen", hp_ns_text(used).bytes, hp_ns_text(elapsed).bytes);
    } else if (cpus >= ONE_CPU && (double)state->busiest_ns >= ONE_THREAD_PART * used && state->cpus > 1) {
        hp_text_string(line, "CPU-bound on one CPU");
    } else if (cpus >= ONE_CPU && state->cpus > 1) {
        hp_text_format(line, "CPU-bound, %.1f of %u CPUs", cpus, state->cpus);
    } else if (cpus >= ONE_CPU) {
        hp_text_string(line, "CPU-bound");
    } else if (idle >= SAID_IDLE_PART) {
        hp_text_string(line, "Busy for ");
        put_share(sentence, 1 - idle);
        hp_text_format(line, " of %s", hp_ns_text(elapsed).bytes);
    } else if (used + least_queued_ns(state) >= READY_PART * elapsed) {
        hp_text_format(line, "CPU-bound (ran %s, queued %s)", hp_ns_text(used).bytes,
                       hp_ns_text(least_queued_ns(state)).bytes);
    } else {
        hp_text_format(line, "Ran %s of %s", hp_ns_text(used).bytes, hp_ns_text(elapsed).bytes);
    }
    hp_text_string(line, ": ");
}

#define MOST_STAGES 8u

static uint64_t waited_at_ends(const struct hp_thread_usage_member *thread)
{
    return thread->waited_ns[HP_WAIT_PIPE] + thread->waited_ns[HP_WAIT_SOCKET];
}

/*
 * Other programs with a thread that waits at pipes and sockets for most of its life, and for this program, or for
 * one that does so in turn.
 */
static size_t find_stages(const struct sentence *sentence, const char **stages)
{
    const struct hp_thread_usage_member *thread;
    size_t count = 0;
    for (size_t at = 0; (thread = next_waiter(sentence, &at)) != NULL && count < MOST_STAGES;) {
        const struct hp_program_use *program = hp_run_state_program(&sentence->state, thread->label->pid);
        size_t same = 0;
        if (program == NULL || program == sentence->program || is_shell(program->name) ||
            (double)waited_at_ends(thread) <= PIPE_PART * (double)thread->lived_ns ||
            (double)thread->lived_ns <= LONG_PART * sentence->elapsed_ns ||
            !hp_program_waits_for(&sentence->links, program, sentence->program))
            continue;
        while (same < count && strcmp(stages[same], program->shown) != 0)
            same++;
        if (same == count)
            stages[count++] = program->shown;
    }
    return count;
}

/* "; cut, uniq and others wait for it" */
static void put_stages(const struct sentence *sentence, const char *program)
{
    const char *stages[MOST_STAGES];
    const size_t count = find_stages(sentence, stages);
    for (size_t at = 0; at < count && at < 2; at++) {
        hp_text_string(sentence->line, at == 0 ? "; " : count > 2 ? ", " : " and ");
        put_text(sentence, stages[at]);
    }
    if (count == 0)
        return;
    hp_text_string(sentence->line, count > 2 ? " and others wait for " : count > 1 ? " wait for " : " waits for ");
    put_text(sentence, program);
}

static bool put_cpu(struct sentence *sentence)
{
    put_state(sentence);
    if (put_owner(sentence)) {
        put_stages(sentence, "it");
    } else {
        put_sharers(sentence);
        if (sentence->program != NULL)
            put_stages(sentence, sentence->program->shown);
    }
    if (sentence->has_stacks && sentence->functions->counts.samples < FEW_SAMPLES) {
        hp_text_format(sentence->line, " (only %" PRIu64 " samples)", sentence->functions->counts.samples);
    }
    return true;
}

/* ---------------------------------------------------------------------------------------------------- next step */

/* "Install libz1-dbgsym for the names of libz", "Start node with --perf-basic-prof for the names of its code" */
static void put_next_step(const struct sentence *sentence)
{
    const struct hp_nameless *nameless = &sentence->functions->nameless;
    struct hp_text *line = sentence->line;
    const char *library = sentence->hot.nameless;
    if (nameless->map_option != NULL && nameless->generator != NULL &&
        (double)nameless->generated_ns >= HP_HOT_NAMED * sentence->cpu_ns) {
        hp_text_string(line, ". For the names of its code, start ");
        put_text(sentence, nameless->generator);
        hp_text_format(line, " with %s", nameless->map_option);
        return;
    }
    if (library == NULL)
        return;
    const bool is_packaged = nameless->debug_package != NULL && nameless->library != NULL &&
                             strcmp(hp_text_base_name(nameless->library), library) == 0;
    hp_text_format(line, ". Install %s", is_packaged ? nameless->debug_package : "debug symbols");
    hp_text_string(line, is_packaged ? " for the names of " : " for ");
    hp_hot_put_library(line, library);
    hp_text_string(line, is_packaged ? "" : ", or use --debuginfod");
}

static void put_own(const struct sentence *sentence)
{
    const double own = hp_part_of((double)sentence->functions->own_ns, sentence->cpu_ns);
    if (own < OWN_PART || (double)sentence->functions->counts.samples < HP_VERDICT_LEAST_SAMPLES)
        return;
    hp_text_string(sentence->line, ". ");
    put_share(sentence, own);
    hp_text_string(sentence->line, " of the CPU time is hotpath itself");
}

/* False: no memory. */
static bool begin(struct sentence *sentence, struct hp_text *line, const struct hotpath_results *results)
{
    static const struct hp_function_profile none;
    const struct hp_function_profile *functions = results->model->functions;
    *sentence = (struct sentence){.line = line,
                                  .results = results,
                                  .model = results->model,
                                  .functions = functions != NULL ? functions : &none,
                                  .has_stacks = functions != NULL,
                                  .has_memory = true};
    if (!hp_run_state_make(&sentence->state, results->model) ||
        !hp_program_links_make(&sentence->links, &sentence->state, results->model))
        return false;
    sentence->cpu_ns = (double)(functions != NULL ? functions->cpu_ns : sentence->state.used_ns);
    sentence->elapsed_ns = (double)sentence->state.elapsed_ns;
    if (sentence->state.program_count > 0) {
        sentence->program = sentence->state.programs[0];
        sentence->program_part = hp_part_of((double)sentence->program->cpu_ns, (double)sentence->state.used_ns);
    }
    return true;
}

bool hp_program_starts_put(struct hp_text *line, const struct hotpath_results *results)
{
    struct sentence sentence;
    return begin(&sentence, line, results) && (put_starts(&sentence) || put_unsampled(&sentence));
}

bool hp_program_sentence_put(struct hp_text *line, const struct hotpath_results *results,
                             const struct hp_found_function **ret_function)
{
    static bool (*const rules[])(struct sentence *) = {put_lock,    put_starts, put_unsampled, put_device,
                                                       put_channel, put_short,  put_idle,      put_cpu};
    struct sentence sentence;
    *ret_function = NULL;
    if (!begin(&sentence, line, results))
        return false;
    for (size_t at = 0; at < sizeof rules / sizeof *rules && !rules[at](&sentence); at++)
        ;
    put_next_step(&sentence);
    put_own(&sentence);
    *ret_function = sentence.hot.function;
    return sentence.has_memory;
}
