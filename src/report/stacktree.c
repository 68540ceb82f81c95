/*
 * The section `stacktree`: the call tree of sampled stacks, whether or not functions are measured: one row per path
 * of functions, parents before children, siblings sorted by CPU time or by the column that HOTPATH_SORT names. If
 * there are several processes, the rows at the top are their programs. What starts threads and programs is left
 * out, a function that calls itself is one row, and so is all that a system call does in the kernel.
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "arena.h"
#include "arith.h"
#include "function_profile.h"
#include "function_role.h"
#include "identity.h"
#include "order.h"
#include "section.h"
#include "shares.h"
#include "text.h"
#include "tree_rows.h"

/* Facts of this section. */
enum { HAS_SAMPLES = HP_FACT_OWN, HAS_WAITS = HP_FACT_OWN << 1, HAS_WALL = HP_FACT_OWN << 2 };

/* A function as called from its parent, or a program; the first one is the root, and no row. */
struct path {
    uint32_t parent;    /* a lower index */
    uint32_t function;  /* HP_NO_FOUND: the root, or a program */
    uint32_t process;   /* of a program: its first one */
    uint32_t processes; /* how many it has */
    /* Of stacks that end here, and with all that is called from here. */
    uint64_t samples;
    uint64_t own_ns, total_ns;
    uint64_t own_wall_ns, total_wall_ns;
    uint64_t total_waiting_ns, total_idle_ns;
    struct hp_found_cause waits_for; /* the longest wait in one place */
    uint64_t waits_for_ns;
};

struct view {
    struct hotpath_results *results;
    const struct hp_function_profile *profile;
    bool has_programs; /* as rows */
    struct path *paths;
    size_t count;
    uint32_t *into;  /* by node of the profile: its path */
    uint32_t *slots; /* an open hash table of paths; 0: free */
    size_t slot_count;
};

/* ------------------------------------------------------------------------------------------ merging */

static const struct hp_found_process *process_of(const struct view *view, const struct path *path)
{
    return &view->profile->processes[path->process];
}

static bool is_path(const struct view *view, const struct path *path, const struct path *wanted)
{
    if (path->parent != wanted->parent || path->function != wanted->function)
        return false;
    return path->function != HP_NO_FOUND ||
           strcmp(process_of(view, path)->program, process_of(view, wanted)->program) == 0;
}

static size_t first_slot(const struct view *view, const struct path *wanted)
{
    uint64_t hash = hp_identity_with_number(0, (uint64_t)wanted->parent << 32 | wanted->function);
    if (wanted->function == HP_NO_FOUND)
        hash = hp_identity_with_text(hash, process_of(view, wanted)->program);
    return (size_t)hash & (view->slot_count - 1);
}

/* The path of a function or a program below another one, made where there is none. There is room for all nodes. */
static uint32_t path_below(struct view *view, const struct path *wanted)
{
    size_t at = first_slot(view, wanted);
    while (view->slots[at] != 0 && !is_path(view, &view->paths[view->slots[at]], wanted))
        at = (at + 1) & (view->slot_count - 1);
    if (view->slots[at] == 0) {
        view->slots[at] = (uint32_t)view->count;
        view->paths[view->count++] = *wanted;
    }
    return view->slots[at];
}

static enum hp_function_role role_of(const struct hp_found_function *function)
{
    return hp_function_role(function->name, function->library);
}

/*
 * Whether a call has no row of its own: of what starts threads and programs, which says nothing; of a function by
 * itself, since each level of a recursion would say the same; and of functions of the kernel in a system call.
 */
static bool is_in_parent(const struct view *view, uint32_t function, const struct path *parent)
{
    const struct hp_found_function *called = &view->profile->all[function];
    if (parent->function == HP_NO_FOUND)
        return role_of(called) == HP_ROLE_START && strcmp(called->name, HP_REST_OF_STACK) != 0;
    return parent->function == function || role_of(called) == HP_ROLE_START ||
           (role_of(called) == HP_ROLE_KERNEL && role_of(&view->profile->all[parent->function]) == HP_ROLE_KERNEL);
}

static uint32_t path_of(struct view *view, const struct hp_found_node *node)
{
    const uint32_t parent = view->into[node->parent];
    struct path wanted = {.parent = parent, .function = node->function, .process = node->process};
    if (node->function != HP_NO_FOUND)
        return is_in_parent(view, node->function, &view->paths[parent]) ? parent : path_below(view, &wanted);
    if (!view->has_programs || node->parent != 0 || node->process == HP_NO_FOUND)
        return parent;
    const uint32_t path = path_below(view, &wanted);
    view->paths[path].processes++;
    return path;
}

