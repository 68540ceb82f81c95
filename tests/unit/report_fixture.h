/*
 * Shared by the tests of reports: building sessions, default settings, and the report of both, as rows or as text.
 *
 *     builder_call(&builder, ...);
 *     fixture_build();
 *     assert_int_equal(cell_of(section_named("timing"), 0, "calls").count, 1);
 *
 * A failure in here is a broken test and ends in assert(). SPDX-License-Identifier: MIT
 */
#ifndef REPORT_FIXTURE_H
#define REPORT_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "report.h"
#include "section.h"
#include "session_builder.h"

extern struct session_builder builder; /* the primary session, which is always there */
extern struct hp_settings settings;
extern hp_read_name *read_name;        /* for the linker's names; NULL before every test */
extern const hotpath_results *results; /* from fixture_build on */

/* For cmocka: before and after every test. */
int fixture_set_up(void **state);
int fixture_tear_down(void **state);

/* Adds a session of another process, which began when the first did; at most 127. */
struct session_builder *fixture_add_session(void);

/* Takes the snapshots; `now` as hp_snapshot_open has it, for all of them. */
const struct hp_snapshots *fixture_open(const struct hp_clock_pair *now);

/* Takes the snapshots and makes the rows. */
void fixture_build_at(const struct hp_clock_pair *now);
void fixture_build(void);

/* Takes the snapshots and renders them; the text stays until the next one. */
const char *fixture_render(uint32_t width, bool color);

/* Makes the rows with more and more memory until it suffices; how often it did not. */
size_t fixture_builds_that_fail(void);

/* The section of that name, or NULL. */
const hotpath_section *section_named(const char *name);
bool has_column(const hotpath_section *section, const char *key);
size_t column_of(const hotpath_section *section, const char *key);
struct hotpath_cell cell_of(const hotpath_section *section, size_t row, const char *key);

#endif
