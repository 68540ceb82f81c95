/* Rows of functions from stacks: their zones. SPDX-License-Identifier: MIT */
#include "found_rows.h"

#include "text.h"

/* Smaller parts, and more zones than this, are left out. */
#define MOST_ZONES 3u
#define LEAST_PERCENT 0.5

static const char *list_zones(struct hp_arena *arena, const struct hp_found_zones *zones, uint64_t whole)
{
    char bytes[512];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    for (size_t at = 0; at < zones->count && at < MOST_ZONES; at++) {
        const double percent = whole > 0 ? 100 * (double)zones->all[at].amount / (double)whole : 0;
        if (at > 0 && percent < LEAST_PERCENT)
            break;
        hp_text_format(&text, "%s%s", at > 0 ? ", " : "", zones->all[at].name);
        if (at == 0 && percent > 100 - LEAST_PERCENT)
            break;
        hp_text_format(&text, " %.0f %%", percent);
    }
    hp_text_end(&text);
    return hp_arena_copy(arena, bytes, text.length);
}

bool hp_found_row_zones(struct hp_row *row, struct hp_arena *arena, const struct hp_found_zones *zones,
                        uint64_t whole, size_t all, size_t first)
{
    if (zones->count == 0)
        return true;
    const char *text = list_zones(arena, zones, whole);
    if (text == NULL)
        return false;
    hp_section_set_text(row, all, text);
    hp_section_set_text(row, first, zones->all[0].name);
    return true;
}
