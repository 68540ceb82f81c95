/*
 * A bottleneck in the allocator: a list of small nodes is made and thrown away again and again, and little else is
 * done. A processor is busy with that, but to compute less would not help: the verdict is `allocation-heavy`. An
 * array would.
 *
 *     hotpath run -- build/release/examples/bottleneck_alloc
 */
#include <hotpath.h>

#include <stdio.h>
#include <stdlib.h>

#define NODES 1000

struct node {
    struct node *next;
    long value;
};

static long sum_of_list(long from)
{
    HOTPATH_MEASURE();
    struct node *first = NULL;
    long sum = 0;
    for (long i = 0; i < NODES; i++) {
        struct node *node = malloc(sizeof *node);
        if (node == NULL)
            abort();
        *node = (struct node){first, from + i};
        first = node;
    }
    while (first != NULL) {
        struct node *next = first->next;
        sum += first->value;
        free(first);
        first = next;
    }
    return sum;
}

int main(void)
{
    HOTPATH_MAIN(.cpu = 1);
    long sum = 0;
    for (long i = 0; i < 10000; i++)
        sum += sum_of_list(i);
    printf("%ld\n", sum);
    return 0;
}
