/*
 * The report that a process writes about itself: to stderr, if that is still the same file, or to a file. May run
 * in a signal handler, so all memory comes from the kernel, and no lock is held that a handler could interrupt.
 * Signals stay unblocked: a signal can end the program while it waits for the reader of the report.
 * SPDX-License-Identifier: MIT
 */
#include "lifecycle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "files.h"
#include "holding.h"
#include "memory.h"
#include "mutex.h"
#include "process.h"
#include "raw_call.h"
#include "report.h"
#include "runtime.h"
#include "session_dirs.h"
#include "snapshot.h"
#include "text.h"
#include "thread_context.h"

/*
 * A chunk of the text. The whole text is made before any of it is written, since writing can take as long as the
 * reader likes.
 */
#define PIECE_BYTES (32u << 10)
struct piece {
    struct piece *next;
    size_t length;
    char bytes[PIECE_BYTES - 2 * sizeof(void *)];
};

struct work {
    struct hp_session *owned; /* held by the caller */
    struct hp_snapshot snapshot;
    const struct hp_snapshot *session; /* the list of snapshots: just this one */
    struct hp_snapshots sessions;
    struct hp_settings settings; /* a copy, taken at one moment */
    hotpath_reporter *reporter;
    void *reporter_context;
    struct hp_arena arena;
    struct piece *first, *last;
};

