/* Collects stacks as they arrive. SPDX-License-Identifier: MIT */
#include "collector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "event_queue.h"
#include "growing_array.h"
#include "heap_live.h"
#include "machine.h"
#include "perf_ring.h"
#include "quiet_thread.h"
#include "ring_reader.h"
#include "running_threads.h"
#include "sources.h"
#include "space_table.h"
#include "text.h"
#include "unwind.h"

/* ------------------------------------------------------------------------------------------- weights of samples */

bool hp_sample_window_add(struct hp_sample_window *window, const struct hp_waiting_sample *sample)
{
    if (!HP_MAKE_ROOM(window->all, window->count + 1, window->room))
        return false;
    window->all[window->count++] = *sample;
    return true;
}

static void put_to_none(uint64_t ns, uint64_t at_ns, hp_sample_put *put, void *context)
{
    const struct hp_waiting_sample none = {.node = HP_SAMPLE_OF_NONE, .at_ns = at_ns};
    if (ns > 0)
        put(context, &none, ns);
}

static void put_each(struct hp_sample_window *window, uint64_t ns, hp_sample_put *put, void *context)
{
    for (size_t at = 0; at < window->count; at++)
        put(context, &window->all[at], ns);
    window->count = 0;
}

void hp_sample_window_count(struct hp_sample_window *window, const struct hp_sample_count *count,
                            hp_sample_put *put, void *context)
{
    const uint64_t whole = window->carried_ns + count->ns, samples = window->count;
    window->carried_ns = samples == 0 && whole > count->most_ns ? 0 : whole;
    if (samples == 0) {
        put_to_none(whole - window->carried_ns, count->at_ns, put, context);
        return;
    }
    const uint64_t equal = whole / samples, each = equal < count->most_ns ? equal : count->most_ns;
    window->carried_ns = whole - each * samples;
    put_each(window, each, put, context);
    if (equal >= count->most_ns) {
        put_to_none(window->carried_ns, count->at_ns, put, context);
        window->carried_ns = 0;
    }
}

void hp_sample_window_end(struct hp_sample_window *window, const struct hp_sample_count *count, hp_sample_put *put,
                          void *context)
{
    put_each(window, count->most_ns, put, context);
    put_to_none(window->carried_ns, count->at_ns, put, context);
    free(window->all);
    *window = (struct hp_sample_window){.count = 0};
}

/* ------------------------------------------------------------------------------------------------ the collector */

#define MOST_FRAMES 512u
#define PAUSE_MS 20
#define SETTLED_NS UINT64_C(20000000) /* another CPU may still deliver an earlier event */
#define AGAIN_NS UINT64_C(1000000000) /* between two readings of a process's mappings */
#define MOST_TEXTS 4096u
#define RUN_BESIDE_NS UINT64_C(100000000)  /* samples from inside arrive this late at most */
#define PATH_BESIDE_NS UINT64_C(500000000) /* ends of segments arrive this late at most */
#define MOST_PERIODS 4u                    /* at most per sample, if samples are missing */
#define SLOT_OPEN_NS UINT64_C(2000000000)  /* what comes later than that is rare */
#define SLOT_SEED 1u

/* A node of the tree, and a zone. */
struct place {
    uint32_t node; /* 0: nowhere */
    uint32_t zone; /* among those of the stacks; HP_NO_PAIR: unknown */
};

/* A waiting thread. */
struct waiting {
    struct place place;
    uint32_t pid, tid;
    uint64_t found_ns;
};

static struct {
    struct hp_stacks stacks;
    struct hp_unwinder unwinder;
    struct hp_space_table spaces;
    struct waiting *waits; /* by number */
    size_t wait_room;
    struct hp_heap_live *heaps; /* by number */
    size_t heap_count, heap_room;
    struct hp_pair_table heap_places; /* of blocks: a node, and a zone plus 1 */
    struct hp_sample_window windows[HP_PERF_PROCESSORS];
    struct hp_timed_samples timed; /* from inside */
    uint64_t cpu_ns, wall_ns;      /* of all samples of which it is known what ran beside them */
    struct hp_quiet_thread thread;
    uint64_t now_ns;       /* when events are taken */
    uint64_t maps_read_ns; /* when maps of generated code were last read */
    bool has_perf;
    bool keeps_threads, follows_paths;
    hp_collector_viewer *view; /* NULL: none */
    void *viewer;
} collector;

/* ---------------------------------------------------------------------------------------------- samples */

/* The process may have named code that is in no file. */
static void expect_map(struct hp_process_space *process)
{
    if (process->has_generated)
        return;
    process->has_generated = true;
    hp_perf_maps_expect(&collector.stacks.maps, process->pid, process->parent);
    if (process->parent != 0) /* it may have named the code */
        hp_perf_maps_expect(&collector.stacks.maps, process->parent, 0);
}

