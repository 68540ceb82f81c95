/*
 * Finds the callers of a thread.
 *
 * A step computes the CFA of a frame, which is the stack pointer of the caller, and loads the saved registers from
 * there. Stack pointers only go up, except where a handler interrupted something on another stack, so unwinding
 * always ends. It also ends at a return address that is not code.
 *
 * A call may be the last instruction of a function, and then its return address belongs to the next function: so
 * the address before it is looked up. For an interrupted frame, the exact address is used.
 * SPDX-License-Identifier: MIT
 */
#include "unwind.h"

#include <stdlib.h>
#include <string.h>

#include "cfi.h"
#include "growing_array.h"
#include "machine.h"
#include "unwind_table.h"

/* --------------------------------------------------------------------------------------------------- expression */

/*
 * DWARF expressions: a stack machine.
 */

#define DEEPEST 32u
#define MOST_OPERATIONS 1000u /* there are jumps, so it might never end */

struct evaluation {
    const uint8_t *begin;
    struct hp_bytes code;
    const struct hp_registers *registers;
    hp_expression_load *load;
    const void *context;
    uint64_t stack[DEEPEST];
    unsigned depth;
    bool is_bad;
};

static void push(struct evaluation *run, uint64_t value)
{
    if (run->depth == DEEPEST)
        run->is_bad = true;
    else
        run->stack[run->depth++] = value;
}

static uint64_t pop(struct evaluation *run)
{
    if (run->depth > 0)
        return run->stack[--run->depth];
    run->is_bad = true;
    return 0;
}

static void pick(struct evaluation *run, unsigned index)
{
    if (index < run->depth)
        push(run, run->stack[run->depth - 1 - index]);
    else
        run->is_bad = true;
}

static void push_register(struct evaluation *run, uint64_t number)
{
    const uint64_t offset = (uint64_t)hp_bytes_sleb(&run->code);
    if (number < HP_REGISTERS && hp_register_is_known(run->registers, (unsigned)number))
        push(run, run->registers->value[number] + offset);
    else
        run->is_bad = true;
}

static void dereference(struct evaluation *run, unsigned size)
{
    uint64_t value = 0;
    if (size == 0 || size > 8 || !run->load(run->context, pop(run), &value))
        run->is_bad = true;
    else
        push(run, size == 8 ? value : value & ((UINT64_C(1) << 8 * size) - 1));
}

static void jump(struct evaluation *run, bool is_taken)
{
    const int64_t distance = hp_bytes_signed(&run->code, 2);
    if (!is_taken)
        return;
    if (distance < run->begin - run->code.at || distance > run->code.end - run->code.at)
        run->is_bad = true;
    else
        run->code.at += distance;
}

static void swap(struct evaluation *run)
{
    const uint64_t top = pop(run), second = pop(run);
    push(run, top);
    push(run, second);
}

static void rotate(struct evaluation *run)
{
    const uint64_t first = pop(run), second = pop(run), third = pop(run);
    push(run, first);
    push(run, third);
    push(run, second);
}

static uint64_t shifted_right(int64_t value, uint64_t by)
{
    return by < 64 ? (uint64_t)(value >> by) : value < 0 ? UINT64_MAX : 0;
}

/* Of two numbers: the lower one on the stack, and the top. */
static uint64_t combined(struct evaluation *run, uint8_t code, uint64_t low, uint64_t top)
{
    const int64_t a = (int64_t)low, b = (int64_t)top;
    switch (code) {
    case 0x1a:
        return low & top;
    case 0x1b:
        if (b == 0 || (b == -1 && a == INT64_MIN)) {
            run->is_bad = true;
            return 0;
        }
        return (uint64_t)(a / b);
    case 0x1c:
        return low - top;
    case 0x1d:
        run->is_bad |= top == 0;
        return top == 0 ? 0 : low % top;
    case 0x1e:
        return low * top;
    case 0x21:
        return low | top;
    case 0x22:
        return low + top;
    case 0x24:
        return top < 64 ? low << top : 0;
    case 0x25:
        return top < 64 ? low >> top : 0;
    case 0x26:
        return shifted_right(a, top);
    case 0x27:
        return low ^ top;
    case 0x29:
        return a == b;
    case 0x2a:
        return a >= b;
    case 0x2b:
        return a > b;
    case 0x2c:
        return a <= b;
    case 0x2d:
        return a < b;
    case 0x2e:
        return a != b;
    default:
        run->is_bad = true;
        return 0;
    }
}

