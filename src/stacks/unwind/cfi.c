/* Call frame information, and the rules that it gives. SPDX-License-Identifier: MIT */
#include "cfi.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

/* ------------------------------------------------------------------------------------------- the distinct rules */

/* Found by hash. */

#define MOST_RULES 65536u
#define MOST_EXPRESSION_BYTES (1u << 16)

/* ------------------------------------------------------------------------------------------------ rules */

static uint32_t hash_of(const struct hp_rule_set *set, const struct hp_unwind_rule *rule)
{
    uint64_t words[sizeof *rule / 8];
    uint32_t hash = 0;
    memcpy(words, rule, sizeof words);
    for (size_t at = 0; at < sizeof words / 8; at++)
        hash = hp_hash_with(&set->index, hash, words[at]);
    return hash;
}
_Static_assert(sizeof(struct hp_unwind_rule) % 8 == 0, "compared and hashed as bytes");

static bool add_block(struct hp_rule_set *set)
{
    const bool has_room = HP_MAKE_ROOM(set->blocks, set->block_count + 1, set->block_room);
    struct hp_unwind_rule *block = has_room ? malloc(HP_RULE_BLOCK * sizeof *block) : NULL;
    if (block == NULL)
        return false;
    set->blocks[set->block_count++] = block;
    return true;
}

static bool add_rule(struct hp_rule_set *set, const struct hp_unwind_rule *rule)
{
    if (set->count == set->block_count * HP_RULE_BLOCK && !add_block(set))
        return false;
    set->blocks[set->count / HP_RULE_BLOCK][set->count % HP_RULE_BLOCK] = *rule;
    set->count++;
    return true;
}

bool hp_rule_set_begin(struct hp_rule_set *set)
{
    return add_rule(set, &(struct hp_unwind_rule){.cfa_kind = HP_CFA_NONE});
}

void hp_rule_set_free(struct hp_rule_set *set)
{
    for (size_t at = 0; at < set->block_count; at++)
        free(set->blocks[at]);
    free(set->blocks);
    hp_hash_free(&set->index);
    free(set->expressions);
    *set = (struct hp_rule_set){.count = 0};
}

uint16_t hp_rule_set_number(struct hp_rule_set *set, const struct hp_unwind_rule *rule)
{
    if (rule->cfa_kind == HP_CFA_NONE)
        return 0;
    if (!hp_hash_make_room(&set->index))
        return 0;
    const uint32_t hash = hash_of(set, rule);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(&set->index, hash, &slot)) != 0;)
        if (memcmp(hp_rule_set_at(set, number - 1), rule, sizeof *rule) == 0)
            return (uint16_t)(number - 1);
    if (set->count >= MOST_RULES || !add_rule(set, rule))
        return 0;
    hp_hash_put(&set->index, slot, hash, (uint32_t)set->count);
    return (uint16_t)(set->count - 1);
}

/* ------------------------------------------------------------------------------------------ expressions */

/* There are few different ones. */
int32_t hp_rule_set_add_expression(struct hp_rule_set *set, const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < set->expressions_size;) {
        const size_t length = set->expressions[at] | (size_t)set->expressions[at + 1] << 8;
        if (length == size && memcmp(set->expressions + at + 2, bytes, size) == 0)
            return (int32_t)at;
        at += 2 + length;
    }
    if (size >= MOST_EXPRESSION_BYTES || set->expressions_size + 2 + size > MOST_EXPRESSION_BYTES)
        return -1;
    const size_t at = set->expressions_size;
    if (!HP_MAKE_ROOM(set->expressions, at + 2 + size, set->expressions_room))
        return -1;
    set->expressions_size += 2 + size;
    set->expressions[at] = (uint8_t)size;
    set->expressions[at + 1] = (uint8_t)(size >> 8);
    if (size > 0)
        memcpy(set->expressions + at + 2, bytes, size);
    return (int32_t)at;
}

const uint8_t *hp_rule_set_expression(const struct hp_rule_set *set, int32_t at, size_t *ret_size)
{
    const uint8_t *length = set->expressions + at;
    *ret_size = length[0] | (size_t)length[1] << 8;
    return length + 2;
}

