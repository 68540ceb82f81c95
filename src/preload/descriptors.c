/*
 * The table of descriptors. No lock and no heap: threads that look up the same one at once find the same result.
 * Anonymous channels are identified by their number in the kernel, which is the same in all processes; named ones
 * by their name. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "descriptor_links.h"
#include "io_calls.h"
#include "raw_call.h"
#include "stack_sampler.h"
#include "text.h"

/* -------------------------------------------------------------------------------------------------- descriptors */

#define MOST_NAMED 64u /* named FIFOs, sockets and queues; further ones share the row of their kind */
#define LONGEST_NAME 128u
#define MOST_STREAMS 4u

#define OPEN_BUCKETS 1024u
#define MOST_ENDED 64u

bool hp_io_is_counted;
uint64_t hp_descriptors[HP_DESCRIPTORS];
static uint32_t highest; /* atomic: descriptors from here on are unknown */
/* Atomic: at least as many as there are entries of channels, by a hash of the channel. */
static uint32_t open_counts[OPEN_BUCKETS];
/* Channels that have ended, and when, until the recorder is told. Atomic; 0: free. */
static struct {
    uint64_t entry, ns;
} ended[MOST_ENDED];

/* ------------------------------------------------------------------------------------------------- sites */

struct named {
    struct hotpath_site site;
    char name[LONGEST_NAME];
    uint32_t kind;
};

#define SITE(name_)                                                                                                \
    .site = {.id = HOTPATH_ID_NEW_, .kind = HOTPATH_KIND_OBJECT_, .name = (name_), .function = "", .file = ""}

enum { PIPE, FIFO, SOCKET, EVENTFD, QUEUE, FIRST_NAMED };
static struct named sites[FIRST_NAMED + MOST_NAMED] = {
    [PIPE] = {SITE("pipe"), .kind = HOTPATH_PIPE_},
    [FIFO] = {SITE("fifo"), .kind = HOTPATH_PIPE_},
    [SOCKET] = {SITE("unix socket"), .kind = HOTPATH_PIPE_},
    [EVENTFD] = {SITE("eventfd"), .kind = HOTPATH_MESSAGES_},
    [QUEUE] = {SITE("mq"), .kind = HOTPATH_MESSAGES_},
};
static uint32_t named_count; /* atomic: entries with names, taken ... */

/* ... and whether this one is complete. */
static bool is_whole(const struct named *named)
{
    return __atomic_load_n(&named->site.name, __ATOMIC_ACQUIRE) != NULL;
}

