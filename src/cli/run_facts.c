/* What the folder of a run says of it. SPDX-License-Identifier: MIT */
#include "run_facts.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "process.h"

#define FACT_BYTES 64u

/* A fact is written once. */
static void write_fact(const char *folder, const char *name, const char *text)
{
    char path[2200];
    const ssize_t length = (ssize_t)strlen(text);
    const int fd = hp_file_path_in(folder, name, path, sizeof path)
                       ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
                       : -1;
    if (fd < 0)
        return;
    if (write(fd, text, (size_t)length) != length)
        unlink(path);
    close(fd);
}

static bool read_fact(const char *folder, const char *name, char *text, size_t size)
{
    char path[2200];
    const bool is_path = hp_file_path_in(folder, name, path, sizeof path);
    const int fd = is_path ? hp_regular_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW) : -1;
    if (fd < 0)
        return false;
    const ssize_t length = read(fd, text, size - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static void forget_fact(const char *folder, const char *name)
{
    char path[2200];
    if (hp_file_path_in(folder, name, path, sizeof path))
        unlink(path);
}

/* ------------------------------------------------------------------------------------- how the program ended */

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

void hp_run_ending_write(const char *folder, int status)
{
    char text[FACT_BYTES];
    const bool is_killed = WIFSIGNALED(status);
    snprintf(text, sizeof text, "%s %d\n", is_killed ? "signal" : "exit",
             is_killed ? WTERMSIG(status) : WEXITSTATUS(status));
    write_fact(folder, HP_RUN_ENDING_NAME, text);
}

bool hp_run_ending_read(const char *folder, char *text, size_t size)
{
    char bytes[FACT_BYTES];
    int number;
    if (!read_fact(folder, HP_RUN_ENDING_NAME, bytes, sizeof bytes))
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

/* ----------------------------------------------------------------------------------------------- the sources */

void hp_run_source_write(const char *folder, const char *facts)
{
    if (facts[0] != '\0')
        write_fact(folder, HP_RUN_SOURCE_NAME, facts);
}

bool hp_run_source_read(const char *folder, char facts[HP_RUN_SOURCE])
{
    return read_fact(folder, HP_RUN_SOURCE_NAME, facts, HP_RUN_SOURCE);
}

void hp_run_source_forget(const char *folder) { forget_fact(folder, HP_RUN_SOURCE_NAME); }

/* --------------------------------------------------------------------------------------------------- natives */

void hp_run_natives_write(const char *folder, const char *lines)
{
    if (lines[0] != '\0')
        write_fact(folder, HP_RUN_NATIVES_NAME, lines);
}

bool hp_run_natives_read(const char *folder, char lines[HP_RUN_NATIVES])
{
    return read_fact(folder, HP_RUN_NATIVES_NAME, lines, HP_RUN_NATIVES);
}

/* ---------------------------------------------------------------------------------------------- the terminal */

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

void hp_run_terminal_write(const char *folder)
{
    char text[FACT_BYTES];
    const struct terminal ours = terminal_of(0);
    snprintf(text, sizeof text, "%u %llu\n", (unsigned)ours.leader, (unsigned long long)ours.began);
    write_fact(folder, HP_RUN_TERMINAL_NAME, text);
}

void hp_run_terminal_forget(const char *folder) { forget_fact(folder, HP_RUN_TERMINAL_NAME); }

bool hp_run_is_of_this_terminal(const char *folder)
{
    char bytes[FACT_BYTES];
    unsigned leader;
    unsigned long long began;
    return read_fact(folder, HP_RUN_TERMINAL_NAME, bytes, sizeof bytes) &&
           sscanf(bytes, "%u %llu", &leader, &began) == 2 &&
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
