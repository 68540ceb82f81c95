/*
 * The section `slowest`: the slowest call of a function and, below it, what ran inside that call.
 *
 * Each thread records its own slowest call; the slowest of all threads and processes is shown. The functions are
 * those with the requested name or, if there is none, those whose name matches it as a pattern.
 *
 * A recorded call refers to nodes of its thread's tree. Here they become a tree of their own: below the row of a
 * node's parent, or of the nearest ancestor that has a row, or else below the call itself. Only an earlier row can
 * be a parent, so there are no cycles, whatever the file says. One file from the search to the sentences: all of it
 * works on one function's call. SPDX-License-Identifier: MIT
 */
#include "profile.h"
#include "section.h"

#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "arith.h"
#include "identity.h"
#include "shares.h"
#include "sort.h"
#include "text.h"
#include "units.h"
#include "utf8.h"

/* Deeper paths are left out, as in the call tree. */
#define DEEPEST 200u
/* How far up an ancestor is searched: those in between were left out for lack of space. */
#define MOST_STEPS_UP 64u
#define NAME_COLUMNS 40u /* of a name within a sentence */
#define LINE_BYTES 240u

/* The call, or a call path inside it. */
struct part {
    const struct hp_slow_row *stored; /* NULL: the call itself */
    const char *name;
    uint64_t id; /* of the site; 0: it appeared since */
    struct part *parent;
    struct part *first_child;
    struct part *next_sibling;
    uint64_t heat; /* the smallest total on its path */
    uint32_t parent_node;
    uint32_t depth;
    bool is_kept;
    bool is_poll; /* of a task, not a call */
};

/* A function whose slowest call is requested. */
struct function {
    const struct hp_site_sums *site;
    struct hp_site_details details;
    const struct hp_snapshot *session; /* of its slowest call; NULL: none was recorded */
    uint32_t session_index;
    uint32_t record_tid; /* of the thread record, which has the name */
    char thread[sizeof((struct hp_thread *)0)->name];
    struct hotpath_stat_ stat;
    uint64_t ticks;
    struct hp_slow_copy copy;
    struct part *parts;    /* the call, then its rows */
    struct part **by_node; /* the rows sorted by node and number */
    size_t part_count;
};

/* Facts of this section. */
enum { HAS_NOTES = HP_FACT_OWN, HAS_SEVERAL = HP_FACT_OWN << 1, HAS_POLLS = HP_FACT_OWN << 2 };

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    struct function *functions; /* by number of the site */
    struct function **order;    /* the slowest first */
    size_t count;               /* of matching functions */
    size_t shown;
    const struct function *filled; /* the function of the row being filled */
    uint64_t bytes_left; /* limit of copies: no more than the sessions have in all, even if many claim the same */
    uint64_t now;
};

/* --------------------------------------------------------------------------------------- functions */

static int compare_sites(const void *a, const void *b)
{
    return hp_by_number(hp_site_number(a), hp_site_number(b));
}

/* Those with exactly this name, or those that match the pattern. */
static size_t choose(const struct hp_profile *profile, const char *name, const struct hp_pattern *pattern,
                     const struct hp_site_sums **sites)
{
    size_t count = 0;
    for (size_t at = 0; at < profile->site_count; at++)
        if (strcmp(profile->sites[at]->name, name) == 0)
            sites[count++] = profile->sites[at];
    if (count > 0)
        return count;
    for (size_t at = 0; at < profile->site_count; at++)
        if (hp_pattern_matches(pattern, profile->sites[at]->name))
            sites[count++] = profile->sites[at];
    return count;
}

static bool find_functions(struct view *view)
{
    const struct hp_profile *profile = view->results->model->profile;
    struct hp_arena *arena = view->results->model->arena;
    const char *name = view->results->settings->show.slowest;
    struct hp_pattern *pattern = hp_arena_take(arena, sizeof *pattern);
    const struct hp_site_sums **sites = hp_arena_take_array(arena, profile->site_count + 1, sizeof(void *));
    if (pattern == NULL || sites == NULL)
        return false;
    if (name[0] != '\0' && hp_pattern_compile(pattern, name) == NULL)
        view->count = choose(profile, name, pattern, sites);
    view->functions = hp_arena_take_array(arena, view->count + 1, sizeof *view->functions);
    view->order = hp_arena_take_array(arena, view->count + 1, sizeof(void *));
    if (view->functions == NULL || view->order == NULL)
        return false;
    hp_sort(sites, view->count, compare_sites);
    for (size_t at = 0; at < view->count; at++) {
        view->functions[at].site = sites[at];
        hp_site_details(sites[at], &view->functions[at].details);
        view->order[at] = &view->functions[at];
    }
    return true;
}

