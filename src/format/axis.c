/* Reading the time axis of a session. SPDX-License-Identifier: MIT */
#include "axis.h"

#include <fcntl.h>
#include <string.h>

#include "arith.h"
#include "files.h"
#include "layout.h"
#include "mutex.h"
#include "raw_call.h"
#include "session_dirs.h"
#include "snapshot.h"
#include "text.h"
#include "units.h"

#define TRIES 20u
#define PAUSE_NS UINT64_C(2000000)

bool hp_beside_path(const char *session, const char *suffix, char *path, size_t size)
{
    struct hp_text text;
    const size_t ending = strlen(HP_SESSION_SUFFIX), length = strlen(session);
    hp_text_init(&text, path, size);
    if (!hp_text_has_suffix(session, HP_SESSION_SUFFIX))
        return false;
    hp_text_bytes(&text, session, length - ending);
    hp_text_string(&text, suffix);
    hp_text_end(&text);
    return !text.is_cut;
}

bool hp_axis_path(const char *session, char *path, size_t size)
{
    return hp_beside_path(session, HP_AXIS_SUFFIX, path, size);
}

bool hp_axis_open(struct hp_axis *axis, const void *bytes)
{
    struct hp_axis_header *header = &axis->header;
    memcpy(header, bytes, sizeof *header);
    axis->bytes = bytes;
    return memcmp(header->magic, HP_AXIS_MAGIC, sizeof header->magic) == 0 && header->byte_order == HP_BYTE_ORDER &&
           header->version == HP_AXIS_VERSION && header->slots == HP_AXIS_SLOTS &&
           header->series == HP_AXIS_SERIES && header->used > 0 && header->used <= HP_AXIS_SLOTS &&
           header->generation % 2 == 0 && header->slot_ns >= HP_AXIS_FIRST_SLOT_NS &&
           header->slot_ns <= HP_AXIS_FIRST_SLOT_NS << 30;
}

bool hp_axis_series(const struct hp_axis *axis, uint32_t place, struct hp_axis_series *ret_series)
{
    if (place >= HP_AXIS_SERIES)
        return false;
    memcpy(ret_series, axis->bytes + sizeof axis->header + place * sizeof *ret_series, sizeof *ret_series);
    ret_series->name[sizeof ret_series->name - 1] = '\0';
    return ret_series->kind > HP_AXIS_NONE && ret_series->kind < HP_AXIS_KINDS &&
           ret_series->first < axis->header.used;
}

uint32_t hp_axis_find(const struct hp_axis *axis, uint32_t kind, uint32_t id)
{
    struct hp_axis_series series;
    for (uint32_t place = 0; place < HP_AXIS_SERIES; place++)
        if (hp_axis_series(axis, place, &series) && series.kind == kind && series.id == id)
            return place;
    return HP_AXIS_SERIES;
}

uint64_t hp_axis_value(const struct hp_axis *axis, uint32_t place, uint32_t slot)
{
    uint64_t value;
    const size_t at = HP_AXIS_VALUES_AT + ((size_t)place * HP_AXIS_SLOTS + slot) * sizeof value;
    if (place >= HP_AXIS_SERIES || slot >= axis->header.used)
        return 0;
    memcpy(&value, axis->bytes + at, sizeof value);
    return value;
}

uint64_t hp_axis_highest(const struct hp_axis *axis, uint32_t place, uint64_t from, uint64_t to)
{
    uint64_t highest = 0;
    for (uint64_t slot = from; slot <= to && slot < axis->header.used; slot++) {
        const uint64_t value = hp_axis_value(axis, place, (uint32_t)slot);
        highest = value > highest ? value : highest;
    }
    return highest;
}

/* The first slot written at that time or later; the number of slots if there is none. */
static uint32_t slot_at(const struct hp_axis *axis, uint32_t moments, uint64_t since)
{
    uint32_t from = 0, end = axis->header.used;
    while (from < end) {
        const uint32_t middle = from + (end - from) / 2;
        if (hp_axis_value(axis, moments, middle) < since)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

uint64_t hp_axis_value_at(const struct hp_axis *axis, uint32_t moments, uint32_t place, uint32_t first,
                          uint64_t since)
{
    const uint32_t slot = slot_at(axis, moments, since);
    if (slot == axis->header.used)
        return hp_axis_value(axis, place, axis->header.used - 1);
    if (slot < first || (slot == first && first > 0))
        return hp_axis_value(axis, place, first);
    const uint64_t begin = slot > 0 ? hp_axis_value(axis, moments, slot - 1) : 0;
    const uint64_t before = slot > 0 ? hp_axis_value(axis, place, slot - 1) : 0;
    const uint64_t length = hp_less(hp_axis_value(axis, moments, slot), begin);
    const double part = length > 0 ? (double)hp_less(since, begin) / (double)length : 1;
    return before + hp_units_round((double)hp_less(hp_axis_value(axis, place, slot), before) * part);
}

/* If slots were merged meanwhile, the generation has changed, or is odd. */
static bool read_once(int fd, void *bytes)
{
    struct hp_axis_header after;
    const struct hp_axis_header *before = bytes;
    return hp_sys_pread(fd, bytes, HP_AXIS_BYTES, 0) == (ssize_t)HP_AXIS_BYTES &&
           hp_sys_pread(fd, &after, sizeof after, 0) == (ssize_t)sizeof after &&
           before->generation == after.generation && after.generation % 2 == 0;
}

bool hp_axis_read(const char *path, void *bytes)
{
    bool is_read = false;
    const int fd = hp_regular_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW);
    for (unsigned at = 0; fd >= 0 && !is_read && at < TRIES; at++) {
        if (at > 0)
            hp_pause_ns(PAUSE_NS);
        is_read = read_once(fd, bytes);
    }
    if (fd >= 0)
        hp_sys_close(fd);
    return is_read;
}

/* Whether the file is about the same process. */
static bool is_of(const struct hp_axis *axis, const struct hp_snapshot *session)
{
    return axis->header.pid == session->header.pid && axis->header.process_start == session->header.process_start;
}

bool hp_axis_of_session(struct hp_axis *axis, const struct hp_snapshot *session, void *bytes)
{
    char path[1200];
    return session->path != NULL && hp_axis_path(session->path, path, sizeof path) && hp_axis_read(path, bytes) &&
           hp_axis_open(axis, bytes) && is_of(axis, session);
}
