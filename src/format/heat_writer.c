/*
 * Writing the heat map of a session. Cells are changed in the file, a row at a time, and merged one function at a
 * time. So memory use does not depend on the duration. SPDX-License-Identifier: MIT
 */
#include "heat_writer.h"

#include <string.h>
#include <unistd.h>

#include "arith.h"
#include "layout.h"
#include "raw_call.h"

static bool write_at(const struct hp_heat_writer *writer, size_t offset, const void *from, size_t bytes)
{
    return hp_sys_pwrite(writer->fd, from, bytes, offset) == (ssize_t)bytes;
}

static bool read_at(const struct hp_heat_writer *writer, size_t offset, void *to, size_t bytes)
{
    return hp_sys_pread(writer->fd, to, bytes, offset) == (ssize_t)bytes;
}

static bool write_header(const struct hp_heat_writer *writer)
{
    return write_at(writer, 0, &writer->header, sizeof writer->header);
}

static bool write_table(const struct hp_heat_writer *writer)
{
    return write_at(writer, sizeof writer->header, writer->sites, sizeof writer->sites);
}

static size_t offset_of(uint32_t place, uint32_t slot)
{
    return HP_HEAT_ROWS_AT + place * HP_HEAT_SITE_BYTES + slot * sizeof(hp_heat_row);
}

bool hp_heat_begin(struct hp_heat_writer *writer, int fd, uint32_t pid, uint64_t process_start, uint64_t start_ns)
{
    memset(writer, 0, sizeof *writer);
    writer->fd = fd;
    writer->header = (struct hp_heat_header){.magic = HP_HEAT_MAGIC,
                                             .byte_order = HP_BYTE_ORDER,
                                             .version = HP_HEAT_VERSION,
                                             .pid = pid,
                                             .slots = HP_HEAT_SLOTS,
                                             .sites = HP_HEAT_SITES,
                                             .cells = HP_HEAT_CELLS,
                                             .process_start = process_start,
                                             .start_ns = start_ns,
                                             .slot_ns = HP_AXIS_FIRST_SLOT_NS};
    return ftruncate(fd, (off_t)HP_HEAT_BYTES) == 0;
}

/* ----------------------------------------------------------------------------------------------- a row */

/* Cells are sorted by bucket, free ones come last. One more than fits, until two are merged. */
struct cells {
    uint32_t bucket[HP_HEAT_CELLS + 1];
    uint64_t count[HP_HEAT_CELLS + 1];
    uint32_t used;
};

static struct cells unpack(const hp_heat_row row)
{
    struct cells cells = {.used = 0};
    for (uint32_t at = 0; at < HP_HEAT_CELLS && hp_heat_count_of(row[at]) > 0; at++) {
        cells.bucket[cells.used] = hp_heat_bucket_of(row[at]);
        cells.count[cells.used++] = hp_heat_count_of(row[at]);
    }
    return cells;
}

static void pack(const struct cells *cells, hp_heat_row row)
{
    for (uint32_t at = 0; at < HP_HEAT_CELLS; at++)
        row[at] = at < cells->used ? hp_heat_cell(cells->bucket[at], cells->count[at]) : 0;
}

static uint64_t lesser_count(const struct cells *cells, uint32_t at)
{
    return cells->count[at] < cells->count[at + 1] ? cells->count[at] : cells->count[at + 1];
}

/*
 * Whether it is better to merge a cell with the next one than another: the closest ones, and of these the rarest.
 * So a single call that took much longer than all others is still seen.
 */
static bool is_closer(const struct cells *cells, uint32_t at, uint32_t other)
{
    const uint32_t distance = cells->bucket[at + 1] - cells->bucket[at],
                   of_other = cells->bucket[other + 1] - cells->bucket[other];
    return distance < of_other || (distance == of_other && lesser_count(cells, at) < lesser_count(cells, other));
}

/* The smaller one joins the larger one. */
static void merge_two(struct cells *cells)
{
    uint32_t best = 0;
    for (uint32_t at = 1; at + 1 < cells->used; at++)
        if (is_closer(cells, at, best))
            best = at;
    if (cells->count[best] < cells->count[best + 1])
        cells->bucket[best] = cells->bucket[best + 1];
    cells->count[best] += cells->count[best + 1];
    for (uint32_t at = best + 1; at + 1 < cells->used; at++) {
        cells->bucket[at] = cells->bucket[at + 1];
        cells->count[at] = cells->count[at + 1];
    }
    cells->used--;
}

static void add_calls(struct cells *cells, uint32_t bucket, uint64_t count)
{
    uint32_t place = 0;
    while (place < cells->used && cells->bucket[place] < bucket)
        place++;
    if (place < cells->used && cells->bucket[place] == bucket) {
        cells->count[place] += count;
        return;
    }
    for (uint32_t at = cells->used; at > place; at--) {
        cells->bucket[at] = cells->bucket[at - 1];
        cells->count[at] = cells->count[at - 1];
    }
    cells->bucket[place] = bucket;
    cells->count[place] = count;
    if (++cells->used > HP_HEAT_CELLS)
        merge_two(cells);
}

/* ----------------------------------------------------------------------------------------------- slots */

