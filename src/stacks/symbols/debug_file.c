/* Finds the separate debug file of a stripped file. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* pipe2, environ */
#include "debug_file.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"

#define ROOT "/usr/lib/debug"

static bool open_path(const char *path, struct hp_image_file *ret_debug)
{
    const int fd = hp_regular_open(AT_FDCWD, path, O_RDONLY);
    return fd >= 0 && hp_image_file_read(ret_debug, fd);
}

static bool has_same_id(const struct hp_image_file *file, const struct hp_image_file *debug)
{
    return hp_build_id_equal(&file->build_id, &debug->build_id);
}

/* Closes an open file that is another's. */
static bool is_kept(bool belongs, struct hp_image_file *debug)
{
    if (!belongs)
        hp_image_file_close(debug);
    return belongs;
}

/* Whether snprintf wrote a whole path. */
static bool has_room(int length) { return length > 0 && length < PATH_MAX; }

/* ------------------------------------------------------------------------------------- debug files from servers */

#define MOST_NS UINT64_C(120000000000) /* in total: a server may be slow, or down */
#define LOOK_MS 200                    /* between two checks of the clock */

static bool is_allowed, is_held, is_cut_short;
static uint64_t spent_ns;

void hp_debuginfod_allow(void) { is_allowed = true; }

void hp_debuginfod_hold(bool is_to_be_held) { is_held = is_to_be_held; }

bool hp_debuginfod_is_cut_short(void) { return is_cut_short; }

/* ------------------------------------------------------------------------------------------------ Ctrl-C */

/* While a server is asked, Ctrl-C cancels only that: SIGINT is blocked, and does not end us. */
struct impatience {
    int fd; /* -1: not available */
    sigset_t before;
};

static void begin_impatience(struct impatience *impatience)
{
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupt, &impatience->before);
    impatience->fd = signalfd(-1, &interrupt, SFD_NONBLOCK | SFD_CLOEXEC);
    if (impatience->fd < 0) /* then SIGINT ends us, as usual */
        pthread_sigmask(SIG_SETMASK, &impatience->before, NULL);
}

/* Takes SIGINT, if it is pending. */
static bool has_come(const struct impatience *impatience)
{
    struct signalfd_siginfo info;
    if (impatience->fd >= 0 && read(impatience->fd, &info, sizeof info) > 0)
        is_cut_short = true;
    return is_cut_short;
}

static void end_impatience(const struct impatience *impatience)
{
    if (impatience->fd < 0)
        return;
    close(impatience->fd);
    pthread_sigmask(SIG_SETMASK, &impatience->before, NULL);
}

/* --------------------------------------------------------------------------------------- debuginfod-find */

static int start(const char *const *argv, int output, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none); /* our signals may be blocked */
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int problem = posix_spawnp(ret_pid, argv[0], &actions, &attributes, (char **)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return problem;
}

/* Reads its output until the deadline, or as much as there is room for. */
static size_t read_all(int fd, const struct impatience *impatience, char *bytes, size_t size, uint64_t until_ns)
{
    struct pollfd files[] = {{.fd = fd, .events = POLLIN}, {.fd = impatience->fd, .events = POLLIN}};
    size_t length = 0;
    while (length < size && hp_clock_monotonic_ns() < until_ns && !has_come(impatience)) {
        if (poll(files, 2, LOOK_MS) <= 0 || files[0].revents == 0)
            continue;
        const ssize_t got = read(fd, bytes + length, size - length);
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
        length += got > 0 ? (size_t)got : 0;
    }
    return length;
}

