/*
 * A unit test for code that must stay fast, on machines whose clocks are too noisy to tell.
 *
 *     hotpath run --clock instructions -f none ./instruction_limit
 *
 * HOTPATH_EXPECT_INSTRUCTIONS ends the program with one line when more instructions are executed in its scope than
 * it says, or tells a function of the test's own, as here. Started without that clock, or compiled without
 * -DHOTPATH, nothing is counted, and the test checks the results alone.
 */
#include <hotpath.h>

#include <stdio.h>

/* --- the code under test */

static size_t count_words(const char *line)
{
    size_t words = 0;
    for (const char *at = line; *at != '\0'; at++)
        words += *at != ' ' && (at == line || at[-1] == ' ');
    return words;
}

/* Right, but for each letter it begins again. */
static size_t count_words_slowly(const char *line)
{
    size_t words = 0;
    for (const char *at = line; *at != '\0'; at++) {
        size_t spaces = 0;
        for (const char *before = line; before <= at; before++)
            spaces += *before == ' ';
        words = spaces + 1;
    }
    return words;
}

/* --- the test */

static const char *volatile text = "a text of some words, which is long enough for the difference to show";

static void report_failure(const struct hotpath_unexpected *unexpected, void *failures)
{
    printf("not ok: %s may execute %llu instructions\n", unexpected->function,
           (unsigned long long)unexpected->expected);
    ++*(int *)failures;
}

/* Names of libraries that are bound at their first call take some of them. */
static size_t in_time(void)
{
    HOTPATH_EXPECT_INSTRUCTIONS(3000);
    return count_words(text);
}

static size_t too_slowly(void)
{
    HOTPATH_EXPECT_INSTRUCTIONS(3000);
    return count_words_slowly(text);
}

int main(void)
{
    int failures = 0;
    hotpath_set_on_unexpected(report_failure, &failures);
    const size_t words = in_time();
    printf("%s: %zu words, %d complaints\n", words == 14 && failures == 0 ? "ok" : "not ok", words, failures);
    printf("slowly: %zu words\n", too_slowly());
    return 0;
}
