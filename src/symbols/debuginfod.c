/* Debug files from servers. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* pipe2 */
#include "debuginfod.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "clock.h"
#include "regular_file.h"

#define MOST_NS UINT64_C(120000000000) /* of asking, in all: a server may be slow, or not there */

extern char **environ;

static bool is_allowed;
static uint64_t spent_ns;

void hp_debuginfod_allow(void) { is_allowed = true; }

static int start(const char *const *argv, int output, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none); /* ours may be blocked */
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

/* All that it writes, or as much as there is room for. */
static size_t read_all(int fd, char *bytes, size_t size)
{
    size_t length = 0;
    for (ssize_t got; length < size; length += (size_t)got) {
        got = read(fd, bytes + length, size - length);
        if (got < 0 && errno == EINTR)
            got = 0;
        else if (got <= 0)
            break;
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

/* One line: the path of what it has fetched. */
static bool find(const char *build_id, char path[PATH_MAX])
{
    const char *const argv[] = {"debuginfod-find", "debuginfo", build_id, NULL};
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    const bool is_started = start(argv, ends[1], &pid) == 0;
    close(ends[1]);
    const size_t length = is_started ? read_all(ends[0], path, PATH_MAX - 1) : 0;
    close(ends[0]);
    path[length] = '\0';
    path[strcspn(path, "\n")] = '\0';
    return is_started && has_succeeded(pid) && path[0] == '/';
}

bool hp_debuginfod_open(const struct hp_image_file *file, struct hp_image_file *ret_debug)
{
    char build_id[2 * sizeof file->build_id.bytes + 1], path[PATH_MAX];
    if (!is_allowed || file->build_id.size == 0 || spent_ns > MOST_NS)
        return false;
    for (size_t at = 0; at < file->build_id.size; at++)
        snprintf(build_id + 2 * at, 3, "%02x", file->build_id.bytes[at]);
    const uint64_t before = hp_clock_monotonic_ns();
    const bool is_found = find(build_id, path);
    spent_ns += hp_clock_monotonic_ns() - before;
    const int fd = is_found ? hp_regular_open(AT_FDCWD, path, O_RDONLY) : -1;
    if (fd < 0 || !hp_image_file_read(ret_debug, fd))
        return false;
    if (hp_build_id_equal(&file->build_id, &ret_debug->build_id))
        return true;
    hp_image_file_close(ret_debug);
    return false;
}
