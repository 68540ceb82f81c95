/* Stacks, as they come. SPDX-License-Identifier: MIT */
#include "collector.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "perf_source.h"
#include "quiet_thread.h"
#include "unwind.h"

#define MOST_FRAMES 512u
#define PAUSE_NS 20000000L

/* What a process has mapped. */
struct process {
    struct process *next;
    uint32_t pid;
    uint32_t threads;
    struct hp_space space;
};

#define PROCESS_SLOTS 1024u

static struct {
    struct hp_stacks stacks;
    struct hp_unwinder unwinder;
    struct process *processes[PROCESS_SLOTS];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t news;
    bool is_begun, is_over;
} collector = {.lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER};

/* ------------------------------------------------------------------------------------------- processes */

static struct process **place_of(uint32_t pid)
{
    struct process **place = &collector.processes[pid % PROCESS_SLOTS];
    while (*place != NULL && (*place)->pid != pid)
        place = &(*place)->next;
    return place;
}

static struct process *find_process(uint32_t pid)
{
    struct process **place = place_of(pid);
    if (*place == NULL && (*place = calloc(1, sizeof **place)) != NULL)
        (*place)->pid = pid;
    return *place;
}

static void forget_process(struct process **place)
{
    struct process *process = *place;
    *place = process->next;
    hp_space_free(&process->space);
    free(process);
}

/* The child has what its parent had, until it becomes another program. */
static void begin_task(const struct hp_seen *seen)
{
    struct process *process = find_process(seen->pid);
    if (process == NULL)
        return;
    process->threads++;
    if (seen->pid == seen->parent_pid)
        return;
    const struct process *parent = *place_of(seen->parent_pid);
    hp_space_free(&process->space);
    if (parent != NULL)
        hp_space_copy(&process->space, &parent->space);
}

static void end_task(const struct hp_seen *seen)
{
    struct process **place = place_of(seen->pid);
    if (*place == NULL)
        return;
    if ((*place)->threads > 1)
        (*place)->threads--;
    else
        forget_process(place);
}

static void execute(const struct hp_seen *seen)
{
    struct process *process = find_process(seen->pid);
    if (process != NULL)
        hp_space_free(&process->space);
}

static void map_code(const struct hp_seen *seen)
{
    struct process *process = find_process(seen->pid);
    const struct hp_image_place place = {.path = seen->path,
                                         .pid = (pid_t)seen->pid,
                                         .start = seen->start,
                                         .end = seen->end,
                                         .inode = seen->inode,
                                         .build_id = seen->build_id};
    if (process != NULL)
        hp_space_add(&process->space, &collector.stacks.images, &place, seen->offset);
}

/* ---------------------------------------------------------------------------------------------- samples */

static uint32_t below(uint32_t parent, const struct hp_space *space, const struct hp_frame *frame)
{
    const uint64_t pc = frame->is_exact ? frame->pc : frame->pc - 1;
    const struct hp_mapping *mapping = hp_space_find(space, pc);
    const bool is_known = mapping != NULL && mapping->image != NULL && mapping->has_bias;
    return hp_stack_tree_below(&collector.stacks.tree, parent,
                               is_known ? mapping->image->number : HP_STACK_NO_IMAGE,
                               is_known ? pc + mapping->bias : pc);
}

/* From the outermost frame to the innermost. */
static uint32_t stack_of(const struct hp_seen *seen, struct hp_space *space)
{
    struct hp_frame frames[MOST_FRAMES];
    enum hp_unwind_end end = HP_UNWIND_BROKEN;
    const struct hp_machine *machine = hp_machine_here();
    const struct hp_stack_bytes piece = {seen->registers.value[machine->sp], seen->stack, seen->stack_bytes};
    const struct hp_stack_memory memory = {.pieces = &piece, .count = 1};
    const size_t count =
        hp_unwind(&collector.unwinder, space, machine, &seen->registers, &memory, frames, MOST_FRAMES, &end);
    uint32_t node = HP_STACK_ROOT;
    if (end == HP_UNWIND_START)
        collector.stacks.whole++;
    else
        node = hp_stack_tree_below(&collector.stacks.tree, node, HP_STACK_INCOMPLETE, 0);
    for (size_t at = count; at > 0; at--)
        node = below(node, space, &frames[at - 1]);
    return seen->is_kernel ? hp_stack_tree_below(&collector.stacks.tree, node, HP_STACK_KERNEL, 0) : node;
}