static struct function *function_of(const struct view *view, const struct hp_site_sums *site)
{
    size_t low = 0, high = view->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare_sites(site, view->functions[middle].site);
        if (order == 0)
            return &view->functions[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------- calls */

static void take_if_slower(struct function *function, const struct hp_stat_iter *walk)
{
    uint64_t ticks;
    if (!hp_snapshot_slowest_ticks(walk->snapshot, &walk->stat, &ticks) ||
        (function->session != NULL && ticks <= function->ticks))
        return;
    function->ticks = ticks;
    function->session = walk->snapshot;
    function->session_index = walk->session;
    function->record_tid = walk->thread.tid;
    memcpy(function->thread, walk->thread.name, sizeof function->thread);
    function->stat = walk->stat;
}

static uint64_t longest(const struct function *function)
{
    return function->session != NULL ? function->ticks : function->details.max;
}

static int compare_functions(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    const int order = hp_by_number(longest(y), longest(x));
    return order != 0 ? order : strcmp(x->site->name, y->site->name);
}

/* Copies the call, if it is available. False: no memory. */
static bool copy_call(struct view *view, struct function *function)
{
    if (function->session == NULL)
        return true;
    const size_t bytes = hp_snapshot_slowest_bytes(function->session, &function->stat);
    if (bytes > view->bytes_left) {
        function->session = NULL;
        return true;
    }
    view->bytes_left -= bytes;
    void *memory = hp_arena_take(view->results->model->arena, bytes + 8);
    if (memory == NULL)
        return false;
    if (!hp_snapshot_copy_slowest(function->session, &function->stat, memory, bytes, &function->copy))
        function->session = NULL;
    function->ticks = function->copy.call.ticks;
    return true;
}

static bool find_calls(struct view *view)
{
    const struct hp_run *run = &view->results->model->run;
    const uint32_t limit = view->results->settings->show.functions_limit;
    struct hp_stat_iter walk = {0};
    while (hp_stat_iter_next(&walk, view->results->model->profile)) {
        struct function *function = walk.site != NULL ? function_of(view, walk.site) : NULL;
        if (function != NULL)
            take_if_slower(function, &walk);
    }
    hp_sort(view->order, view->count, compare_functions);
    view->shown = limit != 0 && limit < view->count ? limit : view->count;
    for (size_t at = 0; at < run->count; at++) {
        view->bytes_left += run->sessions[at]->size;
        view->now = run->sessions[at]->now_ticks > view->now ? run->sessions[at]->now_ticks : view->now;
    }
    for (size_t at = 0; at < view->shown; at++)
        if (!copy_call(view, view->order[at]))
            return false;
    return true;
}

/* ------------------------------------------------------------------------------ the tree of a call */

static int compare_nodes(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->stored->node != y->stored->node)
        return x->stored->node < y->stored->node ? -1 : 1;
    return x == y ? 0 : x < y ? -1 : 1;
}

/* The first part with that node, or NULL. */
static struct part *part_of(const struct function *function, uint32_t node)
{
    size_t low = 0, high = function->part_count - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (function->by_node[middle]->stored->node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < function->part_count - 1 && function->by_node[low]->stored->node == node ? function->by_node[low]
                                                                                          : NULL;
}

static struct part *parent_of(const struct function *function, const struct part *part)
{
    struct hp_node above = {.parent = part->parent_node};
    for (unsigned steps = 0; steps < MOST_STEPS_UP && above.parent != function->copy.call.node; steps++) {
        struct part *parent = part_of(function, above.parent);
        if (parent != NULL && parent < part)
            return parent;
        if (!hp_snapshot_node(function->session, above.parent, &above))
            break;
    }
    return function->parts;
}

/* The site's name in other sections; a site that appeared since they were made has the name in the file. */
static const char *name_of(const struct hp_site_sums *site, const struct function *function, uint32_t id)
{
    struct hp_site stored;
    if (site != NULL)
        return site->name;
    const char *name =
        hp_snapshot_site(function->session, id, &stored) ? hp_snapshot_text(function->session, stored.name) : "";
    return name[0] != '\0' ? name : "<unknown>";
}

static void set_part(const struct view *view, const struct function *function, struct part *part)
{
    struct hp_node node = {.site = HP_SITE_ROOT};
    if (!hp_snapshot_node(function->session, part->stored->node, &node))
        node.parent = 0;
    const struct hp_site_sums *site =
        hp_profile_site(view->results->model->profile, function->session_index, node.site);
    part->name = name_of(site, function, node.site);
    part->id = site != NULL ? hp_identity_of_site(site) : 0;
    part->is_poll = site != NULL && hp_site_is_task(site);
    part->parent_node = node.parent;
}

/* Parents come first, so they are linked already. */
static void link_parts(struct function *function)
{
    for (size_t at = 1; at < function->part_count; at++) {
        struct part *part = &function->parts[at];
        part->parent = parent_of(function, part);
        part->depth = part->parent->depth + 1;
        part->heat = part->stored->total < part->parent->heat ? part->stored->total : part->parent->heat;
    }
}

static bool make_parts(struct view *view, struct function *function)
{
    const size_t rows = function->session != NULL ? function->copy.row_count : 0;
    function->part_count = rows + 1;
    function->parts = hp_arena_take_array(view->results->model->arena, rows + 1, sizeof *function->parts);
    function->by_node = hp_arena_take_array(view->results->model->arena, rows + 1, sizeof(void *));
    if (function->parts == NULL || function->by_node == NULL)
        return false;
    function->parts[0] = (struct part){.name = function->site->name,
                                       .heat = UINT64_MAX,
                                       .is_kept = true,
                                       .is_poll = hp_site_is_task(function->site)};
    for (size_t at = 0; at < rows; at++) {
        function->by_node[at] = &function->parts[at + 1];
        function->parts[at + 1].stored = &function->copy.rows[at];
        set_part(view, function, &function->parts[at + 1]);
    }
    hp_sort(function->by_node, rows, compare_nodes);
    link_parts(function);
    return true;
}

static int compare_heat(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    const int order = hp_by_number(y->heat, x->heat);
    return order != 0 ? order : x == y ? 0 : x < y ? -1 : 1;
}

static int compare_siblings(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    int order = hp_by_number(y->stored->total, x->stored->total);
    if (order == 0)
        order = strcmp(x->name, y->name);
    return order != 0 ? order : x == y ? 0 : x < y ? -1 : 1;
}

/* Keeps the hottest, with their ancestors. Returns how many, without the call itself. */
static size_t keep_hottest(const struct view *view, struct function *function)
{
    const uint32_t limit = view->results->settings->show.calltree_limit;
    const size_t rows = function->part_count - 1;
    struct part **parts = function->by_node; /* no longer needed */
    size_t kept = 0;
    hp_sort(parts, rows, compare_heat);
    for (size_t at = 0; at < rows && (limit == 0 || kept < limit); at++) {
        parts[at]->is_kept = parts[at]->depth < DEEPEST && parts[at]->parent->is_kept;
        kept += parts[at]->is_kept;
    }
    return kept;
}

/* Siblings are added from the shortest to the longest, each at the front. */
static void link_children(struct function *function)
{
    const size_t rows = function->part_count - 1;
    hp_sort(function->by_node, rows, compare_siblings);
    for (size_t at = rows; at-- > 0;) {
        struct part *part = function->by_node[at];
        if (!part->is_kept)
            continue;
        part->next_sibling = part->parent->first_child;
        part->parent->first_child = part;
    }
}

/* The next part in tree order, parents first; without recursion, since the file determines the depth. */
static const struct part *next_in_order(const struct part *part)
{
    if (part->first_child != NULL)
        return part->first_child;
    while (part != NULL && part->next_sibling == NULL)
        part = part->parent;
    return part != NULL ? part->next_sibling : NULL;
}

/* ---------------------------------------------------------------------------------------------- rows */

static bool describe(struct view *view, bool has_notes, bool has_polls)
{
    /* For a single call, the heading says it and no column is needed. */
    const uint32_t facts =
        (has_notes ? HAS_NOTES : 0u) | (view->shown > 1 ? HAS_SEVERAL : 0u) | (has_polls ? HAS_POLLS : 0u);
    return hp_section_describe(view->results, view->section, view, facts);
}

/* When it began, in ticks after the start of its session, and how long ago it ended. */
static uint64_t started(const struct function *function)
{
    const uint64_t start = function->session->header.clock_start.ticks;
    return function->copy.call.start > start ? function->copy.call.start - start : 0;
}

static uint64_t ago(const struct view *view, const struct function *function)
{
    const uint64_t end = hp_logged_call_end(&function->copy.call);
    return view->now > end ? view->now - end : 0;
}

/* The name of the thread that made the call, or NULL: a record has only the name of its latest thread. */
static const char *thread_of(const struct function *function)
{
    return function->copy.call.tid == function->record_tid && function->thread[0] != '\0' ? function->thread : NULL;
}

/* Inner calls cannot have taken longer, but a file can say so. */
static double percent_of(uint64_t ticks, uint64_t whole)
{
    return ticks < whole ? 100 * (double)ticks / (double)whole : 100;
}

static bool is_kept_call(const struct part *part, const struct function *function)
{
    return part->stored == NULL && function->session != NULL;
}

static struct hp_cell total_of(const struct hp_fields *to, const struct function *function, const struct part *part)
{
    const bool is_kept = part->stored != NULL || function->session != NULL;
    const uint64_t ticks = part->stored != NULL ? part->stored->total
                           : is_kept            ? function->copy.call.ticks
                                                : function->details.max;
    return (struct hp_cell){.has_value = is_kept || function->details.min <= function->details.max,
                            .number = hp_fields_ns(to, ticks)};
}

static const char *note_of(struct hp_fields *to, const struct function *function, const struct part *part)
{
    const struct hp_slow_row *stored = part->stored;
    if (stored == NULL && function->session == NULL)
        return NULL;
    const uint32_t length = stored != NULL ? stored->note_length : function->copy.call.note_length;
    const char *note = stored != NULL ? function->copy.notes + stored->note : function->copy.call.note;
    return length > 0 ? hp_fields_copy(to, note, length) : NULL;
}

static void fields(struct hp_fields *to, void *of, const void *entry)
{
    const struct view *view = of;
    const struct part *part = entry;
    if (to->row != NULL) {
        to->row->id = part->stored != NULL ? part->id : hp_identity_of_site(view->filled->site);
        to->row->depth = part->depth;
        to->row->is_sampled = part->stored != NULL && part->stored->is_sampled != 0;
    }
    HP_FIELD(to, part->name, "name", "Function", TEXT, HP_COLUMN_FIRST);
    HP_FIELD_IF(to, !part->is_poll, part->stored != NULL ? part->stored->calls : 1, "calls", "Calls", COUNT,
                HP_COLUMN_KEEP | HP_COLUMN_SHOWN, "null for tasks: see polls.");
    HP_FIELD_IF(to, part->is_poll, part->stored != NULL ? part->stored->calls : 1, "polls", "Polls", COUNT,
                HP_COLUMN_SHOWN, "How often tasks ran; null: not a task.", .shown_by = HAS_POLLS);
    HP_FIELD(to, total_of(to, view->filled, part), "total_ns", "Total", NS,
             HP_COLUMN_KEEP | HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "Recursive calls count once. null: no call was timed.");
    HP_FIELD_IF(
        to, part->stored != NULL || view->filled->session != NULL,
        hp_fields_ns(to, part->stored != NULL ? hp_not_negative(part->stored->self) : view->filled->copy.self),
        "self_ns", "Self", NS, HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN,
        "Without measured callees; null: the calls inside were not kept.");
    HP_FIELD_IF(to, part->stored == NULL || view->filled->copy.call.ticks > 0,
                part->stored == NULL ? 100 : percent_of(part->stored->total, view->filled->copy.call.ticks),
                "percent_call", "% Call", PERCENT,
                HP_COLUMN_LATE | HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN | HP_COLUMN_PART,
                "Percent of the time of the call at the top.");
    HP_FIELD_IF(to, is_kept_call(part, view->filled), view->filled->copy.call.alloc_bytes, "alloc_bytes",
                "Allocated", BYTES, HP_COLUMN_SHOWN,
                "Bytes requested by the call at the top and its callees; null below it; absent if no allocations "
                "were recorded.",
                .needs = HP_FACT_ALLOCS);
    HP_FIELD_IF(to, is_kept_call(part, view->filled), view->filled->copy.call.alloc_count, "alloc_count", "Allocs",
                COUNT, HP_COLUMN_SHOWN, .needs = HP_FACT_ALLOCS);
    HP_FIELD(to, note_of(to, view->filled, part), "note", "Note", TEXT,
             HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The text that the program attached with HOTPATH_NOTE; in rows below the top, the text of the last "
             "call that had one.",
             .shown_by = HAS_NOTES);
    HP_FIELD_IF(to, is_kept_call(part, view->filled), hp_fields_ns(to, started(view->filled)), "started_ns",
                "Started", NS, HP_COLUMN_SHOWN,
                "Time from the start of the session to the start of the call. This and the following columns are "
                "null below the top, and if the calls inside were not kept.",
                .shown_by = HAS_SEVERAL);
    HP_FIELD_IF(to, is_kept_call(part, view->filled), hp_fields_ns(to, ago(view, view->filled)), "ago_ns", "Ago",
                NS, 0, "Time from the end of the call to now, or to the end of the run.");
    HP_FIELD(to, is_kept_call(part, view->filled) ? thread_of(view->filled) : NULL, "thread", "Thread", TEXT,
             HP_COLUMN_MAYBE, "The name of the thread; null: no longer known.");
    HP_FIELD_IF(to, is_kept_call(part, view->filled), view->filled->copy.call.tid, "tid", "TID", COUNT,
                HP_COLUMN_SHOWN, .shown_by = HAS_SEVERAL);
    HP_FIELD_IF(to, is_kept_call(part, view->filled), view->filled->session->header.pid, "pid", "PID", COUNT,
                HP_COLUMN_SHOWN, .shown_by = HAS_SEVERAL | HP_FACT_PROCESSES);
    HP_FIELD(to, hp_share_scaled_name(to->row->is_sampled, false), "scaled", "Scaled", TEXT, 0, HP_ABOUT_SCALED,
             .words = HP_SCALED_WORDS);
}

static bool has_notes(const struct function *function)
{
    bool has = function->session != NULL && function->copy.call.note_length > 0;
    for (size_t at = 1; !has && at < function->part_count; at++)
        has = function->parts[at].is_kept && function->parts[at].stored->note_length > 0;
    return has;
}

static bool has_polls(const struct function *function)
{
    size_t at = 0;
    while (at < function->part_count && !(function->parts[at].is_kept && function->parts[at].is_poll))
        at++;
    return at < function->part_count;
}

static bool fill_rows(struct view *view)
{
    size_t count = 0, row = 0;
    bool has_note = false, has_poll = false;
    for (size_t at = 0; at < view->shown; at++) {
        struct function *function = view->order[at];
        if (!make_parts(view, function))
            return false;
        count += 1 + keep_hottest(view, function);
        link_children(function);
        has_note |= has_notes(function);
        has_poll |= has_polls(function);
        view->section->total_rows += function->part_count;
    }
    view->section->total_rows += view->count - view->shown;
    if (!describe(view, has_note, has_poll) || !hp_section_make_rows(view->results, view->section, count))
        return false;
    for (size_t at = 0; at < view->shown; at++)
        for (const struct part *part = view->order[at]->parts; part != NULL; part = next_in_order(part), row++) {
            view->filled = view->order[at];
            if (!hp_section_fill_row(view->results, view->section, &view->section->rows[row], view, part))
                return false;
        }
    return true;
}

/* ------------------------------------------------------------------------------------------ sentences */

static void put_name(struct hp_text *line, const char *name)
{
    char bytes[LINE_BYTES];
    struct hp_text safe;
    hp_text_init(&safe, bytes, sizeof bytes);
    hp_utf8_put_safe(&safe, name, strlen(name));
    hp_utf8_put_fitted(line, bytes, safe.length, NAME_COLUMNS);
}

/* Keeps a formatted line, or without memory the other text. */
static const char *keep_line(const struct view *view, struct hp_text *line, const char *otherwise)
{
    const char *copy = line->is_cut ? NULL : hp_arena_copy(view->results->model->arena, line->bytes, line->length);
    return copy != NULL ? copy : otherwise;
}

/* Where and when the call was. */
static const char *description(const struct view *view)
{
    char bytes[LINE_BYTES];
    struct hp_text line;
    const struct function *function = view->order[0];
    const struct hp_run *run = &view->results->model->run;
    if (view->shown != 1 || function->session == NULL)
        return view->shown > 1 ? "The slowest call of each of these functions." : "The slowest call.";
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, function->parts[0].is_poll ? "The slowest poll of " : "The slowest call of ");
    put_name(&line, function->site->name);
    hp_text_format(&line, ": %s after the start, %s%s%u", hp_ns_text(hp_run_ns(run, started(function))).bytes,
                   hp_ns_text(hp_run_ns(run, ago(view, function))).bytes,
                   hp_run_state(run) == HP_SNAPSHOT_RUNNING ? " ago, thread " : " before the end, thread ",
                   function->copy.call.tid);
    if (thread_of(function) != NULL) {
        hp_text_string(&line, " (");
        hp_utf8_put_safe(&line, function->thread, strlen(function->thread));
        hp_text_char(&line, ')');
    }
    hp_text_char(&line, '.');
    return keep_line(view, &line, "The slowest call.");
}

static const char *if_empty(const struct view *view)
{
    char bytes[LINE_BYTES];
    struct hp_text line;
    const char *name = view->results->settings->show.slowest;
    if (name[0] == '\0')
        return "no function was named: --slowest NAME or HOTPATH_SLOWEST=NAME shows its slowest call and the calls "
               "inside";
    if (view->results->model->profile->site_count == 0)
        return "no function was measured: macros, or -finstrument-functions, measure calls";
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "no called function matches '");
    put_name(&line, name);
    hp_text_char(&line, '\'');
    return keep_line(view, &line, "no called function matches the name");
}

