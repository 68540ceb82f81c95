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
#include "thread_usage.h"

#include <string.h>

#include "arith.h"
#include "process.h"

#define STEP_NS UINT64_C(10000000) /* resolution of the kernel's times, on every machine */
#define NO_PLACE UINT32_MAX
#define OTHERS "<others>"
#define MOST_ALIKE 8u /* rows of ended threads with the same name; more are merged */

/* ------------------------------------------------------------------------------------------------ rows */

static bool is_free(const struct hp_thread_usage_row *row) { return row->threads == 0; }

static bool is_ended(const struct hp_thread_usage_row *row) { return row->threads > 0 && row->living == 0; }

static void add_row(struct hp_thread_usage_row *to, const struct hp_thread_usage_row *from)
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
    for (uint32_t cause = 0; cause < HP_THREAD_USAGE_CAUSES; cause++)
        to->waited_ns[cause] += from->waited_ns[cause];
    to->max_permille = to->max_permille > from->max_permille ? to->max_permille : from->max_permille;
    to->record = to->generation = 0;
}

static bool has_name(const struct hp_thread_usage_row *row, const char *name)
{
    return memcmp(row->name, name, sizeof row->name) == 0;
}

/* The first row of ended threads with that name, before `end`. */
static uint32_t find_ended(const struct hp_thread_usage_watch *usage, const char *name, uint32_t end)
{
    uint32_t at = 0;
    while (at < end && (!is_ended(&usage->rows[at]) || !has_name(&usage->rows[at], name)))
        at++;
    return at;
}

static void fold(struct hp_thread_usage_watch *usage, uint32_t to, uint32_t from)
{
    add_row(&usage->rows[to], &usage->rows[from]);
    usage->rows[to].tid = usage->rows[from].tid;
    usage->rows[from] = (struct hp_thread_usage_row){0};
    usage->is_changed[to] = usage->is_changed[from] = true;
}

/* Merges the ended threads with that name, if there are many. */
static void fold_alike(struct hp_thread_usage_watch *usage, const char *name)
{
    uint32_t count = 0, first = usage->capacity;
    for (uint32_t at = usage->sums.used; at-- > 0;)
        if (is_ended(&usage->rows[at]) && has_name(&usage->rows[at], name)) {
            count += usage->rows[at].threads; /* once merged, the next one joins them */
            first = at;
        }
    for (uint32_t at = first + 1; count > MOST_ALIKE && at < usage->sums.used; at++)
        if (is_ended(&usage->rows[at]) && has_name(&usage->rows[at], name))
            fold(usage, first, at);
}

/* The same for all names, even if there are few. */
static void fold_by_name(struct hp_thread_usage_watch *usage)
{
    for (uint32_t at = 1; at < usage->capacity; at++) {
        const struct hp_thread_usage_row *row = &usage->rows[at];
        if (!is_ended(row))
            continue;
        const uint32_t first = find_ended(usage, row->name, at);
        if (first < at)
            fold(usage, first, at);
    }
}

/*
 * Merges all ended threads, whatever their names: the last resort for a program that gives each thread its own
 * name.
 */
static void fold_all(struct hp_thread_usage_watch *usage)
{
    uint32_t first = usage->capacity;
    for (uint32_t at = 0; at < usage->capacity; at++) {
        if (!is_ended(&usage->rows[at]))
            continue;
        if (first == usage->capacity)
            first = at;
        else
            fold(usage, first, at);
    }
    if (first < usage->capacity && usage->rows[first].threads > 1)
        memcpy(usage->rows[first].name, OTHERS, sizeof OTHERS);
}

static uint32_t find_free(const struct hp_thread_usage_watch *usage)
{
    uint32_t at = 0;
    while (at < usage->capacity && !is_free(&usage->rows[at]))
        at++;
    return at;
}

/* A free row, after merging if needed; `capacity`: all rows are of live threads. */
static uint32_t take_row(struct hp_thread_usage_watch *usage)
{
    uint32_t at = find_free(usage);
    if (at == usage->capacity) {
        fold_by_name(usage);
        at = find_free(usage);
    }
    if (at == usage->capacity) {
        fold_all(usage);
        at = find_free(usage);
    }
    return at;
}

