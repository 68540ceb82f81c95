/*
 * A picture of one's own: the callback draws the call tree, with a bar for the time of each path, and below it how
 * long the calls of each function took, as a histogram.
 */
#include <hotpath.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const hotpath_section *section_named(const hotpath_results *results, const char *name)
{
    for (size_t i = 0; i < hotpath_results_sections(results); i++)
        if (strcmp(hotpath_section_name(hotpath_results_section(results, i)), name) == 0)
            return hotpath_results_section(results, i);
    return NULL;
}

static size_t column_of(const hotpath_section *section, const char *key)
{
    size_t column = 0;
    while (column < hotpath_section_columns(section) &&
           strcmp(hotpath_section_column(section, column)->key, key) != 0)
        column++;
    return column;
}

static struct hotpath_cell cell_of(const hotpath_section *section, size_t row, const char *key)
{
    struct hotpath_cell cell = {0};
    hotpath_section_cell(section, row, column_of(section, key), &cell);
    return cell;
}

static void draw_bar(double part)
{
    for (int i = 0; i < 20; i++)
        putchar(i < 20 * part ? '#' : '.');
}

static void draw_tree(const hotpath_section *tree)
{
    for (size_t i = 0; i < hotpath_section_rows(tree); i++) {
        struct hotpath_row row = {.size = sizeof row};
        hotpath_section_row(tree, i, &row);
        draw_bar(cell_of(tree, i, "percent_total").number / 100);
        printf(" %*s%s, %" PRIu64 " calls\n", (int)(2 * row.depth), "", cell_of(tree, i, "name").text,
               cell_of(tree, i, "calls").count);
    }
}

static void draw_histogram(const hotpath_section *timing, size_t row)
{
    struct hotpath_histogram histogram = {.size = sizeof histogram};
    uint64_t most = 0;
    hotpath_section_histogram(timing, row, column_of(timing, "histogram_ns"), &histogram);
    printf("\n%s\n", cell_of(timing, row, "name").text);
    for (size_t i = 0; i < histogram.bars; i++)
        most = histogram.amounts[i] > most ? histogram.amounts[i] : most;
    for (size_t i = 0; i < histogram.bars; i++) {
        draw_bar((double)histogram.amounts[i] / (double)most);
        printf(" %" PRIu64 " calls of %.3f to %.3f us\n", histogram.amounts[i], histogram.from[i] / 1000,
               histogram.to[i] / 1000);
    }
}

static void draw(const hotpath_results *results, void *context)
{
    const hotpath_section *tree = section_named(results, "calltree"), *timing = section_named(results, "timing");
    (void)context;
    if (tree != NULL)
        draw_tree(tree);
    for (size_t row = 0; timing != NULL && row < hotpath_section_rows(timing); row++)
        draw_histogram(timing, row);
}

static void wait_for_disk(int n)
{
    HOTPATH_MEASURE();
    const struct timespec time = {0, n * 5000};
    nanosleep(&time, NULL);
}

static void look_up(int n)
{
    HOTPATH_MEASURE();
    if (n % 10 == 0)
        wait_for_disk(n);
}

static void answer(int n)
{
    HOTPATH_MEASURE();
    look_up(n);
    look_up(n + 1);
}

int main(void)
{
    HOTPATH_MAIN(.report = "timing,calltree");
    hotpath_set_reporter(draw, NULL);
    for (int n = 0; n < 100; n++)
        answer(n);
    return 0;
}
