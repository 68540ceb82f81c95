/*
 * Wait sampling of threads of this process, with a made-up session, while they wait for what the test chooses. One
 * file: all tests need the same thread, which waits for pipes, and the same session. SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "proc_sampler.h"
#include "session_builder.h"

#define PATIENCE 20000

static struct session_builder session;
static struct hp_proc_sampler *watch;
static struct hp_waits *waits;
static uint32_t thread, root, outer, inner;
static bool is_cut_off;
static uint32_t at_work;     /* threads of other processes */
static uint32_t late_record; /* is linked as soon as the header has been read */

/* ------------------------------------------------------------------------------------------- the session */

static bool read_session(void *context, uint32_t offset, void *to, size_t bytes)
{
    (void)context;
    if (is_cut_off || !builder_read(&session, offset, to, bytes))
        return false;
    if (late_record != 0 && offset == 0) {
        builder_header(&session)->threads = late_record;
        builder_header(&session)->threads_seen++;
        late_record = 0;
    }
    return true;
}

static bool write_session(void *context, uint32_t offset, const void *from, size_t bytes)
{
    (void)context;
    return !is_cut_off && builder_write(&session, offset, from, bytes);
}

static struct hp_thread *record(void) { return builder_at(&session, thread); }

static int set_up(void **state)
{
    (void)state;
    builder_init(&session, 1u << 20);
    is_cut_off = false;
    at_work = 0;
    thread = builder_thread(&session);
    root = record()->root;
    outer = builder_node(&session, thread, 0, builder_site(&session, "outer", "a.c", 1));
    inner = builder_node(&session, thread, outer, builder_site(&session, "inner", "a.c", 2));
    waits = builder_waits(&session, HP_WATCH_ENTRIES);
    waits->watcher = 0;
    struct hp_header *header = builder_header(&session);
    header->pid = (uint32_t)getpid();
    header->state = HP_STATE_LIVE;
    header->threads_seen = 1;
    record()->state = HP_THREAD_LIVE;
    watch = calloc(1, sizeof *watch);
    return watch == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    if (watch->target.write != NULL) /* it has begun */
        hp_proc_sampler_end(watch);
    free(watch);
    builder_free(&session);
    return 0;
}

