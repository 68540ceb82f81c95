/*
 * Watching what threads wait for.
 *
 * What the kernel says of a thread (schedstat: time on a processor, time ready for one, how often it began to run) is exact
 * while it waits; while it runs, the first lags behind by up to a tick. What was neither is waiting. It is added up from
 * the beginning, so that what lags at one look is made up for at the next, and only credited where the thread is found
 * waiting. A thread that has not run since the last look still waits for the same, in the same zone: then schedstat
 * is all that is read.
 *
 * Between two looks a thread may wait for many things. All of it is credited to the one that it is found in: often found is
 * what takes long. SPDX-License-Identifier: MIT
 */
#include "watch.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "process.h"
#include "sys.h"
#include "system_calls.h"
#include "text.h"

#define MOST_WHATS 24u      /* of one call at one place; further ones count as one */
#define MOST_RECORDS 65536u /* of threads, in a session that can be believed */
#define MOST_FRAMES (1u << 18)
#define KERNEL_HZ 100u     /* in which the kernel tells when a thread began, on every machine */
#define RUNNING_WINDOW 16u /* looks */
#define NO_ENTRY (-1)
#define NO_PLACE (-2)

/* --------------------------------------------------------------------------------- the kernel's files */

/* "/proc/PID/task/TID/name", or "/proc/PID/name" for a tid of 0. */
static const char *path_of(char path[96], uint32_t pid, uint32_t tid, const char *name)
{
    struct hp_text text;
    hp_text_init(&text, path, 96);
    hp_text_string(&text, "/proc/");
    hp_text_u64(&text, pid);
    if (tid != 0) {
        hp_text_string(&text, "/task/");
        hp_text_u64(&text, tid);
    }
    hp_text_char(&text, '/');
    hp_text_string(&text, name);
    return hp_text_end(&text);
}

static bool read_of(const struct hp_watch *watch, uint32_t tid, const char *name, char *text, size_t size)
{
    char path[96];
    return hp_file_read_text(path_of(path, watch->target.pid, tid, name), text, size);
}

static uint64_t number_at(const char **at)
{
    uint64_t number = 0;
    while (**at == ' ' || **at == '\t')
        ++*at;
    for (; **at >= '0' && **at <= '9'; ++*at)
        number = number * 10 + (uint64_t)(**at - '0');
    return number;
}

