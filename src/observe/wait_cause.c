/* What a thread waits for. SPDX-License-Identifier: MIT */
#include "wait_cause.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptor_links.h"
#include "layout.h"
#include "process.h"
#include "raw_call.h"
#include "system_calls.h"
#include "text.h"

/* --------------------------------------------------------------------------------------------- names of sockets */

/* From the kernel's tables. */

/* Hex digits that the kernel printed as native integers, of bytes in network order: 8, or 4 times 8. */
static struct in6_addr address_of(const char *digits, size_t words)
{
    struct in6_addr address = {0};
    for (size_t at = 0; at < words; at++) {
        char word[9] = {0};
        memcpy(word, digits + at * 8, 8);
        const char *rest = word;
        const uint32_t number = (uint32_t)hp_task_hex(&rest);
        memcpy(&address.s6_addr[at * 4], &number, sizeof number);
    }
    return address;
}

/* An address too long for the name loses its beginning, in whole groups. */
static void put_long_address(struct hp_text *text, const char *address)
{
    const size_t room = HP_SOCKET_NAME - 1 - text->length - (sizeof "[]:65535" - 1), length = strlen(address);
    hp_text_char(text, '[');
    if (length > room) {
        const char *group = strchr(address + length - (room - 2), ':');
        address = group != NULL ? group + 1 : address;
        hp_text_string(text, "..");
    }
    hp_text_string(text, address);
    hp_text_char(text, ']');
}

static uint64_t port_of(const char *endpoint)
{
    const char *port = endpoint + strcspn(endpoint, ": ");
    port += *port == ':';
    return hp_task_hex(&port);
}

/* "0100007F:1F90" is 127.0.0.1:8080. */
static void put_endpoint(struct hp_text *text, const char *endpoint)
{
    char name[INET6_ADDRSTRLEN] = "?";
    const size_t digits = strcspn(endpoint, ": ");
    const struct in6_addr address = address_of(endpoint, digits == 32 ? 4 : digits == 8);
    const bool is_mapped = digits == 32 && IN6_IS_ADDR_V4MAPPED(&address);
    if (digits == 8 || is_mapped) {
        inet_ntop(AF_INET, &address.s6_addr[is_mapped ? 12 : 0], name, sizeof name);
        hp_text_string(text, name);
    } else {
        inet_ntop(AF_INET6, &address, name, sizeof name);
        put_long_address(text, name);
    }
    hp_text_char(text, ':');
    hp_text_u64(text, port_of(endpoint));
}

/*
 * A line of /proc/net/tcp: "  0: 0100007F:1F90 00000000:0000 0A ... inode". Gives the peer; without one its own
 * address.
 */
static bool name_by_tcp(const char *line, uint64_t inode, const char *protocol, char name[HP_SOCKET_NAME])
{
    const char *fields[10];
    struct hp_text text;
    size_t count = 0;
    for (const char *at = line; *at != '\0' && count < 10;) {
        while (*at == ' ')
            at++;
        fields[count++] = at;
        while (*at != ' ' && *at != '\0')
            at++;
    }
    if (count < 10)
        return false;
    const char *number = fields[9];
    if (hp_task_number(&number) != inode)
        return false;
    const bool is_connected = port_of(fields[2]) != 0;
    hp_text_init(&text, name, HP_SOCKET_NAME);
    hp_text_string(&text, protocol);
    hp_text_string(&text, is_connected ? " " : " at ");
    put_endpoint(&text, fields[is_connected ? 2 : 1]);
    hp_text_end(&text);
    return true;
}

/* A line of /proc/net/unix: "...: refs protocol flags type st inode path". Client sockets have no path. */
static bool name_by_unix(const char *line, uint64_t inode, const char *protocol, char name[HP_SOCKET_NAME])
{
    const char *at = strchr(line, ':');
    struct hp_text text;
    if (at == NULL)
        return false;
    at++;
    for (int field = 0; field < 5; field++) {
        at += strspn(at, " ");
        at += strcspn(at, " ");
    }
    if (hp_task_number(&at) != inode)
        return false;
    at += strspn(at, " ");
    hp_text_init(&text, name, HP_SOCKET_NAME);
    hp_text_string(&text, protocol);
    hp_text_string(&text, at[0] != '\0' ? " " : " socket");
    hp_text_string(&text, at);
    hp_text_end(&text);
    return true;
}

