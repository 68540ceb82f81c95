/*
 * The file is mapped as a whole when it is made, and memory is requested piece by piece: an item is not touched
 * before the kernel has granted its page, so a full disk costs us numbers and never a signal. Kernels before 5.14
 * cannot be asked for that; there all of the file is allocated at once. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "side_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "axis.h"
#include "lifecycle.h"
#include "memory.h"
#include "preload.h"
#include "process.h"
#include "range.h"
#include "raw_call.h"
#include "text.h"

#define MOST_FOLDER 1200u
#define PIECE_BYTES 16384u /* of a table, requested at once; pages of 64 KB are requested as they are */

static char folder[MOST_FOLDER]; /* of the run; "": there is none, and files are beside the session */

/* ------------------------------------------------------------------------------------------------------ memory */

static struct hp_range range_of(const struct hp_side_file *file)
{
    return (struct hp_range){file->base, file->kind->bytes, getauxval(AT_PAGESZ)};
}

/* Requests bytes of the file, and the rest of their pages. */
static bool request(const struct hp_side_file *file, uint32_t from, uint32_t to)
{
    const struct hp_range range = range_of(file);
    const uint64_t begin = from & ~(range.page - 1);
    return hp_range_fill(&range, begin, to) == HP_FILL_DONE;
}

struct growth {
    struct hp_side_file *file;
    uint32_t table;
    uint32_t number; /* this item is needed */
    bool is_done;
};

