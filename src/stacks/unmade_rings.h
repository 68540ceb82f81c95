/*
 * Processes that could make no ring (stack_ring.h): they leave a link in its place that says who and why. It is found where rings are looked for, one
 * kind by one thread. SPDX-License-Identifier: MIT
 */
#ifndef HP_STACKS_UNMADE_RINGS_H
#define HP_STACKS_UNMADE_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "function_profile.h"

enum hp_ring_kind { HP_RING_OF_SAMPLES, HP_RING_OF_HEAP, HP_RING_KINDS };

/* True: it was such a link. Its process is counted, once for each kind, and the link is gone. */
bool hp_unmade_ring_take(enum hp_ring_kind kind, const char *path);

/* All of them. When nobody looks any more. */
struct hp_unmade hp_unmade_rings(void);
void hp_unmade_rings_free(void);

#endif
