/*
 * Gives arbitrary call frame information, registers and stacks to the unwinder. Rows must be sorted, rules must be
 * those of the table, and unwinding must end within the available frames. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "input.h"

/* Included for access to its static functions: tables are made from sections here, not from files. */
#include "unwind_table.c"

#include "unwind.h"

#define LARGEST_INPUT (1u << 16)
#define MOST_FRAMES 64u
#define CODE UINT64_C(0x10000)
#define CODE_SIZE UINT64_C(0x10000)
#define STACK UINT64_C(0x7fff0000)
#define STACK_WORDS 64u

/* ------------------------------------------------------------------------------------------------ tables */

static void check_rules(const struct hp_unwind_table *table)
{
    for (size_t at = 0; at < table->rules.count; at++) {
        const struct hp_unwind_rule *rule = hp_rule_set_at(&table->rules, at);
        size_t size;
        REQUIRE(rule->cfa_kind != HP_CFA_REGISTER || rule->cfa_register < HP_REGISTERS);
        if (rule->cfa_kind != HP_CFA_EXPRESSION)
            continue;
        REQUIRE(rule->cfa_offset >= 0 && (size_t)rule->cfa_offset + 2 <= table->rules.expressions_size);
        REQUIRE(hp_unwind_table_expression(table, rule, &size) + size <=
                table->rules.expressions + table->rules.expressions_size);
    }
}

static void check_rows(const struct hp_unwind_table *table, const struct hp_unwind_stretch *stretch)
{
    REQUIRE(stretch->row_count > 0 && stretch->first + (size_t)stretch->row_count <= table->row_count);
    for (size_t at = stretch->first; at < stretch->first + stretch->row_count; at++) {
        REQUIRE(at == stretch->first || table->places[at - 1] < table->places[at]);
        REQUIRE(table->rule_of[at] < table->rules.count);
    }
}

/* Looks up everything, the last first. */
static void check_table(struct hp_unwind_table *table)
{
    REQUIRE(table->rules.count > 0 && hp_rule_set_at(&table->rules, 0)->cfa_kind == HP_CFA_NONE);
    for (size_t at = table->count; at-- > 0;) {
        const uint64_t place = table->base + table->starts[at];
        const struct hp_unwind_stretch *stretch = &table->stretches[at];
        REQUIRE(at == 0 || table->starts[at - 1] < table->starts[at]);
        const struct hp_unwind_rule *rule = hp_unwind_table_find(table, place);
        REQUIRE(stretch->section == HP_UNWIND_MADE || stretch->section == HP_UNWIND_UNKNOWN_CODE);
        REQUIRE(stretch->section == HP_UNWIND_MADE || rule->cfa_kind == HP_CFA_NONE);
        REQUIRE(hp_unwind_table_find(table, place) == rule);
        if (stretch->section == HP_UNWIND_MADE)
            check_rows(table, stretch);
        hp_unwind_table_is_start(table, place, place + 16);
    }
    check_rules(table);
}

/* As hp_unwind_table_make, from bytes instead of a file. */
static void make_table(struct hp_unwind_table *table, const struct hp_machine *machine, const uint8_t *bytes,
                       size_t size, bool is_debug)
{
    struct making making = {.table = table};
    struct hp_cfi cfi = {.machine = machine, .bytes = bytes, .size = size, .linked = CODE, .is_debug = is_debug};
    *table = (struct hp_unwind_table){.machine = machine};
    REQUIRE(hp_rule_set_begin(&table->rules));
    list_section(&making, &cfi);
    cfi.linked += 8; /* once more, as if it were another section */
    list_section(&making, &cfi);
    put_all(&making);
    free(making.functions);
}

/* ------------------------------------------------------------------------------------------------ stacks */

static uint64_t any_word(struct fuzz_input *input)
{
    const uint8_t kind = fuzz_byte(input);
    const uint64_t number = fuzz_number(input, 2);
    return kind < 100 ? CODE + number : kind < 200 ? STACK + number % (8 * STACK_WORDS) : number << kind % 64;
}

static void unwind(struct hp_unwind_table *table, struct fuzz_input *input)
{
    static struct hp_space space;
    struct hp_image image = {.number = 0};
    struct hp_mapping mapping = {CODE, CODE + CODE_SIZE, &image, 0, true};
    struct hp_unwinder unwinder = {.tables = &table, .count = 1};
    struct hp_registers registers = {.known = fuzz_number(input, 5)};
    uint64_t stack[STACK_WORDS];
    struct hp_frame frames[MOST_FRAMES];
    enum hp_unwind_end end;
    memset(&space, 0, sizeof space);
    space.all = &mapping;
    space.count = 1;
    space.top = mapping.end;
    for (size_t at = 0; at < HP_REGISTERS; at++)
        registers.value[at] = any_word(input);
    for (size_t at = 0; at < STACK_WORDS; at++)
        stack[at] = any_word(input);
    const size_t size = fuzz_byte(input) % (sizeof stack + 1);
    const struct hp_stack_bytes piece = {STACK, stack, size};
    const struct hp_stack_memory memory = {.pieces = &piece, .count = 1};
    const size_t count =
        hp_unwind(&unwinder, &space, table->machine, &registers, &memory, frames, MOST_FRAMES, &end);
    REQUIRE(count > 0 && count <= MOST_FRAMES);
    REQUIRE((end == HP_UNWIND_FULL) == (count == MOST_FRAMES) || end != HP_UNWIND_FULL);
    for (size_t at = 1; at < count; at++)
        REQUIRE(hp_space_find(&space, frames[at].pc - !frames[at].is_exact) != NULL);
}

/* ----------------------------------------------------------------------------------------- expressions */

static bool load_word(const void *context, uint64_t address, uint64_t *ret_value)
{
    (void)context;
    *ret_value = address * 3;
    return address % 16 == 0;
}

static void evaluate(const uint8_t *bytes, size_t size)
{
    struct hp_registers registers = {.known = UINT64_MAX};
    uint64_t value;
    memset(registers.value, 0x55, sizeof registers.value);
    hp_expression_value(bytes, size, &registers, load_word, NULL, &value);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    struct hp_unwind_table table;
    if (size > LARGEST_INPUT)
        return 0;
    const uint8_t kind = fuzz_byte(&input);
    const size_t length = input.left > 600 ? input.left - 400 : input.left / 2;
    uint8_t *section = malloc(length + 1); /* of exactly that size */
    REQUIRE(section != NULL);
    uint8_t *exact = realloc(section, length > 0 ? length : 1);
    section = exact != NULL ? exact : section;
    fuzz_bytes(&input, section, length);
    make_table(&table, hp_machine_of(kind & 1 ? EM_AARCH64 : EM_X86_64), section, length, kind & 2);
    if (kind & 4) /* or the lookups of the unwinder are the first */
        check_table(&table);
    unwind(&table, &input);
    check_table(&table);
    evaluate(section, length);
    table.section_count = 0; /* they are ours */
    hp_unwind_table_free(&table);
    free(section);
    return 0;
}
