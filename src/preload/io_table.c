/*
 * Counting I/O: cells, and what the kernel has counted.
 *
 * A thread counts in cells of its own, with plain loads and stores: a locked instruction would cost as much as all
 * the rest beside the clock. A signal handler that interrupts that counts in shared cells. A thread is known by the
 * address of its variables; one that comes after it at the same place goes on with its cells.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "holding.h"
#include "hook_entries.h"
#include "io_calls.h"
#include "io_rows.h"
#include "memory.h"
#include "raw_call.h"
#include "real_functions.h"

#define CELL_INDEX (4 * HP_IO_MOST_CELLS)
#define ZONE_INDEX (4 * HP_IO_MOST_ZONES)

/* In memory that is wiped in a forked child. */
static struct hp_io_state {
    struct hp_side_file file;
    struct hp_io_rows rows;
    uint64_t own_bytes;      /* that we have read ourselves, as far as the kernel counts them */
    uint32_t is_asking;      /* atomic: a thread reads what the kernel has counted */
    uint64_t ticks_of_notes; /* between two of these */
    uint64_t next_note;      /* when it is read next */
    uint32_t cell_index[CELL_INDEX];
    uint32_t zone_index[ZONE_INDEX];
    struct hp_call_sites sites;
} * io;

/*
 * What a thread does often: the cells of the last calls, so that neither the place in the code nor the cell has to
 * be searched for.
 */
#define KNOWN_CELLS 16u /* a power of two; 2 KB of each thread, which are part of its stack with glibc */
struct known_cell {
    uint64_t what;  /* the operation << 32 | the row; 0: free */
    uint64_t where; /* the zone, as own_node tells it */
    struct hp_io_cell *cell;
    uint32_t pid;
    uint32_t step; /* of the size that was moved last in the histogram of sizes */
    int64_t moved; /* that size */
    struct hp_known_site site;
} __attribute__((aligned(128)));

static __thread struct {
    uint32_t is_counting; /* or a handler has left it so by a jump: then all of this thread goes to shared cells */
    struct known_cell known[KNOWN_CELLS];
} mine __attribute__((tls_model("initial-exec")));

/* --------------------------------------------------------------------------------------- what the kernel counts */