static void add_sample(const struct hp_seen *seen)
{
    struct process *process = find_process(seen->pid);
    struct hp_stacks *stacks = &collector.stacks;
    if (process == NULL) {
        stacks->lost++;
        return;
    }
    const uint32_t node = stack_of(seen, &process->space);
    stacks->samples++;
    if (node >= stacks->tree.count)
        return;
    uint64_t *weight = stacks->tree.nodes[node].weight;
    weight[HP_STACK_SAMPLES]++;
    weight[seen->is_kernel ? HP_STACK_KERNEL_NS : HP_STACK_USER_NS] += stacks->period_ns;
}

static void take(const struct hp_seen *seen)
{
    switch (seen->kind) {
    case HP_SEEN_FORKED:
        begin_task(seen);
        break;
    case HP_SEEN_EXECUTED:
        execute(seen);
        break;
    case HP_SEEN_MAPPED:
        map_code(seen);
        break;
    case HP_SEEN_SAMPLE:
        add_sample(seen);
        break;
    case HP_SEEN_ENDED:
        end_task(seen);
        break;
    case HP_SEEN_LOST:
        collector.stacks.lost += seen->lost;
        break;
    case HP_SEEN_NAMED:
        break;
    }
}

static void take_all(bool is_last)
{
    struct hp_seen *next;
    for (struct hp_seen *seen = hp_perf_source_take(is_last); seen != NULL; seen = next) {
        next = seen->next;
        take(seen);
        free(seen);
    }
}

/* ---------------------------------------------------------------------------------------------- thread */

/* False: it is over. */
static bool pause_a_while(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PAUSE_NS;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    pthread_mutex_lock(&collector.lock);
    if (!collector.is_over)
        pthread_cond_timedwait(&collector.news, &collector.lock, &until);
    const bool goes_on = !collector.is_over;
    pthread_mutex_unlock(&collector.lock);
    return goes_on;
}

static void *collect(void *unused)
{
    while (pause_a_while())
        take_all(false);
    return unused;
}

bool hp_collector_begin(uint32_t pid, uint64_t period_ns)
{
    if (collector.is_begun || !hp_perf_source_begin(pid, period_ns))
        return false;
    collector.stacks.period_ns = period_ns;
    collector.stacks.has_kernel = hp_perf_source_has_kernel();
    collector.is_over = false;
    collector.is_begun = hp_quiet_thread_start(&collector.thread, collect);
    if (!collector.is_begun)
        hp_perf_source_end();
    return collector.is_begun;
}

const struct hp_stacks *hp_collector_end(void)
{
    if (!collector.is_begun)
        return NULL;
    pthread_mutex_lock(&collector.lock);
    collector.is_over = true;
    pthread_cond_signal(&collector.news);
    pthread_mutex_unlock(&collector.lock);
    pthread_join(collector.thread, NULL);
    collector.is_begun = false;
    hp_perf_source_end();
    take_all(true);
    return &collector.stacks;
}

void hp_collector_free(void)
{
    for (size_t at = 0; at < PROCESS_SLOTS; at++)
        while (collector.processes[at] != NULL)
            forget_process(&collector.processes[at]);
    hp_unwinder_free(&collector.unwinder);
    hp_stack_tree_free(&collector.stacks.tree);
    hp_image_set_free(&collector.stacks.images);
    collector.stacks = (struct hp_stacks){0};
}