static void add_wait(struct path *path, const struct hp_found_cause *cause, uint64_t ns)
{
    if (ns <= path->waits_for_ns)
        return;
    path->waits_for = *cause;
    path->waits_for_ns = ns;
}

static void add_own(struct path *path, const struct hp_found_node *node)
{
    const uint64_t own_ns = node->user_ns + node->kernel_ns;
    path->samples += node->samples;
    path->own_ns += own_ns;
    path->total_ns += own_ns;
    path->own_wall_ns += node->wall_ns;
    path->total_wall_ns += node->wall_ns;
    path->total_waiting_ns += node->waited_ns;
    path->total_idle_ns += node->idle_ns;
    if (node->waits.text != NULL)
        add_wait(path, &node->waits, node->waited_ns);
}

static void add_callees(struct view *view)
{
    for (size_t at = view->count; at-- > 1;) {
        const struct path *path = &view->paths[at];
        struct path *parent = &view->paths[path->parent];
        parent->total_ns += path->total_ns;
        parent->total_wall_ns += path->total_wall_ns;
        parent->total_waiting_ns += path->total_waiting_ns;
        parent->total_idle_ns += path->total_idle_ns;
        add_wait(parent, &path->waits_for, path->waits_for_ns);
    }
}

/* False: no memory. */
static bool make_room(struct view *view)
{
    struct hp_arena *arena = view->results->model->arena;
    const size_t most = view->profile->node_count + 1;
    view->slot_count = 16;
    while (view->slot_count < 2 * most)
        view->slot_count *= 2;
    view->paths = hp_arena_take_array(arena, most, sizeof *view->paths);
    view->into = hp_arena_take_array(arena, most, sizeof *view->into);
    view->slots = hp_arena_take_array(arena, view->slot_count, sizeof *view->slots);
    view->count = 1;
    return view->paths != NULL && view->into != NULL && view->slots != NULL;
}

static bool has_several_processes(const struct hp_function_profile *profile)
{
    size_t processes = 0;
    for (size_t at = 1; at < profile->node_count; at++) {
        const struct hp_found_node *node = &profile->nodes[at];
        processes += node->function == HP_NO_FOUND && node->parent == 0 && node->process != HP_NO_FOUND;
    }
    return processes > 1;
}

static bool merge(struct view *view)
{
    if (!make_room(view))
        return false;
    view->has_programs = has_several_processes(view->profile);
    view->paths[0].function = HP_NO_FOUND;
    for (size_t at = 1; at < view->profile->node_count; at++) {
        view->into[at] = path_of(view, &view->profile->nodes[at]);
        add_own(&view->paths[view->into[at]], &view->profile->nodes[at]);
    }
    add_callees(view);
    return true;
}

/* ------------------------------------------------------------------------------------------ columns */

static const struct hp_found_function *function_of(const struct view *view, const struct path *path)
{
    return path->function != HP_NO_FOUND ? &view->profile->all[path->function] : NULL;
}

static const char *library_of(const struct view *view, const struct path *path)
{
    const struct hp_found_function *function = function_of(view, path);
    return function != NULL ? hp_text_or_none(function->library) : NULL;
}

/* "cc1, 37 processes", "sort, process 4711" */
static const char *name_program(struct hp_fields *to, const struct view *view, const struct path *path)
{
    const struct hp_found_process *process = process_of(view, path);
    char bytes[300];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_string(&text, process->program[0] != '\0' ? process->program : "unknown program");
    if (path->processes > 1)
        hp_text_format(&text, ", %" PRIu32 " processes", path->processes);
    else
        hp_text_format(&text, ", process %" PRIu32, process->pid);
    return hp_fields_copy(to, bytes, text.length);
}

static const char *name_of(struct hp_fields *to, const struct view *view, const struct path *path)
{
    const struct hp_found_function *function = function_of(view, path);
    return function != NULL ? function->shown : name_program(to, view, path);
}

static uint64_t identity_of(const struct view *view, const struct path *path)
{
    const struct hp_found_function *function = function_of(view, path);
    return function != NULL ? hp_identity_of_found(function->name, function->library, function->file)
                            : hp_identity_with_text(0, process_of(view, path)->program);
}