static bool put(void *context, const char *bytes, size_t length)
{
    struct work *work = context;
    while (length > 0) {
        if (work->last == NULL || work->last->length == sizeof work->last->bytes) {
            struct piece *fresh = hp_arena_take(&work->arena, sizeof *fresh);
            if (fresh == NULL)
                return false;
            *(work->last != NULL ? &work->last->next : &work->first) = fresh;
            work->last = fresh;
        }
        struct piece *piece = work->last;
        size_t part = sizeof piece->bytes - piece->length;
        part = part < length ? part : length;
        memcpy(piece->bytes + piece->length, bytes, part);
        piece->length += part;
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

static void say_no_memory(const struct hp_session *session)
{
    const char *path = session->store.path;
    const char *parts[] = {"hotpath: no memory for the report", path[0] ? "; to see it: hotpath report " : "",
                           path};
    say_parts(parts, sizeof parts / sizeof parts[0]);
}

/*
 * The output file of the settings, or -1 if there is none or it cannot be opened (then stderr gets the report). It
 * may be of any type: a FIFO without a reader is an error; with a reader, hp_file_write waits for it, but not
 * forever.
 */
static int open_output(const struct hp_settings *settings)
{
    char path[1100];
    if (settings->output.output_path[0] == '\0' ||
        !hp_session_dir_of_report(settings->output.output_path, hp_sys_process_id(), path, sizeof path))
        return -1;
    hp_file_make_parents(path);
    const int fd = hp_sys_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_NONBLOCK, 0666);
    if (fd < 0)
        say_output_failed("cannot write", path);
    return fd;
}

/* Whether a shell would find the program `hotpath`: a report that names its commands sends users there. */
static bool is_command_there(void)
{
    const char *path = hp_environment("PATH");
    while (path != NULL) {
        char file[1100];
        struct hp_text text;
        const size_t length = strcspn(path, ":");
        hp_text_init(&text, file, sizeof file);
        hp_text_bytes(&text, path, length);
        hp_text_string(&text, "/hotpath");
        const long fd = hp_raw(SYS_openat, AT_FDCWD, hp_text_end(&text), O_PATH | O_CLOEXEC, 0);
        if (fd >= 0) {
            hp_raw(SYS_close, fd);
            return true;
        }
        path = path[length] == ':' ? path + length + 1 : NULL;
    }
    return false;
}

/* ---------------------------------------------------------------------------------------------- turns */

/*
 * Reports are written one at a time, so that their lines do not mix. Waits at most two seconds, since a handler may
 * have left the writer by a jump. Does not wait for its own thread.
 */
static bool take_turn(uintptr_t *writer, bool is_in_handler)
{
    const uintptr_t us = (uintptr_t)&hotpath_v1_context;
    uintptr_t holder = 0;
    for (int tries = 0;
         !__atomic_compare_exchange_n(writer, &holder, us, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED); tries++) {
        if (is_in_handler)
            return false;
        if (holder == us || tries == 2000)
            break;
        holder = 0;
        hp_pause_ns(1000000);
    }
    return true;
}

static bool write_pieces(const struct work *work, int fd)
{
    bool is_whole = true;
    for (const struct piece *piece = work->first; piece != NULL && is_whole; piece = piece->next)
        is_whole = hp_file_write(fd, piece->bytes, piece->length);
    return is_whole;
}

/* In a handler that interrupted the writer of a report, this report is the last. */
static int write_in_turn(const struct work *work, int fd, bool is_in_handler)
{
    uintptr_t *writer = &hp_page()->writer;
    if (!take_turn(writer, is_in_handler))
        return HOTPATH_E_ACTIVE;
    const bool is_whole = write_pieces(work, fd);
    __atomic_store_n(writer, 0, __ATOMIC_RELEASE);
    return is_whole ? HOTPATH_OK : HOTPATH_E_OUTPUT;
}

/* -------------------------------------------------------------------------------------------- reporters */

/*
 * A reporter may ask for a report itself, but only to a limited depth. It may also leave by longjmp: its entry then
 * stays here, but is known to be stale once its stack address is no longer above ours.
 */
#define MOST_INSIDE 4u

static struct hp_hand_over *begin_hand_over(uintptr_t place)
{
    const uintptr_t us = (uintptr_t)&hotpath_v1_context;
    struct hp_hand_over *all = hp_page()->hand_overs, *found = NULL;
    uint32_t inside = 0;
    for (struct hp_hand_over *at = all; at < all + HP_HAND_OVERS; at++) {
        if (__atomic_load_n(&at->thread, __ATOMIC_RELAXED) != us)
            continue;
        if (at->place > place)
            inside++;
        else
            __atomic_store_n(&at->thread, 0, __ATOMIC_RELAXED);
    }
    for (struct hp_hand_over *at = all; inside < MOST_INSIDE && found == NULL && at < all + HP_HAND_OVERS; at++) {
        uintptr_t none = 0;
        if (__atomic_compare_exchange_n(&at->thread, &none, us, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            found = at;
    }
    if (found != NULL)
        found->place = place;
    return found;
}

static int hand_over(struct work *work)
{
    const uintptr_t place = (uintptr_t)__builtin_frame_address(0);
    struct hp_hand_over *ours = begin_hand_over(place);
    if (ours == NULL)
        return HOTPATH_E_ACTIVE;
    const int status =
        hp_report_hand_over(&work->sessions, &work->settings, work->reporter, work->reporter_context);
    if (ours->place == place)
        __atomic_store_n(&ours->thread, 0, __ATOMIC_RELAXED);
    return status;
}

/* ---------------------------------------------------------------------------------------------- reports */

static int render(struct work *work, int fd)
{
    const struct hp_terminal terminal = hp_terminal_of(fd);
    const struct hp_report_target target = {.sink = put,
                                            .context = work,
                                            .width = terminal.columns,
                                            .color = terminal.has_color && !work->settings.output.no_color};
    hp_arena_release(&work->arena);
    work->first = work->last = NULL;
    work->settings.output.is_session_removed |= !is_command_there();
    const int status = hp_report_render(&work->sessions, &work->settings, &target);
    return status == HOTPATH_E_OUTPUT ? HOTPATH_E_SPACE : status; /* here the output is memory only */
}

static int render_and_write(struct work *work, int fd, bool is_in_handler)
{
    const int status = render(work, fd);
    return status == HOTPATH_OK ? write_in_turn(work, fd, is_in_handler) : status;
}

static int write_report(struct work *work, bool is_in_handler)
{
    if (work->settings.output.format == HP_FORMAT_NONE)
        return HOTPATH_OK;
    const int fd = open_output(&work->settings);
    if (fd >= 0) {
        const int status = render_and_write(work, fd, is_in_handler);
        const int error = errno;
        hp_sys_close(fd);
        if (status != HOTPATH_E_OUTPUT)
            return status;
        errno = error;
        say_output_failed("cannot write all of", work->settings.output.output_path);
    }
    return hp_file_is(2, &hp_runtime->standard_error) ? render_and_write(work, 2, is_in_handler) : HOTPATH_E_OUTPUT;
}

/*
 * `hotpath run` reads the file when the program ends, names processes that are still running, and those whose
 * session it could not see: a report in the program's stderr would change what the program prints.
 */
static bool is_reported_by_run(const struct work *work)
{
    return work->settings.record.is_run && hp_session_dir_is_of_run(work->settings.record.dir);
}

/* Copies what others may be changing, at one moment. */
static void look_around(struct work *work, bool is_in_handler)
{
    struct hp_signals held;
    const bool is_locked = hp_lock(&held);
    hp_settings_copy(&work->settings, &work->owned->settings);
    work->reporter = is_in_handler ? NULL : hp_runtime->reporter;
    work->reporter_context = hp_runtime->reporter_context;
    if (is_locked)
        hp_unlock(&held);
}

static int report_with(struct work *work, bool is_in_handler)
{
    struct hp_store *store = &work->owned->store;
    const struct hp_header *header = hp_store_header(store);
    const uint64_t size = __atomic_load_n(&header->backed, __ATOMIC_RELAXED);
    const bool is_over = __atomic_load_n(&header->state, __ATOMIC_RELAXED) == HP_STATE_FINISHED;
    struct hp_clock_pair now;
    if (!is_over)
        now = hp_session_touch(store);
    look_around(work, is_in_handler);
    if (hp_snapshot_open(&work->snapshot, store->range.base, (size_t)size, is_over ? NULL : &now) != NULL)
        return HOTPATH_E_SPACE;
    work->session = &work->snapshot;
    work->sessions = (struct hp_snapshots){.all = &work->session, .count = 1};
    if (work->reporter != NULL)
        return hand_over(work);
    if (is_over && is_reported_by_run(work))
        return HOTPATH_OK;
    return write_report(work, is_in_handler);
}

int hp_exit_report(struct hp_session *session, bool is_in_handler)
{
    struct work *work = hp_memory_map(sizeof *work);
    int status = HOTPATH_E_SPACE;
    hp_session_hold_too(session); /* a reporter may fork, and its child start its own session */
    if (work != NULL) {
        work->owned = session;
        status = report_with(work, is_in_handler);
        hp_arena_release(&work->arena);
    }
    if (status == HOTPATH_E_SPACE)
        say_no_memory(session);
    hp_session_let_go(session);
    hp_memory_unmap(work, sizeof *work);
    return status;
}
