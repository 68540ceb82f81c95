/*
 * Tables for unwinding.
 *
 * Functions come in any order, and those of two sections may be about the same code. So rows are collected function by
 * function, functions are sorted, and rows are put into one list, in which the first to speak of a place is believed.
 * There are hundreds of thousands of rows and some hundred different rules, so a row has the number of its rule.
 * SPDX-License-Identifier: MIT
 */
#include "unwind_table.h"

#include <stdlib.h>
#include <string.h>

#include "cfi.h"
#include "grown.h"
#include "memory.h"

#define MOST_RULES 65536u
#define MOST_EXPRESSION_BYTES (1u << 16)
#define MOST_ROWS (64u << 20)
#define STUB_PUSHED 11 /* bytes into a stub: from there on the stack has its number */

struct row {
    uint64_t place;
    uint16_t rule;
};

struct function {
    uint64_t start, end;
    size_t first, count; /* rows */
    unsigned rank;       /* of those who speak of the same place, the lowest is believed */
};

struct making {
    struct hp_unwind_table *table;
    struct row *rows;
    size_t row_count, row_room;
    struct function *functions;
    size_t function_count, function_room;
    size_t rule_room;
    uint32_t *rule_index; /* a hash table: numbers of rules, and 1 more; 0: free */
    size_t index_mask;
    unsigned rank;
};

/* ----------------------------------------------------------------------------------------------- rules */

static uint64_t hash_of(const struct hp_unwind_rule *rule)
{
    uint64_t words[sizeof *rule / 8], hash = 0;
    memcpy(words, rule, sizeof words);
    for (size_t at = 0; at < sizeof words / 8; at++)
        hash = (hash ^ words[at]) * UINT64_C(0x9e3779b97f4a7c15), hash ^= hash >> 29;
    return hash;
}
_Static_assert(sizeof(struct hp_unwind_rule) % 8 == 0, "compared and hashed as bytes");

static bool make_index(struct making *making)
{
    const size_t room = making->rule_index == NULL ? 1024 : (making->index_mask + 1) * 4;
    uint32_t *index = calloc(room, sizeof *index);
    if (index == NULL)
        return false;
    free(making->rule_index);
    making->rule_index = index;
    making->index_mask = room - 1;
    for (size_t at = 0; at < making->table->rule_count; at++) {
        size_t slot = (size_t)hash_of(&making->table->rules[at]) & making->index_mask;
        while (index[slot] != 0)
            slot = (slot + 1) & making->index_mask;
        index[slot] = (uint32_t)at + 1;
    }
    return true;
}

static bool add_rule(struct making *making, const struct hp_unwind_rule *rule, size_t slot)
{
    struct hp_unwind_table *table = making->table;
    struct hp_unwind_rule *larger = hp_grown(table->rules, table->rule_count, &making->rule_room, sizeof *larger);
    if (larger == NULL)
        return false;
    table->rules = larger;
    larger[table->rule_count++] = *rule;
    making->rule_index[slot] = (uint32_t)table->rule_count;
    return true;
}

/* Its number; 0, which says nothing, for those that are too many. */
static uint16_t number_of(struct making *making, const struct hp_unwind_rule *rule)
{
    struct hp_unwind_table *table = making->table;
    if (rule->cfa_kind == HP_CFA_NONE)
        return 0;
    if (table->rule_count * 2 > making->index_mask && !make_index(making) &&
        table->rule_count == making->index_mask)
        return 0;
    size_t slot = (size_t)hash_of(rule) & making->index_mask;
    for (; making->rule_index[slot] != 0; slot = (slot + 1) & making->index_mask)
        if (memcmp(&table->rules[making->rule_index[slot] - 1], rule, sizeof *rule) == 0)
            return (uint16_t)(making->rule_index[slot] - 1);
    return table->rule_count < MOST_RULES && add_rule(making, rule, slot) ? (uint16_t)(table->rule_count - 1) : 0;
}

/* ----------------------------------------------------------------------------------------- what is read */

static bool add_function(void *context, uint64_t start, uint64_t end)
{
    struct making *making = context;
    struct function *larger =
        hp_grown(making->functions, making->function_count, &making->function_room, sizeof *larger);
    if (larger == NULL)
        return false;
    making->functions = larger;
    making->functions[making->function_count++] =
        (struct function){.start = start, .end = end, .first = making->row_count, .rank = making->rank};
    return true;
}

static bool add_row(void *context, uint64_t place, const struct hp_unwind_rule *rule)
{
    struct making *making = context;
    struct row *larger = hp_grown(making->rows, making->row_count, &making->row_room, sizeof *larger);
    if (larger == NULL)
        return false;
    making->rows = larger;
    if (making->row_count == MOST_ROWS)
        return false;
    making->rows[making->row_count++] = (struct row){place, number_of(making, rule)};
    making->functions[making->function_count - 1].count++;
    return true;
}