static uint32_t below(uint32_t parent, struct hp_process_space *process, const struct hp_frame *frame)
{
    const uint64_t pc = frame->is_exact ? frame->pc : frame->pc - 1;
    const struct hp_mapping *mapping = hp_space_find(&process->space, pc);
    const bool is_known = mapping != NULL && mapping->image != NULL && mapping->has_bias;
    if (!is_known)
        expect_map(process);
    return hp_stack_tree_below(&collector.stacks.tree, parent,
                               is_known ? mapping->image->number : HP_STACK_NO_IMAGE,
                               is_known ? pc + mapping->bias : pc);
}

#define MOST_SEPARATE 200000u /* nodes: from then on, processes that are new share theirs */

/* Below which all stacks of a process are; the root, where there are too many of them. */
static uint32_t process_node(struct hp_process_space *process)
{
    if (process->node == HP_STACK_ROOT && collector.stacks.tree.count < MOST_SEPARATE)
        process->node = hp_stack_tree_below(&collector.stacks.tree, HP_STACK_ROOT, HP_STACK_PROCESS,
                                            (uint64_t)process->program << 32 | process->pid);
    return process->node;
}

/* Below which all stacks of a thread are. */
static uint32_t thread_node(struct hp_process_space *process, uint32_t tid)
{
    const uint32_t node = process_node(process);
    return collector.keeps_threads ? hp_stack_tree_below(&collector.stacks.tree, node, HP_STACK_THREAD, tid) : node;
}

/* An unwound stack. */
struct found {
    uint32_t node; /* the innermost one */
    bool is_whole, is_recovered;
};

static size_t unwind(const struct hp_event *event, struct hp_space *space, struct hp_frame *frames,
                     enum hp_unwind_end *ret_end)
{
    const struct hp_machine *machine = hp_machine_here();
    const struct hp_stack_bytes piece = {event->registers.value[machine->sp], event->stack, event->stack_bytes};
    const struct hp_stack_memory memory = {.pieces = &piece, .count = 1};
    *ret_end = HP_UNWIND_BROKEN;
    return hp_unwind(&collector.unwinder, space, machine, &event->registers, &memory, frames, MOST_FRAMES, ret_end);
}

/* Adds the frames from the outermost to the innermost. */
static struct found put_stack(struct hp_process_space *process, uint32_t tid, const struct hp_frame *frames,
                              size_t count, bool is_whole)
{
    struct hp_stack_tree *tree = &collector.stacks.tree;
    struct found found = {thread_node(process, tid), is_whole, false};
    if (!is_whole)
        found.node = hp_stack_tree_below(tree, found.node, HP_STACK_INCOMPLETE, 0);
    for (size_t at = count; at > 0; at--) {
        found.node = below(found.node, process, &frames[at - 1]);
        if (frames[at - 1].how == HP_FRAME_RECOVERED && found.node < tree->count) {
            tree->nodes[found.node].flags |= HP_STACK_RECOVERED;
            found.is_recovered = true;
        }
    }
    return found;
}

static struct found follow(const struct hp_event *event, struct hp_process_space *process)
{
    struct hp_frame frames[MOST_FRAMES];
    enum hp_unwind_end end;
    const size_t count = unwind(event, &process->space, frames, &end);
    return put_stack(process, event->tid, frames, count, end == HP_UNWIND_START);
}

/* ---------------------------------------------------------------------------------------------- by time */

/* Times that processes report may be wrong. */
static uint64_t possible(uint64_t at_ns) { return at_ns < collector.now_ns ? at_ns : collector.now_ns; }

static void add_to_slot(enum hp_slot_kind kind, uint32_t node, uint64_t amount, uint64_t part, uint64_t at_ns)
{
    const struct hp_slot_weight weight = {node, (int64_t)amount, (int64_t)part};
    if (collector.stacks.slots != NULL && node < collector.stacks.tree.count)
        hp_stack_slots_add(collector.stacks.slots, kind, &weight, possible(at_ns));
}

/* To all of a run so far. */
static void add_to_all_slots(enum hp_slot_kind kind, uint32_t node, uint64_t amount, uint64_t part)
{
    struct hp_stack_slots *slots = collector.stacks.slots;
    const struct hp_slot_weight weight = {node, (int64_t)amount, (int64_t)part};
    if (slots != NULL)
        hp_stack_slots_spread(slots, kind, &weight, slots->start_ns, slots->latest_ns);
}

/* ---------------------------------------------------------------------------------------------- CPU time */

static void add_wall(uint32_t node, uint64_t ns)
{
    if (node < collector.stacks.tree.count)
        collector.stacks.tree.nodes[node].weight[HP_STACK_WALL_NS] += ns;
}

/* CPU time of which that is unknown is divided as the rest of the run is. */
static uint64_t wall_of(uint64_t ns, uint32_t running)
{
    if (running == 0)
        return collector.cpu_ns > 0 ? (uint64_t)((double)ns * (double)collector.wall_ns / (double)collector.cpu_ns)
                                    : ns;
    const uint64_t wall = hp_wall_part(ns, running);
    collector.cpu_ns += ns;
    collector.wall_ns += wall;
    return wall;
}

