/* Finds stored sessions, and removes them. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* getline */
#include "sessions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arith.h"
#include "axis.h"
#include "clock.h"
#include "command.h"
#include "growing_array.h"
#include "heat.h"
#include "io_layout.h"
#include "lock_layout.h"
#include "process.h"
#include "run_facts.h"
#include "session_dirs.h"
#include "session_file.h"
#include "stack_file.h"
#include "stack_ring.h"
#include "stack_watch.h"
#include "text.h"
#include "units.h"

const char *hp_session_name(const struct hp_stored_session *session) { return hp_text_base_name(session->path); }

/* ---------------------------------------------------------------------------------------------- folders */

static const char *user_name(uid_t user)
{
    const struct passwd *entry = getpwuid(user);
    return entry != NULL ? entry->pw_name : "another user";
}

/* A folder that exists but that others can write to is reported, not silently skipped. */
static bool is_safe(int fd, const char *folder)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return false;
    if (status.st_uid != geteuid())
        hp_fail("skipping '%s': it belongs to %s", folder, user_name(status.st_uid));
    else if (status.st_mode & 022)
        hp_fail("skipping '%s': others can write to it; to use it: chmod go-w '%s'", folder, folder);
    else
        return true;
    return false;
}

/* -1: it does not exist, or is not safe. */
static int open_folder(int parent, const char *name, const char *path)
{
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        hp_fail("skipping '%s': it is a symbolic link or not a directory", path);
    else if (fd < 0 && errno != ENOENT)
        hp_fail("skipping '%s': %s", path, strerror(errno));
    if (fd >= 0 && !is_safe(fd, path)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* --------------------------------------------------------------------------------------------- sessions */

static void describe(struct hp_stored_session *session, const struct hp_session_file *file)
{
    const struct hp_snapshot *snapshot = &file->snapshot;
    hp_copy_printable(session->command, sizeof session->command,
                      hp_snapshot_text(snapshot, snapshot->header.command));
    const char *begin;
    const size_t length = hp_text_program(session->command, &begin);
    snprintf(session->program, sizeof session->program, "%.*s", (int)length, begin);
    session->cpu_ns = hp_snapshot_cpu_ns(snapshot);
    session->began_ns = snapshot->header.wall_start_ns;
    session->disk_bytes = file->disk_bytes;
    session->pid = snapshot->header.pid;
    session->processes = 1;
    session->parent_pid = snapshot->header.parent_pid;
    session->process_start = snapshot->header.process_start;
    session->counted = snapshot->header.processes;
    session->is_outside = snapshot->header.outside != 0;
    session->is_recorded = (snapshot->header.features & HP_FEATURE_RECORDED) != 0;
    session->is_of_this_namespace = file->life != HP_LIFE_UNKNOWN;
    session->is_paused = file->life == HP_LIFE_LIVE && (snapshot->header.gate & HP_GATE_PAUSED) != 0;
    session->state = snapshot->is_finished           ? HP_SESSION_FINISHED
                     : file->life == HP_LIFE_LIVE    ? HP_SESSION_LIVE
                     : file->life == HP_LIFE_UNKNOWN ? HP_SESSION_ELSEWHERE
                                                     : HP_SESSION_CRASHED;
}

/* A file that is not a session, or not complete yet, is skipped. False: no memory. */
static bool add_session(struct hp_sessions *sessions, int folder, const char *path, const char *name)
{
    static struct hp_session_file file;
    bool has_memory = true;
    if (hp_session_file_peek(&file, folder, name)) {
        struct hp_stored_session *session = hp_sessions_add(sessions);
        has_memory = session != NULL;
        if (has_memory &&
            snprintf(session->path, sizeof session->path, "%s/%s", path, name) >= (int)sizeof session->path)
            sessions->count--;
        else if (has_memory)
            describe(session, &file);
    }
    hp_session_file_close(&file);
    return has_memory;
}

static int by_beginning(const void *a, const void *b)
{
    const struct hp_stored_session *x = a, *y = b;
    if (x->began_ns != y->began_ns)
        return x->began_ns < y->began_ns ? -1 : 1;
    return strcmp(x->path, y->path);
}

static struct hp_process_id process_of(const struct hp_stored_session *session)
{
    return (struct hp_process_id){session->pid, session->process_start};
}

/* Those that were written from outside come last. */
static int by_process(const void *a, const void *b)
{
    const struct hp_stored_session *x = a, *y = b;
    if (x->is_outside != y->is_outside)
        return x->is_outside ? 1 : -1;
    return hp_process_id_order(process_of(x), process_of(y));
}

static int newest_first(const void *a, const void *b) { return by_beginning(b, a); }

static void sort(struct hp_sessions *sessions, size_t from, int (*compare)(const void *, const void *))
{
    if (sessions->count > from)
        qsort(sessions->all + from, sessions->count - from, sizeof *sessions->all, compare);
}

/* Calls `take` for each name in an open folder and closes the folder. False: `take` returned false. */
typedef bool take_name(struct hp_sessions *sessions, int folder, const char *path, const char *name);

static bool each_name(struct hp_sessions *sessions, int folder, const char *path, take_name *take)
{
    DIR *listing = fdopendir(folder);
    if (listing == NULL) {
        close(folder);
        return false;
    }
    bool goes_on = true;
    for (const struct dirent *entry; goes_on && (entry = readdir(listing)) != NULL;)
        goes_on = take(sessions, folder, path, entry->d_name);
    closedir(listing);
    if (!goes_on)
        hp_fail("could not read or change all of '%s': %s", path, strerror(errno));
    return goes_on;
}

static bool take_session(struct hp_sessions *sessions, int folder, const char *path, const char *name)
{
    return !hp_text_has_suffix(name, HP_SESSION_SUFFIX) || add_session(sessions, folder, path, name);
}

/* ------------------------------------------------------------------------------------------------- runs */

/* As in reports (src/model/run.c): a process has a session for each program that it executed. Changes the order. */
static uint32_t count_processes(struct hp_sessions *parts)
{
    uint32_t count = 0;
    sort(parts, 0, by_process);
    for (size_t at = 0; at < parts->count; at++) {
        const struct hp_stored_session *part = &parts->all[at];
        const bool is_next =
            at > 0 && !part->is_outside && hp_process_id_is_same(process_of(part), process_of(part - 1));
        count += part->is_outside ? part->counted : is_next ? 0u : 1u;
    }
    return count == 0 && parts->count > 0 ? 1 : count;
}

size_t hp_sessions_alive(const struct hp_sessions *sessions)
{
    size_t count = 0;
    for (size_t at = 0; at < sessions->count; at++) {
        size_t before = 0;
        if (sessions->all[at].state != HP_SESSION_LIVE)
            continue;
        while (before < at &&
               (sessions->all[before].state != HP_SESSION_LIVE ||
                !hp_process_id_is_same(process_of(&sessions->all[before]), process_of(&sessions->all[at]))))
            before++;
        count += before == at;
    }
    return count;
}

static int by_name(const void *a, const void *b)
{
    const struct hp_stored_session *x = a, *y = b;
    return strcmp(x->program, y->program);
}

/* The program whose processes used most CPU time together. Changes the order. */
static void find_busiest(struct hp_stored_session *run, struct hp_sessions *parts)
{
    sort(parts, 0, by_name);
    for (size_t from = 0, to; from < parts->count; from = to) {
        uint64_t cpu_ns = 0;
        for (to = from; to < parts->count && by_name(&parts->all[from], &parts->all[to]) == 0; to++)
            cpu_ns += parts->all[to].cpu_ns;
        if (run->program[0] != '\0' && cpu_ns <= run->cpu_ns)
            continue;
        run->cpu_ns = cpu_ns;
        memcpy(run->program, parts->all[from].program, sizeof run->program);
    }
}

/* A run is live if any of its processes is, crashed if any of them is, and off if all live ones are. */
static void describe_run(struct hp_stored_session *run, const struct hp_sessions *parts, bool has_runner)
{
    size_t live = 0, paused = 0;
    run->is_run = true;
    run->state = has_runner ? HP_SESSION_LIVE : HP_SESSION_FINISHED;
    snprintf(run->command, sizeof run->command, "%s",
             parts->count > 0 ? parts->all[0].command : "(nothing recorded)");
    for (size_t at = 0; at < parts->count; at++) {
        const struct hp_stored_session *part = &parts->all[at];
        run->disk_bytes += part->disk_bytes;
        live += part->state == HP_SESSION_LIVE;
        paused += part->is_paused;
        if (part->state < run->state || (part->state == HP_SESSION_CRASHED && run->state == HP_SESSION_FINISHED))
            run->state = part->state;
    }
    run->is_paused = live > 0 && paused == live;
    if (parts->count > 0) {
        run->began_ns = parts->all[0].began_ns;
        run->pid = parts->all[0].pid;
    }
}

static uint64_t changed_ns(const struct stat *status)
{
    return (uint64_t)status->st_mtim.tv_sec * 1000000000u + (uint64_t)status->st_mtim.tv_nsec;
}

/* `hotpath run` holds a lock on the folder of its run. */
static bool add_run(struct hp_sessions *sessions, int parent, const char *path, const char *name)
{
    struct hp_sessions parts = {0};
    struct hp_stored_session run = {0};
    struct stat status;
    if (snprintf(run.path, sizeof run.path, "%s/%s", path, name) >= (int)sizeof run.path)
        return true;
    const int folder = open_folder(parent, name, run.path);
    if (folder < 0)
        return true;
    run.began_ns = fstat(folder, &status) == 0 ? changed_ns(&status) : 0;
    const bool has_runner = flock(folder, LOCK_SH | LOCK_NB) != 0;
    bool is_complete = each_name(&parts, folder, run.path, take_session);
    run.processes = count_processes(&parts);
    find_busiest(&run, &parts);
    sort(&parts, 0, by_beginning);
    describe_run(&run, &parts, has_runner);
    hp_sessions_free(&parts);
    struct hp_stored_session *place = hp_sessions_add(sessions);
    if (place != NULL)
        *place = run;
    return is_complete && place != NULL;
}

static bool take_any(struct hp_sessions *sessions, int folder, const char *path, const char *name)
{
    if (hp_text_has_suffix(name, HP_RUN_SUFFIX))
        return add_run(sessions, folder, path, name);
    return take_session(sessions, folder, path, name);
}

/* ---------------------------------------------------------------------------------------------- finding */

bool hp_sessions_in(struct hp_sessions *sessions, const char *folder)
{
    const size_t from = sessions->count;
    const int fd = open_folder(AT_FDCWD, folder, folder);
    if (fd < 0 || !each_name(sessions, fd, folder, take_session))
        return false;
    sort(sessions, from, by_beginning);
    return true;
}

bool hp_sessions_at(struct hp_sessions *sessions, const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return hp_sessions_in(sessions, path);
    struct hp_stored_session *session = strlen(path) < sizeof session->path ? hp_sessions_add(sessions) : NULL;
    if (session != NULL)
        memcpy(session->path, path, strlen(path) + 1);
    return session != NULL;
}

/* A folder that has disappeared meanwhile is skipped. */
static bool add_folder(struct hp_sessions *sessions, const char *folder)
{
    const int fd = open_folder(AT_FDCWD, folder, folder);
    return fd < 0 || each_name(sessions, fd, folder, take_session);
}

static bool add_parts(struct hp_sessions *sessions)
{
    bool is_complete = true;
    for (size_t at = 0, runs = sessions->count; at < runs; at++) {
        char folder[sizeof sessions->all[at].path];
        memcpy(folder, sessions->all[at].path, sizeof folder);
        if (sessions->all[at].is_run)
            is_complete &= add_folder(sessions, folder);
    }
    return is_complete;
}

/* One that does not exist has nothing. */
static bool add_all_of(struct hp_sessions *sessions, const char *folder)
{
    const int fd = folder[0] != '\0' ? open_folder(AT_FDCWD, folder, folder) : -1;
    return fd < 0 || each_name(sessions, fd, folder, take_any);
}

bool hp_sessions_find(struct hp_sessions *sessions, const struct hp_record_settings *settings, bool with_parts)
{
    char folder[1200];
    bool is_complete = true;
    for (unsigned n = 0; hp_session_dir(settings, n, folder, sizeof folder); n++)
        is_complete &= add_all_of(sessions, folder);
    if (with_parts)
        is_complete &= add_parts(sessions);
    sort(sessions, 0, newest_first);
    return is_complete;
}

static void leave_out_unmeasured(struct hp_sessions *sessions)
{
    size_t kept = 0;
    for (size_t at = 0; at < sessions->count; at++)
        if (sessions->all[at].processes > 0)
            sessions->all[kept++] = sessions->all[at];
    sessions->count = kept;
}

bool hp_sessions_measured(struct hp_sessions *sessions, const struct hp_record_settings *settings)
{
    const bool is_complete = hp_sessions_find(sessions, settings, false);
    leave_out_unmeasured(sessions);
    return is_complete;
}

bool hp_sessions_measured_in(struct hp_sessions *sessions, const char *const *folders, size_t count)
{
    bool is_complete = true;
    for (size_t at = 0; at < count; at++)
        is_complete &= add_all_of(sessions, folders[at]);
    sort(sessions, 0, newest_first);
    leave_out_unmeasured(sessions);
    return is_complete;
}

/* -------------------------------------------------------------------------------------------- leftovers */

#define LEFTOVER_AGE_NS UINT64_C(3600000000000)

/* PID-STARTTIME-N, as the recorder names them. */
static bool read_name(const char *name, uint32_t *ret_pid, uint64_t *ret_start)
{
    uint64_t numbers[3];
    for (size_t at = 0; at < 3; at++) {
        const size_t length = strspn(name, "0123456789");
        if (!hp_number_unsigned(name, length, at == 0 ? UINT32_MAX : UINT64_MAX, &numbers[at]))
            return false;
        name += length;
        if (at < 2 && *name++ != '-')
            return false;
    }
    *ret_pid = (uint32_t)numbers[0];
    *ret_start = numbers[1];
    return strcmp(name, HP_SESSION_SUFFIX) == 0;
}

static bool is_leftover(int folder, const char *name, const struct stat *status)
{
    static struct hp_session_file file;
    uint32_t pid;
    uint64_t start;
    if (!read_name(name, &pid, &start) || S_ISDIR(status->st_mode) || status->st_uid != geteuid() ||
        changed_ns(status) + LEFTOVER_AGE_NS > hp_clock_wall_ns() ||
        hp_process_life(pid, start, hp_process_namespace()) != HP_LIFE_OVER)
        return false;
    const bool is_readable = hp_session_file_peek(&file, folder, name);
    hp_session_file_close(&file);
    return !is_readable;
}

static bool take_leftover(struct hp_sessions *sessions, int folder, const char *path, const char *name)
{
    struct stat status;
    if (!hp_text_has_suffix(name, HP_SESSION_SUFFIX) || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !is_leftover(folder, name, &status))
        return true;
    struct hp_stored_session *session = hp_sessions_add(sessions);
    if (session == NULL)
        return false;
    if (snprintf(session->path, sizeof session->path, "%s/%s", path, name) >= (int)sizeof session->path)
        sessions->count--;
    session->state = HP_SESSION_CRASHED;
    session->began_ns = changed_ns(&status);
    session->disk_bytes = (uint64_t)status.st_blocks * 512;
    return true;
}

bool hp_sessions_find_leftovers(struct hp_sessions *sessions, const struct hp_record_settings *settings)
{
    char folder[1200];
    bool is_complete = true;
    for (unsigned n = 0; hp_session_dir(settings, n, folder, sizeof folder); n++) {
        const int fd = folder[0] != '\0' ? open_folder(AT_FDCWD, folder, folder) : -1;
        if (fd >= 0)
            is_complete &= each_name(sessions, fd, folder, take_leftover);
    }
    return is_complete;
}

/* --------------------------------------------------------------------------------------------- removing */

static bool remove_name(struct hp_sessions *unused, int folder, const char *path, const char *name)
{
    (void)unused;
    (void)path;
    const bool is_ours =
        hp_text_has_suffix(name, HP_SESSION_SUFFIX) || hp_text_has_suffix(name, HP_AXIS_SUFFIX) ||
        hp_text_has_suffix(name, HP_HEAT_SUFFIX) || hp_text_has_suffix(name, HP_STACK_RING_SUFFIX) ||
        hp_text_has_suffix(name, HP_HEAP_RING_SUFFIX) || hp_text_has_suffix(name, HP_LOCKS_SUFFIX) ||
        hp_text_has_suffix(name, HP_IO_SUFFIX) || strcmp(name, HP_STACK_FILE_NAME) == 0 ||
        strcmp(name, HP_STACK_FILE_DRAFT) == 0 || strcmp(name, HP_SLOT_LOG_NAME) == 0 ||
        strcmp(name, HP_SLOT_LOG_DRAFT) == 0 || strcmp(name, HP_STACKS_WANTED_NAME) == 0 ||
        strcmp(name, HP_RUN_ENDING_NAME) == 0 || strcmp(name, HP_RUN_TERMINAL_NAME) == 0 ||
        strcmp(name, HP_RUN_SOURCE_NAME) == 0 || strcmp(name, HP_RUN_NATIVES_NAME) == 0;
    return !is_ours || unlinkat(folder, name, 0) == 0 || errno == ENOENT;
}

bool hp_run_remove(const char *folder)
{
    const int fd = open_folder(AT_FDCWD, folder, folder);
    return fd >= 0 && each_name(NULL, fd, folder, remove_name) && rmdir(folder) == 0;
}

bool hp_session_remove(const struct hp_stored_session *session)
{
    static const char *const suffixes[] = {HP_BESIDE_SUFFIXES};
    char beside[sizeof session->path + 8];
    const bool is_removed = session->is_run ? hp_run_remove(session->path) : unlink(session->path) == 0;
    for (size_t at = 0; !session->is_run && at < sizeof suffixes / sizeof *suffixes; at++)
        if (hp_beside_path(session->path, suffixes[at], beside, sizeof beside))
            unlink(beside);
    if (!is_removed && errno != ENOENT)
        hp_fail("cannot remove '%s': %s", session->path, strerror(errno));
    return is_removed;
}

/* Only the name and the age: opening them all would take long if there are many sessions. */
static bool take_run_name(struct hp_sessions *runs, int folder, const char *path, const char *name)
{
    struct stat status;
    if (!hp_text_has_suffix(name, HP_RUN_SUFFIX) || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return true;
    struct hp_stored_session *run = hp_sessions_add(runs);
    if (run == NULL || snprintf(run->path, sizeof run->path, "%s/%s", path, name) >= (int)sizeof run->path)
        return false;
    run->began_ns = changed_ns(&status);
    return true;
}

static void forget_if_over(int folder, const char *path)
{
    struct hp_sessions one = {0};
    const char *slash = strrchr(path, '/');
    char parent[sizeof one.all->path];
    snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
    if (add_run(&one, folder, parent, slash + 1) && one.count > 0 && one.all[0].state >= HP_SESSION_FINISHED)
        hp_session_remove(&one.all[0]);
    hp_sessions_free(&one);
}

void hp_runs_forget(const char *folder, uint32_t keep)
{
    struct hp_sessions runs = {0};
    uint32_t others = 0;
    char parent[sizeof runs.all->path];
    snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(folder, '/') - folder), folder);
    const int fd = open_folder(AT_FDCWD, parent, parent);
    if (fd >= 0 && each_name(&runs, dup(fd), parent, take_run_name)) {
        sort(&runs, 0, newest_first);
        for (size_t at = 0; at < runs.count; at++)
            if (strcmp(runs.all[at].path, folder) != 0 && others++ >= keep)
                forget_if_over(fd, runs.all[at].path);
    }
    if (fd >= 0)
        close(fd);
    hp_sessions_free(&runs);
}

/* ---------------------------------------------------------------------------------------------- process session */

/*
 * Finds the session of a process in its mappings: also for a process in a container, whose folders are elsewhere.
 */

/*
 * The path of a session in a line of /proc/PID/maps, or NULL. The path of a mapped file is the last field and may
 * contain blanks.
 */
static const char *session_in(char *line)
{
    char *path = strchr(line, '/');
    if (path == NULL)
        return NULL;
    path[strcspn(path, "\n")] = '\0';
    return hp_text_has_suffix(path, HP_SESSION_SUFFIX) ? path : NULL;
}

/*
 * Its path as it can be opened from here. False: the process has no session, is gone, or belongs to another user.
 */
static bool process_session(const char *pid, char *path, size_t size)
{
    char maps[64], *line = NULL;
    size_t room = 0;
    bool is_found = false;
    snprintf(maps, sizeof maps, "/proc/%.20s/maps", pid);
    FILE *file = fopen(maps, "re");
    while (file != NULL && !is_found && getline(&line, &room, file) > 0) {
        const char *found = session_in(line);
        is_found = found != NULL && (size_t)snprintf(path, size, "/proc/%.20s/root%s", pid, found) < size;
    }
    free(line);
    if (file != NULL)
        fclose(file);
    return is_found;
}

/* ----------------------------------------------------------------------------------------------- session choice */

static bool is_number(const char *text) { return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0'; }

/* A name as `hotpath ls` shows it, or a path. */
static bool is_called(const struct hp_stored_session *session, const char *name)
{
    const char *file = hp_session_name(session);
    const size_t length = strlen(name);
    return strncmp(file, name, length) == 0 && (file[length] == '\0' || file[length] == '.');
}

static bool is_of_process(const struct hp_stored_session *session, const char *pid)
{
    return !session->is_run && strtoul(pid, NULL, 10) == session->pid;
}

/* A run has the name of the program that it started, and of the one that used most CPU time. */
static bool is_of_program(const struct hp_stored_session *session, const char *name)
{
    const char *begin;
    const size_t length = hp_text_program(session->command, &begin);
    return strcmp(session->program, name) == 0 || (strlen(name) == length && memcmp(begin, name, length) == 0);
}

/* The newest match, as sessions are sorted newest first; a live one is preferred. NULL: none. */
static const struct hp_stored_session *choose(const struct hp_sessions *sessions, const char *name,
                                              bool (*is_it)(const struct hp_stored_session *, const char *))
{
    const struct hp_stored_session *best = NULL;
    for (size_t at = 0; at < sessions->count; at++) {
        const struct hp_stored_session *session = &sessions->all[at];
        if (is_it(session, name) &&
            (best == NULL || (session->state == HP_SESSION_LIVE && best->state != HP_SESSION_LIVE)))
            best = session;
    }
    return best;
}

/*
 * The session of a process that is not in our folders: the process has other folders, or another root, as in a
 * container.
 */
static bool find_elsewhere(struct hp_stored_session *ret_session, const char *pid)
{
    *ret_session = (struct hp_stored_session){.processes = 1};
    return process_session(pid, ret_session->path, sizeof ret_session->path);
}

/* Of a single session the process is asked, or its parent, as long as one of them lives. */
static bool is_of_this_terminal(const struct hp_stored_session *session)
{
    if (session->is_run)
        return hp_run_is_of_this_terminal(session->path);
    return session->is_of_this_namespace &&
           (hp_process_is_of_this_terminal(session->pid, session->process_start) ||
            hp_process_is_of_this_terminal(session->parent_pid, session->process_start));
}

/* The newest that was started in this terminal; the newest of all where none was. NULL: there is none. */
static const struct hp_stored_session *newest_here(const struct hp_sessions *sessions)
{
    for (size_t at = 0; at < sessions->count; at++)
        if (is_of_this_terminal(&sessions->all[at]))
            return &sessions->all[at];
    return sessions->count > 0 ? &sessions->all[0] : NULL;
}

/* A recording of a process with its children is asked for by that process. */
static const struct hp_stored_session *whole_recording(const struct hp_sessions *sessions,
                                                       const struct hp_stored_session *chosen)
{
    const size_t length = (size_t)(strrchr(chosen->path, '/') - chosen->path);
    for (size_t at = 0; chosen->is_recorded && at < sessions->count; at++) {
        const struct hp_stored_session *run = &sessions->all[at];
        if (run->is_run && run->pid == chosen->pid && strlen(run->path) == length &&
            strncmp(run->path, chosen->path, length) == 0)
            return run;
    }
    return chosen;
}

static bool find_newest(struct hp_stored_session *ret_session, const struct hp_settings *settings, const char *name)
{
    struct hp_sessions found = {0};
    const struct hp_stored_session *chosen = NULL;
    if (name == NULL ? hp_sessions_measured(&found, &settings->record)
                     : hp_sessions_find(&found, &settings->record, true))
        chosen =
            name == NULL ? newest_here(&found) : choose(&found, name, is_number(name) ? is_of_process : is_called);
    if (chosen != NULL)
        *ret_session = name != NULL && is_number(name) ? *whole_recording(&found, chosen) : *chosen;
    hp_sessions_free(&found);
    return chosen != NULL || (name != NULL && is_number(name) && find_elsewhere(ret_session, name));
}

/* If several live, others could have been meant. */
static void tell_choice(const struct hp_sessions *sessions, const struct hp_stored_session *chosen,
                        const char *name)
{
    size_t live = 0;
    for (size_t at = 0; at < sessions->count; at++)
        live += sessions->all[at].state == HP_SESSION_LIVE && is_of_program(&sessions->all[at], name);
    if (live > 1)
        hp_fail("%zu live programs are called '%s'; this is the newest, process %u; see 'hotpath ls'", live, name,
                (unsigned)chosen->pid);
}

bool hp_program_find(struct hp_stored_session *ret_session, const struct hp_settings *settings, const char *name)
{
    struct hp_sessions found = {0};
    if (name == NULL || strchr(name, '/') != NULL || is_number(name))
        return false;
    hp_sessions_measured(&found, &settings->record);
    const struct hp_stored_session *chosen = choose(&found, name, is_of_program);
    if (chosen != NULL) {
        tell_choice(&found, chosen, name);
        *ret_session = *chosen;
    }
    hp_sessions_free(&found);
    return chosen != NULL;
}

static bool add_newest(struct hp_sessions *parts, const struct hp_settings *settings, const char *name)
{
    struct hp_stored_session session;
    return find_newest(&session, settings, name) && hp_sessions_at(parts, session.path);
}

static bool is_path_of(const char *name, struct stat *ret_status)
{
    return name != NULL && (strchr(name, '/') != NULL || !is_number(name)) && stat(name, ret_status) == 0;
}

bool hp_session_find(struct hp_stored_session *ret_session, const struct hp_settings *settings, const char *name)
{
    struct stat status;
    if (hp_program_find(ret_session, settings, name))
        return true;
    if (!is_path_of(name, &status))
        return find_newest(ret_session, settings, name);
    *ret_session = (struct hp_stored_session){.is_run = S_ISDIR(status.st_mode), .processes = 1};
    if (strlen(name) >= sizeof ret_session->path)
        return false;
    memcpy(ret_session->path, name, strlen(name) + 1);
    return true;
}

bool hp_session_choose(struct hp_sessions *parts, const struct hp_settings *settings, const char *name)
{
    struct stat status;
    struct hp_stored_session program;
    const bool is_program = hp_program_find(&program, settings, name);
    const bool is_path = !is_program && is_path_of(name, &status);
    if (is_program)
        name = program.path;
    if (is_program || is_path ? hp_sessions_at(parts, name) : add_newest(parts, settings, name)) {
        if (parts->count > 0)
            return true;
        hp_fail("no session in '%s'", name != NULL ? name : "the newest run");
    } else if (name == NULL) {
        hp_fail("no session yet: run a program with 'hotpath run', or one built with -DHOTPATH");
    } else if (is_number(name)) {
        hp_fail("no session of process %s; see 'hotpath ls -a'", name);
    } else if (!is_path) {
        hp_fail("no session, process, program or file '%s'; see 'hotpath ls'", name);
    }
    return false;
}

bool hp_session_find_stored(struct hp_stored_session *ret_session, const struct hp_settings *settings,
                            const char *name)
{
    struct hp_sessions found = {0};
    const struct hp_stored_session *chosen = NULL;
    if (name != NULL && (strchr(name, '/') != NULL || hp_program_find(ret_session, settings, name)))
        return strchr(name, '/') == NULL;
    if (name == NULL) {
        hp_sessions_measured(&found, &settings->record);
        chosen = found.count > 0 ? &found.all[0] : NULL;
    } else {
        hp_sessions_find(&found, &settings->record, true);
        chosen = choose(&found, name, is_number(name) ? is_of_process : is_called);
    }
    if (chosen != NULL)
        *ret_session = name != NULL && is_number(name) ? *whole_recording(&found, chosen) : *chosen;
    hp_sessions_free(&found);
    return chosen != NULL;
}

static bool is_live_in(const struct hp_stored_session *session, const char *pid)
{
    return session->state == HP_SESSION_LIVE && !session->is_outside && is_of_process(session, pid);
}

bool hp_session_of_live_process(struct hp_stored_session *ret_session, const struct hp_settings *settings,
                                const char *pid)
{
    struct hp_sessions found = {0};
    if (find_elsewhere(ret_session, pid))
        return true;
    hp_sessions_find(&found, &settings->record, true);
    const struct hp_stored_session *chosen = choose(&found, pid, is_live_in);
    if (chosen != NULL)
        *ret_session = *chosen;
    hp_sessions_free(&found);
    return chosen != NULL;
}
