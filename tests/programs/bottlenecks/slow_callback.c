/* A loop calls the handlers of four kinds of events through a table. They all call hash_bytes, but handle_report
 * does so with twenty times as many bytes as the others. */
#include "bottleneck.h"

static APART unsigned hash_bytes(unsigned count)
{
    unsigned sum = 0;
    for (unsigned at = 0; at < count; at++) {
        sum = sum * 31u + at;
        __asm__ volatile("" : "+r"(sum));
    }
    return sum;
}

#define HANDLER(name, bytes)                                                                                       \
    static APART unsigned name(unsigned event)                                                                     \
    {                                                                                                              \
        HOTPATH_MEASURE();                                                                                         \
        unsigned sum = hash_bytes(bytes) + event;                                                                  \
        __asm__ volatile("" : "+r"(sum));                                                                          \
        return sum;                                                                                                \
    }

HANDLER(handle_key, 50000)
HANDLER(handle_click, 50000)
HANDLER(handle_timer, 50000)
HANDLER(handle_report, 1000000)

static unsigned (*const handlers[])(unsigned) = {handle_key, handle_click, handle_timer, handle_report};

static APART unsigned run_loop(void)
{
    HOTPATH_MEASURE();
    unsigned sum = 0;
    for (unsigned event = 0; event < 3600; event++)
        sum += handlers[event % 4](event);
    return sum;
}

int main(void)
{
    HOTPATH_MAIN();
    return run_loop() == 1;
}
