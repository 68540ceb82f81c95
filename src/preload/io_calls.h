/*
 * I/O as hooks see it: around a call, if I/O is counted, they tell what it does with which
 * descriptor, and what came of it.
 *
 *     struct hp_io_call call;
 *     hp_io_begin(&call, HP_IO_READ, fd);
 *     result = ...
 *     hp_io_end(&call, &caller, result);   bytes; 0 if none are moved; -1: it failed, errno says why
 *
 * Both preserve errno. A call that is left by cancellation or a jump is not counted.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_PRELOAD_IO_CALLS_H
#define HP_PRELOAD_IO_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "call_sites.h"
#include "io_layout.h"

#define HP_IO_FAILED_OTHERWISE (-2) /* instead of -1: errno does not say why */
#define HP_IO_AGAIN (-3)            /* it would have had to wait, although errno is not EAGAIN */

struct hp_io_call {
    uint64_t since; /* 0: not timed */
    uint64_t what;  /* enum hp_io_op << 32 | the row */
    uint32_t pid;   /* whose rows these are: a handler may fork meanwhile. HP_IO_NOT_COUNTED: it is not counted */
};
#define HP_IO_NOT_COUNTED UINT32_MAX

/* An address that a descriptor is being connected to. */
struct hp_io_peer {
    int descriptor;
    const void *address;
    uint32_t size;
};

/* Whether I/O is counted: not in a library without io_table.c, in which the functions below are missing, too. */
extern bool hp_io_is_counted __attribute__((visibility("hidden")));

/* 0: not known. */
static inline uint64_t hp_io_began(const struct hp_io_call *call)
{
    return call->pid != HP_IO_NOT_COUNTED ? call->since : 0;
}

#define HP_IO_ENTRY __attribute__((weak, visibility("hidden")))
HP_IO_ENTRY void hp_io_begin(struct hp_io_call *call, enum hp_io_op op, int number);
/* The same for what is no descriptor. */
HP_IO_ENTRY void hp_io_begin_named(struct hp_io_call *call, enum hp_io_op op, enum hp_io_kind kind,
                                   const char *name);
HP_IO_ENTRY void hp_io_end(const struct hp_io_call *call, const struct hp_caller *caller, int64_t moved);
/* A call that makes a descriptor: `result`. What could not be opened has the row of that path. */
HP_IO_ENTRY void hp_io_begin_new(struct hp_io_call *call, enum hp_io_op op);
HP_IO_ENTRY void hp_io_end_new(struct hp_io_call *call, const struct hp_caller *caller, int result,
                               const char *path);
/* A call that connects one, which leads elsewhere from then on. */
HP_IO_ENTRY void hp_io_end_connect(struct hp_io_call *call, const struct hp_caller *caller, int result,
                                   const struct hp_io_peer *peer);

/* What a hook does besides: a part of both of its functions below. */
#define HP_PLAIN static inline __attribute__((always_inline))

/*
 * A hook that does what counted_NAME does, or if nothing is counted only `plain`. It ends with a jump, which leaves
 * the stack as the program did: so the caller that counted_NAME sees is that of the program.
 */
#define HP_IO_EITHER(public_name, plain, type, parameters, arguments)                                              \
    static __attribute__((noinline)) type uncounted_##public_name parameters { return plain arguments; }           \
    HP_PUBLIC type public_name parameters                                                                          \
    {                                                                                                              \
        return __builtin_expect(hp_io_is_counted, 0) ? counted_##public_name arguments                             \
                                                     : uncounted_##public_name arguments;                          \
    }

/*
 * The hook of a function that does something with a descriptor: `plain` does the rest. In blocks, so that what one
 * part needs of the stack has the place of what another one does not need any more.
 */
#define HP_IO_HOOK(public_name, plain, type, op, fd, parameters, arguments, moved)                                 \
    static __attribute__((noinline)) type counted_##public_name parameters                                         \
    {                                                                                                              \
        struct hp_io_call call;                                                                                    \
        hp_io_begin(&call, op, fd);                                                                                \
        const type result = plain arguments;                                                                       \
        {                                                                                                          \
            const struct hp_caller caller = HP_CALLER();                                                           \
            hp_io_end(&call, &caller, moved);                                                                      \
        }                                                                                                          \
        return result;                                                                                             \
    }                                                                                                              \
    HP_IO_EITHER(public_name, plain, type, parameters, arguments)

#endif
