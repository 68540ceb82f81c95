/*
 * The critical path in the session file: for each thread, where the time went on the path that leads to it.
 *
 *   header ─▶ hp_paths ─▶ keys: what a path's time is divided by, the same numbers in all tables below
 *                     ├▶ traces (atomic offsets): what wakers left for those that they wake
 *                     └▶ segments: when threads came to the end of one lately, and its key
 *   thread ─▶ hp_path_thread: the sums of the path that leads to the thread
 *
 * All tables of sums have the same size, so a path is handed over by copying the keys in use. `sums` of a thread
 * are not times: the time of a key is its sum plus what the thread's call tree has for that site now (all own time
 * of its nodes, open calls included; the rest of the time for the root's key). So zones do nothing for the path.
 *
 * Time outside of all zones is divided into segments: each ends where the thread waits for another one or wakes it,
 * and counts for the place in the code that does so. What the root's key has is of segments that have not ended.
 *
 * Writers: keys under `lock`, before `used` is raised; a thread's sums by the thread alone (those of a thread that
 * was not begun yet by its creator); a trace under the lock of its set. SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_PATH_LAYOUT_H
#define HP_FORMAT_PATH_LAYOUT_H

#include <stdint.h>

#define HP_PATH_SITES 256u       /* functions and blocks with a sum of their own */
#define HP_PATH_THREAD_KEYS 128u /* beyond so many of sites and segments, segments of all threads share theirs */
#define HP_PATH_WAITS 62u        /* things waited for, by the function that held or sent them */
#define HP_PATH_KEYS (2u + HP_PATH_SITES + HP_PATH_WAITS)
#define HP_PATH_BUCKETS 1024u /* a power of two */
#define HP_PATH_SETS 64u      /* of traces; a power of two */
#define HP_PATH_WAYS 4u
#define HP_PATH_SEGMENTS 4096u /* that readers can look back; a power of two */

/* Keys that are always there. */
#define HP_PATH_OTHER 0u   /* sites without a key */
#define HP_PATH_WAKE_UP 1u /* from a waker's release to the moment at which the woken thread runs */

/* What is waited for; the numbers of HOTPATH_PATH_... in hook_entries.h. */
enum hp_path_kind {
    HP_PATH_FOR_THREAD, /* its end */
    HP_PATH_FOR_LOCK,
    HP_PATH_FOR_CONDITION,
    HP_PATH_FOR_SEMAPHORE,
    HP_PATH_FOR_BARRIER,
    HP_PATH_FOR_CHANNEL,
    HP_PATH_KINDS
};

enum hp_path_key_kind {
    HP_PATH_KEY_FIXED,  /* of the two above */
    HP_PATH_KEY_SITE,   /* time in a function or block; site: its id */
    HP_PATH_KEY_WAIT,   /* time that was waited for; site, caller: where the waker was when it released */
    HP_PATH_KEY_SEGMENT /* time outside of all zones up to a wait or release there; wait, caller */
};

struct hp_path_key {
    uint32_t kind;   /* enum hp_path_key_kind */
    uint32_t site;   /* id; HP_SITE_ROOT: outside of all zones */
    uint32_t wait;   /* enum hp_path_kind: what is waited for, or ends the segment */
    uint32_t name;   /* offset of a string: its name; 0: none */
    uint32_t place;  /* of the lock, in the file of locks (lock_layout.h); 0: unknown */
    uint32_t caller; /* site there, of the call that released or ends the segment; 0: unknown */
    /*
     * HP_PATH_KEY_SITE: how long all threads waited there for something whose waker is known, in ticks; what
     * probes found beyond that was waiting for unknown wakers. Atomic.
     */
    uint64_t known;
    uint32_t tid; /* of segments of one thread only; 0: of all threads without such a key */
    uint32_t reserved;
    uint64_t latency; /* as `known`: from a release to the moment at which the woken thread ran */
};

struct hp_path_sum {
    uint64_t ticks; /* may wrap: see above */
    uint64_t
        more; /* of a site, a segment: waits there for unknown wakers, in ticks. Of a wait: how often. Else 0 */
};

