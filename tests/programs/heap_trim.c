/*
 * Grows the heap and frees all of it, again and again: the C library returns it to the kernel each time, unless
 * something has changed from which size on it does. Prints the page faults. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { ROUNDS = 50, BLOCKS = 40, BYTES = 100000 };

int main(void)
{
    struct rusage usage;
    for (int round = 0; round < ROUNDS; round++) {
        char *blocks[BLOCKS];
        for (int at = 0; at < BLOCKS; at++) {
            blocks[at] = malloc(BYTES);
            if (blocks[at] == NULL)
                return 1;
            memset(blocks[at], round, BYTES);
        }
        for (int at = BLOCKS; at-- > 0;)
            free(blocks[at]);
    }
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 1;
    printf("faults %ld\n", usage.ru_minflt);
    return 0;
}