/* --------------------------------------------------------------------------------------- call frame information */

/*
 * Call frame information. The section is a sequence of entries: common ones (CIE), which many functions share, and
 * one per function (FDE), which refers to a CIE.
 */

#define MOST_REMEMBERED 32u
#define MOST_LETTERS 16u
/* Executions per byte, on average: a forged file could otherwise keep us busy forever. */
#define SHARED 64u

/* How addresses are encoded. */
enum {
    ENCODED_FORMAT = 0x0f,
    ENCODED_SIGNED_4 = 0x0b,
    ENCODED_RELATIVE = 0x70,
    ENCODED_FROM_HERE = 0x10,
    ENCODED_INDIRECT = 0x80,
    ENCODED_OMITTED = 0xff
};

/* A CIE: what its functions have in common. */
struct common {
    uint64_t code_factor;
    int64_t data_factor;
    uint64_t return_column;
    uint8_t encoding;
    bool has_data; /* FDEs have augmentation data, with its length first */
    bool is_signal;
    struct hp_bytes program;
};

struct entry {
    const uint8_t *from;   /* its length field */
    struct hp_bytes bytes; /* after that */
    const uint8_t *id_at;
    uint64_t id; /* as stored */
    unsigned offset_size;
};

/* A function's FDE, before its program. */
struct head {
    uint64_t start, length;
};

/* State of an execution. */
struct execution {
    struct hp_cfi *cfi;
    const struct hp_cfi_visitor *visitor;
    const struct common *common;
    struct hp_unwind_rule rule, initial, remembered[MOST_REMEMBERED];
    unsigned remembered_count;
    uint64_t place, end;
    bool has_changed; /* of the rule, since it was last reported */
    bool is_stopped;  /* by the visitor */
    bool is_bad;
};

/* --------------------------------------------------------------------------------------------- entries */

static uint64_t linked_of(const struct hp_cfi *cfi, const uint8_t *at)
{
    return cfi->linked + (uint64_t)(at - cfi->bytes);
}

static uint64_t read_unusual(struct hp_bytes *bytes, uint8_t encoding)
{
    switch (encoding & ENCODED_FORMAT) {
    case 0x00:
    case 0x04:
    case 0x0c:
        return hp_bytes_number(bytes, 8);
    case 0x01:
        return hp_bytes_uleb(bytes);
    case 0x02:
        return hp_bytes_number(bytes, 2);
    case 0x03:
        return hp_bytes_number(bytes, 4);
    case 0x09:
        return (uint64_t)hp_bytes_sleb(bytes);
    case 0x0a:
        return (uint64_t)hp_bytes_signed(bytes, 2);
    default:
        bytes->is_short = true;
        return 0;
    }
}

/* Nearly all are signed numbers of four bytes. */
static inline uint64_t read_address(const struct hp_cfi *cfi, struct hp_bytes *bytes, uint8_t encoding,
                                    bool is_length)
{
    const uint64_t here = linked_of(cfi, bytes->at);
    const uint64_t value = (encoding & ENCODED_FORMAT) == ENCODED_SIGNED_4 ? (uint64_t)hp_bytes_signed(bytes, 4)
                                                                           : read_unusual(bytes, encoding);
    return is_length || (encoding & ENCODED_RELATIVE) != ENCODED_FROM_HERE ? value : value + here;
}

/* Addresses relative to something that is not in the file are not read. */
static bool is_readable(uint8_t encoding)
{
    const unsigned relative = encoding & ENCODED_RELATIVE;
    return encoding != ENCODED_OMITTED && !(encoding & ENCODED_INDIRECT) &&
           (relative == 0 || relative == ENCODED_FROM_HERE);
}

/*
 * The next entry. False: there are no more. An entry of length 0 ends the .eh_frame of one object; the linker may
 * have put more after it.
 */
