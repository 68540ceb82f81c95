/* Shared by the tests of reports about several sessions. SPDX-License-Identifier: MIT */
#ifndef RUN_FIXTURE_H
#define RUN_FIXTURE_H

#include "report_asserts.h"

static inline bool has_note(const char *section, const char *part)
{
    const hotpath_section *found = section_named(section);
    for (size_t at = 0; at < found->note_count; at++)
        if (strstr(found->notes[at], part) != NULL)
            return true;
    return false;
}

/* Moves the session to where it began `ticks` after the first one, which has as many nanoseconds per tick. */
static inline void begin_later(struct session_builder *session, uint64_t ticks, double ns_per_tick)
{
    struct hp_header *header = builder_header(session);
    const uint64_t ns = (uint64_t)((double)ticks * ns_per_tick);
    header->clock_start.ticks += ticks;
    header->clock_start.ns += ns;
    header->clock_latest.ticks += ticks;
    header->clock_latest.ns += ns;
}

/* main > parse: 1000 ticks with 3 x 200 inside. Sites get their ids in the order in which they are asked for. */
static inline void build_parser(struct session_builder *session, bool is_main_first)
{
    uint32_t main_site = 0;
    if (is_main_first)
        main_site = builder_site(session, "main", "main.c", 1);
    const uint32_t parse = builder_site(session, "parse", "parse.c", 2);
    if (!is_main_first)
        main_site = builder_site(session, "main", "main.c", 1);
    builder_header(session)->main_site = main_site;
    const uint32_t thread = builder_thread(session);
    const uint32_t main_node = builder_node(session, thread, 0, main_site);
    const uint32_t parse_node = builder_node(session, thread, main_node, parse);
    for (unsigned call = 0; call < 3; call++)
        builder_call(session, thread, parse_node, 200, 0);
    builder_call(session, thread, main_node, 1000, 600);
    builder_elapse(session, 2000, 1);
}

#endif