/* Sets only the CPU time. */
static uint32_t put_cpu(const struct hp_waiting_sample *sample, uint64_t ns)
{
    struct hp_stack_tree *tree = &collector.stacks.tree;
    const uint32_t node = sample->node != HP_SAMPLE_OF_NONE
                              ? sample->node
                              : hp_stack_tree_below(tree, HP_STACK_ROOT, HP_STACK_NOT_SAMPLED, 0);
    if (node < tree->count)
        tree->nodes[node].weight[sample->is_kernel ? HP_STACK_KERNEL_NS : HP_STACK_USER_NS] += ns;
    return node;
}

static void put_weight(void *unused, const struct hp_waiting_sample *sample, uint64_t ns)
{
    const uint32_t node = put_cpu(sample, ns);
    const uint64_t wall_ns = wall_of(ns, sample->running);
    (void)unused;
    add_wall(node, wall_ns);
    add_to_slot(HP_SLOT_CPU, node, ns, wall_ns, sample->at_ns);
}

/* If kernel mode is not sampled, its time is still counted. */
static void add_count(const struct hp_event *event)
{
    const uint64_t most =
        collector.stacks.counts.period_ns * (collector.stacks.counts.has_kernel ? MOST_PERIODS : 1);
    const struct hp_sample_count count = {event->counted_ns, most, event->ns};
    if (event->processor < HP_PERF_PROCESSORS)
        hp_sample_window_count(&collector.windows[event->processor], &count, put_weight, NULL);
}

static void end_counts(void)
{
    const struct hp_sample_count none = {.most_ns = collector.stacks.counts.period_ns, .at_ns = collector.now_ns};
    for (size_t at = 0; at < HP_PERF_PROCESSORS; at++)
        hp_sample_window_end(&collector.windows[at], &none, put_weight, NULL);
}

/*
 * Its return address in user space is no longer mapped: exec is replacing the program, and these are the old
 * registers.
 */
static bool is_in_exec(const struct hp_event *event, const struct hp_space *space)
{
    const unsigned pc = hp_machine_here()->pc;
    return event->is_kernel && hp_register_is_known(&event->registers, pc) &&
           hp_space_find(space, event->registers.value[pc]) == NULL;
}

static uint64_t call_of(const struct hp_event *event, const struct hp_space *space)
{
    if (is_in_exec(event, space))
        return SYS_execve + 1;
    const int32_t call = hp_kernel_entry_call(space, hp_machine_here(), &event->registers);
    return call >= 0 ? (uint64_t)call + 1 : call == HP_NO_CALL ? HP_KERNEL_NO_CALL : HP_KERNEL_UNKNOWN;
}

/*
 * Functions begin at multiples of this, so an address can be rounded: there are fewer different ones. A few that
 * are written in assembly do not.
 */
#define FUNCTION_ALIGNMENT 16u

/* The kernel's frames, from the outermost to the innermost, below what the thread called. */
static uint32_t put_kernel(const struct hp_event *event, uint32_t node, const struct hp_space *space)
{
    struct hp_stack_tree *tree = &collector.stacks.tree;
    node = hp_stack_tree_below(tree, node, HP_STACK_KERNEL, call_of(event, space));
    for (size_t at = event->kernel_frames; at-- > 0;) {
        const uint64_t address = event->kernel_chain[at] - (at > 0); /* others are after a call */
        node = hp_stack_tree_below(tree, node, HP_STACK_KERNEL_CODE, address & ~(uint64_t)(FUNCTION_ALIGNMENT - 1));
    }
    return node;
}

static struct place place_of(const struct hp_event *event, uint32_t node)
{
    const bool has_zone = event->session != 0 && event->site != 0;
    return (struct place){node, has_zone ? hp_pair_table_put(&collector.stacks.zones, event->session, event->site)
                                         : HP_NO_PAIR};
}

/* Adds only to the zone. */
static void add_to_zone(const struct place *place, enum hp_stack_weight weight, uint64_t amount)
{
    struct hp_zone_share *share =
        place->zone != HP_NO_PAIR ? hp_zone_shares_at(&collector.stacks.shares, place->node, place->zone) : NULL;
    if (share != NULL)
        share->weight[weight] += amount;
}

/* Adds to a stack and to its zone. */
static void add_to(const struct place *place, enum hp_stack_weight weight, uint64_t amount)
{
    if (amount == 0 || place->node >= collector.stacks.tree.count)
        return;
    collector.stacks.tree.nodes[place->node].weight[weight] += amount;
    add_to_zone(place, weight, amount);
}

