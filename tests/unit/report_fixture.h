/*
 * What tests of reports share: a session to build, settings as a user has them who set nothing, and the report that
 * comes of both, as rows or as text.
 *
 *     builder_call(&builder, ...);
 *     fixture_build();
 *     assert_int_equal(cell_of(section_named("timing"), 0, "calls").count, 1);
 *
 * What goes wrong in here is a broken test and ends in assert(). SPDX-License-Identifier: MIT
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

extern struct session_builder builder;
extern struct hp_snapshot snapshot; /* of what has been built, from fixture_open on */
extern struct hp_settings settings;
extern const hotpath_results *results; /* from fixture_build on */

/* For cmocka: before and after every test. */
int fixture_set_up(void **state);
int fixture_tear_down(void **state);

/* Takes the snapshot; `now` as hp_snapshot_open has it. */
void fixture_open(const struct hp_clock_pair *now);

/* Takes the snapshot and makes the rows. */
void fixture_build_at(const struct hp_clock_pair *now);
void fixture_build(void);

/* Takes the snapshot and renders it; the text stays until the next one. */
const char *fixture_render(uint32_t width, bool color);

/* The section of that name, or NULL. */
const hotpath_section *section_named(const char *name);
bool has_column(const hotpath_section *section, const char *key);
size_t column_of(const hotpath_section *section, const char *key);
struct hotpath_cell cell_of(const hotpath_section *section, size_t row, const char *key);

#endif
