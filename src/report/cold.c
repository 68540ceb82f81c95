/*
 * The section `cold`: functions compiled with -finstrument-functions that were never called.
 *
 * A session records which functions were called, and the file of each. The files are read, and the functions in
 * them that were not called are cold. If a file was replaced since, the called functions are no longer at their
 * addresses, and the file is skipped.
 *
 * The recorder identifies a function by name and source. If two are equal in both, and one was called, neither is
 * cold. SPDX-License-Identifier: MIT
 */
#include "cold.h"

#include <string.h>

#include "arena.h"
#include "cxxname.h"
#include "identity.h"
#include "order.h"
#include "profile.h"
#include "section.h"
#include "sort.h"
#include "text.h"
#include "trust.h"

#define MOST_IMAGES 256u
#define NAME_MAX_BYTES 1024u

hp_functions_reader *hp_cold_reader;

/* A function in a session: it was called while the process ran, if not in this session. */
struct known {
    const char *image, *name, *source;
    uint64_t address;
};

/* Identifies what was called in the run. */
struct called {
    const char *name, *source;
};

/* A row. */
struct cold {
    const struct hp_function *function;
    const char *image;
};

/* Which of a session's functions were recorded; NULL: all. */
struct choice {
    struct hp_pattern_list *filter, *skip;
};

struct view {
    struct choice *choices; /* of each session */
    struct hotpath_results *results;
    struct hotpath_section *section;
    struct known **known; /* sorted by image and address */
    size_t known_count;
    struct called **called; /* sorted */
    size_t called_count;
    struct cold **rows;
    size_t row_count;
    size_t row_room;
    const char *long_name, *cut_name; /* the last name that was too long, and its shortened form */
    size_t images;                    /* images read */
    size_t unrecognised;              /* called functions that were not found in their files */
};

/* ----------------------------------------------------------------------------------------- called functions */

/* Many sites may point at one text. */
static int by_text(const char *x, const char *y) { return x == y ? 0 : strcmp(x, y); }

static int compare_called(const void *a, const void *b)
{
    const struct called *x = a, *y = b;
    const int order = by_text(x->name, y->name);
    return order != 0 ? order : by_text(x->source, y->source);
}

static int compare_known(const void *a, const void *b)
{
    const struct known *x = a, *y = b;
    const int order = by_text(x->image, y->image);
    return order != 0 ? order : x->address == y->address ? 0 : x->address < y->address ? -1 : 1;
}

/* Compiler-instrumented functions have no line. */
static bool gather_called(struct view *view)
{
    const struct hp_profile *profile = view->results->model->profile;
    struct called *all = hp_arena_take_array(view->results->model->arena, profile->site_count + 1, sizeof *all);
    view->called = hp_arena_take_array(view->results->model->arena, profile->site_count + 1, sizeof(void *));
    if (all == NULL || view->called == NULL)
        return false;
    for (size_t at = 0; at < profile->site_count; at++) {
        const struct hp_location *location = &profile->sites[at]->location;
        if (location->line != 0)
            continue;
        all[view->called_count] = (struct called){location->function, location->file};
        view->called[view->called_count] = &all[view->called_count];
        view->called_count++;
    }
    hp_sort(view->called, view->called_count, compare_called);
    return true;
}