static void combine(struct evaluation *run, uint8_t code)
{
    const uint64_t top = pop(run), low = pop(run);
    push(run, combined(run, code, low, top));
}

static void evaluate_one(struct evaluation *run)
{
    const uint8_t code = hp_bytes_u8(&run->code);
    uint64_t value;
    if (code >= 0x30 && code <= 0x4f) {
        push(run, code - 0x30u);
        return;
    }
    if (code >= 0x70 && code <= 0x8f) {
        push_register(run, code - 0x70u);
        return;
    }
    switch (code) {
    case 0x03:
    case 0x0e:
    case 0x0f:
        push(run, hp_bytes_number(&run->code, 8));
        break;
    case 0x06:
        dereference(run, 8);
        break;
    case 0x08:
        push(run, hp_bytes_u8(&run->code));
        break;
    case 0x09:
        push(run, (uint64_t)hp_bytes_signed(&run->code, 1));
        break;
    case 0x0a:
        push(run, hp_bytes_number(&run->code, 2));
        break;
    case 0x0b:
        push(run, (uint64_t)hp_bytes_signed(&run->code, 2));
        break;
    case 0x0c:
        push(run, hp_bytes_number(&run->code, 4));
        break;
    case 0x0d:
        push(run, (uint64_t)hp_bytes_signed(&run->code, 4));
        break;
    case 0x10:
        push(run, hp_bytes_uleb(&run->code));
        break;
    case 0x11:
        push(run, (uint64_t)hp_bytes_sleb(&run->code));
        break;
    case 0x12:
        pick(run, 0);
        break;
    case 0x13:
        pop(run);
        break;
    case 0x14:
        pick(run, 1);
        break;
    case 0x15:
        pick(run, hp_bytes_u8(&run->code));
        break;
    case 0x16:
        swap(run);
        break;
    case 0x17:
        rotate(run);
        break;
    case 0x19:
        value = pop(run);
        push(run, (int64_t)value < 0 ? 0 - value : value);
        break;
    case 0x1f:
        push(run, 0 - pop(run));
        break;
    case 0x20:
        push(run, ~pop(run));
        break;
    case 0x23:
        value = pop(run);
        push(run, value + hp_bytes_uleb(&run->code));
        break;
    case 0x28:
        jump(run, pop(run) != 0);
        break;
    case 0x2f:
        jump(run, true);
        break;
    case 0x92:
        push_register(run, hp_bytes_uleb(&run->code));
        break;
    case 0x94:
        dereference(run, hp_bytes_u8(&run->code));
        break;
    case 0x96:
        break;
    default:
        combine(run, code);
        break;
    }
}

bool hp_expression_value(const uint8_t *bytes, size_t size, const struct hp_registers *registers,
                         hp_expression_load *load, const void *context, uint64_t *ret_value)
{
    struct evaluation run = {.begin = bytes,
                             .code = {.at = bytes, .end = bytes + size},
                             .registers = registers,
                             .load = load,
                             .context = context};
    for (unsigned step = 0; run.code.at < run.code.end; step++) {
        evaluate_one(&run);
        if (run.is_bad || run.code.is_short || step == MOST_OPERATIONS)
            return false;
    }
    *ret_value = pop(&run);
    return !run.is_bad;
}

/* ------------------------------------------------------------------------------------------------------- unwind */

#define MOST_SEARCHES 3u
#define MOST_WORDS 4096u /* of the stack, per search */
#define MOST_TRIALS 64u
#define MOST_STEPS 256u /* of a trial */

