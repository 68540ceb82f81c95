/* How the durations of a function's calls were distributed over time. SPDX-License-Identifier: MIT */
#include "heat_map.h"

#include "arith.h"

#define TRIES 3u /* the observer changes the file rarely */

/* A slot, in ns since the run began: the last one ends with what was counted. */
struct span {
    uint64_t from, to;
};

static struct span span_of(const struct hp_run *run, const struct hp_heat_header *header, uint32_t slot)
{
    const uint64_t begin = header->start_ns + slot * header->slot_ns, end = begin + header->slot_ns;
    const bool is_last = slot + 1 == header->used && header->latest_ns > begin && header->latest_ns < end;
    return (struct span){hp_less(begin, run->start_ns), hp_less(is_last ? header->latest_ns : end, run->start_ns)};
}

static double overlap(const struct span *slot, uint64_t from, uint64_t to)
{
    const uint64_t begin = slot->from > from ? slot->from : from, end = slot->to < to ? slot->to : to;
    return slot->to > slot->from ? (double)hp_less(end, begin) / (double)(slot->to - slot->from) : 0;
}

static void add_row(const hp_heat_row row, double part, double calls[HP_HEAT_BUCKETS])
{
    for (uint32_t at = 0; part > 0 && at < HP_HEAT_CELLS; at++)
        calls[hp_heat_bucket_of(row[at])] += (double)hp_heat_count_of(row[at]) * part;
}

static void add_rows(const struct hp_run *run, const struct hp_heat *heat, const hp_heat_row *rows,
                     const struct hp_run_steps *steps, double (*calls)[HP_HEAT_BUCKETS])
{
    size_t first = 0;
    for (uint32_t slot = 0; slot < heat->header.used; slot++) {
        const struct span span = span_of(run, &heat->header, slot);
        while (first < steps->count && steps->moments[first + 1] <= span.from)
            first++;
        for (size_t step = first; step < steps->count && steps->moments[step] < span.to; step++)
            add_row(rows[slot], overlap(&span, steps->moments[step], steps->moments[step + 1]), calls[step]);
    }
}

/* The ids of the function in a session with a heat map: a function can have several sites. */
static uint32_t ids_of(const struct hp_profile *profile, uint32_t session, const struct hp_site_sums *site,
                       uint32_t ids[HP_HEAT_SITES])
{
    struct hp_heat heat;
    uint32_t count = 0;
    if (!hp_heat_of_session(&heat, profile->run->sessions[session]))
        return 0;
    for (uint32_t place = 0; place < HP_HEAT_SITES; place++)
        if (heat.sites[place].id != 0 && hp_profile_site(profile, session, heat.sites[place].id - 1) == site)
            ids[count++] = heat.sites[place].id;
    hp_heat_close(&heat);
    return count;
}

static bool read_rows(struct hp_heat *heat, const struct hp_snapshot *session, uint32_t id,
                      hp_heat_row rows[HP_HEAT_SLOTS])
{
    bool is_read = false;
    for (unsigned tries = 0; tries < TRIES && !is_read; tries++) {
        uint32_t place = 0;
        if (!hp_heat_of_session(heat, session))
            return false;
        while (place < HP_HEAT_SITES && heat->sites[place].id != id)
            place++;
        is_read = hp_heat_rows(heat, place, rows);
        hp_heat_close(heat);
    }
    return is_read;
}

bool hp_heat_map_add(const struct hp_profile *profile, const struct hp_site_sums *site,
                     const struct hp_run_steps *steps, double (*calls)[HP_HEAT_BUCKETS])
{
    hp_heat_row rows[HP_HEAT_SLOTS];
    uint32_t ids[HP_HEAT_SITES];
    struct hp_heat heat;
    bool is_known = false;
    for (uint32_t session = 0; session < profile->run->count; session++) {
        const uint32_t count = ids_of(profile, session, site, ids);
        for (uint32_t at = 0; at < count; at++) {
            if (!read_rows(&heat, profile->run->sessions[session], ids[at], rows))
                continue;
            add_rows(profile->run, &heat, rows, steps, calls);
            is_known = true;
        }
    }
    return is_known;
}

void hp_heat_bucket_ns(const struct hp_run *run, uint32_t bucket, double *ret_from_ns, double *ret_to_ns)
{
    *ret_from_ns = (double)hp_heat_least_ticks(bucket) * run->ns_per_tick;
    *ret_to_ns = bucket + 1 < HP_HEAT_BUCKETS
                     ? (double)hp_heat_least_ticks(bucket < 2 ? 2 : bucket + 1) * run->ns_per_tick
                     : 0x1p64 * run->ns_per_tick;
}
