/*
 * The critical path, followed online, is that of a backwards walk over a log of everything that happened: random
 * programs on a clock that the test makes up, with threads that call functions, create and join one another, wait
 * for objects with known wakers and for unknown ones. SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hook_entries.h"
#include "paths.h"
#include "raw_call.h"
#include "thread_context.h"

#define THREADS 6u
#define SITES 5u
#define DEPTH 3u
#define OBJECTS 7u
#define EVENTS 4000u
#define CALLERS 4u /* 0: creates a thread */
#define BYTES (16u << 20)
#define NODES (1u + SITES * DEPTH)
#define OUTSIDE SITES /* in tables by site */

enum what { ENTER, LEAVE, ARRIVE, ARRIVE_UNKNOWN, LEFT, CREATED };

/* What happened on a thread. */
struct event {
    uint64_t at;
    enum what what;
    uint32_t site;        /* ENTER, LEAVE: the innermost one from then on; LEFT, ARRIVE: at that time */
    uint32_t object;      /* LEFT, ARRIVE */
    uint32_t waker;       /* ARRIVE: a thread, ... */
    uint32_t caller;      /* all but ENTER and LEAVE: ends a segment, if that is outside of all functions */
    uint64_t left, since; /* ... when it left its path, and when this one began to wait */
};

struct thread {
    struct hp_thread_context context;
    bool lives, waits, has_ended;
    uint32_t object;       /* it waits for */
    uint64_t since, wakes; /* wakes: when; 0: not known yet */
    uint64_t born;
    uint32_t depth;
    struct event *events;
    size_t count;
};

static char *base;
static uint32_t used;
static struct thread threads[THREADS];
static uint32_t thread_count;
static uint64_t now, seed;

static uint32_t random_below(uint32_t bound)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % bound;
}

static uint32_t take(size_t bytes)
{
    const uint32_t offset = used;
    used = (uint32_t)((used + bytes + 127) & ~(size_t)127);
    assert_true(used <= BYTES);
    return offset;
}

static void *at(uint32_t offset) { return base + offset; }
static struct hp_header *header(void) { return at(0); }

/* ------------------------------------------------------------------------------------------------- the program */

static uint32_t innermost(const struct thread *thread)
{
    const uint32_t site = hp_node_at(&thread->context, thread->context.hot.top->node)->site;
    return site == HP_SITE_ROOT ? OUTSIDE : site;
}

static struct event *note(struct thread *thread, enum what what)
{
    assert_true(thread->count < EVENTS * 4);
    struct event *event = &thread->events[thread->count++];
    *event = (struct event){.at = now, .what = what, .site = innermost(thread)};
    if (what != CREATED)
        event->caller = 1 + random_below(CALLERS - 1);
    return event;
}

static void make_record(struct thread *thread, uint32_t number)
{
    struct hp_thread_context *context = &thread->context;
    memset(context, 0, sizeof *context);
    context->hot.base = base;
    context->record_offset = take(sizeof(struct hp_thread));
    context->record = at(context->record_offset);
    context->thread_id = number == 0 ? hp_sys_process_id() : number + 1;
    context->generation = context->record->generation = 1;
    context->record->frames = take((DEPTH + 2) * sizeof(struct hotpath_frame_));
    const uint32_t chunk = take(sizeof(struct hp_node_chunk) + NODES * sizeof(struct hotpath_node_));
    struct hp_node_chunk *nodes = at(chunk);
    nodes->capacity = nodes->used = context->record->node_count = NODES;
    context->record->node_chunks = chunk;
    for (uint32_t index = 0; index < NODES; index++)
        nodes->nodes[index].site = index == 0 ? HP_SITE_ROOT : (index - 1) % SITES;
    struct hotpath_frame_ *frame = at(context->record->frames);
    frame->zone = UINT64_MAX;
    frame->start = now;
    frame->node = chunk + (uint32_t)offsetof(struct hp_node_chunk, nodes);
    context->hot.top = frame;
    context->space = take(2u << 20);
    context->space_end = context->space + (2u << 20);
    snprintf(context->record->name, sizeof context->record->name, "thread %u", (unsigned)number);
}

static void begin_threads(void)
{
    const uint32_t paths = take(sizeof(struct hp_paths));
    ((struct hp_paths *)at(paths))->used = HP_PATH_WAKE_UP + 1;
    header()->paths = paths;
    header()->clock_start.ticks = now;
    make_record(&threads[0], 0);
    threads[0].lives = true;
    threads[0].born = now;
    hp_path_begin_thread(&threads[0].context, now);
    thread_count = 1;
}

