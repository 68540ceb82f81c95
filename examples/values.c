/*
 * Values of the program's own, beside its times: how large requests are, how full a queue is, how many bytes went
 * out, and what an expression yields. The section `values` has the last, the least, the largest, the mean and
 * percentiles of each.
 */
#include <hotpath.h>

#include <stdio.h>

#define REQUESTS 1000

static unsigned random_number(void)
{
    static unsigned state = 1;
    state = state * 1103515245u + 12345u;
    return state >> 16 & 1023;
}

static void handle_request(unsigned number)
{
    HOTPATH_MEASURE();
    const unsigned size = 64 + random_number();
    HOTPATH_VALUE("request size", size);
    HOTPATH_COUNT_KEY("bytes", number % 4 == 0 ? "images" : "pages", size);
}

int main(void)
{
    HOTPATH_MAIN(.columns = "recent");
    unsigned done = 0, waiting = 0;
    HOTPATH_VALUE("state", "filling");
    while (done < REQUESTS) {
        for (unsigned come = random_number() % 8; come > 0 && waiting < 20; come--, waiting++)
            HOTPATH_GAUGE_ADD("queue", 1);
        for (unsigned go = random_number() % 8; go > 0 && waiting > 0 && done < REQUESTS; go--, waiting--) {
            handle_request(done++);
            HOTPATH_GAUGE_ADD("queue", -1);
        }
    }
    HOTPATH_GAUGE_SET("threads", 1);
    HOTPATH_VALUE("state", "done");
    printf("%u\n", HOTPATH_DEBUG(done - REQUESTS / 2));
    return 0;
}