static void fields(struct hp_fields *to, void *of, const void *entry)
{
    const struct view *view = of;
    const struct path *path = entry;
    if (to->row != NULL)
        to->row->id = identity_of(view, path);
    HP_FIELD(
        to, name_of(to, view, path), "name", "Function", TEXT, HP_COLUMN_FIRST,
        "Its name, or its address in the library if it has none; at the top, if there are several processes, a "
        "program: \"cc1, 37 processes\".");
    HP_FIELD(to, library_of(view, path), "library", "Library", TEXT,
             HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The program or library that contains it; null: none.");
    HP_FIELD(to, path->total_ns, "total_ns", "Total", NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "CPU time on this path, including callees.", .shown_by = HAS_SAMPLES);
    HP_FIELD(to, path->own_ns, "self_ns", "Self", NS, HP_COLUMN_SHOWN,
             "CPU time of the function itself on this path.", .shown_by = HAS_SAMPLES);
    HP_FIELD(to, hp_percent_of(path->total_ns, view->profile->cpu_ns), "percent_total", "% Total", PERCENT,
             HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_PART | HP_COLUMN_MAYBE, "total_ns of all CPU time.",
             .shown_by = HAS_SAMPLES);
    HP_FIELD(to, path->own_wall_ns, "self_wall_ns", "Self Wall", NS, 0,
             "self_ns, each sample divided by the number of threads of the run that ran at that time.");
    HP_FIELD(to, path->total_wall_ns, "total_wall_ns", "Total Wall", NS, 0, "Including callees.");
    HP_FIELD(to, hp_percent_of(path->total_wall_ns, view->profile->wall_ns), "percent_wall", "% Wall", PERCENT,
             HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_PART | HP_COLUMN_MAYBE,
             "total_wall_ns of the time in which any thread of the run ran.", .shown_by = HAS_WALL);
    HP_FIELD(to, path->samples, "samples", "Samples", COUNT, 0, "Samples that found the function itself running.");
    HP_FIELD(to, path->total_waiting_ns, "total_waiting_ns", "Waiting", NS, HP_COLUMN_SHOWN,
             "Time waited on this path, including callees, without time in the run queue.", .shown_by = HAS_WAITS);
    HP_FIELD(to, path->total_idle_ns, "total_idle_ns", "Idle", NS, 0,
             "The part of total_waiting_ns that is idle time.");
    HP_FIELD(to, hp_fields_copy(to, path->waits_for.text, path->waits_for.length), "waits_for", "For", TEXT,
             HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "What it waited for longest in one place: \"disk: /data/x.db\"; null: it was never seen waiting.",
             .shown_by = HAS_WAITS);
    HP_FIELD_IF(to, path->function == HP_NO_FOUND, path->processes, "processes", "Processes", COUNT, 0,
                "How many processes the program has; null: a function.");
    HP_FIELD(to, function_of(view, path) != NULL ? hp_text_or_none(function_of(view, path)->file) : NULL, "file",
             "File", TEXT, HP_COLUMN_MAYBE, "Its source file; null: unknown.");
}

static void totals(struct hp_fields *to, void *view, const void *about)
{
    const struct hp_function_profile *profile = about;
    (void)view;
    HP_FIELD(to, profile->cpu_ns, "cpu_ns", NULL, COUNT, 0);
    HP_FIELD(to, profile->wall_ns, "wall_ns", NULL, COUNT, 0, "The time in which any thread of the run ran.");
    HP_FIELD(to, profile->waited_ns, "waited_ns", NULL, COUNT, 0, "Of all threads together.");
    HP_FIELD(to, profile->counts.samples, "samples", NULL, COUNT, 0);
    HP_FIELD(to, profile->counts.whole, "whole", NULL, COUNT, 0,
             "Samples whose stack was unwound to the start of the thread.");
}

/* --------------------------------------------------------------------------------------------- rows */

/* Time that could be saved on a path. */
static uint64_t work_ns(const struct path *path)
{
    return path->total_ns + hp_less(path->total_waiting_ns, path->total_idle_ns);
}

static bool is_small(const struct view *view, const struct path *path)
{
    const struct hp_show_settings *show = &view->results->settings->show;
    const bool is_busy = path->total_ns > 0 && !hp_share_is_small(path->total_ns, view->profile->cpu_ns, show);
    const bool is_waiting =
        path->total_waiting_ns > 0 && !hp_share_is_small(path->total_waiting_ns, view->profile->waited_ns, show);
    return !is_busy && !is_waiting;
}

static bool matches_focus(const struct view *view, const struct path *path)
{
    const struct hp_found_function *function = function_of(view, path);
    const struct hp_pattern_subject of_function = {
        .names = {function != NULL ? function->shown : process_of(view, path)->program,
                  function != NULL ? function->name : ""},
        .files = {function != NULL ? function->file : "", function != NULL ? function->library : ""}};
    return hp_results_show_subject(view->results, &of_function);
}

/* The sort key of siblings; equal for text columns. */
static uint64_t rank_of(const struct hotpath_section *section, const struct path *path)
{
    const struct {
        const char *key;
        uint64_t number;
    } ranks[] = {{"total_ns", path->total_ns},
                 {"percent_total", path->total_ns},
                 {"self_ns", path->own_ns},
                 {"self_wall_ns", path->own_wall_ns},
                 {"total_wall_ns", path->total_wall_ns},
                 {"percent_wall", path->total_wall_ns},
                 {"samples", path->samples},
                 {"total_waiting_ns", path->total_waiting_ns},
                 {"total_idle_ns", path->total_idle_ns},
                 {"processes", path->processes}};
    const char *key = section->columns[section->order.column].shown.key;
    uint64_t number = 0;
    for (size_t at = 0; at < sizeof ranks / sizeof ranks[0]; at++)
        if (strcmp(ranks[at].key, key) == 0)
            number = ranks[at].number;
    return section->order.is_ascending ? ~number : number;
}

static struct hp_tree_place place_of(const struct view *view, const struct hotpath_section *section,
                                     const struct path *path)
{
    const struct hp_found_function *function = function_of(view, path);
    return (struct hp_tree_place){
        .entry = path,
        .name = function != NULL ? function->shown : process_of(view, path)->program,
        .parent = path->parent == 0 ? HP_TREE_TOP : path->parent - 1,
        .rank = rank_of(section, path),
        .size = work_ns(path),
        .heat = work_ns(path),
        .is_wanted = matches_focus(view, path),
        .is_small = is_small(view, path),
    };
}

/* False: no memory. */
static bool arrange(const struct view *view, const struct hotpath_section *section, struct hp_tree_rows *rows)
{
    rows->count = view->count - 1;
    rows->places = hp_arena_take_array(view->results->model->arena, view->count, sizeof *rows->places);
    if (rows->places == NULL)
        return false;
    for (size_t at = 0; at < rows->count; at++)
        rows->places[at] = place_of(view, section, &view->paths[at + 1]);
    return hp_tree_rows_arrange(view->results, section, rows);
}

static const char *why_empty(const struct view *view, const struct hp_tree_rows *rows)
{
    if (view->results->model->functions == NULL)
        return "no stacks were sampled: 'hotpath run' samples them if the kernel allows it";
    if (rows->wanted_count > 0)
        return "every path has a smaller share than HOTPATH_MIN_PERCENT";
    return rows->count > 0 ? "no function matches the focus" : "no function was found running";
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    static const struct hp_function_profile none;
    struct view view = {.results = results,
                        .profile = results->model->functions != NULL ? results->model->functions : &none};
    struct hp_tree_rows rows = {0};
    const uint32_t facts = (view.profile->counts.samples > 0 ? HAS_SAMPLES : 0u) |
                           (view.profile->counts.waits > 0 ? HAS_WAITS : 0u) |
                           (hp_found_has_wall(view.profile) ? HAS_WALL : 0u);
    section->description = "Who called whom, from stacks.";
    section->percent_of = "rows";
    if (!hp_section_begin(results, section, &view, facts, "total_ns", "percent_total") || !merge(&view) ||
        !arrange(&view, section, &rows))
        return false;
    hp_section_add_totals(results, section, view.profile);
    section->if_empty = why_empty(&view, &rows);
    return hp_tree_rows_fill(results, section, &rows, &view);
}

static bool has_data(const struct hotpath_results *results)
{
    const struct hp_function_profile *functions = results->model->functions;
    return functions != NULL && functions->node_count > 1;
}

const struct hp_section_type hp_section_stacktree = {
    .is_of_ticks = true,
    .name = "stacktree",
    .is_on_request = true,
    .is_left_out_empty = true,
    .has_data = has_data,
    .fill = fill,
    .is_of_stacks = true,
    .is_tree = true,
    .fields = fields,
    .totals = totals,
    .about = "Who called whom, from stacks: CPU time and waiting. Works without measured functions.",
    .about_row = "A path of functions, or a program at the top of several.",
    .always = "percent_of|order|totals"};