/* There are few different ones. */
static int32_t add_expression(void *context, const uint8_t *bytes, size_t size)
{
    struct hp_unwind_table *table = ((struct making *)context)->table;
    for (size_t at = 0; at < table->expressions_size;) {
        const size_t length = table->expressions[at] | (size_t)table->expressions[at + 1] << 8;
        if (length == size && memcmp(table->expressions + at + 2, bytes, size) == 0)
            return (int32_t)at;
        at += 2 + length;
    }
    if (size >= MOST_EXPRESSION_BYTES || table->expressions_size + 2 + size > MOST_EXPRESSION_BYTES)
        return -1;
    uint8_t *larger = realloc(table->expressions, table->expressions_size + 2 + size);
    if (larger == NULL)
        return -1;
    const size_t at = table->expressions_size;
    table->expressions = larger;
    table->expressions_size += 2 + size;
    larger[at] = (uint8_t)size;
    larger[at + 1] = (uint8_t)(size >> 8);
    if (size > 0)
        memcpy(larger + at + 2, bytes, size);
    return (int32_t)at;
}

static void read_frames(struct making *making, const struct hp_image_file *file, const char *name, bool is_debug)
{
    ElfW(Shdr) section;
    uint8_t *bytes = file != NULL ? hp_image_file_copy(file, name, &section) : NULL;
    const struct hp_cfi_visitor visitor = {making, add_function, add_row, add_expression};
    if (bytes == NULL)
        return;
    making->rank++;
    hp_cfi_read(&(struct hp_cfi){.machine = making->table->machine,
                                 .bytes = bytes,
                                 .size = (size_t)section.sh_size,
                                 .linked = section.sh_addr,
                                 .is_debug = is_debug},
                &visitor);
    hp_memory_unmap(bytes, (size_t)section.sh_size);
}

/*
 * Code that handlers return to, whether something is said of it or not. It is nobody's function: what returns there has not
 * been called from the place before it, so that place is made a part of it.
 */
static void find_signal_returns(struct making *making, const struct hp_image_file *file)
{
    const struct hp_machine *machine = making->table->machine;
    struct hp_unwind_rule rule = {.cfa_kind = HP_CFA_SIGNAL};
    for (unsigned at = 0; at < HP_SAVED; at++)
        rule.saved[at] = HP_SAVED_SAME;
    for (size_t index = 0; index < file->elf.part_count; index++) {
        const struct hp_elf_part *part = &file->elf.parts[index];
        uint8_t *code = part->is_code ? hp_elf_copy(file->fd, part->offset, part->size) : NULL;
        if (code == NULL)
            continue;
        const size_t size = (size_t)part->size;
        size_t length;
        for (size_t at = 0; (at += hp_machine_signal_return(machine, code + at, size - at, &length)) < size;
             at += length) {
            const uint64_t start = part->linked + at - 1;
            if (start != 0 && add_function(making, start, start + 1 + length))
                add_row(making, start, &rule);
        }
        hp_memory_unmap(code, (size_t)part->size);
    }
}

/*
 * Stubs of the linker, of which not every linker says something: they jump, and some of those on x86-64 put a number on the
 * stack before.
 */
static void add_stubs(struct making *making, const struct hp_image_file *file)
{
    static const char *const names[] = {".plt", ".iplt", ".plt.sec", ".plt.got"};
    const struct hp_machine *machine = making->table->machine;
    struct hp_unwind_rule rule = {.cfa_kind = HP_CFA_REGISTER, .cfa_register = machine->sp};
    ElfW(Shdr) section;
    for (unsigned at = 0; at < HP_SAVED; at++)
        rule.saved[at] = HP_SAVED_SAME;
    making->rank++;
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++) {
        if (!machine->has_link_register) {
            rule.cfa_kind = at < 2 ? HP_CFA_PLT : HP_CFA_REGISTER;
            rule.cfa_offset = at < 2 ? STUB_PUSHED : 8;
            rule.saved[HP_SAVED_RETURN] = -8;
        }
        if (!hp_image_file_section(file, names[at], &section))
            continue;
        const uint64_t start = section.sh_addr, end = start + section.sh_size;
        if (start != 0 && end > start && add_function(making, start, end))
            add_row(making, start, &rule);
    }
}

/* ---------------------------------------------------------------------------------------------- sorting */

static int compare_functions(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->first == y->first ? 0 : x->first < y->first ? -1 : 1;
}

/* What is the same as before needs no row. */
static void put_row(struct hp_unwind_table *table, uint64_t place, uint16_t rule)
{
    const uint64_t from = place - table->base;
    if (from > UINT32_MAX)
        return;
    if (table->count > 0 && table->places[table->count - 1] == from)
        table->count--;
    if (table->count > 0 && table->rule_of[table->count - 1] == rule)
        return;
    table->places[table->count] = (uint32_t)from;
    table->rule_of[table->count++] = rule;
}