/* The row of a thread with the same name, to be shared. */
static uint32_t find_shared(const struct hp_thread_usage_watch *usage, const char *name)
{
    uint32_t at = 0;
    while (at < usage->capacity && !has_name(&usage->rows[at], name))
        at++;
    return at;
}

/* From now on its numbers are no longer those of one thread. */
static void share(struct hp_thread_usage_row *row, uint32_t tid)
{
    row->tid = tid;
    row->threads++;
    row->living++;
    row->record = row->generation = 0;
}

static void give_place(struct hp_thread_usage_watch *usage, struct hp_thread_usage_thread *thread, uint32_t tid,
                       const char *name)
{
    uint32_t at = take_row(usage);
    if (at < usage->capacity) {
        usage->rows[at] = (struct hp_thread_usage_row){.tid = tid, .threads = 1, .living = 1};
        memset(usage->beside_ns[at], 0, sizeof usage->beside_ns[at]);
        memcpy(usage->rows[at].name, name, sizeof usage->rows[at].name);
        thread->place = at + 1;
        if (usage->sums.used <= at)
            usage->sums.used = at + 1;
        return;
    }
    at = find_shared(usage, name);
    thread->place = at < usage->capacity ? at + 1 : NO_PLACE;
    if (at < usage->capacity)
        share(&usage->rows[at], tid);
    else
        usage->sums.unlisted++;
}

static bool has_place(const struct hp_thread_usage_thread *thread)
{
    return thread->place != 0 && thread->place != NO_PLACE;
}

/* Its row, marked as changed. */
static struct hp_thread_usage_row *row_of(struct hp_thread_usage_watch *usage,
                                          const struct hp_thread_usage_thread *thread)
{
    usage->is_changed[thread->place - 1] = true;
    return &usage->rows[thread->place - 1];
}

static bool is_alone(const struct hp_thread_usage_row *row) { return row->threads == 1 && row->living == 1; }

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
static void count_time(struct hp_thread_usage_thread *thread, struct hp_thread_usage_row *row, uint64_t ran,
                       uint64_t kernel_ns)
{
    const uint64_t added = hp_less(ran, thread->user_ns + thread->kernel_ns);
    const uint64_t in_kernel = hp_less(kernel_ns, thread->kernel_ns);
    const uint64_t kernel = in_kernel < added ? in_kernel : added;
    catch_up(&thread->kernel_ns, thread->kernel_ns + kernel, &row->kernel_ns);
    catch_up(&thread->user_ns, thread->user_ns + added - kernel, &row->user_ns);
}

static void count_life(struct hp_thread_usage_thread *thread, struct hp_thread_usage_row *row,
                       const struct hp_thread_usage_seen *seen)
{
    if (thread->looked_ns == 0)
        thread->looked_ns = seen->began_ns;
    catch_up(&thread->looked_ns, seen->now, &row->lived_ns);
}

void hp_thread_usage_wait(struct hp_thread_usage_thread *thread, uint32_t cause, int64_t ns)
{
    if (cause < HP_THREAD_USAGE_CAUSES)
        thread->waited_ns[cause] += ns;
}

void hp_thread_usage_beside(struct hp_thread_usage_thread *thread, enum hp_activity part, uint64_t ns)
{
    if (part < HP_PARTS)
        thread->beside_ns[part] += ns;
}

/* Never below zero: a shared row may have less than is taken back. */
static void count_waits(struct hp_thread_usage_watch *usage, struct hp_thread_usage_thread *thread,
                        struct hp_thread_usage_row *row)
{
    for (uint32_t cause = 0; cause < HP_THREAD_USAGE_CAUSES; cause++) {
        const int64_t ns = thread->waited_ns[cause];
        uint64_t *sum = &row->waited_ns[cause];
        *sum = ns < 0 ? hp_less(*sum, (uint64_t)-ns) : *sum + (uint64_t)ns;
        thread->waited_ns[cause] = 0;
    }
    for (uint32_t part = 0; part < HP_PARTS; part++) {
        usage->beside_ns[thread->place - 1][part] += thread->beside_ns[part];
        thread->beside_ns[part] = 0;
    }
}