/* What ran beside it is known later. */
static void put_timed(void *unused, const struct hp_timed_sample *sample, uint32_t running)
{
    const struct place place = {sample->node, sample->zone};
    const uint64_t wall_ns = wall_of(sample->ns, running);
    (void)unused;
    add_to(&place, HP_STACK_WALL_NS, wall_ns);
    add_to_slot(HP_SLOT_CPU, sample->node, sample->ns, wall_ns, sample->end_ns);
}

static void add_timed(const struct hp_event *event, const struct place *place)
{
    const struct hp_timed_sample sample = {event->ns, event->weight_ns, place->node, place->zone, false};
    put_cpu(&(struct hp_waiting_sample){.node = place->node, .is_kernel = event->is_kernel}, event->weight_ns);
    if (!hp_timed_samples_add(&collector.timed, &sample))
        put_timed(NULL, &sample, 1);
}

static void add_counted(const struct hp_event *event, uint32_t node)
{
    struct hp_waiting_sample sample = {node, event->is_kernel, 0, event->ns};
    if (event->processor < HP_PERF_PROCESSORS)
        sample.running = (uint16_t)hp_switches_running(hp_perf_source_switches(), event->processor, event->ns);
    if (event->processor >= HP_PERF_PROCESSORS ||
        !hp_sample_window_add(&collector.windows[event->processor], &sample))
        put_weight(NULL, &sample, collector.stacks.counts.period_ns);
}

/* Only shares count, so it does not matter that counters will tell more exactly what a sample stands for. */
static void add_to_path(const struct hp_event *event, uint32_t node)
{
    const bool has_weight = event->processor == HP_EVENT_NO_PROCESSOR;
    hp_path_shares_sample(
        &collector.stacks.paths,
        &(struct hp_path_sample){.pid = event->pid,
                                 .tid = event->tid,
                                 .node = node,
                                 .ns = event->ns,
                                 .cpu_ns =
                                     (int64_t)(has_weight ? event->weight_ns : collector.stacks.counts.period_ns)});
}

static void add_sample(const struct hp_event *event)
{
    struct hp_process_space *process = hp_space_table_find(&collector.spaces, event->pid);
    struct hp_stacks *stacks = &collector.stacks;
    if (process == NULL) {
        stacks->counts.lost++;
        return;
    }
    struct found found = is_in_exec(event, &process->space)
                             ? (struct found){thread_node(process, event->tid), true, false}
                             : follow(event, process);
    if (event->is_kernel)
        found.node = put_kernel(event, found.node, &process->space);
    stacks->counts.whole += found.is_whole;
    stacks->counts.samples++;
    if (found.node >= stacks->tree.count)
        return;
    const struct place place = place_of(event, found.node);
    hp_lock_holds_sample(&stacks->holds, event->ns, event->tid, found.node);
    add_to(&place, HP_STACK_SAMPLES, 1);
    add_to_zone(&place, event->is_kernel ? HP_STACK_KERNEL_NS : HP_STACK_USER_NS, event->weight_ns);
    if (collector.follows_paths && place.zone == HP_NO_PAIR)
        add_to_path(event, found.node);
    if (event->processor == HP_EVENT_NO_PROCESSOR)
        add_timed(event, &place);
    else
        add_counted(event, found.node);
}

/* ---------------------------------------------------------------------------------------------- waiting */

/*
 * What is waited for, as a place in the tree: the cause, and the number of its text. If there are too many texts,
 * only the cause.
 */
static uint64_t place_of_text(uint32_t cause, const char *text)
{
    struct hp_text_cache *texts = &collector.stacks.wait_texts;
    const size_t length = texts->count < MOST_TEXTS ? strlen(text) : strcspn(text, ":");
    const uint64_t place = (uint64_t)cause << 32 | (uint32_t)hp_text_hash(text, length);
    char copy[256];
    if (hp_text_cache_find(texts, place, 0) != NULL)
        return place;
    snprintf(copy, sizeof copy, "%.*s", (int)length, text);
    hp_text_cache_put(texts, place, 0, copy);
    return place;
}

/*
 * Without kernel events the mappings are read from /proc: at first, and again from time to time when a stack leads
 * to an unknown address.
 */
static bool ask_for_maps(struct hp_process_space *process, uint64_t now)
{
    const bool is_time = process->read_ns == 0 || now - process->read_ns > AGAIN_NS;
    return (!collector.has_perf || process->space.count == 0) && is_time &&
           hp_process_space_read(&collector.spaces, process, &collector.stacks.images);
}

static struct found follow_waiting(const struct hp_event *event, struct hp_process_space *process)
{
    struct hp_stack_tree *tree = &collector.stacks.tree;
    struct hp_frame frames[MOST_FRAMES];
    enum hp_unwind_end end;
    if (!hp_register_is_known(&event->registers, hp_machine_here()->pc))
        return (struct found){
            .node = hp_stack_tree_below(tree, thread_node(process, event->tid), HP_STACK_INCOMPLETE, 0)};
    if (process->read_ns == 0)
        ask_for_maps(process, hp_clock_monotonic_ns());
    size_t count = unwind(event, &process->space, frames, &end);
    if (end != HP_UNWIND_START && ask_for_maps(process, hp_clock_monotonic_ns()))
        count = unwind(event, &process->space, frames, &end);
    return put_stack(process, event->tid, frames, count, end == HP_UNWIND_START);
}