static void enter(struct thread *thread)
{
    struct hotpath_frame_ *frame = ++thread->context.hot.top;
    const uint32_t index = 1 + SITES * thread->depth++ + random_below(SITES);
    *frame = (struct hotpath_frame_){.zone = 1, .start = now};
    frame->node = thread->context.record->node_chunks + (uint32_t)offsetof(struct hp_node_chunk, nodes) +
                  index * (uint32_t)sizeof(struct hotpath_node_);
    note(thread, ENTER);
}

static void leave(struct thread *thread)
{
    struct hotpath_frame_ *frame = thread->context.hot.top--;
    struct hotpath_node_ *node = hp_node_at(&thread->context, frame->node);
    node->calls++;
    node->self += now - frame->start - frame->child;
    frame[-1].child += now - frame->start;
    frame->zone = 0;
    thread->depth--;
    note(thread, LEAVE);
}

/* Objects from OBJECTS on are the ends of threads. */
static uint64_t object_of(uint32_t object)
{
    return hp_path_object((const void *)(uintptr_t)(4096 + 64 * object), HP_PATH_OBJECT);
}

static void leave_by(struct hp_thread_context *context, uint64_t object, uint32_t caller)
{
    const struct hp_path_release release = {
        .object = object, .now = now, .kind = HP_PATH_FOR_LOCK, .caller = caller};
    hp_path_leave_at(context, &release);
}

static void release(struct thread *thread, uint32_t object)
{
    struct event *event = note(thread, LEFT);
    event->object = object;
    leave_by(&thread->context, object_of(object), event->caller);
    for (uint32_t other = 0; other < thread_count; other++)
        if (threads[other].lives && threads[other].waits && threads[other].object == object &&
            threads[other].wakes == 0 && &threads[other] != thread && random_below(3) != 0)
            threads[other].wakes = now + 1 + random_below(5);
}

static void end(struct thread *thread, uint32_t number)
{
    while (thread->depth != 0)
        leave(thread);
    thread->lives = false;
    thread->has_ended = true;
    struct event *event = note(thread, LEFT);
    event->object = OBJECTS + number;
    leave_by(&thread->context, object_of(OBJECTS + number), event->caller);
    for (uint32_t other = 0; other < thread_count; other++)
        if (threads[other].waits && threads[other].object == OBJECTS + number)
            threads[other].wakes = now + 1 + random_below(5);
}

static void create(struct thread *thread)
{
    struct thread *made = &threads[thread_count];
    const uint32_t created = hp_path_create(&thread->context, now);
    assert_true(created != 0);
    note(thread, CREATED);
    struct event *event = note(made, ARRIVE);
    event->waker = (uint32_t)(thread - threads);
    event->left = event->since = now;
    now += 1 + random_below(4);
    event->at = now;
    event->site = OUTSIDE;
    hp_path_begin_thread(&made->context, now);
    hp_path_begin_created(&made->context, created, now);
    made->context.hot.top->start = now;
    made->lives = true;
    made->born = now;
    thread_count++;
}

static void wait_for(struct thread *thread, uint32_t object)
{
    thread->waits = true;
    thread->object = object;
    thread->since = now;
    thread->wakes = object == UINT32_MAX ? now + 1 + random_below(50) : 0;
}

/* The newest that the log has for the object during the wait. NULL: none. */
static const struct event *newest(const struct thread *thread, uint32_t *ret_waker)
{
    const struct event *found = NULL;
    for (uint32_t other = 0; other < thread_count; other++)
        for (size_t i = 0; i < threads[other].count; i++) {
            const struct event *event = &threads[other].events[i];
            if (event->what != LEFT || event->object != thread->object || event->at < thread->since ||
                &threads[other] == thread || (found != NULL && event->at <= found->at))
                continue;
            found = event;
            *ret_waker = other;
        }
    return found;
}

static void wake(struct thread *thread)
{
    uint32_t waker = 0;
    const struct event *left = thread->object != UINT32_MAX ? newest(thread, &waker) : NULL;
    const bool is_end = thread->object >= OBJECTS && thread->object != UINT32_MAX;
    struct event *event = note(thread, left != NULL ? ARRIVE : ARRIVE_UNKNOWN);
    event->since = thread->since;
    if (left != NULL) {
        event->waker = waker;
        event->left = left->at;
        event->object = thread->object;
    }
    thread->waits = false;
    hp_path_take(&thread->context, &(struct hp_path_end){.object = object_of(thread->object),
                                                         .since = thread->since,
                                                         .now = now,
                                                         .kind = is_end ? HP_PATH_FOR_THREAD : HP_PATH_FOR_LOCK,
                                                         .caller = event->caller,
                                                         .name = is_end ? "" : "some lock"});
}

