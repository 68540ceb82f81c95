/*
 * The page of `hotpath flame`, before and after the data: flame.html, converted to C by cmake/embed_page.cmake.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_EXPORT_FLAME_PAGE_H
#define HP_EXPORT_FLAME_PAGE_H

#include <stddef.h>

extern const unsigned char hp_flame_page_head[], hp_flame_page_tail[];
extern const size_t hp_flame_page_head_size, hp_flame_page_tail_size;

#endif