static bool read_record(const struct hp_thread_usage_watch *usage, uint32_t offset, struct hp_thread *ret_record)
{
    return offset >= HP_HEADER_BYTES && offset % 8 == 0 && (uint64_t)offset + sizeof *ret_record <= UINT32_MAX &&
           usage->read(usage->context, offset, ret_record, sizeof *ret_record);
}

static void read_allocs(const struct hp_thread_usage_watch *usage, uint32_t offset,
                        struct hp_alloc_thread *ret_allocs)
{
    if (offset < HP_HEADER_BYTES || offset % 8 != 0 || (uint64_t)offset + sizeof *ret_allocs > UINT32_MAX ||
        !usage->read(usage->context, offset, ret_allocs, sizeof *ret_allocs))
        *ret_allocs = (struct hp_alloc_thread){0};
}

static void count_allocs(struct hp_thread_usage_thread *thread, struct hp_thread_usage_row *row, uint64_t bytes,
                         uint64_t usable, uint64_t freed)
{
    catch_up(&thread->bytes, hp_less(bytes, thread->bytes_before), &row->allocated_bytes);
    catch_up(&thread->usable, hp_less(usable, thread->usable_before), &row->usable_bytes);
    catch_up(&thread->freed, hp_less(freed, thread->freed_before), &row->freed_bytes);
}