static uint64_t hex_at(const char **at)
{
    uint64_t number = 0;
    while (**at == ' ')
        ++*at;
    if ((*at)[0] == '0' && (*at)[1] == 'x')
        *at += 2;
    for (;; ++*at) {
        const char c = **at;
        if (c >= '0' && c <= '9')
            number = number << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            number = number << 4 | (uint64_t)(c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            number = number << 4 | (uint64_t)(c - 'A' + 10);
        else
            return number;
    }
}

/* What schedstat says. */
struct account {
    uint64_t ran, ready, slices;
};

static void keep_open(const struct hp_watch *watch, struct hp_watched *thread)
{
    char path[96];
    if (watch->target.files == NULL || *watch->target.files == 0)
        return;
    thread->file = hp_sys_open(path_of(path, watch->target.pid, thread->tid, "schedstat"), O_RDONLY, 0);
    if (thread->file >= 0)
        --*watch->target.files;
}

static void let_close(const struct hp_watch *watch, struct hp_watched *thread)
{
    if (thread->file < 0)
        return;
    hp_sys_close(thread->file);
    thread->file = -1;
    ++*watch->target.files;
}

static bool read_account(const struct hp_watch *watch, const struct hp_watched *thread, struct account *ret_account)
{
    char text[96];
    if (thread->file >= 0) {
        const ssize_t length = pread(thread->file, text, sizeof text - 1, 0);
        if (length <= 0)
            return false;
        text[length] = '\0';
    } else if (!read_of(watch, thread->tid, "schedstat", text, sizeof text)) {
        return false;
    }
    const char *at = text;
    ret_account->ran = number_at(&at);
    ret_account->ready = number_at(&at);
    ret_account->slices = number_at(&at);
    return true;
}

/* What stat says: the letter of its state, and when it began, in the kernel's steps since boot. */
static char read_state(const struct hp_watch *watch, uint32_t tid, uint64_t *ret_start)
{
    char text[1024];
    if (!read_of(watch, tid, "stat", text, sizeof text))
        return 'X';
    const char *at = strrchr(text, ')'); /* the name before it may hold anything */
    if (at == NULL || at[1] != ' ')
        return 'X';
    const char state = at[2];
    for (int field = 2; at != NULL && field < 22; field++) {
        at = strchr(at, ' ');
        if (at != NULL)
            at++;
    }
    *ret_start = at != NULL ? number_at(&at) : 0;
    return state;
}

/* How often it gave its processor away, which it does when it waits. */
static uint64_t read_switches(const struct hp_watch *watch, uint32_t tid)
{
    static const char key[] = "\nvoluntary_ctxt_switches:";
    char text[4096];
    if (!read_of(watch, tid, "status", text, sizeof text))
        return UINT64_MAX;
    const char *at = strstr(text, key);
    if (at == NULL)
        return UINT64_MAX;
    at += sizeof key - 1;
    return number_at(&at);
}

/* Which program the process runs, so that the next one is noticed. 0: cannot be told. */
static uint64_t executable_of(uint32_t pid)
{
    char path[96], name[256];
    const ssize_t length = readlink(path_of(path, pid, 0, "exe"), name, sizeof name);
    uint64_t hash = UINT64_C(14695981039346656037);
    for (ssize_t at = 0; at < length; at++)
        hash = (hash ^ (unsigned char)name[at]) * UINT64_C(1099511628211);
    return length > 0 ? hash : 0;
}

/* ------------------------------------------------------------------------------------------- sockets */

static void put_address(struct hp_text *text, const char *hex, size_t digits)
{
    const char *at = hex + digits;
    uint64_t port = 0;
    if (*at == ':') {
        at++;
        port = hex_at(&at);
    }
    if (digits == 8) {
        /* The kernel prints it as a number of this machine, of bytes in the order of the network. */
        uint32_t address = (uint32_t)hex_at(&hex);
        unsigned char bytes[4];
        memcpy(bytes, &address, sizeof bytes);
        for (size_t byte = 0; byte < sizeof bytes; byte++) {
            hp_text_string(text, byte > 0 ? "." : "");
            hp_text_u64(text, bytes[byte]);
        }
    } else {
        hp_text_string(text, "[..");
        hp_text_bytes(text, hex + digits - 8, 8);
        hp_text_char(text, ']');
    }
    hp_text_char(text, ':');
    hp_text_u64(text, port);
}

/* A line of /proc/net/tcp: "  0: 0100007F:1F90 00000000:0000 0A ... inode". The peer, or of one that listens its own address. */
static bool name_by_tcp(const char *line, uint64_t inode, const char *protocol, char name[40])
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
    if (number_at(&number) != inode)
        return false;
    const bool is_listening = strncmp(fields[3], "0A", 2) == 0;
    const char *address = is_listening ? fields[1] : fields[2];
    hp_text_init(&text, name, 40);
    hp_text_string(&text, protocol);
    hp_text_string(&text, is_listening ? " at " : " ");
    put_address(&text, address, strcspn(address, ":"));
    hp_text_end(&text);
    return true;
}

/* A line of /proc/net/unix: "...: refs protocol flags type st inode path". Sockets of clients have no path. */
static bool name_by_unix(const char *line, uint64_t inode, const char *protocol, char name[40])
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
    if (number_at(&at) != inode)
        return false;
    at += strspn(at, " ");
    hp_text_init(&text, name, 40);
    hp_text_string(&text, protocol);
    hp_text_string(&text, at[0] != '\0' ? " " : " socket");
    hp_text_string(&text, at);
    hp_text_end(&text);
    return true;
}

