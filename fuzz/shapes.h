/*
 * The sessions that fuzzing starts from: one of every shape that the reader knows. They are the seeds of
 * fuzz_session; other targets choose one and modify it, so that a few bytes of input are a whole session.
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_SHAPES_H
#define FUZZ_SHAPES_H

#include "input.h"
#include "session_builder.h"

struct fuzz_shape {
    const char *name;
    void (*build)(struct session_builder *builder);
};

extern const struct fuzz_shape fuzz_shapes[];
extern const size_t fuzz_shape_count;

/* Begins a session of a few sites. */
void fuzz_shape_begin(struct session_builder *builder);

/* A session with names, notes, labels and paths from the input. */
void fuzz_shape_named(struct session_builder *builder, struct fuzz_input *input);

/* The bytes of a session, on the heap without padding, so that a sanitizer sees the first byte read beyond it. */
struct fuzz_session {
    unsigned char *bytes;
    size_t size;
};

/* A modified shape, both chosen by the input. */
struct fuzz_session fuzz_session_take(struct fuzz_input *input);
void fuzz_session_free(struct fuzz_session *session);

/* One modification, chosen by the input. */
void fuzz_session_change(struct fuzz_session *session, struct fuzz_input *input);

#endif