static bool has_place_for(uint32_t wait)
{
    return HP_MAKE_ZEROED_ROOM(collector.waits, (size_t)wait + 1, collector.wait_room);
}

static void begin_wait(const struct hp_event *event)
{
    struct hp_stacks *stacks = &collector.stacks;
    struct hp_process_space *process = hp_space_table_find(&collector.spaces, event->pid);
    if (process == NULL || !has_place_for(event->wait))
        return;
    const struct found found = follow_waiting(event, process);
    const uint32_t node =
        hp_stack_tree_below(&stacks->tree, found.node, HP_STACK_WAITING, place_of_text(event->cause, event->path));
    const struct place place = place_of(event, node);
    collector.waits[event->wait] = (struct waiting){place, event->pid, event->tid, event->ns};
    stacks->counts.waits++;
    stacks->counts.waits_whole += found.is_whole;
    stacks->counts.waits_recovered += found.is_recovered;
    add_to(&place, HP_STACK_WAITS, 1);
}

/* The stack was lost, but its time is known: counts it at an unknown place. */
static struct place unknown_wait(void)
{
    struct hp_stack_tree *tree = &collector.stacks.tree;
    const uint32_t node = hp_stack_tree_below(tree, HP_STACK_ROOT, HP_STACK_INCOMPLETE, 0);
    return (struct place){hp_stack_tree_below(tree, node, HP_STACK_WAITING, place_of_text(0, "other")), HP_NO_PAIR};
}

/* It counts when the thread was seen waiting there: before that, it may have waited for other things. */
static void add_wait_to_path(const struct hp_event *event)
{
    const struct waiting *wait = &collector.waits[event->wait];
    hp_path_shares_sample(
        &collector.stacks.paths,
        &(struct hp_path_sample){.pid = wait->pid,
                                 .tid = wait->tid,
                                 .node = wait->place.node,
                                 .ns = event->from_ns > wait->found_ns ? event->from_ns : wait->found_ns,
                                 .waited_ns = event->waited_ns});
}

/* What is taken back was added before, to the same place. */
static void add_waited(const struct hp_event *event)
{
    struct place place = {0, HP_NO_PAIR};
    if (event->wait < collector.wait_room)
        place = collector.waits[event->wait].place;
    if (place.node == 0)
        place = unknown_wait();
    else if (collector.follows_paths && place.zone == HP_NO_PAIR)
        add_wait_to_path(event);
    const struct hp_slot_weight weight = {place.node, event->waited_ns, event->idle_ns};
    add_to(&place, HP_STACK_WAITED_NS, (uint64_t)event->waited_ns);
    add_to(&place, HP_STACK_IDLE_NS, (uint64_t)event->idle_ns);
    if (collector.stacks.slots != NULL)
        hp_stack_slots_spread(collector.stacks.slots, HP_SLOT_WAITING, &weight, possible(event->from_ns),
                              possible(event->to_ns));
}

static void end_wait(const struct hp_event *event)
{
    if (event->wait < collector.wait_room)
        collector.waits[event->wait].place.node = 0;
}

/* The node of a wait that goes on; 0: unknown. */
static uint32_t waiting_at(uint32_t wait)
{
    return wait < collector.wait_room ? collector.waits[wait].place.node : 0;
}

static void add_hold(const struct hp_event *event)
{
    struct hp_lock_holds *holds = &collector.stacks.holds;
    const uint32_t waiter = waiting_at(event->wait), holder = waiting_at(event->holder_wait);
    if (waiter == 0)
        return;
    if (event->holder_wait == 0)
        hp_lock_holds_run(holds,
                          &(struct hp_running_hold){event->held_ns != 0 ? event->held_ns : event->ns, event->ns,
                                                    (uint64_t)event->waited_ns, waiter, event->tid});
    else if (holder != 0)
        hp_lock_holds_add(holds, waiter, holder, (uint64_t)event->waited_ns, 1);
}

/* --------------------------------------------------------------------------------------------------- heaps */

/* The heap of a number, created on first use. NULL: no memory. */
static struct hp_heap_live *heap_of(uint32_t number)
{
    while (collector.heap_count <= number) {
        if (!HP_MAKE_ROOM(collector.heaps, collector.heap_count + 1, collector.heap_room))
            return NULL;
        memset(&collector.heaps[collector.heap_count++], 0, sizeof *collector.heaps);
    }
    return &collector.heaps[number];
}

/* Removes the frames of malloc and of our own code: those below the frame that called malloc. */
static size_t own_frames(const struct hp_frame *frames, size_t count, uint64_t place)
{
    size_t own = 0;
    while (own < count && frames[own].sp < place)
        own++;
    return own < count ? own : 0;
}

