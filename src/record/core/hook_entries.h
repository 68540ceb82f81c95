/*
 * Entry points of the recorder that only hooks call (src/preload): interposed malloc, waits, transfers and others.
 * They are exported, because the hooks are in another library, but they are in no public header. The names contain
 * v1 for the same reason as those of include/hotpath/inline.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_HOOK_ENTRIES_H
#define HP_RECORD_HOOK_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

#include "hotpath.h"

/*
 * Event loops, for interposed wait functions: what hotpath_v1_loop_wait and hotpath_v1_loop_waited are for macros.
 * `loop` tells loops of one site and thread apart (NULL: there is one). A wait that is not recorded (0) needs no
 * end. Preserves errno.
 */
struct hotpath_loop_ {
    struct hotpath_site *site;
    const void *loop;
    void *context; /* private to the library from here on: the thread's counters for this loop; all 0 at first */
    uint32_t epoch, part;
    uint32_t is_missed; /* its last wait was not recorded */
};
HOTPATH_API_ int hotpath_v1_loop_waits(struct hotpath_loop_ *loop);
HOTPATH_API_ void hotpath_v1_loop_woke(struct hotpath_loop_ *loop, uint64_t events);
/* The loop does work before its first wait. */
HOTPATH_API_ void hotpath_v1_loop_begin(struct hotpath_site *site, const void *loop);
/* The site of a place in code that calls the function `wait`, which is always the same string. NULL: none. */
HOTPATH_API_ struct hotpath_site *hotpath_v1_loop_site(const char *wait, const void *caller);
/* A library was closed: what is known by addresses in it is forgotten. Preserves errno. */
HOTPATH_API_ void hotpath_v1_closed(void);

/*
 * Called by interposed read, write and similar functions around a call that moves data through a channel that the
 * program does not report itself. `channel` tells the channels of one site apart. Preserves errno.
 */
#define HOTPATH_QUEUE_ 0    /* carries messages, identified by its address */
#define HOTPATH_PIPE_ 1     /* carries bytes; its identity is the same in all processes */
#define HOTPATH_MESSAGES_ 2 /* as HOTPATH_PIPE_, carries messages */
struct hotpath_transfer_ {
    struct hotpath_site *site;
    const void *channel;
    uint16_t kind;
    uint8_t is_sending, never_waits; /* the latter: the call returns at once, even if it cannot move anything */
    uint32_t epoch, part; /* private to the library from here on: the thread's counters for this channel */
    void *context;
    uint64_t since; /* 0: not recorded, call no end function */
};
HOTPATH_API_ void hotpath_v1_transfer(struct hotpath_transfer_ *transfer);
HOTPATH_API_ void hotpath_v1_transferred(const struct hotpath_transfer_ *transfer, uint64_t items, uint64_t bytes,
                                         int is_refused);
/* Makes the records that a thread's transfers need, so that the first makes no system call, if anything is ... */
HOTPATH_API_ void hotpath_v1_transfer_prepare(const struct hotpath_transfer_ *transfer);
/* ... recorded now: a session that begins late has not begun yet. */
HOTPATH_API_ int hotpath_v1_transfer_has_session(void);
/* The process has closed its last end of the channel, at that hotpath_v1_clock. */
HOTPATH_API_ void hotpath_v1_transfer_over(struct hotpath_site *site, const void *channel, int kind, uint64_t ns);
/* Whether this process records, and may make system calls to find out what a descriptor is. */
HOTPATH_API_ int hotpath_v1_transfer_may_look(void);

/*
 * The critical path: who waits for whom (docs/critical-path.md). For hooks of functions that make threads wait. A
 * hook that finds hotpath_v1_path_is_on 0 calls none of the others. All preserve errno; none waits.
 */
#define HOTPATH_PATH_THREAD_ 0 /* what was waited for: the end of a thread */
#define HOTPATH_PATH_LOCK_ 1
#define HOTPATH_PATH_CONDITION_ 2
#define HOTPATH_PATH_SEMAPHORE_ 3
#define HOTPATH_PATH_BARRIER_ 4
#define HOTPATH_PATH_CHANNEL_ 5
HOTPATH_API_ int hotpath_v1_path_is_on(void);
/* The time before a wait, for hotpath_path_wait_; 0: not followed. */
HOTPATH_API_ uint64_t hotpath_v1_path_clock(void);
/*
 * The calling thread is about to release, signal or post the object at this address, and other threads wait for it:
 * leaves its path there. `caller`: the site of the call in the file of locks (lock_layout.h), or 0.
 */
HOTPATH_API_ void hotpath_v1_path_leave(const void *object, uint32_t kind, uint32_t caller);
/*
 * The calling thread has waited for the object since then, and goes on now: takes the newest path left there since.
 * If there is none, what woke it is unknown. A wait for a condition has the mutex as second object: its waker is
 * the later of those that signalled and that unlocked.
 */
struct hotpath_path_wait_ {
    const void *object, *second; /* second: NULL, or another address where its waker may have left its path */
    uint64_t since;
    struct hotpath_site *site; /* its name is that of the object; NULL: only the kind is known */
    uint32_t kind;             /* HOTPATH_PATH_... */
    uint32_t place, caller;    /* of the lock, and of this call, in the file of locks; 0: unknown */
};
HOTPATH_API_ void hotpath_v1_path_take(const struct hotpath_path_wait_ *wait);
/*
 * A thread creates another one: the first function returns a number to be passed to the second in the new thread,
 * before anything else; or, if no thread was created, to the third.
 */
