/*
 * Programs in which the cost of measuring is not that of timed zones.
 *     costs pairs N    N pairs of malloc and free in one zone
 *     costs calls N    N calls with a pair in each
 *     costs values N, gauges N, channels N, streams N, tasks N, loops N    N events of that kind in one zone
 */
#include "support.h"

static void *volatile block;
static char blocks[800];

static void pair(void)
{
    block = malloc(16);
    free(block);
}

static void pairs(unsigned long count)
{
    HOTPATH_MEASURE();
    while (count-- > 0)
        pair();
}

static void call(void)
{
    HOTPATH_MEASURE();
    pair();
}

static void value(void) { HOTPATH_VALUE("value", 7); }
static void gauge(void) { HOTPATH_GAUGE_ADD("gauge", 1); }

static void channel(void)
{
    HOTPATH_CHANNEL_SENT("channel", blocks, 100, 800, 100);
    HOTPATH_CHANNEL_RECEIVED("channel", blocks, 100, 800, 0);
}

static void stream(void)
{
    HOTPATH_STREAM_NEXT("stream", NULL);
    HOTPATH_STREAM_ITEM("stream", NULL, 1, 8);
}

static void task(void)
{
    struct {
        int number;
        HOTPATH_FIELD(hotpath_task, task);
    } operation;
    HOTPATH_TASK(operation.task, "task");
    HOTPATH_TASK_READY(operation.task);
}

static void loop(void) { HOTPATH_LOOP_WAIT("loop"); }

static const struct {
    const char *name;
    void (*event)(void);
} kinds[] = {{"values", value},   {"gauges", gauge}, {"channels", channel},
             {"streams", stream}, {"tasks", task},   {"loops", loop}};

/* False: it is another case. */
static int events(int argc, char **argv, unsigned long count)
{
    HOTPATH_MEASURE();
    for (size_t at = 0; at < sizeof kinds / sizeof kinds[0]; at++)
        if (is_case(argc, argv, kinds[at].name)) {
            while (count-- > 0)
                kinds[at].event();
            return 1;
        }
    return 0;
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    unsigned long count = number(argc, argv, 2, 1000);
    if (events(argc, argv, count))
        return 0;
    if (is_case(argc, argv, "pairs"))
        pairs(count);
    else
        while (count-- > 0)
            call();
    return 0;
}
