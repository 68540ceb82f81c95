/* Scopes with an allocation limit: what is reported when they exceed it, and what happens to the program. */
#include "support.h"

#include <pthread.h>

#include "hook_entries.h"

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

static void called(int times)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < times; at++) {
        HOTPATH_BLOCK("part");
        allocate(1);
    }
    if (times > 2)
        called(times - 2);
}

static void *call_aside(void *context)
{
    called(1);
    return context;
}

static void scope_of_calls(uint64_t most, int times)
{
    HOTPATH_EXPECT_CALLS("called", most);
    called(times);
}

static void scope_of_parts(uint64_t most, int times)
{
    HOTPATH_EXPECT_CALLS("part", most);
    called(times);
}

static void scope_aside(void)
{
    HOTPATH_EXPECT_CALLS("called", 0);
    HOTPATH_EXPECT_CALLS("not there", 0);
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, call_aside, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static void note_calls(const struct hotpath_unexpected *unexpected, void *context)
{
    complaints++;
    tell(unexpected->called, unexpected->count);
    MUST(context == NULL && unexpected->is_counted == 1 && unexpected->bytes == 0);
}

/* Recursion counts, other threads do not, and neither do calls before. */
static void calls(void)
{
    hotpath_set_on_unexpected(note_calls, NULL);
    MUST(hotpath_start(NULL) == HOTPATH_OK);
    called(7);
    scope_of_calls(3, 5);
    scope_of_parts(9, 5);
    scope_aside();
    MUST(complaints == 0);
    scope_of_calls(2, 5);
    scope_of_parts(8, 5);
    MUST(complaints == 2);
}

static void session_ends_inside(void)
{
    MUST(hotpath_start(NULL) == HOTPATH_OK);
    HOTPATH_EXPECT_CALLS("called", 0);
    MUST(hotpath_stop() == HOTPATH_OK && hotpath_start(NULL) == HOTPATH_OK);
}

/* Each step is the same number of instructions. */
__attribute__((noinline)) static void spin(int steps)
{
    for (int step = 0; step < steps; step++)
        __asm__ volatile("" : "+r"(step));
}

static void *spin_aside(void *context)
{
    spin(100000);
    return context;
}

static void scope_of_instructions(uint64_t most, int steps)
{
    HOTPATH_EXPECT_INSTRUCTIONS(most);
    spin(steps);
}

static void scope_beside_a_thread(uint64_t most)
{
    HOTPATH_EXPECT_INSTRUCTIONS(most);
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, spin_aside, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static uint64_t instructions;

static void note_instructions(const struct hotpath_unexpected *unexpected, void *context)
{
    complaints++;
    instructions = unexpected->count;
    MUST(context == NULL && unexpected->is_counted == 1 && strcmp(unexpected->what, "instructions") == 0 &&
         unexpected->called == NULL && strcmp(unexpected->function, "scope_of_instructions") == 0);
}

static uint64_t instructions_of(int steps)
{
    scope_of_instructions(0, steps);
    return instructions;
}

/* Those of other threads and of the library do not count, and the limit itself is permitted. */
static void limit_instructions(void)
{
    hotpath_set_on_unexpected(note_instructions, NULL);
    instructions_of(1); /* names are bound at the first call */
    const uint64_t few = instructions_of(1000), many = instructions_of(3000);
    MUST(complaints == 3 && many > few && (many - few) % 2000 == 0);
    scope_of_instructions(few, 1000);
    scope_beside_a_thread(100000);
    MUST(complaints == 3);
    scope_of_instructions(few - 1, 1000);
    MUST(complaints == 4 && instructions == few);
    tell("around", few - 1000 * (many - few) / 2000);
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

static uint64_t counted(int times)
{
    struct hotpath_alloc_counts before, after;
    MUST(hotpath_read_allocs(&before) == HOTPATH_OK);
    allocate(times);
    MUST(hotpath_read_allocs(&after) == HOTPATH_OK && after.session == before.session);
    return after.count - before.count;
}

/* malloc is passed on as long as nothing counts. */
static int is_passed_on;

static void pass_on(int is_on) { is_passed_on = is_on; }

static void switched(void)
{
    struct hotpath_options timing = {.size = sizeof timing, .record = "timing"};
    hotpath_v1_alloc_switch(pass_on);
    MUST(is_passed_on);
    MUST(hotpath_start(NULL) == HOTPATH_OK && !is_passed_on && counted(3) == 3);
    MUST(hotpath_stop() == HOTPATH_OK && is_passed_on);
    MUST(hotpath_start(&timing) == HOTPATH_OK && is_passed_on);
    MUST(hotpath_stop() == HOTPATH_OK && is_passed_on);
    MUST(counted(4) == 4 && !is_passed_on);
    MUST(hotpath_start(NULL) == HOTPATH_OK && hotpath_stop() == HOTPATH_OK && !is_passed_on && counted(5) == 5);
}

/* Counting that one thread has started is for all threads. */
static void *count_aside(void *context)
{
    MUST(counted(6) == 6);
    return context;
}

static void aside(void)
{
    pthread_t thread;
    MUST(counted(7) == 7);
    MUST(pthread_create(&thread, NULL, count_aside, NULL) == 0 && pthread_join(thread, NULL) == 0);
    MUST(counted(8) == 8);
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
    if (is_case(argc, argv, "calls"))
        calls();
    if (is_case(argc, argv, "calls_broken") && hotpath_start(NULL) == HOTPATH_OK)
        scope_of_calls(0, 1);
    if (is_case(argc, argv, "calls_nowhere"))
        scope_of_calls(0, 1);
    if (is_case(argc, argv, "calls_session"))
        session_ends_inside();
    if (is_case(argc, argv, "instructions"))
        limit_instructions();
    if (is_case(argc, argv, "instructions_broken"))
        scope_of_instructions(100, 1000);
    if (is_case(argc, argv, "instructions_nowhere")) {
        scope_of_instructions(0, 1);
        scope_of_instructions(0, 1);
    }
    if (is_case(argc, argv, "readings") || is_case(argc, argv, "measured"))
        readings();
    if (is_case(argc, argv, "switched"))
        switched();
    if (is_case(argc, argv, "aside"))
        aside();
    return 0;
}
