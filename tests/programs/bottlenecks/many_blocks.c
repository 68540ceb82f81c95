/* add_word takes a block for each word, and forget_words frees them one by one: malloc and free have most of the
 * CPU time. Words are taken in an order that is not that of their addresses. */
#include "bottleneck.h"

struct word {
    struct word *next;
    char text[40];
};

enum { LISTS = 997 };
static struct word *lists[LISTS];

static APART void add_word(unsigned number)
{
    HOTPATH_MEASURE();
    struct word *word = malloc(sizeof(struct word) + number * 7919u % 400u);
    must(word != NULL, "malloc");
    word->text[0] = (char)number;
    word->next = lists[number * 31u % LISTS];
    lists[number * 31u % LISTS] = word;
}

static APART void forget_words(void)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < LISTS; at++) {
        while (lists[at]) {
            struct word *next = lists[at]->next;
            free(lists[at]);
            lists[at] = next;
        }
    }
}

int main(void)
{
    HOTPATH_MAIN();
    for (unsigned turn = 0; turn < 60; turn++) {
        for (unsigned at = 0; at < 100000; at++)
            add_word(at + turn);
        forget_words();
    }
    return 0;
}
