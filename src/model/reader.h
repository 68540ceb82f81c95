/*
 * Sessions on disk, as a model that can be brought up to date: for reports, live views and exporters.
 *
 *     struct hp_reader reader;
 *     hp_reader_open(&reader, hp_demangle);
 *     hp_reader_add(&reader, path) for each session; false: reader.problem says why it is left out
 *     while (hp_reader_refresh(&reader))
 *         ... hp_results_of_model(hp_reader_model(&reader), settings) ...
 *     hp_reader_close(&reader);
 *
 * What a model was asked for is void after the next refresh. While sessions go on, counters do not fall from one to
 * the next: see floors.h. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_READER_H
#define HP_MODEL_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"
#include "floors.h"
#include "model.h"
#include "session_file.h"

struct hp_read_session {
    struct hp_session_file file;
    char *path;
};

/* What shows whether a reading can be true. */
struct hp_reading {
    uint64_t begun_ns;    /* by CLOCK_MONOTONIC; 0: there was none */
    uint64_t spent_ticks; /* by all threads in zones */
};

struct hp_reader {
    struct hp_read_session **sessions; /* the primary one first */
    size_t count;
    const char *problem; /* with what was added or refreshed last; valid until the next call */
    /* Private from here on. */
    const struct hp_snapshot **snapshots;
    size_t capacity;
    hp_read_name *read_name;
    struct hp_arena kept, arena;
    struct hp_floors floors;
    struct hp_reading latest;
    struct hp_model model;
    char text[320];
};

/* Without sessions. `read_name` makes names of the linker's readable; NULL: they stay as they are. */
void hp_reader_open(struct hp_reader *reader, hp_read_name *read_name);

/* Reads one more. False: it cannot be read, and is left out. */
bool hp_reader_add(struct hp_reader *reader, const char *path);

/*
 * Makes the model, or brings it up to date: sessions that go on are read as they are now. False: no memory, or
 * there are no sessions. One that cannot be read any more stays as it was.
 */
bool hp_reader_refresh(struct hp_reader *reader);

/* After a refresh that succeeded. */
static inline struct hp_model *hp_reader_model(struct hp_reader *reader) { return &reader->model; }

void hp_reader_close(struct hp_reader *reader);

#endif