struct walk {
    struct hp_unwinder *unwinder;
    struct hp_space *space;
    const struct hp_machine *machine;
    const struct hp_stack_memory *memory;
    struct hp_registers registers;
    bool is_exact;
    bool is_missing;   /* something was not in the copy */
    unsigned searches; /* stack searches that are left */
    bool is_trial;     /* of a search; it does not search */
    uint64_t code_mask;
};

/* ---------------------------------------------------------------------------------------------- tables */

static struct hp_unwind_table *make_table(const struct hp_image *image)
{
    struct hp_unwind_table *table = calloc(1, sizeof *table);
    if (table != NULL && image->is_readable)
        hp_unwind_table_make(table, &image->file, NULL);
    return table;
}

struct hp_unwind_table *hp_unwinder_table(struct hp_unwinder *unwinder, const struct hp_image *image)
{
    if (!HP_MAKE_ZEROED_ROOM(unwinder->tables, (size_t)image->number + 1, unwinder->count))
        return NULL;
    if (unwinder->tables[image->number] == NULL)
        unwinder->tables[image->number] = make_table(image);
    return unwinder->tables[image->number];
}

void hp_unwinder_free(struct hp_unwinder *unwinder)
{
    for (size_t at = 0; at < unwinder->count; at++)
        if (unwinder->tables[at] != NULL) {
            hp_unwind_table_free(unwinder->tables[at]);
            free(unwinder->tables[at]);
        }
    free(unwinder->tables);
    *unwinder = (struct hp_unwinder){.count = 0};
}

/* NULL: there is no code at the address. */
static const struct hp_unwind_rule *find_rule(struct walk *walk, uint64_t address,
                                              struct hp_unwind_table **ret_table)
{
    static const struct hp_unwind_rule none = {.cfa_kind = HP_CFA_NONE};
    struct hp_space_memory *memory = &walk->space->remembered[(address ^ address >> 10) % HP_SPACE_REMEMBERED];
    if (memory->rule != NULL && memory->address == address) {
        *ret_table = memory->table;
        return memory->rule;
    }
    const struct hp_mapping *mapping = hp_space_find(walk->space, address);
    if (mapping == NULL)
        return NULL;
    struct hp_unwind_table *table = mapping->has_bias ? hp_unwinder_table(walk->unwinder, mapping->image) : NULL;
    const bool is_usable = table != NULL && table->machine == walk->machine;
    const struct hp_unwind_rule *rule = is_usable ? hp_unwind_table_find(table, address + mapping->bias) : &none;
    *memory = (struct hp_space_memory){address, rule, table};
    *ret_table = table;
    return rule;
}

/* ---------------------------------------------------------------------------------------------- memory */

static bool load(struct walk *walk, uint64_t address, uint64_t *ret_value)
{
    for (size_t at = 0; at < walk->memory->count; at++) {
        const struct hp_stack_bytes *piece = &walk->memory->pieces[at];
        const uint64_t from = address - piece->address;
        if (address >= piece->address && piece->size >= 8 && from <= piece->size - 8) {
            memcpy(ret_value, (const char *)piece->bytes + from, 8);
            return true;
        }
    }
    if (walk->memory->read != NULL && walk->memory->read(walk->memory->context, address, ret_value))
        return true;
    walk->is_missing = true;
    return false;
}

static bool load_for_expression(const void *context, uint64_t address, uint64_t *ret_value)
{
    return load((struct walk *)(uintptr_t)context, address, ret_value);
}

/* ----------------------------------------------------------------------------------------------- steps */

