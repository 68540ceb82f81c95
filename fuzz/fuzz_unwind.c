/*
 * Gives arbitrary call frame information, registers and stacks to the unwinder. Rows lie in order, rules are those of the table,
 * and it comes to an end within the frames that there is room for. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "input.h"

/* With its inner functions in reach: tables are made of sections here, not of files. */
#include "unwind_table.c"

#include "expression.h"
#include "unwind.h"

#define LARGEST_INPUT (1u << 16)
#define MOST_FRAMES 64u
#define CODE UINT64_C(0x10000)
#define CODE_SIZE UINT64_C(0x10000)
#define STACK UINT64_C(0x7fff0000)
#define STACK_WORDS 64u

/* ------------------------------------------------------------------------------------------------ tables */

static void check_table(const struct hp_unwind_table *table)
{
    REQUIRE(table->rule_count > 0 && table->rules[0].cfa_kind == HP_CFA_NONE);
    for (size_t at = 0; at < table->count; at++) {
        REQUIRE(at == 0 || table->places[at - 1] < table->places[at]);
        REQUIRE(table->rule_of[at] < table->rule_count);
        REQUIRE(at == 0 || table->rule_of[at - 1] != table->rule_of[at]);
        REQUIRE(hp_unwind_table_find(table, table->base + table->places[at]) == &table->rules[table->rule_of[at]]);
    }
    for (size_t at = 0; at < table->rule_count; at++) {
        const struct hp_unwind_rule *rule = &table->rules[at];
        size_t size;
        REQUIRE(rule->cfa_kind != HP_CFA_REGISTER || rule->cfa_register < HP_REGISTERS);
        if (rule->cfa_kind != HP_CFA_EXPRESSION)
            continue;
        REQUIRE(rule->cfa_offset >= 0 && (size_t)rule->cfa_offset + 2 <= table->expressions_size);
        REQUIRE(hp_unwind_table_expression(table, rule, &size) + size <=
                table->expressions + table->expressions_size);
    }
}

/* As hp_unwind_table_make, of bytes instead of a file. */
static void make_table(struct hp_unwind_table *table, const struct hp_machine *machine, const uint8_t *bytes,
                       size_t size, bool is_debug)
{
    static const struct hp_unwind_rule none = {.cfa_kind = HP_CFA_NONE};
    struct making making = {.table = table};
    const struct hp_cfi_visitor visitor = {&making, add_function, add_row, add_expression};
    *table = (struct hp_unwind_table){.machine = machine};
    REQUIRE(make_index(&making) && add_rule(&making, &none, 0));
    making.rank = 1;
    hp_cfi_read(&(struct hp_cfi){machine, bytes, size, CODE, is_debug}, &visitor);
    making.rank = 2; /* the same once more, as if it were another section */
    hp_cfi_read(&(struct hp_cfi){machine, bytes, size, CODE + 8, is_debug}, &visitor);
    REQUIRE(put_all(&making));
    free(making.rows);
    free(making.functions);
    free(making.rule_index);
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
    uint8_t *section = malloc(length + 1); /* exactly as large as it is */
    REQUIRE(section != NULL);
    uint8_t *exact = realloc(section, length > 0 ? length : 1);
    section = exact != NULL ? exact : section;
    fuzz_bytes(&input, section, length);
    make_table(&table, hp_machine_of(kind & 1 ? EM_AARCH64 : EM_X86_64), section, length, kind & 2);
    check_table(&table);
    unwind(&table, &input);
    evaluate(section, length);
    hp_unwind_table_free(&table);
    free(section);
    return 0;
}