typedef bool name_by_line(const char *line, uint64_t inode, const char *protocol, char name[40]);

#define TABLE_BYTES 65536u /* of a table of sockets that are looked through */

/* Line by line, in pieces, since such a table may be long. */
static bool find_in_table(const char *path, uint64_t inode, const char *protocol, name_by_line *by, char name[40])
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

static bool find_socket(uint32_t pid, uint64_t inode, char name[40])
{
    static const struct {
        const char *file, *protocol;
        name_by_line *by;
    } tables[] = {{"net/tcp", "tcp", name_by_tcp},
                  {"net/tcp6", "tcp", name_by_tcp},
                  {"net/unix", "unix", name_by_unix},
                  {"net/udp", "udp", name_by_tcp},
                  {"net/udp6", "udp", name_by_tcp}};
    char path[96];
    for (size_t at = 0; at < sizeof tables / sizeof tables[0]; at++)
        if (find_in_table(path_of(path, pid, 0, tables[at].file), inode, tables[at].protocol, tables[at].by, name))
            return true;
    return false;
}

/* What can be said of a socket, which stays the same as long as it is connected. */
static void name_socket(struct hp_watch *watch, uint64_t inode, char what[40])
{
    for (size_t at = 0; at < HP_WATCH_SOCKETS; at++)
        if (watch->sockets[at].inode == inode && watch->sockets[at].name[0] != '\0') {
            memcpy(what, watch->sockets[at].name, 40);
            return;
        }
    struct hp_watched_socket *place = &watch->sockets[watch->next_socket++ % HP_WATCH_SOCKETS];
    memset(place, 0, sizeof *place);
    place->inode = inode;
    if (!find_socket(watch->target.pid, inode, place->name))
        memcpy(place->name, what, 40);
    memcpy(what, place->name, 40);
}

/* -------------------------------------------------------------------------------------- what it waits for */

/* What a thread was found waiting for. */
struct finding {
    uint32_t cause;
    int32_t call;
    char what[40]; /* filled up with zeros */
};

/* The end of a text that is too long says more than its beginning. */
static void set_what(struct finding *finding, const char *text, size_t length)
{
    const size_t most = sizeof finding->what - 1;
    memset(finding->what, 0, sizeof finding->what);
    if (length > most) {
        text += length - most;
        length = most;
    }
    memcpy(finding->what, text, length);
}

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/*
 * The kind of the file behind a link in /proc. With flags that let a file system of the network answer from memory: a server that
 * does not answer must not hold us up. The mode is at a fixed place of struct statx, which not all headers have.
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
    if (begins(target, "/dev/pts/") || begins(target, "/dev/tty") || begins(target, "/dev/console"))
        return HP_WAIT_TERMINAL;
    switch (kind_of_file(link)) {
    case S_IFIFO:
        return HP_WAIT_PIPE;
    case S_IFSOCK:
        return HP_WAIT_SOCKET;
    case S_IFCHR:
        return HP_WAIT_OTHER;
    default:
        return begins(target, "/dev/") && !begins(target, "/dev/shm/") ? HP_WAIT_OTHER : HP_WAIT_DISK;
    }
}

/* What the target of a link in /proc/PID/fd says. */
static uint32_t cause_of_target(const char *link, const char *target)
{
    if (begins(target, "socket:"))
        return HP_WAIT_SOCKET;
    if (begins(target, "pipe:"))
        return HP_WAIT_PIPE;
    if (begins(target, "anon_inode:[timerfd]"))
        return HP_WAIT_SLEEP;
    if (begins(target, "anon_inode:[signalfd]"))
        return HP_WAIT_SIGNAL;
    return target[0] == '/' ? cause_of_path(link, target) : HP_WAIT_OTHER;
}

