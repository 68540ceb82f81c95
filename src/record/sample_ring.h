/*
 * The latest samples of a thread, in a ring of chunks in the session: they survive however the process ends. Called
 * by the thread itself, in the handler. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_SAMPLE_RING_H
#define HP_RECORD_SAMPLE_RING_H

#include <stdint.h>

#include "layout.h"

struct hp_thread_context;

/* Overwrites the oldest if there is no space for more; keeps nothing if there is no space at all. */
void hp_sample_ring_add(struct hp_thread_context *context, uint32_t node, enum hp_sample_kind kind);

#endif
