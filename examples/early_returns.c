/*
 * A zone ends when its scope is left, however that happens: return, break, continue, goto. There is no call to
 * forget on one of the ways out.
 */
#include <hotpath.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Four ways out, one macro. */
static int parse_number(const char *text, int *ret_value)
{
    HOTPATH_MEASURE();
    if (text == NULL)
        return -1;
    if (*text == '\0')
        return -2;
    int value = 0;
    for (; *text; text++) {
        if (!isdigit((unsigned char)*text))
            return -3;
        value = value * 10 + (*text - '0');
    }
    *ret_value = value;
    return 0;
}

/* Adds up the numbers among the words; "stop" ends it. */
static int add_numbers(const char *const *words, size_t count)
{
    HOTPATH_MEASURE();
    int sum = 0;
    for (size_t i = 0; i < count; i++) {
        HOTPATH_BLOCK("word");
        int value;
        if (words[i] != NULL && strcmp(words[i], "stop") == 0)
            break; /* ends the block, then the loop */
        if (parse_number(words[i], &value) != 0)
            continue; /* ends the block, then this round */
        if (value > 100)
            goto too_large; /* ends the block, then jumps */
        sum += value;
    }
    return sum;

too_large:
    return -1;
}

int main(void)
{
    HOTPATH_MAIN();
    static const char *const words[] = {"1", "two", "", NULL, "39", "stop", "never seen"};
    static const char *const large[] = {"1", "1000"};
    int sum = 0;
    for (int round = 0; round < 1000; round++) {
        sum += add_numbers(words, sizeof words / sizeof words[0]); /* 6 words, 5 of them parsed: 40 */
        sum += add_numbers(large, sizeof large / sizeof large[0]); /* 2 words, both parsed: -1 */
    }
    printf("%d\n", sum);
    return 0;
}