static struct found follow_allocation(const struct hp_event *event, struct hp_process_space *process)
{
    struct hp_frame frames[MOST_FRAMES];
    enum hp_unwind_end end;
    if (process->read_ns == 0)
        ask_for_maps(process, hp_clock_monotonic_ns());
    size_t count = unwind(event, &process->space, frames, &end);
    if (end != HP_UNWIND_START && ask_for_maps(process, hp_clock_monotonic_ns()))
        count = unwind(event, &process->space, frames, &end);
    const size_t own = own_frames(frames, count, event->place);
    return put_stack(process, event->tid, frames + own, count - own, end == HP_UNWIND_START);
}

static void add_allocation(const struct hp_event *event)
{
    struct hp_stacks *stacks = &collector.stacks;
    struct hp_process_space *process = hp_space_table_find(&collector.spaces, event->pid);
    struct hp_heap_live *heap = heap_of(event->heap);
    if (process == NULL || heap == NULL) {
        stacks->counts.allocs_lost++;
        return;
    }
    const struct found found = follow_allocation(event, process);
    const struct hp_heap_worth worth = hp_heap_worth(heap, event->bytes_asked, event->mean);
    stacks->counts.allocs++;
    stacks->counts.allocs_whole += found.is_whole;
    stacks->counts.alloc_mean = event->heap_mean;
    if (found.node >= stacks->tree.count)
        return;
    const struct place place = place_of(event, found.node);
    add_to(&place, HP_STACK_ALLOC_BYTES, worth.bytes);
    add_to(&place, HP_STACK_ALLOC_BLOCKS, worth.blocks);
    add_to(&place, HP_STACK_ALLOC_SAMPLES, 1);
    add_to_slot(HP_SLOT_HEAP, place.node, worth.bytes, 0, event->ns);
    hp_heap_live_look(heap, event->live_bytes);
    const uint32_t number = hp_pair_table_put(&collector.heap_places, place.node, place.zone + 1);
    if (number != HP_NO_PAIR)
        hp_heap_live_add(heap, event->block, number, event->bytes_asked, &worth);
}

static void end_allocation(const struct hp_event *event)
{
    struct hp_heap_live *heap = heap_of(event->heap);
    if (heap != NULL)
        hp_heap_live_remove(heap, event->block, event->live_bytes);
}

static void forget_live(uint64_t *weight)
{
    weight[HP_STACK_PEAK_BYTES] = weight[HP_STACK_PEAK_BLOCKS] = 0;
    weight[HP_STACK_LEFT_BYTES] = weight[HP_STACK_LEFT_BLOCKS] = 0;
}

static void add_live(const struct hp_heap_live *heap)
{
    for (size_t stack = 0; stack < heap->stack_count; stack++) {
        const struct hp_pair *pair = &collector.heap_places.all[heap->stacks[stack].stack];
        const struct place place = {pair->first, pair->second - 1};
        add_to(&place, HP_STACK_PEAK_BYTES, heap->stacks[stack].peak.bytes);
        add_to(&place, HP_STACK_PEAK_BLOCKS, heap->stacks[stack].peak.blocks);
        add_to(&place, HP_STACK_LEFT_BYTES, heap->stacks[stack].live.bytes);
        add_to(&place, HP_STACK_LEFT_BLOCKS, heap->stacks[stack].live.blocks);
    }
}

/* What is live, and was at the peak. Each process by itself: their peaks were at different times. */
static void set_heaps(void)
{
    struct hp_stacks *stacks = &collector.stacks;
    for (size_t at = 0; collector.heap_count > 0 && at < stacks->tree.count; at++)
        forget_live(stacks->tree.nodes[at].weight);
    for (size_t at = 0; collector.heap_count > 0 && at < stacks->shares.count; at++)
        forget_live(stacks->shares.all[at].weight);
    for (size_t at = 0; at < collector.heap_count; at++)
        add_live(&collector.heaps[at]);
}

static void end_heaps(void)
{
    set_heaps();
    for (size_t at = 0; at < collector.heap_count; at++)
        hp_heap_live_free(&collector.heaps[at]);
    free(collector.heaps);
    collector.heaps = NULL;
    collector.heap_count = collector.heap_room = 0;
    hp_pair_table_free(&collector.heap_places);
}

/* Where the kernel sends events, it has done so already. */
static void meet(const struct hp_event *event)
{
    struct hp_process_space *process = hp_space_table_find(&collector.spaces, event->pid);
    if (process != NULL && !collector.has_perf)
        process->read_ns = 0;
}

/* What a process wrote at its end is read before it is forgotten. */
static void end_map(const struct hp_event *event)
{
    if (event->kind != HP_EVENT_ENDED && event->kind != HP_EVENT_EXECUTED)
        return;
    struct hp_process_space *process = hp_space_table_find(&collector.spaces, event->pid);
    if (process == NULL || !process->has_generated || (event->kind == HP_EVENT_ENDED && process->threads > 1))
        return;
    hp_perf_maps_end(&collector.stacks.maps, event->pid);
    process->has_generated = false;
}