static bool next_entry(const struct hp_cfi *cfi, struct hp_bytes *rest, struct entry *ret_entry)
{
    uint64_t length;
    do {
        if (hp_bytes_left(rest) < 4)
            return false;
        ret_entry->from = rest->at;
        length = hp_bytes_number(rest, 4);
    } while (length == 0);
    const bool is_long = length == 0xffffffff;
    if (is_long)
        length = hp_bytes_number(rest, 8);
    const uint8_t *at;
    if (rest->is_short || !hp_bytes_take(rest, length <= SIZE_MAX ? (size_t)length : SIZE_MAX, &at))
        return false;
    ret_entry->bytes = (struct hp_bytes){.at = at, .end = at + length};
    ret_entry->id_at = at;
    ret_entry->offset_size = is_long && cfi->is_debug ? 8 : 4;
    ret_entry->id = hp_bytes_number(&ret_entry->bytes, ret_entry->offset_size);
    return true;
}

static bool is_common(const struct hp_cfi *cfi, const struct entry *entry)
{
    return !cfi->is_debug ? entry->id == 0
                          : entry->id == (entry->offset_size == 8 ? UINT64_MAX : UINT64_C(0xffffffff));
}

/* The start of a function's CIE, at its length. */
static const uint8_t *common_of(const struct hp_cfi *cfi, const struct entry *entry)
{
    const uint64_t here = (uint64_t)(entry->id_at - cfi->bytes);
    const uint64_t at = cfi->is_debug ? entry->id : here - entry->id;
    return at < cfi->size && (cfi->is_debug || entry->id <= here) ? cfi->bytes + at : NULL;
}

/* "zPLRSBG": one letter for each thing that follows. */
static bool read_augmentation(const struct hp_cfi *cfi, struct hp_bytes *bytes, const char *letters,
                              struct common *common)
{
    if (letters[0] != 'z')
        return letters[0] == '\0';
    const uint64_t length = hp_bytes_uleb(bytes);
    const uint8_t *at;
    if (!hp_bytes_take(bytes, length <= SIZE_MAX ? (size_t)length : SIZE_MAX, &at))
        return false;
    struct hp_bytes data = {.at = at, .end = at + length};
    common->has_data = true;
    for (letters++; *letters != '\0'; letters++)
        if (*letters == 'R')
            common->encoding = hp_bytes_u8(&data);
        else if (*letters == 'L')
            hp_bytes_u8(&data);
        else if (*letters == 'P')
            read_address(cfi, &data, hp_bytes_u8(&data) & 0x7f, false);
        else if (*letters == 'S')
            common->is_signal = true;
        else if (*letters != 'B' &&
                 *letters != 'G') /* unknown: what follows may be anything, but its length is known */
            break;
    return true;
}

static bool read_common(const struct hp_cfi *cfi, const uint8_t *from, struct common *ret_common)
{
    struct hp_bytes rest = {.at = from, .end = cfi->bytes + cfi->size};
    struct entry entry;
    const uint8_t *letters, *end;
    *ret_common = (struct common){.encoding = 0};
    if (!next_entry(cfi, &rest, &entry) || !is_common(cfi, &entry))
        return false;
    struct hp_bytes *bytes = &entry.bytes;
    const uint8_t version = hp_bytes_u8(bytes);
    end = memchr(bytes->at, 0, hp_bytes_left(bytes) < MOST_LETTERS ? hp_bytes_left(bytes) : MOST_LETTERS);
    if ((version != 1 && version != 3 && version != 4) || end == NULL)
        return false;
    letters = bytes->at;
    bytes->at = end + 1;
    if (version == 4 && hp_bytes_number(bytes, 2) != 8) /* the size of addresses, 8, and of segment selectors, 0 */
        return false;
    ret_common->code_factor = hp_bytes_uleb(bytes);
    ret_common->data_factor = hp_bytes_sleb(bytes);
    ret_common->return_column = version == 1 ? hp_bytes_u8(bytes) : hp_bytes_uleb(bytes);
    if (!read_augmentation(cfi, bytes, (const char *)letters, ret_common) || bytes->is_short)
        return false;
    ret_common->program = *bytes;
    return is_readable(ret_common->encoding) &&
           hp_machine_saved_index(cfi->machine, ret_common->return_column) == HP_SAVED_RETURN;
}

/* ----------------------------------------------------------------------------------------------- programs */