static void look_at_file(struct hp_watch *watch, struct finding *finding, bool is_by_file, uint64_t descriptor)
{
    char name[24], path[96], target[512];
    struct hp_text text;
    hp_text_init(&text, name, sizeof name);
    hp_text_string(&text, "fd/");
    hp_text_u64(&text, (uint32_t)descriptor);
    path_of(path, watch->target.pid, 0, hp_text_end(&text));
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0)
        return;
    target[length] = '\0';
    if (is_by_file)
        finding->cause = cause_of_target(path, target);
    set_what(finding, target, (size_t)length);
    if (!begins(target, "socket:["))
        return;
    const char *inode = target + sizeof "socket:[" - 1;
    name_socket(watch, number_at(&inode), finding->what);
}

/* Where the system call may not be seen: what the kernel calls the place it waits at. */
static void look_at_place(const struct hp_watch *watch, uint32_t tid, char state, struct finding *finding)
{
    char text[64];
    finding->cause = state == 'D' ? HP_WAIT_DISK : HP_WAIT_OTHER;
    if (read_of(watch, tid, "wchan", text, sizeof text) && text[0] != '0')
        set_what(finding, text, strlen(text));
}

/* False: it runs. */
static bool find_cause(struct hp_watch *watch, uint32_t tid, char state, struct finding *ret_finding)
{
    char text[256];
    *ret_finding = (struct finding){.cause = HP_WAIT_OTHER, .call = -1};
    if (state == 'T' || state == 't') {
        ret_finding->cause = HP_WAIT_STOPPED;
        return true;
    }
    if (!read_of(watch, tid, "syscall", text, sizeof text)) {
        look_at_place(watch, tid, state, ret_finding);
        return true;
    }
    if (text[0] == 'r')
        return false;
    if (text[0] == '-') {
        ret_finding->cause = HP_WAIT_FAULT;
        return true;
    }
    const char *at = text;
    ret_finding->call = (int32_t)number_at(&at);
    const struct hp_system_call *call = hp_system_call(ret_finding->call);
    if (call != NULL)
        ret_finding->cause = call->cause;
    if (call != NULL && call->has_descriptor)
        look_at_file(watch, ret_finding, call->is_by_file, hex_at(&at));
    return true;
}

/* ---------------------------------------------------------------------------------------- where it waits */

static bool read_session(struct hp_watch *watch, uint64_t offset, void *to, size_t bytes)
{
    return offset >= HP_HEADER_BYTES && offset + bytes <= UINT32_MAX &&
           watch->target.read(watch->target.context, (uint32_t)offset, to, bytes);
}

static bool is_record_of(struct hp_watch *watch, uint32_t offset, uint32_t tid, struct hp_thread *ret_record)
{
    return offset != 0 && offset % 8 == 0 && read_session(watch, offset, ret_record, sizeof *ret_record) &&
           ret_record->tid == tid && ret_record->state == HP_THREAD_LIVE;
}

/* Newer records are in front, and that of a thread is older than those of its signal handlers. */
static bool find_record(struct hp_watch *watch, struct hp_watched *thread, struct hp_thread *ret_record)
{
    struct hp_thread record;
    uint32_t steps = 0;
    if (is_record_of(watch, thread->record, thread->tid, ret_record))
        return true;
    thread->record = 0;
    if (thread->seen_without == watch->threads_seen)
        return false;
    for (uint32_t at = watch->first_record; at != 0 && at % 8 == 0 && steps < MOST_RECORDS; steps++) {
        if (!read_session(watch, at, &record, sizeof record))
            break;
        if (record.tid == thread->tid && record.state == HP_THREAD_LIVE) {
            thread->record = at;
            *ret_record = record;
        }
        at = record.next;
    }
    if (thread->record == 0)
        thread->seen_without = watch->threads_seen;
    return thread->record != 0;
}

/* The node of a frame, or 0: it is not open. */
static uint32_t node_of_frame(struct hp_watch *watch, const struct hp_thread *record, uint32_t index)
{
    struct hotpath_frame_ frame;
    const uint64_t offset = (uint64_t)record->frames + (uint64_t)index * sizeof frame;
    if (index >= record->frame_capacity || index >= MOST_FRAMES || record->frames % 8 != 0 ||
        !read_session(watch, offset, &frame, sizeof frame) || frame.zone == 0)
        return 0;
    return frame.node;
}

