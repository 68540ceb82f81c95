/*
 * The latest samples of a thread, one by one, in a ring of chunks in the session: they survive whatever ends the process. Called by
 * the thread itself, in the handler. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_SAMPLES_H
#define HP_RECORD_SAMPLES_H

#include <stdint.h>

#include "layout.h"

struct hp_head;

/* Where there is no space for more, over the oldest; without any, nothing is kept. */
void hp_samples_add(struct hp_head *head, uint32_t node, enum hp_sample_kind kind);

#endif
