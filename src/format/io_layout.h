/*
 * I/O of a process, in a file beside its session (side_layout.h): "PID-NANOSECONDS.io". Written by the hooks of
 * `hotpath run --io` (src/preload/io_table.c).
 *
 *   header (4096 bytes) | sites | images | zones | rows | cells
 *
 *   row    what was read or written: a file, the other end of a connection, a label
 *   cell   what one thread did at one place in the code with one row: an operation, with all that is counted of it.
 *          Only its thread writes it, without locked instructions. Cells of no thread are shared: for those without
 *          room, and for signal handlers that interrupt counting
 *   zone   a zone in which something was done, by name
 *
 * The first rows and cells are for what has no room: the row of all others, and a cell of it for each operation.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_IO_LAYOUT_H
#define HP_FORMAT_IO_LAYOUT_H

#include <stdint.h>

#include "side_layout.h"

#define HP_IO_SUFFIX ".io"
#define HP_IO_MAGIC "hotp-io"
#define HP_IO_VERSION 2u

enum hp_io_table { HP_IO_ZONES = HP_SIDE_FIRST_OWN, HP_IO_ROWS, HP_IO_CELLS, HP_IO_TABLES };

#define HP_IO_MOST_ZONES 1024u
#define HP_IO_MOST_ROWS 1001u /* with that of all others */
#define HP_IO_MOST_CELLS 8192u

enum hp_io_loss {
    HP_IO_LOST_ROWS,  /* descriptors that count as others */
    HP_IO_LOST_CELLS, /* operations that count without their function */
    HP_IO_LOSSES
};

/* Of the header: what the kernel has counted for the process (/proc/PID/io), and when. */
enum hp_io_number {
    HP_IO_READ_FIRST, /* bytes; those that hotpath itself has read are taken off */
    HP_IO_WRITTEN_FIRST,
    HP_IO_READ_LATEST,
    HP_IO_WRITTEN_LATEST,
    HP_IO_PARENT, /* process id */
    HP_IO_NUMBERS
};

enum hp_io_kind {
    HP_IO_NO_KIND,
    HP_IO_FILE,
    HP_IO_PIPE,
    HP_IO_SOCKET, /* local */
    HP_IO_PEER,   /* address of the other end; of a socket without one, its own */
    HP_IO_DEVICE,
    HP_IO_HOST,  /* whose address was looked up */
    HP_IO_LABEL, /* HOTPATH_IO_NAME */
    HP_IO_TOLD,  /* HOTPATH_IO_OP: the kernel counts none of it */
    HP_IO_OTHER, /* eventfd, timerfd, epoll and the like */
    HP_IO_OTHERS,
    HP_IO_KINDS
};

enum hp_io_op {
    HP_IO_NO_OP,
    HP_IO_READ,
    HP_IO_WRITE,
    HP_IO_RECV,
    HP_IO_SEND,
    HP_IO_SENDFILE,
    HP_IO_COPY,
    HP_IO_SPLICE,
    HP_IO_SYNC,
    HP_IO_OPEN,
    HP_IO_CONNECT,
    HP_IO_ACCEPT,
    HP_IO_LOOKUP,
    HP_IO_TLS_READ,
    HP_IO_TLS_WRITE,
    HP_IO_ANY, /* of HOTPATH_IO_OP */
    HP_IO_OPS
};

struct hp_io_zone {
    uint64_t key; /* number of its site in the process, from 1 */
    char name[120];
};

#define HP_IO_NAME_BYTES 304u
struct hp_io_row {
    uint32_t key; /* 1: whole */
    uint32_t kind;
    uint32_t unused[2];
    char name[HP_IO_NAME_BYTES]; /* of a longer path the end */
};

#define HP_IO_ERRORS 5u
struct hp_io_error {
    uint32_t number; /* errno; 0: free */
    uint32_t count;
};

/* Histograms (hp_step_of): of bytes of calls that have moved some, and of ticks. */
#define HP_IO_SIZE_BITS 2u
#define HP_IO_SIZE_OCTAVES 40u
#define HP_IO_TIME_BITS 3u
#define HP_IO_TIME_OCTAVES 44u
#define HP_IO_SIZES (HP_IO_SIZE_OCTAVES << HP_IO_SIZE_BITS)
#define HP_IO_TIMES (HP_IO_TIME_OCTAVES << HP_IO_TIME_BITS)

struct hp_io_cell {
    uint64_t thread;  /* 0: shared */
    uint32_t row;     /* from 1; 0: being filled in */
    uint32_t site;    /* from 1; 0: unknown */
    uint32_t zone;    /* from 1; 0: none */
    uint32_t op;      /* enum hp_io_op */
    uint64_t untimed; /* calls, failed ones included, whose time is not known, ... */
    uint64_t bytes;
    uint64_t ticks, longest;
    uint64_t timed;        /* ... and all others */
    uint64_t again;        /* EAGAIN, EINPROGRESS */
    uint64_t other_errors; /* that are not in the list */
    struct hp_io_error errors[HP_IO_ERRORS];
    uint64_t first_ticks, last_ticks; /* begin of the first call, end of the last one */
    uint32_t sizes[HP_IO_SIZES];
    uint32_t times[HP_IO_TIMES];
};

_Static_assert(sizeof(struct hp_io_zone) == 128 && sizeof(struct hp_io_row) == 320 &&
                   sizeof(struct hp_io_cell) == 136 + 640 + 1408,
               "part of the file");

#define HP_IO_ZONES_AT HP_SIDE_OWN_AT
#define HP_IO_ROWS_AT (HP_IO_ZONES_AT + HP_IO_MOST_ZONES * 128u)
#define HP_IO_CELLS_AT ((HP_IO_ROWS_AT + HP_IO_MOST_ROWS * 320u + 4095u) / 4096u * 4096u)
#define HP_IO_BYTES (HP_IO_CELLS_AT + HP_IO_MOST_CELLS * (uint32_t)sizeof(struct hp_io_cell))

/* As in reports, and for HOTPATH_IO_OP. */
__attribute__((unused)) static inline const char *hp_io_op_name(uint32_t op)
{
    static const char *const names[HP_IO_OPS] = {
        [HP_IO_READ] = "read",         [HP_IO_WRITE] = "write",         [HP_IO_RECV] = "recv",
        [HP_IO_SEND] = "send",         [HP_IO_SENDFILE] = "sendfile",   [HP_IO_COPY] = "copy",
        [HP_IO_SPLICE] = "splice",     [HP_IO_SYNC] = "sync",           [HP_IO_OPEN] = "open",
        [HP_IO_CONNECT] = "connect",   [HP_IO_ACCEPT] = "accept",       [HP_IO_LOOKUP] = "lookup",
        [HP_IO_TLS_READ] = "tls_read", [HP_IO_TLS_WRITE] = "tls_write", [HP_IO_ANY] = "other"};
    return names[op < HP_IO_OPS && op != HP_IO_NO_OP ? op : HP_IO_ANY];
}

/* Whether the kernel counts such bytes as read or written (rchar and wchar of /proc/PID/io). */
__attribute__((unused)) static inline int hp_io_kernel_reads(uint32_t op)
{
    return op == HP_IO_READ || op == HP_IO_SENDFILE || op == HP_IO_COPY;
}
__attribute__((unused)) static inline int hp_io_kernel_writes(uint32_t op)
{
    return op == HP_IO_WRITE || op == HP_IO_SENDFILE || op == HP_IO_COPY;
}

#endif
