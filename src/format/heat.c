/* Reading the heat map of a session. SPDX-License-Identifier: MIT */
#include "heat.h"

#include <fcntl.h>
#include <string.h>

#include "files.h"
#include "layout.h"
#include "mutex.h"
#include "raw_call.h"
#include "session_dirs.h"
#include "snapshot.h"

#define TRIES 20u
#define PAUSE_NS UINT64_C(2000000)
#define MOST_UNITS (UINT32_C(1) << 20)

uint32_t hp_heat_cell(uint32_t bucket, uint64_t count)
{
    uint32_t shift = 0;
    while (shift < 31 && count >> shift >= MOST_UNITS)
        shift++;
    uint64_t units = shift > 0 ? ((count >> (shift - 1)) + 1) / 2 : count;
    if (units >= MOST_UNITS)
        units = MOST_UNITS - 1;
    return (uint32_t)units << 12 | shift << 7 | (bucket & 127);
}

uint32_t hp_heat_bucket(uint64_t ticks)
{
    if (ticks < 2)
        return 0;
    const uint32_t octave = 63u - (uint32_t)__builtin_clzll(ticks);
    return 2 * octave + (uint32_t)(ticks >> (octave - 1) & 1);
}

uint64_t hp_heat_least_ticks(uint32_t bucket)
{
    const uint32_t octave = bucket / 2;
    if (octave == 0)
        return bucket;
    return (UINT64_C(1) << octave) + (bucket % 2 != 0 ? UINT64_C(1) << (octave - 1) : 0);
}

static bool is_valid(const struct hp_heat_header *header)
{
    return memcmp(header->magic, HP_HEAT_MAGIC, sizeof header->magic) == 0 && header->byte_order == HP_BYTE_ORDER &&
           header->version == HP_HEAT_VERSION && header->slots == HP_HEAT_SLOTS && header->sites == HP_HEAT_SITES &&
           header->cells == HP_HEAT_CELLS && header->used > 0 && header->used <= HP_HEAT_SLOTS &&
           header->generation % 2 == 0 && header->slot_ns >= HP_AXIS_FIRST_SLOT_NS &&
           header->slot_ns <= HP_AXIS_FIRST_SLOT_NS << 30;
}

/* The generation is read last: it has changed if the rest was changed meanwhile. */
static bool is_unchanged(const struct hp_heat *heat)
{
    struct hp_heat_header now;
    return hp_sys_pread(heat->fd, &now, sizeof now, 0) == (ssize_t)sizeof now &&
           now.generation == heat->header.generation;
}

static bool read_once(struct hp_heat *heat)
{
    return hp_sys_pread(heat->fd, &heat->header, sizeof heat->header, 0) == (ssize_t)sizeof heat->header &&
           is_valid(&heat->header) &&
           hp_sys_pread(heat->fd, heat->sites, sizeof heat->sites, sizeof heat->header) ==
               (ssize_t)sizeof heat->sites &&
           is_unchanged(heat);
}

bool hp_heat_open(struct hp_heat *heat, const char *path)
{
    heat->fd = hp_regular_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW);
    for (unsigned at = 0; heat->fd >= 0 && at < TRIES; at++) {
        if (at > 0)
            hp_pause_ns(PAUSE_NS);
        if (read_once(heat))
            return true;
    }
    hp_heat_close(heat);
    return false;
}

void hp_heat_close(struct hp_heat *heat)
{
    if (heat->fd >= 0)
        hp_sys_close(heat->fd);
    heat->fd = -1;
}

bool hp_heat_of_session(struct hp_heat *heat, const struct hp_snapshot *session)
{
    char path[1200];
    if (session->path == NULL || !hp_beside_path(session->path, HP_HEAT_SUFFIX, path, sizeof path) ||
        !hp_heat_open(heat, path))
        return false;
    if (heat->header.pid == session->header.pid && heat->header.process_start == session->header.process_start)
        return true;
    hp_heat_close(heat);
    return false;
}

bool hp_heat_rows(const struct hp_heat *heat, uint32_t place, hp_heat_row rows[HP_HEAT_SLOTS])
{
    if (place >= HP_HEAT_SITES || heat->sites[place].id == 0)
        return false;
    const size_t offset = HP_HEAT_ROWS_AT + place * HP_HEAT_SITE_BYTES;
    const uint32_t first = heat->sites[place].first, used = heat->header.used;
    if (hp_sys_pread(heat->fd, rows, HP_HEAT_SITE_BYTES, offset) != (ssize_t)HP_HEAT_SITE_BYTES ||
        !is_unchanged(heat))
        return false;
    for (uint32_t slot = 0; slot < HP_HEAT_SLOTS; slot++)
        if (slot < first || slot >= used)
            memset(rows[slot], 0, sizeof rows[slot]);
    return true;
}
