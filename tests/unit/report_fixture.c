/* Shared by the tests of reports. SPDX-License-Identifier: MIT */
#undef NDEBUG
#include "report_fixture.h"

#include <assert.h>
#include <string.h>

#define MOST_SESSIONS 128u

struct session_builder builder;
struct hp_settings settings;
hp_read_name *read_name;
const hotpath_results *results;

static struct session_builder others[MOST_SESSIONS];
static size_t other_count;
static struct hp_snapshot snapshots[MOST_SESSIONS];
static const struct hp_snapshot *list[MOST_SESSIONS];
static struct hp_snapshots all = {.all = list};
static struct hp_arena arena;
static char text[1 << 20];
static size_t text_length;

int fixture_set_up(void **state)
{
    (void)state;
    builder_init(&builder, 4u << 20);
    other_count = 0;
    read_name = NULL;
    memset(&settings, 0, sizeof settings);
    settings.show.percentiles[0] = 95;
    settings.show.percentile_count = 1;
    settings.show.functions_limit = 15;
    settings.show.calltree_limit = 50;
    settings.record.logs_limit = 50;
    return 0;
}

int fixture_tear_down(void **state)
{
    (void)state;
    hp_arena_release(&arena);
    results = NULL;
    builder_free(&builder);
    for (size_t at = 0; at < other_count; at++)
        builder_free(&others[at]);
    return 0;
}

struct session_builder *fixture_add_session(void)
{
    assert(other_count + 1 < MOST_SESSIONS);
    struct session_builder *session = &others[other_count++];
    builder_init(session, 2u << 20);
    builder_header(session)->pid += (uint32_t)other_count;
    return session;
}

/* --------------------------------------------------------------------------------------------- making */

const struct hp_snapshots *fixture_open(const struct hp_clock_pair *now)
{
    all.count = 1 + other_count;
    all.read_name = read_name;
    for (size_t at = 0; at < all.count; at++) {
        const struct session_builder *session = at == 0 ? &builder : &others[at - 1];
        const char *problem = hp_snapshot_open(&snapshots[at], session->bytes, builder_size(session), now);
        assert(problem == NULL);
        list[at] = &snapshots[at];
    }
    return &all;
}

void fixture_build_at(const struct hp_clock_pair *now)
{
    hp_arena_release(&arena);
    results = hp_results_build(&arena, fixture_open(now), &settings);
    assert(results != NULL);
}

void fixture_build(void) { fixture_build_at(NULL); }

size_t fixture_builds_that_fail(void)
{
    const struct hp_snapshots *sessions = fixture_open(NULL);
    for (size_t failures = 0;; failures++) {
        struct hp_arena small = {.limit = 16 + failures * 160};
        const bool is_built = hp_results_build(&small, sessions, &settings) != NULL;
        hp_arena_release(&small);
        if (is_built)
            return failures;
    }
}

static bool collect(void *context, const char *bytes, size_t length)
{
    (void)context;
    assert(text_length + length < sizeof text);
    memcpy(text + text_length, bytes, length);
    text_length += length;
    return true;
}

const char *fixture_render(uint32_t width, bool color)
{
    const struct hp_report_target target = {.sink = collect, .width = width, .color = color};
    text_length = 0;
    const int status = hp_report_render(fixture_open(NULL), &settings, &target);
    assert(status == HOTPATH_OK);
    text[text_length] = '\0';
    return text;
}

/* -------------------------------------------------------------------------------------------- looking */

const hotpath_section *section_named(const char *name)
{
    for (size_t at = 0; at < hotpath_results_sections(results); at++)
        if (strcmp(hotpath_section_name(hotpath_results_section(results, at)), name) == 0)
            return hotpath_results_section(results, at);
    return NULL;
}

/* The index of a column, or how many there are. */
static size_t find_column(const hotpath_section *section, const char *key)
{
    size_t at = 0;
    while (at < hotpath_section_columns(section) && strcmp(hotpath_section_column(section, at)->key, key) != 0)
        at++;
    return at;
}

bool has_column(const hotpath_section *section, const char *key)
{
    return find_column(section, key) < hotpath_section_columns(section);
}

size_t column_of(const hotpath_section *section, const char *key)
{
    assert(has_column(section, key));
    return find_column(section, key);
}

struct hotpath_cell cell_of(const hotpath_section *section, size_t row, const char *key)
{
    struct hotpath_cell cell;
    const int status = hotpath_section_cell(section, row, column_of(section, key), &cell);
    assert(status == HOTPATH_OK);
    return cell;
}
