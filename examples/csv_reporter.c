/*
 * An output of one's own: the callback gets the same rows the built-in table is made of, and walks sections,
 * columns and cells. Here it writes CSV, one table per section, with raw numbers.
 */
#include <hotpath.h>

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static void print_text(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

static void print_cell(const struct hotpath_cell *cell)
{
    if (!cell->has_value)
        return; /* an empty field */
    switch (cell->unit) {
    case HOTPATH_UNIT_TEXT:
    case HOTPATH_UNIT_STATE:
        print_text(cell->text);
        break;
    case HOTPATH_UNIT_PERCENT:
    case HOTPATH_UNIT_NUMBER:
    case HOTPATH_UNIT_RATE:
        printf("%.3f", cell->number);
        break;
    case HOTPATH_UNIT_SIGNED_COUNT:
    case HOTPATH_UNIT_SIGNED_BYTES:
        printf("%" PRId64, (int64_t)cell->count);
        break;
    case HOTPATH_UNIT_HISTOGRAM:
    case HOTPATH_UNIT_SERIES:
        break; /* no numbers for a table: tree_reporter.c draws one */
    default:   /* counts, nanoseconds, bytes */
        printf("%" PRIu64, cell->count);
    }
}

static void print_section(const hotpath_section *section)
{
    const size_t columns = hotpath_section_columns(section);
    printf("# %s\n", hotpath_section_name(section));
    for (size_t column = 0; column < columns; column++)
        printf("%s%s", column ? "," : "", hotpath_section_column(section, column)->key);
    for (size_t row = 0; row < hotpath_section_rows(section); row++)
        for (size_t column = 0; column < columns; column++) {
            struct hotpath_cell cell;
            fputs(column ? "," : "\n", stdout);
            if (hotpath_section_cell(section, row, column, &cell) == HOTPATH_OK)
                print_cell(&cell);
        }
    putchar('\n');
}

static void print_csv(const hotpath_results *results, void *context)
{
    (void)context;
    for (size_t i = 0; i < hotpath_results_sections(results); i++)
        print_section(hotpath_results_section(results, i));
}

static void step(int n)
{
    HOTPATH_MEASURE();
    const struct timespec time = {0, n * 1000};
    nanosleep(&time, NULL);
}

int main(void)
{
    HOTPATH_MAIN();
    hotpath_set_reporter(print_csv, NULL);
    for (int n = 0; n < 100; n++)
        step(n);
    return 0;
}
