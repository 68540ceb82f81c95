/*
 * Objects: what a program reports about things that are not zones (values, gauges, channels). A kind is a
 * descriptor and one recorder file; this header has what all kinds share: the identity of an object, and where the
 * calling thread counts for it.
 *
 *     struct hp_object_use use;
 *     if (hp_object_begin(site, &kind, &use)) {
 *         HOTPATH_ADD_(use.part->count[0], 1);      only this thread writes here, and the context is held
 *         hp_object_end(&use);
 *     }
 *
 * Fast if the thread already has a part of the object: no lock, and no cache line that another thread writes.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OBJECTS_OBJECTS_H
#define HP_OBJECTS_OBJECTS_H

#include "holding.h"
#include "thread_context.h"
#include <stdarg.h>

struct hp_field_type {
    const char *key, *title;
    enum hotpath_unit unit;
    enum hp_merge merge;
};

/* A kind, as the session will describe it. */
struct hp_kind_type {
    const char *name, *title;
    uint32_t flags; /* HP_KIND_... */
    uint32_t typed; /* bit mask of the counters that are numbers of the part's type */
    /*
     * Its events come in pairs, such as sent and received: while recording is paused, hp_object_begin succeeds as
     * usual, so that pairs stay complete. What is not part of a pair checks hp_object_is_paused.
     */
    bool goes_on;
    struct hp_field_type counters[HP_KIND_COUNTERS];
    struct hp_field_type histograms[HP_KIND_HISTOGRAMS];
};

/* An object as the process knows it, independent of the session. */
struct hp_known_object {
    uint64_t place; /* atomic: number of the last session it was written into << 32 | its offset there */
    const struct hp_kind_type *kind;
    uint32_t site;
    uint32_t next;     /* atomic: number of the next in its bucket; for an ended instance, of the next ended one */
    uintptr_t address; /* atomic: of an instance; else 0 */
    uint32_t class_;   /* atomic: of an instance: the number of its class */
    uint32_t older;    /* of an instance: the number made before it */
    /* Of a class: its ended instances, a list by `next`; 0: none. And how many numbers its instances have. */
    uint32_t ended_first, ended_last, instance_count;
    struct hotpath_site *poll_site;  /* atomic: of a class of tasks: see tasks.c */
    struct hotpath_site *await_site; /* atomic: the same, for tasks that others wait for */
    uint32_t full;                   /* atomic: of a class: the session that has no space for another instance */
    bool is_logged;                  /* atomic: of a class: chosen by the program or HOTPATH_LOG, in this session */
};

/* An object in use. The context is held, so the session stays mapped. */
struct hp_object_use {
    struct hp_thread_context *context;
    struct hp_part *part;
    uint64_t now; /* ticks */
};

/* A thread that must not read the time stamp counter never gets here: its gate is closed. */
static inline uint64_t hp_object_now(void)
{
    return HOTPATH_LIKELY_(hp_counter_is_inline(hp_runtime->counter)) ? hotpath_ticks_() : hp_now();
}

/*
 * The current time, if the held context has a recording session. The gate also tells whether the counter is usable,
 * so the fast path checks only the gate.
 */
static inline bool hp_object_clock(const struct hp_thread_context *context, uint64_t *ret_now)
{
    if (HOTPATH_LIKELY_(HOTPATH_GATE_OF_(&context->hot) == context->hot.epoch)) {
        *ret_now = hotpath_ticks_();
        return true;
    }
    if (!hp_context_is_recording(&context->hot))
        return false;
    *ret_now = hp_now();
    return true;
}

/* The same for a kind that may go on while recording is paused. */
static inline bool hp_object_clock_for(const struct hp_thread_context *context, const struct hp_kind_type *kind,
                                       uint64_t *ret_now)
{
    if (HOTPATH_LIKELY_(hp_object_clock(context, ret_now)))
        return true;
    if (!kind->goes_on || !hp_context_has_session(&context->hot))
        return false;
    *ret_now = hp_object_now();
    return true;
}

/* The thread's part of an object, by number; NULL: none. The caller holds the context. */
static inline struct hp_part *hp_object_part_at(const struct hp_thread_context *context, uint32_t number)
{
    const uint32_t offset = number < context->part_places ? context->parts[number] : 0;
    return offset != 0 ? (struct hp_part *)(void *)(context->hot.base + offset) : NULL;
}

/* Whether recording is paused for this thread: then everything comes out of line, and must cost little there. */
static inline bool hp_objects_are_paused(void)
{
    const struct hp_thread_context *context = hp_thread_present();
    return context != NULL && HOTPATH_GATE_OF_(&context->hot) & HP_GATE_PAUSED;
}

bool hp_object_begin_out_of_line(struct hotpath_site *site, const struct hp_kind_type *kind,
                                 struct hp_object_use *ret_use);

/*
 * False: nothing is recorded, or it cannot be, which is then counted. Like all functions below, it preserves errno.
 */
