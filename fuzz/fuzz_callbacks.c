/*
 * Callbacks with arbitrary behaviour: they read rows that exist and that do not, return early, request another
 * report from within one, or leave it by longjmp. Results must stay the same meanwhile, and later reports must
 * work. SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdlib.h>

#include "exact_memory.h"
#include "reports.h"
#include "section.h"
#include "shapes.h"

#define DEEPEST 3u
#define MOST_LOOKS 64u

static struct fuzz_input input;
static struct hp_snapshots sessions;
static struct hp_settings settings;
static jmp_buf way_out;
static unsigned depth;

static void reporter(const hotpath_results *results, void *context);

/* -------------------------------------------------------------------------------------- reading results */

static uint64_t sum_of(const char *text)
{
    uint64_t sum = 0;
    for (; *text != '\0'; text++)
        sum = sum * 31 + (unsigned char)*text;
    return sum;
}

/* A cell that exists has the unit of its column, and a text exactly if that is its unit. */
static uint64_t look_at_cell(const hotpath_section *section, size_t row, size_t column)
{
    struct hotpath_cell cell;
    const bool is_there = row < hotpath_section_rows(section) && column < hotpath_section_columns(section);
    const int status = hotpath_section_cell(section, row, column, &cell);
    REQUIRE((status == HOTPATH_OK) == is_there);
    if (!is_there) {
        REQUIRE(!cell.has_value && cell.text == NULL && cell.count == 0);
        return 0;
    }
    REQUIRE(cell.unit == hotpath_section_column(section, column)->unit);
    REQUIRE((cell.text != NULL) == (cell.unit == HOTPATH_UNIT_TEXT || cell.unit == HOTPATH_UNIT_STATE));
    return cell.text != NULL ? sum_of(cell.text) : cell.count;
}

/* A row's parent, if any, comes before it; bars do not overlap. */
static uint64_t look_at_row(const hotpath_section *section, size_t row)
{
    struct hotpath_row its = {.size = sizeof its}, before = {.size = sizeof before};
    REQUIRE(hotpath_section_row(section, row, &its) == HOTPATH_OK && its.id != 0);
    bool has_parent = its.parent == 0;
    for (size_t above = row; !has_parent && above-- > 0;) {
        REQUIRE(hotpath_section_row(section, above, &before) == HOTPATH_OK);
        has_parent = before.id == its.parent && before.depth < its.depth;
    }
    REQUIRE(has_parent);
    for (size_t column = 0; column < hotpath_section_columns(section); column++) {
        struct hotpath_histogram histogram = {.size = sizeof histogram};
        const bool is_one = hotpath_section_column(section, column)->unit == HOTPATH_UNIT_HISTOGRAM;
        REQUIRE((hotpath_section_histogram(section, row, column, &histogram) == HOTPATH_OK) == is_one);
        for (size_t bar = 0; bar < histogram.bars; bar++) {
            REQUIRE(histogram.amounts[bar] > 0);
            REQUIRE(histogram.labels != NULL || histogram.from[bar] <= histogram.to[bar]);
        }
    }
    return its.id;
}

static uint64_t look_at_section(const hotpath_section *section)
{
    uint64_t sum = sum_of(hotpath_section_name(section)) + sum_of(hotpath_section_description(section));
    const size_t columns = hotpath_section_columns(section), rows = hotpath_section_rows(section);
    REQUIRE(rows <= hotpath_section_total_rows(section));
    REQUIRE(hotpath_section_column(section, columns) == NULL && hotpath_section_column(section, SIZE_MAX) == NULL);
    for (size_t column = 0; column < columns; column++)
        sum += sum_of(hotpath_section_column(section, column)->key);
    for (size_t row = 0; row < rows; row++)
        sum = sum * 19 + look_at_row(section, row);
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++)
            sum = sum * 17 + look_at_cell(section, row, column);
    return sum;
}

static uint64_t look_at_all(const hotpath_results *results)
{
    uint64_t sum = hotpath_results_elapsed_ns(results) + sum_of(hotpath_results_label(results));
    const size_t count = hotpath_results_sections(results);
    REQUIRE(hotpath_results_section(results, count) == NULL && hotpath_results_section(results, SIZE_MAX) == NULL);
    for (size_t at = 0; at < count; at++)
        sum = sum * 13 + look_at_section(hotpath_results_section(results, at));
    return sum;
}

/* ---------------------------------------------------------------------------------- actions of callbacks */

static void report_within(void)
{
    if (depth >= DEEPEST)
        return;
    depth++;
    REQUIRE(hp_report_hand_over(&sessions, &settings, reporter, NULL) == HOTPATH_OK);
    depth--;
}

static void render_within(void)
{
    static struct fuzz_output output;
    settings.output.format = HP_FORMAT_JSON;
    fuzz_render(sessions.all, sessions.count, &settings, 0, &output);
    fuzz_require_json(&output);
}

/* One action of a callback. False: it returns. */
static bool act(const hotpath_results *results)
{
    const uint8_t what = fuzz_byte(&input);
    const hotpath_section *section = hotpath_results_section(results, what / 8);
    switch (what % 8) {
    case 0:
        return false;
    case 1:
        longjmp(way_out, 1);
    case 2:
        report_within();
        break;
    case 3:
        render_within();
        break;
    case 4:
        if (section != NULL)
            look_at_section(section);
        break;
    default:
        if (section != NULL)
            look_at_cell(section, (size_t)fuzz_number(&input, what % 2 ? 1 : 8), (size_t)fuzz_number(&input, 1));
    }
    return true;
}

static void reporter(const hotpath_results *results, void *context)
{
    (void)context;
    const uint64_t before = look_at_all(results);
    for (unsigned looks = 0; looks < MOST_LOOKS && act(results); looks++)
        continue;
    REQUIRE(look_at_all(results) == before);
}

/* At the end: an ordinary callback gets its report. */
static void count_calls(const hotpath_results *results, void *context)
{
    look_at_all(results);
    ++*(unsigned *)context;
}

static void report(void)
{
    unsigned calls = 0;
    const size_t pieces = fuzz_memory_pieces();
    depth = 0;
    if (setjmp(way_out) == 0) {
        REQUIRE(hp_report_hand_over(&sessions, &settings, reporter, NULL) == HOTPATH_OK);
        REQUIRE(fuzz_memory_pieces() == pieces);
    }
    fuzz_memory_forget(pieces); /* memory of reports that were left by longjmp */
    REQUIRE(hp_report_hand_over(&sessions, &settings, count_calls, &calls) == HOTPATH_OK && calls == 1);
    REQUIRE(fuzz_memory_pieces() == pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct hp_snapshot snapshot;
    static const struct hp_snapshot *const list[] = {&snapshot, &snapshot};
    input = (struct fuzz_input){bytes, size};
    const uint8_t how = fuzz_byte(&input);
    struct fuzz_session session = fuzz_session_take(&input);
    fuzz_choose(&settings, HP_FORMAT_JSON, how & 1);
    sessions = (struct hp_snapshots){.all = list, .count = how & 2 ? 2 : 1};
    if (hp_snapshot_open(&snapshot, session.bytes, session.size, how & 4 ? &fuzz_now : NULL) == NULL)
        report();
    fuzz_session_free(&session);
    return 0;
}
