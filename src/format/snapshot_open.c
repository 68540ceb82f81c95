/* Opening a session: whether it can be read, and the time of reading. SPDX-License-Identifier: MIT */
#include "snapshot_bytes.h"

#include <inttypes.h>
#include <string.h>

#include "arith.h"
#include "text.h"
#include "units.h"

static bool read_counter64(size_t at)
{
    return (at >= offsetof(struct hp_header, capacity) && at < offsetof(struct hp_header, gate)) ||
           at == offsetof(struct hp_header, process_start) || at == offsetof(struct hp_header, wall_start_ns) ||
           (at >= offsetof(struct hp_header, clock_start) && at < offsetof(struct hp_header, site_count)) ||
           (at >= offsetof(struct hp_header, losses) && at < offsetof(struct hp_header, site_chunks)) ||
           at >= offsetof(struct hp_header, alloc_live);
}

static void copy_header(struct hp_snapshot *snapshot)
{
    unsigned char *out = (unsigned char *)&snapshot->header;
    for (size_t at = 0; at < HP_HEADER_USED; at += 8)
        hp_copy_words(out + at, snapshot->bytes + at, 8, read_counter64(at));
}

static const char *say(struct hp_snapshot *snapshot, const char *before, uint64_t first, const char *between,
                       uint64_t second, const char *after)
{
    struct hp_text text;
    hp_text_init(&text, snapshot->problem, sizeof snapshot->problem);
    hp_text_format(&text, "%s%" PRIu64 "%s%" PRIu64 "%s", before, first, between, second, after);
    return hp_text_end(&text);
}

static uint32_t swapped(uint32_t word)
{
    return word >> 24 | (word >> 8 & 0xff00u) | (word << 8 & 0xff0000u) | word << 24;
}

/* The fields that tell whether the rest can be understood: they have the same offsets in every version. */
static const char *check_opening(struct hp_snapshot *snapshot)
{
    const unsigned char *bytes = snapshot->bytes;
    const size_t size = snapshot->size;
    const size_t opening = offsetof(struct hp_header, features);
    if ((uintptr_t)bytes % 8 != 0)
        return "not a hotpath session: its bytes are not aligned in memory";
    if (size < sizeof HP_MAGIC)
        return say(snapshot, "too short for a hotpath session: ", size, " of at least ", HP_HEADER_BYTES, " bytes");
    if (memcmp(bytes, HP_MAGIC, sizeof HP_MAGIC) != 0)
        return "not a hotpath session: wrong magic number";
    if (size < opening)
        return say(snapshot, "too short for a hotpath session: ", size, " of at least ", HP_HEADER_BYTES, " bytes");
    const uint32_t order = hp_load32(bytes + offsetof(struct hp_header, byte_order));
    const uint32_t version = hp_load32(bytes + offsetof(struct hp_header, version));
    const uint32_t header = hp_load32(bytes + offsetof(struct hp_header, header_bytes));
    if (order != HP_BYTE_ORDER)
        return swapped(order) == HP_BYTE_ORDER
                   ? "a hotpath session of a machine with the opposite byte order: read it on such a machine"
                   : "not a hotpath session: its byte order mark is invalid";
    if (version != HP_LAYOUT_VERSION)
        return say(snapshot, "a hotpath session of format version ", version, ", but this hotpath reads version ",
                   HP_LAYOUT_VERSION, "");
    if (header != HP_HEADER_BYTES)
        return say(snapshot, "a damaged hotpath session: its header claims ", header, " bytes instead of ",
                   HP_HEADER_BYTES, "");
    if (size < HP_HEADER_BYTES)
        return say(snapshot, "a hotpath session truncated within its header: ", size, " of ", HP_HEADER_BYTES,
                   " bytes");
    return NULL;
}

/*
 * The rate comes from the two pairs that are furthest apart. Pairs closer than this are too inexact: reading both
 * clocks takes some 50 ns, and 50 ns in 20 µs is 0.3 %.
 */
