/*
 * Session space of one thread: it takes chunks of the file and allocates from them without synchronization.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CORE_THREAD_SPACE_H
#define HP_CORE_THREAD_SPACE_H

#include <stdint.h>

struct hp_thread_context;

#define HP_APART 128u /* two cache lines: data of neighbouring threads must not share a prefetched pair */

/* The offset of `size` zeroed bytes; 0: no space. The caller holds the context, or nobody else knows it yet. */
uint32_t hp_thread_allocate(struct hp_thread_context *context, uint32_t size, uint32_t align);

#endif
