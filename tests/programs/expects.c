/* Scopes that may allocate so often: what is told of them, and what becomes of the program. */
#include "support.h"

static void allocate(int times)
{
    for (int at = 0; at < times; at++) {
        void *volatile block = malloc(10);
        free(block);
    }
}

static int complaints;

static void note(const struct hotpath_unexpected *unexpected, void *context)
{
    complaints++;
    tell("counted", unexpected->is_counted);
    tell("expected", unexpected->expected);
    tell("count", unexpected->count);
    tell("bytes", unexpected->bytes);
    MUST(context == &complaints && strcmp(unexpected->function, "scope") == 0);
}

static void scope(uint64_t most, int times)
{
    HOTPATH_EXPECT_ALLOCS(most);
    allocate(times);
}

static void session_inside(void)
{
    HOTPATH_EXPECT_ALLOCS(0);
    MUST(hotpath_start(NULL) == HOTPATH_OK);
}

static void told(void)
{
    hotpath_set_on_unexpected(note, &complaints);
    scope(3, 3);
    MUST(complaints == 0);
    scope(3, 5);
    MUST(complaints == 1);
}

static void readings(void)
{
    struct hotpath_alloc_counts before, after;
    const int status = hotpath_read_allocs(&before);
    tell("status", (uint64_t)-status);
    allocate(4);
    if (status == HOTPATH_OK && hotpath_read_allocs(&after) == HOTPATH_OK) {
        tell("count", after.count - before.count);
        tell("bytes", after.bytes - before.bytes);
        tell("freed", after.freed_count - before.freed_count);
        tell("session", after.session);
    }
}

int main(int argc, char **argv)
{
    static char buffer[4096];
    setvbuf(stdout, buffer, _IOLBF, sizeof buffer);
    if (is_case(argc, argv, "measured") || is_case(argc, argv, "measured_told"))
        MUST(hotpath_start(NULL) == HOTPATH_OK);
    if (is_case(argc, argv, "told") || is_case(argc, argv, "measured_told"))
        told();
    if (is_case(argc, argv, "kept"))
        scope(2, 2);
    if (is_case(argc, argv, "broken"))
        scope(1, 2);
    if (is_case(argc, argv, "session"))
        session_inside();
    if (is_case(argc, argv, "readings") || is_case(argc, argv, "measured"))
        readings();
    return 0;
}
