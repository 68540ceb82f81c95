/* draw_frame works for four milliseconds, then wait_for_tick sleeps for sixteen: the program has nothing to do
 * for most of the time. */
#include "bottleneck.h"

static APART void draw_frame(void)
{
    HOTPATH_MEASURE();
    compute(4 * MILLISECOND);
}

static APART void wait_for_tick(void)
{
    HOTPATH_MEASURE();
    usleep(16000);
    COME_BACK();
}

int main(void)
{
    HOTPATH_MAIN();
    for (int frame = 0; frame < 50; frame++) {
        draw_frame();
        wait_for_tick();
    }
    return 0;
}
