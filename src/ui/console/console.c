/* The console: what it watches, and its updates over time. SPDX-License-Identifier: MIT */
#include "console.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "frame.h"
#include "profile.h"
#include "text.h"

#define LAST_NS UINT64_C(10000000000)
#define LIST_NS UINT64_C(1000000000)

void hp_console_init(struct hp_console *console, const struct hp_settings *settings,
                     const struct hp_program_source *source)
{
    memset(console, 0, sizeof *console);
    console->settings = settings;
    console->source = source;
    console->window = (struct hp_window){.kind = HP_WINDOW_LAST, .length_ns = LAST_NS};
    console->measure = HP_MEASURE_CPU;
    console->verdict_lines = 1;
    console->columns = 100;
    console->rows = 30;
    console->is_due = true;
    hp_choices_read(&console->choices);
    hp_watched_init(&console->watched, settings, "");
    hp_console_prepare(console);
}

void hp_console_free(struct hp_console *console)
{
    hp_choices_write(&console->choices);
    hp_flame_free(&console->flame);
    hp_recent_free(&console->recent);
    hp_watched_close(&console->watched);
    hp_sessions_free(&console->programs);
    for (size_t at = 0; at < console->view_count; at++)
        hp_table_view_free(&console->views[at]);
    hp_arena_release(&console->arena);
}

/* ---------------------------------------------------------------------------------------------- sessions */

/* Adds new sessions of a run. */
static void add_parts(struct hp_console *console)
{
    struct hp_sessions parts = {0};
    if (console->source->parts(&parts, console->path))
        for (size_t at = 0; at < parts.count; at++)
            if (!hp_watched_has(&console->watched, parts.all[at].path))
                hp_watched_add(&console->watched, parts.all[at].path);
    hp_sessions_free(&parts);
}

bool hp_console_choose(struct hp_console *console, const char *path)
{
    char problem[sizeof console->watched.problem];
    const bool is_first = console->path[0] == '\0';
    hp_watched_close(&console->watched);
    hp_watched_init(&console->watched, console->settings, path);
    hp_recent_free(&console->recent);
    hp_flame_free(&console->flame);
    snprintf(console->path, sizeof console->path, "%s", path);
    console->restarted[0] = console->ending[0] = '\0';
    console->lasts_ns = is_first ? console->lasts_ns : 0;
    console->is_watching = console->is_due = true;
    console->is_paused = false;
    console->overlay = HP_OVERLAY_NONE;
    console->window = (struct hp_window){.kind = HP_WINDOW_LAST, .length_ns = LAST_NS};
    for (size_t at = 0; at < console->view_count; at++) {
        struct hp_table_view *view = &console->views[at];
        view->cursor = 0;
        view->order_count = view->line = 0;
    }
    add_parts(console);
    if (console->watched.reader.count > 0) {
        hp_console_prepare(console);
        return true;
    }
    snprintf(problem, sizeof problem, "%s",
             console->watched.problem[0] != '\0' ? console->watched.problem : "no session to read");
    console->is_watching = false;
    console->path[0] = '\0';
    snprintf(console->message, sizeof console->message, "%.250s", problem);
    hp_console_prepare(console);
    return false;
}

static void list_programs(struct hp_console *console)
{
    hp_sessions_free(&console->programs);
    console->source->list(console->source->context, &console->programs);
    console->programs_now_ns = hp_clock_wall_ns();
    console->listed_ns = console->now_ns;
}

/* Of the same program, somewhere else or, for a process of a run, in the same run. */
static const struct hp_stored_session *find_later(struct hp_console *console, struct hp_sessions *parts)
{
    const struct hp_watched *watched = &console->watched;
    const uint64_t began_ns = watched->reader.model.run.sessions[0]->header.wall_start_ns;
    const struct hp_found *found = &watched->found;
    list_programs(console);
    const struct hp_stored_session *later =
        hp_sessions_restarted(&console->programs, console->path, watched->command, began_ns);
    if (later == NULL && found->folder[0] != '\0' && !found->is_of_run &&
        console->source->parts(parts, found->folder))
        later = hp_sessions_restarted(parts, console->path, watched->command, began_ns);
    return later;
}

/* After the program has ended. */
static void find_restarted(struct hp_console *console)
{
    const struct hp_watched *watched = &console->watched;
    struct hp_sessions parts = {0};
    if (watched->is_live || !watched->has_data || console->now_ns - console->listed_ns < LIST_NS)
        return;
    const struct hp_stored_session *later = find_later(console, &parts);
    console->restarted[0] = '\0';
    if (later != NULL) {
        snprintf(console->restarted, sizeof console->restarted, "%s", later->path);
        console->restarted_pid = later->pid;
        console->is_recorded_again = later->is_recorded && later->pid == watched->pid;
    }
    hp_sessions_free(&parts);
}