static void act(struct thread *thread)
{
    const uint32_t number = (uint32_t)(thread - threads), other = random_below(THREADS);
    switch (random_below(12)) {
    case 0:
    case 1:
    case 2:
        if (thread->depth < DEPTH)
            enter(thread);
        break;
    case 3:
    case 4:
        if (thread->depth > 0)
            leave(thread);
        break;
    case 5:
    case 6:
    case 7:
        release(thread, random_below(OBJECTS));
        break;
    case 8:
        wait_for(thread, random_below(OBJECTS));
        break;
    case 9:
        if (random_below(4) == 0)
            wait_for(thread, UINT32_MAX);
        break;
    case 10:
        if (thread_count < THREADS)
            create(thread);
        break;
    default:
        if (number != 0 && random_below(20) == 0)
            end(thread, number);
        else if (number == 0 && other != 0 && other < thread_count && !threads[other].has_ended)
            wait_for(thread, OBJECTS + other);
        break;
    }
}

static void step(void)
{
    bool can_act = false;
    now += random_below(8) + 1; /* no two events at a time */
    for (uint32_t number = 0; number < thread_count; number++) {
        struct thread *thread = &threads[number];
        if (thread->lives && thread->waits && thread->wakes != 0 && thread->wakes <= now) {
            wake(thread);
            now++;
        }
        can_act |= thread->lives && !thread->waits;
    }
    if (!can_act) /* all wait: somebody from outside does something */
        for (uint32_t number = 0; number < thread_count; number++)
            threads[number].wakes =
                threads[number].waits && threads[number].wakes == 0 ? now + 1 : threads[number].wakes;
    struct thread *thread = &threads[random_below(thread_count)];
    if (thread->lives && !thread->waits)
        act(thread);
}

/* ------------------------------------------------------------------------------------------- the walk backwards */

struct truth {
    uint64_t sites[SITES + 1], unknown[SITES + 1], wake_up;
    uint64_t waits[2][SITES + 1], counts[2][SITES + 1]; /* for locks and ends, by the site of the waker */
    uint64_t segments[CALLERS], open;                   /* outside, by what ends the segment; open: nothing yet */
};

/* Outside of all functions, from one moment to another: a path that goes on elsewhere at `until`. */
static void add_outside(struct truth *truth, const struct thread *thread, uint64_t from, uint64_t to,
                        uint64_t until)
{
    for (size_t i = 0; i < thread->count && from < to; i++) {
        const struct event *event = &thread->events[i];
        if (event->what == ENTER || event->what == LEAVE || event->site != OUTSIDE || event->at <= from ||
            event->at > until)
            continue;
        const uint64_t end = event->at < to ? event->at : to;
        truth->segments[event->caller] += end - from;
        from = end;
    }
    truth->open += from < to ? to - from : 0;
}

/* The time of a thread between two moments, by function. */
static void add_time(struct truth *truth, const struct thread *thread, uint64_t from, uint64_t to)
{
    uint64_t begin = thread->born;
    uint32_t site = OUTSIDE;
    for (size_t i = 0; i <= thread->count; i++) {
        const bool is_end = i == thread->count;
        if (!is_end && thread->events[i].what != ENTER && thread->events[i].what != LEAVE)
            continue;
        const uint64_t stop = is_end ? to : thread->events[i].at;
        const uint64_t a = begin > from ? begin : from, b = stop < to ? stop : to;
        truth->sites[site] += b > a ? b - a : 0;
        if (site == OUTSIDE)
            add_outside(truth, thread, a, b, to);
        if (is_end)
            break;
        begin = stop;
        site = thread->events[i].site;
    }
    for (size_t i = 0; i < thread->count; i++) {
        const struct event *event = &thread->events[i];
        if (event->what == ARRIVE_UNKNOWN && event->at > from && event->at <= to)
            truth->unknown[event->site] += event->at - event->since;
    }
}

/* The last time before `until` at which a path came to the thread; NULL: none, it is the first. */
static const struct event *arrival(const struct thread *thread, uint64_t until)
{
    const struct event *last = NULL;
    for (size_t i = 0; i < thread->count; i++)
        if (thread->events[i].what == ARRIVE && thread->events[i].at <= until)
            last = &thread->events[i];
    return last;
}

