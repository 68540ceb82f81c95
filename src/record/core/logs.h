/*
 * Logs: the latest records of one thing in one thread record, for all kinds of things (log_layout.h). A log is made
 * when its first record is written; what is not logged has none, and costs nothing.
 *
 *     struct hp_log *log = hp_log_chosen(context, &part->log);
 *     if (log != NULL)
 *         hp_log_put(context, log, &(struct hp_log_record){.what = HP_RECORD_SENT, ...}, text, length);
 *
 * The caller holds the context throughout. SPDX-License-Identifier: MIT
 */
#ifndef HP_CORE_LOGS_H
#define HP_CORE_LOGS_H

#include <stddef.h>
#include <stdint.h>

#include "log_layout.h"
#include "thread_context.h"

#define HP_LATEST_VALUES 15u    /* of a value that nobody chose to log ... */
#define HP_VALUE_TEXT_BYTES 48u /* ... and what is kept of each text */

/*
 * Space for what is more than numbers: numbers come first, so there is none once half of the session is used.
 * 0: no space.
 */
uint32_t hp_log_space(struct hp_thread_context *context, uint32_t size, uint32_t align);

/* Word by word, since a reader may be active; both addresses and the size are multiples of 8. */
static inline void hp_log_put_words(void *to, const void *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word;
        __builtin_memcpy(&word, (const char *)from + at, sizeof word);
        HOTPATH_PUT_(*(uint64_t *)(void *)((char *)to + at), word);
    }
}

/*
 * The log whose offset is at `place`, made if there is none: with as many records as HOTPATH_LOGS_LIMIT says. NULL:
 * no space, which is counted.
 */
struct hp_log *hp_log_chosen(struct hp_thread_context *context, uint32_t *place);
/* The same for the latest numbers of a value. What finds no space is not counted: its sums are there. */
struct hp_log *hp_log_of_value(struct hp_thread_context *context, uint32_t *place);

/* The log at an offset; NULL: 0. */
static inline struct hp_log *hp_log_at(const struct hp_thread_context *context, uint32_t offset)
{
    return offset != 0 ? (struct hp_log *)(void *)(context->hot.base + offset) : NULL;
}

/* A place to write the next record to: what is not written to it is what its last record had. */
static inline struct hp_log_record *hp_log_begin(struct hp_log *log)
{
    struct hp_log_record *record = &log->records[log->place];
    HOTPATH_PUT_(record->number, 0);
    /* A reader that sees any new word also sees this. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return record;
}

/* The record is complete. */
static inline void hp_log_end(struct hp_log *log, struct hp_log_record *record)
{
    const uint64_t number = log->count + 1;
    __atomic_store_n(&record->number, number, __ATOMIC_RELEASE); /* pairs with the reader's acquire */
    log->place = log->place + 1 < log->capacity ? log->place + 1 : 0;
    __atomic_store_n(&log->count, number, __ATOMIC_RELEASE);
}

/* The text of the record being written, cut off if it is too long. Returns its length there; 0: no space. */
uint32_t hp_log_put_text(struct hp_thread_context *context, struct hp_log *log, const char *text, size_t length);

/* Writes a record; its number, thread and length of text are set here. `text` may be NULL. */
void hp_log_put(struct hp_thread_context *context, struct hp_log *log, const struct hp_log_record *record,
                const char *text, size_t length);

/*
 * Adds a text to the latest record, if that is a message or item of this instance without a text. Else the text is
 * a record of its own.
 */
void hp_log_add_text(struct hp_thread_context *context, struct hp_log *log, uint64_t key, uint64_t now,
                     const char *text, size_t length);

#endif