static int32_t distance_of(int64_t distance)
{
    return distance > HP_SAVED_FURTHEST || distance < -HP_SAVED_FURTHEST ? HP_SAVED_UNDEFINED : (int32_t)distance;
}

static void tell_row(struct execution *run)
{
    if (run->has_changed && run->place < run->end && !run->is_bad)
        run->is_stopped |= !run->visitor->row(run->visitor->context, run->place, &run->rule);
    run->has_changed = false;
}

static void advance(struct execution *run, uint64_t distance)
{
    if (distance == 0)
        return;
    tell_row(run);
    if (distance > run->end - run->place) /* beyond the end of the function: stop there */
        run->place = run->end;
    else
        run->place += distance;
}

static void set_saved(struct execution *run, uint64_t number, int32_t distance)
{
    const unsigned at = hp_machine_saved_index(run->cfi->machine, number);
    if (at == HP_SAVED)
        return;
    run->has_changed |= run->rule.saved[at] != distance;
    run->rule.saved[at] = distance;
}

static void set_elsewhere(struct execution *run, uint64_t number, uint64_t other)
{
    const bool is_return = number == run->common->return_column && other < HP_REGISTERS;
    set_saved(run, number, is_return ? HP_SAVED_ELSEWHERE : HP_SAVED_UNDEFINED);
    if (is_return)
        run->rule.other_register = (uint8_t)other;
}

static void restore(struct execution *run, uint64_t number)
{
    const unsigned at = hp_machine_saved_index(run->cfi->machine, number);
    if (at < HP_SAVED)
        set_saved(run, number, run->initial.saved[at]);
}

static void set_cfa(struct execution *run, uint64_t number, int64_t offset)
{
    if (number >= HP_REGISTERS || offset > HP_SAVED_FURTHEST || offset < -HP_SAVED_FURTHEST) {
        run->is_bad = true;
        return;
    }
    run->rule.cfa_kind = HP_CFA_REGISTER;
    run->rule.cfa_register = (uint8_t)number;
    run->rule.cfa_offset = (int32_t)offset;
    run->has_changed = true;
}

/* "rsp + 8 + ((rip & 15) >= n) * 8", as linkers write it for their stubs. */
static bool is_plt(const uint8_t *bytes, size_t size, int32_t *ret_from)
{
    static const uint8_t before[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a}, behind[] = {0x2a, 0x33, 0x24, 0x22};
    if (size != sizeof before + 1 + sizeof behind || memcmp(bytes, before, sizeof before) != 0 ||
        memcmp(bytes + sizeof before + 1, behind, sizeof behind) != 0)
        return false;
    *ret_from = bytes[sizeof before] - 0x30;
    return *ret_from >= 0 && *ret_from < 16;
}

static void set_cfa_expression(struct execution *run, struct hp_bytes *program)
{
    const uint64_t size = hp_bytes_uleb(program);
    const uint8_t *bytes;
    if (!hp_bytes_take(program, size <= SIZE_MAX ? (size_t)size : SIZE_MAX, &bytes))
        return;
    run->has_changed = true;
    run->rule.cfa_register = 0;
    if (is_plt(bytes, (size_t)size, &run->rule.cfa_offset)) {
        run->rule.cfa_kind = HP_CFA_PLT;
        return;
    }
    run->rule.cfa_offset = run->visitor->expression(run->visitor->context, bytes, (size_t)size);
    run->rule.cfa_kind = run->rule.cfa_offset >= 0 ? HP_CFA_EXPRESSION : HP_CFA_NONE;
}

static void remember(struct execution *run)
{
    if (run->remembered_count < MOST_REMEMBERED)
        run->remembered[run->remembered_count++] = run->rule;
    else
        run->is_bad = true;
}

static void recall(struct execution *run)
{
    if (run->remembered_count == 0) {
        run->is_bad = true;
        return;
    }
    run->rule = run->remembered[--run->remembered_count];
    run->has_changed = true;
}