static uint32_t site_at(const struct thread *thread, uint64_t time)
{
    for (size_t i = 0; i < thread->count; i++)
        if (thread->events[i].what == LEFT && thread->events[i].at == time)
            return thread->events[i].site;
    return OUTSIDE;
}

static void walk_back(struct truth *truth)
{
    const struct thread *thread = &threads[0];
    uint64_t time = now;
    memset(truth, 0, sizeof *truth);
    for (;;) {
        const struct event *last = arrival(thread, time);
        add_time(truth, thread, last != NULL ? last->at : thread->born, time);
        if (last == NULL)
            return;
        truth->wake_up += last->at - last->left;
        const struct thread *waker = &threads[last->waker];
        if (last->since != last->left || last != &thread->events[0]) { /* not its creation */
            const struct event *before = arrival(waker, last->left);
            const uint64_t came = before != NULL ? before->at : waker->born;
            const uint64_t from = came > last->since ? came : last->since;
            const uint32_t site = site_at(waker, last->left);
            truth->waits[last->object >= OBJECTS][site] += last->left > from ? last->left - from : 0;
            truth->counts[last->object >= OBJECTS][site]++;
        }
        time = last->left;
        thread = waker;
    }
}

/* What the path has, in the form of what it should have. */
static void gather(struct truth *ret_found)
{
    const struct hp_thread_context *context = &threads[0].context;
    struct hp_paths *paths = hp_paths_of(context);
    struct hp_path_thread *path = hp_path_of(context);
    hp_path_count_own(context, path, now);
    memset(ret_found, 0, sizeof *ret_found);
    assert_int_equal(paths->lost, 0);
    for (uint32_t key = 0; key < paths->used; key++) {
        const struct hp_path_key *is = &paths->keys[key];
        const uint64_t ticks = path->sums[key].ticks + path->own[key], more = path->sums[key].more;
        const uint32_t site = is->site == HP_SITE_ROOT ? OUTSIDE : is->site;
        if (is->kind == HP_PATH_KEY_WAIT) {
            ret_found->waits[is->wait == HP_PATH_FOR_THREAD][site] += ticks;
            ret_found->counts[is->wait == HP_PATH_FOR_THREAD][site] += more;
            continue;
        }
        if (is->kind == HP_PATH_KEY_FIXED) {
            ret_found->wake_up += ticks;
            continue;
        }
        ret_found->sites[site] += ticks;
        ret_found->unknown[site] += more;
        if (is->kind == HP_PATH_KEY_SEGMENT)
            ret_found->segments[is->caller] += ticks;
        else if (site == OUTSIDE)
            ret_found->open += ticks;
    }
}

static void compare(const struct truth *truth)
{
    struct truth found;
    gather(&found);
    uint64_t all = found.wake_up;
    assert_int_equal(found.wake_up, truth->wake_up);
    for (uint32_t site = 0; site <= SITES; site++) {
        assert_int_equal(found.sites[site], truth->sites[site]);
        assert_int_equal(found.unknown[site], truth->unknown[site]);
        for (unsigned kind = 0; kind < 2; kind++) {
            assert_int_equal(found.waits[kind][site], truth->waits[kind][site]);
            assert_int_equal(found.counts[kind][site], truth->counts[kind][site]);
        }
        all += found.sites[site];
    }
    for (uint32_t caller = 0; caller < CALLERS; caller++)
        assert_int_equal(found.segments[caller], truth->segments[caller]);
    assert_int_equal(found.open, truth->open);
    assert_int_equal(all, now - header()->clock_start.ticks);
}

static void begin_again(void)
{
    now = 1000000;
    used = HP_HEADER_BYTES;
    memset(base, 0, BYTES);
    for (uint32_t number = 0; number < THREADS; number++) {
        struct event *events = threads[number].events;
        threads[number] = (struct thread){.events = events};
    }
    begin_threads();
}

static void run_program(uint64_t with)
{
    struct truth truth;
    begin_again();
    seed = with * 7919 + 1;
    for (uint32_t number = 1; number < THREADS; number++)
        make_record(&threads[number], number);
    for (uint32_t events = 0; events < EVENTS; events++) {
        step();
        if (events % 500 == 499) {
            walk_back(&truth);
            compare(&truth);
        }
    }
}

static void random_programs_agree_with_the_log(void **state)
{
    (void)state;
    for (uint64_t with = 1; with <= 150; with++)
        run_program(with);
}

