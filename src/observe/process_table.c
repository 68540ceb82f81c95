/* Tracks the processes of a run. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* DT_DIR */
#include "process_table.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arith.h"
#include "clock.h"
#include "growing_array.h"
#include "hash_index.h"
#include "process.h"
#include "task_events.h"

#define MOST_PROCESSES 100000u
#define MOST_UNSAMPLED 16u /* processes without a sampler whose states are read at a look */
#define MOST_LIVING 512u   /* processes polled in /proc where the kernel sends no events */

static struct {
    struct hp_process_table table;
    size_t capacity;
    struct hp_hash_index index; /* by pid: the newest process with it */
    uint64_t *programs;         /* of polled processes: hp_task_executable */
    uint32_t *living;           /* capacity as for processes */
    size_t living_count;
    bool is_begun;
    uint64_t looked_ns;
    uint32_t cores;
    struct hp_work_found found; /* by the clocks, at the last look */
} state;

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Between the thread that scans and those that ask whether a process is one of the run's. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ------------------------------------------------------------------------------------------------ processes */

/* Its index in the table plus 1; 0: unknown, and the slot is free for it. */
static uint32_t place_of(uint32_t pid, size_t *ret_slot)
{
    const uint32_t hash = hp_hash_with(&state.index, 0, pid);
    uint32_t place;
    *ret_slot = HP_HASH_BEGIN;
    while ((place = hp_hash_next(&state.index, hash, ret_slot)) != 0)
        if (state.table.all[place - 1].pid == pid)
            break;
    return place;
}

static struct hp_process *find(uint32_t pid)
{
    size_t slot;
    const uint32_t place = place_of(pid, &slot);
    return place > 0 ? &state.table.all[place - 1] : NULL;
}

static void put_last(void)
{
    const uint32_t place = (uint32_t)state.table.count, pid = state.table.all[place - 1].pid;
    size_t slot;
    if (place_of(pid, &slot) != 0)
        state.index.slots[slot].number = place;
    else
        hp_hash_put(&state.index, slot, hp_hash_with(&state.index, 0, pid), place);
}

static bool grow_processes(void)
{
    size_t capacity = state.capacity;
    return HP_MAKE_ROOM(state.table.all, state.table.count + 1, capacity) &&
           HP_MAKE_ROOM(state.living, state.table.count + 1, state.capacity);
}

static struct hp_executed *add_image(struct hp_process *process, uint64_t ns, const char *name)
{
    struct hp_executed *images = realloc(process->images, (process->image_count + 1) * sizeof *images);
    if (images == NULL) {
        state.table.has_missed = true;
        return NULL;
    }
    process->images = images;
    struct hp_executed *image = &images[process->image_count++];
    *image = (struct hp_executed){.began_ns = ns};
    snprintf(image->name, sizeof image->name, "%.15s", name);
    return image;
}

/* NULL: an unknown process. */
static const struct hp_executed *last_image_of(uint32_t pid)
{
    size_t slot;
    const uint32_t place = place_of(pid, &slot);
    if (place == 0)
        return NULL;
    const struct hp_process *process = &state.table.all[place - 1];
    return process->image_count > 0 ? &process->images[process->image_count - 1] : NULL;
}

static struct hp_process *add(uint32_t pid, uint32_t parent, uint64_t ns)
{
    struct hp_process_table *table = &state.table;
    if (table->count == MOST_PROCESSES || !grow_processes() || !hp_hash_make_room(&state.index)) {
        table->has_missed = true;
        return NULL;
    }
    const struct hp_executed *program = last_image_of(parent);
    struct hp_process *process = &table->all[table->count++];
    *process = (struct hp_process){.pid = pid, .parent = parent, .began_ns = ns, .threads = 1};
    put_last();
    state.living[state.living_count++] = (uint32_t)(table->count - 1);
    struct hp_executed *image = add_image(process, ns, program != NULL ? program->name : "");
    if (image != NULL && program != NULL && program->file != NULL)
        image->file = strdup(program->file);
    return process;
}

static char *command_of(uint32_t pid, uint32_t tid)
{
    char text[1024];
    return hp_process_command_of(pid, tid, text, sizeof text) > 0 ? strdup(text) : NULL;
}

/* ------------------------------------------------------------------------------------------- kernel events */

/*
 * The kernel reports each thread. The event of a thread's beginning may have been lost: then the last event is the
 * end of the process.
 */
static void end_thread(struct hp_process *process, uint64_t ns)
{
    if (process->threads > 0)
        process->threads--;
    if (process->threads == 0)
        process->ended_ns = ns;
}

