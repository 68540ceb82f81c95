/*
 * Ownership of sessions while several threads start, end, report and count.
 *     storm N     all of it at once, N sessions
 *     leak N      N sessions, one after the other: what is left mapped
 *     apart N     one thread ends a large session while another begins one
 *     jump        reporters that leave by longjmp, at several depths; later reports still work
 *     inside      a reporter that asks for a report
 *     forking     a reporter that forks; the child begins and ends sessions of its own, and returns from it
 *     pair N      reporter and context are changed while reports are made
 *     nothing     a report without memory
 */
#include "support.h"

#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int is_over;

static const struct hotpath_options silent = {.size = sizeof silent, .format = "none"};

static void work(void) { HOTPATH_MEASURE(); }

/* ---------------------------------------------------------------------------------------------------- storm */

static void *count(void *unused)
{
    while (!is_raised(&is_over)) {
        HOTPATH_BLOCK("outer");
        work();
    }
    return unused;
}

static void *come_and_go(void *unused)
{
    while (!is_raised(&is_over)) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, (void *(*)(void *))(void (*)(void))work, NULL) == 0);
        pthread_join(thread, NULL);
    }
    return unused;
}

static void *hand_out(void *unused)
{
    static char blocks[64];
    for (unsigned at = 0; !is_raised(&is_over); at++) {
        hotpath_alloc_event("pool", &blocks[at % 64], 16);
        hotpath_free_event("pool", &blocks[(at + 7) % 64]);
        if (at % 1000 == 0)
            hotpath_free_all_event("pool");
    }
    return unused;
}

static void *take_keys(void *unused)
{
    for (unsigned at = 0; !is_raised(&is_over); at++) {
        char key[40];
        snprintf(key, sizeof key, "number %u", at % 500);
        HOTPATH_BLOCK_KEY("key", key);
        HOTPATH_NOTE("%s", key);
    }
    return unused;
}

static void *report(void *unused)
{
    while (!is_raised(&is_over))
        hotpath_report();
    return unused;
}

static void *ask(void *unused)
{
    size_t length = 0;
    while (!is_raised(&is_over))
        length += hotpath_session_path() != NULL;
    tell_aside("asked", length);
    return unused;
}

struct restarting {
    unsigned long rounds;
    unsigned long begun;
};

static void *restart(void *context)
{
    struct restarting *restarting = context;
    const struct hotpath_options options = {.size = sizeof options, .log = "*", .keys_limit = 400};
    for (unsigned long round = 0; round < restarting->rounds; round++) {
        restarting->begun += hotpath_start(&options) == HOTPATH_OK;
        work();
        hotpath_stop();
    }
    return NULL;
}

static void storm(unsigned long rounds)
{
    void *(*const jobs[])(void *) = {count, count, come_and_go, hand_out, take_keys, report, report, ask};
    enum { JOBS = sizeof jobs / sizeof jobs[0], RESTARTERS = 2 };
    pthread_t threads[JOBS], restarters[RESTARTERS];
    struct restarting restarting[RESTARTERS];
    for (int i = 0; i < JOBS; i++)
        MUST(pthread_create(&threads[i], NULL, jobs[i], NULL) == 0);
    for (int i = 0; i < RESTARTERS; i++) {
        restarting[i] = (struct restarting){rounds / RESTARTERS, 0};
        MUST(pthread_create(&restarters[i], NULL, restart, &restarting[i]) == 0);
    }
    for (int i = 0; i < RESTARTERS; i++)
        pthread_join(restarters[i], NULL);
    raise_flag(&is_over);
    for (int i = 0; i < JOBS; i++)
        pthread_join(threads[i], NULL);
    printf("begun %s\n", restarting[0].begun + restarting[1].begun > 0 ? "some" : "none");
}

/* ----------------------------------------------------------------------------------------------------- leak */

