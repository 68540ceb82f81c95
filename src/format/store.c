/*
 * Creating and growing the session file.
 *
 * Protocol of the two counters in the header. `backed` is the number of bytes that are mapped and allocated; it
 * only rises, after the file system has agreed, and only the owner of `growing` raises it. `used` is moved by
 * compare-and-swap to values not above `backed`; the winner owns the bytes in between. Both are relaxed: the
 * contents of the bytes are published by the release store that links their offset.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "axis.h"
#include "heat.h"
#include "lending.h"
#include "memory.h"
#include "process.h"
#include "raw_call.h"
#include "session_dirs.h"
#include "text.h"

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1u
#endif

#define FIRST_BYTES (64u << 10)
#define DEFAULT_CAPACITY (UINT64_C(64) << 20)
#define PAGE UINT64_C(65536) /* the largest page size of all supported platforms */

static uint64_t page_floor(uint64_t size) { return size & ~(PAGE - 1); }

/* ------------------------------------------------------------------------------------------ text */

static size_t put_text(char *out, size_t size, size_t at, const char *text)
{
    struct hp_text rest;
    hp_text_init(&rest, out + at, size - at);
    hp_text_string(&rest, text);
    return at + strlen(hp_text_end(&rest));
}

static size_t put_number(char *out, size_t size, size_t at, uint64_t number)
{
    struct hp_text rest;
    hp_text_init(&rest, out + at, size - at);
    hp_text_u64(&rest, number);
    return at + strlen(hp_text_end(&rest));
}

/* --------------------------------------------------------------------------------------- capacity */

/* Less in a limited address space, which the program may need. */
static uint64_t default_capacity(void)
{
    const uint64_t allowance = hp_memory_allowance();
    if (allowance >= DEFAULT_CAPACITY / 4)
        return DEFAULT_CAPACITY;
    const uint64_t least = 2 * (uint64_t)HP_MIN_BYTES;
    return 4 * allowance > least ? page_floor(4 * allowance) : least;
}

static uint64_t choose_capacity(const struct hp_record_settings *settings, const char *folder)
{
    uint64_t capacity = settings->max_bytes;
    if (capacity == 0) {
        const uint64_t quarter = hp_file_free_bytes(folder) / 4, most = default_capacity();
        capacity = quarter < most ? quarter : most;
    }
    if (capacity > UINT32_MAX)
        capacity = UINT32_MAX;
    return page_floor(capacity);
}

static void begin_header(struct hp_store *store, uint64_t backed)
{
    struct hp_header *header = hp_store_header(store);
    header->byte_order = HP_BYTE_ORDER;
    header->version = HP_LAYOUT_VERSION;
    header->header_bytes = HP_HEADER_BYTES;
    header->capacity = store->capacity;
    header->used = HP_HEADER_BYTES;
    header->backed = backed;
}

/* -------------------------------------------------------------------------------------- file names */

