/* Tracks the mappings of processes. SPDX-License-Identifier: MIT */
#include "space_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "growing_array.h"
#include "process.h"
#include "text.h"

#define MOST_MAPS (16u << 20)

static struct hp_process_space **place_of(struct hp_space_table *table, uint32_t pid)
{
    struct hp_process_space **place = &table->slots[pid % HP_SPACE_SLOTS];
    while (*place != NULL && (*place)->pid != pid)
        place = &(*place)->next;
    return place;
}

struct hp_process_space *hp_space_table_find(struct hp_space_table *table, uint32_t pid)
{
    struct hp_process_space **place = place_of(table, pid);
    if (*place == NULL && (*place = calloc(1, sizeof **place)) != NULL) {
        (*place)->pid = pid;
        (*place)->threads = 1; /* the first thread is not reported */
    }
    return *place;
}

static void forget(struct hp_process_space **place)
{
    struct hp_process_space *process = *place;
    *place = process->next;
    hp_space_free(&process->space);
    free(process);
}

/* ---------------------------------------------------------------------------------------------- programs */

/* From now on, stacks of the process belong to another program. */
static struct hp_process_program *new_program(struct hp_space_table *table, struct hp_process_space *process)
{
    process->node = 0;
    process->program = 0;
    if (!HP_MAKE_ROOM(table->programs, table->program_count + 1, table->program_room))
        return NULL;
    table->programs[table->program_count] = (struct hp_process_program){.file = NULL};
    process->program = (uint32_t)++table->program_count;
    return &table->programs[process->program - 1];
}

static void set_comm(struct hp_process_program *program, const char *name)
{
    const size_t most = sizeof program->comm - 1, length = strcspn(name, "\n");
    memcpy(program->comm, name, length < most ? length : most);
}

/* Of the lowest mapping: the libraries, and the dynamic linker, are above the program. */
static const char *file_of(const struct hp_process_space *process)
{
    for (size_t at = 0; at < process->space.count; at++) {
        const struct hp_image *image = process->space.all[at].image;
        if (image != NULL && image->path[0] == '/')
            return image->path;
    }
    return NULL;
}

/* Without events of the kernel, a process runs another program if its lowest mapping is another file. */
static void look_at_program(struct hp_space_table *table, struct hp_process_space *process)
{
    const char *file = file_of(process);
    struct hp_process_program *program = process->program != 0 ? &table->programs[process->program - 1] : NULL;
    char comm[32] = "";
    if (file == NULL || (program != NULL && program->file != NULL && strcmp(program->file, file) == 0))
        return;
    if (program == NULL || program->file != NULL)
        program = new_program(table, process);
    if (program == NULL)
        return;
    program->file = strdup(file);
    if (program->comm[0] == '\0' && hp_task_read(process->pid, 0, "comm", comm, sizeof comm))
        set_comm(program, comm);
}

/* ------------------------------------------------------------------------------------------------ events */

/* The child has its parent's mappings until it calls exec. */
static void begin_task(struct hp_space_table *table, const struct hp_event *event)
{
    struct hp_process_space *process = hp_space_table_find(table, event->pid);
    if (process == NULL)
        return;
    if (event->pid == event->parent_pid) {
        process->threads++;
        return;
    }
    process->threads = 1;
    process->parent = event->parent_pid;
    process->node = process->program = 0;
    const struct hp_process_space *parent = *place_of(table, event->parent_pid);
    hp_space_free(&process->space);
    if (parent == NULL)
        return;
    hp_space_copy(&process->space, &parent->space);
    process->program = parent->program;
}

static void end_task(struct hp_space_table *table, const struct hp_event *event)
{
    struct hp_process_space **place = place_of(table, event->pid);
    if (*place == NULL)
        return;
    if ((*place)->threads > 1)
        (*place)->threads--;
    else
        forget(place);
}

static void execute(struct hp_space_table *table, const struct hp_event *event)
{
    struct hp_process_space *process = hp_space_table_find(table, event->pid);
    if (process == NULL)
        return;
    hp_space_free(&process->space);
    process->read_ns = 0;
    process->parent = 0;
    struct hp_process_program *program = new_program(table, process);
    if (program != NULL)
        set_comm(program, event->path);
}

static void map_all_again(struct hp_space_table *table, struct hp_image_set *images, const struct hp_event *event)
{
    struct hp_process_space *process = hp_space_table_find(table, event->pid);
    if (process == NULL)
        return;
    hp_space_free(&process->space);
    hp_space_add_maps(&process->space, images, (pid_t)event->pid, event->path);
    process->read_ns = hp_clock_monotonic_ns();
    look_at_program(table, process);
}

/* The kernel maps the program before the dynamic linker. */
static void name_file(struct hp_space_table *table, const struct hp_process_space *process, const char *path)
{
    struct hp_process_program *program = process->program != 0 ? &table->programs[process->program - 1] : NULL;
    if (program != NULL && program->file == NULL && path[0] == '/' && !hp_text_begins(path, "//"))
        program->file = strdup(path);
}

static void map_code(struct hp_space_table *table, struct hp_image_set *images, const struct hp_event *event)
{
    struct hp_process_space *process = hp_space_table_find(table, event->pid);
    const struct hp_image_place place = {.path = event->path,
                                         .pid = (pid_t)event->pid,
                                         .start = event->start,
                                         .end = event->end,
                                         .inode = event->inode,
                                         .build_id = event->build_id};
    if (process == NULL)
        return;
    hp_space_add(&process->space, images, &place, event->offset);
    name_file(table, process, event->path);
}

void hp_space_table_take(struct hp_space_table *table, struct hp_image_set *images, const struct hp_event *event)
{
    switch (event->kind) {
    case HP_EVENT_FORKED:
        begin_task(table, event);
        break;
    case HP_EVENT_EXECUTED:
        execute(table, event);
        break;
    case HP_EVENT_MAPPED:
        map_code(table, images, event);
        break;
    case HP_EVENT_ENDED:
        end_task(table, event);
        break;
    case HP_EVENT_MAPS:
        map_all_again(table, images, event);
        break;
    default:
        break;
    }
}

/* ------------------------------------------------------------------------------------------------ /proc */

char *hp_process_maps(uint32_t pid)
{
    char path[HP_TASK_PATH], *text = NULL;
    size_t length = 0, room = 0;
    FILE *file = fopen(hp_task_path(path, pid, 0, "maps"), "re");
    if (file == NULL)
        return NULL;
    do {
        if (!HP_MAKE_ROOM(text, length + 65536, room))
            break;
        length += fread(text + length, 1, room - length - 1, file);
        text[length] = '\0';
    } while (length == room - 1 && room < MOST_MAPS);
    fclose(file);
    if (length > 0)
        return text;
    free(text);
    return NULL;
}

bool hp_process_space_read(struct hp_space_table *table, struct hp_process_space *process,
                           struct hp_image_set *images)
{
    char *text = hp_process_maps(process->pid);
    process->read_ns = hp_clock_monotonic_ns();
    if (text == NULL)
        return false;
    hp_space_free(&process->space);
    hp_space_add_maps(&process->space, images, (pid_t)process->pid, text);
    free(text);
    look_at_program(table, process);
    return true;
}

void hp_space_table_free(struct hp_space_table *table)
{
    for (size_t at = 0; at < HP_SPACE_SLOTS; at++)
        while (table->slots[at] != NULL)
            forget(&table->slots[at]);
    for (size_t at = 0; at < table->program_count; at++)
        free(table->programs[at].file);
    free(table->programs);
    table->programs = NULL;
    table->program_count = table->program_room = 0;
}