/* The runner writes it a moment after the program has ended. */
static void find_ending(struct hp_console *console)
{
    const struct hp_program_source *source = console->source;
    if (!console->watched.is_live && console->ending[0] == '\0' && source->ending != NULL &&
        !source->ending(console->path, console->ending, sizeof console->ending))
        console->ending[0] = '\0';
}

/* ---------------------------------------------------------------------------------------------- refresh */

static void find_tabs_with_data(struct hp_console *console)
{
    const enum hp_tab tab = console->tab;
    for (unsigned at = 0; at < HP_CONSOLE_TABS; at++) {
        console->tab = (enum hp_tab)at;
        hp_console_find_subs(console);
        console->tab_has_data[at] = at == HP_TAB_OVERVIEW || console->sub_count > 0;
    }
    console->tab = tab;
    console->tab_has_data[HP_TAB_STACKS] = hp_found_shown(&console->watched.found) != NULL;
    hp_console_find_subs(console);
}

/* Reads what the view needs. False: with these data, the view is another one. */
static bool read_view(struct hp_console *console)
{
    char whole[200], range[200], whole_now[200], range_now[200];
    hp_console_sections(console, whole, range, sizeof whole);
    struct hp_request request = {.window = console->window, .whole = whole, .range = range, .slowest = ""};
    if (strcmp(whole, "slowest") == 0)
        request.slowest = console->overlay == HP_OVERLAY_INSPECT ? console->slowest : "/./";
    hp_watched_refresh(&console->watched, &request);
    find_tabs_with_data(console);
    hp_console_sections(console, whole_now, range_now, sizeof whole_now);
    return strcmp(whole, whole_now) == 0 && strcmp(range, range_now) == 0;
}

void hp_console_refresh(struct hp_console *console)
{
    const uint64_t before = hp_clock_thread_ns();
    console->is_due = false;
    console->refreshed_ns = console->now_ns;
    if (!console->is_watching) {
        list_programs(console);
        hp_console_prepare(console);
        return;
    }
    add_parts(console);
    if (!read_view(console))
        read_view(console);
    hp_console_make_flame(console);
    find_restarted(console);
    find_ending(console);
    hp_console_prepare(console);
    console->sorts_anew = false;
    console->spent_ns = hp_clock_thread_ns() - before;
}

/* For a large session the console uses at most a tenth of a CPU. */
#define SHARE 10u

uint64_t hp_console_due_ns(const struct hp_console *console)
{
    const uint64_t chosen = console->choices.refresh_ms * UINT64_C(1000000);
    return console->refreshed_ns + (SHARE * console->spent_ns > chosen ? SHARE * console->spent_ns : chosen);
}

void hp_console_tick(struct hp_console *console, uint64_t now_ns)
{
    console->now_ns = now_ns;
    if (console->is_due || (!console->is_paused && now_ns >= hp_console_due_ns(console)))
        hp_console_refresh(console);
}

/* ------------------------------------------------------------------------------------------------- lookup */

const struct hp_watched_functions *hp_console_functions(const struct hp_console *console)
{
    const bool has_sampled = strcmp(console->table.key, "sampled") == 0;
    return has_sampled ? &console->watched.sampled : &console->watched.measured;
}

static const struct hp_watched_function *function_named(const struct hp_watched_functions *functions,
                                                        const char *name)
{
    for (size_t at = 0; at < functions->count; at++)
        if (strcmp(functions->all[at].name, name) == 0)
            return &functions->all[at];
    return NULL;
}

/* Rows of other tables name functions, too. */
static const struct hp_watched_function *function_of_row(const struct hp_console *console,
                                                         const struct hp_table_row *row)
{
    const struct hp_watched *watched = &console->watched;
    const bool names_functions =
        console->tab == HP_TAB_TREE || console->tab == HP_TAB_WAITS || console->tab == HP_TAB_CALLS;
    const struct hp_watched_function *function = hp_watched_function(&watched->measured, row->subject);
    if (function == NULL)
        function = hp_watched_function(&watched->sampled, row->subject);
    if (function == NULL && names_functions && row->cells[0].text != NULL)
        function = function_named(&watched->measured, row->cells[0].text);
    return function;
}

const struct hp_watched_function *hp_console_function(const struct hp_console *console)
{
    if (!console->is_watching || !console->watched.has_data || console->view->line >= console->shown.count)
        return NULL;
    return function_of_row(console, console->shown.all[console->view->line]);
}

void hp_console_open_list(struct hp_console *console)
{
    hp_watched_close(&console->watched);
    hp_watched_init(&console->watched, console->settings, "");
    hp_flame_free(&console->flame);
    console->is_watching = false;
    console->path[0] = console->restarted[0] = '\0';
    console->is_due = true;
    hp_console_prepare(console);
}
