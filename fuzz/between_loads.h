/*
 * Sessions that change while they are read: the reader (src/format/snapshot_*.c) is compiled with this header in
 * front, so that it calls us before each of its loads. SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_BETWEEN_LOADS_H
#define FUZZ_BETWEEN_LOADS_H

void fuzz_before_load(void);

#ifdef FUZZ_READER
#define __atomic_load_n(at, order) (fuzz_before_load(), __atomic_load_n(at, order))
#else
#include "check.h"
#include "shapes.h"

extern struct fuzz_between {
    void (*happen)(void); /* called before a load, while there is input; NULL: nothing */
    unsigned calm;        /* loads before which nothing happens */
    bool is_cut;          /* a truncated file */
    struct fuzz_input input;
    struct fuzz_session live; /* the session that is modified */
} fuzz_between;

/* An hp_snapshot_read: reads the modified session as from a file. */
bool fuzz_read_live(void *context, uint32_t offset, void *to, size_t bytes);

/* With the zeros that follow a session in the copy of a file. */
struct fuzz_session fuzz_copy_of(const struct fuzz_session *session);
#endif

#endif
