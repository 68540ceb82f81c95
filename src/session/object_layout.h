/*
 * Objects in the session file: things of the program that are no zones. Values and gauges, later channels and what else comes.
 *
 *   header ─▶ kinds (a list) ─▶ strings      what is counted of an object, what that is called, how it is added up
 *          └▶ objects (a list) ─▶ kind, site
 *                             └▶ parts (a list, one for each thread record) ─▶ histograms ─▶ octaves
 *                                                                           └▶ ring: recent values ─▶ texts
 *
 * A kind describes itself, so that a reader can show one that it has never heard of, and a new kind is no new version of the
 * format. An object is a class (a kind at a place in code) or an instance of one (a kind, a place, and an address). Instances
 * of a class share a bounded number of records. What an instance with a record does is counted in its parts and nowhere else, so
 * the sum of a class is that of its own parts, which count what is done without a record, and of all parts of its instances. So
 * parts of instances are never set back: what they had counted when another instance got the record is `base`, and only that
 * other one's numbers are without it. Histograms are the class's alone, but for kinds whose instances never end (loop_layout.h).
 *
 * Who writes: kinds once, before they are linked; an object under the recorder's lock, but for `shared`; a part and all below it by
 * its thread alone, but for `sibling`, which is written once. SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_OBJECT_LAYOUT_H
#define HP_SESSION_OBJECT_LAYOUT_H

#include <stdint.h>

#define HP_KIND_COUNTERS 14u
#define HP_KIND_HISTOGRAMS 3u
#define HP_OBJECT_SHARED 8u

/* How the same counter of several parts becomes one. */
enum hp_merge {
    HP_MERGE_NONE, /* the recorder's own business: not shown */
    HP_MERGE_SUM,
    HP_MERGE_LEAST,
    HP_MERGE_MOST,
    HP_MERGE_NEWEST /* that of the part with the latest last_tick */
};

/* What the counters of values, gauges and counts are. */
enum hp_value_counter {
    HP_VALUE_UPDATES,
    HP_VALUE_NUMBERS,      /* of these, that were numbers, and not infinite */
    HP_VALUE_SUM,          /* of whole numbers; may wrap */
    HP_VALUE_SET_TICK = 2, /* of a gauge instead: when it was set last; 0: never */
    HP_VALUE_LEAST,
    HP_VALUE_MOST,
    HP_VALUE_REAL_SUM, /* of all numbers, as a double */
    HP_VALUE_ADDED,    /* of a gauge: what was added here, ever */
    HP_VALUE_SET       /* of a gauge: what was set last, less all that had been added by then */
};

/* A counter, or a histogram. */
struct hp_kind_field {
    uint32_t key;   /* offset of a string: "sent" */
    uint32_t title; /* offset of a string: "Sent" */
    uint32_t unit;  /* enum hotpath_unit; HOTPATH_UNIT_NS: in ticks */
    uint32_t merge; /* enum hp_merge */
};

/* In `flags`. */
#define HP_KIND_OWN_TABLE 1u /* readers that know the kind have a section for it */
#define HP_KIND_BY_NAME                                                                                            \
    2u /* objects of one name are one, wherever they are in the code; else the place counts, too */
#define HP_KIND_OF_RUN 4u /* instances of one key are one, in whatever process: things of the system's */
#define HP_KIND_FOUND                                                                                              \
    8u /* the program has not told of them: who is in no measured function is known by the thread's name */
#define HP_KIND_BYTES 16u /* bytes go through it, and items are calls that moved some */

struct hp_kind {
    uint32_t next;  /* offset of an older one */
    uint32_t name;  /* offset of a string: "channel" */
    uint32_t title; /* offset of a string: "Channel" */
    uint32_t flags; /* HP_KIND_... */
    uint32_t counter_count;
    uint32_t histogram_count;
    uint32_t typed; /* a bit for each counter that is a number of the part's type */
    uint32_t reserved;
    struct hp_kind_field counters[HP_KIND_COUNTERS];
    struct hp_kind_field histograms[HP_KIND_HISTOGRAMS];
};

enum hp_object_state { HP_OBJECT_LIVE = 1, HP_OBJECT_ENDED = 2 };

