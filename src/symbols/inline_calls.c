/*
 * Finds inlined calls. DIEs form a tree; functions, and the inlined calls and blocks in them, are visited. libdw
 * trusts its input, so DIEs must come in ascending order: a corrupt file could otherwise cause an endless loop.
 * SPDX-License-Identifier: MIT
 */
#include "inline_calls.h"

#include <stdlib.h>

#include "growing_array.h"

#define DEEPEST 200u
#define MOST_PIECES 100000u /* ranges of one DIE */

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
        if (count == MOST_PIECES || !hp_ranges_add(&reading->ranges, &(struct hp_range){start, end, number, depth}))
            return false;
    return count > 0;
}

/* Its number, or that of the enclosing one if it has no code. */
static uint32_t add_call(struct reading *reading, Dwarf_Die *entry, uint32_t around, uint32_t depth)
{
    struct hp_inline_calls *calls = reading->calls;
    struct hp_inline_call *larger = hp_grown(calls->all, calls->count, &calls->room, sizeof *larger);
    if (larger == NULL) {
        reading->is_good = false;
        return around;
    }
    calls->all = larger;
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

bool hp_inline_calls_read(struct hp_inline_calls *calls, Dwarf_Die *unit)
{
    struct reading reading = {.libdw = hp_libdw_get(), .calls = calls, .is_good = true};
    reading.last = reading.libdw->dwarf_dieoffset(unit);
    read_children(&reading, unit, HP_RANGE_NONE, 0);
    const bool is_good = reading.is_good && hp_range_index_make(&calls->index, &reading.ranges);
    free(reading.ranges.all);
    return is_good;
}

void hp_inline_calls_free(struct hp_inline_calls *calls)
{
    hp_range_index_free(&calls->index);
    free(calls->all);
    *calls = (struct hp_inline_calls){.count = 0};
}

const char *hp_inline_call_name(struct hp_inline_call *call)
{
    static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
    const struct hp_libdw *libdw = hp_libdw_get();
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
    const struct hp_libdw *libdw = hp_libdw_get();
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    return libdw->dwarf_attr(entry, name, &attribute) != NULL && libdw->dwarf_formudata(&attribute, &value) == 0
               ? value
               : 0;
}

void hp_inline_call_find_from(struct hp_inline_call *call, Dwarf_Files *files)
{
    if (call->from_file != NULL)
        return;
    const uint64_t line = number_of(&call->entry, DW_AT_call_line), file = number_of(&call->entry, DW_AT_call_file);
    call->from_line = line <= UINT32_MAX ? (uint32_t)line : 0;
    if (files != NULL && file <= SIZE_MAX)
        call->from_file = hp_libdw_get()->dwarf_filesrc(files, (size_t)file, NULL, NULL);
    if (call->from_file == NULL)
        call->from_file = "";
}