/* Open frames are the first ones: their end is found in ever larger steps, then by halves. */
static uint32_t innermost_node(struct hp_watch *watch, const struct hp_thread *record)
{
    uint32_t low = 0, high = 1, node = record->root;
    for (uint32_t found; (found = node_of_frame(watch, record, high)) != 0; high *= 2) {
        low = high;
        node = found;
    }
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2, found = node_of_frame(watch, record, middle);
        if (found != 0) {
            low = middle;
            node = found;
        } else {
            high = middle;
        }
    }
    return node;
}

static uint32_t find_node(struct hp_watch *watch, struct hp_watched *thread)
{
    struct hp_thread record;
    return find_record(watch, thread, &record) ? innermost_node(watch, &record) : 0;
}

/* ---------------------------------------------------------------------------------------------- entries */

static bool is_entry(const struct hp_wait *entry, uint32_t node, const struct finding *finding)
{
    return entry->node == node && entry->cause == finding->cause && entry->call == finding->call;
}

/* The entry for that, made if there is none; files beyond a number of them share one. NO_PLACE: all are taken. */
static int32_t entry_for(struct hp_watch *watch, uint32_t node, const struct finding *finding)
{
    static const char others[sizeof finding->what] = "(others)";
    const char *what = finding->what;
    uint32_t whats = 0;
    for (uint32_t at = 0; at < watch->sums.used; at++) {
        const struct hp_wait *entry = &watch->entries[at];
        if (!is_entry(entry, node, finding))
            continue;
        if (memcmp(entry->what, what, sizeof entry->what) == 0)
            return (int32_t)at;
        if (++whats >= MOST_WHATS && memcmp(entry->what, others, sizeof entry->what) == 0)
            return (int32_t)at;
    }
    if (whats >= MOST_WHATS)
        what = others;
    if (watch->sums.used >= watch->capacity)
        return NO_PLACE;
    struct hp_wait *entry = &watch->entries[watch->sums.used];
    *entry = (struct hp_wait){.node = node, .cause = finding->cause, .call = finding->call};
    memcpy(entry->what, what, sizeof entry->what);
    watch->is_changed[watch->sums.used] = true;
    return (int32_t)watch->sums.used++;
}

/* Adds, or takes away what was too much. */
static void credit(struct hp_watch *watch, int32_t at, int64_t ns, uint32_t looks)
{
    if (at < 0) {
        watch->sums.left_out_ns += at == NO_PLACE && ns > 0 ? (uint64_t)ns : 0;
        return;
    }
    struct hp_wait *entry = &watch->entries[at];
    entry->ns = ns < 0 && (uint64_t)-ns > entry->ns ? 0 : entry->ns + (uint64_t)ns;
    entry->looks += looks;
    watch->is_changed[at] = true;
}

/* -------------------------------------------------------------------------------------------- a thread */

/* What it has waited since it is watched. While it runs, that may be too much by what the kernel has not counted yet. */
static int64_t waited(const struct hp_watched *thread)
{
    return (int64_t)(thread->looked_ns - thread->since_ns) - (int64_t)(thread->ran - thread->ran_before) -
           (int64_t)(thread->ready - thread->ready_before);
}

static void credit_waiting(struct hp_watch *watch, struct hp_watched *thread, uint32_t looks)
{
    const int64_t pending = waited(thread) - thread->settled;
    const int64_t ns = pending > 0 ? pending : 0;
    credit(watch, thread->entry, ns, looks);
    thread->settled += ns;
    thread->of_this_wait += ns;
}

/*
 * What seemed to be waiting has turned out to be time ready to run, which the kernel only counts when the thread begins to run: it
 * was woken before it was last looked at.
 */
