/*
 * Objects in the session file: things of the program that are not zones, such as values, gauges and channels.
 *
 *   header ─▶ kinds (a list) ─▶ strings      what is counted of an object, its names, and how it is added up
 *          └▶ objects (a list) ─▶ kind, site
 *                             └▶ parts (a list, one for each thread record) ─▶ histograms ─▶ octaves
 *                                                                           └▶ log: log_layout.h
 *
 * A kind describes itself, so a reader can show one that it does not know, and a new kind needs no new version of
 * the format. An object is a class (a kind at a place in code) or an instance of one (a kind, a place, and an
 * address). Instances of a class share a limited number of records. An instance with a record counts in its own
 * parts only. So the total of a class is the sum of its own parts, which count what happens without a record, and
 * of all parts of its instances. Parts of instances are therefore never reset: `base` has what they had counted
 * when another instance got the record, and is subtracted for that instance only. Only classes have histograms,
 * except for kinds whose instances never end (event loops).
 *
 * Writers: kinds once, before they are linked; an object under the recorder's lock, except for `shared`; a part and
 * everything below it by its thread alone, except for `sibling`, which is written once.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_OBJECT_LAYOUT_H
#define HP_FORMAT_OBJECT_LAYOUT_H

#include <stdint.h>

#define HP_KIND_COUNTERS 14u
#define HP_KIND_HISTOGRAMS 3u
#define HP_OBJECT_SHARED 8u

/* How the values of a counter in several parts are combined. */
enum hp_merge {
    HP_MERGE_NONE, /* private to the recorder: not shown */
    HP_MERGE_SUM,
    HP_MERGE_LEAST,
    HP_MERGE_MOST,
    HP_MERGE_NEWEST /* that of the part with the latest last_tick */
};

