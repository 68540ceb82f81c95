/*
 * Only the sections know which columns exist, so this makes a report of an empty session that has all of them.
 * SPDX-License-Identifier: MIT
 */
#include "requested_sections.h"

#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "cold.h"
#include "instrumented.h"
#include "section.h"
#include "spelling.h"
#include "text.h"

/* ------------------------------------------------------------------------------------------------ sections */

static bool is_word(struct hp_spelling *spelling, const char *word)
{
    if (word == NULL)
        return false;
    hp_spelling_try(spelling, word);
    return hp_text_equal_nocase(spelling->word, spelling->length, word);
}

static bool is_section(struct hp_spelling *spelling, const hotpath_results *unused)
{
    (void)unused;
    bool is_known = is_word(spelling, "short") || is_word(spelling, "auto") || is_word(spelling, "all");
    for (size_t at = 0; at < hp_section_type_count && !is_known; at++)
        is_known = is_word(spelling, hp_section_types[at]->name) ||
                   is_word(spelling, hp_section_types[at]->alias) || is_word(spelling, hp_section_types[at]->group);
    return is_known;
}

/* ------------------------------------------------------------------------------------------------- columns */

static const hotpath_results *report_of_nothing(struct hp_arena *arena, const struct hp_settings *given)
{
    static struct hp_header header;
    static struct hp_snapshot snapshot;
    static struct hp_settings settings;
    static const struct hp_snapshot *const session = &snapshot;
    memcpy(header.magic, HP_MAGIC, sizeof header.magic);
    header.byte_order = HP_BYTE_ORDER;
    header.version = HP_LAYOUT_VERSION;
    header.header_bytes = HP_HEADER_BYTES;
    header.features = HP_FEATURE_TIMING | HP_FEATURE_ALLOC | HP_FEATURE_CPU;
    header.capacity = header.backed = header.used = HP_HEADER_BYTES;
    header.state = HP_STATE_FINISHED;
    header.main_site = UINT32_MAX;
    settings = *given;
    settings.show.by = HP_BY_THREAD; /* adds one more column */
    settings.show.columns[0] = settings.show.sort[0] = settings.show.focus[0] = settings.record.filter[0] = '\0';
    settings.show.report[0] = '\0';
    strcpy(settings.show.slowest, "/./");
    for (size_t at = 0; at < hp_section_type_count; at++) {
        const size_t length = strlen(settings.show.report);
        snprintf(settings.show.report + length, sizeof settings.show.report - length, "%s,",
                 hp_section_types[at]->name);
    }
    hp_cold_reader = hp_instrumented_read;
    if (hp_snapshot_open(&snapshot, (const unsigned char *)&header, sizeof header, NULL) != NULL)
        return NULL;
    const struct hp_snapshots sessions = {.all = &session, .count = 1};
    return hp_results_build(arena, &sessions, &settings);
}

/* As users write it: without the unit. */
static void try_column(struct hp_spelling *spelling, const hotpath_results *results, const char *key)
{
    static const char *const units[] = {"_ns", "_usable_bytes", "_bytes", "_count", "_blocks"};
    hp_spelling_try(spelling, key);
    for (size_t at = 0; at < sizeof units / sizeof units[0]; at++)
        if (hp_text_has_suffix(key, units[at])) {
            const char *stem = hp_arena_copy(results->model->arena, key, strlen(key) - strlen(units[at]));
            if (stem != NULL)
                hp_spelling_try(spelling, stem);
        }
}

static bool is_column(struct hp_spelling *spelling, const hotpath_results *results)
{
    bool is_known = results == NULL || is_word(spelling, "all");
    for (size_t at = 0; !is_known && at < results->section_count; at++) {
        const struct hotpath_section *section = results->sections[at];
        is_known = hp_section_has_column(section, spelling->word, spelling->length);
        for (size_t column = 0; column < section->column_count; column++)
            try_column(spelling, results, section->columns[column].shown.key);
    }
    return is_known;
}

/* ---------------------------------------------------------------------------------------------------- lists */

static const struct wish {
    const char *variable, *what, *advice;
    size_t offset; /* in the list of the settings */
    bool (*is_known)(struct hp_spelling *spelling, const hotpath_results *results);
} wishes[] = {
    {"HOTPATH_REPORT", "section", "; 'all' shows all sections", offsetof(struct hp_settings, show.report),
     is_section},
    {"HOTPATH_COLUMNS", "column", "; 'all' shows all columns", offsetof(struct hp_settings, show.columns),
     is_column},
    {"HOTPATH_SORT", "column", "; --columns all shows all columns", offsetof(struct hp_settings, show.sort),
     is_column},
};

static bool is_granted(const struct wish *wish, const char *list, const hotpath_results *results, char *problem,
                       size_t size)
{
    size_t length;
    for (const char *item; (item = hp_text_next_item(&list, &length)) != NULL;) {
        const size_t minus = item[0] == '-';
        struct hp_spelling spelling = hp_spelling_of(item + minus, length - minus);
        if (wish->is_known(&spelling, results))
            continue;
        snprintf(problem, size, "no %s '%.*s'%s%s%s", wish->what, (int)spelling.length, spelling.word,
                 spelling.best != NULL ? " (did you mean '" : wish->advice,
                 spelling.best != NULL ? spelling.best : "", spelling.best != NULL ? "'?)" : "");
        return false;
    }
    return true;
}

bool hp_wishes_are_known(const struct hp_settings *settings, const char *variable, char *problem, size_t size)
{
    struct hp_arena arena = {0};
    bool are_known = true;
    for (size_t at = 0; at < sizeof wishes / sizeof wishes[0]; at++) {
        const struct wish *wish = &wishes[at];
        const char *list = (const char *)settings + wish->offset;
        if (strcmp(wish->variable, variable) != 0 || list[0] == '\0')
            continue;
        const hotpath_results *results = wish->is_known == is_column ? report_of_nothing(&arena, settings) : NULL;
        are_known = is_granted(wish, list, results, problem, size);
    }
    hp_arena_release(&arena);
    return are_known;
}
