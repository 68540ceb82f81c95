/*
 * Source lines by address.
 *
 * libdw can look up an address, but visits a whole unit each time, and needs a section that not every compiler
 * writes. So each unit is read completely once: its address ranges when the file is opened, its lines and inlined
 * functions when one of its addresses is first requested. SPDX-License-Identifier: MIT
 */
#include "source_lines.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "growing_array.h"
#include "symbol_tables.h"

/* -------------------------------------------------------------------------------------------------------- libdw */

/*
 * libdw, the debug information reader of elfutils, loaded when it is first needed: it is large, and most commands
 * need no lines. If it is not installed, or was not when hotpath was built, there are no lines.
 *
 * Loads libdw, the debug information reader of elfutils.
 */
/* The functions that are used of it. */
#define HP_LIBDW_FUNCTIONS(F)                                                                                      \
    F(dwarf_begin)                                                                                                 \
    F(dwarf_end)                                                                                                   \
    F(dwarf_get_units)                                                                                             \
    F(dwarf_ranges)                                                                                                \
    F(dwarf_getsrclines)                                                                                           \
    F(dwarf_onesrcline)                                                                                            \
    F(dwarf_lineaddr)                                                                                              \
    F(dwarf_lineno)                                                                                                \
    F(dwarf_lineendsequence)                                                                                       \
    F(dwarf_linesrc)                                                                                               \
    F(dwarf_getsrcfiles)                                                                                           \
    F(dwarf_filesrc)                                                                                               \
    F(dwarf_child)                                                                                                 \
    F(dwarf_siblingof)                                                                                             \
    F(dwarf_tag)                                                                                                   \
    F(dwarf_dieoffset)                                                                                             \
    F(dwarf_attr)                                                                                                  \
    F(dwarf_attr_integrate)                                                                                        \
    F(dwarf_formstring)                                                                                            \
    F(dwarf_formudata)

struct hp_libdw {
#define HP_LIBDW_POINTER(name) __typeof__(name) *name;
    HP_LIBDW_FUNCTIONS(HP_LIBDW_POINTER)
#undef HP_LIBDW_POINTER
};

#define LIBRARY "libdw.so.1"