/* DIRECTORY/PID-STARTTIME-N.hotpath; N counts the sessions of the process, also across exec. */
static bool create_file(struct hp_store *store, const char *folder, uint32_t pid, uint64_t start_time, int *ret_fd)
{
    for (uint32_t number = 0; number < 10000; number++) {
        size_t at = put_text(store->path, sizeof store->path, 0, folder);
        at = put_text(store->path, sizeof store->path, at, "/");
        at = put_number(store->path, sizeof store->path, at, pid);
        at = put_text(store->path, sizeof store->path, at, "-");
        at = put_number(store->path, sizeof store->path, at, start_time);
        at = put_text(store->path, sizeof store->path, at, "-");
        at = put_number(store->path, sizeof store->path, at, number);
        put_text(store->path, sizeof store->path, at, HP_SESSION_SUFFIX);
        *ret_fd = hp_sys_open(store->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (*ret_fd >= 0) {
            store->number = number;
            return true;
        }
        if (errno != EEXIST)
            break;
    }
    store->path[0] = '\0';
    return false;
}

/*
 * Sets the full length at once, if the kernel can allocate parts of it without access to the file. It says so when
 * asked about the first part.
 */
static void give_full_length(struct hp_store *store, int fd)
{
    store->is_full_length = hp_range_fill(&store->range, 0, FIRST_BYTES) == HP_FILL_DONE &&
                            hp_file_size_is_allowed(store->capacity) && ftruncate(fd, (off_t)store->capacity) == 0;
}

static bool create_in(struct hp_store *store, const struct hp_record_settings *settings, const char *folder,
                      uint32_t pid, uint32_t place)
{
    int fd;
    if (folder[0] != '/')
        return false;
    if (!hp_file_make_private_folder(folder)) {
        store->is_foreign |= errno == EPERM || errno == ENOTDIR;
        return false;
    }
    store->capacity = choose_capacity(settings, folder);
    if (store->capacity < HP_MIN_BYTES || !create_file(store, folder, pid, hp_process_start_time(0), &fd))
        return false;
    const bool is_ready =
        hp_file_reserve(fd, 0, FIRST_BYTES) && hp_range_map(&store->range, fd, FIRST_BYTES, store->capacity, place);
    store->file = hp_file_identify(fd);
    if (is_ready)
        give_full_length(store, fd);
    hp_sys_close(fd);
    if (!is_ready) {
        unlink(store->path);
        store->path[0] = '\0';
        return false;
    }
    begin_header(store, FIRST_BYTES);
    return true;
}

/* In a run whose folder cannot be reached: `hotpath run` has memory for those who changed their user or root. */
static bool create_lent(struct hp_store *store, const struct hp_record_settings *settings, const char *folder,
                        uint32_t place)
{
    struct hp_loan loan;
    const struct hp_loan_request request = {.kind = HP_LOAN_SESSION, .bytes = settings->max_bytes};
    const int fd = hp_borrow(&request, &loan);
    if (fd < 0)
        return false;
    store->capacity = page_floor(loan.bytes);
    const bool is_ready = store->capacity >= HP_MIN_BYTES && hp_raw_fallocate(fd, 0, FIRST_BYTES) == 0 &&
                          hp_range_map(&store->range, fd, FIRST_BYTES, store->capacity, place);
    hp_sys_close(fd);
    if (!is_ready)
        return false;
    loan.name[sizeof loan.name - 1] = '\0';
    size_t at = put_text(store->path, sizeof store->path, 0, folder);
    at = put_text(store->path, sizeof store->path, at, "/");
    put_text(store->path, sizeof store->path, at, loan.name);
    store->number = loan.number;
    store->is_lent = store->is_full_length = true;
    store->is_foreign = false;
    begin_header(store, FIRST_BYTES);
    return true;
}

static int open_memory(uint64_t capacity)
{
    int fd = -1;
#ifdef SYS_memfd_create
    fd = (int)syscall(SYS_memfd_create, "hotpath-session", MFD_CLOEXEC);
    if (fd >= 0 && !(hp_file_size_is_allowed(capacity) && ftruncate(fd, (off_t)capacity) == 0)) {
        hp_sys_close(fd);
        fd = -1;
    }
#endif
    return fd;
}

/*
 * No directory is usable: uses memory that lasts as long as the process. This can be a file without a name, which
 * grows like one with a name. But the kernel applies RLIMIT_FSIZE to it as well, so plain shared memory is the last
 * resort that always works; less of it if address space is short.
 */
static bool create_in_memory(struct hp_store *store, const struct hp_record_settings *settings, uint32_t place)
{
    uint64_t capacity = settings->max_bytes ? page_floor(settings->max_bytes) : default_capacity();
    if (capacity < HP_MIN_BYTES)
        capacity = HP_MIN_BYTES;
    if (capacity > UINT32_MAX)
        capacity = page_floor(UINT32_MAX);
    const int fd = open_memory(capacity);
    bool is_mapped = hp_range_map(&store->range, fd, FIRST_BYTES, capacity, place);
    for (; !is_mapped && fd < 0 && capacity / 2 >= HP_MIN_BYTES; is_mapped = store->range.base != NULL) {
        capacity = page_floor(capacity / 2);
        hp_range_map(&store->range, fd, FIRST_BYTES, capacity, place);
    }
    if (fd >= 0)
        hp_sys_close(fd);
    if (!is_mapped)
        return false;
    store->is_memory = store->is_full_length = true;
    store->capacity = capacity;
    begin_header(store, store->range.mapped);
    return true;
}

const char *hp_store_create(struct hp_store *store, const struct hp_record_settings *settings, uint32_t pid,
                            uint32_t place)
{
    char folder[1100];
    memset(store, 0, sizeof *store);
    errno = 0;
    for (unsigned n = 0; hp_session_dir(settings, n, folder, sizeof folder); n++)
        if (create_in(store, settings, folder, pid, place))
            return NULL;
    if (settings->is_run && hp_loan_may_help(errno) && create_lent(store, settings, settings->dir, place))
        return NULL;
    if (create_in_memory(store, settings, place))
        return NULL;
    return "no memory for a session";
}

void hp_store_empty(struct hp_store *store)
{
    hp_stack_ring_unmap(&store->stacks);
    hp_range_empty(&store->range);
}

void hp_store_forget(struct hp_store *store)
{
    hp_stack_ring_unmap(&store->stacks);
    hp_range_unmap(&store->range);
    store->path[0] = '\0';
}

void hp_store_remove(const struct hp_store *store)
{
    if (store->path[0] != '\0')
        unlink(store->path);
}

/* -------------------------------------------------------------------------------------------- text */

uint32_t hp_store_text(struct hp_store *store, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return 0;
    const size_t whole = strlen(text);
    const uint32_t length = whole < 4095 ? (uint32_t)whole : 4095;
    const uint32_t offset = hp_store_allocate(store, (uint32_t)sizeof(uint32_t) + length + 1, 8);
    if (offset == 0)
        return 0;
    struct hp_string *string = hp_store_at(store, offset);
    string->length = length;
    memcpy(string->bytes, text, length);
    return offset;
}

/* ----------------------------------------------------------------------------------------- pruning */

#define PRUNE_LOOKS_AT 512

struct found {
    int64_t changed;
    char name[64];
};

struct prune {
    char folder[1200];
    size_t count;
    struct found found[PRUNE_LOOKS_AT];
};

/*
 * Whether a session is over: it was finished, or its process is gone. For a process in another pid namespace, or
 * without a known start, the latter is unknown, and then it is not over.
 */
static bool is_over(const struct prune *prune, const char *name, uint32_t pid, uint64_t start)
{
    char path[sizeof prune->folder + 65];
    uint32_t words[offsetof(struct hp_header, losses) / sizeof(uint32_t)];
    put_text(path, sizeof path, put_text(path, sizeof path, put_text(path, sizeof path, 0, prune->folder), "/"),
             name);
    if (hp_file_read_regular(path, words, sizeof words) != sizeof words)
        return true;
    if (words[offsetof(struct hp_header, state) / sizeof(uint32_t)] == HP_STATE_FINISHED)
        return true;
    const uint32_t pid_namespace = words[offsetof(struct hp_header, pid_namespace) / sizeof(uint32_t)];
    return hp_process_life(pid, start, pid_namespace) == HP_LIFE_OVER;
}

/* Collects names of the form PID-STARTTIME-N.hotpath. */
static void remember(const char *name, void *context)
{
    struct prune *prune = context;
    const size_t length = strlen(name);
    if (prune->count == PRUNE_LOOKS_AT || length >= sizeof prune->found[0].name ||
        !hp_text_has_suffix(name, HP_SESSION_SUFFIX))
        return;
    uint64_t pid = 0, start = 0;
    const char *at = name;
    for (; *at >= '0' && *at <= '9' && pid < UINT32_MAX; at++)
        pid = pid * 10 + (uint64_t)(*at - '0');
    if (at == name || *at != '-')
        return;
    for (at++; *at >= '0' && *at <= '9'; at++)
        start = start * 10 + (uint64_t)(*at - '0');
    if (*at != '-' || !is_over(prune, name, (uint32_t)pid, start))
        return;
    struct found *found = &prune->found[prune->count++];
    memcpy(found->name, name, length + 1);
}

/* The index of the session that ended first. */
static size_t oldest(const struct prune *prune)
{
    size_t best = 0;
    for (size_t at = 1; at < prune->count; at++)
        if (prune->found[at].changed < prune->found[best].changed)
            best = at;
    return best;
}

void hp_store_prune(const struct hp_store *store, uint32_t keep)
{
    static const char *const suffixes[] = {HP_BESIDE_SUFFIXES};
    struct prune *prune = hp_memory_map(sizeof *prune);
    if (prune == NULL)
        return;
    const char *folder = prune->folder;
    char beside[sizeof prune->found[0].name + 8];
    put_text(prune->folder, sizeof prune->folder, 0, store->path);
    *strrchr(prune->folder, '/') = '\0';
    hp_file_each(folder, remember, prune);
    const int fd = hp_sys_open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    for (size_t at = 0; fd >= 0 && at < prune->count; at++) {
        struct stat status;
        if (fstatat(fd, prune->found[at].name, &status, AT_SYMLINK_NOFOLLOW) == 0)
            prune->found[at].changed = (int64_t)status.st_mtime;
    }
    while (fd >= 0 && prune->count > keep) {
        const size_t victim = oldest(prune);
        unlinkat(fd, prune->found[victim].name, 0);
        for (size_t at = 0; at < sizeof suffixes / sizeof *suffixes; at++)
            if (hp_beside_path(prune->found[victim].name, suffixes[at], beside, sizeof beside))
                unlinkat(fd, beside, 0);
        prune->found[victim] = prune->found[--prune->count];
    }
    if (fd >= 0)
        hp_sys_close(fd);
    hp_memory_unmap(prune, sizeof *prune);
}
