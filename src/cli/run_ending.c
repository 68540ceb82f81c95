/* Records how the program of a run ended. SPDX-License-Identifier: MIT */
#include "run_ending.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"

/* Not every C library has sigabbrev_np. */
static const char *signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
        {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
        {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
        {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"},
        {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"},
    };
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++)
        if (names[at].number == number)
            return names[at].name;
    return NULL;
}

static bool path_in(const char *folder, char *path, size_t size)
{
    return (size_t)snprintf(path, size, "%s/%s", folder, HP_RUN_ENDING_NAME) < size;
}

void hp_run_ending_write(const char *folder, int status)
{
    char path[2200], text[32];
    const bool is_killed = WIFSIGNALED(status);
    const int length = snprintf(text, sizeof text, "%s %d\n", is_killed ? "signal" : "exit",
                                is_killed ? WTERMSIG(status) : WEXITSTATUS(status));
    const int fd = path_in(folder, path, sizeof path)
                       ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
                       : -1;
    if (fd < 0)
        return;
    if (write(fd, text, (size_t)length) != length)
        unlink(path);
    close(fd);
}

bool hp_run_ending_read(const char *folder, char *text, size_t size)
{
    char path[2200], bytes[32] = "";
    int number;
    const int fd = path_in(folder, path, sizeof path) ? hp_regular_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW) : -1;
    if (fd < 0)
        return false;
    const ssize_t length = read(fd, bytes, sizeof bytes - 1);
    close(fd);
    if (length <= 0)
        return false;
    if (sscanf(bytes, "exit %d", &number) == 1)
        snprintf(text, size, "exit %d", number);
    else if (sscanf(bytes, "signal %d", &number) == 1 && signal_name(number) != NULL)
        snprintf(text, size, "%s", signal_name(number));
    else if (sscanf(bytes, "signal %d", &number) == 1)
        snprintf(text, size, "signal %d", number);
    else
        return false;
    return true;
}