static void remember_record(struct hp_thread_usage_thread *thread, uint32_t offset, const struct hp_thread *record)
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
static void count_by_record(const struct hp_thread_usage_watch *usage, struct hp_thread_usage_thread *thread,
                            struct hp_thread_usage_row *row, const struct hp_thread *record)
{
    struct hp_alloc_thread allocs;
    if (record->generation == thread->generation) {
        read_allocs(usage, record->alloc, &allocs);
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
static void count_share(struct hp_thread_usage_watch *usage, const struct hp_thread_usage_thread *thread,
                        struct hp_thread_usage_row *row, uint64_t ran, uint64_t lived)
{
    const uint32_t share = permille(ran, lived);
    usage->ran_now[thread->place - 1] += ran < lived ? ran : lived;
    usage->lived_now[thread->place - 1] += lived;
    if (share > row->max_permille && lived >= HP_THREAD_USAGE_PERIOD_NS / 4)
        row->max_permille = share;
}

bool hp_thread_usage_wants(const struct hp_thread_usage_watch *usage, const struct hp_thread_usage_thread *thread)
{
    return usage->at != 0 && (thread->place == 0 || (usage->is_due && thread->place != NO_PLACE));
}

static bool is_still(const struct hp_thread_usage_thread *thread, const struct hp_thread_usage_seen *seen)
{
    return thread->state != 'R' && thread->slices == seen->slices &&
           thread->user_ns + thread->kernel_ns == seen->ran;
}

/* The thread was there before its process was observed: what it did by then does not count. */
static void skip_past(const struct hp_thread_usage_watch *usage, struct hp_thread_usage_thread *thread,
                      const struct hp_thread_usage_seen *seen, uint64_t kernel_ns)
{
    thread->kernel_ns = kernel_ns < seen->ran ? kernel_ns : seen->ran;
    thread->user_ns = seen->ran - thread->kernel_ns;
    thread->looked_ns = seen->now;
    hp_task_all_switches(usage->pid, seen->tid, &thread->voluntary, &thread->involuntary);
}

/* Reads the kernel's numbers besides schedstat. False: the thread is gone. */
static bool ask_kernel(struct hp_thread_usage_watch *usage, struct hp_thread_usage_thread *thread,
                       const struct hp_thread_usage_seen *seen)
{
    struct hp_task_account account;
    uint64_t voluntary, involuntary;
    if (!hp_task_account(usage->pid, seen->tid, &account))
        return false;
    const bool has_past = thread->place == 0 && usage->is_joined && usage->sums.samples == 0;
    if (thread->place == 0)
        give_place(usage, thread, seen->tid, account.name);
    if (!has_place(thread))
        return true;
    if (has_past)
        skip_past(usage, thread, seen, account.kernel * STEP_NS);
    struct hp_thread_usage_row *row = row_of(usage, thread);
    count_time(thread, row, seen->ran, account.kernel * STEP_NS);
    if (hp_task_all_switches(usage->pid, seen->tid, &voluntary, &involuntary)) {
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

static void ask_session(const struct hp_thread_usage_watch *usage, struct hp_thread_usage_thread *thread,
                        struct hp_thread_usage_row *row, uint32_t record_at)
{
    struct hp_thread record;
    if (record_at == 0 || !read_record(usage, record_at, &record))
        return;
    if (thread->record != record_at || thread->generation == 0)
        remember_record(thread, record_at, &record);
    count_by_record(usage, thread, row, &record);
    if (!is_alone(row))
        return;
    row->record = thread->record;
    row->generation = thread->generation;
}

void hp_thread_usage_probe(struct hp_thread_usage_watch *usage, struct hp_thread_usage_thread *thread,
                           const struct hp_thread_usage_seen *seen, uint32_t record)
{
    const bool is_new = thread->place == 0;
    if (!hp_thread_usage_wants(usage, thread))
        return;
    const uint64_t ran_before = thread->user_ns + thread->kernel_ns, looked_before = thread->looked_ns;
    if ((!is_still(thread, seen) || is_new) && !ask_kernel(usage, thread, seen))
        return;
    if (!has_place(thread))
        return;
    struct hp_thread_usage_row *row = row_of(usage, thread);
    count_life(thread, row, seen);
    count_waits(usage, thread, row);
    ask_session(usage, thread, row, record);
    if (!is_new)
        count_share(usage, thread, row, thread->user_ns + thread->kernel_ns - ran_before,
                    hp_less(seen->now, looked_before));
}

/* ------------------------------------------------------------------------------------------------- ends */

/*
 * What it used up to its end, by its own clock. Only now is it known how much of the last tick was in the kernel.
 * It lived for as long as it ran after the last sample.
 */
static void count_end(struct hp_thread_usage_thread *thread, struct hp_thread_usage_row *row,
                      const struct hp_thread_life *life)
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

void hp_thread_usage_part(struct hp_thread_usage_watch *usage, struct hp_thread_usage_thread *thread,
                          const struct hp_thread_usage_seen *seen)
{
    struct hp_thread record;
    if (usage->at == 0 || !has_place(thread))
        return;
    struct hp_thread_usage_row *row = row_of(usage, thread);
    count_time(thread, row, seen->ran, thread->kernel_ns);
    count_life(thread, row, seen);
    count_waits(usage, thread, row);
    if (thread->record != 0 && read_record(usage, thread->record, &record)) {
        count_by_record(usage, thread, row, &record);
        if (hp_thread_usage_knows_end(&record.life, thread->generation))
            count_end(thread, row, &record.life);
    }
    row->living -= row->living > 0;
    row->now_permille = 0;
    thread->place = NO_PLACE;
    usage->has_changed = true;
    const struct hp_thread_usage_row ended = *row;
    if (ended.living == 0)
        fold_alike(usage, ended.name);
}

/* ---------------------------------------------------------------------------------------------- samples */

void hp_thread_usage_begin(struct hp_thread_usage_watch *usage, uint32_t at)
{
    if (at < HP_HEADER_BYTES || at % 8 != 0 || (uint64_t)at + sizeof usage->sums > UINT32_MAX ||
        !usage->read(usage->context, at, &usage->sums, sizeof usage->sums) || usage->sums.capacity == 0)
        return;
    const uint32_t capacity = usage->sums.capacity;
    usage->capacity = capacity < HP_THREAD_USAGE_ROWS ? capacity : HP_THREAD_USAGE_ROWS;
    if ((uint64_t)at + sizeof usage->sums + usage->capacity * sizeof usage->rows[0] > UINT32_MAX)
        return;
    /* An earlier observer counted from the start of the threads, and so do we. */
    usage->sums = (struct hp_thread_usage){.capacity = capacity, .rss_peak_bytes = usage->sums.rss_peak_bytes};
    memset(usage->is_changed, true, sizeof usage->is_changed);
    usage->at = at;
}

void hp_thread_usage_probe_begin(struct hp_thread_usage_watch *usage, uint64_t now)
{
    usage->is_due =
        usage->at != 0 && (usage->sums.samples == 0 || now - usage->sums.sampled_ns >= HP_THREAD_USAGE_PERIOD_NS);
    if (!usage->is_due)
        return;
    memset(usage->ran_now, 0, sizeof usage->ran_now);
    memset(usage->lived_now, 0, sizeof usage->lived_now);
}

static void note_memory(struct hp_thread_usage_watch *usage)
{
    const uint64_t now = hp_task_resident(usage->pid), peak = usage->is_due ? hp_task_resident_peak(usage->pid) : 0;
    struct hp_thread_usage *sums = &usage->sums;
    if (now == 0)
        return;
    const uint64_t highest = now > peak ? now : peak;
    usage->has_changed |= now != sums->rss_bytes;
    sums->rss_bytes = now;
    if (highest > sums->rss_peak_bytes)
        sums->rss_peak_bytes = highest;
}

static uint64_t number_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    if (at == NULL)
        return 0;
    at += strlen(key);
    return hp_task_number(&at);
}

/*
 * How much the process moved by how many calls. The kernel counts on over exec, so a program that was executed by
 * another begins with the first reading; so does one that ran before we came.
 */
static void note_transfers(struct hp_thread_usage_watch *usage)
{
    static const char *const keys[] = {"syscr: ", "rchar: ", "syscw: ", "wchar: "};
    uint64_t *const sums[] = {&usage->sums.read_calls, &usage->sums.read_bytes, &usage->sums.write_calls,
                              &usage->sums.write_bytes};
    char text[256];
    if (!usage->is_due || !hp_task_read(usage->pid, 0, "io", text, sizeof text))
        return;
    for (size_t at = 0; at < sizeof keys / sizeof keys[0]; at++) {
        const uint64_t now = number_after(text, keys[at]);
        if (usage->has_past)
            usage->moved_before[at] = now;
        *sums[at] = now - usage->moved_before[at];
    }
    usage->has_past = false;
}

static void note_shares(struct hp_thread_usage_watch *usage)
{
    for (uint32_t at = 0; at < usage->sums.used; at++) {
        const uint32_t share = permille(usage->ran_now[at], usage->lived_now[at]);
        usage->is_changed[at] |= share != usage->rows[at].now_permille;
        usage->rows[at].now_permille = share;
    }
}

bool hp_thread_usage_probe_end(struct hp_thread_usage_watch *usage, uint32_t living, uint64_t now)
{
    struct hp_thread_usage *sums = &usage->sums;
    if (usage->at == 0)
        return true;
    note_memory(usage);
    note_transfers(usage);
    usage->has_changed |= sums->threads != living;
    sums->threads = living;
    if (living > sums->most_threads)
        sums->most_threads = living;
    if (usage->is_due) {
        note_shares(usage);
        sums->samples++;
        sums->sampled_ns = now;
    }
    return (!usage->is_due && !usage->has_changed) || hp_thread_usage_write(usage);
}

bool hp_thread_usage_write(struct hp_thread_usage_watch *usage)
{
    for (uint32_t at = 0; usage->at != 0 && at < usage->sums.used; at++) {
        const size_t offset = usage->at + sizeof usage->sums + at * sizeof usage->rows[0];
        if (!usage->is_changed[at])
            continue;
        if (!usage->write(usage->context, (uint32_t)offset, &usage->rows[at], sizeof usage->rows[at]))
            return false;
        usage->is_changed[at] = false;
    }
    usage->has_changed = false;
    return usage->at == 0 || usage->write(usage->context, usage->at, &usage->sums, sizeof usage->sums);
}
