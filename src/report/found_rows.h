/* Rows of functions from stacks: name and zones, for every section about them. SPDX-License-Identifier: MIT */
#ifndef HP_REPORT_FOUND_ROWS_H
#define HP_REPORT_FOUND_ROWS_H

#include "arena.h"
#include "function_profile.h"
#include "identity.h"
#include "section.h"

static inline uint64_t hp_found_identity(const char *name, const char *library, const char *file)
{
    return hp_identity_with_text(hp_identity_with_text(hp_identity_with_text(0, name), library), file);
}

/* Sets its name, library and source in those columns, and its identity, made of the three. */
static inline void hp_found_row_name(struct hp_row *row, const struct hp_found_function *function, size_t name,
                                     size_t library, size_t file)
{
    hp_section_set_text(row, name, function->shown);
    row->id = hp_found_identity(function->name, function->library, function->file);
    if (function->library[0] != '\0')
        hp_section_set_text(row, library, function->library);
    if (function->file[0] != '\0')
        hp_section_set_text(row, file, function->file);
}

/*
 * Sets the zones it was found in, as parts of the whole: a text of all ("parse 75 %, load 25 %"; with a single
 * zone: "parse"), and the first of them. False: no memory.
 */
bool hp_found_row_zones(struct hp_row *row, struct hp_arena *arena, const struct hp_found_zones *zones,
                        uint64_t whole, size_t all, size_t first);

/* The amount of the first of them. */
static inline uint64_t hp_found_most(const struct hp_found_zones *zones)
{
    return zones->count > 0 ? zones->all[0].amount : 0;
}

#endif