/* Counters of values, gauges and counts. */
enum hp_value_counter {
    HP_VALUE_UPDATES,
    HP_VALUE_NUMBERS,      /* of these, finite numbers */
    HP_VALUE_SUM,          /* of integers; may wrap */
    HP_VALUE_SET_TICK = 2, /* of a gauge instead: when it was last set; 0: never */
    HP_VALUE_LEAST,
    HP_VALUE_MOST,
    HP_VALUE_REAL_SUM, /* of all numbers, as a double */
    HP_VALUE_ADDED,    /* of a gauge: everything ever added here */
    HP_VALUE_SET       /* of a gauge: the value set last, minus everything added by then */
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
#define HP_KIND_BY_NAME 2u /* objects of one name are one, wherever in the code; otherwise the place counts, too */
#define HP_KIND_OF_RUN 4u  /* instances with the same key are one, in all processes: system objects */
/* Not reported by the program: users outside of measured functions are named by their thread. */
#define HP_KIND_FOUND 8u
#define HP_KIND_BYTES 16u /* carries bytes; items are calls that moved some */

struct hp_kind {
    uint32_t next;  /* offset of an older one */
    uint32_t name;  /* offset of a string: "channel" */
    uint32_t title; /* offset of a string: "Channel" */
    uint32_t flags; /* HP_KIND_... */
    uint32_t counter_count;
    uint32_t histogram_count;
    uint32_t typed; /* bit mask of the counters that are numbers of the part's type */
    uint32_t reserved;
    struct hp_kind_field counters[HP_KIND_COUNTERS];
    struct hp_kind_field histograms[HP_KIND_HISTOGRAMS];
};

enum hp_object_state { HP_OBJECT_LIVE = 1, HP_OBJECT_ENDED = 2 };

struct hp_object {
    uint32_t next;       /* offset of an older one */
    uint32_t kind;       /* offset of hp_kind */
    uint32_t site;       /* id of the site where it was made; the object has its name */
    uint32_t class_;     /* of an instance: offset of its class; 0: this is a class */
    uint32_t parts;      /* offset of the newest hp_part */
    uint32_t state;      /* enum hp_object_state */
    uint32_t generation; /* instances so far in this record; a part with another value is of an earlier one */
    uint32_t is_added;   /* 1: a gauge that was added to, so that its level is not just the value set last */
    uint64_t key;        /* of an instance: its address */
    uint64_t born;       /* ticks */
    uint64_t ended;
    uint32_t instances;                /* of a class: made so far, with or without a record, ... */
    uint32_t ended_count;              /* ... and ended */
    uint64_t shared[HP_OBJECT_SHARED]; /* atomic, by any thread: data of the kind for all threads */
};

/* Type of the numbers in a part. Bool, pointer and text are types of single values, never of sums. */
enum hp_value_type {
    HP_VALUE_NONE = 0,
    HP_VALUE_SIGNED = 1,
    HP_VALUE_UNSIGNED = 2, /* larger than INT64_MAX */
    HP_VALUE_REAL = 3,     /* a double */
    HP_VALUE_BOOL = 4,
    HP_VALUE_POINTER = 5,
    HP_VALUE_TEXT = 6,
    HP_VALUE_TYPES
};

#define HP_PART_SAMPLED 1u /* of a gauge that several threads add to: not every level was sampled */

/* What one thread record knows about an object. Three cache lines that no other thread writes. */
struct hp_part {
    uint32_t object;     /* offset */
    uint32_t sibling;    /* offset of the next part of the object */
    uint32_t thread;     /* offset of the thread record */
    uint32_t generation; /* of the object when this part began to count */
    uint32_t sequence;   /* odd while related counters are written, see hp_part_change */
    uint32_t type;       /* enum hp_value_type */
    uint32_t flags;      /* HP_PART_SAMPLED */
    uint32_t log;        /* offset of hp_log: the latest values, messages, items or tasks; 0: none so far */
    uint32_t histograms[HP_KIND_HISTOGRAMS];
    uint32_t node; /* for kinds that show their users: offset of the call tree node that the thread was last in */
    uint64_t first_tick;
    uint64_t last_tick;
    uint64_t last; /* latest value, in the part's type; other kinds define it themselves */
    uint64_t count[HP_KIND_COUNTERS];
    uint64_t own; /* private to the recorder */
};

/* The part of an instance. */
struct hp_instance_part {
    struct hp_part part;
    uint64_t base[HP_KIND_COUNTERS]; /* counts of earlier instances, for counters that are sums */
    uint64_t reserved[2];
};

/*
 * Distribution of numbers of any size. Octave n counts [2 ** (n - 64), 2 ** (n - 63)) in 64 equal steps, so a
 * percentile is within 0.8 %, and integers below 128 have a counter each. Smaller numbers count as 0, larger ones
 * as the largest. Octaves are allocated at first use.
 */
#define HP_MAGNITUDES 128u
#define HP_MAGNITUDE_ONE 64u /* the octave that begins with 1 */
#define HP_MAGNITUDE_STEPS 64u
struct hp_histogram {
    uint64_t zeros;
    uint64_t missed;                 /* numbers without space for their octave */
    uint32_t octaves[HP_MAGNITUDES]; /* offsets of uint64_t[HP_MAGNITUDE_STEPS] */
};

_Static_assert(sizeof(struct hp_kind) == 304 && sizeof(struct hp_object) == 128, "part of the file");
_Static_assert(sizeof(struct hp_part) == 192 && sizeof(struct hp_instance_part) == 320, "part of the file");
_Static_assert(sizeof(struct hp_histogram) == 528, "part of the file");

/* -------------------------------------------------------------------------------------------------- channels */

/*
 * Counters of a channel, as written by recorders and shown by readers. While a thread waits
 * for the channel, `last` of its part is the start of the wait, and `flags` its reason: HP_CHANNEL_FULL or
 * HP_CHANNEL_EMPTY.
 */

enum hp_channel_counter {
    HP_CHANNEL_SENT,
    HP_CHANNEL_RECEIVED,
    HP_CHANNEL_SENT_BYTES,
    HP_CHANNEL_RECEIVED_BYTES,
    HP_CHANNEL_IN_TICKS,  /* sum of the times at which items went in; may wrap */
    HP_CHANNEL_OUT_TICKS, /* the same for items that came out or were dropped */
    HP_CHANNEL_FULL,      /* ticks that senders waited */
    HP_CHANNEL_EMPTY,     /* ticks that receivers waited */
    HP_CHANNEL_FULL_WAITS,
    HP_CHANNEL_EMPTY_WAITS,
    HP_CHANNEL_REFUSED, /* items not accepted */
    HP_CHANNEL_DROPPED, /* items that went in but did not come out */
    HP_CHANNEL_MOST_INSIDE,
    HP_CHANNEL_CAPACITY /* 0: unknown */
};

enum { HP_CHANNEL_DELAYS }; /* histograms */

/* Shared: offsets of hp_channel_stamp[HP_STAMPS], and of a table for logged messages; 0: none. */
enum { HP_CHANNEL_STAMPS, HP_CHANNEL_LOG_STAMPS };

#define HP_STAMPS 64u

/* The send time of an item that was not received yet. */
struct hp_channel_stamp {
    uint64_t key; /* derived from its id; 0: free, 1: being written */
    uint64_t sent;
};

/* ----------------------------------------------------------------------------------------------- event loops */

/*
 * Counters of an event loop, as written by recorders and shown by readers. A part is one
 * thread's loop. `flags` of the part is its state (enum hp_loop_state), `last` the time since then. Instances,
 * distinguished by what the loop waits for, keep their records until the session ends, so they have their own
 * histograms.
 */

enum hp_loop_counter {
    HP_LOOP_TURNS,
    HP_LOOP_EVENTS, /* results of waits, unless negative */
    HP_LOOP_WAITS,
    HP_LOOP_BUSY,    /* ticks of all turns */
    HP_LOOP_WAITED,  /* ticks */
    HP_LOOP_LONGEST, /* ticks of the longest turn */
    HP_LOOP_LONGEST_SINCE,
    HP_LOOP_SQUARES_LOW, /* sum of the squares of all turns in ticks, in 128 bits */
    HP_LOOP_SQUARES_HIGH,
    HP_LOOP_LONGEST_INSIDE, /* ticks of the longest turn in one callback, whose node the part has; 0: unknown */
    HP_LOOP_COUNTERS
};

enum { HP_LOOP_TURN_TICKS }; /* histograms */

enum hp_loop_state { HP_LOOP_OUT, HP_LOOP_WAITING, HP_LOOP_TURNING };

/* --------------------------------------------------------------------------------------------------- streams */

/*
 * Counters of a stream, as written by recorders and shown by readers. A stream may move
 * between threads, so the times that the next step needs are in the object; a time before the object's birth
 * belongs to an earlier stream.
 */

enum hp_stream_counter {
    HP_STREAM_ITEMS,
    HP_STREAM_BYTES,
    HP_STREAM_GAPS,          /* between consecutive yields: how many ... */
    HP_STREAM_GAP,           /* ... and ticks */
    HP_STREAM_PRODUCED,      /* ticks that the producer worked */
    HP_STREAM_CONSUMED,      /* ticks from a yield to the next request ... */
    HP_STREAM_CONSUMED_ITEMS /* ... and the number of items in these */
};

enum { HP_STREAM_GAP_TIMES }; /* histograms */

/* Shared: ticks, 0 for never, unless said otherwise. */
enum {
    HP_STREAM_BEGUN,  /* start of the producer's current work; 0: none */
    HP_STREAM_LATEST, /* time of the latest yield */
    HP_STREAM_HANDED, /* the same until the consumer asks for more; 0: it has */
    HP_STREAM_HANDED_ITEMS,
    HP_STREAM_GUARD /* the inverted address of the guard of the producer's current scope; 0: none */
};

#endif
