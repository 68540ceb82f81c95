/*
 * The I/O of a run, with names: what hooks counted in each process (io_layout.h), added up. Equal files, peers and
 * labels of several processes are one row. Made by src/stacks/names/io_names.h. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_IO_PROFILE_H
#define HP_MODEL_IO_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code_place.h"
#include "io_layout.h"

struct hp_io_errors {
    struct hp_io_error all[HP_IO_ERRORS]; /* the most frequent ones first */
    uint64_t others, total;
};

/* What all counts have in common. */
struct hp_io_sums {
    uint64_t ops, bytes, timed, again;
    double ns, longest_ns;
    double first_ns, last_ns; /* by CLOCK_MONOTONIC; 0: none is timed */
    struct hp_io_errors errors;
    uint64_t sizes[HP_IO_SIZES];
    uint64_t times[HP_IO_TIMES]; /* in ticks of tick_ns */
    double tick_ns;              /* 0: none is timed */
};

/* An operation on a file, peer or label. */
struct hp_io_user;
struct hp_io_profile_row {
    const char *name;
    uint32_t kind; /* enum hp_io_kind */
    uint32_t op;   /* enum hp_io_op */
    struct hp_io_sums sums;
    const struct hp_io_user *most; /* the function with the most time of it; NULL: none is known */
};

/* A function that does it, in a zone. */
struct hp_io_user {
    struct hp_io_profile_row *row;
    struct hp_code_place place;
    const char *zone; /* NULL: in none */
    struct hp_io_sums sums;
};

/* Bytes that the kernel has counted for the processes (read, write and the like), and how many were seen. */
struct hp_io_share {
    uint64_t read, read_seen;
    uint64_t written, written_seen;
};

struct hp_io_profile {
    struct hp_io_profile_row **rows; /* the most time first */
    size_t row_count;
    struct hp_io_user **users; /* the most time first */
    size_t user_count;
    struct hp_io_share share;
    uint64_t processes;
    uint64_t unnamed; /* descriptors without a row of their own, for lack of space */
};

/* In bytes: of calls that have moved some. 0: none. */
double hp_io_median_size(const struct hp_io_sums *sums);
/* In nanoseconds. */
double hp_io_percentile(const struct hp_io_sums *sums, double percentile);
/* "EPIPE"; NULL: not a usual one. */
const char *hp_io_error_name(int number);
const char *hp_io_kind_name(uint32_t kind);
#define HP_IO_OP_WORDS                                                                                             \
    "read|write|recv|send|sendfile|copy|splice|sync|open|connect|accept|lookup|tls_read|tls_write|other"
#define HP_IO_KIND_WORDS "file|pipe|socket|peer|device|host|label|other|others"

#endif