static void note_command(struct hp_executed *image, uint32_t pid)
{
    image->command = command_of(pid, 0);
    image->looked_ns = hp_clock_monotonic_ns();
}

/*
 * The command is read after the event arrives: if the process had executed another program by then, it is not this
 * one's.
 */
static void doubt_command(struct hp_executed *image, uint64_t next_ns)
{
    if (image == NULL || image->looked_ns < next_ns)
        return;
    free(image->command);
    image->command = NULL;
}

static void take(const struct hp_task_event *event)
{
    struct hp_process *process = event->pid == 0 ? NULL : find(event->pid);
    struct hp_executed *image =
        process != NULL && process->image_count > 0 ? &process->images[process->image_count - 1] : NULL;
    switch (event->kind) {
    case HP_TASK_FORKED:
        add(event->pid, event->parent, event->ns);
        break;
    case HP_TASK_EXECUTED:
        doubt_command(image, event->ns);
        image = process != NULL ? add_image(process, event->ns, event->text) : NULL;
        if (image != NULL)
            note_command(image, event->pid);
        break;
    case HP_TASK_MAPPED:
        if (image != NULL && image->file == NULL && event->text[0] == '/')
            image->file = strdup(event->text);
        break;
    case HP_TASK_THREAD:
        if (process != NULL)
            process->threads++;
        break;
    case HP_TASK_ENDED:
        if (image != NULL && image->file == NULL && process->image_count > 1)
            process->is_hidden = true; /* no mapping since exec: it goes on, hidden from us */
        else if (process != NULL)
            end_thread(process, event->ns);
        break;
    case HP_TASK_MISSED:
        state.table.has_missed = true;
        break;
    case HP_TASK_FLOODED:
        state.table.may_have_missed = true;
        break;
    }
}

/* ---------------------------------------------------------------------------------------------------- polling */

static bool has_gaps(void) { return state.table.has_missed || state.table.may_have_missed; }

/* The share of its time it spent on a CPU while observed, from 0 to 1; 1 if it was never observed. */
static double busyness_of(const struct hp_process *process)
{
    const uint64_t watched = hp_less(process->seen_ns, process->began_ns);
    if (watched == 0 || process->seen_cpu_ns >= watched)
        return 1;
    return (double)(process->seen_cpu_ns + 1) / (double)watched;
}

static uint64_t unseen_since(const struct hp_process *process)
{
    return process->seen_ns > process->began_ns ? process->seen_ns : process->began_ns;
}

/* Time from the last reading of its clock, or from its beginning, to its end. */
static uint64_t unseen_of(const struct hp_process *process)
{
    return hp_less(process->ended_ns, unseen_since(process));
}

/* Its threads together cannot be told from one: they ran at least one after the other on all CPUs. */
static void note_found(const struct hp_process *process, uint64_t ns)
{
    const uint32_t threads = process->threads > 0 ? process->threads : 1;
    const bool is_known = state.table.is_exact && threads < state.cores;
    const struct hp_work_found found = {
        .sum_ns = ns, .ran_ns = ns, .longest_ns = ns / (is_known ? threads : state.cores)};
    hp_work_join(&state.found, &found);
}

/* The clock of one that has ended is gone: the rest of its life is taken to be like what was seen of it. */
static void note_end(const struct hp_process *process)
{
    note_found(process, (uint64_t)(busyness_of(process) * (double)unseen_of(process)));
}

size_t hp_process_table_living(uint32_t *pids, size_t most, uint32_t *ret_generation)
{
    const size_t count = least(state.living_count, most);
    for (size_t at = 0; at < count; at++)
        pids[at] = state.table.all[state.living[state.living_count - 1 - at]].pid;
    *ret_generation = (uint32_t)state.table.count;
    return count;
}

/* Only their main threads are looked at: the clocks tell of the others. */
struct hp_work_found hp_process_table_found(hp_is_sampled *is_sampled)
{
    struct hp_work_found found = state.found;
    size_t looks = 0;
    for (size_t at = 0; at < state.living_count && looks < MOST_UNSAMPLED && !found.is_working; at++) {
        const uint32_t pid = state.table.all[state.living[at]].pid;
        uint64_t start;
        if (is_sampled(pid))
            continue;
        looks++;
        found.is_working = found.is_queued = hp_task_state(pid, 0, &start) == 'R';
    }
    return found;
}