static void note_not_kept(const struct view *view)
{
    char bytes[LINE_BYTES];
    struct hp_text line;
    const struct function *missing = NULL;
    size_t count = 0;
    for (size_t at = 0; at < view->shown; at++)
        if (view->order[at]->session == NULL) {
            missing = view->order[at];
            count++;
        }
    if (count == 0)
        return;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "the calls inside were not kept: calls of ");
    if (count == 1)
        put_name(&line, missing->site->name);
    else
        hp_text_u64(&line, count);
    hp_text_format(&line, "%s are too short, or have not ended, or sampling was on",
                   count == 1 ? "" : " functions");
    hp_section_note(view->section, keep_line(view, &line, "the calls inside were not kept"));
}

static void note_left_out(const struct view *view)
{
    char bytes[LINE_BYTES];
    struct hp_text line;
    uint64_t count = 0;
    for (size_t at = 0; at < view->shown; at++)
        count += view->order[at]->session != NULL ? view->order[at]->copy.rows_left_out : 0;
    if (count == 0)
        return;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "%" PRIu64 "%s", count,
                   count == 1 ? " more call path was not kept, the shortest"
                              : " more call paths were not kept, the shortest ones");
    hp_section_note(view->section, keep_line(view, &line, "more call paths were not kept"));
}

