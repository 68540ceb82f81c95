/* What a thread waits for. SPDX-License-Identifier: MIT */
#include "wait_cause.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "futex.h"
#include "raw_call.h"
#include "system_calls.h"
#include "task_files.h"
#include "text.h"

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

/* What a descriptor of the process is. `ret_path` is its link. False: unknown. */
static bool read_link(const struct hp_wait_finder *finder, uint64_t descriptor, char ret_path[HP_TASK_PATH],
                      char target[LINK_BYTES], size_t *ret_length)
{
    char name[24];
    struct hp_text text;
    hp_text_init(&text, name, sizeof name);
    hp_text_format(&text, "fd/%u", (uint32_t)descriptor);
    hp_task_path(ret_path, finder->pid, 0, hp_text_end(&text));
    const ssize_t length = readlink(ret_path, target, LINK_BYTES - 1);
    if (length <= 0)
        return false;
    target[length] = '\0';
    *ret_length = (size_t)length;
    return true;
}

static void look_at_file(struct hp_wait_finder *finder, struct hp_wait_found *finding, bool is_by_file,
                         uint64_t descriptor)
{
    char path[HP_TASK_PATH], target[LINK_BYTES];
    size_t length;
    if (!read_link(finder, descriptor, path, target, &length))
        return;
    if (is_by_file)
        finding->cause = cause_of_target(path, target);
    set_what(finding, target, length);
    if (!hp_text_begins(target, "socket:["))
        return;
    const char *inode = target + sizeof "socket:[" - 1;
    name_socket(finder, hp_task_number(&inode), finding->what);
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

/* ----------------------------------------------------------------------------------------------- futexes */

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
    char path[HP_TASK_PATH], target[LINK_BYTES];
    size_t length;
    int32_t descriptor;
    const uint64_t address = hp_task_hex(&arguments), count = hp_task_hex(&arguments);
    if (count == 1 && read_memory(finder, address, &descriptor, sizeof descriptor) && descriptor >= 0 &&
        read_link(finder, (uint32_t)descriptor, path, target, &length) &&
        hp_text_begins(target, "anon_inode:[timerfd]"))
        set_what(finding, "timer", strlen("timer"));
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
    if (ret_finding->cause == HP_WAIT_CHILD)
        look_at_child(finder, tid, ret_finding);
    return true;
}