static bool compute_cfa(struct walk *walk, const struct hp_unwind_table *table, const struct hp_unwind_rule *rule,
                        uint64_t *ret_cfa)
{
    const struct hp_registers *registers = &walk->registers;
    size_t size;
    switch (rule->cfa_kind) {
    case HP_CFA_REGISTER:
        *ret_cfa = registers->value[rule->cfa_register] + (uint64_t)(int64_t)rule->cfa_offset;
        return hp_register_is_known(registers, rule->cfa_register);
    case HP_CFA_PLT:
        *ret_cfa = registers->value[walk->machine->sp] + 8;
        if ((registers->value[walk->machine->pc] & 15) >= (uint64_t)rule->cfa_offset)
            *ret_cfa += 8;
        return true;
    case HP_CFA_EXPRESSION: {
        const uint8_t *bytes = hp_unwind_table_expression(table, rule, &size);
        return hp_expression_value(bytes, size, registers, load_for_expression, walk, ret_cfa);
    }
    default:
        return false;
    }
}

/* Data below the stack pointer are dead, though compilers do not say so, and are not in the copy. */
static bool is_taken_back(const struct walk *walk, uint64_t address)
{
    return address < walk->registers.value[walk->machine->sp];
}

static void restore_saved(struct walk *walk, const struct hp_unwind_rule *rule, uint64_t cfa,
                          struct hp_registers *caller, unsigned index)
{
    const unsigned number = walk->machine->saved[index];
    const int32_t saved = rule->saved[index];
    const bool is_saved = saved != HP_SAVED_SAME && saved != HP_SAVED_UNDEFINED && saved != HP_SAVED_ELSEWHERE;
    const uint64_t address = cfa + (uint64_t)(int64_t)saved;
    uint64_t value;
    if (saved == HP_SAVED_SAME || (is_saved && is_taken_back(walk, address))) {
        caller->value[number] = walk->registers.value[number];
        caller->known |= walk->registers.known & UINT64_C(1) << number;
    } else if (is_saved && load(walk, address, &value)) {
        hp_register_set(caller, number, value);
    }
}

/* False: there is none, and *ret_end says why. */
static bool find_return(struct walk *walk, const struct hp_unwind_rule *rule, uint64_t cfa, uint64_t *ret_address,
                        enum hp_unwind_end *ret_end)
{
    const int32_t saved = rule->saved[HP_SAVED_RETURN];
    const unsigned link =
        saved == HP_SAVED_ELSEWHERE ? rule->other_register : walk->machine->saved[HP_SAVED_RETURN];
    *ret_end = HP_UNWIND_BROKEN;
    if (saved == HP_SAVED_UNDEFINED) {
        *ret_end = HP_UNWIND_START;
        return false;
    }
    if (saved != HP_SAVED_SAME && saved != HP_SAVED_ELSEWHERE) {
        *ret_end = HP_UNWIND_CUT;
        return load(walk, cfa + (uint64_t)(int64_t)saved, ret_address);
    }
    /* A function that has called another no longer has it in the register. */
    if (!walk->is_exact || !hp_register_is_known(&walk->registers, link) ||
        (saved == HP_SAVED_SAME && !walk->machine->has_link_register))
        return false;
    *ret_address = walk->registers.value[link];
    return true;
}

/* Moves on to the caller. False: it is invalid. */
static bool enter_caller(struct walk *walk, struct hp_registers *caller, uint64_t cfa, uint64_t address)
{
    const uint64_t sp = walk->registers.value[walk->machine->sp];
    /* A leaf function has nothing on the stack. */
    const bool may_stay = walk->is_exact && walk->machine->has_link_register;
    if (cfa < sp || (cfa == sp && !may_stay))
        return false;
    hp_register_set(caller, walk->machine->sp, cfa);
    hp_register_set(caller, walk->machine->pc, address);
    walk->registers = *caller;
    walk->is_exact = false;
    return true;
}