static bool was_called(const struct view *view, const struct hp_function *function)
{
    const struct called wanted = {function->name, function->source};
    size_t low = 0, high = view->called_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare_called(&wanted, view->called[middle]);
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

static bool add_known(struct view *view, const struct hp_snapshot *session, const struct hp_site *site)
{
    struct known *known = hp_arena_take(view->results->model->arena, sizeof *known);
    if (known == NULL)
        return false;
    *known = (struct known){
        .image = hp_snapshot_text(session, site->image),
        .name = hp_snapshot_text(session, site->function),
        .source = hp_snapshot_text(session, site->file),
        .address = (uint64_t)site->address_high << 32 | site->address_low,
    };
    view->known[view->known_count++] = known;
    return true;
}

static uint32_t sites_of(const struct hp_snapshot *session)
{
    return session->header.site_count < HP_MAX_SITES ? session->header.site_count : HP_MAX_SITES;
}

static bool gather_known(struct view *view)
{
    const struct hp_run *run = &view->results->model->run;
    struct hp_site site;
    size_t count = 0;
    for (size_t at = 0; at < run->count; at++)
        count += sites_of(run->sessions[at]);
    view->known = hp_arena_take_array(view->results->model->arena, count + 1, sizeof(void *));
    if (view->known == NULL)
        return false;
    for (size_t at = 0; at < run->count; at++)
        for (uint32_t id = 0; id < sites_of(run->sessions[at]); id++)
            if (hp_snapshot_site(run->sessions[at], id, &site) && site.image != 0 &&
                hp_snapshot_text(run->sessions[at], site.image)[0] == '/' &&
                !add_known(view, run->sessions[at], &site))
                return false;
    hp_sort(view->known, view->known_count, compare_known);
    return true;
}

/* ---------------------------------------------------------------------------------------------------- files */

static const struct hp_function *function_at(const struct hp_functions *functions, uint64_t address)
{
    size_t low = 0, high = functions->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (functions->all[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < functions->count && functions->all[low].address == address ? &functions->all[low] : NULL;
}

/* Whether the file is the one that ran: every known function is still at its address. */
static bool is_the_same(struct view *view, struct known **known, size_t count, const struct hp_functions *functions)
{
    size_t unrecognised = 0;
    for (size_t at = 0; at < count; at++) {
        const struct hp_function *function = function_at(functions, known[at]->address);
        if (function == NULL || strcmp(function->name, known[at]->name) != 0 ||
            strcmp(function->source, known[at]->source) != 0)
            return false;
        unrecognised += !function->is_instrumented;
    }
    view->unrecognised += unrecognised;
    return true;
}

/* The filter list with which a session was recorded; NULL: none. False: no memory. */
static bool read_choice(struct view *view, uint32_t session, uint32_t offset, bool is_skip,
                        struct hp_pattern_list **ret_list)
{
    const char *text = hp_snapshot_text(view->results->model->run.sessions[session], offset);
    *ret_list = NULL;
    if (text[0] == '\0')
        return true;
    *ret_list = hp_arena_take(view->results->model->arena, sizeof **ret_list);
    return *ret_list != NULL && (hp_pattern_list_compile(*ret_list, text, is_skip, NULL) || true);
}

static bool read_choices(struct view *view)
{
    const struct hp_run *run = &view->results->model->run;
    view->choices = hp_arena_take_array(view->results->model->arena, run->count, sizeof *view->choices);
    if (view->choices == NULL)
        return false;
    for (uint32_t at = 0; at < run->count; at++)
        if (!read_choice(view, at, run->sessions[at]->header.filter, false, &view->choices[at].filter) ||
            !read_choice(view, at, run->sessions[at]->header.skip, true, &view->choices[at].skip))
            return false;
    return true;
}

/* A function counts only if every session would have recorded it. */
static bool could_be_recorded(const struct view *view, const struct hp_pattern_subject *subject)
{
    for (size_t at = 0; at < view->results->model->run.count; at++) {
        const struct choice *choice = &view->choices[at];
        if ((choice->filter != NULL && !hp_pattern_list_chooses(choice->filter, subject)) ||
            (choice->skip != NULL && !hp_pattern_list_chooses(choice->skip, subject)))
            return false;
    }
    return true;
}

static bool make_room(struct view *view)
{
    if (view->row_count < view->row_room)
        return true;
    const size_t room = view->row_room > 0 ? 4 * view->row_room : 256;
    struct cold **rows = hp_arena_take_array(view->results->model->arena, room, sizeof(void *));
    if (rows == NULL)
        return false;
    if (view->row_count > 0)
        memcpy(rows, view->rows, view->row_count * sizeof(void *));
    view->rows = rows;
    view->row_room = room;
    return true;
}

static bool add_cold(struct view *view, const struct hp_functions *functions, const char *image)
{
    for (size_t at = 0; at < functions->count; at++) {
        const struct hp_function *function = &functions->all[at];
        char qualified[256];
        if (!function->is_instrumented || was_called(view, function))
            continue;
        hp_cxx_qualified_name(function->name, qualified, sizeof qualified);
        const struct hp_pattern_subject subject = {.names = {function->name, qualified},
                                                   .files = {function->source, image}};
        if (!hp_results_show_subject(view->results, &subject) || !could_be_recorded(view, &subject))
            continue;
        struct cold *cold = hp_arena_take(view->results->model->arena, sizeof *cold);
        if (cold == NULL || !make_room(view))
            return false;
        *cold = (struct cold){function, image};
        view->rows[view->row_count++] = cold;
    }
    return true;
}

static bool add_image(struct view *view, struct known **known, size_t count)
{
    const char *image = known[0]->image;
    struct hp_functions functions = {0};
    char problem[160] = ": its functions are not listed, because it ";
    const char *reason = hp_cold_reader(view->results->model->arena, image, &functions);
    if (reason == NULL && !is_the_same(view, known, count, &functions))
        reason = "was rebuilt after this run, so its addresses no longer match";
    if (reason == NULL) {
        view->images++;
        return add_cold(view, &functions, image);
    }
    strncat(problem, reason, sizeof problem - strlen(problem) - 1);
    hp_results_warn(view->results, "cold:", image, strlen(image), problem);
    return true;
}

static bool add_images(struct view *view)
{
    size_t images = 0;
    for (size_t from = 0, to; from < view->known_count && images < MOST_IMAGES; from = to, images++) {
        to = from + 1;
        while (to < view->known_count && by_text(view->known[from]->image, view->known[to]->image) == 0)
            to++;
        if (!add_image(view, view->known + from, to - from))
            return false;
    }
    return true;
}

/* ----------------------------------------------------------------------------------------------------- rows */

static int compare_sizes(const void *a, const void *b)
{
    const struct cold *x = a, *y = b;
    if (x->function->size != y->function->size)
        return x->function->size > y->function->size ? -1 : 1;
    const int order = by_text(x->function->name, y->function->name);
    if (order != 0)
        return order;
    const int image = by_text(x->image, y->image);
    return image != 0                                     ? image
           : x->function->address == y->function->address ? 0
           : x->function->address < y->function->address  ? -1
                                                          : 1;
}

/* Rows that share a long name are mostly adjacent. */
static const char *cut_name(struct view *view, const char *linked)
{
    if (linked != view->long_name) {
        const char *copy = hp_arena_copy(view->results->model->arena, linked, NAME_MAX_BYTES - 1);
        view->cut_name = copy != NULL ? copy : "";
        view->long_name = linked;
    }
    return view->cut_name;
}

/* Demangled as elsewhere; the linker's name if that is not possible, or without memory. */
static const char *readable_name(struct view *view, const char *linked)
{
    char signature[NAME_MAX_BYTES], name[NAME_MAX_BYTES];
    hp_read_name *read_name = view->results->model->run.read_name;
    if (read_name == NULL || !hp_cxx_is_mangled(linked) || !read_name(linked, signature, sizeof signature))
        return strnlen(linked, NAME_MAX_BYTES) < NAME_MAX_BYTES ? linked : cut_name(view, linked);
    hp_cxx_short_name(signature, name, sizeof name);
    const char *copy = hp_arena_copy(view->results->model->arena, name, strlen(name));
    return copy != NULL ? copy : linked;
}

static uint64_t identity_of(const struct cold *cold)
{
    const uint64_t id = hp_identity_with_text(0, cold->function->name);
    return hp_identity_with_text(hp_identity_with_text(id, cold->function->source), cold->image);
}

static void fields(struct hp_fields *to, void *view, const void *entry)
{
    const struct cold *cold = entry;
    if (to->row != NULL)
        to->row->id = identity_of(cold);
    HP_FIELD(to, readable_name(view, cold->function->name), "name", "Function", TEXT, HP_COLUMN_FIRST,
             "The symbol name.");
    HP_FIELD(to, cold->function->size, "size_bytes", "Size", BYTES, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "The size of its machine code.");
    HP_FIELD(to, hp_text_base_name(cold->image), "image", "Image", TEXT, HP_COLUMN_LATE | HP_COLUMN_SHOWN,
             "The program or library that contains it, without its directory.");
    HP_FIELD(to, hp_text_or_none(cold->function->source), "source", "Source", TEXT,
             HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, "The source file of a static function; null: unknown.");
    HP_FIELD(to, cold->image, "path", "Path", TEXT, 0, "The program or library with its directory.");
}

static bool has_filter(const struct hp_run *run)
{
    size_t at = 0;
    while (at < run->count && hp_snapshot_text(run->sessions[at], run->sessions[at]->header.filter)[0] == '\0')
        at++;
    return at < run->count;
}

static void add_notes(const struct view *view)
{
    static const enum hp_loss losses[] = {HP_LOSS_ZONES,    HP_LOSS_NODES, HP_LOSS_SITES, HP_LOSS_DEPTH,
                                          HP_LOSS_CHILDREN, HP_LOSS_ENDED, HP_LOSS_SEALED};
    const struct hotpath_results *results = view->results;
    uint64_t lost = 0;
    for (size_t at = 0; at < sizeof losses / sizeof losses[0]; at++)
        lost |= results->trust->lost[losses[at]];
    if (lost != 0)
        hp_section_note(view->section,
                        "not everything could be recorded (see the last line): some of these may have been called");
    if (has_filter(&results->model->run))
        hp_section_note(view->section,
                        "functions excluded by HOTPATH_FILTER are not listed: whether they were called is unknown");
    if (view->unrecognised > 0)
        hp_section_note(view->section, "some called functions share their name with others in their file: "
                                       "the list may be incomplete");
}

static const char *if_empty(const struct view *view)
{
    if (view->known_count == 0)
        return "no function was instrumented by the compiler: compile with -finstrument-functions and run with "
               "HOTPATH=1";
    return view->images == 0 ? "no program or library could be read"
                             : "every instrumented function that matches the focus was called";
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {.results = results, .section = section};
    section->description = "Compiler-instrumented functions that were never called.";
    if (!hp_section_begin(results, section, &view, 0, "size_bytes", NULL) || !read_choices(&view) ||
        !gather_known(&view) || !gather_called(&view) || !add_images(&view))
        return false;
    hp_sort(view.rows, view.row_count, compare_sizes);
    section->if_empty = if_empty(&view);
    add_notes(&view);
    return hp_section_fill_rows(results, section, (const void *const *)view.rows, view.row_count, &view);
}

static bool is_available(void) { return hp_cold_reader != NULL; }

const struct hp_section_type hp_section_cold = {
    .name = "cold",
    .is_on_request = true,
    .is_available = is_available,
    .elsewhere = " is not part of reports that a process writes itself: 'hotpath report --cold' shows it",
    .fill = fill,
    .fields = fields,
    .about_row = "A function that was compiled with -finstrument-functions and never called.",
    .always = "order"};
