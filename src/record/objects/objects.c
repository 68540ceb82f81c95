/*
 * Objects: their identity, and where a thread counts for them.
 *
 * An object has a number, which lasts as long as the process. A static site caches it in `log`; code that has lost
 * it (a library that was reloaded) finds it by its site or by its name. A thread's context has a table from the
 * number to the thread's part in the session. That is the whole fast path. What is missing is made: the object in
 * the session under the lock, the part by its thread, which then links it to the object.
 *
 * SPDX-License-Identifier: MIT
 */
#include "objects.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "holding.h"
#include "logs.h"
#include "memory.h"
#include "no_session.h"
#include "sites.h"
#include "text.h"
#include "thread_context.h"
#include "threads.h"

/* ------------------------------------------------------------------------------------------------- object texts */

/*
 * Texts that describe items going through objects.
 */

/* Logs belong to the class, as histograms do: records of instances are reused. */
static void describe(struct hotpath_site *site, const struct hp_kind_type *kind, const void *address,
                     const char *text, size_t length)
{
    struct hp_object_use use;
    if (!hp_object_begin(site, kind, &use))
        return;
    struct hp_log *log = hp_object_is_paused(&use) ? NULL : hp_log_chosen(use.context, &use.part->log);
    if (log != NULL)
        hp_log_add_text(use.context, log, (uintptr_t)address, use.now, text, length);
    hp_object_end(&use);
}

/* Formats the text with nothing held, since formatting may run zones itself. */
__attribute__((format(printf, 4, 0))) void hp_object_tell(struct hotpath_site *site,
                                                          const struct hp_kind_type *kind, const void *address,
                                                          const char *format, va_list arguments)
{
    const int saved = errno;
    const uint32_t id = hp_page() != NULL ? hp_site_id(site) : HOTPATH_IDS_;
    if (id < HOTPATH_IDS_ && hp_site_is_logged(id)) {
        char text[HP_LOG_TEXT + 1];
        const int length = vsnprintf(text, sizeof text, format, arguments);
        if (length >= 0)
            describe(site, kind, address, text, (size_t)length < HP_LOG_TEXT ? (size_t)length : HP_LOG_TEXT);
    }
    errno = saved;
}

/* ------------------------------------------------------------------------------------------------------ objects */

#define MAX_OBJECTS (HP_OBJECTS_PER_CHUNK * HP_OBJECT_CHUNKS)

/* ----------------------------------------------------------------------------------- process-wide table */

struct hp_known_object *hp_object_known(uint32_t number)
{
    struct hp_known_object **chunk = &hp_runtime->object_chunks[number / HP_OBJECTS_PER_CHUNK];
    return &__atomic_load_n(chunk, __ATOMIC_ACQUIRE)[number % HP_OBJECTS_PER_CHUNK];
}

/* Kinds are compared by name, since another copy of the library has its own descriptor. */
static bool is_same(const struct hp_known_object *known, uint32_t site, const struct hp_kind_type *kind)
{
    if (strcmp(known->kind->name, kind->name) != 0)
        return false;
    return known->site == site || (kind->flags & HP_KIND_BY_NAME &&
                                   strcmp(hp_site_known(known->site)->name, hp_site_known(site)->name) == 0);
}

static uint32_t *bucket_of(uint32_t site)
{
    const char *name = hp_site_known(site)->name;
    return &hp_runtime->object_buckets[hp_text_hash(name, strlen(name)) % HP_OBJECT_BUCKETS];
}

uint32_t hp_object_new(uint32_t site, const struct hp_kind_type *kind)
{
    const uint32_t number = hp_runtime->object_count + 1;
    if (number >= MAX_OBJECTS)
        return 0;
    struct hp_known_object **chunk = &hp_runtime->object_chunks[number / HP_OBJECTS_PER_CHUNK];
    if (*chunk == NULL)
        __atomic_store_n(chunk, hp_more_memory(HP_OBJECTS_PER_CHUNK * sizeof **chunk), __ATOMIC_RELEASE);
    if (*chunk == NULL)
        return 0;
    *hp_object_known(number) = (struct hp_known_object){.site = site, .kind = kind};
    __atomic_store_n(&hp_runtime->object_count, number, __ATOMIC_RELEASE);
    return number;
}