static bool step_by_table(struct walk *walk, const struct hp_unwind_table *table, const struct hp_unwind_rule *rule,
                          enum hp_unwind_end *ret_end)
{
    struct hp_registers caller;
    uint64_t cfa, address;
    caller.known = 0;
    walk->is_missing = false;
    if (!compute_cfa(walk, table, rule, &cfa)) {
        *ret_end = walk->is_missing                                     ? HP_UNWIND_CUT
                   : rule->saved[HP_SAVED_RETURN] == HP_SAVED_UNDEFINED ? HP_UNWIND_START
                                                                        : HP_UNWIND_UNKNOWN;
        return false;
    }
    if (!find_return(walk, rule, cfa, &address, ret_end))
        return false;
    for (unsigned at = 0; at < walk->machine->saved_count; at++)
        if (at != HP_SAVED_RETURN)
            restore_saved(walk, rule, cfa, &caller, at);
    *ret_end = HP_UNWIND_BROKEN;
    return enter_caller(walk, &caller, cfa, address);
}

/* The caller's frame pointer and the return address are adjacent. */
static bool step_by_frame_pointer(struct walk *walk, enum hp_unwind_end *ret_end)
{
    const unsigned fp = walk->machine->fp;
    const uint64_t frame = walk->registers.value[fp];
    struct hp_registers caller;
    uint64_t next, address;
    caller.known = 0;
    *ret_end = HP_UNWIND_UNKNOWN;
    if (!hp_register_is_known(&walk->registers, fp))
        return false;
    if (frame == 0) {
        *ret_end = HP_UNWIND_START;
        return false;
    }
    if (frame % 8 != 0 || frame < walk->registers.value[walk->machine->sp] || frame > UINT64_MAX - 16 ||
        !load(walk, frame, &next) || !load(walk, frame + 8, &address))
        return false;
    hp_register_set(&caller, fp, next);
    return enter_caller(walk, &caller, frame + 16, address);
}

/* All registers are as they were when the signal arrived. */
static bool step_by_signal(struct walk *walk, enum hp_unwind_end *ret_end)
{
    const uint64_t sp = walk->registers.value[walk->machine->sp];
    struct hp_registers interrupted;
    interrupted.known = 0;
    for (unsigned number = 0; number < HP_REGISTERS; number++) {
        uint64_t value;
        if (walk->machine->interrupted[number] < 0)
            continue;
        if (!load(walk, sp + (uint64_t)walk->machine->interrupted[number], &value)) {
            *ret_end = HP_UNWIND_CUT;
            return false;
        }
        hp_register_set(&interrupted, number, value);
    }
    walk->registers = interrupted;
    walk->is_exact = true;
    return true;
}

/*
 * No call comes before the first byte of a mapping, so what returns there is a handler: emulators have a page for
 * them, which is in no file.
 */
static bool is_signal_page(const struct walk *walk, uint64_t pc)
{
    const struct hp_mapping *mapping = walk->is_exact ? NULL : hp_space_find(walk->space, pc);
    return mapping != NULL && mapping->start == pc && mapping->image == NULL;
}

/* --------------------------------------------------------------------------------------------- searching */

/*
 * If the register for the CFA is unknown, the return address is still on the stack: a word after a call of this
 * function; or, for calls with an unknown target, a word from which the stack can be unwound to its start.
 */
enum likeness { NO_CALL, OTHER_CALL, ANY_CALL, ITS_CALL };

static enum likeness likeness_of(struct walk *walk, struct hp_unwind_table *table, uint64_t address)
{
    uint64_t target;
    const enum hp_call_kind kind = hp_call_before(walk->space, address, &target);
    if (kind != HP_CALL_DIRECT)
        return kind == HP_CALL_NONE ? NO_CALL : ANY_CALL;
    const uint64_t pc = walk->registers.value[walk->machine->pc];
    const struct hp_mapping *here = hp_space_find(walk->space, pc), *there = hp_space_find(walk->space, target);
    if (here == NULL || there == NULL)
        return NO_CALL;
    if (here->image != there->image) /* no direct call goes there, except through a PLT stub */
        return ANY_CALL;
    return hp_unwind_table_is_start(table, target + there->bias, pc - !walk->is_exact + here->bias) ? ITS_CALL
                                                                                                    : OTHER_CALL;
}

