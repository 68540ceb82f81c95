/*
 * The page of a report, before and after the data: src/ui/page, converted to C by cmake/embed_page.cmake.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_EXPORT_REPORT_PAGE_H
#define HP_EXPORT_REPORT_PAGE_H

#include <stddef.h>

extern const unsigned char hp_report_page_head[], hp_report_page_tail[];
extern const size_t hp_report_page_head_size, hp_report_page_tail_size;

#endif
