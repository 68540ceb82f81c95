/* DWARF expressions: a stack machine. SPDX-License-Identifier: MIT */
#include "expression.h"

#include "bytes.h"

#define DEEPEST 32u
#define MOST_STEPS 1000u /* there are jumps, so it might never end */

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
        if (run.is_bad || run.code.is_short || step == MOST_STEPS)
            return false;
    }
    *ret_value = pop(&run);
    return !run.is_bad;
}
