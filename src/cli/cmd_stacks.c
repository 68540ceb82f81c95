/* hotpath stacks: what all threads of a process do now, with their stacks. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "collector.h"
#include "command.h"
#include "debug_servers.h"
#include "find_process.h"
#include "launch.h"
#include "live_threads.h"
#include "live_zones.h"
#include "name_stacks.h"
#include "process.h"
#include "session_dirs.h"
#include "thread_stacks.h"
#include "write_stacks.h"

#define MOST_ROUNDS 3u /* until the zones that were read are those of the stacks */

struct view {
    struct hp_settings settings;
    struct hp_live_threads threads;
    struct hp_live_zones *zones; /* of each process */
    struct hp_thread_stacks stacks;
    uint32_t pid;
    bool with_children, is_json;
};

/* ---------------------------------------------------------------------------------------------- sessions */

static bool open_zones(struct view *view)
{
    view->zones = calloc(view->threads.pid_count + 1, sizeof *view->zones);
    for (size_t at = 0; view->zones != NULL && at < view->threads.pid_count; at++)
        hp_live_zones_open(&view->zones[at], &view->settings, view->threads.pids[at]);
    return view->zones != NULL;
}

static const struct hp_live_zones *zones_of(const struct view *view, uint32_t pid)
{
    size_t at = 0;
    while (view->zones[at].pid != pid)
        at++;
    return &view->zones[at];
}

static void read_zones(struct view *view)
{
    for (size_t at = 0; at < view->threads.pid_count; at++)
        hp_live_zones_read(&view->zones[at]);
}

static bool has_zones(const struct view *view)
{
    for (size_t at = 0; at < view->threads.pid_count; at++)
        if (view->zones[at].path[0] != '\0')
            return true;
    return false;
}

/* Whether a thread that waited has run since its stack was copied. */
static bool has_changed(const struct view *view)
{
    for (size_t at = 0; at < view->threads.count; at++)
        if (view->threads.all[at].has_stack && hp_live_thread_has_run(&view->threads.all[at]))
            return true;
    return false;
}

/* Of a thread that waited, what was read while it waited. */
static void set_zones(const struct view *view)
{
    for (size_t at = 0; at < view->stacks.count; at++) {
        struct hp_thread_stack *stack = &view->stacks.all[at];
        const struct hp_live_zone *zone = hp_live_zone_of(zones_of(view, stack->thread->pid), stack->thread->tid);
        if (zone == NULL)
            continue;
        stack->zone = zone->zone;
        stack->task = zone->task;
    }
}

/* ---------------------------------------------------------------------------------------------- reading */

/* The folder of the run that the process is in; NULL: of none. */
static const char *folder_of(const struct view *view, char *folder, size_t size)
{
    return hp_session_dir_find_run(view->zones[0].path, folder, size) ? folder : NULL;
}

static void look(struct view *view)
{
    char folder[2048];
    for (unsigned round = 0; round < MOST_ROUNDS; round++) {
        hp_live_threads_look(&view->threads);
        if (!has_zones(view))
            break;
        read_zones(view);
        if (!has_changed(view))
            break;
    }
    hp_live_threads_find_ends(&view->threads);
    hp_live_threads_sample(&view->threads, folder_of(view, folder, sizeof folder));
    hp_live_threads_end(&view->threads);
}

static bool name(struct view *view)
{
    const struct hp_stacks *found = hp_collector_end();
    const struct hp_stacks nothing = {0};
    bool is_done = hp_name_stacks(found != NULL ? found : &nothing, NULL, &view->stacks.named);
    hp_debug_servers_end();
    view->stacks.named.slots = NULL; /* of the collector */
    if (found != NULL)
        hp_collector_free();
    is_done = is_done && hp_thread_stacks_make(&view->stacks, &view->threads);
    if (is_done) {
        set_zones(view);
        hp_thread_stacks_group(&view->stacks);
    }
    return is_done;
}

/* ---------------------------------------------------------------------------------------------- showing */

