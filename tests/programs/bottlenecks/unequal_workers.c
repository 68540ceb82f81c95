/* Four forked workers share the parts of a picture, but one of them has got nearly all of the work: the parent,
 * and at the end one CPU, have nothing to do. All of the work is in draw_part. */
#include "bottleneck.h"

static APART void draw_part(int part)
{
    HOTPATH_MEASURE();
    compute((unsigned)(part % 3 + 1) * MILLISECOND);
}

static APART void wait_for_workers(void)
{
    HOTPATH_MEASURE();
    while (wait(NULL) > 0)
        ;
}

int main(void)
{
    HOTPATH_MAIN();
    for (int worker = 0; worker < 4; worker++) {
        const pid_t child = fork();
        must(child >= 0, "fork");
        if (child == 0) {
            for (int part = 0; part < (worker == 2 ? 600 : 15); part++)
                draw_part(part);
            return 0;
        }
    }
    wait_for_workers();
    return 0;
}
