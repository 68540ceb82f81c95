/* fill_table is the first to write into each page of a new table: most of the time, the kernel handles page
 * faults there. */
#include "bottleneck.h"

#include <sys/mman.h>

enum { SIZE = 64 << 20, PAGE = 4096 };

static APART void fill_table(char *table)
{
    HOTPATH_MEASURE();
    for (size_t at = 0; at < SIZE; at += PAGE)
        table[at] = 1;
}

static APART long add_table(const char *table)
{
    HOTPATH_MEASURE();
    long sum = 0;
    for (size_t at = 0; at < SIZE; at += PAGE)
        sum += table[at];
    return sum;
}

int main(void)
{
    HOTPATH_MAIN();
    long sum = 0;
    for (int at = 0; at < 60; at++) {
        char *table = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must(table != MAP_FAILED, "mmap");
        madvise(table, SIZE, MADV_NOHUGEPAGE);
        fill_table(table);
        sum += add_table(table);
        munmap(table, SIZE);
    }
    return sum == 0;
}
