/*
 * Writing the time axis of a session. Values are written in place, eight bytes each; they are read again only to
 * merge slots, one series at a time. So memory use does not depend on the duration. SPDX-License-Identifier: MIT
 */
#include "axis_writer.h"

#include <string.h>
#include <unistd.h>

#include "layout.h"
#include "raw_call.h"

#define WORK_TIMES (sizeof(struct hp_work_times) / sizeof(uint64_t))

static uint32_t most_of(uint32_t kind)
{
    switch (kind) {
    case HP_AXIS_THREAD:
        return HP_AXIS_THREADS;
    case HP_AXIS_THREAD_CAUSE:
        return HP_AXIS_THREADS * HP_ALL_PARTS;
    case HP_AXIS_WAIT:
        return HP_WAIT_CAUSES;
    case HP_AXIS_SITE_CALLS:
    case HP_AXIS_SITE_TICKS:
    case HP_AXIS_SITE_SELF:
    case HP_AXIS_SITE_CPU:
    case HP_AXIS_SITE_BYTES:
    case HP_AXIS_SITE_KERNEL:
        return HP_AXIS_SITES;
    case HP_AXIS_PLACE:
    case HP_AXIS_BESIDE:
        return HP_AXIS_WAITS;
    case HP_AXIS_WORK:
        return WORK_TIMES;
    default:
        return 1;
    }
}

_Static_assert(HP_AXIS_ALLOCATED + 2 + WORK_TIMES + (1ul + HP_ALL_PARTS) * HP_AXIS_THREADS + HP_WAIT_CAUSES +
                       6ul * HP_AXIS_SITES + 2ul * HP_AXIS_WAITS <=
                   HP_AXIS_SERIES,
               "all kinds have their places");

static bool write_at(const struct hp_axis_writer *writer, size_t offset, const void *from, size_t bytes)
{
    return hp_sys_pwrite(writer->fd, from, bytes, offset) == (ssize_t)bytes;
}

static bool write_header(const struct hp_axis_writer *writer)
{
    return write_at(writer, 0, &writer->header, sizeof writer->header);
}

static size_t offset_of(uint32_t place, uint32_t slot)
{
    return HP_AXIS_VALUES_AT + ((size_t)place * HP_AXIS_SLOTS + slot) * sizeof(uint64_t);
}

bool hp_axis_begin(struct hp_axis_writer *writer, int fd, uint32_t pid, uint64_t process_start, uint64_t now)
{
    memset(writer, 0, sizeof *writer);
    writer->fd = fd;
    writer->header = (struct hp_axis_header){.magic = HP_AXIS_MAGIC,
                                             .byte_order = HP_BYTE_ORDER,
                                             .version = HP_AXIS_VERSION,
                                             .pid = pid,
                                             .slots = HP_AXIS_SLOTS,
                                             .series = HP_AXIS_SERIES,
                                             .process_start = process_start,
                                             .start_ns = now,
                                             .slot_ns = HP_AXIS_FIRST_SLOT_NS};
    return ftruncate(fd, (off_t)HP_AXIS_BYTES) == 0;
}

/* ---------------------------------------------------------------------------------------------- series */

static bool is_at(const struct hp_axis_writer *writer, uint32_t place, uint32_t kind, uint32_t id)
{
    return writer->series[place].kind == kind && writer->series[place].id == id;
}

/* HP_AXIS_SERIES: none. */
static uint32_t find(const struct hp_axis_writer *writer, uint32_t kind, uint32_t id)
{
    uint32_t place = 0;
    while (place < HP_AXIS_SERIES && !is_at(writer, place, kind, id))
        place++;
    return place;
}

/* Samples come in the same order each time, so the series after the last one is tried first. */
static uint32_t find_next(struct hp_axis_writer *writer, uint32_t kind, uint32_t id)
{
    const uint32_t next = (writer->last_put + 1) % HP_AXIS_SERIES;
    const uint32_t place = is_at(writer, next, kind, id) ? next : find(writer, kind, id);
    if (place < HP_AXIS_SERIES)
        writer->last_put = place;
    return place;
}

bool hp_axis_has(const struct hp_axis_writer *writer, uint32_t kind, uint32_t id)
{
    return find(writer, kind, id) < HP_AXIS_SERIES;
}

bool hp_axis_has_place(const struct hp_axis_writer *writer, uint32_t kind, uint32_t id)
{
    return writer->count[kind] < most_of(kind) || hp_axis_has(writer, kind, id);
}

