/* Shared by the tests of the section `timing`. cmocka must be included before. SPDX-License-Identifier: MIT */
#ifndef TIMING_FIXTURE_H
#define TIMING_FIXTURE_H

#include "report_asserts.h"

static inline void assert_row(size_t row, const char *name, uint64_t calls, double avg, double total,
                              double percent)
{
    const hotpath_section *timing = section_named("timing");
    assert_string_equal(cell_of(timing, row, "name").text, name);
    assert_int_equal(cell_of(timing, row, "calls").count, calls);
    assert_float_equal(cell_of(timing, row, "avg_ns").number, avg, 0.001);
    assert_float_equal(cell_of(timing, row, "total_ns").number, total, 0.001);
    assert_float_equal(cell_of(timing, row, "percent_total").number, percent, 0.001);
}

/* main 1000 ticks, of which parse takes 2 x 300 and lex inside parse 4 x 100; on two threads. */
static inline void build_small_session(void)
{
    const uint32_t main_site = builder_site(&builder, "main", "src/main.c", 10);
    const uint32_t parse = builder_site(&builder, "parse", "src/parse.c", 20);
    const uint32_t lex = builder_site(&builder, "lex", "src/lex.c", 30);
    builder_header(&builder)->main_site = main_site;
    const uint32_t first = builder_thread(&builder), second = builder_thread(&builder);
    const uint32_t main_node = builder_node(&builder, first, 0, main_site);
    const uint32_t parse_node = builder_node(&builder, first, main_node, parse);
    const uint32_t lex_node = builder_node(&builder, first, parse_node, lex);
    builder_call(&builder, first, lex_node, 100, 0);
    builder_call(&builder, first, lex_node, 100, 0);
    builder_call(&builder, first, parse_node, 300, 200);
    builder_call(&builder, first, lex_node, 100, 0);
    builder_call(&builder, first, lex_node, 100, 0);
    builder_call(&builder, first, parse_node, 300, 200);
    builder_call(&builder, first, main_node, 1000, 600);
    const uint32_t alone = builder_node(&builder, second, 0, lex);
    builder_call(&builder, second, alone, 50, 0);
    builder_elapse(&builder, 2000, 1);
}

#endif
