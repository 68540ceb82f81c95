/* What a thread waits for. SPDX-License-Identifier: MIT */
#include "wait_cause.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys.h"
#include "system_calls.h"
#include "task_files.h"
#include "text.h"

_Static_assert(sizeof((struct hp_wait *)0)->what == HP_SOCKET_NAME, "names fit");

/*
 * What can be said of a socket. That stays the same but for one that is connected after it was looked up: it keeps its own address, which
 * is right as well. To ask again at every look would be to read all tables of sockets each time.
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

static void look_at_file(struct hp_wait_finder *finder, struct hp_wait_found *finding, bool is_by_file,
                         uint64_t descriptor)
{
    char name[24], path[HP_TASK_PATH], target[512];
    struct hp_text text;
    hp_text_init(&text, name, sizeof name);
    hp_text_string(&text, "fd/");
    hp_text_u64(&text, (uint32_t)descriptor);
    hp_task_path(path, finder->pid, 0, hp_text_end(&text));
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
    name_socket(finder, hp_task_number(&inode), finding->what);
}

/* Where the system call may not be seen: what the kernel calls the place it waits at. */
static void look_at_place(const struct hp_wait_finder *finder, uint32_t tid, char state,
                          struct hp_wait_found *finding)
{
    char text[64];
    finding->cause = state == 'D' ? HP_WAIT_DISK : HP_WAIT_OTHER;
    if (hp_task_read(finder->pid, tid, "wchan", text, sizeof text) && text[0] != '0')
        set_what(finding, text, strlen(text));
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
    return true;
}