static uint64_t number_after(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    uint64_t number = 0;
    for (at = at != NULL ? at + strlen(name) : ""; *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    return number;
}

/* False: the kernel does not tell. */
static bool ask_kernel(uint64_t *ret_read, uint64_t *ret_written)
{
    char text[512];
    const long fd = hp_raw(SYS_openat, AT_FDCWD, "/proc/self/io", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const long length = hp_raw(SYS_read, fd, text, sizeof text - 1);
    hp_raw(SYS_close, fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    *ret_read = number_after(text, "rchar: ") - io->own_bytes;
    *ret_written = number_after(text, "wchar: ");
    io->own_bytes += (uint64_t)length;
    return true;
}

/* A vfork child has our memory, but the kernel would tell its own numbers. */
static void note_kernel(void)
{
    struct hp_side_header *header = hp_side_header(&io->file);
    uint64_t read, written;
    if (!hp_calls_begin())
        return;
    if (hp_sys_process_id() == io->file.pid && ask_kernel(&read, &written)) {
        HOTPATH_PUT_(header->numbers[HP_IO_READ_LATEST], read);
        HOTPATH_PUT_(header->numbers[HP_IO_WRITTEN_LATEST], written);
    }
    hp_calls_end();
}

/* On a stack of ours, where no handler can jump away: the clock is read several times, which takes stack. */
static void note_aside(void *is_sandboxed)
{
    if (__atomic_exchange_n(&io->is_asking, 1, __ATOMIC_ACQUIRE) != 0)
        return;
    hp_side_note_time(&io->file);
    if (is_sandboxed == NULL)
        note_kernel();
    __atomic_store_n(&io->is_asking, 0, __ATOMIC_RELEASE);
}

/* Now and then, and at the end. */
static __attribute__((noinline, cold)) void note_state(uint64_t now)
{
    const int saved = errno;
    HOTPATH_PUT_(io->next_note, now + io->ticks_of_notes);
    if (!hp_aside(note_aside, NULL))
        note_aside(&io->file);
    errno = saved;
}

/* ------------------------------------------------------------------------------------------------------- cells */

struct wanted_cell {
    uint64_t thread; /* 0: shared */
    uint32_t row, op, site, zone;
};

static struct hp_io_cell *cell_at(uint32_t number) { return hp_side_item(&io->file, HP_IO_CELLS, number - 1); }

static bool is_cell(uint32_t number, const void *wanted_)
{
    const struct wanted_cell *wanted = wanted_;
    const struct hp_io_cell *cell =
        (const struct hp_io_cell *)(const void *)(io->file.base + HP_IO_CELLS_AT) + (number - 1);
    return cell->site == wanted->site && cell->row == wanted->row && cell->op == wanted->op &&
           cell->thread == wanted->thread && cell->zone == wanted->zone;
}

/* Two threads that add the same shared one: the second stays unused. */
static __attribute__((noinline)) struct hp_io_cell *make_cell(const struct wanted_cell *wanted, uint32_t *free)
{
    const uint32_t made = free != NULL ? hp_side_claim(&io->file, HP_IO_CELLS) : HP_SIDE_NO_ITEM;
    if (made == HP_SIDE_NO_ITEM)
        return NULL;
    struct hp_io_cell *cell = cell_at(made + 1);
    uint32_t none = 0;
    cell->thread = wanted->thread;
    cell->site = wanted->site;
    cell->zone = wanted->zone;
    cell->op = wanted->op;
    __atomic_store_n(&cell->row, wanted->row, __ATOMIC_RELEASE);
    __atomic_compare_exchange_n(free, &none, made + 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    return cell;
}

static inline struct hp_io_cell *find_cell(const struct wanted_cell *wanted)
{
    const uint64_t hash = hp_side_hash(wanted->thread ^ (uint64_t)wanted->site << 40, wanted->row,
                                       (uint64_t)wanted->op << 32 | wanted->zone);
    uint32_t *free;
    const uint32_t number = hp_side_find(io->cell_index, CELL_INDEX, hash, is_cell, wanted, &free);
    return number != 0 ? cell_at(number) : make_cell(wanted, free);
}

/* That of all others; the first ones, one for each operation. */
static struct hp_io_cell *cell_of_others(uint32_t op)
{
    hp_side_lose(&io->file, HP_IO_LOST_CELLS);
    return cell_at(op + 1);
}

static bool claim_others(void)
{
    for (uint32_t op = 0; op < HP_IO_OPS; op++) {
        const uint32_t number = hp_side_claim(&io->file, HP_IO_CELLS);
        if (number != op)
            return false;
        struct hp_io_cell *cell = cell_at(number + 1);
        cell->op = op;
        cell->row = HP_IO_ROW_OF_OTHERS;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------------- zones */

static bool is_zone(uint32_t number, const void *wanted)
{
    const struct hp_io_zone *zone = hp_side_item(&io->file, HP_IO_ZONES, number - 1);
    return zone->key == *(const uint32_t *)wanted;
}

static __attribute__((noinline)) uint32_t make_zone(uint32_t zone, uint32_t *free)
{
    const uint32_t made = free != NULL ? hp_side_claim(&io->file, HP_IO_ZONES) : HP_SIDE_NO_ITEM;
    uint32_t none = 0;
    if (made == HP_SIDE_NO_ITEM)
        return 0;
    struct hp_io_zone *its = hp_side_item(&io->file, HP_IO_ZONES, made);
    strncpy(its->name, hotpath_v1_zone_name(zone), sizeof its->name - 1);
    __atomic_store_n(&its->key, zone, __ATOMIC_RELEASE);
    __atomic_compare_exchange_n(free, &none, made + 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    return made + 1;
}

static inline uint32_t zone_number(uint32_t zone)
{
    uint32_t *free;
    const uint32_t number =
        hp_side_find(io->zone_index, ZONE_INDEX, hp_side_hash(zone, 0, 0), is_zone, &zone, &free);
    return number != 0 ? number : make_zone(zone, free);
}

/* ---------------------------------------------------------------------------------------------------- counting */

static inline __attribute__((always_inline)) void add(uint64_t *to, uint64_t number, bool is_shared)
{
    if (is_shared)
        __atomic_fetch_add(to, number, __ATOMIC_RELAXED);
    else
        HOTPATH_ADD_(*to, number);
}

static inline __attribute__((always_inline)) void add_one(uint32_t *to, bool is_shared)
{
    if (is_shared)
        __atomic_fetch_add(to, 1, __ATOMIC_RELAXED);
    else
        HOTPATH_PUT_(*to, *to + 1);
}

static __attribute__((noinline)) void add_error(struct hp_io_cell *cell, int64_t moved, bool is_shared)
{
    const int number = moved == HP_IO_FAILED_OTHERWISE ? 0 : moved == HP_IO_AGAIN ? EAGAIN : errno;
    if (number == EAGAIN || number == EWOULDBLOCK || number == EINPROGRESS) {
        add(&cell->again, 1, is_shared);
        return;
    }
    for (unsigned at = 0; at < HP_IO_ERRORS && number != 0; at++) {
        uint32_t present = 0;
        if (__atomic_compare_exchange_n(&cell->errors[at].number, &present, (uint32_t)number, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            present == (uint32_t)number) {
            add_one(&cell->errors[at].count, is_shared);
            return;
        }
    }
    add(&cell->other_errors, 1, is_shared);
}

struct event {
    uint64_t since, now; /* 0: unknown */
    int64_t moved;       /* bytes; -1: it failed, errno says why; HP_IO_FAILED_OTHERWISE, HP_IO_AGAIN */
};

/* The first one that is timed is the longest so far. */
static __attribute__((noinline)) void note_longest(struct hp_io_cell *cell, uint64_t since, uint64_t ticks)
{
    hp_side_raise(&cell->longest, ticks);
    if (HOTPATH_GET_(cell->first_ticks) == 0)
        HOTPATH_PUT_(cell->first_ticks, since);
}

static inline __attribute__((always_inline)) void count_time(struct hp_io_cell *cell, const struct event *event,
                                                             bool is_shared)
{
    const uint64_t ticks = event->now - event->since;
    if (__builtin_expect(event->since - 1 >= event->now, 0)) {
        add(&cell->untimed, 1, is_shared);
        return;
    }
    add(&cell->timed, 1, is_shared);
    add(&cell->ticks, ticks, is_shared);
    add_one(&cell->times[hp_step_of(ticks, HP_IO_TIME_BITS, HP_IO_TIME_OCTAVES)], is_shared);
    if (__builtin_expect(ticks > HOTPATH_GET_(cell->longest), 0))
        note_longest(cell, event->since, ticks);
    HOTPATH_PUT_(cell->last_ticks, event->now);
}

static uint32_t size_step(int64_t moved)
{
    return hp_step_of((uint64_t)moved, HP_IO_SIZE_BITS, HP_IO_SIZE_OCTAVES);
}

static __attribute__((noinline)) void count_other(struct hp_io_cell *cell, const struct event *event,
                                                  bool is_shared)
{
    if (event->moved > 0) {
        add(&cell->bytes, (uint64_t)event->moved, is_shared);
        add_one(&cell->sizes[size_step(event->moved)], is_shared);
    } else if (event->moved < 0) {
        add_error(cell, event->moved, is_shared);
    }
}

static __attribute__((noinline)) void count_in(struct hp_io_cell *cell, const struct event *event, bool is_shared)
{
    count_time(cell, event, is_shared);
    count_other(cell, event, is_shared);
}

/* Of what a call does. */
static uint32_t row_in(uint64_t what) { return (uint32_t)what; }
static uint32_t op_in(uint64_t what) { return (uint32_t)(what >> 32); }

/*
 * The innermost zone of this thread, as the session << 32 | the node; 0: there is none, or it is not known since a
 * handler has interrupted the recorder.
 */
static inline __attribute__((always_inline)) uint64_t own_node(void)
{
    struct hotpath_context_ *context = hotpath_v1_context;
    uint64_t node = 0;
    if (__builtin_expect(HOTPATH_GET_(context->skip) != 0 || hp_context_is_held(context), 0))
        return 0;
    hp_context_hold(context);
    if (__builtin_expect(hp_context_has_session(context) && context->top->zone != 0, 1))
        node = (uint64_t)context->epoch << 32 | context->top->node;
    hp_context_let_go(context);
    return node;
}

static struct wanted_cell cell_for(uint64_t what, uint32_t zone, uint32_t site, uint64_t thread)
{
    return (struct wanted_cell){.thread = thread,
                                .row = row_in(what),
                                .op = op_in(what),
                                .site = site,
                                .zone = zone != 0 ? zone_number(zone) : 0};
}

/* A cell that is not known yet: looked up aside, since the program's stack may be small. */
struct search {
    struct known_cell *known; /* where it is kept; NULL: a shared one, which is not */
    const struct hp_io_call *call;
    const struct hp_caller *caller;
    uint64_t where;
    uint32_t zone;           /* as hotpath_v1_zone tells it */
    struct hp_io_cell *cell; /* NULL: no room */
};

static void search_cell(void *context)
{
    struct search *search = context;
    struct known_cell *known = search->known;
    const bool has_caller = search->caller->pc != 0;
    if (known != NULL)
        known->what = 0;
    const uint32_t site = !has_caller     ? 0
                          : known != NULL ? hp_sites_know(&io->sites, search->caller, &known->site)
                                          : hp_sites_number(&io->sites, search->caller);
    const struct wanted_cell wanted =
        cell_for(search->call->what, search->zone, site, known != NULL ? (uint64_t)(uintptr_t)&mine : 0);
    search->cell = find_cell(&wanted);
    /* A site that is not kept has no caller: it must not seem to be that of output at exit, which has none. */
    if (known == NULL || search->cell == NULL || !has_caller || known->site.pc[0] == 0)
        return;
    known->cell = search->cell;
    known->where = search->where;
    known->pid = io->file.pid;
    known->moved = 0;
    known->what = search->call->what;
}

/* In a sandbox there is no other stack; there, only memory is read. */
static __attribute__((noinline)) struct hp_io_cell *
find_slowly(struct known_cell *known, const struct hp_io_call *call, const struct hp_caller *caller, uint64_t where)
{
    struct search search = {known, call, caller, where, where != 0 ? hotpath_v1_zone() : 0, NULL};
    const int saved = errno;
    if (!hp_aside(search_cell, &search))
        search_cell(&search);
    errno = saved;
    return search.cell;
}

static inline __attribute__((always_inline)) void note_sometimes(uint64_t now)
{
    if (__builtin_expect(now > HOTPATH_GET_(io->next_note), 0))
        note_state(now);
}

static void begin_counting(void)
{
    HOTPATH_PUT_(mine.is_counting, 1);
    HOTPATH_ORDER_();
}

static void end_counting(void)
{
    HOTPATH_ORDER_();
    HOTPATH_PUT_(mine.is_counting, 0);
}

/*
 * By a cell that is not known yet. Handlers that interrupt counting use shared cells, and so do threads without
 * room.
 */
static __attribute__((noinline)) void count_slowly(const struct hp_io_call *call, const struct hp_caller *caller,
                                                   int64_t moved, uint64_t now, uint64_t where,
                                                   struct known_cell *known)
{
    const bool is_shared = mine.is_counting != 0;
    if (!is_shared)
        begin_counting();
    struct hp_io_cell *cell = find_slowly(is_shared ? NULL : known, call, caller, where);
    const struct event event = {call->since, now, moved};
    if (cell != NULL)
        count_in(cell, &event, is_shared);
    if (!is_shared)
        end_counting();
    if (cell == NULL)
        count_in(cell_of_others(op_in(call->what)), &event, true);
    note_sometimes(now);
}

static inline __attribute__((always_inline)) bool is_known(const struct known_cell *known,
                                                           const struct hp_io_call *call,
                                                           const struct hp_caller *caller, uint64_t where)
{
    return __builtin_expect(known->what == call->what && known->where == where && known->pid == call->pid &&
                                hp_site_is_known(&known->site, caller),
                            1);
}

static inline __attribute__((always_inline)) void count_known(struct known_cell *known, const struct event *event)
{
    struct hp_io_cell *cell = known->cell;
    count_time(cell, event, false);
    if (__builtin_expect(event->moved <= 0, 0)) {
        count_other(cell, event, false);
        return;
    }
    if (__builtin_expect(event->moved != known->moved, 0)) {
        known->moved = event->moved;
        known->step = size_step(event->moved);
    }
    add(&cell->bytes, (uint64_t)event->moved, false);
    add_one(&cell->sizes[known->step], false);
}

/* Ends with a jump to what has to be done seldom, which leaves it more stack. */
static inline __attribute__((always_inline)) void count(const struct hp_io_call *call,
                                                        const struct hp_caller *caller, int64_t moved, uint64_t now)
{
    const uint64_t where = own_node();
    struct known_cell *known =
        &mine.known[(caller->pc >> 2 ^ caller->pc >> 7 ^ call->what ^ call->what >> 32) % KNOWN_CELLS];
    if (__builtin_expect(mine.is_counting == 0, 1)) {
        begin_counting();
        if (is_known(known, call, caller, where)) {
            count_known(known, &(struct event){call->since, now, moved});
            end_counting();
            note_sometimes(now);
            return;
        }
        end_counting();
    }
    count_slowly(call, caller, moved, now, where, known);
}

/* -------------------------------------------------------------------------------------------------- the file */

static bool fill_file(struct hp_side_file *file)
{
    struct hp_side_header *header = hp_side_header(file);
    const uint64_t per_ms = HOTPATH_GET_(hp_runtime->ticks_per_ms);
    io->sites.file = file;
    io->ticks_of_notes = (per_ms != 0 ? per_ms : 2500000) * 100;
    io->next_note = hp_side_now(file) + io->ticks_of_notes;
    hp_sites_read_images(&io->sites);
    if (!hp_io_rows_begin(&io->rows, file) || !claim_others())
        return false;
    header->numbers[HP_IO_PARENT] = (uint64_t)hp_raw(SYS_getppid, 0);
    if (ask_kernel(&header->numbers[HP_IO_READ_FIRST], &header->numbers[HP_IO_WRITTEN_FIRST])) {
        header->numbers[HP_IO_READ_LATEST] = header->numbers[HP_IO_READ_FIRST];
        header->numbers[HP_IO_WRITTEN_LATEST] = header->numbers[HP_IO_WRITTEN_FIRST];
    }
    return true;
}

static struct hp_side_kind file_kind = {
    .suffix = HP_IO_SUFFIX,
    .magic = HP_IO_MAGIC,
    .version = HP_IO_VERSION,
    .bytes = HP_IO_BYTES,
    .table_count = HP_IO_TABLES,
    .tables = {HP_SIDE_COMMON_TABLES, [HP_IO_ZONES] = {HP_IO_ZONES_AT, sizeof(struct hp_io_zone), HP_IO_MOST_ZONES},
               [HP_IO_ROWS] = {HP_IO_ROWS_AT, sizeof(struct hp_io_row), HP_IO_MOST_ROWS},
               [HP_IO_CELLS] = {HP_IO_CELLS_AT, sizeof(struct hp_io_cell), HP_IO_MOST_CELLS}},
    .fill = fill_file};

static inline bool is_on(void) { return hp_side_on(&io->file) || hp_side_begin(&io->file, &file_kind); }

/* ------------------------------------------------------------------------------------------------------- hooks */

static inline __attribute__((always_inline)) void begin_row(struct hp_io_call *call, enum hp_io_op op, uint32_t row)
{
    call->what = (uint64_t)op << 32 | row;
    call->pid = io->file.pid;
    call->since = hp_side_now(&io->file);
}

static __attribute__((noinline)) void begin_slowly(struct hp_io_call *call, enum hp_io_op op, int number)
{
    call->pid = HP_IO_NOT_COUNTED;
    if (is_on())
        begin_row(call, op, hp_io_row_of(&io->rows, number));
}

/* Where a row is known, there is a file. */
void hp_io_begin(struct hp_io_call *call, enum hp_io_op op, int number)
{
    const uint32_t row = hp_io_row_known(&io->rows, number);
    if (__builtin_expect(row != 0, 1))
        begin_row(call, op, row);
    else
        begin_slowly(call, op, number);
}

void hp_io_begin_named(struct hp_io_call *call, enum hp_io_op op, enum hp_io_kind kind, const char *name)
{
    call->pid = HP_IO_NOT_COUNTED;
    if (is_on())
        begin_row(call, op, hp_io_row_named(&io->rows, kind, name));
}

static inline __attribute__((always_inline)) bool is_begun(const struct hp_io_call *call)
{
    return call->pid == HOTPATH_GET_(io->file.pid);
}

void hp_io_end(const struct hp_io_call *call, const struct hp_caller *caller, int64_t moved)
{
    if (__builtin_expect(is_begun(call), 1))
        count(call, caller, moved, hp_side_now(&io->file));
}

void hp_io_begin_new(struct hp_io_call *call, enum hp_io_op op)
{
    call->pid = HP_IO_NOT_COUNTED;
    if (is_on())
        begin_row(call, op, HP_IO_ROW_OF_OTHERS); /* until it is known */
}

static void set_row(struct hp_io_call *call, uint32_t row) { call->what = call->what >> 32 << 32 | row; }

/* The row is looked up after the call, whose time does not contain that. */
void hp_io_end_new(struct hp_io_call *call, const struct hp_caller *caller, int result, const char *name)
{
    if (!is_begun(call))
        return;
    const uint64_t now = hp_side_now(&io->file);
    const int saved = errno;
    const bool is_named = name != NULL && saved != EFAULT; /* where the kernel could not read it, nor can we */
    set_row(call, result >= 0 ? hp_io_row_of(&io->rows, result)
                  : is_named  ? hp_io_row_named(&io->rows, HP_IO_FILE, name)
                              : HP_IO_ROW_OF_OTHERS);
    errno = saved;
    count(call, caller, result >= 0 ? 0 : -1, now);
}

void hp_io_end_connect(struct hp_io_call *call, const struct hp_caller *caller, int result,
                       const struct hp_io_peer *peer)
{
    if (!is_begun(call))
        return;
    const uint64_t now = hp_side_now(&io->file);
    const int saved = errno;
    const bool is_there = result >= 0 || (saved != EFAULT && saved != EINVAL);
    const uint32_t label = hp_io_row_forget(&io->rows, peer->descriptor);
    set_row(call, label != 0 ? label
                  : is_there ? hp_io_row_of_address(&io->rows, peer->address, peer->size)
                             : HP_IO_ROW_OF_OTHERS);
    errno = saved;
    count(call, caller, result >= 0 ? 0 : -1, now);
}

/* ------------------------------------------------------------------------------------------------------ macros */

static void name_descriptor(int number, const char *label)
{
    const int saved = errno;
    if (label != NULL && is_on())
        hp_io_row_label(&io->rows, number, label);
    errno = saved;
}

static uint32_t op_of(const char *kind)
{
    for (uint32_t op = HP_IO_NO_OP + 1; op < HP_IO_ANY; op++)
        if (strcmp(hp_io_op_name(op), kind) == 0)
            return op;
    return HP_IO_ANY;
}

static void count_own(const char *label, const char *kind, uint64_t bytes, const struct hotpath_lock_caller_ *from)
{
    const struct hp_caller caller = {from->pc, from->stack, from->frame};
    struct hp_io_call call;
    if (label == NULL || kind == NULL)
        return;
    hp_io_begin_named(&call, op_of(kind), HP_IO_TOLD, label);
    call.since = 0; /* the time is the program's */
    hp_io_end(&call, &caller, (int64_t)bytes);
}

static const struct hotpath_io_hooks_ own_hooks = {name_descriptor, count_own};

/* The file is made at once: nearly every process reads something. */
__attribute__((constructor)) static void prepare(void)
{
    hp_resolve_next();
    if (io != NULL || !hp_side_prepare(&file_kind, "HOTPATH_IO", sizeof *io))
        return;
    struct hp_io_state *memory = hp_memory_map(sizeof *memory);
    if (memory == NULL || !hp_memory_wipe_on_fork(memory, sizeof *memory))
        return;
    io = memory;
    __atomic_store_n(&hp_io_is_counted, true, __ATOMIC_RELEASE);
    __atomic_store_n(&hp_runtime->io_hooks, &own_hooks, __ATOMIC_RELEASE);
    is_on();
}

__attribute__((destructor)) static void note_end(void)
{
    if (io != NULL && hp_side_on(&io->file) && !hp_is_sandboxed())
        note_state(hp_side_now(&io->file));
}
