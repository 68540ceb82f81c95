/*
 * Unwind tables.
 *
 * Functions come in any order, and those of two sections may cover the same code. So all of them are listed, which
 * is cheap, and sorted, and the code is divided into stretches; the first function that covers one owns it. The
 * program of a function, the largest part of its data, is executed when one of its addresses is first requested.
 * SPDX-License-Identifier: MIT
 */
#include "unwind_table.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"
#include "image_file.h"
#include "machine.h"
#include "memory.h"
#include "sort.h"

/* ------------------------------------------------------------------------------------------------ signal return */

/*
 * Finds the code that signal handlers return to, with or without call frame information.
 *
 * Finds sigreturn code. Searching all code of an image for it takes longer than making its table, and is hardly
 * ever needed. So only the bytes around an address are read, and only on demand.
 */
/* An address this far from one in such code, or further, is not in it. */
#define HP_SIGNAL_RETURN_MOST 10u

#define AROUND 12u /* bytes on either side of an address: the whole code sequence, and a multiple of four */
_Static_assert(AROUND >= HP_SIGNAL_RETURN_MOST && AROUND % 4 == 0, "instructions of aarch64 are where they are");

/* The address may be one before the part: sigreturn code that it belongs to may begin with the first byte. */
static bool is_near(const struct hp_elf_part *part, uint64_t linked)
{
    return part->is_code && linked + 1 - part->linked <= part->size;
}

static bool is_at(const struct hp_machine *machine, const struct hp_image_file *file,
                  const struct hp_elf_part *part, uint64_t linked, uint64_t *ret_end)
{
    uint8_t code[AROUND + 4 + AROUND];
    const uint64_t into = (linked + 1 - part->linked) / 4 * 4, from = into > AROUND ? into - AROUND : 0;
    const size_t size = part->size - from < sizeof code ? (size_t)(part->size - from) : sizeof code;
    size_t length;
    if (!hp_elf_read_at(file->fd, part->offset + from, code, size))
        return false;
    for (size_t at = 0; (at += hp_machine_signal_return(machine, code + at, size - at, &length)) < size;
         at += length) {
        const uint64_t start = part->linked + from + at - 1;
        *ret_end = start + 1 + length;
        if (start != 0 && linked - start <= length)
            return true;
    }
    return false;
}

/*
 * Whether a link-time address is in such code, and where that ends. It was not called: its return address is not
 * after a call, so the byte before it counts as part of it. Reads some bytes of the file.
 */