/* Expressions for saved registers are skipped: only signal frames use them, and those are handled separately. */
static void skip_expression(struct execution *run, struct hp_bytes *program)
{
    const uint8_t *bytes;
    const uint64_t number = hp_bytes_uleb(program), size = hp_bytes_uleb(program);
    hp_bytes_take(program, size <= SIZE_MAX ? (size_t)size : SIZE_MAX, &bytes);
    set_saved(run, number, HP_SAVED_UNDEFINED);
}

static int64_t scaled(const struct execution *run, int64_t number)
{
    return (int64_t)((uint64_t)number * (uint64_t)run->common->data_factor);
}

static void set_offset(struct execution *run, uint64_t number, int64_t factored)
{
    set_saved(run, number, distance_of(scaled(run, factored)));
}

static void execute_one(struct execution *run, struct hp_bytes *program)
{
    const uint64_t factor = run->common->code_factor;
    const uint8_t code = hp_bytes_u8(program), low = code & 0x3f;
    uint64_t number;
    switch (code & 0xc0) {
    case 0x40:
        advance(run, low * factor);
        return;
    case 0x80:
        set_offset(run, low, (int64_t)hp_bytes_uleb(program));
        return;
    case 0xc0:
        restore(run, low);
        return;
    default:
        break;
    }
    switch (code) {
    case 0x00:
        break; /* nop */
    case 0x01: /* set_loc */
        number = read_address(run->cfi, program, run->common->encoding, false);
        if (number < run->place)
            run->is_bad = true;
        else
            advance(run, number - run->place);
        break;
    case 0x02:
        advance(run, hp_bytes_u8(program) * factor);
        break;
    case 0x03:
        advance(run, hp_bytes_number(program, 2) * factor);
        break;
    case 0x04:
        advance(run, hp_bytes_number(program, 4) * factor);
        break;
    case 0x05:
        number = hp_bytes_uleb(program);
        set_offset(run, number, (int64_t)hp_bytes_uleb(program));
        break;
    case 0x06:
        restore(run, hp_bytes_uleb(program));
        break;
    case 0x07:
        set_saved(run, hp_bytes_uleb(program), HP_SAVED_UNDEFINED);
        break;
    case 0x08:
        set_saved(run, hp_bytes_uleb(program), HP_SAVED_SAME);
        break;
    case 0x09:
        number = hp_bytes_uleb(program);
        set_elsewhere(run, number, hp_bytes_uleb(program));
        break;
    case 0x0a:
        remember(run);
        break;
    case 0x0b:
        recall(run);
        break;
    case 0x0c:
        number = hp_bytes_uleb(program);
        set_cfa(run, number, (int64_t)hp_bytes_uleb(program));
        break;
    case 0x0d:
        set_cfa(run, hp_bytes_uleb(program), run->rule.cfa_offset);
        break;
    case 0x0e:
        set_cfa(run, run->rule.cfa_register, (int64_t)hp_bytes_uleb(program));
        break;
    case 0x0f:
        set_cfa_expression(run, program);
        break;
    case 0x10:
    case 0x16:
        skip_expression(run, program);
        break;
    case 0x11:
        number = hp_bytes_uleb(program);
        set_offset(run, number, hp_bytes_sleb(program));
        break;
    case 0x12:
        number = hp_bytes_uleb(program);
        set_cfa(run, number, scaled(run, hp_bytes_sleb(program)));
        break;
    case 0x13:
        set_cfa(run, run->rule.cfa_register, scaled(run, hp_bytes_sleb(program)));
        break;
    case 0x14: /* val_offset and val_offset_sf: the value itself is computed, not saved */
        set_saved(run, hp_bytes_uleb(program), HP_SAVED_UNDEFINED);
        hp_bytes_uleb(program);
        break;
    case 0x15:
        set_saved(run, hp_bytes_uleb(program), HP_SAVED_UNDEFINED);
        hp_bytes_sleb(program);
        break;
    case 0x2d:
        break; /* return addresses are signed from here on: the signature is always stripped */
    case 0x2e:
        hp_bytes_uleb(program);
        break; /* GNU_args_size */
    case 0x2f:
        number = hp_bytes_uleb(program);
        set_offset(run, number, (int64_t)(0 - hp_bytes_uleb(program)));
        break;
    default:
        run->is_bad = true;
        break;
    }
}