/* Reads the CPU clocks while the processes live: a process takes its clock with it. */
static void read_clocks(uint64_t now)
{
    size_t count = 0;
    state.found = (struct hp_work_found){0};
    for (size_t at = 0; at < state.living_count; at++) {
        struct hp_process *process = &state.table.all[state.living[at]];
        const uint64_t cpu = hp_used_by(process->pid);
        if (cpu != 0 && cpu >= process->seen_cpu_ns) {
            note_found(process, cpu - process->seen_cpu_ns);
            process->seen_cpu_ns = cpu;
            process->seen_ns = now;
        }
        if (cpu == 0 && (process->is_hidden || (has_gaps() && process->seen_cpu_ns > 0)))
            process->ended_ns = now; /* no event told us */
        if (cpu == 0 && process->ended_ns != 0)
            note_end(process);
        if (process->ended_ns == 0)
            state.living[count++] = state.living[at];
    }
    state.living_count = count;
}

static void note_program(struct hp_process *process, uint64_t now)
{
    char path[HP_TASK_PATH], name[32] = "", file[1024];
    const uint32_t tid = hp_task_spokesman(process->pid);
    hp_task_read(process->pid, tid, "comm", name, sizeof name);
    name[strcspn(name, "\n")] = '\0';
    struct hp_executed *image = add_image(process, now, name);
    if (image == NULL)
        return;
    const ssize_t length = readlink(hp_task_path(path, process->pid, tid, "exe"), file, sizeof file - 1);
    file[length > 0 ? length : 0] = '\0';
    image->file = length > 0 ? strdup(file) : NULL;
    image->command = command_of(process->pid, tid);
}

static void add_children_of(uint32_t pid, uint32_t tid, uint64_t now)
{
    char path[HP_TASK_PATH], text[4096];
    FILE *file = fopen(hp_task_path(path, pid, tid, "children"), "re");
    if (file == NULL)
        return;
    const size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    for (const char *at = text; at[strspn(at, " ")] != '\0';) {
        const uint32_t child = (uint32_t)hp_task_number(&at);
        const struct hp_process *known = find(child);
        if (child == 0)
            break;
        if (known == NULL || known->ended_ns != 0)
            add(child, pid, now);
    }
}

static void look_for_children(uint32_t pid, uint64_t now)
{
    char path[HP_TASK_PATH];
    DIR *tasks = opendir(hp_task_path(path, pid, 0, "task"));
    if (tasks == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        const char *name = entry->d_name;
        const uint32_t tid = (uint32_t)hp_task_number(&name);
        if (tid != 0)
            add_children_of(pid, tid, now);
    }
    closedir(tasks);
}

static bool is_program_of(uint32_t pid, uint64_t program)
{
    const struct hp_process *process = find(pid);
    return process != NULL && state.programs[process - state.table.all] == program;
}

/* Detects exec by a changed executable. A zombie has no executable and has ended. */
static void look_at(size_t at, uint64_t now)
{
    const uint32_t pid = state.table.all[at].pid;
    uint64_t start;
    const char letter = hp_task_state(pid, 0, &start);
    const uint64_t program = letter != 'Z' && letter != 'X' ? hp_task_executable(pid) : 0;
    struct hp_process *process = &state.table.all[at];
    const bool is_another = process->start != 0 && start != process->start; /* it has its number */
    if (letter == 'Z' || letter == 'X' || is_another) {
        process->ended_ns = now;
        return;
    }
    process->start = start;
    if (program != 0 && program != state.programs[at]) {
        const bool is_parents = state.programs[at] == 0 && is_program_of(process->parent, program);
        state.programs[at] = program;
        if (!is_parents)
            note_program(process, now);
    }
    look_for_children(pid, now);
}

/* Also visits processes found in this round: they may have ended by the next. */
static void look_around(uint64_t now)
{
    for (size_t at = 0; state.programs != NULL && at < least(state.living_count, MOST_LIVING); at++)
        look_at(state.living[at], now);
}

/* ----------------------------------------------------------------------------------------------------- all */

static void forget_all(void)
{
    for (size_t at = 0; at < state.table.count; at++) {
        struct hp_process *process = &state.table.all[at];
        for (size_t image = 0; image < process->image_count; image++) {
            free(process->images[image].file);
            free(process->images[image].command);
        }
        free(process->images);
    }
    free(state.table.all);
    hp_hash_free(&state.index);
    free(state.programs);
    free(state.living);
    memset(&state, 0, sizeof state);
}