HOTPATH_API_ uint32_t hotpath_v1_path_create(void);
HOTPATH_API_ void hotpath_v1_path_begin(uint32_t created);
HOTPATH_API_ void hotpath_v1_path_drop(uint32_t created);

/*
 * What the macros of locks do. Set in hp_runtime by the library that counts locks. The caller is the function of
 * the program: its return address, its stack pointer before the call and its frame register.
 */
struct hotpath_lock_caller_ {
    uintptr_t pc, stack, frame;
};
struct hotpath_lock_hooks_ {
    void (*name)(const void *lock, const char *name);
    void (*wait)(const void *lock, const char *name, const struct hotpath_lock_caller_ *caller);
    void (*taken)(const void *lock, const struct hotpath_lock_caller_ *caller);
    void (*released)(const void *lock, const struct hotpath_lock_caller_ *caller);
};

/* The same for the macros of I/O, and the library that counts it. */
struct hotpath_io_hooks_ {
    void (*name)(int descriptor, const char *label);
    void (*op)(const char *label, const char *kind, uint64_t bytes, const struct hotpath_lock_caller_ *caller);
};
/* The innermost zone of the calling thread, a number from 1; 0: none. Its name stays valid. */
HOTPATH_API_ uint32_t hotpath_v1_zone(void);
HOTPATH_API_ const char *hotpath_v1_zone_name(uint32_t zone);

/*
 * Calls `work` on a stack of the library, since that of an interposed function may be small, with signals blocked.
 * 0: not called, since there is no memory or no system call may be made. The work must return.
 */
HOTPATH_API_ int hotpath_v1_aside(void (*work)(void *context), void *context);

/* The calling thread has set its alternate stack, on which samples may come, or have no room. Preserves errno. */
HOTPATH_API_ void hotpath_v1_alternate_changed(void);

/*
 * Called by interposed malloc functions. `asked` is the requested size, `usable` the size by malloc_usable_size,
 * `stack` the stack address at the call of malloc. Any thread, any time: before constructors, after destructors, in
 * a forked child, in signal handlers. Preserves errno.
 */
/* Each interposing library calls this once; from then on allocations are counted. */
HOTPATH_API_ void hotpath_v1_alloc_is_watched(void);
/*
 * For a library that can stop reporting. `pass_on` is called with 1 when allocations are not counted; the library
 * then only forwards to the allocator. After a call with 0, and before the first call, it reports every allocation.
 * `pass_on` may be called at any time, by any thread, and by several at once.
 */
HOTPATH_API_ void hotpath_v1_alloc_switch(void (*pass_on)(int is_on));
/* For a library that cannot count. The reason is printed at once or when a session begins. */
HOTPATH_API_ void hotpath_v1_alloc_is_not_watched(const char *reason, int at_once);
#define HOTPATH_ALLOC_SANITIZED_                                                                                   \
    "hotpath: the program contains a sanitizer, which replaces malloc; allocations are not counted"
/* After a successful allocation; and before a free, while no other thread can get the same address. */
HOTPATH_API_ void hotpath_v1_allocated(const void *block, size_t asked, size_t usable, uintptr_t stack);
HOTPATH_API_ void hotpath_v1_freed(const void *block, size_t usable, uintptr_t stack);
/*
 * Before and after a realloc, also one in place: one free plus one allocation. The first function returns whether
 * another thread had allocated the block; pass that to the second. `block` is NULL if a realloc to size 0 has freed
 * it.
 */
HOTPATH_API_ int hotpath_v1_reallocating(const void *block);
HOTPATH_API_ void hotpath_v1_reallocated(int was_foreign, size_t old_usable, const void *block, size_t asked,
                                         size_t usable, uintptr_t stack);
/* After an allocation that failed. */
HOTPATH_API_ void hotpath_v1_alloc_failed(void);

/*
 * Called by interposed prctl and syscall: the calling thread is about to sandbox itself, or (negative) the kernel
 * has just refused. If system calls would then kill the process, the library makes no more of them; if reading the
 * time stamp counter would, the thread is no longer measured. 0: not noted, since the caller is a vfork child,
 * whose memory is its parent's.
 */
#define HOTPATH_CONFINES_CALLS_ 1
#define HOTPATH_CONFINES_COUNTER_ 2
HOTPATH_API_ int hotpath_v1_confine(int what);
/* Whether the process is in a sandbox: one that was announced, or that an observer outside has noticed. */
HOTPATH_API_ int hotpath_v1_is_confined(void);

/*
 * Called by interposed functions after which a session could not begin, or would begin too late: under `hotpath
 * run` most processes begin theirs only when there is something to record. Begins it now.
 */
HOTPATH_API_ void hotpath_v1_begin(void);

/*
 * Called by the library that samples stacks for `hotpath run`. `leave_thread` is called, with signals blocked, in a
 * thread that has zones and is from now on sampled by this library instead.
 */
HOTPATH_API_ void hotpath_v1_stacks_switch(void (*leave_thread)(void));

/* -------------------------------------------------------------------------------------------------- stack place */

/*
 * The stack address of the program's call of malloc, taken in malloc itself. Guards of zones below it belong to
 * calls that longjmp has left, or to another stack.
 */

#define HP_STACK_PLACE() ((uintptr_t)__builtin_dwarf_cfa())

#endif
