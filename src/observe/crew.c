/*
 * What the threads of a process use.
 *
 * CPU time is that of schedstat, which is exact; the kernel's tick counts only tell how much of it was in the
 * kernel. A thread that has not run since the last look is not read again. What it used up to its very end, and
 * what it allocated, a thread writes into its record itself, if it has one; for any other thread the last reading
 * counts.
 *
 * Everything is added to rows as differences, so threads can share a row, and sums never fall. Ended threads are
 * merged by name if there are many; if no row is free, all ended threads are merged, and if that does not help
 * either, threads of the same name share a row. SPDX-License-Identifier: MIT
 */
#include "crew.h"

#include <string.h>

#include "arith.h"
#include "task_files.h"

#define STEP_NS UINT64_C(10000000) /* resolution of the kernel's times, on every machine */
#define NO_PLACE UINT32_MAX
#define OTHERS "<others>"
#define MOST_ALIKE 8u /* rows of ended threads with the same name; more are merged */

/* ------------------------------------------------------------------------------------------------ rows */

static bool is_free(const struct hp_crew_row *row) { return row->threads == 0; }

static bool is_ended(const struct hp_crew_row *row) { return row->threads > 0 && row->living == 0; }

static void add_row(struct hp_crew_row *to, const struct hp_crew_row *from)
{
    to->threads += from->threads;
    to->user_ns += from->user_ns;
    to->kernel_ns += from->kernel_ns;
    to->voluntary += from->voluntary;
    to->involuntary += from->involuntary;
    to->lived_ns += from->lived_ns;
    to->allocated_bytes += from->allocated_bytes;
    to->usable_bytes += from->usable_bytes;
    to->freed_bytes += from->freed_bytes;
    for (uint32_t cause = 0; cause < HP_CREW_CAUSES; cause++)
        to->waited_ns[cause] += from->waited_ns[cause];
    to->max_permille = to->max_permille > from->max_permille ? to->max_permille : from->max_permille;
    to->record = to->generation = 0;
}

static bool has_name(const struct hp_crew_row *row, const char *name)
{
    return memcmp(row->name, name, sizeof row->name) == 0;
}

/* The first row of ended threads with that name, before `end`. */
static uint32_t find_ended(const struct hp_crew_watch *crew, const char *name, uint32_t end)
{
    uint32_t at = 0;
    while (at < end && (!is_ended(&crew->rows[at]) || !has_name(&crew->rows[at], name)))
        at++;
    return at;
}

static void fold(struct hp_crew_watch *crew, uint32_t to, uint32_t from)
{
    add_row(&crew->rows[to], &crew->rows[from]);
    crew->rows[to].tid = crew->rows[from].tid;
    crew->rows[from] = (struct hp_crew_row){0};
    crew->is_changed[to] = crew->is_changed[from] = true;
}

/* Merges the ended threads with that name, if there are many. */
static void fold_alike(struct hp_crew_watch *crew, const char *name)
{
    uint32_t count = 0, first = crew->capacity;
    for (uint32_t at = crew->sums.used; at-- > 0;)
        if (is_ended(&crew->rows[at]) && has_name(&crew->rows[at], name)) {
            count += crew->rows[at].threads; /* once merged, the next one joins them */
            first = at;
        }
    for (uint32_t at = first + 1; count > MOST_ALIKE && at < crew->sums.used; at++)
        if (is_ended(&crew->rows[at]) && has_name(&crew->rows[at], name))
            fold(crew, first, at);
}

/* The same for all names, even if there are few. */
static void fold_by_name(struct hp_crew_watch *crew)
{
    for (uint32_t at = 1; at < crew->capacity; at++) {
        const struct hp_crew_row *row = &crew->rows[at];
        if (!is_ended(row))
            continue;
        const uint32_t first = find_ended(crew, row->name, at);
        if (first < at)
            fold(crew, first, at);
    }
}

/*
 * Merges all ended threads, whatever their names: the last resort for a program that gives each thread its own
 * name.
 */