static void read_maps(uint64_t now)
{
    if (now - collector.maps_read_ns < AGAIN_NS)
        return;
    collector.maps_read_ns = now;
    hp_perf_maps_read(&collector.stacks.maps);
}

static void take(const struct hp_event *event)
{
    switch (event->kind) {
    case HP_EVENT_SAMPLE:
        add_sample(event);
        break;
    case HP_EVENT_COUNTED:
        add_count(event);
        break;
    case HP_EVENT_LOST:
        collector.stacks.counts.lost += event->lost;
        break;
    case HP_EVENT_WAITING:
        begin_wait(event);
        break;
    case HP_EVENT_WAITED:
        add_waited(event);
        break;
    case HP_EVENT_WAIT_ENDED:
        end_wait(event);
        break;
    case HP_EVENT_HELD:
        add_hold(event);
        break;
    case HP_EVENT_ALLOCATED:
        add_allocation(event);
        break;
    case HP_EVENT_FREED:
        end_allocation(event);
        break;
    case HP_EVENT_SEGMENT:
        hp_path_shares_end(&collector.stacks.paths, event->pid, event->tid, event->key, event->to_ns);
        break;
    case HP_EVENT_MET:
        meet(event);
        break;
    default:
        end_map(event);
        hp_space_table_take(&collector.spaces, &collector.stacks.images, event);
        break;
    }
}

static void take_all(bool is_last)
{
    const uint64_t now = hp_clock_monotonic_ns(), settled = collector.has_perf ? SETTLED_NS : 0;
    struct hp_event *next;
    collector.now_ns = now;
    collector.stacks.counts.allocs_lost += hp_heap_source_read(is_last);
    struct hp_event *event = hp_event_take(is_last ? UINT64_MAX : now - settled);
    for (; event != NULL; event = next) {
        next = event->next;
        take(event);
        free(event);
    }
    read_maps(now);
    hp_lock_holds_settle(&collector.stacks.holds, is_last ? UINT64_MAX : now - RUN_BESIDE_NS);
    hp_path_shares_settle(&collector.stacks.paths, is_last ? UINT64_MAX : now - PATH_BESIDE_NS);
    hp_timed_samples_take(&collector.timed, is_last ? UINT64_MAX : now - RUN_BESIDE_NS, put_timed, NULL);
    hp_switches_forget(hp_perf_source_switches(), is_last ? UINT64_MAX >> 1 : now - settled);
    if (collector.stacks.slots != NULL)
        hp_stack_slots_settle(collector.stacks.slots, now - SLOT_OPEN_NS);
}

/* ---------------------------------------------------------------------------------------------- thread */

static void *collect(void *unused)
{
    for (;;) {
        hp_quiet_thread_pause(&collector.thread, PAUSE_MS);
        if (hp_quiet_thread_is_over(&collector.thread))
            return unused;
        take_all(false);
        if (collector.view != NULL)
            collector.view(collector.viewer);
    }
}

static const struct hp_stacks *settled(void)
{
    struct hp_stacks *stacks = &collector.stacks;
    if (stacks->slots != NULL)
        hp_stack_slots_settle(stacks->slots, UINT64_MAX);
    stacks->programs = collector.spaces.programs;
    stacks->program_count = collector.spaces.program_count;
    return stacks;
}

const struct hp_stacks *hp_collector_look(void)
{
    set_heaps();
    return settled();
}

void hp_collector_show_to(hp_collector_viewer *view, void *context)
{
    collector.view = view;
    collector.viewer = context;
}

static void end_source(void)
{
    if (collector.stacks.counts.source == HP_STACKS_BY_PERF)
        hp_perf_source_end();
    else if (hp_stacks_are_from_inside(collector.stacks.counts.source))
        hp_ring_source_end();
}

/* Without memory there are none. */
static void begin_slots(void)
{
    struct hp_stack_slots *slots = malloc(sizeof *slots);
    if (slots != NULL && hp_stack_slots_begin(slots, hp_clock_monotonic_ns(), SLOT_SEED))
        collector.stacks.slots = slots;
    else
        free(slots);
}

static void free_slots(void)
{
    if (collector.stacks.slots != NULL)
        hp_stack_slots_free(collector.stacks.slots);
    free(collector.stacks.slots);
    collector.stacks.slots = NULL;
}

static bool begin(uint64_t period_ns, enum hp_stack_source from)
{
    begin_slots();
    collector.has_perf = from == HP_STACKS_BY_PERF;
    collector.stacks.counts.source = from;
    collector.stacks.counts.period_ns = period_ns;
    collector.timed.processors = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    collector.stacks.counts.has_kernel =
        hp_stacks_are_from_inside(from) || (collector.has_perf && hp_perf_source_has_kernel());
    if (!collector.has_perf)
        hp_heap_source_need_maps();
    if (hp_quiet_thread_start(&collector.thread, collect))
        return true;
    end_source();
    return false;
}