/* Where the kernel hides something. One line each. */
static void explain(const struct view *view, enum hp_running_stacks source)
{
    bool is_hidden = false, lacks_samples = false;
    uint32_t hidden = 0;
    for (size_t at = 0; at < view->stacks.count; at++) {
        const struct hp_thread_stack *stack = &view->stacks.all[at];
        lacks_samples |= !stack->is_waiting && source == HP_RUNNING_UNKNOWN;
        if (!stack->is_waiting || stack->thread->is_readable)
            continue;
        is_hidden = true;
        hidden = stack->thread->pid;
    }
    if (is_hidden)
        hp_explain_hidden_waits(hidden, "stacks of waiting threads cannot be read");
    if (lacks_samples)
        hp_explain_refused_samples("running threads cannot be sampled");
}

static int show(struct view *view)
{
    const enum hp_running_stacks source = view->threads.has_perf    ? HP_RUNNING_BY_PERF
                                          : view->threads.has_rings ? HP_RUNNING_BY_PROGRAM
                                                                    : HP_RUNNING_UNKNOWN;
    const struct hp_stacks_shown shown = {&view->threads, &view->stacks, source};
    if (view->stacks.count == 0)
        return hp_fail("process %u ended while it was read", (unsigned)view->pid);
    explain(view, source);
    if (view->is_json)
        hp_write_stacks_json(&shown, stdout);
    else
        hp_write_stacks_text(&shown, stdout);
    return EXIT_DONE;
}

static int read_all(struct view *view)
{
    if (hp_process_is_of_another_user(view->pid)) {
        hp_explain_hidden_waits(view->pid, "its stacks cannot be read");
        return EXIT_FAILED;
    }
    if (!hp_live_threads_find(&view->threads, view->pid, view->with_children))
        fputs("hotpath: not all threads are shown: there are too many\n", stderr);
    if (view->threads.count == 0)
        return hp_fail("there is no process %u", (unsigned)view->pid);
    if (!open_zones(view))
        return hp_fail("not enough memory");
    look(view);
    return name(view) ? show(view) : hp_fail("not enough memory");
}

static void free_all(struct view *view)
{
    for (size_t at = 0; view->zones != NULL && at < view->threads.pid_count; at++)
        hp_live_zones_close(&view->zones[at]);
    free(view->zones);
    hp_thread_stacks_free(&view->stacks);
    hp_live_threads_free(&view->threads);
}

/* ---------------------------------------------------------------------------------------------- the command */

/* -1: go on. */
static int read_arguments(const struct hp_arguments *arguments, struct view *view)
{
    const char *format = hp_arguments_flag(arguments, "format");
    if (arguments->operand_count > 1)
        return hp_misuse(arguments->command, "unexpected argument '%s': only one process can be shown",
                         arguments->operands[1]);
    if (format != NULL && strcmp(format, "text") != 0 && strcmp(format, "json") != 0)
        return hp_misuse(arguments->command, "--format '%s' is not text or json", format);
    view->is_json = format != NULL && strcmp(format, "json") == 0;
    view->with_children = hp_arguments_flag(arguments, "recursive") != NULL;
    return -1;
}

static int run(const struct hp_arguments *arguments)
{
    static struct view view;
    int status = read_arguments(arguments, &view);
    if (status >= 0)
        return status;
    hp_arguments_settle(arguments, &view.settings);
    status = hp_process_choose(arguments->command, &view.settings,
                               arguments->operand_count > 0 ? arguments->operands[0] : NULL, &view.pid);
    if (status != EXIT_DONE)
        return status;
    hp_debug_servers_allow(&view.settings);
    hp_raise_descriptor_limit();
    status = read_all(&view);
    free_all(&view);
    return status;
}

static const struct hp_flag flags[] = {
    {"recursive", 'r', NULL, "Also show all processes that descend from it."},
    {"format", 'f', "text|json", "Format of the output (text). docs/stacks.schema.json describes the JSON."},
};

const struct hp_command hp_command_stacks = {
    .name = "stacks",
    .group = HP_GROUP_LOOK,
    .operands = "[PID|PROGRAM]",
    .operand = HP_OPERAND_PROCESS,
    .summary = "Shows what all threads of a process do now, with their stacks.",
    .details = "For each thread: whether it runs or what it waits for, who holds that, its measured\n"
               "function and task if the process has a session, and its stack. Threads with equal\n"
               "stacks are shown together. The process is given by its id or the name of its\n"
               "program; the default is the measured program that began last. It is not stopped:\n"
               "stacks of waiting threads are copied, running threads are sampled for 20 ms.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_FOLDER | HP_SCOPE_NAMES,
    .run = run,
};