static void take_back(struct hp_watch *watch, struct hp_watched *thread)
{
    const int64_t excess = thread->settled - waited(thread);
    const int64_t ns = excess < thread->of_this_wait ? excess : thread->of_this_wait;
    if (ns <= 0)
        return;
    credit(watch, thread->entry, -ns, 0);
    thread->settled -= ns;
    thread->of_this_wait -= ns;
}

static void credit_ready(struct hp_watch *watch, struct hp_watched *thread, int32_t entry)
{
    const uint64_t ready = thread->ready - thread->ready_before;
    if (ready <= thread->settled_ready)
        return;
    credit(watch, entry, (int64_t)(ready - thread->settled_ready), 1);
    thread->settled_ready = ready;
}

/*
 * Of a thread that only runs, what is neither is no waiting either, but time that interrupts or a hypervisor took from it.
 */
static void settle_running(struct hp_watch *watch, struct hp_watched *thread)
{
    const int64_t so_far = waited(thread);
    if (thread->running_looks++ == 0) {
        thread->running_floor = so_far;
        thread->running_switches = read_switches(watch, thread->tid);
    }
    if (so_far < thread->running_floor)
        thread->running_floor = so_far;
    if (thread->running_looks < RUNNING_WINDOW)
        return;
    if (thread->running_switches != UINT64_MAX && read_switches(watch, thread->tid) == thread->running_switches &&
        thread->running_floor > thread->settled)
        thread->settled = thread->running_floor;
    thread->running_looks = 0;
}

static bool was_stopped(const struct hp_watch *watch, const struct hp_watched *thread)
{
    return thread->entry >= 0 && watch->entries[thread->entry].cause == HP_WAIT_STOPPED;
}

/* It has run since the last look. What it waited before it did so is known only if that was all it did. */
static void end_wait(struct hp_watch *watch, struct hp_watched *thread, bool is_running, uint64_t slices_before)
{
    if (thread->is_waiting && ((is_running && thread->slices == slices_before + 1) || was_stopped(watch, thread)))
        credit_waiting(watch, thread, 0);
    take_back(watch, thread);
    thread->is_waiting = false;
}

static void look_at_running(struct hp_watch *watch, struct hp_watched *thread)
{
    static const struct finding ready = {.cause = HP_WAIT_RUN_QUEUE, .call = -1};
    if (thread->ready - thread->ready_before > thread->settled_ready) {
        thread->ready_entry = entry_for(watch, find_node(watch, thread), &ready);
        credit_ready(watch, thread, thread->ready_entry);
    }
    settle_running(watch, thread);
}

static void look_at_waiting(struct hp_watch *watch, struct hp_watched *thread, char state)
{
    struct finding finding;
    struct account again;
    const bool is_found = find_cause(watch, thread->tid, state, &finding);
    const uint32_t node = is_found ? find_node(watch, thread) : 0;
    /* Has it run meanwhile, then cause and place do not belong together. */
    if (!is_found || !read_account(watch, thread, &again) || again.slices != thread->slices)
        return;
    thread->entry = entry_for(watch, node, &finding);
    thread->of_this_wait = 0;
    thread->is_waiting = true;
    thread->running_looks = 0;
    credit_waiting(watch, thread, 1);
}

/* When it began, by CLOCK_MONOTONIC; at the latest, since the kernel tells it in large steps. */
static uint64_t began_ns(uint64_t start, uint64_t now)
{
    struct timespec boot;
    clock_gettime(CLOCK_BOOTTIME, &boot);
    const uint64_t now_boot = (uint64_t)boot.tv_sec * 1000000000u + (uint64_t)boot.tv_nsec;
    const uint64_t latest = (start + 1) * (1000000000u / KERNEL_HZ);
    const uint64_t age = now_boot > latest ? now_boot - latest : 0;
    return age < now ? now - age : now;
}

