/*
 * siglongjmp out of a handler with zones, at a high rate, so that it hits every part of the recorder. After it, the
 * time of recursive functions must be in their totals.
 */
#include "support.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf back;
static volatile sig_atomic_t may_jump, is_calm;
static volatile unsigned long jumps;

static void in_handler(void) { HOTPATH_MEASURE(); }

static void on_alarm(int signal)
{
    (void)signal;
    in_handler();
    if (may_jump) {
        jumps++;
        siglongjmp(back, 1);
    }
}

static __attribute__((noinline)) void inner(void)
{
    HOTPATH_MEASURE();
    if (is_calm)
        spin_us(500);
}

static __attribute__((noinline)) void outer(int depth)
{
    HOTPATH_MEASURE();
    inner();
    if (depth > 0)
        outer(depth - 1);
    inner();
}

static __attribute__((noinline)) void around(void)
{
    HOTPATH_MEASURE();
    if (sigsetjmp(back, 1) == 0) {
        may_jump = 1;
        for (int i = 0; i < 200; i++)
            outer(10);
    }
    may_jump = 0;
}

static void set_timer(long us)
{
    const struct itimerval timer = {{0, us}, {0, us}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static uint64_t outer_total;

static void read_total(const hotpath_results *results, void *context)
{
    const hotpath_section *section = hotpath_results_section(results, 0);
    (void)context;
    for (size_t row = 0; row < hotpath_section_rows(section); row++) {
        struct hotpath_cell name, total;
        for (size_t column = 0; column < hotpath_section_columns(section); column++) {
            const char *key = hotpath_section_column(section, column)->key;
            if (strcmp(key, "name") == 0)
                MUST(hotpath_section_cell(section, row, column, &name) == HOTPATH_OK);
            if (strcmp(key, "total_ns") == 0)
                MUST(hotpath_section_cell(section, row, column, &total) == HOTPATH_OK);
        }
        if (strcmp(name.text, "outer") == 0)
            outer_total = total.count;
    }
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN(.report = "timing");
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
    set_timer(100);
    const uint64_t end = now_ns() + number(argc, argv, 1, 600) * 1000000;
    while (now_ns() < end)
        around();
    set_timer(0);
    is_calm = 1;
    hotpath_set_reporter(read_total, NULL);
    hotpath_report();
    const uint64_t before = outer_total, from = now_ns();
    for (int i = 0; i < 20; i++)
        outer(4);
    const uint64_t took = now_ns() - from;
    hotpath_report();
    hotpath_set_reporter(NULL, NULL);
    tell("jumps", jumps);
    tell("took_ns", took);
    tell("total_ns", outer_total - before);
    return 0;
}