/* The number of the site with that kind and name. If two are made at once, the recorder merges them by name. */
static uint32_t site_named(uint32_t kind, const char *name, size_t length)
{
    char whole[LONGEST_NAME];
    struct hp_text text;
    uint32_t count = __atomic_load_n(&named_count, __ATOMIC_RELAXED);
    hp_text_init(&text, whole, sizeof whole);
    hp_text_string(&text, sites[kind].site.name);
    hp_text_char(&text, ' ');
    hp_text_bytes(&text, name, length);
    hp_text_end(&text);
    for (uint32_t at = FIRST_NAMED; at < FIRST_NAMED + count; at++)
        if (is_whole(&sites[at]) && strcmp(sites[at].name, whole) == 0)
            return at;
    do
        if (count == MOST_NAMED)
            return kind;
    while (
        !__atomic_compare_exchange_n(&named_count, &count, count + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    struct named *named = &sites[FIRST_NAMED + count];
    memcpy(named->name, whole, sizeof whole);
    named->kind = sites[kind].kind;
    named->site =
        (struct hotpath_site){.id = HOTPATH_ID_NEW_, .kind = HOTPATH_KIND_OBJECT_, .function = "", .file = ""};
    __atomic_store_n(&named->site.name, named->name, __ATOMIC_RELEASE);
    return FIRST_NAMED + count;
}

/* ----------------------------------------------------------------------------------- streams that leave the run */

static uint64_t streams[MOST_STREAMS];
static bool is_off;

/* A forked child may have had them replaced inside the C library, as by daemon. */
static void forget_all(void)
{
    for (uint32_t at = 0; at < highest; at++)
        __atomic_store_n(&hp_descriptors[at], HP_UNKNOWN, __ATOMIC_RELAXED);
    memset(open_counts, 0, sizeof open_counts);
    memset(ended, 0, sizeof ended);
}

/* At process start: programs may clear their environment later. */
__attribute__((constructor)) static void read_streams(void)
{
    pthread_atfork(NULL, NULL, forget_all);
    const char *list = getenv("HOTPATH_RUN_STREAMS");
    is_off = (list != NULL && strcmp(list, "off") == 0) || !hp_stack_sampler_is_in_front();
    for (size_t at = 0; list != NULL && *list != '\0' && at < MOST_STREAMS; at++) {
        for (; *list >= '0' && *list <= '9'; list++)
            streams[at] = streams[at] * 10 + (uint64_t)(*list - '0');
        list += *list != '\0';
    }
    for (int number = 0; number < 3; number++)
        hp_descriptor_prepare(number);
}

static bool leads_out(uint64_t inode)
{
    for (size_t at = 0; at < MOST_STREAMS; at++)
        if (streams[at] == inode && inode != 0)
            return true;
    return false;
}

bool hp_descriptors_are_off(void) { return is_off; }

/* ------------------------------------------------------------------------------------------- asking the kernel */

#define LONGEST_LINK 256u

/* Without the suffix of a name that cannot be opened any more. Returns its length; 0: none. */
static size_t read_link(int number, char *link)
{
    static const char gone[] = " (deleted)";
    size_t length = hp_descriptor_link(0, (uint32_t)number, link, LONGEST_LINK);
    if (length > sizeof gone && hp_text_has_suffix(link, gone))
        link[length -= sizeof gone - 1] = '\0';
    return length;
}

static uint32_t look_at_pipe(int number, uint64_t inode, uint32_t *ret_key)
{
    char link[LONGEST_LINK];
    const size_t length = read_link(number, link);
    *ret_key = (uint32_t)inode;
    return HP_FIRST_CHANNEL +
           (length == 0 || strncmp(link, "pipe:", 5) == 0 ? PIPE : site_named(FIFO, link, length));
}

/* The path that one end is bound to: the same for both. */
static size_t path_of(int number, bool is_peer, struct sockaddr_un *ret_address)
{
    socklen_t length = sizeof *ret_address;
    const size_t before = offsetof(struct sockaddr_un, sun_path);
    struct sockaddr *address = (struct sockaddr *)(void *)ret_address;
    memset(ret_address, 0, sizeof *ret_address);
    const int status = is_peer ? getpeername(number, address, &length) : getsockname(number, address, &length);
    if (status != 0 || ret_address->sun_family != AF_UNIX || length <= before)
        return 0;
    if (ret_address->sun_path[0] != '\0')
        return strnlen(ret_address->sun_path, length - before);
    ret_address->sun_path[0] = '@'; /* abstract socket */
    return length - before;
}

size_t hp_descriptor_local_path(int number, struct sockaddr_un *ret_address)
{
    const size_t length = path_of(number, false, ret_address);
    return length != 0 ? length : path_of(number, true, ret_address);
}

/* Both ends of an unnamed socket pair are identified by the lower of their numbers. */
static uint32_t key_of_two(uint64_t one, uint64_t other) { return (uint32_t)(one < other ? one : other); }

static uint32_t key_of_socket(uint64_t inode)
{
    const uint64_t peer = hp_unix_socket_peer(inode);
    return peer != 0 ? key_of_two(inode, peer) : (uint32_t)inode;
}

static uint32_t look_at_socket(int number, uint64_t inode, uint32_t *ret_key)
{
    struct sockaddr_un address;
    int domain = 0;
    socklen_t size = sizeof domain;
    if (getsockopt(number, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX)
        return HP_NO_CHANNEL;
    const size_t length = hp_descriptor_local_path(number, &address);
    *ret_key = length != 0 ? 0 : key_of_socket(inode);
    return HP_FIRST_CHANNEL + (length != 0 ? site_named(SOCKET, address.sun_path, length) : SOCKET);
}

/* All eventfds share one inode. They have their own ids since Linux 5.2. */
static uint32_t eventfd_number(int number)
{
    char path[64], bytes[512];
    struct hp_text text;
    uint32_t found = 0;
    hp_text_init(&text, path, sizeof path);
    hp_text_string(&text, "/proc/self/fdinfo/");
    hp_text_u64(&text, (unsigned)number);
    const int info = hp_sys_open(hp_text_end(&text), O_RDONLY, 0);
    if (info < 0)
        return 0;
    const ssize_t length = hp_sys_read(info, bytes, sizeof bytes - 1);
    hp_sys_close(info);
    bytes[length > 0 ? length : 0] = '\0';
    const char *at = strstr(bytes, "eventfd-id:");
    for (at = at != NULL ? at + strcspn(at, "0123456789\n") : ""; *at >= '0' && *at <= '9'; at++)
        found = found * 10 + (uint32_t)(*at - '0');
    return found + 1; /* the first one has id 0 */
}

static uint32_t look_at_anonymous(int number, uint32_t *ret_key)
{
    char link[LONGEST_LINK];
    if (read_link(number, link) == 0 || strcmp(link, "anon_inode:[eventfd]") != 0)
        return HP_NO_CHANNEL;
    *ret_key = eventfd_number(number);
    return HP_FIRST_CHANNEL + EVENTFD;
}

/* HP_UNKNOWN: the number is not open now. It may be soon, by a call that we do not see. */
static uint32_t look(int number, uint32_t *ret_key)
{
    struct stat file;
    *ret_key = 0;
    if (fstat(number, &file) != 0)
        return HP_UNKNOWN;
    if (is_off || leads_out(file.st_ino))
        return HP_NO_CHANNEL;
    if (S_ISFIFO(file.st_mode))
        return look_at_pipe(number, file.st_ino, ret_key);
    if (S_ISSOCK(file.st_mode))
        return look_at_socket(number, file.st_ino, ret_key);
    return (file.st_mode & S_IFMT) == 0 ? look_at_anonymous(number, ret_key) : HP_NO_CHANNEL;
}

/* ------------------------------------------------------------------------------------------------- the table */

#define CLOSED_ONCE (UINT64_C(1) << 8) /* counts from there to bit 30 */
#define CLOSED_MASK UINT64_C(0x7fffff00)
#define IS_NONBLOCKING (UINT64_C(1) << 31)
#define WHAT_MASK UINT64_C(0xff)

static uint32_t key_in(uint64_t entry) { return (uint32_t)(entry >> 32); }
static bool is_channel(uint64_t entry) { return hp_descriptor_what(entry) >= HP_FIRST_CHANNEL; }
static struct named *site_in(uint64_t entry) { return &sites[hp_descriptor_what(entry) - HP_FIRST_CHANNEL]; }
static bool is_same_channel(uint64_t one, uint64_t other)
{
    return ((one ^ other) & ~(CLOSED_MASK | IS_NONBLOCKING)) == 0;
}

static uint32_t *open_count(uint64_t entry)
{
    return &open_counts[(key_in(entry) ^ hp_descriptor_what(entry) << 3) % OPEN_BUCKETS];
}

/*
 * Stores what the kernel said, unless the number was closed since `before`: then what was asked about may be gone,
 * and HP_UNKNOWN is returned. The count is raised first: it must never be too low.
 */
static uint64_t remember(int number, uint64_t before, uint32_t what, uint32_t key, bool is_nonblocking)
{
    const uint64_t entry =
        (uint64_t)key << 32 | (before & CLOSED_MASK) | (is_nonblocking ? IS_NONBLOCKING : 0) | what;
    uint64_t present = before;
    uint32_t end = __atomic_load_n(&highest, __ATOMIC_RELAXED);
    while (end <= (unsigned)number)
        if (__atomic_compare_exchange_n(&highest, &end, (unsigned)number + 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            break;
    if (is_channel(entry))
        __atomic_fetch_add(open_count(entry), 1, __ATOMIC_RELAXED);
    /* Release: a reader that sees the entry also sees its site. */
    if (__atomic_compare_exchange_n(&hp_descriptors[number], &present, entry, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED))
        return entry;
    if (is_channel(entry))
        __atomic_fetch_sub(open_count(entry), 1, __ATOMIC_RELAXED);
    return present == entry ? entry : HP_UNKNOWN; /* another thread has asked, too */
}

#ifndef SYS_fcntl64
#define SYS_fcntl64 SYS_fcntl
#endif

static bool is_nonblocking(int number)
{
    const long flags = syscall(SYS_fcntl64, number, F_GETFL);
    return flags >= 0 && flags & O_NONBLOCK;
}

/* What a descriptor is: looked up aside, since the program's stack may be small (hotpath_v1_aside). */
struct question {
    int number;
    uint64_t entry; /* the answer; HP_UNKNOWN: the number was closed meanwhile */
};

static void ask(void *context)
{
    struct question *question = context;
    const uint64_t before = hp_descriptor_entry(question->number);
    uint32_t key;
    question->entry = before;
    if (hp_descriptor_what(before) != HP_UNKNOWN)
        return;
    const uint32_t what = look(question->number, &key);
    const bool never_waits = what >= HP_FIRST_CHANNEL && is_nonblocking(question->number);
    question->entry =
        what != HP_UNKNOWN ? remember(question->number, before, what, key, never_waits) : HP_NO_CHANNEL;
}

static void ask_for_queue(void *context)
{
    struct question *question = context;
    const uint64_t before = hp_descriptor_entry(question->number);
    char link[LONGEST_LINK];
    const size_t length = read_link(question->number, link);
    question->entry = remember(question->number, before,
                               HP_FIRST_CHANNEL + (length != 0 ? site_named(QUEUE, link, length) : (uint32_t)QUEUE),
                               0, is_nonblocking(question->number));
}

#define MOST_TRIES 8 /* the thread that had this number before may be about to tell that it is closed */

static uint64_t answer(void (*look_up)(void *context), int number)
{
    const int saved = errno;
    struct question question = {number, HP_UNKNOWN};
    if (hotpath_v1_transfer_may_look())
        for (int tries = 0; hp_descriptor_what(question.entry) == HP_UNKNOWN && tries < MOST_TRIES; tries++)
            hotpath_v1_aside(look_up, &question);
    errno = saved;
    return hp_descriptor_what(question.entry) != HP_UNKNOWN ? question.entry : HP_NO_CHANNEL;
}

uint64_t hp_descriptor_look(int number) { return answer(ask, number); }

uint64_t hp_descriptor_look_for_queue(int number) { return is_off ? HP_NO_CHANNEL : answer(ask_for_queue, number); }

static inline void describe(uint64_t entry, struct hotpath_transfer_ *ret_transfer)
{
    struct named *named = site_in(entry);
    *ret_transfer = (struct hotpath_transfer_){
        .site = &named->site, .channel = (const void *)(uintptr_t)key_in(entry), .kind = (uint16_t)named->kind};
}

bool hp_descriptor_transfer(uint64_t entry, unsigned how, struct hotpath_transfer_ *ret_transfer)
{
    describe(entry, ret_transfer);
    ret_transfer->is_sending = (how & HP_SENDING) != 0;
    ret_transfer->never_waits = how & HP_AT_ONCE || entry & IS_NONBLOCKING;
    hotpath_v1_transfer(ret_transfer);
    return ret_transfer->since != 0;
}

/* One that is not in the table yet is asked about later. */
void hp_descriptor_set_nonblocking(int number, bool is_nonblocking)
{
    if ((unsigned)number >= HP_DESCRIPTORS)
        return;
    uint64_t entry = hp_descriptor_entry(number);
    while (is_channel(entry) &&
           !__atomic_compare_exchange_n(&hp_descriptors[number], &entry,
                                        is_nonblocking ? entry | IS_NONBLOCKING : entry & ~IS_NONBLOCKING, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* ----------------------------------------------------------------------------------------------------- closing */

/* A vfork child has its own descriptors, but shares our table: the entry is looked up again. It keeps its key. */
uint64_t hp_descriptor_forget(int number)
{
    if ((unsigned)number >= HP_DESCRIPTORS)
        return HP_UNKNOWN;
    uint64_t entry = hp_descriptor_entry(number), next;
    do
        next = (entry & ~(CLOSED_MASK | IS_NONBLOCKING | WHAT_MASK)) | ((entry + CLOSED_ONCE) & CLOSED_MASK);
    while (!__atomic_compare_exchange_n(&hp_descriptors[number], &entry, next, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    if (is_channel(entry))
        __atomic_fetch_sub(open_count(entry), 1, __ATOMIC_RELAXED);
    return entry;
}

static bool is_still_open(uint64_t entry)
{
    if (__atomic_load_n(open_count(entry), __ATOMIC_RELAXED) == 0)
        return false;
    const uint32_t end = __atomic_load_n(&highest, __ATOMIC_RELAXED);
    for (uint32_t at = 0; at < end; at++)
        if (is_same_channel(hp_descriptor_entry((int)at), entry))
            return true;
    return false;
}

/*
 * The same for a channel that was said to have ended. A vfork child that closes descriptors of its own resets our
 * entries, which keep their keys: the kernel is asked about those.
 */
static bool is_open_after_all(uint64_t entry)
{
    const uint32_t end = __atomic_load_n(&highest, __ATOMIC_RELAXED);
    for (uint32_t at = 0; at < end; at++) {
        struct question question = {(int)at, hp_descriptor_entry((int)at)};
        if (hp_descriptor_what(question.entry) == HP_UNKNOWN && key_in(question.entry) == key_in(entry))
            hotpath_v1_aside(ask, &question);
        if (is_same_channel(question.entry, entry))
            return true;
    }
    return false;
}

#define BEING_WRITTEN HP_NO_CHANNEL

static bool note_ended(uint64_t entry)
{
    for (uint32_t at = 0; at < MOST_ENDED; at++) {
        uint64_t none = 0;
        if (!__atomic_compare_exchange_n(&ended[at].entry, &none, BEING_WRITTEN, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&ended[at].ns, hotpath_v1_clock(), __ATOMIC_RELAXED);
        __atomic_store_n(&ended[at].entry, entry, __ATOMIC_RELEASE);
        return true;
    }
    return false;
}

/* Not by a vfork child, and not in a sandbox. */
static void tell_ended(void)
{
    for (uint32_t at = 0; at < MOST_ENDED; at++) {
        uint64_t entry = __atomic_load_n(&ended[at].entry, __ATOMIC_RELAXED);
        if (!is_channel(entry) || !__atomic_compare_exchange_n(&ended[at].entry, &entry, BEING_WRITTEN, false,
                                                               __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        const uint64_t ns = __atomic_load_n(&ended[at].ns, __ATOMIC_RELAXED);
        __atomic_store_n(&ended[at].entry, 0, __ATOMIC_RELEASE);
        if (!is_open_after_all(entry))
            hotpath_v1_transfer_over(&site_in(entry)->site, (const void *)(uintptr_t)key_in(entry),
                                     (int)site_in(entry)->kind, ns);
    }
}

void hp_descriptor_closed(uint64_t entry)
{
    if (!is_channel(entry) || key_in(entry) == 0 || is_still_open(entry) || note_ended(entry) ||
        !hotpath_v1_transfer_may_look())
        return;
    tell_ended();
    note_ended(entry);
}

__attribute__((destructor)) static void tell_what_is_left(void)
{
    const int saved = errno;
    if (hotpath_v1_transfer_may_look())
        tell_ended();
    errno = saved;
}

static unsigned end_of(unsigned last)
{
    const uint32_t end = __atomic_load_n(&highest, __ATOMIC_RELAXED);
    return last < end ? last + 1 : end;
}

void hp_descriptor_forget_range(unsigned first, unsigned last)
{
    for (unsigned at = first, end = end_of(last); at < end; at++)
        hp_descriptor_forget((int)at);
}

void hp_descriptor_close_range(unsigned first, unsigned last)
{
    for (unsigned at = first, end = end_of(last); at < end; at++)
        hp_descriptor_closed(hp_descriptor_forget((int)at));
}

/* ---------------------------------------------------------------------------------------------- new descriptors */

static bool may_prepare(int number)
{
    return (unsigned)number < HP_DESCRIPTORS && HOTPATH_GET_(hotpath_v1_context->skip) == 0 && !is_off &&
           hotpath_v1_transfer_has_session() && hotpath_v1_transfer_may_look();
}

static void prepare(int number)
{
    const uint64_t entry = hp_descriptor_entry(number);
    struct hotpath_transfer_ transfer;
    tell_ended();
    if (!is_channel(entry))
        return;
    describe(entry, &transfer);
    hotpath_v1_transfer_prepare(&transfer);
}

void hp_descriptor_prepare(int number)
{
    const int saved = errno;
    if (may_prepare(number)) {
        if (hp_descriptor_what(hp_descriptor_entry(number)) == HP_UNKNOWN)
            hp_descriptor_look(number);
        prepare(number);
    }
    errno = saved;
}

struct pair {
    const int *ends;
    uint32_t site;
    bool is_nonblocking;
};

/* The ends of a pipe have the same number in the kernel. */
static void look_at_pair(void *context)
{
    const struct pair *pair = context;
    const uint64_t before[] = {hp_descriptor_entry(pair->ends[0]), hp_descriptor_entry(pair->ends[1])};
    struct stat first, second;
    if (fstat(pair->ends[0], &first) != 0 || fstat(pair->ends[1], &second) != 0)
        return;
    const uint32_t key = key_of_two(first.st_ino, second.st_ino);
    remember(pair->ends[0], before[0], HP_FIRST_CHANNEL + pair->site, key, pair->is_nonblocking);
    remember(pair->ends[1], before[1], HP_FIRST_CHANNEL + pair->site, key, pair->is_nonblocking);
}

static void prepare_pair(const int *ends, uint32_t site, bool is_nonblocking)
{
    const int saved = errno;
    struct pair pair = {ends, site, is_nonblocking};
    if ((unsigned)ends[0] < HP_DESCRIPTORS && (unsigned)ends[1] < HP_DESCRIPTORS && !is_off &&
        hotpath_v1_transfer_may_look()) {
        hotpath_v1_aside(look_at_pair, &pair);
        if (may_prepare(ends[0]))
            prepare(ends[0]);
    }
    errno = saved;
}

/* In a process whose session has not begun, a pipe is looked at when it is used; a pair would be hard to find. */
void hp_descriptor_pipe(const int ends[2], bool is_nonblocking)
{
    if (hotpath_v1_transfer_has_session())
        prepare_pair(ends, PIPE, is_nonblocking);
}

void hp_descriptor_socket_pair(const int ends[2], bool is_nonblocking)
{
    prepare_pair(ends, SOCKET, is_nonblocking);
}
