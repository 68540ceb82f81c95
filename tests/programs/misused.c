/*
 * Macros used in ways that are not meant: jumped over, without what they need, twice, on memory that is gone. Some
 * numbers may be wrong then; the program itself runs on as without hotpath.
 *
 *     misused CASE
 *     misused list             the names of all cases
 */
#include "support.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

struct request {
    long number;
    HOTPATH_FIELD(hotpath_task, task);
};

static void say(const char *what, long value)
{
    printf("%s %ld\n", what, value);
    fflush(stdout);
}

/* -------------------------------------------------------------------------------------------------- jumped over */

/* Leaves values all over the stack where the next call has its guard: bytes, and words with a likely number. */
static void __attribute__((noinline)) stain(unsigned fill)
{
    volatile uint64_t words[512];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        words[i] = fill == 1 ? UINT64_C(1) << 32 | 0xf0000000u : fill * UINT64_C(0x0101010101010101);
}

#ifndef __clang__ /* which refuses such jumps */
#define JUMPS_OVER(name, ...)                                                                                      \
    static long __attribute__((noinline)) name(int skips)                                                          \
    {                                                                                                              \
        long result = 1;                                                                                           \
        if (skips)                                                                                                 \
            goto out;                                                                                              \
        __VA_ARGS__;                                                                                               \
        result = 2;                                                                                                \
    out:                                                                                                           \
        return result;                                                                                             \
    }
#else
#define JUMPS_OVER(name, ...)                                                                                      \
    static long name(int skips) { return skips ? 1 : 2; }
#endif

static struct request polled __attribute__((unused)); /* with clang */
JUMPS_OVER(over_zone, HOTPATH_BLOCK("zone"))
JUMPS_OVER(over_full, HOTPATH_CHANNEL_FULL("channel", NULL))
JUMPS_OVER(over_loop, HOTPATH_LOOP_WAIT("loop"))
JUMPS_OVER(over_next, HOTPATH_STREAM_NEXT("stream", NULL))
JUMPS_OVER(over_expect, HOTPATH_EXPECT_ALLOCS(1000))
JUMPS_OVER(over_poll, HOTPATH_TASK_POLL(polled.task))

static void jump_over(long (*function)(int))
{
    long sum = function(0);
    for (unsigned fill = 0; fill < 256; fill++) {
        stain(fill);
        sum += function(1);
    }
    say("sum", sum);
}

static void jump_over_zone(void) { jump_over(over_zone); }
static void jump_over_full(void) { jump_over(over_full); }
static void jump_over_loop(void) { jump_over(over_loop); }
static void jump_over_next(void) { jump_over(over_next); }
static void jump_over_expect(void) { jump_over(over_expect); }
static void jump_over_poll(void) { jump_over(over_poll); }

/* -------------------------------------------------------------------------------------------------------- tasks */

static void null_tasks(void)
{
    hotpath_task *volatile none = NULL;
    hotpath_task *task = none;
    HOTPATH_TASK(task, "none");
    HOTPATH_TASK_READY(task);
    HOTPATH_TASK_CANCEL(task);
    HOTPATH_TASK_RESULT(task, "%d", 1);
    {
        HOTPATH_TASK_POLL(task);
    }
    {
        HOTPATH_TASK_RUN(task);
    }
    say("end", 1);
}

static void tasks_ended_twice(void)
{
    struct request request = {.number = 1};
    for (int i = 0; i < 100; i++) {
        HOTPATH_TASK(request.task, "twice");
        HOTPATH_TASK_READY(request.task);
        HOTPATH_TASK_READY(request.task);
    }
    HOTPATH_TASK_CANCEL(request.task);
    say("number", request.number);
}

static void tasks_never_begun(void)
{
    struct request request = {.number = 1};
    memset(&request, 0, sizeof request);
    HOTPATH_TASK_READY(request.task);
    memset(&request, 0xa5, sizeof request);
    HOTPATH_TASK_READY(request.task);
    {
        HOTPATH_TASK_POLL(request.task);
    }
    say("end", 1);
}

