/*
 * A unit test with a budget: the code under test may compare at most so often. Counts are exact, so unlike a time
 * limit such a test never fails because the machine was busy.
 *
 * Compiled without -DHOTPATH nothing is counted, and the test checks the result alone.
 */
#include <hotpath.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* --- the code under test */

static bool is_less(int a, int b)
{
    HOTPATH_MEASURE();
    return a < b;
}

static int lower_bound(const int *sorted, int count, int value)
{
    HOTPATH_MEASURE();
    int low = 0, high = count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (is_less(sorted[middle], value))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* --- asking the profiler: how often was this function called? */

struct question {
    const char *function;
    bool is_answered;
    unsigned long long calls;
};

static size_t column_of(const hotpath_section *section, const char *key)
{
    size_t column = 0;
    while (column < hotpath_section_columns(section) &&
           strcmp(hotpath_section_column(section, column)->key, key) != 0)
        column++;
    return column;
}

static const hotpath_section *section_named(const hotpath_results *results, const char *name)
{
    for (size_t i = 0; i < hotpath_results_sections(results); i++)
        if (strcmp(hotpath_section_name(hotpath_results_section(results, i)), name) == 0)
            return hotpath_results_section(results, i);
    return NULL;
}

static void find_calls(const hotpath_results *results, void *context)
{
    struct question *question = context;
    const hotpath_section *timing = section_named(results, "timing");
    if (timing == NULL)
        return;
    const size_t name = column_of(timing, "name"), calls = column_of(timing, "calls");
    for (size_t row = 0; row < hotpath_section_rows(timing); row++) {
        struct hotpath_cell cell;
        if (hotpath_section_cell(timing, row, name, &cell) != HOTPATH_OK ||
            strcmp(cell.text, question->function) != 0 ||
            hotpath_section_cell(timing, row, calls, &cell) != HOTPATH_OK)
            continue;
        question->is_answered = true;
        question->calls = (unsigned long long)cell.count;
    }
}

/* --- the test */

static int search_all(const int *sorted, int count)
{
    HOTPATH_SESSION(.limit = HOTPATH_NO_LIMIT); /* begins here; the report is made when this function returns */
    int wrong = 0;
    for (int i = 0; i < count; i++)
        wrong += lower_bound(sorted, count, sorted[i]) != i;
    return wrong;
}

int main(void)
{
    enum { COUNT = 1000, BUDGET = 10 * COUNT }; /* 1000 values: at most 10 comparisons each */
    int sorted[COUNT];
    for (int i = 0; i < COUNT; i++)
        sorted[i] = 2 * i;

    struct question question = {.function = "is_less"};
    hotpath_set_reporter(find_calls, &question);
    const int wrong = search_all(sorted, COUNT);
    hotpath_set_reporter(NULL, NULL);

    if (wrong != 0) {
        printf("not ok: %d of %d values not found\n", wrong, COUNT);
        return 1;
    }
    if (!question.is_answered) {
        printf("ok: all values found; comparisons not counted\n");
        return 0;
    }
    const bool is_within = question.calls <= BUDGET;
    printf("%s: %llu comparisons, budget %d\n", is_within ? "ok" : "not ok", question.calls, BUDGET);
    return is_within ? 0 : 1;
}