/* A thread that was not there at the last look is watched from its beginning, any other from now on. */
static void begin_thread(const struct hp_watch *watch, struct hp_watched *thread, uint64_t start,
                         const struct account *account, uint64_t now)
{
    const uint64_t began = began_ns(start, now);
    thread->since_ns = now;
    thread->ran_before = account->ran;
    thread->ready_before = account->ready;
    if (watch->round > 1 && began >= watch->round_ns) {
        const uint64_t busy = account->ran + account->ready;
        thread->since_ns = began + busy > now && busy < now ? now - busy : began;
        thread->ran_before = thread->ready_before = 0;
    }
    thread->looked_ns = thread->since_ns;
}

/* False: it is gone. */
static bool look_at(struct hp_watch *watch, struct hp_watched *thread)
{
    struct account account;
    uint64_t start = 0;
    if (!read_account(watch, thread, &account))
        return false;
    const uint64_t now = hp_clock_monotonic_ns();
    const bool is_new = thread->since_ns == 0;
    const bool is_still = thread->is_waiting && account.slices == thread->slices && account.ran == thread->ran;
    const char state = is_still ? 'S' : read_state(watch, thread->tid, &start);
    if (state == 'X' || state == 'Z')
        return false;
    if (is_new)
        begin_thread(watch, thread, start, &account, now);
    const uint64_t slices_before = thread->slices;
    watch->sums.looks++;
    watch->sums.watched_ns += now - thread->looked_ns;
    thread->looked_ns = now;
    thread->ran = account.ran;
    thread->ready = account.ready;
    thread->slices = account.slices;
    if (is_still) {
        credit_waiting(watch, thread, 1);
        return true;
    }
    end_wait(watch, thread, state == 'R', slices_before);
    if (state == 'R')
        look_at_running(watch, thread);
    else
        look_at_waiting(watch, thread, state);
    return true;
}

/* What is left goes where it was seen last. */
static void end_thread(struct hp_watch *watch, struct hp_watched *thread)
{
    if (thread->since_ns != 0) {
        credit_waiting(watch, thread, 0);
        credit_ready(watch, thread, thread->ready_entry != NO_ENTRY ? thread->ready_entry : thread->entry);
    }
    let_close(watch, thread);
}

/* --------------------------------------------------------------------------------------------- a process */

/* They come in the same order each time, so the next one is where the last one was, or behind it. */
static struct hp_watched *watched(struct hp_watch *watch, uint32_t tid)
{
    for (uint32_t step = 0; step < watch->thread_count; step++) {
        const uint32_t at = (watch->hint + step) % watch->thread_count;
        if (watch->threads[at].tid == tid) {
            watch->hint = at + 1;
            return &watch->threads[at];
        }
    }
    if (watch->thread_count == HP_WATCH_THREADS)
        return NULL;
    struct hp_watched *thread = &watch->threads[watch->thread_count++];
    *thread = (struct hp_watched){
        .tid = tid, .file = -1, .entry = NO_ENTRY, .ready_entry = NO_ENTRY, .seen_without = UINT32_MAX};
    keep_open(watch, thread);
    return thread;
}

static void visit_task(const char *name, void *context)
{
    struct hp_watch *watch = context;
    const uint64_t tid = number_at(&name);
    if (tid == 0 || tid > INT32_MAX || tid == watch->target.left_out)
        return;
    struct hp_watched *thread = watched(watch, (uint32_t)tid);
    if (thread != NULL)
        thread->round = watch->round;
}

static void drop_gone(struct hp_watch *watch)
{
    uint32_t kept = 0;
    for (uint32_t at = 0; at < watch->thread_count; at++) {
        struct hp_watched *thread = &watch->threads[at];
        if (thread->round != watch->round || !look_at(watch, thread))
            end_thread(watch, thread);
        else
            watch->threads[kept++] = *thread;
    }
    watch->thread_count = kept;
}