void hp_process_table_begin(uint32_t pid)
{
    forget_all();
    state.table.is_exact = hp_task_events_begin(pid);
    state.cores = hp_process_cores();
    state.is_begun = add(pid, (uint32_t)getpid(), hp_clock_monotonic_ns()) != NULL;
    if (state.table.is_exact)
        return;
    state.programs = calloc(MOST_PROCESSES, sizeof *state.programs);
    if (state.programs != NULL)
        state.programs[0] = hp_task_executable(pid); /* still hotpath's own executable */
}

/* CPU time until now is not of the run. */
static void set_clocks(uint64_t now)
{
    for (size_t at = 0; at < state.table.count; at++) {
        state.table.all[at].seen_cpu_ns = hp_used_by(state.table.all[at].pid);
        state.table.all[at].seen_ns = now;
    }
}

/* The kernel's events begin with a process, and know of no others that it has started before. */
void hp_process_table_attach(uint32_t pid)
{
    const uint64_t now = hp_clock_monotonic_ns();
    forget_all();
    state.cores = hp_process_cores();
    state.programs = calloc(MOST_PROCESSES, sizeof *state.programs);
    state.is_begun = state.programs != NULL && add(pid, 0, now) != NULL;
    if (!state.is_begun)
        return;
    state.looked_ns = now;
    look_around(now); /* goes on with those that it finds */
    set_clocks(now);
}

bool hp_process_table_is_exact(void) { return state.table.is_exact; }

/* A pid is reused only after its process has ended. */
static bool is_known(const struct hp_process *met)
{
    const struct hp_process *known = find(met->pid);
    return known != NULL && (known->ended_ns == 0 || met->began_ns <= known->ended_ns);
}

static void meet(const struct hp_process *met)
{
    if (!state.is_begun || state.table.is_exact || is_known(met))
        return;
    struct hp_process *process = add(met->pid, met->parent, met->began_ns);
    if (process == NULL)
        return;
    /*
     * Processes found gone in one scan end at one time: a child that seemed to outlive its parent would leave its
     * CPU time to another process.
     */
    process->ended_ns = least(met->ended_ns, state.looked_ns > met->began_ns ? state.looked_ns : UINT64_MAX);
    process->seen_cpu_ns = met->seen_cpu_ns;
    process->seen_ns = met->seen_ns;
    if (met->ended_ns != 0)
        state.living_count--; /* add has just put it there, as the last */
}

void hp_process_table_meet(const struct hp_process *met)
{
    pthread_mutex_lock(&lock);
    meet(met);
    pthread_mutex_unlock(&lock);
}

const struct hp_process *hp_process_table_find(uint32_t pid) { return find(pid); }

#define MOST_GENERATIONS 64u /* of processes between us and one that asks */

/* The usual case is decided without waiting for a scan. */
static bool is_descendant(uint32_t pid)
{
    const uint32_t self = (uint32_t)getpid();
    for (unsigned generation = 0; pid > 1 && pid != self && generation < MOST_GENERATIONS; generation++)
        pid = hp_task_parent(pid);
    return pid == self;
}

bool hp_process_table_has(uint32_t pid)
{
    bool has = pid != (uint32_t)getpid() && is_descendant(pid);
    if (has)
        return true;
    pthread_mutex_lock(&lock);
    for (unsigned generation = 0; !has && pid > 1 && generation < MOST_GENERATIONS; generation++) {
        const struct hp_process *process = find(pid);
        has = process != NULL && process->ended_ns == 0;
        pid = has ? pid : hp_task_parent(pid);
    }
    pthread_mutex_unlock(&lock);
    return has;
}

static void look(void)
{
    const uint64_t now = hp_clock_monotonic_ns();
    if (!state.is_begun)
        return;
    state.looked_ns = now;
    if (state.table.is_exact)
        hp_task_events_take(take, false);
    else
        look_around(now);
    read_clocks(now);
}

void hp_process_table_look(void)
{
    pthread_mutex_lock(&lock);
    look();
    pthread_mutex_unlock(&lock);
}

/*
 * A shell whose clock was last read at its start, when it was busy, would otherwise get half of its child's CPU
 * time. Where children run in parallel, their times add up to more than the time in which there were any.
 */
static void find_who_waits(void)
{
    for (size_t at = 0; at < state.table.count; at++) {
        const struct hp_process *child = &state.table.all[at];
        size_t slot;
        const uint32_t place = place_of(child->parent, &slot);
        if (place == 0 || place == at + 1 || state.table.all[place - 1].ended_ns == 0)
            continue;
        struct hp_process *parent = &state.table.all[place - 1];
        const uint64_t since = unseen_since(parent), from = child->began_ns > since ? child->began_ns : since;
        const uint64_t to = child->ended_ns != 0 ? least(child->ended_ns, parent->ended_ns) : parent->ended_ns;
        parent->waited_ns = least(parent->waited_ns + hp_less(to, from), unseen_of(parent));
    }
}