static uint32_t add_object(uint32_t site, const struct hp_kind_type *kind)
{
    const uint32_t number = hp_object_new(site, kind);
    uint32_t *bucket = bucket_of(site);
    if (number != 0) {
        hp_object_known(number)->next = *bucket;
        *bucket = number;
    }
    return number;
}

static uint32_t number_of(uint32_t site, const struct hp_kind_type *kind)
{
    uint32_t number = *bucket_of(site);
    while (number != 0 && !is_same(hp_object_known(number), site, kind))
        number = hp_object_known(number)->next;
    return number != 0 ? number : add_object(site, kind);
}

/* ---------------------------------------------------------------------------- in the session, under the lock */

static bool write_field(struct hp_store *store, struct hp_kind_field *field, const struct hp_field_type *type)
{
    field->key = hp_store_text(store, type->key);
    field->title = hp_store_text(store, type->title);
    field->unit = type->unit;
    field->merge = type->merge;
    return field->key != 0 && field->title != 0;
}

static bool fill_kind(struct hp_store *store, struct hp_kind *kind, const struct hp_kind_type *type)
{
    kind->name = hp_store_text(store, type->name);
    kind->title = hp_store_text(store, type->title);
    kind->flags = type->flags;
    kind->typed = type->typed;
    bool is_whole = kind->name != 0 && kind->title != 0;
    for (; kind->counter_count < HP_KIND_COUNTERS && type->counters[kind->counter_count].key != NULL;
         kind->counter_count++)
        is_whole &= write_field(store, &kind->counters[kind->counter_count], &type->counters[kind->counter_count]);
    for (; kind->histogram_count < HP_KIND_HISTOGRAMS && type->histograms[kind->histogram_count].key != NULL;
         kind->histogram_count++)
        is_whole &=
            write_field(store, &kind->histograms[kind->histogram_count], &type->histograms[kind->histogram_count]);
    return is_whole;
}

static uint32_t kind_in(struct hp_store *store, const struct hp_kind_type *type)
{
    struct hp_header *header = hp_store_header(store);
    uint32_t offset = header->kinds;
    for (; offset != 0; offset = ((struct hp_kind *)hp_store_at(store, offset))->next) {
        const struct hp_string *name = hp_store_at(store, ((struct hp_kind *)hp_store_at(store, offset))->name);
        if (strcmp(name->bytes, type->name) == 0)
            return offset;
    }
    offset = hp_store_allocate(store, sizeof(struct hp_kind), 64);
    struct hp_kind *kind = offset != 0 ? hp_store_at(store, offset) : NULL;
    if (kind == NULL || !fill_kind(store, kind, type))
        return 0;
    kind->next = header->kinds;
    __atomic_store_n(&header->kinds, offset, __ATOMIC_RELEASE);
    return offset;
}

static uint64_t place_of(uint32_t epoch, uint32_t offset) { return (uint64_t)epoch << 32 | offset; }

/* The record of an object in the running session, or NULL. */
static struct hp_object *written_object(uint32_t number)
{
    const uint64_t place = hp_object_known(number)->place;
    return place >> 32 == hp_epoch() ? hp_store_at(hp_runtime->store, (uint32_t)place) : NULL;
}

static struct hp_object *make_object(uint32_t kind, uint32_t *ret_offset)
{
    *ret_offset = kind != 0 ? hp_store_allocate(hp_runtime->store, sizeof(struct hp_object), 64) : 0;
    struct hp_object *object = *ret_offset != 0 ? hp_store_at(hp_runtime->store, *ret_offset) : NULL;
    if (object != NULL)
        object->kind = kind;
    return object;
}

/* Release: a thread that makes a part, or a reader, sees the complete object. */
static void link_object(struct hp_known_object *known, struct hp_object *object, uint32_t offset)
{
    struct hp_header *header = hp_store_header(hp_runtime->store);
    object->next = header->objects;
    __atomic_store_n(&header->objects, offset, __ATOMIC_RELEASE);
    __atomic_store_n(&known->place, place_of(hp_epoch(), offset), __ATOMIC_RELEASE);
}

