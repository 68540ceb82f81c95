/* Without hotpath: known work in functions of its own. Argument: percent by which `hash` does more. */
#include <stdlib.h>

static volatile unsigned sink;

__attribute__((noinline)) static void hash(int steps)
{
    unsigned sum = 0;
    for (int step = 0; step < steps; step++) {
        sum = sum * 31 + (unsigned)step;
        __asm__ volatile("" : "+r"(sum));
    }
    sink += sum;
}

static int compare(const void *one, const void *other) { return *(const int *)one - *(const int *)other; }

__attribute__((noinline)) static void sort(int count)
{
    int *numbers = malloc((size_t)count * sizeof *numbers);
    unsigned number = 1;
    for (int at = 0; at < count; at++) {
        number = number * 1103515245 + 12345;
        numbers[at] = (int)(number >> 8);
    }
    qsort(numbers, (size_t)count, sizeof *numbers, compare);
    sink += (unsigned)numbers[5];
    free(numbers);
}

int main(int count, char **arguments)
{
    const int percent = count > 1 ? atoi(arguments[1]) : 0;
    for (int round = 0; round < 20; round++)
        hash(10000 + 100 * percent);
    sort(10000);
    return 0;
}