/* Functions may share the CIE's program, so the total work is limited. */
static void execute(struct execution *run, struct hp_bytes program)
{
    run->cfi->executed += hp_bytes_left(&program);
    run->is_bad |= run->cfi->executed > SHARED * (uint64_t)run->cfi->size;
    while (program.at < program.end && !run->is_bad && !run->is_stopped) {
        execute_one(run, &program);
        run->is_bad |= program.is_short;
    }
}

/* ---------------------------------------------------------------------------------------------- functions */

/* False: it cannot be used. */
static bool read_head(const struct hp_cfi *cfi, const struct common *common, struct entry *entry,
                      struct head *ret_head)
{
    const uint64_t start = read_address(cfi, &entry->bytes, common->encoding, false);
    const uint64_t length = read_address(cfi, &entry->bytes, common->encoding, true);
    *ret_head = (struct head){start, length};
    return !entry->bytes.is_short && length != 0 && length <= UINT64_MAX - start && start != 0;
}

static bool skip_data(const struct common *common, struct hp_bytes *bytes)
{
    const uint8_t *data;
    if (!common->has_data)
        return true;
    const uint64_t size = hp_bytes_uleb(bytes);
    return hp_bytes_take(bytes, size <= SIZE_MAX ? (size_t)size : SIZE_MAX, &data);
}

void hp_cfi_list(const struct hp_cfi *cfi, hp_cfi_function *tell, void *context)
{
    struct hp_bytes rest = {.at = cfi->bytes, .end = cfi->bytes + cfi->size};
    const uint8_t *known = NULL; /* functions of one CIE are adjacent */
    struct common common = {.encoding = 0};
    struct entry entry;
    struct head head;
    bool is_good = false;
    while (next_entry(cfi, &rest, &entry)) {
        const uint8_t *from = is_common(cfi, &entry) ? NULL : common_of(cfi, &entry);
        if (from == NULL)
            continue;
        if (from != known)
            is_good = read_common(cfi, from, &common);
        known = from;
        if (is_good && read_head(cfi, &common, &entry, &head) && skip_data(&common, &entry.bytes) &&
            !tell(context, head.start, head.start + head.length, (size_t)(entry.from - cfi->bytes)))
            return;
    }
}

static void begin(struct execution *run)
{
    run->has_changed = true;
    run->rule = (struct hp_unwind_rule){.cfa_kind = HP_CFA_NONE};
    for (unsigned at = 0; at < HP_SAVED; at++)
        run->rule.saved[at] = HP_SAVED_SAME;
}

/* From here on nothing is known of the function. */
static void give_up(struct execution *run)
{
    run->is_bad = false;
    run->has_changed = true;
    run->rule = (struct hp_unwind_rule){.cfa_kind = HP_CFA_NONE};
}

/* A function whose program is invalid has the rows up to there. */
static void execute_function(struct execution *run, const struct head *head, struct hp_bytes program)
{
    const struct common *common = run->common;
    begin(run);
    execute(run, common->program); /* a CIE's program has no location, and does not advance */
    run->initial = run->rule;
    run->has_changed = true;
    run->place = head->start;
    run->end = head->start + head->length;
    if (common->is_signal)
        run->rule.cfa_kind = HP_CFA_SIGNAL;
    else
        execute(run, program);
    if (run->is_bad)
        give_up(run);
    tell_row(run);
}

void hp_cfi_rows(struct hp_cfi *cfi, size_t at, const struct hp_cfi_visitor *visitor)
{
    struct hp_bytes rest = {.at = cfi->bytes + at, .end = cfi->bytes + cfi->size};
    struct common common;
    struct execution run = {.cfi = cfi, .visitor = visitor, .common = &common};
    struct entry entry;
    struct head head;
    if (!next_entry(cfi, &rest, &entry) || is_common(cfi, &entry))
        return;
    const uint8_t *from = common_of(cfi, &entry);
    if (from != NULL && read_common(cfi, from, &common) && read_head(cfi, &common, &entry, &head) &&
        skip_data(&common, &entry.bytes))
        execute_function(&run, &head, entry.bytes);
}