static void put_function(const struct making *making, const struct function *function, uint64_t from)
{
    const struct row *rows = making->rows + function->first;
    size_t at = 0;
    while (at + 1 < function->count && rows[at + 1].place <= from)
        at++;
    for (; at < function->count; at++)
        put_row(making->table, rows[at].place > from ? rows[at].place : from, rows[at].rule);
    put_row(making->table, function->end, 0);
}

/* A row ends where the next begins, so each function is followed by a row that says nothing. */
static bool put_all(struct making *making)
{
    struct hp_unwind_table *table = making->table;
    const size_t most = making->row_count + making->function_count + 1;
    uint64_t done = 0;
    if (making->function_count == 0)
        return true;
    qsort(making->functions, making->function_count, sizeof *making->functions, compare_functions);
    table->base = making->functions[0].start;
    table->places = malloc(most * sizeof *table->places);
    table->rule_of = malloc(most * sizeof *table->rule_of);
    if (table->places == NULL || table->rule_of == NULL)
        return false;
    for (size_t at = 0; at < making->function_count; at++) {
        const struct function *function = &making->functions[at];
        if (function->count == 0 || function->end <= done)
            continue;
        put_function(making, function, function->start > done ? function->start : done);
        done = function->end;
    }
    return true;
}

static void shrink(struct hp_unwind_table *table)
{
    uint32_t *places = realloc(table->places, (table->count + 1) * sizeof *places);
    uint16_t *rule_of = realloc(table->rule_of, (table->count + 1) * sizeof *rule_of);
    table->places = places != NULL ? places : table->places;
    table->rule_of = rule_of != NULL ? rule_of : table->rule_of;
}

/* -------------------------------------------------------------------------------------------- the table */

void hp_unwind_table_make(struct hp_unwind_table *table, const struct hp_image_file *file,
                          const struct hp_image_file *debug)
{
    static const struct hp_unwind_rule none = {.cfa_kind = HP_CFA_NONE};
    struct making making = {.table = table};
    *table = (struct hp_unwind_table){.machine = hp_machine_of(file->elf.header.e_machine)};
    if (table->machine == NULL || !make_index(&making) || !add_rule(&making, &none, 0))
        goto done;
    find_signal_returns(&making, file);
    read_frames(&making, file, ".eh_frame", false);
    read_frames(&making, file, ".debug_frame", true);
    read_frames(&making, debug, ".debug_frame", true);
    add_stubs(&making, file);
    if (!put_all(&making))
        table->count = 0;
    shrink(table);
done:
    free(making.rows);
    free(making.functions);
    free(making.rule_index);
}

void hp_unwind_table_free(struct hp_unwind_table *table)
{
    free(table->places);
    free(table->rule_of);
    free(table->rules);
    free(table->expressions);
    *table = (struct hp_unwind_table){.machine = NULL};
}

static bool is_covered(const struct hp_unwind_table *table, uint64_t linked)
{
    return table->count > 0 && linked >= table->base && linked - table->base <= UINT32_MAX;
}

/* The last that begins at or before a place. */
static inline size_t row_of(const struct hp_unwind_table *table, uint64_t linked)
{
    const uint64_t place = linked - table->base;
    const uint32_t *first = table->places;
    for (size_t count = table->count; count > 1;) { /* without branches that nobody can foresee */
        const size_t half = count / 2;
        first = first[half] <= place ? first + half : first;
        count -= half;
    }
    return (size_t)(first - table->places);
}

const struct hp_unwind_rule *hp_unwind_table_find(const struct hp_unwind_table *table, uint64_t linked)
{
    static const struct hp_unwind_rule none = {.cfa_kind = HP_CFA_NONE};
    return is_covered(table, linked) ? &table->rules[table->rule_of[row_of(table, linked)]] : &none;
}

/* As a function begins, nothing but the return address is on the stack; and between functions there is mostly something that is none. */
bool hp_unwind_table_is_start(const struct hp_unwind_table *table, uint64_t start, uint64_t linked)
{
    if (start > linked || !is_covered(table, start) || !is_covered(table, linked))
        return false;
    const size_t first = row_of(table, start), last = row_of(table, linked);
    const struct hp_unwind_rule *rule = &table->rules[table->rule_of[first]];
    if (table->places[first] != start - table->base || rule->cfa_kind != HP_CFA_REGISTER ||
        rule->cfa_register != table->machine->sp || rule->cfa_offset != (table->machine->has_link_register ? 0 : 8))
        return false;
    for (size_t at = first; at <= last; at++)
        if (table->rules[table->rule_of[at]].cfa_kind == HP_CFA_NONE)
            return false;
    return true;
}

const uint8_t *hp_unwind_table_expression(const struct hp_unwind_table *table, const struct hp_unwind_rule *rule,
                                          size_t *ret_size)
{
    const uint8_t *at = table->expressions + rule->cfa_offset;
    *ret_size = at[0] | (size_t)at[1] << 8;
    return at + 2;
}