static bool find_all(struct hp_libdw *libdw)
{
    void *handle = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    if (handle == NULL)
        return false;
#define HP_LIBDW_FIND(name)                                                                                        \
    *(void **)&libdw->name = dlsym(handle, #name);                                                                 \
    if (libdw->name == NULL)                                                                                       \
        return false;
    HP_LIBDW_FUNCTIONS(HP_LIBDW_FIND)
#undef HP_LIBDW_FIND
    return true;
}

/* NULL: not installed. */
static const struct hp_libdw *libdw_get(void)
{
    static struct hp_libdw libdw;
    static bool is_tried, is_found;
    if (!is_tried)
        is_found = find_all(&libdw);
    is_tried = true;
    return is_found ? &libdw : NULL;
}

/* ------------------------------------------------------------------------------------------------- inline calls */

/*
 * The functions of one unit of debug information, and the calls inlined into them.
 *
 * Finds inlined calls. DIEs form a tree; functions, and the inlined calls and blocks in them, are visited. libdw
 * trusts its input, so DIEs must come in ascending order: a corrupt file could otherwise cause an endless loop.
 */
/* A function, or an inlined call. */
struct hp_inline_call {
    Dwarf_Die entry;
    const char *name;      /* NULL: not read yet */
    const char *from_file; /* its call site; NULL: not read yet */
    uint32_t from_line;
    uint32_t around; /* the call it is inlined into; HP_RANGE_NONE: it is a function */
};

struct hp_inline_calls {
    struct hp_inline_call *all;
    size_t count, room;
    struct hp_range_index index; /* the innermost by address */
};

#define DEEPEST 200u
#define MOST_DIE_PIECES 100000u /* ranges of one DIE */

struct reading {
    const struct hp_libdw *libdw;
    struct hp_inline_calls *calls;
    struct hp_ranges ranges;
    Dwarf_Off last; /* offset of the last DIE */
    bool is_good;
};

static bool add_ranges(struct reading *reading, Dwarf_Die *entry, uint32_t number, uint32_t depth)
{
    Dwarf_Addr base = 0, start = 0, end = 0;
    size_t count = 0;
    for (ptrdiff_t at = 0; (at = reading->libdw->dwarf_ranges(entry, at, &base, &start, &end)) > 0; count++)
        if (count == MOST_DIE_PIECES ||
            !hp_ranges_add(&reading->ranges, &(struct hp_range){start, end, number, depth}))
            return false;
    return count > 0;
}

/* Its number, or that of the enclosing one if it has no code. */
static uint32_t add_call(struct reading *reading, Dwarf_Die *entry, uint32_t around, uint32_t depth)
{
    struct hp_inline_calls *calls = reading->calls;
    if (!HP_MAKE_ROOM(calls->all, calls->count + 1, calls->room)) {
        reading->is_good = false;
        return around;
    }
    if (calls->count + 1 >= HP_RANGE_NONE || !add_ranges(reading, entry, (uint32_t)calls->count, depth))
        return around;
    calls->all[calls->count] = (struct hp_inline_call){.entry = *entry, .around = around};
    return (uint32_t)calls->count++;
}

/* Whether it may contain functions or inlined calls. */
static bool is_entered(int tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
           tag == DW_TAG_namespace || tag == DW_TAG_module;
}

static bool is_further(struct reading *reading, Dwarf_Die *entry)
{
    const Dwarf_Off here = reading->libdw->dwarf_dieoffset(entry);
    const bool is_further = here > reading->last;
    reading->last = here;
    return is_further;
}

static void read_children(struct reading *reading, Dwarf_Die *parent, uint32_t around, uint32_t depth)
{
    Dwarf_Die entry;
    if (depth > DEEPEST || reading->libdw->dwarf_child(parent, &entry) != 0)
        return;
    do {
        if (!is_further(reading, &entry))
            return;
        const int tag = reading->libdw->dwarf_tag(&entry);
        if (!is_entered(tag))
            continue;
        const bool is_function = tag == DW_TAG_subprogram;
        uint32_t inner = is_function ? HP_RANGE_NONE : around;
        if (is_function || tag == DW_TAG_inlined_subroutine)
            inner = add_call(reading, &entry, inner, depth);
        if (!is_function || inner != HP_RANGE_NONE) /* one without code is a declaration, or abstract */
            read_children(reading, &entry, inner, depth + 1);
    } while (reading->is_good && reading->libdw->dwarf_siblingof(&entry, &entry) == 0);
}

/* Reads a unit. False: no memory. */
static bool inline_calls_read(struct hp_inline_calls *calls, Dwarf_Die *unit)
{
    struct reading reading = {.libdw = libdw_get(), .calls = calls, .is_good = true};
    reading.last = reading.libdw->dwarf_dieoffset(unit);
    read_children(&reading, unit, HP_RANGE_NONE, 0);
    const bool is_good = reading.is_good && hp_range_index_make(&calls->index, &reading.ranges);
    free(reading.ranges.all);
    return is_good;
}

static void inline_calls_free(struct hp_inline_calls *calls)
{
    hp_range_index_free(&calls->index);
    free(calls->all);
    *calls = (struct hp_inline_calls){.count = 0};
}

/* The linkage name, or the name in the source; "": none. */
static const char *inline_call_name(struct hp_inline_call *call)
{
    static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
    const struct hp_libdw *libdw = libdw_get();
    Dwarf_Attribute attribute;
    for (size_t at = 0; call->name == NULL && at < sizeof names / sizeof names[0]; at++)
        if (libdw->dwarf_attr_integrate(&call->entry, names[at], &attribute) != NULL)
            call->name = libdw->dwarf_formstring(&attribute);
    if (call->name == NULL)
        call->name = "";
    return call->name;
}

static uint64_t number_of(Dwarf_Die *entry, unsigned name)
{
    const struct hp_libdw *libdw = libdw_get();
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    return libdw->dwarf_attr(entry, name, &attribute) != NULL && libdw->dwarf_formudata(&attribute, &value) == 0
               ? value
               : 0;
}

/* Reads its call site, if not done yet; `files` is the unit's list of files. */
static void inline_call_find_from(struct hp_inline_call *call, Dwarf_Files *files)
{
    if (call->from_file != NULL)
        return;
    const uint64_t line = number_of(&call->entry, DW_AT_call_line), file = number_of(&call->entry, DW_AT_call_file);
    call->from_line = line <= UINT32_MAX ? (uint32_t)line : 0;
    if (files != NULL && file <= SIZE_MAX)
        call->from_file = libdw_get()->dwarf_filesrc(files, (size_t)file, NULL, NULL);
    if (call->from_file == NULL)
        call->from_file = "";
}

/* ------------------------------------------------------------------------------------------------- source lines */

#define MOST_PIECES 1000000u /* ranges of a unit */

struct line {
    const char *file;
    uint32_t number;
};

/* A file with a path relative to the compiler's working directory. */
struct path {
    const char *file; /* libdw's pointer: the same for the same file */
    char *whole;
};

struct unit {
    struct hp_line_unit outside; /* what callers see of it */
    uint64_t line_table;         /* its offset */
    Dwarf_Die entry;
    Dwarf_Die inside; /* the unit of its functions: the same, or in a split file */
    bool is_read;
    struct hp_range_index places; /* of lines */
    struct line *lines;
    size_t line_count;
    struct hp_inline_calls calls;
    Dwarf_Files *files;
    const char *folder; /* the compiler's working directory; NULL: unknown */
    struct path *paths;
    size_t path_count, path_room;
};

struct hp_source_lines {
    Dwarf *dwarf;
    struct unit *units;
    size_t unit_count, unit_room;
    struct hp_range_index index; /* of units */
};

bool hp_source_lines_can(void) { return libdw_get() != NULL; }

/* --------------------------------------------------------------------------------------------- units */

static uint64_t line_table_of(Dwarf_Die *entry)
{
    const struct hp_libdw *libdw = libdw_get();
    Dwarf_Attribute attribute;
    Dwarf_Word offset = 0;
    return libdw->dwarf_attr(entry, DW_AT_stmt_list, &attribute) != NULL &&
                   libdw->dwarf_formudata(&attribute, &offset) == 0
               ? offset
               : 0;
}

static bool add_unit(struct hp_source_lines *lines, struct hp_ranges *ranges, Dwarf_Die *entry, Dwarf_Die *inside)
{
    const struct hp_libdw *libdw = libdw_get();
    Dwarf_Addr base = 0, start = 0, end = 0;
    size_t count = 0;
    if (!HP_MAKE_ROOM(lines->units, lines->unit_count + 1, lines->unit_room))
        return false;
    for (ptrdiff_t at = 0; (at = libdw->dwarf_ranges(entry, at, &base, &start, &end)) > 0; count++)
        if (count == MOST_PIECES ||
            !hp_ranges_add(ranges, &(struct hp_range){start, end, (uint32_t)lines->unit_count, 0}))
            return false;
    if (count > 0)
        lines->units[lines->unit_count++] =
            (struct unit){.entry = *entry, .inside = *inside, .line_table = line_table_of(entry)};
    return lines->unit_count < HP_RANGE_NONE;
}

static int compare_line_tables(const void *a, const void *b)
{
    const struct unit *one = *(struct unit *const *)a, *other = *(struct unit *const *)b;
    return (one->line_table > other->line_table) - (one->line_table < other->line_table);
}

/* A line table ends where the next begins. Units may share one. */
static bool find_line_bytes(struct hp_source_lines *lines, uint64_t all_bytes)
{
    struct unit **units = calloc(lines->unit_count + 1, sizeof(struct unit *));
    uint64_t end = all_bytes, next = all_bytes;
    if (units == NULL)
        return false;
    for (size_t at = 0; at < lines->unit_count; at++)
        units[at] = &lines->units[at];
    qsort(units, lines->unit_count, sizeof(struct unit *), compare_line_tables);
    for (size_t at = lines->unit_count; at-- > 0; next = units[at]->line_table) {
        if (units[at]->line_table != next)
            end = next;
        units[at]->outside.bytes = end > units[at]->line_table ? end - units[at]->line_table : 0;
    }
    free(units);
    return true;
}

static bool read_units(struct hp_source_lines *lines)
{
    const struct hp_libdw *libdw = libdw_get();
    struct hp_ranges ranges = {.count = 0};
    Dwarf_CU *unit = NULL, *next = NULL;
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die entry, split;
    bool is_good = true;
    for (; is_good && libdw->dwarf_get_units(lines->dwarf, unit, &next, &version, &type, &entry, &split) == 0;
         unit = next)
        if (type == DW_UT_compile || type == DW_UT_skeleton)
            is_good =
                add_unit(lines, &ranges, &entry, type == DW_UT_skeleton && split.addr != NULL ? &split : &entry);
    is_good = is_good && hp_range_index_make(&lines->index, &ranges);
    free(ranges.all);
    return is_good;
}

static void free_paths(struct unit *unit)
{
    for (size_t at = 0; at < unit->path_count; at++)
        free(unit->paths[at].whole);
    free(unit->paths);
}

struct hp_source_lines *hp_source_lines_open(int fd, uint64_t line_bytes)
{
    const struct hp_libdw *libdw = libdw_get();
    struct hp_source_lines *lines = libdw != NULL && fd >= 0 ? calloc(1, sizeof *lines) : NULL;
    if (lines == NULL)
        return NULL;
    lines->dwarf = libdw->dwarf_begin(fd, DWARF_C_READ);
    if (lines->dwarf == NULL || !read_units(lines) || lines->unit_count == 0 ||
        !find_line_bytes(lines, line_bytes)) {
        hp_source_lines_close(lines);
        return NULL;
    }
    return lines;
}

void hp_source_lines_close(struct hp_source_lines *lines)
{
    if (lines == NULL)
        return;
    for (size_t at = 0; at < lines->unit_count; at++) {
        hp_range_index_free(&lines->units[at].places);
        inline_calls_free(&lines->units[at].calls);
        free(lines->units[at].lines);
        free_paths(&lines->units[at]);
    }
    hp_range_index_free(&lines->index);
    free(lines->units);
    if (lines->dwarf != NULL)
        libdw_get()->dwarf_end(lines->dwarf);
    free(lines);
}

/* --------------------------------------------------------------------------------------------- lines */

/* Addresses with the line that begins there, in order; the end of a sequence begins none. */
static void read_line(struct unit *unit, Dwarf_Line *row)
{
    const struct hp_libdw *libdw = libdw_get();
    struct hp_range_index *places = &unit->places;
    Dwarf_Addr address = 0;
    bool is_end = false;
    int number = 0;
    libdw->dwarf_lineaddr(row, &address);
    libdw->dwarf_lineendsequence(row, &is_end);
    libdw->dwarf_lineno(row, &number);
    if (places->count > 0 && places->starts[places->count - 1] > address)
        return;
    if (places->count > 0 && places->starts[places->count - 1] == address) {
        if (is_end) /* another sequence begins where this one ends */
            return;
        places->count--;
    }
    places->starts[places->count] = address;
    places->values[places->count++] = is_end ? HP_RANGE_NONE : (uint32_t)unit->line_count;
    if (is_end)
        return;
    const char *file = libdw->dwarf_linesrc(row, NULL, NULL);
    unit->lines[unit->line_count++] = (struct line){file != NULL ? file : "", number > 0 ? (uint32_t)number : 0};
}

static void read_lines(struct unit *unit)
{
    const struct hp_libdw *libdw = libdw_get();
    Dwarf_Lines *rows = NULL;
    size_t count = 0;
    if (libdw->dwarf_getsrclines(&unit->entry, &rows, &count) != 0 || count == 0 || count >= HP_RANGE_NONE)
        return;
    unit->lines = malloc(count * sizeof *unit->lines);
    unit->places.starts = malloc(count * sizeof *unit->places.starts);
    unit->places.values = malloc(count * sizeof *unit->places.values);
    if (unit->lines == NULL || unit->places.starts == NULL || unit->places.values == NULL)
        return;
    for (size_t at = 0; at < count; at++) {
        Dwarf_Line *row = libdw->dwarf_onesrcline(rows, at);
        if (row != NULL)
            read_line(unit, row);
    }
}

/* -fdebug-prefix-map may have left less than a path. */
static const char *folder_of(Dwarf_Die *entry)
{
    const struct hp_libdw *libdw = libdw_get();
    Dwarf_Attribute attribute;
    const char *folder =
        libdw->dwarf_attr(entry, DW_AT_comp_dir, &attribute) != NULL ? libdw->dwarf_formstring(&attribute) : NULL;
    return folder != NULL && folder[0] == '/' ? folder : NULL;
}

static void read_unit(struct unit *unit)
{
    size_t count = 0;
    unit->is_read = true;
    unit->folder = folder_of(&unit->entry);
    if (libdw_get()->dwarf_getsrcfiles(&unit->entry, &unit->files, &count) != 0)
        unit->files = NULL;
    read_lines(unit);
    inline_calls_read(&unit->calls, &unit->inside);
}

/* ------------------------------------------------------------------------------------------- finding */

/* "/home/me/project/src/a.c", where the compiler got "src/a.c". We may be in another folder. */
static const char *whole_path(struct unit *unit, const char *file)
{
    if (unit->folder == NULL || file[0] == '/' || file[0] == '\0')
        return file;
    for (size_t at = 0; at < unit->path_count; at++)
        if (unit->paths[at].file == file)
            return unit->paths[at].whole;
    const size_t size = strlen(unit->folder) + 1 + strlen(file) + 1;
    char *whole = HP_MAKE_ROOM(unit->paths, unit->path_count + 1, unit->path_room) ? malloc(size) : NULL;
    if (whole == NULL)
        return file;
    snprintf(whole, size, "%s/%s", unit->folder, file);
    unit->paths[unit->path_count++] = (struct path){file, whole};
    return whole;
}

static struct unit *unit_at(struct hp_source_lines *lines, uint64_t linked)
{
    const uint32_t number = hp_range_index_find(&lines->index, linked);
    return number != HP_RANGE_NONE ? &lines->units[number] : NULL;
}

struct hp_line_unit *hp_source_lines_unit(struct hp_source_lines *lines, uint64_t linked)
{
    struct unit *unit = unit_at(lines, linked);
    return unit != NULL ? &unit->outside : NULL;
}

size_t hp_source_lines_find(struct hp_source_lines *lines, uint64_t linked, struct hp_source_place *places,
                            size_t most)
{
    struct unit *unit = unit_at(lines, linked);
    if (unit == NULL || unit->outside.is_left_out || most == 0)
        return 0;
    if (!unit->is_read)
        read_unit(unit);
    const uint32_t row = hp_range_index_find(&unit->places, linked);
    uint32_t call = hp_range_index_find(&unit->calls.index, linked);
    struct hp_source_place place = {.function = "", .file = ""};
    size_t count = 0;
    if (row != HP_RANGE_NONE) {
        place.file = whole_path(unit, unit->lines[row].file);
        place.line = unit->lines[row].number;
    }
    do {
        struct hp_inline_call *inner = call != HP_RANGE_NONE ? &unit->calls.all[call] : NULL;
        place.function = inner != NULL ? inline_call_name(inner) : "";
        call = inner != NULL ? inner->around : HP_RANGE_NONE;
        place.is_inlined = call != HP_RANGE_NONE;
        places[count++] = place;
        if (place.is_inlined) {
            inline_call_find_from(inner, unit->files);
            place.file = whole_path(unit, inner->from_file);
            place.line = inner->from_line;
        }
    } while (call != HP_RANGE_NONE && count < most);
    return count;
}