static inline __attribute__((always_inline)) bool
hp_object_begin(struct hotpath_site *site, const struct hp_kind_type *kind, struct hp_object_use *ret_use)
{
    uint64_t now;
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    const uint32_t number = HOTPATH_GET_(site->log);
    if (HOTPATH_LIKELY_(!hp_context_is_held(&context->hot))) {
        hp_context_hold(&context->hot);
        /*
         * Reads the clock before looking up the part: where reading it waits for earlier loads, that would cost
         * most.
         */
        if (HOTPATH_LIKELY_(hp_object_clock(context, &now))) {
            struct hp_part *part = hp_object_part_at(context, number);
            if (HOTPATH_LIKELY_(part != NULL)) {
                *ret_use = (struct hp_object_use){context, part, now};
                return true;
            }
        }
        hp_context_let_go(&context->hot);
    }
    return hp_object_begin_out_of_line(site, kind, ret_use);
}

static inline bool hp_object_is_paused(const struct hp_object_use *use)
{
    return hp_context_is_paused(&use->context->hot);
}

/* The calling thread's context, held, with its session, paused or not. NULL: none. Release: hp_context_let_go. */
struct hp_thread_context *hp_objects_hold(void);
/*
 * Uses an object by its number; the caller holds the context and releases it with hp_context_let_go. False: not in
 * the session, or no space.
 */
bool hp_object_use_known(struct hp_thread_context *context, uint32_t number, struct hp_object_use *ret_use);
static inline void hp_object_end(const struct hp_object_use *use) { hp_context_let_go(&use->context->hot); }

static inline struct hp_object *hp_object_of(const struct hp_object_use *use)
{
    return (struct hp_object *)(void *)(use->context->hot.base + use->part->object);
}

/* Allocates memory for as many objects as fit into a chunk. Under the lock. */
void hp_objects_reserve(void);

/* Notes that the thread uses the object now. */
static inline void hp_part_meet(struct hp_part *part, uint64_t now)
{
    if (__builtin_expect(part->first_tick == 0, 0))
        HOTPATH_PUT_(part->first_tick, now);
    HOTPATH_PUT_(part->last_tick, now);
}

/*
 * Brackets changes of related counters, so that a reader sees all of a change or nothing. Not nested. Cheap: two
 * stores to the thread's own cache line. Pass the result of the first to the second.
 */
static inline uint32_t hp_part_change(struct hp_part *part)
{
    const uint32_t sequence = part->sequence;
    HOTPATH_PUT_(part->sequence, sequence + 1);
    __atomic_thread_fence(__ATOMIC_RELEASE); /* both fences pair with copy_part of object_snapshot.c */
    return sequence + 2;
}

static inline void hp_part_changed(struct hp_part *part, uint32_t sequence)
{
    __atomic_store_n(&part->sequence, sequence, __ATOMIC_RELEASE);
}

/* --- for instances.c. Numbers begin with 1. */

/* An object by its number. */
struct hp_known_object *hp_object_known(uint32_t number);
/* Whether the program or HOTPATH_LOG chose the class with this number. 0: none. */
static inline bool hp_object_is_logged(uint32_t number)
{
    return number != 0 && __atomic_load_n(&hp_object_known(number)->is_logged, __ATOMIC_RELAXED);
}
/* A new number without a site. 0: no space. Under the lock. */
uint32_t hp_object_new(uint32_t site, const struct hp_kind_type *kind);
/*
 * Starts an instance in the running session, unless it is there already, or ends it. False: no space. Under the
 * lock.
 */
bool hp_object_write_instance(uint32_t number, uint32_t class_, const void *address);
void hp_object_write_end(uint32_t number, uint64_t ticks);
/*
 * The thread's part of an instance; needs the thread's part of the class. The caller holds the context. NULL: no
 * space, or not in this session.
 */
struct hp_part *hp_object_part(struct hp_thread_context *context, uint32_t number, struct hp_part *class_);

/* --- for recorders of kinds */

/* Adds to a histogram of the part. Values without space are counted there as missed. */
void hp_object_distribute(const struct hp_object_use *use, uint32_t histogram, double magnitude);

/*
 * The counter of an integer in the histogram, for inline use: its highest bit gives the octave, the next six bits
 * the step. NULL: the value is 0, or the first of its octave, and hp_object_distribute must do it.
 */
static inline uint64_t *hp_object_step(const struct hp_object_use *use, uint32_t histogram, uint64_t number)
{
    char *const base = use->context->hot.base;
    const uint32_t place = use->part->histograms[histogram];
    if (__builtin_expect(place == 0 || number == 0, 0))
        return NULL;
    const struct hp_histogram *to = (const struct hp_histogram *)(const void *)(base + place);
    const uint32_t highest = 63 ^ (uint32_t)__builtin_clzll(number);
    const uint32_t octave = to->octaves[HP_MAGNITUDE_ONE + highest];
    uint64_t *steps = (uint64_t *)(void *)(base + octave);
    return HOTPATH_LIKELY_(octave != 0) ? &steps[number << (63 ^ highest) >> 57 & (HP_MAGNITUDE_STEPS - 1)] : NULL;
}

/*
 * Adds a value to the log of its object: every value has the latest ones. `type` is one of enum hp_value_type; of a
 * text, which only then is set, `bits` is the length.
 */
void hp_object_remember(const struct hp_object_use *use, uint64_t bits, uint32_t type, const char *text);

/* ------------------------------------------------------------------------------------------------- object texts */

/* Texts that describe items going through objects, such as items of a channel. */

/*
 * Describes the message or item of the instance at `address` that the thread reported last, if the label is logged;
 * otherwise formats nothing. Preserves errno.
 */
void hp_object_tell(struct hotpath_site *site, const struct hp_kind_type *kind, const void *address,
                    const char *format, va_list arguments);

#endif
