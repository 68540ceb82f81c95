/* In which terminal something was started. SPDX-License-Identifier: MIT */
#include "run_terminal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "process.h"

struct terminal {
    uint32_t leader;
    uint64_t began; /* 0: not known */
};

static struct terminal terminal_of(pid_t pid)
{
    const pid_t leader = getsid(pid);
    return leader > 0 ? (struct terminal){(uint32_t)leader, hp_process_start_time((uint32_t)leader)}
                      : (struct terminal){0};
}

static bool is_ours(const struct terminal *terminal)
{
    const struct terminal ours = terminal_of(0);
    return terminal->began != 0 && terminal->leader == ours.leader && terminal->began == ours.began;
}

static bool path_in(const char *folder, char *path, size_t size)
{
    return (size_t)snprintf(path, size, "%s/%s", folder, HP_RUN_TERMINAL_NAME) < size;
}

void hp_run_terminal_write(const char *folder)
{
    char path[2200], text[64];
    const struct terminal ours = terminal_of(0);
    const int length =
        snprintf(text, sizeof text, "%u %llu\n", (unsigned)ours.leader, (unsigned long long)ours.began);
    const int fd = path_in(folder, path, sizeof path)
                       ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
                       : -1;
    if (fd < 0)
        return;
    if (write(fd, text, (size_t)length) != length)
        unlink(path);
    close(fd);
}

void hp_run_terminal_forget(const char *folder)
{
    char path[2200];
    if (path_in(folder, path, sizeof path))
        unlink(path);
}

bool hp_run_is_of_this_terminal(const char *folder)
{
    char path[2200], bytes[64] = "";
    unsigned leader;
    unsigned long long began;
    const int fd = path_in(folder, path, sizeof path) ? hp_regular_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW) : -1;
    if (fd < 0)
        return false;
    const ssize_t length = read(fd, bytes, sizeof bytes - 1);
    close(fd);
    return length > 0 && sscanf(bytes, "%u %llu", &leader, &began) == 2 &&
           is_ours(&(struct terminal){.leader = leader, .began = began});
}

/* A process of that number that began later is another one. */
bool hp_process_is_of_this_terminal(uint32_t pid, uint64_t latest_start)
{
    const uint64_t began = hp_process_start_time(pid);
    if (pid <= 1 || began == 0 || began > latest_start)
        return false;
    const struct terminal terminal = terminal_of((pid_t)pid);
    return is_ours(&terminal);
}