#define SHORTEST_BASE_NS 20000u
#define LONGEST_LIFE_NS (UINT64_C(100) * 366 * 86400 * 1000000000) /* plausible maximum */

static void set_rate(struct hp_snapshot *snapshot, const struct hp_clock_pair *end)
{
    const struct hp_clock_pair *start = &snapshot->header.clock_start;
    snapshot->ns_per_tick = 1;
    /* Reports of instructions show ticks: one stands where a nanosecond does. */
    snapshot->is_rate_known =
        snapshot->header.clock_kind == HP_CLOCK_MONOTONIC || snapshot->header.clock_kind == HP_CLOCK_INSTRUCTIONS;
    if (snapshot->is_rate_known || end->ticks <= start->ticks || end->ns <= start->ns ||
        end->ns - start->ns < SHORTEST_BASE_NS)
        return;
    const double rate = (double)(end->ns - start->ns) / (double)(end->ticks - start->ticks);
    if (rate < 1e-4 || rate > 1e9) /* no counter runs at more than 10 THz or less than 1 Hz */
        return;
    snapshot->ns_per_tick = rate;
    snapshot->is_rate_known = true;
}

static uint64_t latest(uint64_t a, uint64_t b) { return a > b ? a : b; }

/*
 * The tick at which an observer last found the process alive; 0: no observer, or unknown. The process itself leaves
 * no sign while it waits.
 */
static uint64_t last_seen(const struct hp_snapshot *snapshot)
{
    const struct hp_clock_pair *start = &snapshot->header.clock_start;
    struct hp_waits waits;
    if (!snapshot->is_rate_known || snapshot->header.clock_kind == HP_CLOCK_INSTRUCTIONS ||
        !hp_snapshot_waits(snapshot, &waits) || waits.latest_ns <= start->ns ||
        waits.latest_ns - start->ns > LONGEST_LIFE_NS)
        return 0;
    return start->ticks + hp_units_round((double)(waits.latest_ns - start->ns) / snapshot->ns_per_tick);
}

/* A closed frame has its end in `child`. The start of an untimed call is unknown. */
static uint64_t sign_of(const struct hotpath_frame_ *frame)
{
    if (frame->zone == 0)
        return frame->child;
    return frame->stat & (HOTPATH_UNTIMED_ | HOTPATH_COUNTED_) ? 0 : frame->start;
}

/* The last sign of life of a process that ended without finishing its session. */
static uint64_t last_sign(const struct hp_snapshot *snapshot)
{
    struct hp_walk threads = {0}, frames = {0}, lanes = {0};
    struct hp_thread thread;
    struct hotpath_frame_ frame;
    uint64_t ticks = latest(snapshot->header.clock_start.ticks, snapshot->header.clock_latest.ticks);
    ticks = latest(ticks, last_seen(snapshot));
    while (hp_snapshot_next_thread(snapshot, &threads, &thread)) {
        hp_walk_rewind(&frames);
        while (hp_snapshot_next_frame(snapshot, &thread, &frames, &frame))
            ticks = latest(ticks, sign_of(&frame));
    }
    for (struct hp_lane lane; hp_snapshot_next_lane(snapshot, &lanes, &lane);)
        ticks = latest(ticks, lane.stopped);
    return ticks;
}

void hp_snapshot_use_rate(struct hp_snapshot *snapshot, const struct hp_clock_pair *later)
{
    set_rate(snapshot, later);
    if (!snapshot->is_live && !snapshot->is_finished)
        snapshot->now_ticks = last_sign(snapshot);
}

/*
 * A process says what it has used when it ends, and seldom before. Its observer knows it of each thread.
 */