/* The memory of a task is gone before its poll ends, or is another's. */
static void tasks_freed_in_a_poll(void)
{
    for (int i = 0; i < 1000; i++) {
        struct request *request = malloc(sizeof *request);
        MUST(request != NULL);
        HOTPATH_TASK(request->task, "freed");
        {
            HOTPATH_TASK_POLL(request->task);
            HOTPATH_TASK_READY(request->task);
            memset(request, 0xee, sizeof *request);
            free(request);
        }
    }
    say("end", 1);
}

static void tasks_overwritten_and_copied(void)
{
    struct request request = {.number = 1}, copy;
    for (int i = 0; i < 1000; i++)
        HOTPATH_TASK(request.task, "overwritten");
    copy = request;
    HOTPATH_TASK_READY(request.task);
    HOTPATH_TASK_READY(copy.task);
    say("number", copy.number);
}

static long __attribute__((noinline)) poll_within(struct request *request, long depth)
{
    HOTPATH_TASK_POLL(request->task);
    return depth == 0 ? 0 : poll_within(request, depth - 1) + 1;
}

static void polls_within_polls(void)
{
    struct request outer = {.number = 1}, inner = {.number = 2};
    HOTPATH_TASK(outer.task, "outer");
    say("depth", poll_within(&outer, 9));
    HOTPATH_TASK(inner.task, "inner");
    {
        HOTPATH_TASK_POLL(outer.task);
        {
            HOTPATH_TASK_POLL(inner.task);
            HOTPATH_TASK_READY(outer.task);
        }
    }
    HOTPATH_TASK_READY(inner.task);
}

static struct request shared;
static pthread_barrier_t line;

static void *end_the_same(void *unused)
{
    for (int i = 0; i < 300; i++) {
        pthread_barrier_wait(&line);
        {
            HOTPATH_TASK_POLL(shared.task);
            HOTPATH_TASK_READY(shared.task);
        }
        pthread_barrier_wait(&line);
    }
    return unused;
}

static void tasks_ended_by_two_threads(void)
{
    pthread_t thread;
    MUST(pthread_barrier_init(&line, NULL, 2) == 0 && pthread_create(&thread, NULL, end_the_same, NULL) == 0);
    for (int i = 0; i < 300; i++) {
        HOTPATH_TASK(shared.task, "shared");
        pthread_barrier_wait(&line);
        HOTPATH_TASK_READY(shared.task);
        pthread_barrier_wait(&line);
    }
    pthread_join(thread, NULL);
    say("end", 1);
}

/* ----------------------------------------------------------------------------------------- channels and streams */

static void channels_out_of_balance(void)
{
    long queue = 0;
    for (long i = 0; i < 100; i++)
        HOTPATH_CHANNEL_SENT("queue", &queue, 1, 8, 1, i + 1);
    for (long i = 0; i < 150; i++)
        HOTPATH_CHANNEL_RECEIVED("queue", &queue, 1, 8, 0, i + 1);
    HOTPATH_CHANNEL_SENT("queue", &queue, -5, 8, -3);
    HOTPATH_CHANNEL_RECEIVED("queue", &queue, 1, (size_t)-1, 0);
    HOTPATH_CHANNEL_CAPACITY("queue", &queue, -1);
    say("end", 1);
}

static void many_instances(void)
{
    for (uintptr_t i = 1; i <= 20000; i++) {
        void *place = (void *)(i * 64);
        HOTPATH_CHANNEL_SENT("many", place, 1, 8, 1);
        HOTPATH_CHANNEL_RECEIVED("many", place, 1, 8, 0);
        {
            HOTPATH_STREAM_NEXT("many", place);
            HOTPATH_STREAM_ITEM("many", place, 1, 8);
        }
        if (i % 2)
            HOTPATH_STREAM_END("many", place);
    }
    say("end", 1);
}

