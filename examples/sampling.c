/*
 * Sampling: a function that does very little is called very often, and to time each call would take longer than the
 * calls do. With a rate of 1/16 all calls are counted, one in sixteen is timed, and the times are scaled up; rows
 * of which not all calls were timed have a mark, ^.
 *
 * From outside it is HOTPATH_TIME_SAMPLING_RATE=1/16, and a rate of 0 counts only.
 */
#include <hotpath.h>

#include <stdint.h>
#include <stdio.h>

#define ROWS 1000
#define COLUMNS 500

static uint32_t pixel(uint32_t row, uint32_t column)
{
    HOTPATH_MEASURE();
    return (row * 31 + column * 17) & 0xff;
}

static uint32_t render_row(uint32_t row)
{
    HOTPATH_MEASURE();
    uint32_t sum = 0;
    for (uint32_t column = 0; column < COLUMNS; column++)
        sum += pixel(row, column);
    return sum;
}

int main(void)
{
    HOTPATH_MAIN(.time_sampling_rate = "1/16");
    uint32_t sum = 0;
    for (uint32_t row = 0; row < ROWS; row++)
        sum += render_row(row);
    printf("%u\n", sum);
    return 0;
}
