/*
 * Processes that could not make a ring (stack_ring.h) leave a link in its place, which names the process and the
 * reason. Threads that look for rings find it, one kind per thread. SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_FAILED_RINGS_H
#define HP_COLLECT_FAILED_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "function_profile.h"

enum hp_ring_kind { HP_RING_OF_SAMPLES, HP_RING_OF_HEAP, HP_RING_KINDS };

/* True: it was such a link. Its process is counted, once per kind, and the link is removed. */
bool hp_failed_ring_take(enum hp_ring_kind kind, const char *path);

/* The same for a process that could not even leave a link. From any thread. */
void hp_failed_ring_count(enum hp_ring_kind kind, uint32_t pid, int error);

/* All of them. Call it when no thread looks for rings any more. */
struct hp_failed hp_failed_rings(void);
void hp_failed_rings_free(void);

#endif