static bool write_object(uint32_t number, const struct hp_kind_type *type)
{
    struct hp_known_object *known = hp_object_known(number);
    uint32_t offset;
    if (written_object(number) != NULL)
        return true;
    struct hp_object *object = make_object(kind_in(hp_runtime->store, type), &offset);
    if (object == NULL)
        return false;
    object->site = known->site;
    object->state = HP_OBJECT_LIVE;
    object->born = hp_now();
    __atomic_store_n(&known->is_logged, hp_site_is_logged(known->site), __ATOMIC_RELAXED);
    link_object(known, object, offset);
    return true;
}

/* Threads read records without the lock: once it is live, the other fields are those of this instance. */
static void begin_instance(struct hp_object *object, uint32_t site, uint32_t class_, const void *address)
{
    HOTPATH_PUT_(object->site, site);
    HOTPATH_PUT_(object->class_, class_);
    HOTPATH_PUT_(object->key, (uintptr_t)address);
    HOTPATH_PUT_(object->born, hp_now());
    HOTPATH_PUT_(object->ended, 0);
    HOTPATH_PUT_(object->generation, object->generation + 1);
    __atomic_store_n(&object->state, HP_OBJECT_LIVE, __ATOMIC_RELEASE);
}

bool hp_object_write_instance(uint32_t number, uint32_t class_, const void *address)
{
    struct hp_known_object *known = hp_object_known(number);
    struct hp_object *const of = written_object(class_), *object = written_object(number);
    uint32_t offset = 0;
    if (of == NULL || (object != NULL && object->state == HP_OBJECT_LIVE))
        return true;
    if (object == NULL && (object = make_object(of->kind, &offset)) == NULL)
        return false;
    HOTPATH_PUT_(object->kind, of->kind);
    begin_instance(object, known->site, (uint32_t)hp_object_known(class_)->place, address);
    HOTPATH_PUT_(of->instances, of->instances + 1);
    if (offset != 0)
        link_object(known, object, offset);
    return true;
}

void hp_object_write_end(uint32_t number, uint64_t ticks)
{
    struct hp_object *object = written_object(number);
    if (object == NULL)
        return;
    struct hp_object *of = hp_store_at(hp_runtime->store, object->class_);
    HOTPATH_PUT_(object->ended, ticks);
    __atomic_store_n(&object->state, HP_OBJECT_ENDED, __ATOMIC_RELEASE);
    HOTPATH_PUT_(of->ended_count, of->ended_count + 1);
}

/* The number of the site's object, written into the running session. 0: not possible. */
static uint32_t need_object(struct hotpath_site *site, const struct hp_kind_type *kind)
{
    struct hp_signals held;
    uint32_t number = 0;
    if (hp_site_id(site) >= HOTPATH_IDS_ || !hp_lock(&held))
        return 0;
    if (hp_runtime->gate != 0) {
        number = number_of(HOTPATH_GET_(site->id), kind);
        if (number != 0 && !write_object(number, kind))
            number = 0;
    }
    hp_unlock(&held);
    if (number != 0)
        HOTPATH_PUT_(site->log, number);
    return number;
}

/* --------------------------------------------------------------------------------------------------- parts */

void hp_objects_reserve(void)
{
    if (hp_runtime->object_chunks[0] == NULL)
        hp_runtime->object_chunks[0] = hp_memory_map(HP_OBJECTS_PER_CHUNK * sizeof(struct hp_known_object));
}