static void fold_all(struct hp_crew_watch *crew)
{
    uint32_t first = crew->capacity;
    for (uint32_t at = 0; at < crew->capacity; at++) {
        if (!is_ended(&crew->rows[at]))
            continue;
        if (first == crew->capacity)
            first = at;
        else
            fold(crew, first, at);
    }
    if (first < crew->capacity && crew->rows[first].threads > 1)
        memcpy(crew->rows[first].name, OTHERS, sizeof OTHERS);
}

static uint32_t find_free(const struct hp_crew_watch *crew)
{
    uint32_t at = 0;
    while (at < crew->capacity && !is_free(&crew->rows[at]))
        at++;
    return at;
}

/* A free row, after merging if needed; `capacity`: all rows are of live threads. */
static uint32_t take_row(struct hp_crew_watch *crew)
{
    uint32_t at = find_free(crew);
    if (at == crew->capacity) {
        fold_by_name(crew);
        at = find_free(crew);
    }
    if (at == crew->capacity) {
        fold_all(crew);
        at = find_free(crew);
    }
    return at;
}

/* The row of a thread with the same name, to be shared. */
static uint32_t find_shared(const struct hp_crew_watch *crew, const char *name)
{
    uint32_t at = 0;
    while (at < crew->capacity && !has_name(&crew->rows[at], name))
        at++;
    return at;
}

/* From now on its numbers are no longer those of one thread. */
static void share(struct hp_crew_row *row, uint32_t tid)
{
    row->tid = tid;
    row->threads++;
    row->living++;
    row->record = row->generation = 0;
}

static void give_place(struct hp_crew_watch *crew, struct hp_crew_thread *thread, uint32_t tid, const char *name)
{
    uint32_t at = take_row(crew);
    if (at < crew->capacity) {
        crew->rows[at] = (struct hp_crew_row){.tid = tid, .threads = 1, .living = 1};
        memcpy(crew->rows[at].name, name, sizeof crew->rows[at].name);
        thread->place = at + 1;
        if (crew->sums.used <= at)
            crew->sums.used = at + 1;
        return;
    }
    at = find_shared(crew, name);
    thread->place = at < crew->capacity ? at + 1 : NO_PLACE;
    if (at < crew->capacity)
        share(&crew->rows[at], tid);
    else
        crew->sums.unlisted++;
}

static bool has_place(const struct hp_crew_thread *thread)
{
    return thread->place != 0 && thread->place != NO_PLACE;
}

/* Its row, marked as changed. */
static struct hp_crew_row *row_of(struct hp_crew_watch *crew, const struct hp_crew_thread *thread)
{
    crew->is_changed[thread->place - 1] = true;
    return &crew->rows[thread->place - 1];
}

static bool is_alone(const struct hp_crew_row *row) { return row->threads == 1 && row->living == 1; }

/* --------------------------------------------------------------------------------------------- counting */

/* A sum has risen to `now`: adds the difference to the row. */
static void catch_up(uint64_t *known, uint64_t now, uint64_t *of_row)
{
    if (now <= *known)
        return;
    *of_row += now - *known;
    *known = now;
}

/* All CPU time; of what is new, the kernel's share by its tick counts. */
static void count_time(struct hp_crew_thread *thread, struct hp_crew_row *row, uint64_t ran, uint64_t kernel_ns)
{
    const uint64_t added = hp_less(ran, thread->user_ns + thread->kernel_ns);
    const uint64_t in_kernel = hp_less(kernel_ns, thread->kernel_ns);
    const uint64_t kernel = in_kernel < added ? in_kernel : added;
    catch_up(&thread->kernel_ns, thread->kernel_ns + kernel, &row->kernel_ns);
    catch_up(&thread->user_ns, thread->user_ns + added - kernel, &row->user_ns);
}

static void count_life(struct hp_crew_thread *thread, struct hp_crew_row *row, const struct hp_crew_seen *seen)
{
    if (thread->looked_ns == 0)
        thread->looked_ns = seen->began_ns;
    catch_up(&thread->looked_ns, seen->now, &row->lived_ns);
}

