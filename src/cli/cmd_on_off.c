/* hotpath on and hotpath off: switch recording of a live process from outside. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arguments.h"
#include "command.h"
#include "layout.h"
#include "session_file.h"
#include "sessions.h"
#include "units.h"

enum outcome { SWITCHED, WAS_SO, HAS_ENDED, FAILED };

/*
 * HP_GATE_PAUSED is in the top byte of the gate, with only one other mark, and only that byte is written. So a
 * session that ends meanwhile stays ended: the rest of its gate is 0. Pairs with the gate check of zones.
 */
#define MARK_BYTE (offsetof(struct hp_header, gate) + (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 3 : 0))

static enum outcome flip(int fd, bool is_on)
{
    uint32_t now;
    if (pread(fd, &now, sizeof now, (off_t)offsetof(struct hp_header, gate)) != (ssize_t)sizeof now)
        return FAILED;
    if (now == 0)
        return HAS_ENDED;
    const uint32_t wanted = is_on ? now & ~HP_GATE_PAUSED : now | HP_GATE_PAUSED;
    const unsigned char byte = (unsigned char)(wanted >> 24);
    if (now == wanted)
        return WAS_SO;
    return pwrite(fd, &byte, 1, (off_t)MARK_BYTE) == 1 ? SWITCHED : FAILED;
}

/* Whether the file is still the session that was found. */
static bool is_session(int fd)
{
    char magic[sizeof HP_MAGIC];
    struct stat status;
    errno = EINVAL;
    return fstat(fd, &status) == 0 && status.st_size >= (off_t)HP_HEADER_BYTES &&
           pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic && memcmp(magic, HP_MAGIC, sizeof magic) == 0;
}

/*
 * The gate is in the header, which every recording process has mapped. We write it with pwrite: the file may be
 * truncated, and a mapping would then raise SIGBUS.
 */
static enum outcome flip_file(const char *path, bool is_on)
{
    const int fd = hp_session_file_descriptor(AT_FDCWD, path, O_RDWR);
    const enum outcome outcome = fd >= 0 && is_session(fd) ? flip(fd, is_on) : FAILED;
    if (outcome == FAILED)
        hp_fail("cannot change the session '%s': %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return outcome;
}

static int report_outcome(enum outcome outcome, const char *process, bool is_on)
{
    switch (outcome) {
    case SWITCHED:
        printf("recording in process %s is now %s\n", process, is_on ? "on" : "off");
        return EXIT_DONE;
    case WAS_SO:
        printf("recording in process %s was already %s\n", process, is_on ? "on" : "off");
        return EXIT_DONE;
    case HAS_ENDED:
        return hp_fail("the session of process %s has ended", process);
    case FAILED:
        break;
    }
    return EXIT_FAILED;
}

static int switch_live(const struct hp_stored_session *session, bool is_on)
{
    char process[16];
    snprintf(process, sizeof process, "%u", (unsigned)session->pid);
    return report_outcome(flip_file(session->path, is_on), process, is_on);
}

/* All live processes of the latest run of that program. */
static int switch_program(const struct hp_settings *settings, const char *name, bool is_on)
{
    struct hp_stored_session program;
    struct hp_sessions parts = {0};
    int status = EXIT_DONE;
    size_t live = 0;
    if (!hp_program_find(&program, settings, name))
        return hp_fail("no process or program '%s'; see 'hotpath ls -a'", name);
    if (!program.is_run)
        return program.state == HP_SESSION_LIVE ? switch_live(&program, is_on)
                                                : hp_fail("no program '%s' is live; see 'hotpath ls -a'", name);
    hp_sessions_in(&parts, program.path);
    for (size_t at = 0; at < parts.count; at++)
        if (parts.all[at].state == HP_SESSION_LIVE) {
            const int one = switch_live(&parts.all[at], is_on);
            status = one > status ? one : status;
            live++;
        }
    hp_sessions_free(&parts);
    return live > 0 ? status : hp_fail("no program '%s' is live; see 'hotpath ls -a'", name);
}

/* A process may have had several sessions; at most one is live. */
static int switch_process(const struct hp_sessions *sessions, const char *process, bool is_on)
{
    uint64_t pid;
    if (!hp_number_unsigned(process, strlen(process), UINT32_MAX, &pid))
        return hp_misuse(is_on ? &hp_command_on : &hp_command_off, "'%s' is not a process id", process);
    for (size_t at = 0; at < sessions->count; at++) {
        const struct hp_stored_session *session = &sessions->all[at];
        if (session->pid == pid && session->state == HP_SESSION_LIVE && !session->is_run)
            return report_outcome(flip_file(session->path, is_on), process, is_on);
    }
    return hp_fail("you have no live session of process %s; see 'hotpath ls -a'", process);
}

static int switch_all(const struct hp_arguments *arguments, bool is_on)
{
    static struct hp_settings settings;
    struct hp_sessions sessions = {0};
    if (arguments->operand_count == 0)
        return hp_misuse(arguments->command, "missing process id or program");
    hp_arguments_settle(arguments, &settings);
    int status = hp_sessions_find(&sessions, &settings.record, true) ? EXIT_DONE : EXIT_FAILED;
    for (int at = 0; at < arguments->operand_count; at++) {
        const char *name = arguments->operands[at];
        const bool is_process = name[strspn(name, "0123456789")] == '\0';
        const int one =
            is_process ? switch_process(&sessions, name, is_on) : switch_program(&settings, name, is_on);
        status = one > status ? one : status;
    }
    hp_sessions_free(&sessions);
    return status;
}

static int switch_on(const struct hp_arguments *arguments) { return switch_all(arguments, true); }
static int switch_off(const struct hp_arguments *arguments) { return switch_all(arguments, false); }

const struct hp_command hp_command_on = {
    .name = "on",
    .group = HP_GROUP_CONTROL,
    .operands = "PID|PROGRAM...",
    .operand = HP_OPERAND_PROCESS,
    .summary = "Resumes recording in a live process.",
    .details = "The name of a program stands for all processes of its latest run.\n"
               "Recording is on unless 'hotpath off' has paused it.\n",
    .scopes = HP_SCOPE_FOLDER,
    .run = switch_on,
};

const struct hp_command hp_command_off = {
    .name = "off",
    .group = HP_GROUP_CONTROL,
    .operands = "PID|PROGRAM...",
    .operand = HP_OPERAND_PROCESS,
    .summary = "Pauses recording in a live process until 'hotpath on'.",
    .details = "The name of a program stands for all processes of its latest run.\n"
               "New zones are not recorded. Open zones are counted when they end. Everything\n"
               "recorded so far is kept. Children forked later record as usual.\n",
    .scopes = HP_SCOPE_FOLDER,
    .run = switch_off,
};