typedef bool name_by_line(const char *line, uint64_t inode, const char *protocol, char *name);

#define TABLE_BYTES (4u << 20) /* of a table to search: some 28,000 sockets */

/* Line by line, in chunks, since such a table may be long. */
static bool find_in_table(const char *path, uint64_t inode, const char *protocol, name_by_line *by, char *name)
{
    char line[256], piece[1024];
    size_t length = 0, left = TABLE_BYTES;
    bool is_found = false;
    const int fd = hp_sys_open(path, O_RDONLY, 0);
    ssize_t got;
    while (fd >= 0 && !is_found && left > 0 && (got = hp_sys_read(fd, piece, sizeof piece)) > 0) {
        left -= (size_t)got < left ? (size_t)got : left;
        for (ssize_t at = 0; at < got && !is_found; at++) {
            if (piece[at] != '\n') {
                line[length] = piece[at];
                length += length + 1 < sizeof line;
                continue;
            }
            line[length] = '\0';
            is_found = by(line, inode, protocol, name);
            length = 0;
        }
    }
    if (fd >= 0)
        hp_sys_close(fd);
    return is_found;
}

bool hp_socket_name(uint32_t pid, uint64_t inode, char name[HP_SOCKET_NAME])
{
    static const struct {
        const char *file, *protocol;
        name_by_line *by;
    } tables[] = {{"net/unix", "unix", name_by_unix}, /* the others take the kernel a millisecond each */
                  {"net/tcp", "tcp", name_by_tcp},
                  {"net/tcp6", "tcp", name_by_tcp},
                  {"net/udp", "udp", name_by_tcp},
                  {"net/udp6", "udp", name_by_tcp}};
    char path[HP_TASK_PATH];
    for (size_t at = 0; at < sizeof tables / sizeof tables[0]; at++)
        if (find_in_table(hp_task_path(path, pid, 0, tables[at].file), inode, tables[at].protocol, tables[at].by,
                          name))
            return true;
    return false;
}

#define TCP_FIELDS 10u
#define ENDPOINTS 100u /* bytes: two endpoints of IPv6 as in the kernel's tables */

/* False: not that many. */
static bool split_tcp(const char *line, const char *fields[TCP_FIELDS])
{
    size_t count = 0;
    for (const char *at = line; *at != '\0' && count < TCP_FIELDS;) {
        at += strspn(at, " ");
        fields[count++] = at;
        at += strcspn(at, " ");
    }
    return count == TCP_FIELDS;
}

static void put_endpoints(const char *first, const char *second, char ends[ENDPOINTS])
{
    struct hp_text text;
    hp_text_init(&text, ends, ENDPOINTS);
    hp_text_bytes(&text, first, strcspn(first, " "));
    hp_text_char(&text, ' ');
    hp_text_bytes(&text, second, strcspn(second, " "));
    hp_text_end(&text);
}

/* The endpoints of a socket as the other one has them. */
static bool find_endpoints(const char *line, uint64_t inode, const char *unused, char *ends)
{
    const char *fields[TCP_FIELDS];
    (void)unused;
    if (!split_tcp(line, fields) || hp_task_number(&(const char *){fields[9]}) != inode)
        return false;
    put_endpoints(fields[2], fields[1], ends);
    return true;
}

/* The inode of the socket with these endpoints, as text. */
static bool find_inode(const char *line, uint64_t unused, const char *wanted, char *inode)
{
    const char *fields[TCP_FIELDS];
    char ends[ENDPOINTS];
    (void)unused;
    if (!split_tcp(line, fields))
        return false;
    put_endpoints(fields[1], fields[2], ends);
    if (strcmp(ends, wanted) != 0)
        return false;
    memcpy(inode, fields[9], strcspn(fields[9], " "));
    inode[strcspn(fields[9], " ")] = '\0';
    return true;
}