void hp_crew_wait(struct hp_crew_thread *thread, uint32_t cause, int64_t ns)
{
    if (cause < HP_CREW_CAUSES)
        thread->waited_ns[cause] += ns;
}

/* Never below zero: a shared row may have less than is taken back. */
static void count_waits(struct hp_crew_thread *thread, struct hp_crew_row *row)
{
    for (uint32_t cause = 0; cause < HP_CREW_CAUSES; cause++) {
        const int64_t ns = thread->waited_ns[cause];
        uint64_t *sum = &row->waited_ns[cause];
        *sum = ns < 0 ? hp_less(*sum, (uint64_t)-ns) : *sum + (uint64_t)ns;
        thread->waited_ns[cause] = 0;
    }
}

static bool read_record(const struct hp_crew_watch *crew, uint32_t offset, struct hp_thread *ret_record)
{
    return offset >= HP_HEADER_BYTES && offset % 8 == 0 && (uint64_t)offset + sizeof *ret_record <= UINT32_MAX &&
           crew->read(crew->context, offset, ret_record, sizeof *ret_record);
}

static void read_allocs(const struct hp_crew_watch *crew, uint32_t offset, struct hp_alloc_thread *ret_allocs)
{
    if (offset < HP_HEADER_BYTES || offset % 8 != 0 || (uint64_t)offset + sizeof *ret_allocs > UINT32_MAX ||
        !crew->read(crew->context, offset, ret_allocs, sizeof *ret_allocs))
        *ret_allocs = (struct hp_alloc_thread){0};
}

static void count_allocs(struct hp_crew_thread *thread, struct hp_crew_row *row, uint64_t bytes, uint64_t usable,
                         uint64_t freed)
{
    catch_up(&thread->bytes, hp_less(bytes, thread->bytes_before), &row->allocated_bytes);
    catch_up(&thread->usable, hp_less(usable, thread->usable_before), &row->usable_bytes);
    catch_up(&thread->freed, hp_less(freed, thread->freed_before), &row->freed_bytes);
}

static void remember_record(struct hp_crew_thread *thread, uint32_t offset, const struct hp_thread *record)
{
    thread->record = offset;
    thread->generation = record->generation;
    thread->bytes_before = record->life.bytes_before;
    thread->usable_before = record->life.usable_before;
    thread->freed_before = record->life.freed_before;
}

/*
 * Adds what its record says. If the next thread has taken over the record, this thread's values are where the next
 * one began.
 */
static void count_by_record(const struct hp_crew_watch *crew, struct hp_crew_thread *thread,
                            struct hp_crew_row *row, const struct hp_thread *record)
{
    struct hp_alloc_thread allocs;
    if (record->generation == thread->generation) {
        read_allocs(crew, record->alloc, &allocs);
        count_allocs(thread, row, allocs.bytes, allocs.usable, allocs.freed);
    } else if (record->generation == thread->generation + 1) {
        count_allocs(thread, row, record->life.bytes_before, record->life.usable_before, record->life.freed_before);
    }
}

/* ------------------------------------------------------------------------------------------------ probes */

static uint32_t permille(uint64_t part, uint64_t whole)
{
    const uint64_t share = whole > 0 ? (part * 1000 + whole / 2) / whole : 0;
    return share < 1000 ? (uint32_t)share : 1000;
}

/* Shares refer to whole samples: what a thread did between two quick probes says little. */
static void count_share(struct hp_crew_watch *crew, const struct hp_crew_thread *thread, struct hp_crew_row *row,
                        uint64_t ran, uint64_t lived)
{
    const uint32_t share = permille(ran, lived);
    crew->ran_now[thread->place - 1] += ran < lived ? ran : lived;
    crew->lived_now[thread->place - 1] += lived;
    if (share > row->max_permille && lived >= HP_CREW_PERIOD_NS / 4)
        row->max_permille = share;
}

bool hp_crew_wants(const struct hp_crew_watch *crew, const struct hp_crew_thread *thread)
{
    return crew->at != 0 && (thread->place == 0 || (crew->is_due && thread->place != NO_PLACE));
}