/* What has changed goes into the session: entries first, then how many there are. */
static bool write_back(struct hp_watch *watch)
{
    const struct hp_watch_target *target = &watch->target;
    for (uint32_t at = 0; at < watch->sums.used; at++) {
        if (!watch->is_changed[at])
            continue;
        const size_t offset = watch->at + sizeof(struct hp_waits) + at * sizeof(struct hp_wait);
        if (!target->write(target->context, (uint32_t)offset, &watch->entries[at], sizeof watch->entries[at]))
            return false;
        watch->is_changed[at] = false;
    }
    return target->write(target->context, watch->at, &watch->sums, sizeof watch->sums);
}

/* The part of the header that is asked at each look. */
static bool read_header(struct hp_watch *watch)
{
    struct hp_header header;
    if (!watch->target.read(watch->target.context, 0, &header, offsetof(struct hp_header, losses)) ||
        header.state != HP_STATE_LIVE)
        return false;
    watch->threads_seen = header.threads_seen;
    watch->first_record = header.threads;
    return true;
}

/* After exec. Of a process that has changed its rights it cannot be told. */
static bool is_another_program(const struct hp_watch *watch)
{
    const uint64_t executable = executable_of(watch->target.pid);
    return executable != 0 && executable != watch->executable;
}

bool hp_watch_look(struct hp_watch *watch)
{
    char path[96];
    const uint64_t now = hp_clock_monotonic_ns();
    watch->round++;
    watch->hint = 0;
    if (!read_header(watch) || is_another_program(watch))
        return false;
    hp_file_each(path_of(path, watch->target.pid, 0, "task"), visit_task, watch);
    drop_gone(watch);
    watch->round_ns = now;
    return watch->thread_count > 0 && write_back(watch);
}

static bool is_watched_by_another(uint32_t watcher)
{
    return watcher != 0 && watcher != hp_sys_process_id() && hp_process_exists(watcher);
}

/* Goes on with what a watcher before us left. */
static bool read_entries(struct hp_watch *watch)
{
    const uint64_t end = (uint64_t)watch->at + sizeof watch->sums;
    if (watch->sums.used > watch->capacity)
        return false;
    return watch->sums.used == 0 ||
           read_session(watch, end, watch->entries, watch->sums.used * sizeof watch->entries[0]);
}

bool hp_watch_begin(struct hp_watch *watch, const struct hp_watch_target *target)
{
    struct hp_header header;
    memset(watch, 0, sizeof *watch);
    watch->target = *target;
    if (!target->read(target->context, 0, &header, sizeof header) || header.pid != target->pid ||
        header.waits == 0 || header.waits % 8 != 0 ||
        !read_session(watch, header.waits, &watch->sums, sizeof watch->sums) || watch->sums.capacity == 0 ||
        is_watched_by_another(watch->sums.watcher))
        return false;
    watch->at = header.waits;
    watch->capacity = watch->sums.capacity < HP_WATCH_ENTRIES ? watch->sums.capacity : HP_WATCH_ENTRIES;
    const uint64_t end = (uint64_t)watch->at + sizeof watch->sums + watch->capacity * sizeof watch->entries[0];
    if (end > UINT32_MAX || !read_entries(watch))
        return false;
    watch->executable = executable_of(target->pid);
    watch->sums.watcher = hp_sys_process_id();
    return true;
}

void hp_watch_end(struct hp_watch *watch)
{
    for (uint32_t at = 0; at < watch->thread_count; at++)
        end_thread(watch, &watch->threads[at]);
    watch->thread_count = 0;
    write_back(watch);
}

uint32_t hp_watch_period_us(uint64_t look_ns)
{
    const uint64_t least = look_ns / 10; /* a hundred times, in microseconds */
    if (least >= HP_WATCH_LONGEST_PERIOD_US)
        return HP_WATCH_LONGEST_PERIOD_US;
    return least > HP_WATCH_PERIOD_US ? (uint32_t)least : HP_WATCH_PERIOD_US;
}

void hp_watch_note(struct hp_watch *watch, uint32_t period_us, uint64_t look_ns)
{
    watch->sums.period_us = period_us;
    watch->sums.watcher_ns += look_ns;
}