static enum hp_frame_how step(struct walk *walk, enum hp_unwind_end *ret_end);
static bool is_caller(struct walk *walk, enum hp_unwind_end *ret_end);

/*
 * With the CFA that would result. `is_declared`: a function says that it is the start, as those of glibc do. A
 * return address of 0 is one as well, but any word that is 0 looks like it.
 */
static bool reaches_start(const struct walk *walk, unsigned number, uint64_t value, bool is_declared)
{
    struct walk trial = *walk;
    enum hp_unwind_end end = HP_UNWIND_BROKEN;
    hp_register_set(&trial.registers, number, value);
    for (unsigned steps = 0; steps < MOST_STEPS; steps++)
        if (step(&trial, &end) == HP_FRAME_FIRST || !is_caller(&trial, &end))
            break;
    return end == HP_UNWIND_START && (!is_declared || trial.registers.value[walk->machine->pc] != 0);
}

/* Tries all return addresses of one kind. */
static bool search_for(struct walk *walk, struct hp_unwind_table *table, const struct hp_unwind_rule *rule,
                       enum likeness likeness, bool is_declared)
{
    const uint64_t sp = walk->registers.value[walk->machine->sp];
    unsigned trials = 0;
    uint64_t word;
    for (uint64_t at = sp; at < sp + UINT64_C(8) * MOST_WORDS && trials < MOST_TRIALS && load(walk, at, &word);
         at += 8) {
        if (hp_space_find(walk->space, word - 1) == NULL || likeness_of(walk, table, word) != likeness)
            continue;
        const uint64_t cfa = at - (uint64_t)(int64_t)rule->saved[HP_SAVED_RETURN];
        const uint64_t value = cfa - (uint64_t)(int64_t)rule->cfa_offset;
        trials++;
        if (!reaches_start(walk, rule->cfa_register, value, is_declared))
            continue;
        hp_register_set(&walk->registers, rule->cfa_register, value);
        return true;
    }
    return false;
}

/* Finds the register that the rule needs. */
static bool recover(struct walk *walk, struct hp_unwind_table *table, const struct hp_unwind_rule *rule)
{
    const bool is_needed = rule->cfa_kind == HP_CFA_REGISTER &&
                           !hp_register_is_known(&walk->registers, rule->cfa_register) &&
                           rule->saved[HP_SAVED_RETURN] > HP_SAVED_ELSEWHERE;
    if (!is_needed || walk->searches == 0 || walk->machine->has_link_register)
        return false;
    walk->searches--;
    for (enum likeness likeness = ITS_CALL; likeness > NO_CALL; likeness--)
        if (search_for(walk, table, rule, likeness, true))
            return true;
    for (enum likeness likeness = ITS_CALL; likeness > NO_CALL; likeness--)
        if (search_for(walk, table, rule, likeness, false))
            return true;
    return false;
}

/* Whether the saved frame pointer leads up the stack, with a return address after it. */
static bool is_frame(struct walk *walk, uint64_t at)
{
    uint64_t next, address, target;
    return load(walk, at, &next) && (next == 0 || next > at) && load(walk, at + 8, &address) &&
           hp_call_before(walk->space, address, &target) != HP_CALL_NONE;
}

/*
 * The same without any call frame information, not even starts of functions: the innermost frame that leads to the
 * start.
 */
static bool recover_pointer(struct walk *walk)
{
    const unsigned fp = walk->machine->fp;
    const uint64_t sp = walk->registers.value[walk->machine->sp];
    unsigned trials = 0;
    if (hp_register_is_known(&walk->registers, fp) || walk->searches == 0 || walk->machine->has_link_register)
        return false;
    walk->searches--;
    for (uint64_t at = sp; at < sp + UINT64_C(8) * MOST_WORDS && trials < MOST_TRIALS; at += 8) {
        if (!is_frame(walk, at))
            continue;
        trials++;
        if (!reaches_start(walk, fp, at, false))
            continue;
        hp_register_set(&walk->registers, fp, at);
        return true;
    }
    return false;
}