static bool is_still(const struct hp_crew_thread *thread, const struct hp_crew_seen *seen)
{
    return thread->state != 'R' && thread->slices == seen->slices &&
           thread->user_ns + thread->kernel_ns == seen->ran;
}

/* Reads the kernel's numbers besides schedstat. False: the thread is gone. */
static bool ask_kernel(struct hp_crew_watch *crew, struct hp_crew_thread *thread, const struct hp_crew_seen *seen)
{
    struct hp_task_account account;
    uint64_t voluntary, involuntary;
    if (!hp_task_account(crew->pid, seen->tid, &account))
        return false;
    if (thread->place == 0)
        give_place(crew, thread, seen->tid, account.name);
    if (!has_place(thread))
        return true;
    struct hp_crew_row *row = row_of(crew, thread);
    count_time(thread, row, seen->ran, account.kernel * STEP_NS);
    if (hp_task_all_switches(crew->pid, seen->tid, &voluntary, &involuntary)) {
        catch_up(&thread->voluntary, voluntary, &row->voluntary);
        catch_up(&thread->involuntary, involuntary, &row->involuntary);
    }
    thread->state = account.state;
    thread->slices = seen->slices;
    if (is_alone(row)) {
        row->state = (unsigned char)account.state;
        memcpy(row->name, account.name, sizeof row->name);
    }
    return true;
}

static void ask_session(const struct hp_crew_watch *crew, struct hp_crew_thread *thread, struct hp_crew_row *row,
                        uint32_t record_at)
{
    struct hp_thread record;
    if (record_at == 0 || !read_record(crew, record_at, &record))
        return;
    if (thread->record != record_at || thread->generation == 0)
        remember_record(thread, record_at, &record);
    count_by_record(crew, thread, row, &record);
    if (!is_alone(row))
        return;
    row->record = thread->record;
    row->generation = thread->generation;
}

void hp_crew_probe(struct hp_crew_watch *crew, struct hp_crew_thread *thread, const struct hp_crew_seen *seen,
                   uint32_t record)
{
    const bool is_new = thread->place == 0;
    if (!hp_crew_wants(crew, thread))
        return;
    const uint64_t ran_before = thread->user_ns + thread->kernel_ns, looked_before = thread->looked_ns;
    if ((!is_still(thread, seen) || is_new) && !ask_kernel(crew, thread, seen))
        return;
    if (!has_place(thread))
        return;
    struct hp_crew_row *row = row_of(crew, thread);
    count_life(thread, row, seen);
    count_waits(thread, row);
    ask_session(crew, thread, row, record);
    if (!is_new)
        count_share(crew, thread, row, thread->user_ns + thread->kernel_ns - ran_before,
                    hp_less(seen->now, looked_before));
}

/* ------------------------------------------------------------------------------------------------- ends */

/*
 * What it used up to its end, by its own clock. Only now is it known how much of the last tick was in the kernel.
 * It lived for as long as it ran after the last sample.
 */
static void count_end(struct hp_crew_thread *thread, struct hp_crew_row *row, const struct hp_thread_life *life)
{
    const uint64_t all = life->user_ns + life->kernel_ns, before = thread->user_ns + thread->kernel_ns;
    if (all < before)
        return;
    row->lived_ns += all - before;
    row->user_ns += life->user_ns - thread->user_ns;
    row->kernel_ns += life->kernel_ns - thread->kernel_ns;
    catch_up(&thread->voluntary, life->voluntary, &row->voluntary);
    catch_up(&thread->involuntary, life->involuntary, &row->involuntary);
}