static void use_latest_cpu(struct hp_snapshot *snapshot)
{
    struct hp_header *header = &snapshot->header;
    struct hp_walk walk = {0};
    struct hp_thread_usage_row row;
    const bool is_recorded = header->features & HP_FEATURE_RECORDED; /* rows do not have what was before */
    uint64_t all_ns = is_recorded ? header->cpu_start_ns : 0, kernel_ns = 0;
    while (hp_snapshot_next_thread_usage(snapshot, &walk, &row)) {
        all_ns += row.user_ns + row.kernel_ns;
        kernel_ns += row.kernel_ns;
    }
    if (all_ns <= header->cpu_latest_ns)
        return;
    header->cpu_latest_ns = all_ns;
    header->cpu_latest_kernel_ns = latest(kernel_ns, header->cpu_latest_kernel_ns);
}

const char *hp_snapshot_open(struct hp_snapshot *snapshot, const void *bytes, size_t size,
                             const struct hp_clock_pair *now)
{
    return hp_snapshot_open_pieces(snapshot, bytes, size, now, &(struct hp_snapshot_pieces){.fetch = NULL});
}

const char *hp_snapshot_open_pieces(struct hp_snapshot *snapshot, const void *bytes, size_t size,
                                    const struct hp_clock_pair *now, const struct hp_snapshot_pieces *pieces)
{
    memset(snapshot, 0, sizeof *snapshot);
    snapshot->bytes = bytes;
    snapshot->size = size;
    snapshot->fetch = pieces->fetch;
    snapshot->fetch_context = pieces->context;
    snapshot->numbers = pieces->numbers;
    const char *problem = check_opening(snapshot);
    if (problem != NULL)
        return problem;
    copy_header(snapshot);
    const struct hp_header *header = &snapshot->header;
    snapshot->is_finished = header->state == HP_STATE_FINISHED;
    snapshot->is_live = now != NULL;
    snapshot->is_cut_off = now == NULL && header->used > size;
    if (!snapshot->is_finished)
        use_latest_cpu(snapshot);
    if (now != NULL && !snapshot->is_finished) {
        set_rate(snapshot, now);
        snapshot->now_ticks = latest(now->ticks, header->clock_start.ticks);
        return NULL;
    }
    set_rate(snapshot, &header->clock_latest);
    snapshot->now_ticks =
        snapshot->is_finished ? latest(header->clock_latest.ticks, header->clock_start.ticks) : last_sign(snapshot);
    return NULL;
}

double hp_snapshot_ns(const struct hp_snapshot *snapshot, uint64_t ticks)
{
    return (double)ticks * snapshot->ns_per_tick;
}

uint64_t hp_snapshot_elapsed(const struct hp_snapshot *snapshot)
{
    return snapshot->now_ticks - snapshot->header.clock_start.ticks;
}

uint64_t hp_snapshot_elapsed_ns(const struct hp_snapshot *snapshot)
{
    return hp_units_round(hp_snapshot_ns(snapshot, hp_snapshot_elapsed(snapshot)));
}

uint64_t hp_snapshot_cpu_ns(const struct hp_snapshot *snapshot)
{
    const struct hp_header *header = &snapshot->header;
    return header->whole_cpu_ns != 0 ? header->whole_cpu_ns : hp_less(header->cpu_latest_ns, header->cpu_start_ns);
}

enum hp_snapshot_state hp_snapshot_state(const struct hp_snapshot *snapshot)
{
    if (snapshot->is_finished)
        return HP_SNAPSHOT_FINISHED;
    return snapshot->is_live ? HP_SNAPSHOT_RUNNING : HP_SNAPSHOT_ENDED;
}

const char *hp_snapshot_state_name(enum hp_snapshot_state state)
{
    static const char *const names[] = {
        [HP_SNAPSHOT_RUNNING] = "running", [HP_SNAPSHOT_FINISHED] = "finished", [HP_SNAPSHOT_ENDED] = "ended"};
    return names[state];
}

bool hp_snapshot_has_same_boot(const struct hp_snapshot *snapshot, const struct hp_snapshot *other)
{
    return memcmp(snapshot->header.boot_id, other->header.boot_id, sizeof snapshot->header.boot_id) == 0;
}