static enum hp_stack_source begin_source(uint32_t pid, uint64_t period_ns, const char *folder, bool from_inside)
{
    if (period_ns > 0 && from_inside && folder != NULL && hp_ring_source_begin(folder))
        return HP_STACKS_BY_PROGRAM;
    if (period_ns > 0 && hp_perf_source_begin(pid, period_ns))
        return HP_STACKS_BY_PERF;
    return period_ns > 0 && folder != NULL && hp_ring_source_begin(folder) ? HP_STACKS_BY_TIMERS
                                                                           : HP_STACKS_BY_NOBODY;
}

bool hp_collector_begin(uint32_t pid, uint64_t period_ns, const char *folder, bool from_inside)
{
    return !collector.thread.is_begun && hp_machine_here() != NULL &&
           begin(period_ns, begin_source(pid, period_ns, folder, from_inside));
}

enum hp_stack_source hp_collector_source(void) { return collector.stacks.counts.source; }

void hp_collector_keep_threads(void) { collector.keeps_threads = true; }

void hp_collector_follow_paths(void) { collector.follows_paths = true; }

/* The kernel does not report existing mappings; and of existing threads, only their end. */
static void meet_running(uint32_t pid)
{
    struct hp_process_space *process = hp_space_table_find(&collector.spaces, pid);
    if (process == NULL || process->read_ns != 0)
        return;
    process->threads = UINT32_MAX / 2;
    hp_process_space_read(&collector.spaces, process, &collector.stacks.images);
}

static enum hp_stack_source attach_source(const struct hp_attached *tasks, size_t count, uint64_t period_ns,
                                          const char *folder)
{
    if (hp_perf_source_attach(tasks, count, period_ns))
        return HP_STACKS_BY_PERF;
    return folder != NULL && hp_ring_source_visit(folder) ? HP_STACKS_BY_TIMERS : HP_STACKS_BY_NOBODY;
}

bool hp_collector_attach(const struct hp_attached *tasks, size_t count, uint64_t period_ns, const char *folder)
{
    if (collector.thread.is_begun || hp_machine_here() == NULL)
        return false;
    const enum hp_stack_source from = attach_source(tasks, count, period_ns, folder);
    for (size_t at = 0; at < count; at++)
        meet_running(tasks[at].pid);
    return begin(period_ns, from) && from == HP_STACKS_BY_PERF;
}

void hp_collector_want_heap(const char *folder) { hp_heap_source_begin(folder); }

bool hp_collector_is_begun(void) { return collector.thread.is_begun; }

/* It is not known when it was. */
static void put_unsampled(uint64_t ns)
{
    const uint32_t node = put_cpu(&(struct hp_waiting_sample){.node = HP_SAMPLE_OF_NONE}, ns);
    const uint64_t wall_ns = wall_of(ns, 0);
    add_wall(node, wall_ns);
    add_to_all_slots(HP_SLOT_CPU, node, ns, wall_ns);
}

const struct hp_stacks *hp_collector_end(void)
{
    if (!collector.thread.is_begun)
        return NULL;
    hp_quiet_thread_stop(&collector.thread);
    end_source();
    take_all(true);
    end_counts();
    if (hp_stacks_are_from_inside(collector.stacks.counts.source)) {
        put_unsampled(hp_ring_source_unsampled_ns());
        collector.stacks.counts.refused = hp_ring_source_refused();
    }
    end_heaps();
    hp_lock_holds_end(&collector.stacks.holds);
    hp_path_shares_finish(&collector.stacks.paths);
    hp_perf_maps_read(&collector.stacks.maps);
    collector.stacks.counts.failed = hp_failed_rings();
    return settled();
}

void hp_collector_free(void)
{
    hp_space_table_free(&collector.spaces);
    hp_switches_free(hp_perf_source_switches());
    hp_timed_samples_free(&collector.timed);
    collector.cpu_ns = collector.wall_ns = 0;
    collector.keeps_threads = collector.follows_paths = false;
    hp_collector_show_to(NULL, NULL);
    free(collector.waits);
    collector.waits = NULL;
    collector.wait_room = 0;
    hp_text_cache_free(&collector.stacks.wait_texts);
    hp_unwinder_free(&collector.unwinder);
    hp_stack_tree_free(&collector.stacks.tree);
    hp_image_set_free(&collector.stacks.images);
    hp_perf_maps_free(&collector.stacks.maps);
    hp_pair_table_free(&collector.stacks.zones);
    hp_zone_shares_free(&collector.stacks.shares);
    hp_lock_holds_free(&collector.stacks.holds);
    hp_path_shares_free(&collector.stacks.paths);
    free_slots();
    hp_session_numbers_free();
    hp_failed_rings_free();
    collector.stacks = (struct hp_stacks){0};
}