/* In the middle of everything. */
static void fork_in_a_poll(void)
{
    struct request request = {.number = 1};
    int status = 0;
    HOTPATH_TASK(request.task, "forked");
    HOTPATH_CHANNEL_SENT("forked", &request, 3, 8, 3);
    {
        HOTPATH_TASK_POLL(request.task);
        HOTPATH_CHANNEL_FULL("forked", &request);
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            HOTPATH_TASK_READY(request.task);
            HOTPATH_CHANNEL_RECEIVED("forked", &request, 1, 8, 2);
            exit(3);
        }
        MUST(waitpid(child, &status, 0) == child);
    }
    HOTPATH_TASK_READY(request.task);
    say("child", WEXITSTATUS(status));
}

static void odd_texts(void)
{
    const char *volatile none = NULL;
    HOTPATH_VALUE("", 1);
    HOTPATH_COUNT_KEY("key", none, 1);
    HOTPATH_GAUGE_ADD_KEY("key", "\xff\x01zz", 1);
    HOTPATH_CHANNEL_SENT("a,b\"c\n\x1b]0;x\x07", NULL, 1, 1, 1);
    HOTPATH_STREAM_ITEM("%s%n{x=\"y\"}", NULL, 1, 1);
    say("end", 1);
}

static void exit_in_a_poll(void)
{
    struct request request = {.number = 1};
    HOTPATH_TASK(request.task, "open");
    HOTPATH_TASK_POLL(request.task);
    printf("flushed by exit");
    exit(3);
}

/* ----------------------------------------------------------------------------------------------------- sessions */

static void *start_sessions(void *unused)
{
    for (int i = 0; i < 40; i++)
        if (hotpath_start(NULL) == 0) {
            HOTPATH_BLOCK("other");
        }
    return unused;
}

/* One thread begins sessions while another ends them. */
static void start_beside_stop(void)
{
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, start_sessions, NULL) == 0);
    for (int i = 0; i < 40; i++) {
        (void)hotpath_stop();
        {
            HOTPATH_BLOCK("own");
        }
        (void)hotpath_start(NULL);
    }
    pthread_join(thread, NULL);
    say("end", 1);
}

/* Address space, in pages. */
static long pages_in_use(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    MUST(file != NULL && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    return pages;
}

static void restart(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        struct hotpath_options options = {
            .size = sizeof options, .format = "none", .max_bytes = i % 2 ? 64u << 20 : 32u << 20};
        (void)hotpath_stop();
        (void)hotpath_start(&options);
        HOTPATH_BLOCK("within");
    }
}

static void sessions_of_two_sizes(void)
{
    restart(0, 20);
    const long before = pages_in_use();
    restart(20, 60);
    say("takes no more", pages_in_use() - before < 40 * 64); /* a page of each might stay */
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"jump_over_zone", jump_over_zone},
             {"jump_over_full", jump_over_full},
             {"jump_over_loop", jump_over_loop},
             {"jump_over_next", jump_over_next},
             {"jump_over_expect", jump_over_expect},
             {"jump_over_poll", jump_over_poll},
             {"null_tasks", null_tasks},
             {"tasks_ended_twice", tasks_ended_twice},
             {"tasks_never_begun", tasks_never_begun},
             {"tasks_freed_in_a_poll", tasks_freed_in_a_poll},
             {"tasks_overwritten_and_copied", tasks_overwritten_and_copied},
             {"polls_within_polls", polls_within_polls},
             {"tasks_ended_by_two_threads", tasks_ended_by_two_threads},
             {"channels_out_of_balance", channels_out_of_balance},
             {"many_instances", many_instances},
             {"fork_in_a_poll", fork_in_a_poll},
             {"odd_texts", odd_texts},
             {"exit_in_a_poll", exit_in_a_poll},
             {"start_beside_stop", start_beside_stop},
             {"sessions_of_two_sizes", sessions_of_two_sizes}};

static int list_cases(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        puts(cases[i].name);
    return 0;
}

int main(int argc, char **argv)
{
    if (is_case(argc, argv, "list"))
        return list_cases();
    HOTPATH_MAIN();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (is_case(argc, argv, cases[i].name)) {
            cases[i].run();
            return 0;
        }
    return 97;
}