/* Any thread may do this concurrently. Release: a reader that finds the part sees it complete. */
static void link_part(struct hp_object *object, struct hp_part *part, uint32_t offset)
{
    uint32_t first = __atomic_load_n(&object->parts, __ATOMIC_RELAXED);
    do
        part->sibling = first;
    while (!__atomic_compare_exchange_n(&object->parts, &first, offset, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static struct hp_object *object_of(const struct hp_thread_context *context, const struct hp_part *part)
{
    return (struct hp_object *)(void *)(context->hot.base + part->object);
}

/* The caller holds the context. NULL: no space, or the object is not in this session. */
static struct hp_part *make_part(struct hp_thread_context *context, uint32_t number, uint32_t size)
{
    const uint64_t place = __atomic_load_n(&hp_object_known(number)->place, __ATOMIC_ACQUIRE);
    if (place >> 32 != context->hot.epoch || !hp_parts_make_places(context, number))
        return NULL;
    const uint32_t offset = hp_thread_allocate(context, size, 64);
    if (offset == 0)
        return NULL;
    struct hp_part *part = (struct hp_part *)(void *)(context->hot.base + offset);
    part->object = (uint32_t)place;
    part->thread = context->record_offset;
    part->generation = __atomic_load_n(&object_of(context, part)->generation, __ATOMIC_RELAXED);
    link_part(object_of(context, part), part, offset);
    context->parts[number] = offset;
    return part;
}

/* ------------------------------------------------------------------------------------------------ the fast path */

/* Passes the times of use on to the class, so that they survive the reuse of an instance's record. */
static void hand_on_times(struct hp_part *part, struct hp_part *class_)
{
    if (part->first_tick != 0 && (class_->first_tick == 0 || part->first_tick < class_->first_tick))
        HOTPATH_PUT_(class_->first_tick, part->first_tick);
    if (part->last_tick > class_->last_tick)
        HOTPATH_PUT_(class_->last_tick, part->last_tick);
    HOTPATH_PUT_(part->first_tick, 0);
    HOTPATH_PUT_(part->last_tick, 0);
    HOTPATH_PUT_(part->last, 0);
}

/*
 * The record now belongs to another instance of the same class. The class's total over all its instances must not
 * change: so sums continue, and their current values are saved as the base; what is not a sum is passed on to the
 * class.
 */
static void begin_part_again(struct hp_part *part, const struct hp_kind_type *kind, uint32_t generation,
                             struct hp_part *class_)
{
    uint64_t *base = ((struct hp_instance_part *)(void *)part)->base;
    const uint32_t class_sequence = hp_part_change(class_), sequence = hp_part_change(part);
    for (uint32_t at = 0; at < HP_KIND_COUNTERS && kind->counters[at].key != NULL; at++) {
        if (kind->counters[at].merge == HP_MERGE_SUM) {
            HOTPATH_PUT_(base[at], part->count[at]);
            continue;
        }
        if (kind->counters[at].merge == HP_MERGE_MOST && part->count[at] > class_->count[at])
            HOTPATH_PUT_(class_->count[at], part->count[at]);
        HOTPATH_PUT_(part->count[at], 0);
    }
    hand_on_times(part, class_);
    HOTPATH_PUT_(part->generation, generation);
    hp_part_changed(part, sequence);
    hp_part_changed(class_, class_sequence);
}

struct hp_part *hp_object_part(struct hp_thread_context *context, uint32_t number, struct hp_part *class_)
{
    struct hp_part *part = hp_object_part_at(context, number);
    if (__builtin_expect(part == NULL, 0)) {
        const int saved = errno;
        part = make_part(context, number, sizeof(struct hp_instance_part));
        errno = saved;
        if (part == NULL)
            return NULL;
    }
    const uint32_t generation = __atomic_load_n(&object_of(context, part)->generation, __ATOMIC_RELAXED);
    if (__builtin_expect(part->generation != generation, 0))
        begin_part_again(part, hp_object_known(number)->kind, generation, class_);
    return part;
}

/* The first free context of this thread: we may be in a handler that interrupted the recorder. */
static struct hp_thread_context *context_at_rest(struct hp_thread_context *context)
{
    for (int depth = 0; context != NULL && hp_context_is_held(&context->hot); depth++)
        context =
            depth < HP_HANDLER_DEPTH && !hp_thread_is_shared(context) ? hp_thread_handler_context(context) : NULL;
    return context;
}

static bool lose(void)
{
    hp_session_lose(HP_LOSS_VALUES);
    return false;
}

static bool is_wanted(const struct hp_thread_context *context, const struct hp_kind_type *kind)
{
    return kind->goes_on || !hp_context_is_paused(&context->hot);
}

static bool begin_new(struct hotpath_site *site, const struct hp_kind_type *kind, struct hp_object_use *ret_use)
{
    hp_unrecorded_meet(site);
    struct hp_thread_context *context = hp_thread_context_of_for_pools();
    if (context == NULL)
        return lose();
    if (!is_wanted(context, kind))
        return false;
    const uint32_t number = need_object(site, kind);
    context = context_at_rest(context);
    if (number == 0 || context == NULL)
        return HOTPATH_GET_(site->id) != HP_ID_UNWANTED && lose();
    hp_context_hold(&context->hot);
    struct hp_part *part = NULL;
    const bool is_still_wanted = hp_context_has_session(&context->hot) && is_wanted(context, kind);
    if (is_still_wanted && (part = hp_object_part_at(context, number)) == NULL)
        part = make_part(context, number, sizeof *part);
    if (part != NULL) {
        *ret_use = (struct hp_object_use){context, part, hp_object_now()};
        return true;
    }
    hp_context_let_go(&context->hot);
    return is_still_wanted && lose();
}

/* While recording is paused, kinds that go on come here with every event, and the thread usually has its part. */
static bool begin_paused(const struct hotpath_site *site, const struct hp_kind_type *kind,
                         struct hp_object_use *ret_use)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    uint64_t now;
    if (hp_context_is_held(&context->hot))
        return false;
    hp_context_hold(&context->hot);
    struct hp_part *part =
        hp_object_clock_for(context, kind, &now) ? hp_object_part_at(context, HOTPATH_GET_(site->log)) : NULL;
    if (part == NULL) {
        hp_context_let_go(&context->hot);
        return false;
    }
    *ret_use = (struct hp_object_use){context, part, now};
    return true;
}

struct beginning {
    struct hotpath_site *site;
    const struct hp_kind_type *kind;
    struct hp_object_use *use;
    bool is_begun; /* the result */
};

static void begin_aside(void *context)
{
    struct beginning *beginning = context;
    beginning->is_begun = begin_new(beginning->site, beginning->kind, beginning->use);
}

bool hp_object_begin_out_of_line(struct hotpath_site *site, const struct hp_kind_type *kind,
                                 struct hp_object_use *ret_use)
{
    const int saved = errno;
    struct beginning beginning = {site, kind, ret_use, false};
    if (HOTPATH_GET_(site->id) == HP_ID_UNWANTED)
        return false;
    if (hp_page() == NULL)
        hp_unrecorded_meet(site);
    else if (kind->goes_on && begin_paused(site, kind, ret_use))
        beginning.is_begun = true;
    else if ((kind->goes_on || !hp_objects_are_paused()) && !hp_aside(begin_aside, &beginning))
        lose();
    errno = saved;
    return beginning.is_begun;
}

static __attribute__((noinline)) struct hp_thread_context *hold_out_of_line(void)
{
    const int saved = errno;
    struct hp_thread_context *context = hp_page() != NULL ? hp_thread_context_of_for_pools() : NULL;
    context = context != NULL ? context_at_rest(context) : NULL;
    errno = saved;
    if (context == NULL)
        return NULL;
    hp_context_hold(&context->hot);
    if (hp_context_has_session(&context->hot))
        return context;
    hp_context_let_go(&context->hot);
    return NULL;
}

struct hp_thread_context *hp_objects_hold(void)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    if (HOTPATH_LIKELY_(!hp_context_is_held(&context->hot))) {
        hp_context_hold(&context->hot);
        if (HOTPATH_LIKELY_(hp_context_has_session(&context->hot)))
            return context;
        hp_context_let_go(&context->hot);
    }
    return hold_out_of_line();
}

bool hp_object_use_known(struct hp_thread_context *context, uint32_t number, struct hp_object_use *ret_use)
{
    struct hp_part *part = hp_object_part_at(context, number);
    if (__builtin_expect(part == NULL, 0)) {
        const int saved = errno;
        part = make_part(context, number, sizeof *part);
        errno = saved;
        if (part == NULL)
            return false;
    }
    *ret_use = (struct hp_object_use){context, part, hp_object_now()};
    return true;
}

/* -------------------------------------------------------------------------------- histograms and latest values */

static void *at(const struct hp_object_use *use, uint32_t offset) { return use->context->hot.base + offset; }

static uint32_t allocate(const struct hp_object_use *use, uint32_t size)
{
    const int saved = errno;
    const uint32_t offset = hp_thread_allocate(use->context, size, 64);
    errno = saved;
    return offset;
}

static struct hp_histogram *make_histogram(const struct hp_object_use *use, uint32_t histogram)
{
    const uint32_t offset = allocate(use, sizeof(struct hp_histogram));
    if (offset != 0)
        __atomic_store_n(&use->part->histograms[histogram], offset, __ATOMIC_RELEASE);
    return offset != 0 ? at(use, offset) : NULL;
}

static uint32_t make_octave(const struct hp_object_use *use, uint32_t *octave)
{
    const uint32_t offset = allocate(use, HP_MAGNITUDE_STEPS * sizeof(uint64_t));
    if (offset != 0)
        __atomic_store_n(octave, offset, __ATOMIC_RELEASE);
    return offset;
}

/* The exponent of the double gives the octave, the mantissa the step. */
void hp_object_distribute(const struct hp_object_use *use, uint32_t histogram, double magnitude)
{
    const int32_t bias = 1023 - (int32_t)HP_MAGNITUDE_ONE;
    const uint32_t offset = use->part->histograms[histogram];
    struct hp_histogram *to = offset != 0 ? at(use, offset) : make_histogram(use, histogram);
    uint64_t bits;
    if (to == NULL) {
        hp_lose(use->context, HP_LOSS_BUCKETS);
        return;
    }
    memcpy(&bits, &magnitude, sizeof bits);
    const int32_t number = (int32_t)(bits >> 52 & 0x7ff) - bias;
    if (number < 0) {
        HOTPATH_ADD_(to->zeros, 1);
        return;
    }
    const bool is_largest = number >= (int32_t)HP_MAGNITUDES;
    uint32_t *octave = &to->octaves[is_largest ? HP_MAGNITUDES - 1 : (uint32_t)number];
    const uint32_t step = is_largest ? HP_MAGNITUDE_STEPS - 1 : bits >> 46 & (HP_MAGNITUDE_STEPS - 1);
    if (__builtin_expect(*octave == 0 && make_octave(use, octave) == 0, 0)) {
        HOTPATH_ADD_(to->missed, 1);
        hp_lose(use->context, HP_LOSS_BUCKETS);
        return;
    }
    uint64_t *steps = at(use, *octave);
    HOTPATH_ADD_(steps[step], 1);
}

static __attribute__((noinline)) struct hp_log *make_log(const struct hp_object_use *use)
{
    const int saved = errno;
    struct hp_log *log = hp_site_is_logged(hp_object_of(use)->site)
                             ? hp_log_chosen(use->context, &use->part->log)
                             : hp_log_of_value(use->context, &use->part->log);
    errno = saved;
    return log;
}

/* Fields that values do not have stay 0 in their log. */
static inline __attribute__((always_inline)) void put_value(const struct hp_object_use *use, struct hp_log *log,
                                                            uint64_t bits, uint32_t type, const char *text)
{
    struct hp_log_record *record = hp_log_begin(log);
    HOTPATH_PUT_(record->tick, use->now);
    HOTPATH_PUT_(record->id, bits);
    HOTPATH_PUT_(record->tid, use->context->thread_id);
    HOTPATH_PUT_(record->what, HP_RECORD_VALUE);
    HOTPATH_PUT_(record->type, (uint16_t)type);
    if (text != NULL)
        HOTPATH_PUT_(record->text_length, hp_log_put_text(use->context, log, text, (size_t)bits));
    else
        HOTPATH_PUT_(record->text_length, 0);
    hp_log_end(log, record);
}

static __attribute__((noinline)) void remember_otherwise(const struct hp_object_use *use, uint64_t bits,
                                                         uint32_t type, const char *text)
{
    struct hp_log *log = hp_log_at(use->context, use->part->log);
    if (log == NULL)
        log = make_log(use);
    if (log != NULL)
        put_value(use, log, bits, type, text);
}

/* Makes no call except a tail call, so everything stays in registers. */
void hp_object_remember(const struct hp_object_use *use, uint64_t bits, uint32_t type, const char *text)
{
    struct hp_log *log = hp_log_at(use->context, use->part->log);
    if (HOTPATH_LIKELY_(log != NULL && text == NULL))
        put_value(use, log, bits, type, NULL);
    else
        remember_otherwise(use, bits, type, text);
}
