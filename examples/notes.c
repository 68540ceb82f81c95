/*
 * Notes: an average says that a function is slow now and then, a note says on which input. The latest calls of a
 * function with `.log = 1` are kept one by one, each with what HOTPATH_NOTE attached to it, and the section `calls`
 * shows them:
 *
 *     build/release/examples/notes
 *
 * Without a change in the source HOTPATH_LOG does the same for any measured function; HOTPATH_LOGS_LIMIT says how
 * many calls are kept.
 */
#include <hotpath.h>

#include <ctype.h>
#include <stdio.h>

static int count_words(const char *text)
{
    HOTPATH_MEASURE();
    int words = 0;
    for (const char *at = text; *at != '\0'; at++)
        words += isspace((unsigned char)at[0]) == 0 && (at[1] == '\0' || isspace((unsigned char)at[1]) != 0);
    return words;
}

/* The note is formatted when the call may be kept, so nothing is spent on it in a program that is not measured. */
static int index_page(int number, const char *text)
{
    HOTPATH_MEASURE(.log = 1);
    HOTPATH_NOTE("page %d", number);
    const int words = count_words(text);
    if (words == 0) {
        HOTPATH_NOTE("empty"); /* added to the first one: "page 2, empty" */
        return 0;
    }
    HOTPATH_NOTE("%d words", words);
    return words;
}

int main(void)
{
    HOTPATH_MAIN();
    static const char *const pages[] = {"the quick brown fox", "", "jumps over", "the lazy dog"};
    int words = 0;
    for (int i = 0; i < 4; i++)
        words += index_page(i + 1, pages[i]);
    printf("%d words\n", words);
    return 0;
}