static unsigned long address_space_kb(void)
{
    unsigned long pages = 0;
    FILE *stream = fopen("/proc/self/statm", "r");
    MUST(stream != NULL && fscanf(stream, "%lu", &pages) == 1);
    fclose(stream);
    return pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

static void leak(unsigned long rounds)
{
    unsigned long before = 0;
    for (unsigned long round = 0; round < rounds; round++) {
        struct hotpath_options options = silent;
        options.max_bytes = round % 2 ? 64u << 20 : 32u << 20;
        MUST(hotpath_start(&options) == HOTPATH_OK);
        work();
        MUST(hotpath_stop() == HOTPATH_OK);
        if (round == 9)
            before = address_space_kb();
    }
    tell("left_kb", address_space_kb() - before);
}

/* ---------------------------------------------------------------------------------------------------- apart */

static pthread_barrier_t line;
static unsigned long rounds_of_both;

static void *begin_another(void *unused)
{
    for (unsigned long round = 0; round < rounds_of_both; round++) {
        pthread_barrier_wait(&line);
        for (int tries = 0; tries < 50; tries++)
            if (hotpath_start(&silent) == HOTPATH_OK)
                break;
        work();
        pthread_barrier_wait(&line);
    }
    return unused;
}

static void apart(unsigned long rounds)
{
    pthread_t thread;
    const struct hotpath_options options = {.size = sizeof options, .keys_limit = 2000, .limit = HOTPATH_NO_LIMIT};
    rounds_of_both = rounds;
    pthread_barrier_init(&line, NULL, 2);
    MUST(pthread_create(&thread, NULL, begin_another, NULL) == 0);
    for (unsigned long round = 0; round < rounds; round++) {
        hotpath_stop();
        MUST(hotpath_start(&options) == HOTPATH_OK);
        for (int at = 0; at < 1500; at++) {
            char key[80];
            snprintf(key, sizeof key, "a key of some length that takes space, number %d", at);
            HOTPATH_BLOCK_KEY("key", key);
        }
        pthread_barrier_wait(&line);
        hotpath_stop();
        pthread_barrier_wait(&line);
    }
    pthread_join(thread, NULL);
    printf("survived\n");
}

/* ------------------------------------------------------------------------------------------------ reporters */

static jmp_buf back;
static unsigned long reports;

static void jump_out(const hotpath_results *results, void *context)
{
    (void)results, (void)context;
    reports++;
    longjmp(back, 1);
}

static void only_count(const hotpath_results *results, void *context)
{
    (void)results, (void)context;
    reports++;
}

static __attribute__((noinline)) void report_from(volatile int depth)
{
    volatile char room[512];
    room[0] = (char)depth;
    if (depth > 0)
        report_from(depth - 1);
    else
        hotpath_report();
    room[1] = room[0];
}

static void jump(void)
{
    static const int depths[] = {0, 3, 1, 3, 2, 0};
    MUST(hotpath_start(NULL) == HOTPATH_OK);
    work();
    hotpath_set_reporter(jump_out, NULL);
    for (volatile unsigned at = 0; at < sizeof depths / sizeof depths[0]; at++)
        if (setjmp(back) == 0)
            report_from(depths[at]);
    tell("jumped", reports);
    hotpath_set_reporter(only_count, NULL);
    printf("report %d\n", hotpath_report());
    hotpath_set_reporter(NULL, NULL);
    printf("stop %d\n", hotpath_stop());
    tell("reports", reports);
}

static int status_inside;

static void ask_inside(const hotpath_results *results, void *context)
{
    (void)results, (void)context;
    reports++;
    const int status = hotpath_report();
    if (status != HOTPATH_OK)
        status_inside = status;
}

static void inside(void)
{
    MUST(hotpath_start(NULL) == HOTPATH_OK);
    hotpath_set_reporter(ask_inside, NULL);
    printf("report %d\n", hotpath_report());
    printf("inside %d\n", status_inside);
    tell("ended", reports < 100);
}

static void fork_inside(const hotpath_results *results, void *context)
{
    (void)results, (void)context;
    hotpath_set_reporter(NULL, NULL);
    fflush(stdout);
    const pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        MUST(hotpath_start(&silent) == HOTPATH_OK);
        work();
        return;
    }
    int status = -1;
    waitpid(child, &status, 0);
    printf("child %d\n", status);
}

static void forking(void)
{
    MUST(hotpath_start(&silent) == HOTPATH_OK);
    work();
    hotpath_set_reporter(fork_inside, NULL);
    const pid_t parent = getpid();
    hotpath_stop();
    work(); /* in the child, too: its session runs, and is another one than that which has just ended */
    MUST((hotpath_session_path()[0] != '\0') == (getpid() != parent));
    hotpath_stop();
}

static int first_context, second_context, mismatches;

static void expect_first(const hotpath_results *results, void *context)
{
    (void)results;
    if (context != &first_context)
        __atomic_fetch_add(&mismatches, 1, __ATOMIC_RELAXED);
}

static void expect_second(const hotpath_results *results, void *context)
{
    (void)results;
    if (context != &second_context)
        __atomic_fetch_add(&mismatches, 1, __ATOMIC_RELAXED);
}

static void *change_reporter(void *unused)
{
    while (!is_raised(&is_over)) {
        hotpath_set_reporter(expect_first, &first_context);
        hotpath_set_reporter(expect_second, &second_context);
    }
    return unused;
}

static void pair(unsigned long rounds)
{
    pthread_t thread;
    MUST(hotpath_start(NULL) == HOTPATH_OK);
    hotpath_set_reporter(expect_first, &first_context);
    MUST(pthread_create(&thread, NULL, change_reporter, NULL) == 0);
    for (unsigned long round = 0; round < rounds; round++)
        hotpath_report();
    raise_flag(&is_over);
    pthread_join(thread, NULL);
    tell("mismatches", (uint64_t)mismatches);
    hotpath_set_reporter(NULL, NULL);
    hotpath_stop();
}

/* -------------------------------------------------------------------------------------------------- nothing */

static void nothing(void)
{
    MUST(hotpath_start(NULL) == HOTPATH_OK);
    work();
    const struct rlimit used = {address_space_kb() * 1024, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
    MUST(setrlimit(RLIMIT_AS, &used) == 0);
    const int status = hotpath_report();
    MUST(setrlimit(RLIMIT_AS, &all) == 0);
    printf("report %d\n", status);
    printf("stop %d\n", hotpath_stop());
}

int main(int argc, char **argv)
{
    if (is_case(argc, argv, "storm"))
        storm(number(argc, argv, 2, 40));
    if (is_case(argc, argv, "leak"))
        leak(number(argc, argv, 2, 200));
    if (is_case(argc, argv, "apart"))
        apart(number(argc, argv, 2, 20));
    if (is_case(argc, argv, "jump"))
        jump();
    if (is_case(argc, argv, "inside"))
        inside();
    if (is_case(argc, argv, "forking"))
        forking();
    if (is_case(argc, argv, "pair"))
        pair(number(argc, argv, 2, 200));
    if (is_case(argc, argv, "nothing"))
        nothing();
    return 0;
}