struct hp_object {
    uint32_t next;   /* offset of an older one */
    uint32_t kind;   /* offset of hp_kind */
    uint32_t site;   /* number of the site where it was made; its name is that of the object */
    uint32_t class_; /* of an instance: offset of its class; 0: it is a class */
    uint32_t parts;  /* offset of the newest hp_part */
    uint32_t state;  /* enum hp_object_state */
    uint32_t
        generation; /* how many instances have had this record; a part that has another one is not of this instance */
    uint32_t is_added; /* 1: a gauge to which something was added, so that it is more than what was set last */
    uint64_t key;      /* of an instance: its address */
    uint64_t born;     /* ticks */
    uint64_t ended;
    uint32_t instances;                /* of a class: made so far, with a record or not, ... */
    uint32_t ended_count;              /* ... and ended */
    uint64_t shared[HP_OBJECT_SHARED]; /* atomic, by any thread: what the kind keeps for all of them */
};

/* What a number in a part is. Bool, pointer and text are types of single values, never of sums. */
enum hp_value_type {
    HP_VALUE_NONE = 0,
    HP_VALUE_SIGNED = 1,
    HP_VALUE_UNSIGNED = 2, /* larger than an int64_t */
    HP_VALUE_REAL = 3,     /* a double */
    HP_VALUE_BOOL = 4,
    HP_VALUE_POINTER = 5,
    HP_VALUE_TEXT = 6,
    HP_VALUE_TYPES
};

#define HP_PART_SAMPLED 1u /* of a gauge that several threads add to: not every level was looked at */

/* What one thread record knows of an object. Three cache lines that nobody else writes. */
struct hp_part {
    uint32_t object;     /* offset */
    uint32_t sibling;    /* offset of the next part of the object */
    uint32_t thread;     /* offset of the thread record */
    uint32_t generation; /* of the object, when this part began to count */
    uint32_t sequence;   /* odd while counters that belong together are written, see hp_part_change */
    uint32_t type;       /* enum hp_value_type */
    uint32_t flags;      /* HP_PART_SAMPLED */
    uint32_t ring;
    uint32_t histograms[HP_KIND_HISTOGRAMS];
    uint32_t
        node; /* of kinds that tell who uses it: offset of the call tree's node that the thread was in, lately */
    uint64_t first_tick;
    uint64_t last_tick;
    uint64_t last; /* latest value, in the part's type; of other kinds what they say */
    uint64_t count[HP_KIND_COUNTERS];
    uint64_t own; /* the recorder's own business */
};

/* That of an instance. */
struct hp_instance_part {
    struct hp_part part;
    uint64_t base[HP_KIND_COUNTERS]; /* what had been counted for instances before, of counters that are sums */
    uint64_t reserved[2];
};

/*
 * How numbers of any size are distributed. Octave n counts [2 ** (n - 64), 2 ** (n - 63)) in 64 equal steps, so a percentile is within
 * 0.8 %, and whole numbers below 128 have a counter each. What is smaller counts as 0, what is larger as the largest.
 * Octaves are made when first used.
 */
#define HP_MAGNITUDES 128u
#define HP_MAGNITUDE_ONE 64u /* the octave that begins with 1 */
#define HP_MAGNITUDE_STEPS 64u
struct hp_histogram {
    uint64_t zeros;
    uint64_t missed;                 /* numbers that found no space for their octave */
    uint32_t octaves[HP_MAGNITUDES]; /* offsets of uint64_t[HP_MAGNITUDE_STEPS] */
};

#define HP_MOST_RECENT 64u /* places of a ring, at most */
#define HP_RECENT_TEXT 48u /* longest text that is kept of a value, without an end mark */

struct hp_recent {
    uint64_t tick;
    uint64_t bits; /* the value, as its type says; of a text its length */
    uint32_t type; /* enum hp_value_type */
    uint32_t reserved;
};

/*
 * The latest values of a part, as in hp_call_log: number n (from 0) is at n % capacity, and one place is the writer's. The text of a value
 * is at the same place among the texts.
 */
struct hp_ring {
    uint64_t count; /* values that were ever written */
    uint32_t capacity;
    uint32_t texts; /* offset of char[capacity][HP_RECENT_TEXT]; 0: there was none */
    struct hp_recent values[];
};

_Static_assert(sizeof(struct hp_kind) == 304 && sizeof(struct hp_object) == 128, "part of the file");
_Static_assert(sizeof(struct hp_part) == 192 && sizeof(struct hp_instance_part) == 320, "part of the file");
_Static_assert(sizeof(struct hp_histogram) == 528, "part of the file");
_Static_assert(sizeof(struct hp_recent) == 24 && sizeof(struct hp_ring) == 16, "part of the file");

#endif
