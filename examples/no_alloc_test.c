/*
 * A unit test for code that must not allocate: a real-time loop, a signal handler, a hot path.
 * HOTPATH_EXPECT_ALLOCS ends the program with one line when more is allocated in its scope than it says, or tells a
 * function of the test's own, as here.
 *
 * Compiled without -DHOTPATH nothing is counted, and the test checks the results alone.
 */
#include <hotpath.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the code under test */

static size_t count_words(const char *text)
{
    size_t words = 0;
    for (const char *at = text; *at != '\0'; at++)
        words += *at != ' ' && (at == text || at[-1] == ' ');
    return words;
}

/* Cuts a copy to pieces: right, but it allocates. */
static size_t count_words_by_copy(const char *text)
{
    size_t words = 0;
    char *copy = strdup(text), *rest = copy;
    for (char *word; copy != NULL && (word = strtok_r(rest, " ", &rest)) != NULL;)
        words++;
    free(copy);
    return words;
}

/* --- the test */

static void report_failure(const struct hotpath_unexpected *unexpected, void *failures)
{
    printf("not ok: %s allocated %llu times, %llu bytes\n", unexpected->function,
           (unsigned long long)unexpected->count, (unsigned long long)unexpected->bytes);
    ++*(int *)failures;
}

static size_t without_allocating(const char *text)
{
    HOTPATH_EXPECT_ALLOCS(0);
    return count_words(text);
}

static size_t with_one_allocation(const char *text)
{
    HOTPATH_EXPECT_ALLOCS(1);
    return count_words_by_copy(text);
}

static size_t with_one_too_many(const char *text)
{
    HOTPATH_EXPECT_ALLOCS(0);
    return count_words_by_copy(text);
}

int main(void)
{
    int failures = 0;
    hotpath_set_on_unexpected(report_failure, &failures);
    const size_t words = without_allocating("code that must not allocate") + with_one_allocation("or only once");
    printf("%s: %zu words, %d complaints\n", words == 8 && failures == 0 ? "ok" : "not ok", words, failures);
    with_one_too_many("and this does");
    return 0;
}
