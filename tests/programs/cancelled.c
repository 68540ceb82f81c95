/*
 * Threads that are cancelled while they are in the recorder. Each asks for its own end, and so ends at the next
 * cancellation point; nothing of the recorder is one. It says what it did, and ends after that. Then main does the
 * same: it would wait forever for a lock that the thread has taken with it.
 *     cancelled function     the first call of a function that the compiler measures, whose name is looked up
 *     cancelled zone         the first zone of a thread
 *     cancelled report       a report
 *     cancelled restart      the end of the session, and the next one
 */
#define _GNU_SOURCE 1
#include <hotpath.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static __attribute__((noinline)) void named_by_the_compiler(void) { __asm__ volatile(""); }

HOTPATH_NO_MEASURE static void zone(void) { HOTPATH_MEASURE(); }

HOTPATH_NO_MEASURE static void report(void) { hotpath_report(); }

HOTPATH_NO_MEASURE static void restart(void)
{
    hotpath_stop();
    hotpath_start(NULL);
    zone();
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"function", named_by_the_compiler}, {"zone", zone}, {"report", report}, {"restart", restart}};

static void (*run)(void);
static int is_done;

HOTPATH_NO_MEASURE static void *end_there(void *unused)
{
    pthread_cancel(pthread_self());
    run();
    is_done = 1;
    pthread_testcancel();
    return unused;
}

HOTPATH_NO_MEASURE int main(int argc, char **argv)
{
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        pthread_t thread;
        void *result = NULL;
        if (argc < 2 || strcmp(argv[1], cases[at].name) != 0)
            continue;
        run = cases[at].run;
        if (pthread_create(&thread, NULL, end_there, NULL) != 0 || pthread_join(thread, &result) != 0)
            return 1;
        printf("%s%s\n", is_done ? "done" : "left in the middle", result == PTHREAD_CANCELED ? ", cancelled" : "");
        fflush(stdout);
        run();
        puts("done again");
    }
    return 0;
}
