/* Shared by the files that write for the Firefox Profiler. SPDX-License-Identifier: MIT */
#ifndef HP_EXPORT_FIREFOX_H
#define HP_EXPORT_FIREFOX_H

#include "export.h"
#include "frame_table.h"
#include "json.h"

#define HP_FIREFOX_DIGITS 15u /* nanoseconds of a million seconds, in milliseconds */
#define HP_FIREFOX_NS_IN_MS 1e6

enum hp_firefox_category {
    HP_FIREFOX_OTHER,
    HP_FIREFOX_USER,
    HP_FIREFOX_KERNEL,
    HP_FIREFOX_MEASURED,
    HP_FIREFOX_CATEGORIES
};

/* The members of a counter except its process; `rank`: its position among the others. */
void hp_firefox_put_counter(struct hp_json *json, const struct hp_export_counter *counter, uint64_t slot_ns,
                            size_t rank);

/*
 * The table of markers of a thread; NULL: it has none. Names are added to the texts, which must be written
 * afterwards.
 */
void hp_firefox_put_markers(struct hp_json *json, const struct hp_export_calls *calls, struct hp_text_table *texts);

/* The array that describes how to show them. */
void hp_firefox_put_schema(struct hp_json *json);

#endif
