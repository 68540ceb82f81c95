/*
 * Two ways to add up the numbers of a text. Both allocate the same in all; one needs a thousand times the memory of
 * the other. Total does not tell them apart, Peak does.
 */
#include <hotpath.h>

#include <stdio.h>
#include <stdlib.h>

enum { LINES = 1000, LINE_BYTES = 256 };

static char *make_line(int number)
{
    char *line = malloc(LINE_BYTES);
    if (line == NULL)
        exit(1);
    snprintf(line, LINE_BYTES, "%d", number);
    return line;
}

/* Everything first, then the sum. */
static long sum_of_all_lines(void)
{
    HOTPATH_MEASURE();
    static char *lines[LINES];
    long sum = 0;
    for (int number = 0; number < LINES; number++)
        lines[number] = make_line(number);
    for (int number = 0; number < LINES; number++) {
        sum += atol(lines[number]);
        free(lines[number]);
    }
    return sum;
}

/* Line by line. */
static long sum_line_by_line(void)
{
    HOTPATH_MEASURE();
    long sum = 0;
    for (int number = 0; number < LINES; number++) {
        char *line = make_line(number);
        sum += atol(line);
        free(line);
    }
    return sum;
}

int main(void)
{
    HOTPATH_MAIN();
    const long all = sum_of_all_lines(), one = sum_line_by_line();
    printf("%ld %ld\n", all, one);
    return all != one;
}
