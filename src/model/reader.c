/* Sessions on disk, as a model that can be brought up to date. SPDX-License-Identifier: MIT */
#include "reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "growing_array.h"
#include "profile.h"

void hp_reader_open(struct hp_reader *reader, hp_read_name *read_name)
{
    memset(reader, 0, sizeof *reader);
    reader->read_name = read_name;
    reader->model.kept = &reader->kept;
    reader->model.arena = &reader->arena;
    reader->problem = "";
}

static bool fail(struct hp_reader *reader, const char *problem)
{
    snprintf(reader->text, sizeof reader->text, "%s", problem);
    reader->problem = reader->text;
    return false;
}

static bool make_room(struct hp_reader *reader)
{
    size_t capacity = reader->capacity;
    return HP_MAKE_ROOM(reader->sessions, reader->count + 1, capacity) &&
           HP_MAKE_ROOM(reader->snapshots, reader->count + 1, reader->capacity);
}

static void forget(struct hp_read_session *session)
{
    if (session == NULL)
        return;
    hp_session_file_close(&session->file);
    free(session->path);
    free(session);
}

bool hp_reader_add(struct hp_reader *reader, const char *path)
{
    struct hp_read_session *session = make_room(reader) ? calloc(1, sizeof *session) : NULL;
    char *copy = session != NULL ? strdup(path) : NULL;
    if (copy == NULL) {
        free(session);
        return fail(reader, "not enough memory for another session");
    }
    session->path = copy;
    if (!hp_session_file_open(&session->file, path)) {
        fail(reader, session->file.problem);
        forget(session);
        return false;
    }
    reader->snapshots[reader->count] = &session->file.snapshot;
    reader->sessions[reader->count++] = session;
    return true;
}

/* Brings all files up to date. True: texts in them have moved. */
static bool read_anew(struct hp_reader *reader)
{
    bool has_moved = false;
    for (size_t at = 0; at < reader->count; at++) {
        bool is_elsewhere;
        if (!hp_session_file_refresh(&reader->sessions[at]->file, reader->sessions[at]->path, &is_elsewhere))
            fail(reader, reader->sessions[at]->file.problem);
        has_moved |= is_elsewhere;
    }
    return has_moved;
}

static bool is_running(const struct hp_reader *reader)
{
    for (size_t at = 0; at < reader->count; at++)
        if (hp_snapshot_state(reader->snapshots[at]) == HP_SNAPSHOT_RUNNING)
            return true;
    return false;
}

/*
 * Threads go on while they are read, and one that is caught between two stores may seem to have spent what it has
 * not. All together cannot have spent more since the last reading began than that took, nor less than nothing.
 */
static bool is_plausible(const struct hp_reader *reader, struct hp_reading *reading)
{
    const struct hp_profile *profile = reader->model.profile;
    const bool is_known = hp_profile_spent(profile, &reading->spent_ticks) && profile->run->is_rate_known;
    if (!is_known || reader->latest.begun_ns == 0)
        return true;
    const int64_t spent = (int64_t)(reading->spent_ticks - reader->latest.spent_ticks);
    const double wall_ns = (double)(hp_clock_monotonic_ns() - reader->latest.begun_ns);
    return spent >= 0 && hp_run_ns(profile->run, (uint64_t)spent) <= wall_ns * (double)profile->forest.tree_count;
}

/* What was just opened need not be read again. */
static bool read_once(struct hp_reader *reader)
{
    const bool has_moved = reader->model.profile != NULL && read_anew(reader);
    for (size_t at = 0; at < reader->count; at++)
        reader->sessions[at]->file.snapshot.path = reader->sessions[at]->path;
    const struct hp_snapshots snapshots = {.all = reader->snapshots,
                                           .count = reader->count,
                                           .read_name = reader->read_name,
                                           .floors = is_running(reader) ? &reader->floors : NULL};
    return hp_model_refresh(&reader->model, &snapshots, has_moved) ||
           fail(reader, "not enough memory for the report");
}

#define MOST_TRIES 3u

bool hp_reader_refresh(struct hp_reader *reader)
{
    struct hp_reading reading;
    bool is_good = false;
    reader->problem = "";
    if (reader->count == 0)
        return fail(reader, "no session to read");
    for (unsigned try = 0; try < MOST_TRIES && !is_good; try++) {
        reading = (struct hp_reading){.begun_ns = hp_clock_monotonic_ns()};
        if (!read_once(reader))
            return false;
        is_good = !is_running(reader) || is_plausible(reader, &reading);
    }
    reader->latest = reading;
    return true;
}

void hp_reader_close(struct hp_reader *reader)
{
    for (size_t at = 0; at < reader->count; at++)
        forget(reader->sessions[at]);
    free(reader->sessions);
    free(reader->snapshots);
    hp_arena_release(&reader->kept);
    hp_arena_release(&reader->arena);
    hp_floors_release(&reader->floors);
    memset(reader, 0, sizeof *reader);
}