uint32_t hp_axis_least(const struct hp_axis_writer *writer, uint32_t kind)
{
    uint32_t least = HP_AXIS_SERIES;
    for (uint32_t place = 0; place < HP_AXIS_SERIES; place++)
        if (writer->series[place].kind == kind &&
            (least == HP_AXIS_SERIES || writer->latest[place] < writer->latest[least]))
            least = place;
    return least < HP_AXIS_SERIES ? writer->series[least].id : UINT32_MAX;
}

uint32_t hp_axis_ids(const struct hp_axis_writer *writer, uint32_t kind, uint32_t *ids, uint32_t most)
{
    uint32_t count = 0;
    for (uint32_t place = 0; place < HP_AXIS_SERIES && count < most; place++)
        if (writer->series[place].kind == kind)
            ids[count++] = writer->series[place].id;
    return count;
}

/* The table is written before the values are reused. */
void hp_axis_drop(struct hp_axis_writer *writer, uint32_t kind, uint32_t id)
{
    const uint32_t place = find(writer, kind, id);
    if (place == HP_AXIS_SERIES)
        return;
    writer->series[place] = (struct hp_axis_series){0};
    writer->latest[place] = 0;
    writer->is_put[place] = writer->has_before[place] = false;
    writer->count[kind]--;
}

uint64_t hp_axis_latest(const struct hp_axis_writer *writer, uint32_t kind, uint32_t id)
{
    const uint32_t place = find(writer, kind, id);
    return place < HP_AXIS_SERIES ? writer->latest[place] : 0;
}

/* Before the next slot its value is unknown. */
static uint32_t add(struct hp_axis_writer *writer, uint32_t kind, uint32_t id, const char *name)
{
    const uint32_t place = find(writer, HP_AXIS_NONE, 0);
    if (writer->count[kind] >= most_of(kind) || place == HP_AXIS_SERIES)
        return HP_AXIS_SERIES;
    struct hp_axis_series *series = &writer->series[place];
    *series = (struct hp_axis_series){.kind = kind, .id = id, .first = UINT32_MAX};
    memcpy(series->name, name, strnlen(name, sizeof series->name - 1));
    writer->count[kind]++;
    return place;
}

/* `before`: NULL: unknown. */
static void put(struct hp_axis_writer *writer, uint32_t kind, uint32_t id, const char *name, const uint64_t *before,
                uint64_t value)
{
    uint32_t place = find_next(writer, kind, id);
    if (place == HP_AXIS_SERIES) {
        place = add(writer, kind, id, name);
        if (place == HP_AXIS_SERIES)
            return;
        writer->has_before[place] = before != NULL;
        writer->before[place] = before != NULL ? *before : 0;
        writer->last_put = place;
    }
    /* A counter never falls; a level has the maximum of its slot, as hp_axis_write starts each slot empty. */
    if (value > writer->latest[place] || (hp_axis_is_level(kind) && !writer->is_put[place]))
        writer->latest[place] = value;
    writer->is_put[place] = true;
}

void hp_axis_put(struct hp_axis_writer *writer, uint32_t kind, uint32_t id, const char *name, uint64_t value)
{
    put(writer, kind, id, name, NULL, value);
}

void hp_axis_put_since(struct hp_axis_writer *writer, uint32_t kind, uint32_t id, const char *name, uint64_t before,
                       uint64_t value)
{
    put(writer, kind, id, name, &before, value);
}

void hp_axis_put_from_zero(struct hp_axis_writer *writer, uint32_t kind, uint32_t id, uint64_t value)
{
    hp_axis_put_since(writer, kind, id, "", 0, value);
}

/* ----------------------------------------------------------------------------------------------- slots */

static void merge_values(uint32_t kind, uint64_t values[HP_AXIS_SLOTS])
{
    for (size_t at = 0; at < HP_AXIS_SLOTS / 2; at++) {
        const uint64_t first = values[2 * at], second = values[2 * at + 1];
        values[at] = hp_axis_is_level(kind) && first > second ? first : second;
    }
    memset(values + HP_AXIS_SLOTS / 2, 0, HP_AXIS_SLOTS / 2 * sizeof values[0]);
}