/* How long it may have used a CPU unseen: all the time, or only while it is not taken to wait for children. */
static uint64_t unseen_at_work(const struct hp_process *process, bool is_all)
{
    return unseen_of(process) - (is_all ? 0 : process->waited_ns);
}

static double part_of(const struct hp_process *process, bool is_all)
{
    return busyness_of(process) * (double)unseen_at_work(process, is_all);
}

static bool outlived_its_parent(const struct hp_process *process, const struct hp_process *parent)
{
    return parent->ended_ns != 0 && (process->ended_ns == 0 || process->ended_ns > parent->ended_ns);
}

#define MOST_ANCESTORS 64u

/* A process that outlives its parent is reaped by another process, which also gets the CPU time of its children. */
static bool leaves_it_with_us(const struct hp_process *process)
{
    for (unsigned at = 0; at < MOST_ANCESTORS && process != state.table.all; at++) {
        const struct hp_process *parent = find(process->parent);
        if (parent == NULL || parent == process)
            break;
        if (outlived_its_parent(process, parent))
            return false;
        process = parent;
    }
    return true;
}

/* How much more CPU time it can have used. */
static uint64_t room_of(const struct hp_process *process, bool is_all)
{
    const uint64_t most = process->seen_cpu_ns + unseen_at_work(process, is_all);
    return leaves_it_with_us(process) ? hp_less(most, process->cpu_ns) : 0;
}

/* Distributes `left` in proportion among those that can have used more. Returns how much was given. */
static uint64_t give(uint64_t left, bool is_all)
{
    double parts = 0;
    uint64_t given = 0;
    for (size_t at = 0; at < state.table.count; at++)
        parts += room_of(&state.table.all[at], is_all) > 0 ? part_of(&state.table.all[at], is_all) : 0;
    for (size_t at = 0; at < state.table.count && parts > 0; at++) {
        struct hp_process *process = &state.table.all[at];
        const uint64_t room = room_of(process, is_all);
        const double its = (double)left * part_of(process, is_all) / parts;
        const uint64_t amount = its < (double)room ? (uint64_t)its : room;
        process->cpu_ns += amount;
        given += amount;
    }
    return given;
}

void hp_process_table_learn(uint32_t pid, uint64_t ns, uint64_t cpu_ns)
{
    struct hp_process *process = find(pid);
    if (process == NULL || ns < process->began_ns || (process->ended_ns != 0 && ns > process->ended_ns) ||
        cpu_ns <= process->seen_cpu_ns)
        return;
    process->seen_cpu_ns = cpu_ns;
    process->seen_ns = ns > process->seen_ns ? ns : process->seen_ns;
}

#define MOST_ROUNDS 32u /* each fills up those whose part exceeds what they can have used */
#define LITTLE_NS 1000u /* what is left is rounding */

static uint64_t give_all(uint64_t left, bool is_all)
{
    uint64_t given = 1;
    for (unsigned round = 0; round < MOST_ROUNDS && left > LITTLE_NS && given > 0; round++) {
        given = give(left, is_all);
        left -= given;
    }
    return left;
}

/*
 * The CPU time of all reaped descendants is known as a sum (RUSAGE_CHILDREN). What exceeds the observed sum was
 * used after the last readings, mostly by processes that ended before they were read. It is distributed by how long
 * that was and how busy they had been, since one may have waited for another all the time. What they cannot have
 * used is that of those that were taken to wait: they ran beside their children. No process gets more than its
 * unobserved time.
 */
void hp_process_table_share_out(void)
{
    uint64_t left = hp_used_by_children();
    find_who_waits();
    for (size_t at = 0; at < state.table.count; at++) {
        struct hp_process *process = &state.table.all[at];
        process->cpu_ns = process->seen_cpu_ns;
        left = hp_less(left, leaves_it_with_us(process) ? process->seen_cpu_ns : 0);
    }
    give_all(give_all(left, false), true);
}

const struct hp_process_table *hp_process_table_end(void)
{
    if (!state.is_begun)
        return &state.table;
    if (state.table.is_exact) {
        hp_task_events_take(take, true);
        hp_task_events_end();
    } else {
        look_around(hp_clock_monotonic_ns());
    }
    read_clocks(hp_clock_monotonic_ns());
    return &state.table;
}
