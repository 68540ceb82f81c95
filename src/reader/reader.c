/* Sessions on disk, as a model that can be brought up to date. SPDX-License-Identifier: MIT */
#include "reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    if (reader->count < reader->capacity)
        return true;
    const size_t capacity = 2 * reader->capacity + 8;
    void *sessions = realloc(reader->sessions, capacity * sizeof(void *));
    if (sessions != NULL)
        reader->sessions = sessions;
    void *snapshots = realloc(reader->snapshots, capacity * sizeof(void *));
    if (snapshots != NULL)
        reader->snapshots = snapshots;
    if (sessions == NULL || snapshots == NULL)
        return false;
    reader->capacity = capacity;
    return true;
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

/* What was just opened need not be read again. */
bool hp_reader_refresh(struct hp_reader *reader)
{
    reader->problem = "";
    if (reader->count == 0)
        return fail(reader, "there is no session to read");
    const bool has_moved = reader->model.profile != NULL && read_anew(reader);
    const struct hp_snapshots snapshots = {
        .all = reader->snapshots, .count = reader->count, .read_name = reader->read_name};
    return hp_model_refresh(&reader->model, &snapshots, has_moved) ||
           fail(reader, "not enough memory for the report");
}

void hp_reader_close(struct hp_reader *reader)
{
    for (size_t at = 0; at < reader->count; at++)
        forget(reader->sessions[at]);
    free(reader->sessions);
    free(reader->snapshots);
    hp_arena_release(&reader->kept);
    hp_arena_release(&reader->arena);
    memset(reader, 0, sizeof *reader);
}
