/*
 * Space in the session that belongs to one thread: it takes pieces of the file, and hands out what it needs of them without asking
 * anybody. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_THREAD_SPACE_H
#define HP_RECORD_THREAD_SPACE_H

#include <stdint.h>

struct hp_head;

#define HP_APART 128u /* two cache lines: what neighbouring threads write must not share a prefetched pair */

/* The offset of so many empty bytes; 0 without space. With the head held, or before anybody else knows it. */
uint32_t hp_thread_allocate(struct hp_head *head, uint32_t size, uint32_t align);

#endif