void hp_crew_part(struct hp_crew_watch *crew, struct hp_crew_thread *thread, const struct hp_crew_seen *seen)
{
    struct hp_thread record;
    if (crew->at == 0 || !has_place(thread))
        return;
    struct hp_crew_row *row = row_of(crew, thread);
    count_time(thread, row, seen->ran, thread->kernel_ns);
    count_life(thread, row, seen);
    count_waits(thread, row);
    if (thread->record != 0 && read_record(crew, thread->record, &record)) {
        count_by_record(crew, thread, row, &record);
        if (hp_crew_knows_end(&record.life, thread->generation))
            count_end(thread, row, &record.life);
    }
    row->living -= row->living > 0;
    row->now_permille = 0;
    thread->place = NO_PLACE;
    crew->has_changed = true;
    const struct hp_crew_row ended = *row;
    if (ended.living == 0)
        fold_alike(crew, ended.name);
}

/* ---------------------------------------------------------------------------------------------- samples */

void hp_crew_begin(struct hp_crew_watch *crew, uint32_t at)
{
    if (at < HP_HEADER_BYTES || at % 8 != 0 || (uint64_t)at + sizeof crew->sums > UINT32_MAX ||
        !crew->read(crew->context, at, &crew->sums, sizeof crew->sums) || crew->sums.capacity == 0)
        return;
    const uint32_t capacity = crew->sums.capacity;
    crew->capacity = capacity < HP_CREW_ROWS ? capacity : HP_CREW_ROWS;
    if ((uint64_t)at + sizeof crew->sums + crew->capacity * sizeof crew->rows[0] > UINT32_MAX)
        return;
    /* An earlier observer counted from the start of the threads, and so do we. */
    crew->sums = (struct hp_crew){.capacity = capacity, .rss_peak_bytes = crew->sums.rss_peak_bytes};
    memset(crew->is_changed, true, sizeof crew->is_changed);
    crew->at = at;
}

void hp_crew_probe_begin(struct hp_crew_watch *crew, uint64_t now)
{
    crew->is_due = crew->at != 0 && (crew->sums.samples == 0 || now - crew->sums.sampled_ns >= HP_CREW_PERIOD_NS);
    if (!crew->is_due)
        return;
    memset(crew->ran_now, 0, sizeof crew->ran_now);
    memset(crew->lived_now, 0, sizeof crew->lived_now);
}

static void note_memory(struct hp_crew_watch *crew)
{
    const uint64_t now = hp_task_resident(crew->pid), peak = crew->is_due ? hp_task_resident_peak(crew->pid) : 0;
    struct hp_crew *sums = &crew->sums;
    if (now == 0)
        return;
    const uint64_t highest = now > peak ? now : peak;
    crew->has_changed |= now != sums->rss_bytes;
    sums->rss_bytes = now;
    if (highest > sums->rss_peak_bytes)
        sums->rss_peak_bytes = highest;
}

static void note_shares(struct hp_crew_watch *crew)
{
    for (uint32_t at = 0; at < crew->sums.used; at++) {
        const uint32_t share = permille(crew->ran_now[at], crew->lived_now[at]);
        crew->is_changed[at] |= share != crew->rows[at].now_permille;
        crew->rows[at].now_permille = share;
    }
}

bool hp_crew_probe_end(struct hp_crew_watch *crew, uint32_t living, uint64_t now)
{
    struct hp_crew *sums = &crew->sums;
    if (crew->at == 0)
        return true;
    note_memory(crew);
    crew->has_changed |= sums->threads != living;
    sums->threads = living;
    if (living > sums->most_threads)
        sums->most_threads = living;
    if (crew->is_due) {
        note_shares(crew);
        sums->samples++;
        sums->sampled_ns = now;
    }
    return (!crew->is_due && !crew->has_changed) || hp_crew_write(crew);
}

bool hp_crew_write(struct hp_crew_watch *crew)
{
    for (uint32_t at = 0; crew->at != 0 && at < crew->sums.used; at++) {
        const size_t offset = crew->at + sizeof crew->sums + at * sizeof crew->rows[0];
        if (!crew->is_changed[at])
            continue;
        if (!crew->write(crew->context, (uint32_t)offset, &crew->rows[at], sizeof crew->rows[at]))
            return false;
        crew->is_changed[at] = false;
    }
    crew->has_changed = false;
    return crew->at == 0 || crew->write(crew->context, crew->at, &crew->sums, sizeof crew->sums);
}