uint64_t hp_socket_peer(uint32_t pid, uint64_t inode)
{
    static const char *const tables[] = {"net/tcp", "net/tcp6"};
    char path[HP_TASK_PATH], ends[ENDPOINTS], peer[ENDPOINTS];
    for (size_t at = 0; at < sizeof tables / sizeof tables[0]; at++) {
        hp_task_path(path, pid, 0, tables[at]);
        if (find_in_table(path, inode, "", find_endpoints, ends))
            return find_in_table(path, 0, ends, find_inode, peer) ? hp_task_number(&(const char *){peer}) : 0;
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------------------ futexes */

/*
 * What a futex is used for: rules for glibc (mutexes since 2.3, conditions, semaphores and read-write locks since
 * 2.25, joins before and since 2.34) and for musl. If two rules fit, the words in memory decide; if none does,
 * nothing is claimed: a lock or a condition.
 */

/* Operations and their flags. The same on every machine; not all headers have all of them. */
#define WAIT 0u
#define LOCK_PI 6u
#define WAIT_BITSET 9u
#define WAIT_REQUEUE_PI 11u
#define LOCK_PI2 13u
#define IS_PRIVATE 128u
#define BY_REAL_TIME 256u

/* Values and parts of words. */
#define CONTENDED 2u /* glibc: a contended lock */
#define HAS_WAITERS UINT32_C(0x80000000)
#define MAY_HAVE_WAITERS UINT32_C(0x40000000) /* musl: of stdio's locks */
#define OWNER_BITS UINT32_C(0x3fffffff)
#define TAKEN_FOR_WRITING UINT32_MAX /* musl; also a semaphore of 0 with waiters */
#define MOST_WAITERS 65536u          /* plausible maximum of a counter of waiters */
#define NEAR_BYTES 4096u             /* of a variable in a frame of the C library, from the end of the stack */

static uint32_t word(const struct hp_futex *futex, int at) { return futex->words[(int)HP_FUTEX_BEFORE + at]; }

static bool is_count(uint32_t number) { return number >= 1 && number <= MOST_WAITERS; }

static uint32_t thread_or_none(const struct hp_futex *futex, uint32_t tid)
{
    return tid != 0 && futex->is_thread(futex->context, tid) ? tid : 0;
}

static bool is_on_own_stack(const struct hp_futex *futex)
{
    return futex->stack != 0 && futex->address > futex->stack && futex->address - futex->stack < NEAR_BYTES;
}

static bool is_private(const struct hp_futex *futex) { return (futex->operation & IS_PRIVATE) != 0; }

/*
 * glibc: arrivals so far, the futex (arrivals at the end of the last round), size of a round. musl: similar, from
 * 0.
 */
static bool is_barrier(const struct hp_futex *futex)
{
    const uint32_t arrived = word(futex, -1) - futex->value, round = word(futex, 1);
    if (!futex->has_words)
        return false;
    if (is_on_own_stack(futex) && futex->value == 1) /* musl: the first thread waits for the others to leave */
        return true;
    return is_count(arrived) && is_count(round) && (arrived <= round || futex->value == 0);
}

/*
 * musl: a variable of the waiting thread, with the state before it and a pointer after it, all zero until it is
 * woken.
 */
static bool is_waiter_of_condition(const struct hp_futex *futex)
{
    return futex->has_words && is_on_own_stack(futex) && word(futex, -1) == 0 && word(futex, 1) == 0 &&
           word(futex, 2) == 0;
}

/*
 * glibc: the number of waiters, in units of eight, is before the two words one of which is the futex. Up to 2.40
 * the waiters of each group are counted, too.
 */
static bool is_condition(const struct hp_futex *futex)
{
    const uint32_t waiters = word(futex, futex->address % 8 == 0 ? -1 : -2) >> 3;
    return futex->has_words && is_count(waiters);
}

static bool has_waiters_of_group(const struct hp_futex *futex)
{
    const uint32_t waiters = word(futex, futex->address % 8 == 0 ? -1 : -2) >> 3, of_group = word(futex, -6) >> 1;
    return is_count(of_group) && of_group <= waiters;
}

/* glibc: the number of waiters is after the value, then whether it is shared. */
static bool is_semaphore(const struct hp_futex *futex)
{
    return futex->has_words && futex->value == 0 && futex->address % 8 == 0 && is_count(word(futex, 1)) &&
           (word(futex, 2) == 0 || word(futex, 2) == IS_PRIVATE);
}

/* The owner of a glibc mutex. */
static uint32_t owner_of_mutex(const struct hp_futex *futex)
{
    return futex->has_words ? thread_or_none(futex, word(futex, 2)) : 0;
}

/* The writer of a glibc read-write lock; readers wait on its third word, writers on the fourth. */
static uint32_t owner_for_writing(const struct hp_futex *futex)
{
    if (!futex->has_words || (futex->value != 2 && futex->value != 3))
        return 0;
    return thread_or_none(futex, word(futex, futex->address % 8 == 0 ? 4 : 3));
}

/* For a word with its highest bit set. */
static uint32_t cause_of_marked(const struct hp_futex *futex, bool is_plain, uint32_t *ret_tid)
{
    if (futex->value == HAS_WAITERS)
        return HP_WAIT_SEMAPHORE; /* musl, since 1.2.4 */
    if (futex->value != TAKEN_FOR_WRITING) {
        *ret_tid = thread_or_none(futex, futex->value & OWNER_BITS);
        return HP_WAIT_LOCK;
    }
    if (!is_plain || !futex->has_words)
        return HP_WAIT_FUTEX;
    /* musl marks semaphores as private, read-write locks as shared. */
    return word(futex, 2) == (is_private(futex) ? IS_PRIVATE : 0) ? HP_WAIT_SEMAPHORE : HP_WAIT_LOCK;
}

/* A glibc lock; with musl a condition or the exit of a thread, whose id is two words before. */
static uint32_t cause_of_contended(const struct hp_futex *futex, uint32_t *ret_tid)
{
    *ret_tid = owner_of_mutex(futex);
    if (*ret_tid != 0 || !futex->has_words)
        return HP_WAIT_LOCK;
    if (is_waiter_of_condition(futex))
        return HP_WAIT_CONDITION;
    *ret_tid = thread_or_none(futex, word(futex, -2));
    return *ret_tid != 0 ? HP_WAIT_THREAD : HP_WAIT_LOCK;
}

static uint32_t cause_of_plain(const struct hp_futex *futex, uint32_t *ret_tid)
{
    if (is_barrier(futex) && (futex->value != CONTENDED || owner_of_mutex(futex) == 0))
        return HP_WAIT_BARRIER;
    if (futex->value == CONTENDED)
        return cause_of_contended(futex, ret_tid);
    *ret_tid = (futex->value & MAY_HAVE_WAITERS) != 0 ? thread_or_none(futex, futex->value & OWNER_BITS) : 0;
    return *ret_tid != 0 ? HP_WAIT_LOCK : HP_WAIT_FUTEX;
}

/* glibc, if a wait can be cancelled or has a timeout. */
static uint32_t cause_of_bitset(const struct hp_futex *futex, uint32_t *ret_tid)
{
    if (futex->value == CONTENDED && (*ret_tid = owner_of_mutex(futex)) != 0)
        return HP_WAIT_LOCK;
    if ((*ret_tid = owner_for_writing(futex)) != 0)
        return HP_WAIT_LOCK;
    if (is_semaphore(futex) && !(is_condition(futex) && has_waiters_of_group(futex)))
        return HP_WAIT_SEMAPHORE;
    if (is_condition(futex))
        return HP_WAIT_CONDITION;
    return futex->value == 2 || futex->value == 3 ? HP_WAIT_LOCK : HP_WAIT_FUTEX;
}

uint32_t hp_futex_cause(const struct hp_futex *futex, uint32_t *ret_tid)
{
    const uint32_t operation = futex->operation & ~(IS_PRIVATE | BY_REAL_TIME);
    const bool is_plain = operation == WAIT;
    *ret_tid = 0;
    if (operation == LOCK_PI || operation == LOCK_PI2) {
        *ret_tid = futex->has_words ? thread_or_none(futex, word(futex, 0) & OWNER_BITS) : 0;
        return HP_WAIT_LOCK;
    }
    if (operation == WAIT_REQUEUE_PI)
        return HP_WAIT_CONDITION;
    if (!is_plain && operation != WAIT_BITSET)
        return HP_WAIT_FUTEX;
    /* glibc: the kernel clears the word when the thread has exited, so the futex is not private. */
    if (!is_private(futex) && (*ret_tid = thread_or_none(futex, futex->value)) != 0)
        return HP_WAIT_THREAD;
    if ((futex->value & HAS_WAITERS) != 0)
        return cause_of_marked(futex, is_plain, ret_tid);
    return is_plain ? cause_of_plain(futex, ret_tid) : cause_of_bitset(futex, ret_tid);
}

/* -------------------------------------------------------------------------------------------------------- waits */

#define LINK_BYTES 512u
#define MOST_CHILDREN 16u /* children to check for a busy one */

_Static_assert(sizeof((struct hp_wait *)0)->what == HP_SOCKET_NAME, "names fit");

enum hp_idleness hp_wait_idleness(uint32_t cause)
{
    switch (cause) {
    case HP_WAIT_CONDITION:
    case HP_WAIT_SEMAPHORE:
    case HP_WAIT_BARRIER:
    case HP_WAIT_THREAD:
    case HP_WAIT_CHILD:
    case HP_WAIT_CLIENT:
    case HP_WAIT_POLL:
    case HP_WAIT_SIGNAL:
    case HP_WAIT_TERMINAL:
        return HP_IDLE_ALWAYS;
    case HP_WAIT_SLEEP:
    case HP_WAIT_PIPE:
    case HP_WAIT_FUTEX:
        return HP_IDLE_BESIDE_WORK;
    default:
        return HP_IDLE_NEVER;
    }
}

enum hp_idleness hp_wait_idleness_with(uint32_t cause, bool is_other_in_run)
{
    return cause == HP_WAIT_SOCKET && is_other_in_run ? HP_IDLE_BESIDE_WORK : hp_wait_idleness(cause);
}

enum hp_activity hp_part_of_cause(uint32_t cause)
{
    switch (cause) {
    case HP_WAIT_RUN_QUEUE:
        return HP_PART_QUEUE;
    case HP_WAIT_LOCK:
    case HP_WAIT_FUTEX:
    case HP_WAIT_CONDITION:
    case HP_WAIT_SEMAPHORE:
    case HP_WAIT_BARRIER:
    case HP_WAIT_THREAD:
        return HP_PART_LOCK;
    case HP_WAIT_DISK:
    case HP_WAIT_FAULT:
        return HP_PART_DISK;
    case HP_WAIT_SOCKET:
    case HP_WAIT_CLIENT:
    case HP_WAIT_POLL:
    case HP_WAIT_PIPE:
        return HP_PART_NETWORK;
    default:
        return HP_PART_SLEEP;
    }
}

const char *hp_part_name(enum hp_activity part)
{
    static const char *const names[HP_ALL_PARTS] = {"user", "kernel",  "run queue", "disk",
                                                    "lock", "network", "sleep",     "idle"};
    return names[part];
}

/*
 * The name of a socket, looked up once. It stays the same, except if the socket is connected later: then it keeps
 * its own address, which is right as well. Looking it up each time would read all socket tables each time.
 */
static void name_socket(struct hp_wait_finder *finder, uint64_t inode, char what[HP_SOCKET_NAME])
{
    for (size_t at = 0; at < HP_WAIT_SOCKETS; at++)
        if (finder->sockets[at].inode == inode && finder->sockets[at].name[0] != '\0') {
            memcpy(what, finder->sockets[at].name, HP_SOCKET_NAME);
            return;
        }
    struct hp_known_socket *place = &finder->sockets[finder->next_socket++ % HP_WAIT_SOCKETS];
    memset(place, 0, sizeof *place);
    place->inode = inode;
    if (!hp_socket_name(finder->pid, inode, place->name))
        memcpy(place->name, what, HP_SOCKET_NAME);
    memcpy(what, place->name, HP_SOCKET_NAME);
}

/* The end of a text that is too long says more than its beginning. */
static void set_what(struct hp_wait_found *finding, const char *text, size_t length)
{
    const size_t most = sizeof finding->what - 1;
    memset(finding->what, 0, sizeof finding->what);
    if (length > most) {
        text += length - most;
        length = most;
    }
    memcpy(finding->what, text, length);
}

/*
 * The type of the file behind a link in /proc. Uses flags that let a network file system answer from its cache: a
 * server that does not answer must not block us. The mode is at a fixed offset of struct statx, which not all
 * headers have.
 */
static uint32_t kind_of_file(const char *path)
{
#ifdef SYS_statx
    const unsigned dont_sync = 0x4000, want_type = 1;
    uint64_t status[32] = {0};
    uint16_t mode;
    if (syscall(SYS_statx, AT_FDCWD, path, dont_sync, want_type, status) != 0)
        return 0;
    memcpy(&mode, (const char *)status + 28, sizeof mode);
    return mode & S_IFMT;
#else
    (void)path;
    return 0;
#endif
}

static uint32_t cause_of_path(const char *link, const char *target)
{
    if (hp_text_begins(target, "/dev/pts/") || hp_text_begins(target, "/dev/tty") ||
        hp_text_begins(target, "/dev/console"))
        return HP_WAIT_TERMINAL;
    switch (kind_of_file(link)) {
    case S_IFIFO:
        return HP_WAIT_PIPE;
    case S_IFSOCK:
        return HP_WAIT_SOCKET;
    case S_IFCHR:
        return HP_WAIT_OTHER;
    default:
        return hp_text_begins(target, "/dev/") && !hp_text_begins(target, "/dev/shm/") ? HP_WAIT_OTHER
                                                                                       : HP_WAIT_DISK;
    }
}

/* What the target of a link in /proc/PID/fd tells. */
static uint32_t cause_of_target(const char *link, const char *target)
{
    if (hp_text_begins(target, "socket:"))
        return HP_WAIT_SOCKET;
    if (hp_text_begins(target, "pipe:"))
        return HP_WAIT_PIPE;
    if (hp_text_begins(target, "anon_inode:[timerfd]"))
        return HP_WAIT_SLEEP;
    if (hp_text_begins(target, "anon_inode:[signalfd]"))
        return HP_WAIT_SIGNAL;
    return target[0] == '/' ? cause_of_path(link, target) : HP_WAIT_OTHER;
}

static void look_at_file(struct hp_wait_finder *finder, struct hp_wait_found *finding, bool is_by_file,
                         uint64_t descriptor)
{
    char path[HP_TASK_PATH], target[LINK_BYTES];
    const size_t length = hp_descriptor_link(finder->pid, (uint32_t)descriptor, target, sizeof target);
    const uint64_t inode = hp_descriptor_socket(target);
    if (length == 0)
        return;
    if (is_by_file)
        finding->cause = cause_of_target(hp_descriptor_path(path, finder->pid, (uint32_t)descriptor), target);
    set_what(finding, target, length);
    if (inode != 0)
        name_socket(finder, inode, finding->what);
    if (finder->other_end != NULL && (finding->cause == HP_WAIT_PIPE || finding->cause == HP_WAIT_SOCKET))
        finding->peer = finder->other_end(finder->context, finder->pid, (uint32_t)descriptor, finding->what);
}

/* If the system call cannot be seen: uses the kernel's name of the wait channel. */
static void look_at_place(const struct hp_wait_finder *finder, uint32_t tid, char state,
                          struct hp_wait_found *finding)
{
    char text[64];
    finding->cause = state == 'D' ? HP_WAIT_DISK : HP_WAIT_OTHER;
    if (hp_task_read(finder->pid, tid, "wchan", text, sizeof text) && text[0] != '0')
        set_what(finding, text, strlen(text));
}

/* ------------------------------------------------------------------------------------------ a futex of a thread */

static bool is_thread(const void *context, uint32_t tid)
{
    const struct hp_wait_finder *finder = context;
    char path[HP_TASK_PATH];
    return access(hp_task_path(path, finder->pid, tid, "comm"), F_OK) == 0;
}

/*
 * Reads memory of the process through its file: permission to see the system call includes this, and it cannot
 * fault.
 */
static bool read_memory(const struct hp_wait_finder *finder, uint64_t address, void *to, size_t bytes)
{
    char path[HP_TASK_PATH];
    const int fd = hp_sys_open(hp_task_path(path, finder->pid, 0, "mem"), O_RDONLY, 0);
    if (fd < 0)
        return false;
    const ssize_t length = address <= INT64_MAX ? hp_sys_pread(fd, to, bytes, address) : -1;
    hp_sys_close(fd);
    return length == (ssize_t)bytes;
}

/* At the start of a page, the page before may not exist. */
static void read_words(const struct hp_wait_finder *finder, struct hp_futex *futex)
{
    const uint64_t before = HP_FUTEX_BEFORE * sizeof futex->words[0];
    futex->has_words =
        futex->address > before &&
        (read_memory(finder, futex->address - before, futex->words, sizeof futex->words) ||
         read_memory(finder, futex->address, &futex->words[HP_FUTEX_BEFORE], sizeof futex->words - (size_t)before));
}

/* A poll of one descriptor waits for that. Only a timer is named: what others stand for is unknown. */
static void look_at_polled(const struct hp_wait_finder *finder, struct hp_wait_found *finding,
                           const char *arguments)
{
    char target[LINK_BYTES];
    int32_t descriptor;
    const uint64_t address = hp_task_hex(&arguments), count = hp_task_hex(&arguments);
    if (count == 1 && read_memory(finder, address, &descriptor, sizeof descriptor) && descriptor >= 0 &&
        hp_descriptor_link(finder->pid, (uint32_t)descriptor, target, sizeof target) > 0 &&
        hp_text_begins(target, "anon_inode:[timerfd]"))
        set_what(finding, "timer", strlen("timer"));
}

/* Reads no page further than the text goes. Returns its length. */
static size_t read_text(const struct hp_wait_finder *finder, uint64_t address, char *text, size_t size)
{
    const size_t in_page = 4096 - address % 4096, first = in_page < size ? in_page : size;
    size_t length = read_memory(finder, address, text, first) ? strnlen(text, first) : 0;
    if (length == first && first < size && read_memory(finder, address + first, text + first, size - first))
        length += strnlen(text + first, size - first);
    return length < size ? length : size - 1;
}

/* A FIFO is not opened before somebody opens its other end: the kernel calls that the partner. */
static void look_at_opening(const struct hp_wait_finder *finder, uint32_t tid, struct hp_wait_found *finding,
                            uint32_t path, const char *arguments)
{
    char place[64], text[LINK_BYTES];
    uint64_t address = 0;
    if (!hp_task_read(finder->pid, tid, "wchan", place, sizeof place) ||
        (!hp_text_begins(place, "wait_for_partner") && !hp_text_begins(place, "fifo_open")))
        return;
    finding->cause = HP_WAIT_PIPE;
    for (uint32_t at = 0; at < path; at++)
        address = hp_task_hex(&arguments);
    const size_t length = read_text(finder, address, text, sizeof text);
    set_what(finding, length > 0 ? text : "FIFO", length > 0 ? length : strlen("FIFO"));
}

/* `arguments` continues with those of the call, then with the end of the stack. */
static void look_at_futex(struct hp_wait_finder *finder, struct hp_wait_found *finding, const char *arguments)
{
    struct hp_futex futex = {.is_thread = is_thread, .context = finder};
    futex.address = hp_task_hex(&arguments);
    futex.operation = (uint32_t)hp_task_hex(&arguments);
    futex.value = (uint32_t)hp_task_hex(&arguments);
    for (int skipped = 0; skipped < 3; skipped++)
        hp_task_hex(&arguments);
    futex.stack = hp_task_hex(&arguments);
    read_words(finder, &futex);
    finding->cause = hp_futex_cause(&futex, &finding->thread);
    finding->lock = finding->cause == HP_WAIT_LOCK ? futex.address : 0;
}

/* ---------------------------------------------------------------------------------------------- children */

/* Of the listed children a busy one, else the first; 0: none. Sets its state. */
static uint32_t choose_child(const char *listed, char *ret_state)
{
    uint32_t chosen = 0;
    for (unsigned tries = 0; tries < MOST_CHILDREN; tries++) {
        uint64_t start;
        const uint32_t child = (uint32_t)hp_task_number(&listed);
        if (child == 0)
            break;
        const char state = hp_task_state(child, 0, &start);
        if (chosen == 0 || state == 'R' || state == 'D') {
            chosen = child;
            *ret_state = state;
        }
        if (state == 'R' || state == 'D')
            break;
    }
    return chosen;
}

/* A child of the thread that was not waited for yet. */
static uint32_t child_of(uint32_t pid, uint32_t tid, char *ret_state)
{
    char listed[512];
    return hp_task_read(pid, tid, "children", listed, sizeof listed) ? choose_child(listed, ret_state) : 0;
}

/*
 * The program that is waited for: if it is a shell that waits itself, the program it has started. Whether it is
 * busy is checked at each look, so the larger sum tells what it mostly was.
 */
static void look_at_child(const struct hp_wait_finder *finder, uint32_t tid, struct hp_wait_found *finding)
{
    static const char busy[] = " (busy)";
    char state = 'S', name[64];
    uint32_t child = child_of(finder->pid, tid, &state);
    if (child == 0)
        child = child_of(finder->pid, finder->pid, &state);
    for (unsigned depth = 0; depth < MOST_CHILDREN && child != 0 && state != 'R' && state != 'D'; depth++) {
        const uint32_t below = child_of(child, child, &state);
        if (below == 0)
            break;
        child = below;
    }
    if (child == 0 || !hp_task_read(child, 0, "comm", name, sizeof name - sizeof busy))
        return;
    size_t length = strcspn(name, "\n");
    if (state == 'R' || state == 'D') {
        memcpy(name + length, busy, sizeof busy);
        length += sizeof busy - 1;
    }
    set_what(finding, name, length);
}

/* The last two words. The arguments come before them; a page fault has none. */
static void find_registers(const char *text, struct hp_wait_found *finding)
{
    const char *last = strrchr(text, ' '), *before = last;
    while (before != NULL && before > text && before[-1] != ' ')
        before--;
    if (before == NULL || before == text)
        return;
    finding->pc = hp_task_hex(&last);
    finding->sp = hp_task_hex(&before);
}

bool hp_wait_find(struct hp_wait_finder *finder, uint32_t tid, char state, struct hp_wait_found *ret_finding)
{
    char text[256];
    *ret_finding = (struct hp_wait_found){.cause = HP_WAIT_OTHER, .call = -1};
    if (state == 'T' || state == 't') {
        ret_finding->cause = HP_WAIT_STOPPED;
        return true;
    }
    if (!hp_task_read(finder->pid, tid, "syscall", text, sizeof text)) {
        look_at_place(finder, tid, state, ret_finding);
        return true;
    }
    if (text[0] == 'r')
        return false;
    find_registers(text, ret_finding);
    if (text[0] == '-') {
        ret_finding->cause = HP_WAIT_FAULT;
        return true;
    }
    const char *at = text;
    ret_finding->call = (int32_t)hp_task_number(&at);
    const struct hp_system_call *call = hp_system_call(ret_finding->call);
    if (call != NULL)
        ret_finding->cause = call->cause;
    if (call != NULL && call->has_descriptor)
        look_at_file(finder, ret_finding, call->is_by_file, hp_task_hex(&at));
    if (call != NULL && call->is_futex)
        look_at_futex(finder, ret_finding, at);
    if (call != NULL && call->is_poll)
        look_at_polled(finder, ret_finding, at);
    if (call != NULL && call->path != 0)
        look_at_opening(finder, tid, ret_finding, call->path, at);
    if (ret_finding->cause == HP_WAIT_CHILD)
        look_at_child(finder, tid, ret_finding);
    return true;
}
