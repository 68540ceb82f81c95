/*
 * The report a process writes about itself: to stderr if that still is what it was, or to a file. May run in a
 * signal handler, so all memory comes from the kernel and nothing is held that a handler could interrupt.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "memory.h"
#include "places.h"
#include "process.h"
#include "report.h"
#include "runtime.h"
#include "snapshot.h"
#include "sys.h"
#include "terminal.h"
#include "text.h"

struct work {
    struct hp_snapshot snapshot;
    const struct hp_snapshot *session; /* the list of snapshots: this one alone */
    struct hp_snapshots sessions;
    struct hp_settings settings; /* of this moment: another thread may start over */
    int fd;
    bool has_failed;
    size_t length;
    char buffer[16384];
};

static bool flush(struct work *work)
{
    if (work->length > 0 && !hp_file_write(work->fd, work->buffer, work->length))
        work->has_failed = true;
    work->length = 0;
    return !work->has_failed;
}

static bool put(void *context, const char *bytes, size_t length)
{
    struct work *work = context;
    while (length > 0) {
        if (work->length == sizeof work->buffer && !flush(work))
            return false;
        size_t part = sizeof work->buffer - work->length;
        part = part < length ? part : length;
        memcpy(work->buffer + work->length, bytes, part);
        work->length += part;
        bytes += part;
        length -= part;
    }
    return true;
}

static void say_parts(const char *const *parts, size_t count)
{
    char line[500];
    struct hp_text text;
    hp_text_init(&text, line, sizeof line);
    for (size_t part = 0; part < count; part++)
        hp_text_string(&text, parts[part]);
    hp_say(hp_text_end(&text));
}

static void say_output_failed(const char *what, const char *path)
{
    const char *parts[] = {"hotpath: ", what, " '", path, "': ", hp_file_error(errno), "; the report follows here"};
    say_parts(parts, sizeof parts / sizeof parts[0]);
}

static void say_no_memory(void)
{
    const char *path = hp_runtime->store->path;
    const char *parts[] = {"hotpath: no memory for the report", path[0] ? "; see it with: hotpath report " : "",
                           path};
    say_parts(parts, sizeof parts / sizeof parts[0]);
}

/* The file of the settings, or -1 when there is none or it cannot be had (then stderr gets the report). */
static int open_output(const struct hp_settings *settings)
{
    char path[1100];
    if (settings->output_path[0] == '\0' ||
        !hp_place_of_report(settings->output_path, hp_sys_process_id(), path, sizeof path))
        return -1;
    hp_file_make_parents(path);
    const int fd = hp_sys_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY, 0666);
    if (fd < 0)
        say_output_failed("cannot write", path);
    return fd;
}

static int render(struct work *work, int fd)
{
    const struct hp_terminal terminal = hp_terminal_of(fd);
    const struct hp_report_target target = {.sink = put,
                                            .context = work,
                                            .width = terminal.columns,
                                            .color = terminal.has_color && !work->settings.no_color};
    work->fd = fd;
    work->has_failed = false;
    work->length = 0;
    const int status = hp_report_render(&work->sessions, &work->settings, &target);
    return flush(work) ? status : HOTPATH_E_OUTPUT;
}

static int write_report(struct work *work)
{
    if (work->settings.format == HP_FORMAT_NONE)
        return HOTPATH_OK;
    const int fd = open_output(&work->settings);
    if (fd >= 0) {
        const int status = render(work, fd);
        hp_sys_close(fd);
        if (status != HOTPATH_E_OUTPUT)
            return status;
        say_output_failed("cannot write all of", work->settings.output_path);
    }
    return hp_file_is(2, &hp_runtime->standard_error) ? render(work, 2) : HOTPATH_E_OUTPUT;
}

/* `hotpath run` reads the file when all is over, as long as it lives. What is only in memory it will not see. */
static bool is_reported_by_run(const struct work *work)
{
    return work->settings.is_run && !hp_runtime->store->is_memory && hp_file_is_locked(work->settings.dir);
}

static int report_with(struct work *work, bool is_in_handler)
{
    const struct hp_header *header = hp_store_header(hp_runtime->store);
    if (header == NULL)
        return HOTPATH_E_INACTIVE;
    const uint64_t size = __atomic_load_n(&header->backed, __ATOMIC_RELAXED);
    const bool is_over = __atomic_load_n(&header->state, __ATOMIC_RELAXED) == HP_STATE_FINISHED;
    hotpath_reporter *reporter = is_in_handler ? NULL : hp_runtime->reporter;
    struct hp_clock_pair now;
    if (!is_over)
        now = hp_session_touch();
    work->settings = hp_runtime->settings;
    if (hp_snapshot_open(&work->snapshot, hp_runtime->store->base, (size_t)size, is_over ? NULL : &now) != NULL)
        return HOTPATH_E_SPACE;
    work->session = &work->snapshot;
    work->sessions = (struct hp_snapshots){.all = &work->session, .count = 1};
    if (reporter != NULL)
        return hp_report_hand_over(&work->sessions, &work->settings, reporter, hp_runtime->reporter_context);
    if (is_over && is_reported_by_run(work))
        return HOTPATH_OK;
    struct hp_signals held;
    hp_signals_hold(&held);
    const int status = write_report(work);
    hp_signals_release(&held);
    return status;
}

/* Waits, two seconds at most, for a report that another thread is writing. One of our own will not end meanwhile. */
static bool take_turn(uintptr_t *reporter, bool is_in_handler)
{
    const uintptr_t us = (uintptr_t)&hotpath_v1_head;
    const struct timespec pause = {0, 1000000};
    uintptr_t holder = 0;
    for (int tries = 0;
         !__atomic_compare_exchange_n(reporter, &holder, us, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED); tries++) {
        if (is_in_handler || holder == us || tries == 2000)
            return false;
        holder = 0;
        syscall(SYS_nanosleep, &pause, NULL);
    }
    return true;
}

/* One report at a time. */
int hp_exit_report(bool is_in_handler)
{
    uintptr_t *reporter = &hp_page()->reporter;
    if (!take_turn(reporter, is_in_handler))
        return HOTPATH_E_ACTIVE;
    struct work *work = hp_memory_map(sizeof *work);
    const int status = work != NULL ? report_with(work, is_in_handler) : HOTPATH_E_SPACE;
    if (status == HOTPATH_E_SPACE)
        say_no_memory();
    hp_memory_unmap(work, sizeof *work);
    __atomic_store_n(reporter, 0, __ATOMIC_RELEASE);
    return status;
}
