/*
 * Logs.
 *
 * A log has a fixed size, which depends on HOTPATH_LOGS_LIMIT alone, and HP_LOG_SPACE at most. Its texts are made
 * when the first one comes, for all places at once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs.h"

#include <errno.h>
#include <string.h>

#define LOG_SPACE (4u << 20) /* bytes of one log, with its texts */
#define MOST_RECORDS (LOG_SPACE / (sizeof(struct hp_log_record) + HP_LOG_TEXT))

uint32_t hp_log_space(struct hp_thread_context *context, uint32_t size, uint32_t align)
{
    const uint64_t used = __atomic_load_n(&hp_store_header(context->store)->used, __ATOMIC_RELAXED);
    const int saved = errno;
    const uint32_t offset =
        used + size <= context->store->capacity / 2 ? hp_thread_allocate(context, size, align) : 0;
    errno = saved;
    return offset;
}

static void declare(const struct hp_thread_context *context, uint32_t feature)
{
    struct hp_header *header = hp_store_header(context->store);
    if (!(__atomic_load_n(&header->features, __ATOMIC_RELAXED) & feature))
        __atomic_fetch_or(&header->features, feature, __ATOMIC_RELAXED);
}

/* One place more than records: the next one may be half written. */
static struct hp_log *make(struct hp_thread_context *context, uint32_t *place, uint32_t records,
                           const struct hp_log *about)
{
    const uint32_t bytes = (uint32_t)(sizeof(struct hp_log) + (records + 1) * sizeof(struct hp_log_record));
    const uint32_t offset = hp_log_space(context, bytes, 64);
    struct hp_log *log = hp_log_at(context, offset);
    if (log == NULL)
        return NULL;
    *log = *about;
    log->capacity = records + 1;
    __atomic_store_n(place, offset, __ATOMIC_RELEASE);
    return log;
}

struct hp_log *hp_log_chosen(struct hp_thread_context *context, uint32_t *place)
{
    struct hp_log *log = hp_log_at(context, *place);
    if (HOTPATH_LIKELY_(log != NULL))
        return log;
    const uint32_t limit = HOTPATH_GET_(hp_runtime->live_settings.logs_limit);
    log = make(context, place, limit < MOST_RECORDS ? limit : (uint32_t)MOST_RECORDS,
               &(struct hp_log){.text_bytes = HP_LOG_TEXT, .flags = HP_LOG_CHOSEN});
    if (log != NULL)
        declare(context, HP_FEATURE_LOGS);
    else
        hp_lose(context, HP_LOSS_CALLS);
    return log;
}

struct hp_log *hp_log_of_value(struct hp_thread_context *context, uint32_t *place)
{
    return make(context, place, HP_LATEST_VALUES, &(struct hp_log){.text_bytes = HP_VALUE_TEXT_BYTES});
}

/* ------------------------------------------------------------------------------------------------------- texts */

static uint32_t texts_of(struct hp_thread_context *context, struct hp_log *log)
{
    if (log->texts == 0)
        __atomic_store_n(&log->texts, hp_log_space(context, log->capacity * log->text_bytes, 64), __ATOMIC_RELEASE);
    return log->texts;
}

/* The text of the record at this place. Returns its length there; 0: no space. */
static uint32_t put_text_at(struct hp_thread_context *context, struct hp_log *log, uint32_t place, const char *text,
                            size_t length)
{
    const uint32_t texts = texts_of(context, log),
                   fitting = (uint32_t)(length < log->text_bytes ? length : log->text_bytes);
    char *to = context->hot.base + texts + (size_t)place * log->text_bytes;
    const size_t whole = fitting & ~(size_t)7;
    char rest[8] = {0};
    if (texts == 0)
        return 0;
    hp_log_put_words(to, text, whole);
    memcpy(rest, text + whole, fitting - whole);
    if (fitting > whole)
        hp_log_put_words(to + whole, rest, sizeof rest);
    return fitting;
}

uint32_t hp_log_put_text(struct hp_thread_context *context, struct hp_log *log, const char *text, size_t length)
{
    return put_text_at(context, log, log->place, text, length);
}

/* ----------------------------------------------------------------------------------------------------- records */

void hp_log_put(struct hp_thread_context *context, struct hp_log *log, const struct hp_log_record *record,
                const char *text, size_t length)
{
    struct hp_log_record *to = hp_log_begin(log), copy = *record;
    copy.tid = context->thread_id;
    copy.text_length = text != NULL ? hp_log_put_text(context, log, text, length) : 0;
    hp_log_put_words(&to->tick, &copy.tick, sizeof copy - offsetof(struct hp_log_record, tick));
    hp_log_end(log, to);
}

static bool is_to_be_described(const struct hp_log_record *record, uint64_t key)
{
    return record->what >= HP_RECORD_SENT && record->what <= HP_RECORD_ITEM && record->key == key &&
           record->text_length == 0;
}

/* The text comes before its length, so a reader sees all of it or none. */
void hp_log_add_text(struct hp_thread_context *context, struct hp_log *log, uint64_t key, uint64_t now,
                     const char *text, size_t length)
{
    const uint32_t last = (log->place != 0 ? log->place : log->capacity) - 1;
    struct hp_log_record *record = &log->records[last];
    if (log->count > 0 && is_to_be_described(record, key)) {
        const uint32_t there = put_text_at(context, log, last, text, length);
        __atomic_store_n(&record->text_length, there, __ATOMIC_RELEASE);
        return;
    }
    hp_log_put(context, log,
               &(struct hp_log_record){.what = HP_RECORD_TEXT,
                                       .tick = now,
                                       .ticks = HP_UNKNOWN_TICKS,
                                       .key = key,
                                       .node = context->hot.top->node},
               text, length);
}