/* ---------------------------------------------------------------------------------------------- assembly */

/*
 * The innermost function may be written in assembly, without call frame information and without a frame pointer.
 * Its return address is then searched, too: it is the word at the stack pointer, if that is after a call of this
 * function; or a word after a call, from which the stack can be unwound to its start.
 */

#define MOST_WORDS_OF_ASSEMBLY 256u     /* of its frame */
#define LARGEST_ASSEMBLY UINT64_C(4096) /* from its start to the place in it */

/* As if a function returned to the word at that address. */
static bool return_from(struct walk *walk, uint64_t at, uint64_t word)
{
    struct hp_registers caller = walk->registers;
    return enter_caller(walk, &caller, at + 8, word);
}

static bool walk_reaches_start(const struct walk *from)
{
    struct walk trial = *from;
    enum hp_unwind_end end = HP_UNWIND_BROKEN;
    trial.is_trial = true;
    for (unsigned steps = 0; steps < MOST_STEPS; steps++)
        if (step(&trial, &end) == HP_FRAME_FIRST || !is_caller(&trial, &end))
            break;
    return end == HP_UNWIND_START;
}

/* The code that was called before the word, if it is just before the pc and in the same file; 0: it is not. */
static uint64_t called_here(const struct walk *walk, uint64_t word)
{
    uint64_t target;
    const uint64_t pc = walk->registers.value[walk->machine->pc];
    if (hp_call_before(walk->space, word, &target) != HP_CALL_DIRECT || target > pc ||
        pc - target > LARGEST_ASSEMBLY)
        return 0;
    const struct hp_mapping *here = hp_space_find(walk->space, pc), *there = hp_space_find(walk->space, target);
    return here != NULL && there != NULL && here->image == there->image ? target : 0;
}

/* Where this function begins, as far as calls show: the called code that is nearest to the pc. 0: unknown. */
static uint64_t start_of_assembly(struct walk *walk)
{
    const uint64_t sp = walk->registers.value[walk->machine->sp];
    uint64_t start = 0, word;
    for (uint64_t at = sp; at < sp + UINT64_C(8) * MOST_WORDS_OF_ASSEMBLY && load(walk, at, &word); at += 8) {
        const uint64_t target = called_here(walk, word);
        start = target > start ? target : start;
    }
    return start;
}

/* Registers that a function changed may be wrong; the frame pointer is searched, too, if its caller is known. */
static bool returns_from(struct walk *walk, uint64_t at, uint64_t word, bool is_certain)
{
    const struct walk here = *walk;
    if (return_from(walk, at, word) && walk_reaches_start(walk))
        return true;
    *walk = here;
    walk->registers.known &= ~(UINT64_C(1) << walk->machine->fp);
    if (is_certain && return_from(walk, at, word) && walk_reaches_start(walk))
        return true;
    *walk = here;
    return false;
}

/* The innermost return address from which the start is reached: after a call of this function; 0: after any. */
static bool search_return(struct walk *walk, uint64_t start)
{
    const uint64_t sp = walk->registers.value[walk->machine->sp];
    unsigned trials = 0;
    uint64_t word, target;
    for (uint64_t at = sp; at < sp + UINT64_C(8) * MOST_WORDS_OF_ASSEMBLY && trials < MOST_TRIALS; at += 8) {
        if (!load(walk, at, &word) || hp_call_before(walk->space, word, &target) == HP_CALL_NONE ||
            (start != 0 && called_here(walk, word) != start))
            continue;
        trials++;
        if (returns_from(walk, at, word, start != 0))
            return true;
    }
    return false;
}

static bool step_out_of_assembly(struct walk *walk)
{
    const uint64_t sp = walk->registers.value[walk->machine->sp];
    uint64_t word;
    if (load(walk, sp, &word) && called_here(walk, word) != 0)
        return return_from(walk, sp, word);
    if (walk->registers.value[walk->machine->fp] != 0 && walk_reaches_start(walk))
        return false; /* by frame pointers */
    const uint64_t start = start_of_assembly(walk);
    return (start != 0 && search_return(walk, start)) || search_return(walk, 0);
}