static bool signal_return_is_at(const struct hp_machine *machine, const struct hp_image_file *file, uint64_t linked,
                                uint64_t *ret_end)
{
    for (size_t index = 0; index < file->elf.part_count; index++) {
        const struct hp_elf_part *part = &file->elf.parts[index];
        if (is_near(part, linked) && is_at(machine, file, part, linked, ret_end))
            return true;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------- unwind table */

#define MOST_ROWS (64u << 20)
#define STUB_PUSHED 11 /* bytes into a stub: from there on the stack has its number */

struct function {
    uint64_t start, end;
    struct hp_unwind_stretch stretch;
};

/* Of functions that begin together the first in the list counts. */
struct making {
    struct hp_unwind_table *table;
    struct function *functions;
    size_t count, room;
};

/* ------------------------------------------------------------------------------------------------- rows */

static bool add_row(void *context, uint64_t place, const struct hp_unwind_rule *rule)
{
    struct hp_unwind_table *table = context;
    const uint64_t from = place - table->base;
    if (from > UINT32_MAX || table->row_count == MOST_ROWS)
        return false;
    size_t room = table->row_room;
    if (!HP_MAKE_ROOM(table->places, table->row_count + 1, room) ||
        !HP_MAKE_ROOM(table->rule_of, table->row_count + 1, table->row_room))
        return false;
    table->places[table->row_count] = (uint32_t)from;
    table->rule_of[table->row_count++] = hp_rule_set_number(&table->rules, rule);
    return true;
}

static int32_t add_expression(void *context, const uint8_t *bytes, size_t size)
{
    struct hp_unwind_table *table = context;
    return hp_rule_set_add_expression(&table->rules, bytes, size);
}

/* Without memory, nothing is known of the function. */
static void make_rows(struct hp_unwind_table *table, struct hp_unwind_stretch *stretch)
{
    const struct hp_cfi_visitor visitor = {table, add_row, add_expression};
    stretch->first = (uint32_t)table->row_count;
    hp_cfi_rows(&table->sections[stretch->section], stretch->at, &visitor);
    stretch->row_count = (uint32_t)(table->row_count - stretch->first);
    stretch->section = stretch->row_count > 0 ? HP_UNWIND_MADE : HP_UNWIND_UNKNOWN_CODE;
}

/* ----------------------------------------------------------------------------------------------- sections */

static bool add_function(struct making *making, uint64_t start, uint64_t end,
                         const struct hp_unwind_stretch *stretch)
{
    if (!HP_MAKE_ROOM(making->functions, making->count + 1, making->room))
        return false;
    making->functions[making->count++] = (struct function){start, end, *stretch};
    return true;
}

static bool list_function(void *context, uint64_t start, uint64_t end, size_t at)
{
    struct making *making = context;
    return add_function(making, start, end,
                        &(struct hp_unwind_stretch){.section = (uint32_t)making->table->section_count - 1,
                                                    .at = (uint32_t)at,
                                                    .signal_end = HP_UNWIND_NOT_LOOKED});
}

static void list_section(struct making *making, const struct hp_cfi *cfi)
{
    struct hp_unwind_table *table = making->table;
    table->sections[table->section_count++] = *cfi;
    hp_cfi_list(cfi, list_function, making);
}

static void read_frames(struct making *making, const struct hp_image_file *file, const char *name, bool is_debug)
{
    ElfW(Shdr) section;
    uint8_t *bytes = file != NULL ? hp_image_file_copy(file, name, &section) : NULL;
    if (bytes != NULL)
        list_section(making, &(struct hp_cfi){.machine = making->table->machine,
                                              .bytes = bytes,
                                              .size = (size_t)section.sh_size,
                                              .linked = section.sh_addr,
                                              .is_debug = is_debug});
}

/*
 * PLT stubs, which not every linker describes: they jump, and some on x86-64 push a number first. One rule covers
 * each, from the beginning of its stretch or before.
 */
static void add_stubs(struct making *making, const struct hp_image_file *file)
{
    static const char *const names[] = {".plt", ".iplt", ".plt.sec", ".plt.got"};
    struct hp_unwind_table *table = making->table;
    const struct hp_machine *machine = table->machine;
    struct hp_unwind_rule rule = {.cfa_kind = HP_CFA_REGISTER, .cfa_register = machine->sp};
    ElfW(Shdr) section;
    for (unsigned at = 0; at < HP_SAVED; at++)
        rule.saved[at] = HP_SAVED_SAME;
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++) {
        if (!machine->has_link_register) {
            rule.cfa_kind = at < 2 ? HP_CFA_PLT : HP_CFA_REGISTER;
            rule.cfa_offset = at < 2 ? STUB_PUSHED : 8;
            rule.saved[HP_SAVED_RETURN] = -8;
        }
        if (!hp_image_file_section(file, names[at], &section))
            continue;
        const uint64_t start = section.sh_addr, end = start + section.sh_size;
        const struct hp_unwind_stretch stretch = {HP_UNWIND_MADE, 0, (uint32_t)table->row_count, 1,
                                                  HP_UNWIND_NOT_LOOKED};
        if (start != 0 && end > start && add_row(table, table->base, &rule))
            add_function(making, start, end, &stretch);
    }
}

/* ---------------------------------------------------------------------------------------------- sorting */

/* Sorted by their beginnings; equal ones in the order of the list. NULL: no memory. */
static struct hp_keyed *sort(const struct making *making)
{
    struct hp_keyed *order = malloc(2 * making->count * sizeof *order);
    if (order == NULL)
        return NULL;
    for (size_t at = 0; at < making->count; at++)
        order[at] = (struct hp_keyed){making->functions[at].start, at};
    hp_keyed_sort(order, order + making->count, making->count);
    return order;
}

static void put_stretch(struct hp_unwind_table *table, uint64_t start, const struct hp_unwind_stretch *stretch)
{
    if (start - table->base > UINT32_MAX)
        return;
    table->starts[table->count] = (uint32_t)(start - table->base);
    table->stretches[table->count++] = *stretch;
}

static void put_in_order(struct making *making, const struct hp_keyed *order)
{
    static const struct hp_unwind_stretch unknown = {.section = HP_UNWIND_UNKNOWN_CODE};
    struct hp_unwind_table *table = making->table;
    uint64_t done = order[0].key;
    table->base = done;
    for (size_t at = 0; at < making->count; at++) {
        const struct function *function = &making->functions[order[at].value];
        if (function->end <= done)
            continue;
        if (function->start > done)
            put_stretch(table, done, &unknown);
        put_stretch(table, function->start > done ? function->start : done, &function->stretch);
        done = function->end;
    }
    put_stretch(table, done, &unknown);
}

static void put_all(struct making *making)
{
    struct hp_unwind_table *table = making->table;
    const size_t most = 2 * making->count + 1;
    struct hp_keyed *order = making->count > 0 ? sort(making) : NULL;
    if (order == NULL)
        return;
    table->starts = malloc(most * sizeof *table->starts);
    table->stretches = malloc(most * sizeof *table->stretches);
    if (table->starts != NULL && table->stretches != NULL)
        put_in_order(making, order);
    free(order);
}

/* -------------------------------------------------------------------------------------------- the table */

void hp_unwind_table_make(struct hp_unwind_table *table, const struct hp_image_file *file,
                          const struct hp_image_file *debug)
{
    struct making making = {.table = table};
    *table = (struct hp_unwind_table){.machine = hp_machine_of(file->elf.header.e_machine), .file = file};
    if (table->machine == NULL || !hp_rule_set_begin(&table->rules))
        return;
    read_frames(&making, file, ".eh_frame", false);
    read_frames(&making, file, ".debug_frame", true);
    read_frames(&making, debug, ".debug_frame", true);
    add_stubs(&making, file);
    put_all(&making);
    free(making.functions);
}

void hp_unwind_table_free(struct hp_unwind_table *table)
{
    for (size_t at = 0; at < table->section_count; at++)
        hp_memory_unmap((void *)(uintptr_t)table->sections[at].bytes, table->sections[at].size);
    free(table->starts);
    free(table->stretches);
    free(table->places);
    free(table->rule_of);
    hp_rule_set_free(&table->rules);
    *table = (struct hp_unwind_table){.machine = NULL};
}

/* The last that begins at or before a place; the first if none does. There is at least one. */
static inline size_t last_at(const uint32_t *places, size_t count, uint32_t place)
{
    const uint32_t *first = places;
    while (count > 1) { /* without unpredictable branches */
        const size_t half = count / 2;
        first = first[half] <= place ? first + half : first;
        count -= half;
    }
    return (size_t)(first - places);
}

/* The stretch of an address, with rows if it is a function; `count`: none. */
static inline size_t stretch_at(struct hp_unwind_table *table, uint64_t linked)
{
    if (table->count == 0 || linked - table->base > UINT32_MAX)
        return table->count;
    const size_t at = last_at(table->starts, table->count, (uint32_t)(linked - table->base));
    if (table->stretches[at].section < table->section_count)
        make_rows(table, &table->stretches[at]);
    return table->stretches[at].section == HP_UNWIND_MADE ? at : table->count;
}

static inline size_t row_at(const struct hp_unwind_table *table, size_t stretch, uint64_t linked)
{
    const struct hp_unwind_stretch *rows = &table->stretches[stretch];
    return rows->first + last_at(table->places + rows->first, rows->row_count, (uint32_t)(linked - table->base));
}

/* A function may begin with sigreturn code, whatever its call frame information says. */
static void look_for_signal_return(struct hp_unwind_table *table, size_t stretch)
{
    const uint64_t start = table->base + table->starts[stretch];
    uint64_t end;
    const bool is_found = table->file != NULL && signal_return_is_at(table->machine, table->file, start, &end) &&
                          end - table->base < HP_UNWIND_NOT_LOOKED;
    table->stretches[stretch].signal_end = is_found ? (uint32_t)(end - table->base) : 0;
}

static bool is_signal_return(struct hp_unwind_table *table, size_t stretch, uint64_t linked)
{
    uint64_t end;
    if (stretch == table->count) /* nothing describes this address */
        return table->file != NULL && signal_return_is_at(table->machine, table->file, linked, &end);
    const uint64_t place = linked - table->base;
    if (place - table->starts[stretch] >= HP_SIGNAL_RETURN_MOST)
        return false;
    if (table->stretches[stretch].signal_end == HP_UNWIND_NOT_LOOKED)
        look_for_signal_return(table, stretch);
    return place < table->stretches[stretch].signal_end;
}

const struct hp_unwind_rule *hp_unwind_table_find(struct hp_unwind_table *table, uint64_t linked)
{
    static const struct hp_unwind_rule none = {.cfa_kind = HP_CFA_NONE}, signal = {.cfa_kind = HP_CFA_SIGNAL};
    const size_t stretch = stretch_at(table, linked);
    if (is_signal_return(table, stretch, linked))
        return &signal;
    return stretch < table->count ? hp_rule_set_at(&table->rules, table->rule_of[row_at(table, stretch, linked)])
                                  : &none;
}

/* At its beginning, a function has only the return address on the stack. */
static bool begins(const struct hp_unwind_table *table, size_t row)
{
    const struct hp_unwind_rule *rule = hp_rule_set_at(&table->rules, table->rule_of[row]);
    return rule->cfa_kind == HP_CFA_REGISTER && rule->cfa_register == table->machine->sp &&
           rule->cfa_offset == (table->machine->has_link_register ? 0 : 8);
}

/* Whether all rows in between are known. */
static bool is_known(const struct hp_unwind_table *table, size_t stretch, uint64_t start, uint64_t linked)
{
    const uint64_t from = table->base + table->starts[stretch];
    const size_t last = row_at(table, stretch, linked);
    for (size_t row = row_at(table, stretch, start > from ? start : from); row <= last; row++)
        if (table->rule_of[row] == 0)
            return false;
    return true;
}

/* There is mostly padding between functions. */
bool hp_unwind_table_is_start(struct hp_unwind_table *table, uint64_t start, uint64_t linked)
{
    const size_t first = stretch_at(table, start),
                 last = start <= linked ? stretch_at(table, linked) : table->count;
    if (first == table->count || last == table->count)
        return false;
    const size_t row = row_at(table, first, start);
    if (table->places[row] != start - table->base || !begins(table, row))
        return false;
    for (size_t at = first; at <= last; at++)
        if (table->stretches[at].section == HP_UNWIND_UNKNOWN_CODE)
            return false;
    for (size_t at = first; at <= last; at++) {
        const uint64_t end = at < last ? table->base + table->starts[at + 1] - 1 : linked;
        if (stretch_at(table, end) == table->count || !is_known(table, at, start, end))
            return false;
    }
    return true;
}

const uint8_t *hp_unwind_table_expression(const struct hp_unwind_table *table, const struct hp_unwind_rule *rule,
                                          size_t *ret_size)
{
    return hp_rule_set_expression(&table->rules, rule->cfa_offset, ret_size);
}