/* -------------------------------------------------------------------------------------------------- the limits */

static struct hp_paths *setup_one(void)
{
    begin_again();
    return hp_paths_of(&threads[0].context);
}

static void sites_beyond_the_limit_share_a_key(void **state)
{
    (void)state;
    struct hp_paths *paths = setup_one();
    for (uint32_t site = 0; site < 2 * HP_PATH_SITES; site++) {
        const uint32_t key = hp_path_site_key(paths, site);
        assert_int_equal(key == HP_PATH_OTHER, site + 1 >= HP_PATH_SITES); /* one is for outside */
        assert_int_equal(key, hp_path_site_key(paths, site));
    }
    assert_int_equal(hp_path_site_key(paths, HP_SITE_OTHER), HP_PATH_OTHER);
}

static void waits_beyond_the_limit_have_no_key(void **state)
{
    (void)state;
    struct hp_paths *paths = setup_one();
    for (uint32_t site = 0; site < 2 * HP_PATH_WAITS; site++) {
        const struct hp_path_waited waited = {.kind = HP_PATH_FOR_LOCK, .site = site, .name = ""};
        assert_int_equal(hp_path_find_wait(paths, base, &waited), 0);
        const uint32_t key = hp_path_make_wait(paths, base, &waited, 0);
        assert_int_equal(key == 0, site >= HP_PATH_WAITS);
        assert_int_equal(hp_path_find_wait(paths, base, &waited), key);
    }
}

/* Traces that are waited for stay; of the others the oldest gives way. */
static void old_traces_give_way(void **state)
{
    (void)state;
    struct hp_paths *paths = setup_one();
    struct hp_thread_context *context = &threads[0].context;
    struct hp_path_peek peek;
    const uint64_t awaited = object_of(0);
    hp_path_await(context, awaited);
    for (uint32_t object = 1; object < 5000; object++) {
        now += 10;
        leave_by(context, object_of(object), 0);
        assert_true(hp_path_peek(paths, base, object_of(object), &peek));
        assert_int_equal(peek.left, now);
    }
    assert_true(hp_path_is_awaited(paths, base, awaited));
    assert_false(hp_path_peek(paths, base, object_of(1), &peek));
    assert_int_equal(paths->lost, 0);
    hp_path_awaited(context, awaited);
    assert_false(hp_path_is_awaited(paths, base, awaited));
}

/* A set that another thread holds is not waited for: the hand-over is lost, and counted. */
static void a_trace_in_use_is_not_waited_for(void **state)
{
    (void)state;
    struct hp_paths *paths = setup_one();
    struct hp_thread_context *context = &threads[0].context;
    for (uint32_t set = 0; set < HP_PATH_SETS; set++)
        paths->set_locks[set] = 1;
    leave_by(context, object_of(1), 0);
    assert_true(paths->lost > 0);
    assert_int_equal(paths->left, 0);
}

/* More nodes than are counted one by one: none of the time is lost, or jumps. */
static void many_nodes_keep_the_sum(void **state)
{
    (void)state;
    struct hp_paths *paths = setup_one();
    struct hp_thread_context *context = &threads[0].context;
    struct hp_path_thread *path = hp_path_of(context);
    uint64_t all = 0;
    enter(&threads[0]);
    now += 100;
    hp_path_count_own(context, path, now);
    context->record->node_count = 1u << 20;
    now += 50;
    hp_path_count_own(context, path, now);
    leave(&threads[0]);
    now += 7;
    hp_path_count_own(context, path, now);
    for (uint32_t key = 0; key < paths->used; key++)
        if (paths->keys[key].kind != HP_PATH_KEY_WAIT)
            all += path->sums[key].ticks + path->own[key];
    assert_int_equal(all, 157);
    assert_int_equal(path->sums[HP_PATH_OTHER].ticks + path->own[HP_PATH_OTHER], 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_agree_with_the_log), cmocka_unit_test(sites_beyond_the_limit_share_a_key),
        cmocka_unit_test(waits_beyond_the_limit_have_no_key), cmocka_unit_test(old_traces_give_way),
        cmocka_unit_test(a_trace_in_use_is_not_waited_for),   cmocka_unit_test(many_nodes_keep_the_sum)};
    base = aligned_alloc(4096, BYTES);
    for (uint32_t number = 0; base != NULL && number < THREADS; number++)
        threads[number].events = calloc(EVENTS * 4, sizeof(struct event));
    return base != NULL ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