/* Names the first function whose longest call is not the one shown. */
static void note_slower(const struct view *view)
{
    char bytes[LINE_BYTES];
    struct hp_text line;
    size_t at = 0;
    while (at < view->shown &&
           (view->order[at]->session == NULL || view->order[at]->details.max <= view->order[at]->copy.call.ticks))
        at++;
    if (at == view->shown)
        return;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, view->order[at]->parts[0].is_poll ? "a poll of " : "a call of ");
    put_name(&line, view->order[at]->site->name);
    hp_text_format(&line, " took longer, %s, but has not ended or was not recorded in detail",
                   hp_run_ticks_text(&view->results->model->run, view->order[at]->details.max).bytes);
    hp_section_note(view->section,
                    keep_line(view, &line, "other calls took longer, but were not recorded in detail"));
}

/* ------------------------------------------------------------------------------------------- section */

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {.results = results, .section = section};
    section->percent_of = "call";
    if (!find_functions(&view) || !find_calls(&view) || !fill_rows(&view))
        return false;
    section->description = description(&view);
    section->if_empty = if_empty(&view);
    note_not_kept(&view);
    note_left_out(&view);
    note_slower(&view);
    if (hp_section_marks_of_rows(section).is_sampled)
        hp_section_note(section, "^ too short to be timed every time: extrapolated from the timed calls");
    return true;
}

const struct hp_section_type hp_section_slowest = {
    .name = "slowest",
    .is_of_ticks = true,
    .is_on_request = true,
    .fill = fill,
    .in_brief = HP_BRIEF_WHOLE,
    .is_tree = true,
    .fields = fields,
    .about = "The slowest call of each function that HOTPATH_SLOWEST names, and what ran inside it.",
    .about_row = "At the top a call; below it, the time of all calls of one path inside it.",
    .always = "percent_of"};
