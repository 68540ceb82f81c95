/*
 * The page of the list of sessions, without the list: made by cmake/embed_page.cmake from src/ui/page.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_EXPORT_SESSIONS_PAGE_H
#define HP_EXPORT_SESSIONS_PAGE_H

#include <stddef.h>

extern const unsigned char hp_sessions_page_head[];
extern const size_t hp_sessions_page_head_size;
extern const unsigned char hp_sessions_page_tail[];
extern const size_t hp_sessions_page_tail_size;

#endif