static bool has_succeeded(pid_t pid)
{
    int status = 0;
    pid_t ended;
    do
        ended = waitpid(pid, &status, 0);
    while (ended < 0 && errno == EINTR);
    return ended == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* One line: the path of the fetched file. The child is killed at the deadline, or if the user cancels. */
static bool find(const char *build_id, const struct impatience *impatience, char path[PATH_MAX], uint64_t until_ns)
{
    const char *const argv[] = {"debuginfod-find", "debuginfo", build_id, NULL};
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    const bool is_started = start(argv, ends[1], &pid) == 0;
    close(ends[1]);
    const size_t length = is_started ? read_all(ends[0], impatience, path, PATH_MAX - 1, until_ns) : 0;
    close(ends[0]);
    if (is_started && (has_come(impatience) || hp_clock_monotonic_ns() >= until_ns))
        kill(pid, SIGKILL);
    path[length] = '\0';
    path[strcspn(path, "\n")] = '\0';
    return is_started && has_succeeded(pid) && path[0] == '/';
}

bool hp_debuginfod_open(const struct hp_image_file *file, struct hp_image_file *ret_debug)
{
    char build_id[HP_BUILD_ID_TEXT], path[PATH_MAX];
    struct impatience impatience;
    if (!is_allowed || is_held || is_cut_short || file->build_id.size == 0 || spent_ns >= MOST_NS)
        return false;
    hp_build_id_put(&file->build_id, build_id);
    const uint64_t before = hp_clock_monotonic_ns();
    begin_impatience(&impatience);
    const bool is_found = find(build_id, &impatience, path, before + MOST_NS - spent_ns);
    end_impatience(&impatience);
    spent_ns += hp_clock_monotonic_ns() - before;
    return is_found && open_path(path, ret_debug) && is_kept(has_same_id(file, ret_debug), ret_debug);
}

/* --------------------------------------------------------------------------------------------- build-id */

static bool open_by_build_id(const struct hp_image_file *file, const char *sysroot, struct hp_image_file *ret_debug)
{
    char id[HP_BUILD_ID_TEXT], path[PATH_MAX];
    hp_build_id_put(&file->build_id, id);
    return file->build_id.size >= 2 &&
           has_room(snprintf(path, sizeof path, "%s" ROOT "/.build-id/%.2s/%s.debug", sysroot, id, id + 2)) &&
           open_path(path, ret_debug) && is_kept(has_same_id(file, ret_debug), ret_debug);
}

/* ------------------------------------------------------------------------------------------- debug link */

/* The CRC of debug links. */
static uint32_t sum_of(int fd)
{
    unsigned char bytes[65536];
    uint32_t table[256], sum = UINT32_MAX;
    uint64_t offset = 0;
    ssize_t got;
    for (uint32_t at = 0; at < 256; at++) {
        table[at] = at;
        for (int bit = 0; bit < 8; bit++)
            table[at] = table[at] >> 1 ^ (table[at] & 1 ? 0xedb88320u : 0);
    }
    while ((got = pread(fd, bytes, sizeof bytes, (off_t)offset)) > 0) {
        for (ssize_t at = 0; at < got; at++)
            sum = table[(sum ^ bytes[at]) & 255] ^ sum >> 8;
        offset += (uint64_t)got;
    }
    return ~sum;
}

/* If both files have a build-id, it decides, and the CRC is not computed. */
static bool belongs(const struct hp_image_file *file, const struct hp_image_file *debug, uint32_t sum)
{
    return file->build_id.size > 0 && debug->build_id.size > 0 ? has_same_id(file, debug)
                                                               : sum_of(debug->fd) == sum;
}

/* Next to the file, in .debug below it, and in the global debug folder. */
static bool open_by_link(const struct hp_image_file *file, const char *path, const char *sysroot,
                         struct hp_image_file *ret_debug)
{
    static const char *const places[][2] = {{"", "/"}, {"", "/.debug/"}, {ROOT, "/"}};
    char name[256], whole[PATH_MAX];
    uint32_t sum;
    const char *end = strrchr(path, '/');
    if (end == NULL || !hp_image_file_debug_link(file, name, sizeof name, &sum))
        return false;
    for (size_t at = 0; at < sizeof places / sizeof places[0]; at++) {
        if (has_room(snprintf(whole, sizeof whole, "%s%s%.*s%s%s", sysroot, places[at][0], (int)(end - path), path,
                              places[at][1], name)) &&
            open_path(whole, ret_debug) && is_kept(belongs(file, ret_debug, sum), ret_debug))
            return true;
    }
    return false;
}

bool hp_debug_file_open(const struct hp_image_file *file, const char *path, const char *sysroot,
                        struct hp_image_file *ret_debug)
{
    const char *before = sysroot != NULL ? sysroot : "";
    *ret_debug = (struct hp_image_file){.fd = -1};
    return open_by_build_id(file, before, ret_debug) || open_by_link(file, path, before, ret_debug) ||
           hp_debuginfod_open(file, ret_debug);
}