static void merge_rows(hp_heat_row rows[HP_HEAT_SLOTS])
{
    for (uint32_t slot = 0; slot < HP_HEAT_SLOTS / 2; slot++) {
        struct cells cells = unpack(rows[2 * (size_t)slot]);
        const struct cells others = unpack(rows[2 * (size_t)slot + 1]);
        for (uint32_t at = 0; at < others.used; at++)
            add_calls(&cells, others.bucket[at], others.count[at]);
        pack(&cells, rows[slot]);
    }
    memset(rows + HP_HEAT_SLOTS / 2, 0, HP_HEAT_SLOTS / 2 * sizeof rows[0]);
}

static bool merge_site(struct hp_heat_writer *writer, uint32_t place)
{
    hp_heat_row rows[HP_HEAT_SLOTS];
    if (writer->sites[place].id == 0)
        return true;
    writer->sites[place].first /= 2;
    if (!read_at(writer, offset_of(place, 0), rows, sizeof rows))
        return false;
    merge_rows(rows);
    return write_at(writer, offset_of(place, 0), rows, sizeof rows);
}

/* Readers see an odd generation meanwhile, and a new one afterwards. */
static bool begin_change(struct hp_heat_writer *writer)
{
    writer->header.generation++;
    return write_header(writer);
}

static bool end_change(struct hp_heat_writer *writer)
{
    writer->header.generation++;
    return write_table(writer) && write_header(writer);
}

static bool merge(struct hp_heat_writer *writer)
{
    struct hp_heat_header *header = &writer->header;
    if (!begin_change(writer))
        return false;
    for (uint32_t place = 0; place < HP_HEAT_SITES; place++)
        if (!merge_site(writer, place))
            return false;
    header->slot_ns *= 2;
    header->used = (header->used + 1) / 2;
    return end_change(writer);
}

/* Makes room for a time. */
static bool reach(struct hp_heat_writer *writer, uint64_t ns)
{
    while (hp_less(ns, writer->header.start_ns) / writer->header.slot_ns >= HP_HEAT_SLOTS)
        if (!merge(writer))
            return false;
    return true;
}

static uint32_t slot_of(const struct hp_heat_writer *writer, uint64_t ns)
{
    return (uint32_t)(hp_less(ns, writer->header.start_ns) / writer->header.slot_ns);
}

/* ----------------------------------------------------------------------------------------------- sites */

uint32_t hp_heat_track(struct hp_heat_writer *writer, uint32_t site, uint64_t now)
{
    uint32_t place = 0, none = HP_HEAT_SITES;
    for (; place < HP_HEAT_SITES && writer->sites[place].id != site + 1; place++)
        if (none == HP_HEAT_SITES && writer->sites[place].id == 0)
            none = place;
    if (place < HP_HEAT_SITES || none == HP_HEAT_SITES || !reach(writer, now))
        return place;
    writer->sites[none] = (struct hp_heat_site){site + 1, slot_of(writer, now)};
    return none;
}

bool hp_heat_drop(struct hp_heat_writer *writer, uint32_t place)
{
    static const hp_heat_row nothing[HP_HEAT_SLOTS];
    writer->sites[place] = (struct hp_heat_site){0, 0};
    return begin_change(writer) && write_at(writer, offset_of(place, 0), nothing, sizeof nothing) &&
           end_change(writer);
}

/* Of so many calls in all of the time, those until a part of it. */
static uint64_t part_of(uint64_t calls, uint64_t part_ns, uint64_t all_ns)
{
    return part_ns >= all_ns ? calls : (uint64_t)((double)calls * ((double)part_ns / (double)all_ns) + 0.5);
}

static bool add_to_slot(struct hp_heat_writer *writer, uint32_t place, uint32_t slot,
                        const uint64_t calls[HP_HEAT_BUCKETS])
{
    hp_heat_row row;
    if (!read_at(writer, offset_of(place, slot), row, sizeof row))
        return false;
    struct cells cells = unpack(row);
    for (uint32_t bucket = 0; bucket < HP_HEAT_BUCKETS; bucket++)
        if (calls[bucket] > 0)
            add_calls(&cells, bucket, calls[bucket]);
    pack(&cells, row);
    return write_at(writer, offset_of(place, slot), row, sizeof row);
}

bool hp_heat_add(struct hp_heat_writer *writer, uint32_t place, const uint64_t calls[HP_HEAT_BUCKETS],
                 uint64_t from_ns, uint64_t to_ns)
{
    if (!reach(writer, to_ns))
        return false;
    const uint64_t start = writer->header.start_ns, length = writer->header.slot_ns;
    const uint64_t from = from_ns > start ? from_ns : start, all = hp_less(to_ns, from);
    const uint32_t first = slot_of(writer, from), last = slot_of(writer, to_ns);
    uint64_t done[HP_HEAT_BUCKETS] = {0};
    for (uint32_t slot = first; slot <= last; slot++) {
        const uint64_t until = slot < last ? hp_less(start + (slot + 1) * length, from) : all;
        uint64_t some[HP_HEAT_BUCKETS], sum = 0;
        for (uint32_t bucket = 0; bucket < HP_HEAT_BUCKETS; bucket++) {
            some[bucket] = part_of(calls[bucket], until, all) - done[bucket];
            done[bucket] += some[bucket];
            sum += some[bucket];
        }
        if (sum > 0 && !add_to_slot(writer, place, slot, some))
            return false;
    }
    return true;
}

bool hp_heat_write(struct hp_heat_writer *writer, uint64_t now)
{
    if (!reach(writer, now))
        return false;
    const uint32_t used = slot_of(writer, now) + 1;
    writer->header.used = used > writer->header.used ? used : writer->header.used;
    writer->header.latest_ns = now;
    return write_table(writer) && write_header(writer);
}