/* Any thread may request the same piece again: that changes nothing. */
static void grow(void *context)
{
    struct growth *growth = context;
    const struct hp_side_table *table = &growth->file->kind->tables[growth->table];
    const uint32_t size = table->bytes, at = table->at, most = table->most * size;
    const uint32_t from = growth->number * size / PIECE_BYTES * PIECE_BYTES;
    uint32_t to = ((growth->number + 1) * size + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;
    to = to < most ? to : most;
    if (!hp_calls_begin())
        return;
    growth->is_done = request(growth->file, at + from, at + to);
    hp_calls_end();
    uint32_t *backed = &growth->file->backed[growth->table];
    uint32_t present = __atomic_load_n(backed, __ATOMIC_RELAXED);
    while (growth->is_done && growth->number + 1 > present && from / size <= present &&
           !__atomic_compare_exchange_n(backed, &present, to / size, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

void hp_side_lose(const struct hp_side_file *file, uint32_t loss)
{
    __atomic_fetch_add(&hp_side_header(file)->losses[loss], 1, __ATOMIC_RELAXED);
}

uint32_t hp_side_claim(struct hp_side_file *file, uint32_t table)
{
    uint32_t *count = &hp_side_header(file)->counts[table];
    uint32_t number = __atomic_load_n(count, __ATOMIC_RELAXED);
    do {
        if (number >= file->kind->tables[table].most)
            return HP_SIDE_NO_ITEM;
        if (number >= __atomic_load_n(&file->backed[table], __ATOMIC_ACQUIRE)) {
            struct growth growth = {file, table, number, false};
            const int saved = errno;
            if (!hp_aside(grow, &growth))
                growth.is_done = false;
            errno = saved;
            if (!growth.is_done)
                return HP_SIDE_NO_ITEM;
        }
    } while (!__atomic_compare_exchange_n(count, &number, number + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return number;
}

/* ----------------------------------------------------------------------------------------------------- the file */

static bool put_path(const struct hp_side_kind *kind, uint32_t pid, char *path, size_t size)
{
    struct hp_text text;
    if (folder[0] == '\0')
        return hp_beside_path(hotpath_session_path(), kind->suffix, path, size);
    hp_text_init(&text, path, size);
    hp_text_string(&text, folder);
    hp_text_char(&text, '/');
    hp_text_u64(&text, pid);
    hp_text_char(&text, '-');
    hp_text_u64(&text, hp_raw_clock(CLOCK_MONOTONIC));
    hp_text_string(&text, kind->suffix);
    hp_text_end(&text);
    return true;
}

/* -1: not possible. */
static int make_file(const struct hp_side_kind *kind, uint32_t pid)
{
    char path[MOST_FOLDER + 64];
    if (!put_path(kind, pid, path, sizeof path))
        return -1;
    if (kind->bytes > hp_raw_limit(RLIMIT_FSIZE))
        return -1; /* a file that grows beyond the limit gets its process a signal */
    const long fd = hp_raw(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    if (hp_raw(SYS_ftruncate, fd, kind->bytes) == 0)
        return (int)fd;
    hp_raw(SYS_unlinkat, AT_FDCWD, path, 0);
    hp_raw(SYS_close, fd);
    return -1;
}

/*
 * A forked child has the parent's file mapped, and maps its own in its place: a handler may have forked while its
 * thread was in a hook, which goes on in the child with an entry at an address there.
 */
static char *map_file(int fd, size_t bytes, char *before)
{
    const int flags = MAP_SHARED | MAP_NORESERVE | (before != NULL ? MAP_FIXED : 0);
    void *memory = mmap(before, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

/* The memory of the first page, or of everything where the kernel cannot be asked for more later. */
static bool allocate_first(struct hp_side_file *file, int fd)
{
    const struct hp_range range = range_of(file);
    const enum hp_fill fill = hp_range_fill(&range, 0, HP_SIDE_HEADER_BYTES);
    if (fill == HP_FILL_UNKNOWN && hp_raw_fallocate(fd, 0, file->kind->bytes) == 0) {
        for (unsigned table = 0; table < file->kind->table_count; table++)
            file->backed[table] = file->kind->tables[table].most;
        return true;
    }
    return fill == HP_FILL_DONE;
}

static void fill_header(struct hp_side_file *file, uint32_t pid)
{
    struct hp_side_header *header = hp_side_header(file);
    header->byte_order = HP_BYTE_ORDER;
    header->version = file->kind->version;
    header->pid = pid;
    header->flag = file->kind->flag;
    header->process_start = hp_process_start_time(0);
    hp_clock_pair(file->counter, &header->first_ticks, &header->first_ns);
    header->latest_ticks = header->first_ticks;
    header->latest_ns = header->first_ns;
    header->ticks_per_ms = HOTPATH_GET_(hp_runtime->ticks_per_ms);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(header->magic, file->kind->magic, sizeof header->magic);
}

static bool make(struct hp_side_file *file, struct hp_side_kind *kind)
{
    const uint32_t pid = hp_sys_process_id();
    const int fd = make_file(kind, pid);
    if (fd < 0)
        return false;
    file->kind = kind;
    file->base = map_file(fd, kind->bytes, kind->mapped);
    kind->mapped = file->base;
    hp_runtime_choose_counter(false);
    file->counter = hp_runtime->counter;
    const bool is_ready = file->base != NULL && allocate_first(file, fd);
    hp_raw(SYS_close, fd);
    if (!is_ready)
        return false;
    fill_header(file, pid);
    file->pid = pid;
    return kind->fill(file);
}

struct beginning {
    struct hp_side_file *file;
    struct hp_side_kind *kind;
};

static void begin(void *context)
{
    const struct beginning *beginning = context;
    bool is_made = false;
    if (hp_calls_begin()) {
        is_made = !hp_runtime->is_blinded && make(beginning->file, beginning->kind);
        hp_calls_end();
    }
    __atomic_store_n(&beginning->file->state, is_made ? HP_SIDE_ON : HP_SIDE_REFUSED, __ATOMIC_RELEASE);
}

/* What others do meanwhile is not counted. */
__attribute__((noinline, cold)) bool hp_side_begin(struct hp_side_file *file, struct hp_side_kind *kind)
{
    struct beginning beginning = {file, kind};
    uint32_t none = HP_SIDE_NONE;
    if (folder[0] == '\0' && (!hp_is_active_here() || hp_runtime->counter == HP_COUNTER_INSTRUCTIONS))
        return false; /* there may be a session later, or another one; and waiting takes no instructions */
    if (!__atomic_compare_exchange_n(&file->state, &none, HP_SIDE_IN_THE_MAKING, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return false;
    const int saved = errno;
    if (!hp_aside(begin, &beginning))
        __atomic_store_n(&file->state, HP_SIDE_REFUSED, __ATOMIC_RELEASE);
    errno = saved;
    return hp_side_on(file);
}

bool hp_side_is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && value[0] == '1' && value[1] == '\0';
}

bool hp_side_prepare(const struct hp_side_kind *kind, const char *variable, size_t memory)
{
    const char *wanted = getenv("HOTPATH_DIR");
    /* Helgrind does not know atomics, and would report what threads share here. */
    if (hp_preload_has_valgrind())
        return false;
    if (!hp_side_is_set(variable) || kind->bytes + memory > hp_memory_allowance())
        return false;
    if (!hp_side_is_set("HOTPATH_RUN"))
        return kind->is_for_sessions;
    /* The recorder's page tells of sandboxes: without it nothing is recorded anyway. */
    if (hp_page() == NULL || wanted == NULL || wanted[0] != '/' || strlen(wanted) >= sizeof folder)
        return false;
    strcpy(folder, wanted);
    return true;
}

/* -------------------------------------------------------------------------------------------------------- time */

void hp_side_note_time(const struct hp_side_file *file)
{
    struct hp_side_header *header = hp_side_header(file);
    uint32_t sequence = __atomic_load_n(&header->latest_sequence, __ATOMIC_RELAXED);
    if (sequence & 1 || hp_runtime->is_blinded ||
        !__atomic_compare_exchange_n(&header->latest_sequence, &sequence, sequence + 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return;
    uint64_t ticks, ns;
    hp_clock_pair(file->counter, &ticks, &ns);
    HOTPATH_PUT_(header->latest_ticks, ticks);
    HOTPATH_PUT_(header->latest_ns, ns);
    HOTPATH_PUT_(header->ticks_per_ms, HOTPATH_GET_(hp_runtime->ticks_per_ms));
    __atomic_store_n(&header->latest_sequence, sequence + 2, __ATOMIC_RELEASE);
}

/* No system call: a sandbox would not let us make one. */
void hp_side_note_end(const struct hp_side_file *file)
{
    if (hp_side_on(file) && !hp_is_sandboxed())
        hp_side_note_time(file);
}

void hp_side_raise(uint64_t *highest, uint64_t value)
{
    uint64_t present = __atomic_load_n(highest, __ATOMIC_RELAXED);
    while (value > present &&
           !__atomic_compare_exchange_n(highest, &present, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}
