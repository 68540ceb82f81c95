/*
 * Streams over all threads and processes, derived from the counters of object_layout.h. docs/streams.md describes
 * these numbers. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_STREAM_PROFILE_H
#define HP_MODEL_STREAM_PROFILE_H

#include "object_layout.h"
#include "object_profile.h"

/* Ticks; negative: unknown. */
struct hp_stream {
    double gap, produce, consume; /* means: of a gap, and per item */
    uint64_t yield_ticks;         /* from the first yield to the last */
    const char *state;            /* NULL: several streams */
};

/* Whether a kind is a stream. */
bool hp_is_stream(const char *name, const struct hp_kind *kind);

/* For a class or an instance, with its sums. */
void hp_stream_of(const struct hp_object_record *row, const uint64_t *count, struct hp_stream *ret_stream);

/* For the rest of a class, of which only the sums are known. */
void hp_stream_of_rest(const uint64_t *count, struct hp_stream *ret_stream);

#endif