/* The path of a thread, and what it waited for itself. */
struct hp_path_thread {
    uint32_t next;       /* a free one: offset of another free one */
    uint32_t generation; /* of the thread record while this belongs to it */
    uint32_t sequence;   /* odd while `sums` are replaced */
    uint32_t last_node;  /* nodes at later offsets count as HP_PATH_OTHER; 0: none do, there are few */
    uint32_t is_unbegun; /* its creator is unknown: the path begins with the thread */
    uint32_t waker_tid;  /* of the thread from which the path last came to this one; 0: none */
    uint64_t began;      /* ticks: where the path begins */
    uint64_t arrived;    /* when the path last came to this thread from another one */
    uint64_t taken;      /* when the trace was left by which it came */
    uint64_t known;      /* how long the thread waited for known wakers */
    uint64_t unknown;    /* ... and for unknown ones */
    uint64_t judged;     /* until when its waits are in one of these: waits may be inside others */
    uint64_t segment;    /* where the present segment began: what the call tree had outside of all zones then */
    uint32_t waker_kind; /* enum hp_path_kind: what was waited for then */
    uint32_t left;       /* how often it has woken others; may wrap */
    char waker_name[16];
    struct hp_path_sum sums[HP_PATH_KEYS];
    uint64_t own[HP_PATH_KEYS]; /* private to the thread: what its call tree has for each key */
};

/* What a waker left: its path, for those that wait for an object. */
struct hp_path_trace {
    uint64_t object;  /* its address; 0: free */
    uint64_t left;    /* ticks: when; 0: nothing was left yet */
    uint64_t arrived; /* when the path had come to the waker */
    uint64_t began;
    uint32_t waiters; /* that announced themselves */
    uint32_t keys;    /* how many sums are valid */
    uint32_t site;    /* innermost open zone of the waker */
    uint32_t tid;
    uint32_t caller; /* as in keys */
    uint32_t reserved;
    uint64_t period; /* of the end of a thread that slept again and again, of its own: how long each time; else 0 */
    char name[16];
    struct hp_path_sum sums[HP_PATH_KEYS];
};

/* The end of a segment. Valid if `number`, read before and after it, is that of its turn plus 1. */
struct hp_path_segment {
    uint64_t end; /* ticks */
    uint32_t number;
    uint32_t tid;
    uint32_t key;
    uint32_t reserved;
};

struct hp_paths {
    uint32_t used;  /* atomic: keys */
    uint32_t sites; /* of these, of sites; under `lock`, like the next one */
    uint32_t waits;
    uint32_t lock;
    uint32_t threads;      /* hp_path_threads ever made */
    uint32_t free_threads; /* offset of the first free one; under `lock` */
    uint64_t lost;         /* atomic: traces that could not be left or taken: their place was busy, or no space */
    uint64_t left;         /* atomic: traces */
    uint64_t taken;        /* atomic: waits with a known waker */
    uint64_t unknown;      /* atomic: waits without */
    uint16_t buckets[HP_PATH_BUCKETS]; /* atomic: a key's number plus 1, at its hash or after that; 0: free */
    struct hp_path_key keys[HP_PATH_KEYS];
    uint32_t set_locks[HP_PATH_SETS];
    uint32_t traces[HP_PATH_SETS][HP_PATH_WAYS]; /* atomic: offsets; 0: none yet */
    uint32_t segment_count;                      /* atomic: ends of segments ever; may wrap */
    uint32_t reserved;
    struct hp_path_segment segments[HP_PATH_SEGMENTS]; /* by their count, modulo */
};

_Static_assert(sizeof(struct hp_path_key) == 48 && sizeof(struct hp_path_sum) == 16, "part of the file");
_Static_assert(sizeof(struct hp_path_thread) == 104 + HP_PATH_KEYS * 24, "part of the file");
_Static_assert(sizeof(struct hp_path_segment) == 24, "part of the file");
_Static_assert(sizeof(struct hp_paths) % 8 == 0, "part of the file");

#endif