/* The test's own thread is left out: it takes the samples, and so runs. */
static bool begin(void)
{
    const struct hp_proc_sampler_target target = {.pid = (uint32_t)getpid(),
                                                  .left_out = (uint32_t)syscall(SYS_gettid),
                                                  .read = read_session,
                                                  .write = write_session,
                                                  .at_work = &at_work};
    return hp_proc_sampler_begin(watch, &target);
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER
#endif
#elif defined(__SANITIZE_THREAD__)
#define HAS_THREAD_SANITIZER
#endif

/* ------------------------------------------------------------------------------------------ the sleeper */

static int to_sleeper[64][2]; /* pipes it reads from, one after the other */
static unsigned pipe_count;
static uint32_t sleeper_tid;
static pthread_t sleeper;

static void *read_all(void *unused)
{
    char byte;
    __atomic_store_n(&sleeper_tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    for (unsigned at = 0; at < pipe_count; at++)
        if (read(to_sleeper[at][0], &byte, 1) != 1)
            break;
    return unused;
}

static void start_sleeper(unsigned pipes)
{
    pipe_count = pipes;
    sleeper_tid = 0;
    for (unsigned at = 0; at < pipes; at++)
        assert_int_equal(pipe(to_sleeper[at]), 0);
    assert_int_equal(pthread_create(&sleeper, NULL, read_all, NULL), 0);
    while (__atomic_load_n(&sleeper_tid, __ATOMIC_ACQUIRE) == 0)
        ;
    record()->tid = sleeper_tid;
}

static void wake(unsigned pipe) { assert_int_equal(write(to_sleeper[pipe][1], "x", 1), 1); }

static void end_sleeper(void)
{
    pthread_join(sleeper, NULL);
    for (unsigned at = 0; at < pipe_count; at++) {
        close(to_sleeper[at][0]);
        close(to_sleeper[at][1]);
    }
}

static struct hp_wait *entry(uint32_t at) { return (struct hp_wait *)(void *)(waits + 1) + at; }

static void name_of(unsigned pipe, char name[40])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", to_sleeper[pipe][0]);
    memset(name, 0, 40);
    assert_true(readlink(path, name, 39) > 0);
}

/* Samples until the thread is found waiting for that pipe. */
static struct hp_wait *find_pipe(unsigned pipe)
{
    const struct timespec moment = {0, 1000000};
    char name[40];
    name_of(pipe, name);
    for (unsigned tries = 0; tries < PATIENCE; tries++) {
        assert_true(hp_proc_sample(watch));
        for (uint32_t at = 0; at < waits->used; at++)
            if (entry(at)->cause == HP_WAIT_PIPE && memcmp(entry(at)->what, name, sizeof name) == 0)
                return entry(at);
        nanosleep(&moment, NULL);
    }
    fail_msg("the thread was never found waiting");
    return NULL;
}

/* -------------------------------------------------------------------------------------------------- tests */

static void a_wait_has_cause_call_file_and_zone(void **state)
{
    (void)state;
    builder_open(&session, thread, outer, 0, 0);
    builder_open(&session, thread, inner, 0, 0);
    start_sleeper(1);
    assert_true(begin());
    const struct hp_wait *found = find_pipe(0);
    assert_int_equal(found->call, SYS_read);
    assert_int_equal(found->node, inner);
    assert_true(found->probes > 0);
    assert_int_equal(waits->watcher, getpid());
    assert_true(waits->probes > 0);
    wake(0);
    end_sleeper();
}

/* The time credited between two samples is exactly the time between them. */
static void sums_are_exact(void **state)
{
    (void)state;
    start_sleeper(1);
    assert_true(begin());
    const struct hp_wait *found = find_pipe(0);
    assert_true(hp_proc_sample(watch)); /* it waits by now, and will until it is woken */
    const uint64_t before = hp_clock_monotonic_ns();
    assert_true(hp_proc_sample(watch));
    const uint64_t from = hp_clock_monotonic_ns(), ns = found->ns, watched = waits->watched_ns;
    const struct timespec moment = {0, 30000000};
    nanosleep(&moment, NULL);
    const uint64_t to = hp_clock_monotonic_ns();
    assert_true(hp_proc_sample(watch));
    const uint64_t after = hp_clock_monotonic_ns();
    assert_in_range(waits->latest_ns, to, after);
    assert_in_range(found->ns - ns, to - from, after - before);
    assert_int_equal(waits->watched_ns - watched, found->ns - ns);
    wake(0);
    end_sleeper();
}

static void waits_outside_zones(void **state)
{
    (void)state;
    start_sleeper(1);
    assert_true(begin());
    assert_int_equal(find_pipe(0)->node, root);
    wake(0);
    end_sleeper();
}

static void threads_without_a_record(void **state)
{
    (void)state;
    start_sleeper(1);
    record()->state = HP_THREAD_FREE;
    assert_true(begin());
    assert_int_equal(find_pipe(0)->node, 0);
    wake(0);
    end_sleeper();
}

/* All of a wait goes where the thread turns out to be, although it has not run since it was found nowhere. */
static void records_linked_after_the_thread_started(void **state)
{
    (void)state;
    start_sleeper(1);
    record()->state = HP_THREAD_FREE;
    assert_true(begin());
    const struct hp_wait *nowhere = find_pipe(0);
    assert_int_equal(nowhere->node, 0);
    while (nowhere->probes < 3)
        assert_true(hp_proc_sample(watch));
    const uint64_t ns = nowhere->ns;
    record()->state = HP_THREAD_LIVE;
    assert_true(hp_proc_sample(watch));
    assert_true(nowhere->ns > ns); /* without a record */
    builder_header(&session)->threads_seen++;
    assert_true(hp_proc_sample(watch));
    assert_int_equal(waits->used, nowhere - entry(0) + 2);
    assert_int_equal(nowhere->ns, 0);
    assert_int_equal((nowhere + 1)->node, root);
    assert_true((nowhere + 1)->ns > ns);
    wake(0);
    end_sleeper();
}

/* Its record is linked after the header was read for this sample. */
static void records_linked_during_a_sample(void **state)
{
    (void)state;
    const uint32_t first = builder_header(&session)->threads;
    start_sleeper(1);
    assert_true(begin());
    find_pipe(0); /* it waits by now */
    waits->used = 0;
    assert_true(begin());
    builder_header(&session)->threads = 0;
    late_record = first;
    assert_int_equal(find_pipe(0)->node, root);
    wake(0);
    end_sleeper();
}

/* Each thread has its own nodes for the same places. Existing entries count, too. */
static void threads_share_entries(void **state)
{
    (void)state;
    char name[40];
    const uint32_t other = builder_thread(&session);
    const uint32_t site = ((struct hotpath_node_ *)builder_at(&session, inner))->site;
    const uint32_t its_inner = builder_node(&session, other, 0, site);
    builder_open(&session, thread, inner, 0, 0);
    start_sleeper(1);
    name_of(0, name);
    builder_wait(&session, root, HP_WAIT_PIPE, SYS_read, name, 5);
    builder_wait(&session, 0, HP_WAIT_PIPE, SYS_read, name, 6);
    builder_wait(&session, its_inner, HP_WAIT_PIPE, SYS_read, name, 7);
    assert_true(begin());
    for (unsigned tries = 0; entry(2)->ns == 7 && waits->used == 3 && tries < PATIENCE; tries++)
        assert_true(hp_proc_sample(watch));
    assert_int_equal(entry(0)->ns, 5);
    assert_int_equal(entry(1)->ns, 6);
    assert_true(entry(2)->ns > 7);
    assert_int_equal(entry(2)->node, its_inner);
    wake(0);
    end_sleeper();
}

static void deep_stacks(void **state)
{
    (void)state;
    static const uint32_t depths[] = {1, 2, 3, 7, 8, 9, 1000};
    for (size_t at = 0; at < sizeof depths / sizeof depths[0]; at++) {
        const uint32_t offset = (session.used + 63) & ~63u;
        struct hotpath_frame_ *frames = builder_at(&session, offset);
        memset(frames, 0, 1001 * sizeof *frames);
        for (uint32_t frame = 1; frame <= depths[at]; frame++)
            frames[frame] = (struct hotpath_frame_){.zone = 8, .node = 64 * frame};
        record()->frames = offset;
        record()->frame_capacity = 1001;
        start_sleeper(1);
        assert_true(begin());
        assert_int_equal(find_pipe(0)->node, 64 * depths[at]);
        wake(0);
        end_sleeper();
        tear_down(NULL);
        set_up(NULL);
    }
}

static void broken_sessions_are_survived(void **state)
{
    (void)state;
    start_sleeper(1);
    record()->frames = UINT32_MAX - 31;
    record()->frame_capacity = UINT32_MAX;
    assert_true(begin());
    assert_int_equal(find_pipe(0)->node, root);
    record()->tid = 1;
    record()->next = thread; /* for ever in a circle */
    builder_header(&session)->threads_seen++;
    assert_true(hp_proc_sample(watch));
    builder_header(&session)->threads = UINT32_MAX;
    builder_header(&session)->threads_seen++;
    assert_true(hp_proc_sample(watch));
    is_cut_off = true;
    assert_false(hp_proc_sample(watch));
    wake(0);
    end_sleeper();
}

static void invalid_offsets_are_refused(void **state)
{
    (void)state;
    struct hp_header *header = builder_header(&session);
    static const uint32_t places[] = {0, 4, 4095, 1u << 20, UINT32_MAX - 7};
    const uint32_t good = header->waits;
    for (size_t at = 0; at < sizeof places / sizeof places[0]; at++) {
        header->waits = places[at];
        assert_false(begin());
    }
    header->waits = good;
    waits->used = HP_WATCH_ENTRIES + 1;
    assert_false(begin());
    waits->used = 0;
    waits->capacity = 0;
    assert_false(begin());
    waits->capacity = UINT32_MAX;
    assert_true(begin());
    header->pid++;
    assert_false(begin());
}

static void only_one_observer_at_a_time(void **state)
{
    (void)state;
    waits->watcher = 1; /* which is always there */
    assert_false(begin());
    const pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    waits->watcher = (uint32_t)gone;
    assert_true(begin());
    waits->watcher = (uint32_t)getpid();
    assert_true(begin());
}

/* Existing sums stay and are added to. */
static void observer_continues_after_another(void **state)
{
    (void)state;
    char name[40];
    start_sleeper(1);
    name_of(0, name);
    builder_wait(&session, root, HP_WAIT_PIPE, SYS_read, name, 1000000000000)->probes = 50;
    assert_true(begin());
    const struct hp_wait *found = find_pipe(0);
    while (found->probes == 50)
        assert_true(hp_proc_sample(watch));
    assert_ptr_equal(found, entry(0));
    assert_true(found->ns >= 1000000000000);
    wake(0);
    end_sleeper();
}

static void waits_without_an_entry_are_counted_as_lost(void **state)
{
    (void)state;
    const struct timespec moment = {0, 2000000};
    waits->capacity = 1;
    builder_wait(&session, root, HP_WAIT_SLEEP, 1, "", 7);
    start_sleeper(1);
    assert_true(begin());
    for (unsigned tries = 0; waits->left_out_ns == 0 && tries < PATIENCE; tries++) {
        assert_true(hp_proc_sample(watch));
        nanosleep(&moment, NULL);
    }
    assert_true(waits->left_out_ns > 0);
    assert_int_equal(waits->used, 1);
    assert_int_equal(entry(0)->ns, 7);
    wake(0);
    end_sleeper();
}

static struct hp_watched *watched_sleeper(void)
{
    for (uint32_t at = 0; at < watch->thread_count; at++)
        if (watch->threads[at].tid == sleeper_tid)
            return &watch->threads[at];
    fail_msg("the thread is not watched");
    return NULL;
}

static uint64_t pending_ready(const struct hp_watched *watched)
{
    return watched->ready - watched->ready_before - watched->settled_ready;
}

/* Time that turns out to be run-queue time at the end is not waiting, and not a sample. */
static void pending_run_queue_time_is_not_waiting(void **state)
{
    (void)state;
    start_sleeper(1);
    assert_true(begin());
    struct hp_wait *found = find_pipe(0);
    while (found->probes < 3)
        assert_true(hp_proc_sample(watch));
    struct hp_watched *watched = watched_sleeper();
    const uint64_t ns = found->ns, probes = found->probes, pending = pending_ready(watched);
    const uint32_t used = waits->used;
    watched->ready += 1000;
    hp_proc_sampler_end(watch);
    assert_int_equal(found->ns, ns - 1000);
    assert_int_equal(found->probes, probes);
    uint64_t ready = 0;
    for (uint32_t at = 0; at < waits->used; at++)
        ready += entry(at)->cause == HP_WAIT_RUN_QUEUE ? entry(at)->ns : 0;
    assert_true(ready >= pending + 1000);
    if (waits->used > used)
        assert_int_equal(entry(used)->probes, 0);
    wake(0);
    end_sleeper();
}

/*
 * The run-queue time after a wake-up belongs to the wait that ended, wherever the thread goes; if the wait was
 * idle, so is this time.
 */
static void time_ready_to_run_belongs_to_the_wait(void **state)
{
    (void)state;
    builder_open(&session, thread, outer, 0, 0);
    builder_open(&session, thread, inner, 0, 0);
    at_work = 1;
    start_sleeper(2);
    assert_true(begin());
    find_pipe(0);
    while (!watched_sleeper()->is_waiting)
        assert_true(hp_proc_sample(watch));
    struct hotpath_frame_ *frames = builder_at(&session, record()->frames);
    frames[2].zone = 0; /* `inner` ends */
    watched_sleeper()->ready_before -= 1000000000;
    wake(0);
    assert_int_equal(find_pipe(1)->node, outer);
    uint64_t ready = 0, after_idle = 0;
    for (uint32_t at = 0; at < waits->used; at++) {
        ready += entry(at)->cause == HP_WAIT_RUN_QUEUE && entry(at)->node == inner ? entry(at)->ns : 0;
        after_idle += entry(at)->cause == HP_WAIT_RUN_QUEUE && entry(at)->node == inner ? entry(at)->beside_ns : 0;
    }
    assert_true(ready >= 1000000000);
    assert_true(after_idle >= 1000000000);
    wake(1);
    end_sleeper();
}

/* Waiting while another thread of the run works is counted separately. */
static void waiting_beside_work(void **state)
{
    (void)state;
    start_sleeper(1);
    assert_true(begin());
    const struct hp_wait *found = find_pipe(0);
    while (found->probes < 3)
        assert_true(hp_proc_sample(watch));
    assert_int_equal(found->beside_ns, 0);
    const uint64_t ns = found->ns;
    at_work = 1;
    assert_true(hp_proc_sample(watch));
    assert_int_equal(found->beside_ns, found->ns - ns);
    at_work = 0;
    assert_true(hp_proc_sample(watch));
    assert_true(found->beside_ns < found->ns - ns);
    wake(0);
    end_sleeper();
}

/* Nor is it counted twice where there is no place. */
static void corrected_waits_without_an_entry_are_taken_back(void **state)
{
    (void)state;
    waits->capacity = 1;
    builder_wait(&session, root, HP_WAIT_SLEEP, 1, "", 7);
    start_sleeper(1);
    assert_true(begin());
    for (unsigned tries = 0;
         (waits->left_out_ns == 0 || watched_sleeper()->of_this_wait < 1000) && tries < PATIENCE; tries++)
        assert_true(hp_proc_sample(watch));
    struct hp_watched *watched = watched_sleeper();
    const uint64_t before = waits->left_out_ns, pending = pending_ready(watched);
    watched->ready += 1000;
    hp_proc_sampler_end(watch);
    assert_int_equal(waits->left_out_ns, before + pending);
    wake(0);
    end_sleeper();
}

static void threads_beyond_the_limit_are_counted(void **state)
{
    (void)state;
    start_sleeper(1);
    assert_true(begin());
    assert_true(hp_proc_sample(watch));
    assert_int_equal(waits->unwatched, 0);
    hp_proc_sampler_end(watch);
    for (uint32_t at = 0; at < HP_WATCH_THREADS; at++) /* which are all gone at the next sample */
        watch->threads[at] = (struct hp_watched){.tid = UINT32_MAX - at, .file = -1, .entry = -1};
    watch->thread_count = HP_WATCH_THREADS;
    hp_proc_sample(watch);
    hp_proc_sampler_end(watch);
    assert_int_equal(waits->unwatched, 1);
    wake(0);
    end_sleeper();
}

/* How often it was found in one of the pipes that share an entry; and how many entries there are for pipes. */
static uint32_t probes_of_others(uint32_t *ret_pipes)
{
    uint32_t probes = 0;
    *ret_pipes = 0;
    for (uint32_t at = 0; at < waits->used; at++) {
        *ret_pipes += entry(at)->cause == HP_WAIT_PIPE;
        probes += strcmp(entry(at)->what, "(others)") == 0 ? entry(at)->probes : 0;
    }
    return probes;
}

static void many_files_share_an_entry(void **state)
{
    (void)state;
    const struct timespec moment = {0, 1000000};
    uint32_t probes = 0, pipes;
    start_sleeper(40);
    assert_true(begin());
    for (unsigned pipe = 0; pipe < 24; pipe++) {
        find_pipe(pipe);
        wake(pipe);
    }
    for (unsigned pipe = 24; pipe < 40; pipe++) {
        for (unsigned tries = 0; probes_of_others(&pipes) <= probes && tries < PATIENCE; tries++) {
            assert_true(hp_proc_sample(watch));
            nanosleep(&moment, NULL);
        }
        assert_true(probes_of_others(&pipes) > probes);
        probes = probes_of_others(&pipes);
        wake(pipe);
    }
    assert_int_equal(pipes, 25);
    end_sleeper();
}

static void thread_exit_is_noticed(void **state)
{
    (void)state;
    start_sleeper(1);
    assert_true(begin());
    find_pipe(0);
    wake(0);
    end_sleeper();
    for (unsigned tries = 0; hp_proc_sample(watch) && tries < PATIENCE; tries++)
        ;
    assert_false(hp_proc_sample(watch)); /* no thread is left that is watched */
    start_sleeper(1);
    assert_true(begin());
    assert_true(hp_proc_sample(watch));
    builder_header(&session)->state = HP_STATE_FINISHED;
    assert_false(hp_proc_sample(watch));
    wake(0);
    end_sleeper();
}

static void cost_of_sampling_is_bounded(void **state)
{
    (void)state;
    const uint64_t ms = 1000000;
    assert_int_equal(hp_proc_sampler_period_us(0, 0), 10000);
    assert_int_equal(hp_proc_sampler_period_us(5 * ms, 0), 10000);
    assert_int_equal(hp_proc_sampler_period_us(6 * ms, 70 * ms), 30000); /* beyond 5 ms the cost is 1 % of that */
    assert_int_equal(hp_proc_sampler_period_us(6 * ms, 40 * ms), 20000); /* half of the time so far */
    assert_int_equal(hp_proc_sampler_period_us(6 * ms, 95 * ms), 10000);
    assert_int_equal(hp_proc_sampler_period_us(15 * ms, 1000 * ms), 10000);
    assert_int_equal(hp_proc_sampler_period_us(16 * ms, 1000 * ms), 100000);
    assert_int_equal(hp_proc_sampler_period_us(UINT64_MAX, 0), 10000);
    assert_int_equal(hp_proc_sampler_period_us(UINT64_MAX, 100 * ms), 50000);
    assert_int_equal(hp_proc_sampler_period_us(UINT64_MAX, UINT64_MAX), 200000);
    start_sleeper(1);
    assert_true(begin());
    assert_true(hp_proc_sample(watch));
    hp_proc_sampler_note(watch, 55);
    hp_proc_sampler_note(watch, 5);
    assert_true(hp_proc_sample(watch));
    assert_int_equal(waits->watcher_ns, 60);
    wake(0);
    end_sleeper();
}

/* A long pause at the end is not taken for all of them. */
static void reported_period_is_the_mean(void **state)
{
    (void)state;
    const struct timespec moment = {0, 20000000};
    start_sleeper(1);
    assert_true(begin());
    const uint64_t before = hp_clock_monotonic_ns();
    for (unsigned look = 0; look < 5; look++)
        assert_true(hp_proc_sample(watch));
    const uint64_t from = hp_clock_monotonic_ns();
    nanosleep(&moment, NULL);
    const uint64_t to = hp_clock_monotonic_ns();
    assert_true(hp_proc_sample(watch));
    const uint64_t after = hp_clock_monotonic_ns();
    assert_in_range(waits->period_us, (to - from) / 5000, (after - before) / 5000);
    wake(0);
    end_sleeper();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
#ifdef HAS_THREAD_SANITIZER
    puts("skipped: ThreadSanitizer has a thread of its own, which waits, too");
    return 77;
#endif
    const struct CMUnitTest tests[] = {
        TEST(a_wait_has_cause_call_file_and_zone),
        TEST(sums_are_exact),
        TEST(waits_outside_zones),
        TEST(threads_without_a_record),
        TEST(records_linked_after_the_thread_started),
        TEST(records_linked_during_a_sample),
        TEST(threads_share_entries),
        TEST(deep_stacks),
        TEST(broken_sessions_are_survived),
        TEST(invalid_offsets_are_refused),
        TEST(only_one_observer_at_a_time),
        TEST(observer_continues_after_another),
        TEST(waits_without_an_entry_are_counted_as_lost),
        TEST(pending_run_queue_time_is_not_waiting),
        TEST(time_ready_to_run_belongs_to_the_wait),
        TEST(waiting_beside_work),
        TEST(corrected_waits_without_an_entry_are_taken_back),
        TEST(threads_beyond_the_limit_are_counted),
        TEST(many_files_share_an_entry),
        TEST(thread_exit_is_noticed),
        TEST(cost_of_sampling_is_bounded),
        TEST(reported_period_is_the_mean),
    };
    return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