static bool may_be_assembly(const struct walk *walk, const struct hp_unwind_rule *rule)
{
    return rule != NULL && walk->is_exact && !walk->is_trial && !walk->machine->has_link_register;
}

/* Moves on to the caller. Returns how it was found, or HP_FRAME_FIRST: it was not. */
static enum hp_frame_how step(struct walk *walk, enum hp_unwind_end *ret_end)
{
    const uint64_t pc = walk->registers.value[walk->machine->pc];
    struct hp_unwind_table *table = NULL;
    const struct hp_unwind_rule *rule = find_rule(walk, walk->is_exact ? pc : pc - 1, &table);
    *ret_end = HP_UNWIND_BROKEN;
    if (rule != NULL ? rule->cfa_kind == HP_CFA_SIGNAL : is_signal_page(walk, pc))
        return step_by_signal(walk, ret_end) ? HP_FRAME_INTERRUPTED : HP_FRAME_FIRST;
    if (rule != NULL && rule->cfa_kind != HP_CFA_NONE) {
        const enum hp_frame_how how = recover(walk, table, rule) ? HP_FRAME_RECOVERED : HP_FRAME_TABLE;
        return step_by_table(walk, table, rule, ret_end) ? how : HP_FRAME_FIRST;
    }
    if (may_be_assembly(walk, rule) && step_out_of_assembly(walk))
        return HP_FRAME_RECOVERED;
    const enum hp_frame_how how = recover_pointer(walk) ? HP_FRAME_RECOVERED : HP_FRAME_POINTER;
    return step_by_frame_pointer(walk, ret_end) ? how : HP_FRAME_FIRST;
}

/* --------------------------------------------------------------------------------------------- the walk */

/*
 * All bits of code addresses: the bits above are the pointer authentication code of a return address, on machines
 * that have it.
 */
static uint64_t mask_of(const struct hp_space *space)
{
    return space->top == 0 ? UINT64_MAX : UINT64_MAX >> __builtin_clzll(space->top);
}

static void add_frame(struct hp_frame *frame, const struct walk *walk, enum hp_frame_how how)
{
    *frame = (struct hp_frame){walk->registers.value[walk->machine->pc], (uint8_t)how, walk->is_exact,
                               walk->registers.value[walk->machine->sp]};
}

/* A caller must be in code: threads begin with a return address of 0. */
static bool is_caller(struct walk *walk, enum hp_unwind_end *ret_end)
{
    uint64_t *pc = &walk->registers.value[walk->machine->pc];
    if (walk->machine->has_link_register)
        *pc &= walk->code_mask;
    *ret_end = *pc == 0 ? HP_UNWIND_START : HP_UNWIND_BROKEN;
    return *pc != 0 && (hp_space_find(walk->space, *pc - !walk->is_exact) != NULL || is_signal_page(walk, *pc));
}

size_t hp_unwind(struct hp_unwinder *unwinder, struct hp_space *space, const struct hp_machine *machine,
                 const struct hp_registers *registers, const struct hp_stack_memory *memory,
                 struct hp_frame *frames, size_t most, enum hp_unwind_end *ret_end)
{
    struct walk walk = {.unwinder = unwinder,
                        .space = space,
                        .machine = machine,
                        .memory = memory,
                        .registers = *registers,
                        .is_exact = true,
                        .searches = MOST_SEARCHES,
                        .code_mask = mask_of(space)};
    size_t count = 0;
    enum hp_frame_how how = HP_FRAME_FIRST;
    *ret_end = HP_UNWIND_FULL;
    while (count < most) {
        add_frame(&frames[count++], &walk, how);
        how = step(&walk, ret_end);
        if (how == HP_FRAME_FIRST || !is_caller(&walk, ret_end))
            break;
        *ret_end = HP_UNWIND_FULL;
    }
    return count;
}
