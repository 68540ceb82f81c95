/*
 * Logs in the session file: the latest records of one thing in one thread record, each of the same size. A thing is
 * a function or block whose calls are logged, or an object: a channel, a stream, a class of tasks, a value.
 *
 *   stat, part ─▶ hp_log ─▶ records (an array)
 *                       └▶ texts (an array, one place for each record; made with the first text)
 *
 * Record number n (from 0) is at n % capacity. There is one place more than records requested, so that all of them
 * are there while the next one is written. A record is whole if its `number` is n + 1 before and after it is read:
 * it is 0 while the place is written. A text may be added to a complete record: it is there once its length is.
 *
 * Writer: the thread of the record alone. SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_LOG_LAYOUT_H
#define HP_FORMAT_LOG_LAYOUT_H

#include <stdint.h>

#define HP_LOG_TEXT 200u /* maximum length of a text; it has no terminator, its length is in the record */
#define HP_UNKNOWN_TICKS UINT64_MAX

enum hp_record_what {
    HP_RECORD_NONE,
    HP_RECORD_CALL,  /* of a function or block, or a poll of a task */
    HP_RECORD_VALUE, /* was reported */
    HP_RECORD_SENT,  /* a message; the next three likewise */
    HP_RECORD_RECEIVED,
    HP_RECORD_REFUSED,
    HP_RECORD_DROPPED,
    HP_RECORD_ITEM,      /* of a stream */
    HP_RECORD_READY,     /* a task that has ended by itself */
    HP_RECORD_CANCELLED, /* a task that has not */
    HP_RECORD_TEXT,      /* that the program attached to nothing else */
    HP_RECORD_KINDS
};

/* Fields that do not belong to its kind are 0. */
struct hp_log_record {
    uint64_t number; /* n + 1; 0: being written */
    uint64_t tick;   /* when it happened; of what has a duration: when it ended */
    /*
     * Of a call: its duration. Received message: its delay. Item: from the previous one to this. Task: from its
     * creation to its end. HP_UNKNOWN_TICKS: not known.
     */
    uint64_t ticks;
    uint64_t id;    /* of a message: as the program gave it; of a value: its bits */
    uint64_t key;   /* of a message or item: the address of the instance */
    uint64_t busy;  /* of a task: ticks in which it ran */
    uint64_t bytes; /* of a call or task: requested from malloc; of a message or item: its size */
    uint64_t count; /* of a call or task: allocations; of a message or item: how many it stands for */
    uint32_t node;  /* of a call: its node; of others: the innermost open one; 0: none */
    uint32_t tid;
    uint16_t what;  /* enum hp_record_what */
    uint16_t type;  /* of a value: enum hp_value_type */
    uint32_t polls; /* of a task */
    uint32_t text_length;
    uint32_t reserved;
};

#define HP_LOG_CHOSEN 1u /* in `flags`: by the program or HOTPATH_LOG. Else only a value's latest numbers */

struct hp_log {
    uint64_t count; /* records ever written */
    uint32_t capacity;
    uint32_t texts;      /* offset of char[capacity][text_bytes]; 0: none so far */
    uint32_t text_bytes; /* a multiple of 8, at most HP_LOG_TEXT */
    uint32_t flags;      /* HP_LOG_... */
    uint32_t place;      /* count % capacity; private to the writer */
    uint32_t reserved;
    struct hp_log_record records[];
};

_Static_assert(sizeof(struct hp_log_record) == 88 && sizeof(struct hp_log) == 32, "part of the file");
_Static_assert(HP_LOG_TEXT % 8 == 0, "texts are written in words");

#endif