static bool merge_series(struct hp_axis_writer *writer, uint32_t place)
{
    uint64_t values[HP_AXIS_SLOTS];
    struct hp_axis_series *series = &writer->series[place];
    if (hp_sys_pread(writer->fd, values, sizeof values, offset_of(place, 0)) != (ssize_t)sizeof values)
        return false;
    merge_values(series->kind, values);
    series->first /= series->first != UINT32_MAX ? 2 : 1; /* UINT32_MAX: no history yet */
    return write_at(writer, offset_of(place, 0), values, sizeof values);
}

static bool write_table(const struct hp_axis_writer *writer)
{
    return write_at(writer, sizeof writer->header, writer->series, sizeof writer->series);
}

/*
 * The start of history for a new series: at the first sample, when all counters were 0; later in this slot, or, if
 * its value at the last sample is known, in the slot before or that of the last sample.
 */
static uint32_t first_of(const struct hp_axis_writer *writer, uint32_t place, uint32_t slot)
{
    const uint32_t used = writer->header.used, next = used <= slot ? used : slot;
    if (used == 0 || !writer->has_before[place])
        return used == 0 ? 0 : slot;
    return next > 0 ? next - 1 : 0;
}

/* From the first slot that is new, so that none is without a value. */
static bool write_series(struct hp_axis_writer *writer, uint32_t place, uint32_t from, uint32_t slot)
{
    const uint64_t *before = &writer->before[place];
    struct hp_axis_series *series = &writer->series[place];
    if (series->first == UINT32_MAX) {
        series->first = first_of(writer, place, slot);
        if (series->first < from && !write_at(writer, offset_of(place, series->first), before, sizeof *before))
            return false;
    }
    for (uint32_t at = from > series->first ? from : series->first; at <= slot; at++)
        if (!write_at(writer, offset_of(place, at), &writer->latest[place], sizeof writer->latest[place]))
            return false;
    return true;
}

static bool write_slots(struct hp_axis_writer *writer, uint32_t from, uint32_t to)
{
    for (uint32_t place = 0; from <= to && place < HP_AXIS_SERIES; place++)
        if (writer->series[place].kind != HP_AXIS_NONE && !write_series(writer, place, from, to))
            return false;
    return true;
}

/*
 * Halves the number of slots and doubles their time. Readers see an odd generation meanwhile, and a new one
 * afterwards.
 */
static bool merge(struct hp_axis_writer *writer)
{
    struct hp_axis_header *header = &writer->header;
    header->generation++;
    if (!write_header(writer) || !write_slots(writer, header->used, HP_AXIS_SLOTS - 1))
        return false;
    for (uint32_t place = 0; place < HP_AXIS_SERIES; place++)
        if (writer->series[place].kind != HP_AXIS_NONE && !merge_series(writer, place))
            return false;
    header->slot_ns *= 2;
    header->used = HP_AXIS_SLOTS / 2;
    header->generation++;
    return write_table(writer) && write_header(writer);
}

/* Levels of a slot that continues stay; those of the next one start from zero. */
static void forget_levels(struct hp_axis_writer *writer)
{
    for (uint32_t place = 0; place < HP_AXIS_SERIES; place++)
        if (hp_axis_is_level(writer->series[place].kind))
            writer->is_put[place] = false;
}

bool hp_axis_write(struct hp_axis_writer *writer, uint64_t now)
{
    struct hp_axis_header *header = &writer->header;
    const uint64_t elapsed = now > header->start_ns ? now - header->start_ns : 0;
    while (elapsed / header->slot_ns >= HP_AXIS_SLOTS)
        if (!merge(writer))
            return false;
    const uint32_t slot = (uint32_t)(elapsed / header->slot_ns);
    hp_axis_put(writer, HP_AXIS_MOMENT, 0, "", elapsed);
    if (!write_slots(writer, header->used < slot ? header->used : slot, slot))
        return false;
    header->used = slot + 1 > header->used ? slot + 1 : header->used;
    header->latest_ns = now;
    /* The slot will be over by the next sample if that falls into another one. */
    if ((elapsed + HP_AXIS_FIRST_SLOT_NS) / header->slot_ns != elapsed / header->slot_ns)
        forget_levels(writer);
    return write_table(writer) && write_header(writer);
}

bool hp_axis_amend(struct hp_axis_writer *writer, uint64_t now)
{
    const struct hp_axis_header *header = &writer->header;
    if (header->used == 0)
        return true;
    hp_axis_put(writer, HP_AXIS_MOMENT, 0, "", now > header->start_ns ? now - header->start_ns : 0);
    return write_slots(writer, header->used - 1, header->used - 1) && write_table(writer);
}
