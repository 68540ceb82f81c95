/*
 * Finds the functions that were compiled with -finstrument-functions.
 *
 * A call of the hook goes to the hook itself, if it was linked in; or to a PLT stub, which jumps through a GOT
 * slot; or through the slot directly. Slots are found by the relocations that the dynamic linker applies to them.
 * So the addresses that stand for the hook are collected first, and then searched for in the code of every
 * function.
 *
 * A call of the hook is not enough: code inlined into a function calls it too, with another address, and so does a
 * clone that the compiler made of a function for certain arguments. The hook's argument is the address of the
 * function that it is about, so that must be in the code as well: as a constant, as a relative address, or in a
 * slot.
 *
 * Code of x86-64 is scanned byte by byte, since instruction boundaries are unknown. An operand has 32 bits, so
 * false matches are very rare. SPDX-License-Identifier: MIT
 */
#include "instrumented.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "elf_file.h"
#include "files.h"
#include "growing_array.h"
#include "hash_index.h"
#include "memory.h"

#define HOOK "__cyg_profile_func_enter"
#define MOST_PLACES 32u
/*
 * Limit on functions, names or tables that overlap, on average: a forged file could otherwise keep us busy forever.
 */
#define OVERLAPS 4u
#define LONGEST_TEXT 4095u /* the recorder stores no more */

/* Loaded code, as in the file. */
struct code {
    const unsigned char *bytes;
    uint64_t size;
    uint64_t linked;
};

/* A word in memory that the dynamic linker fills with an address. */
struct slot {
    uint64_t address;
    uint64_t value; /* of a symbol or address in this file; 0: in another */
};

/* A few addresses. */
struct places {
    uint64_t all[MOST_PLACES];
    size_t count;
};

/* A text of the file and its shared copy: a million functions may have one name. */
struct copy {
    const char *from, *text;
};

struct reading {
    int fd;
    struct hp_elf elf;
    struct hp_elf_symbols symbols;
    struct code code[HP_ELF_PARTS];
    size_t code_count;
    uint64_t bytes_left;  /* limit of function bytes to scan */
    uint64_t texts_left;  /* limit of text bytes to copy */
    uint64_t tables_left; /* limit of bytes of relocations and their symbols to read */
    struct copy *copies;
    size_t copy_count, copy_room;
    struct hp_hash_index copy_index; /* by the address of the text */
    struct slot *slots;              /* sorted by address */
    size_t slot_count, slot_room;
    struct places hook_slots; /* slots that lead to the hook */
    struct places hooks;      /* the hook, and stubs that jump there */
};

/* What is found in the code of one function. */
struct finding {
    bool has_call;
    bool has_self;
};

static void add_place(struct places *places, uint64_t address)
{
    if (places->count < MOST_PLACES)
        places->all[places->count++] = address;
}

static bool has_place(const struct places *places, uint64_t address)
{
    for (size_t at = 0; at < places->count; at++)
        if (places->all[at] == address)
            return true;
    return false;
}

static uint32_t load32(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Sign-extends a distance of `bits` bits. */
static uint64_t extended(uint32_t number, unsigned bits)
{
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    return ((uint64_t)number ^ sign) - sign;
}

/* ----------------------------------------------------------------------------------------------- slots */

static int compare_slots(const void *a, const void *b)
{
    const uint64_t x = ((const struct slot *)a)->address, y = ((const struct slot *)b)->address;
    return x == y ? 0 : x < y ? -1 : 1;
}

static uint64_t value_at(const struct reading *reading, uint64_t address)
{
    const struct slot key = {.address = address};
    const struct slot *slot = reading->slot_count == 0 ? NULL
                                                       : bsearch(&key, reading->slots, reading->slot_count,
                                                                 sizeof *reading->slots, compare_slots);
    return slot != NULL ? slot->value : 0;
}

/* Many sections may refer to the same bytes. */
static bool may_read(struct reading *reading, uint64_t size)
{
    if (size > reading->tables_left)
        return false;
    reading->tables_left -= size;
    return true;
}

/* The symbols that relocations name. */
static void read_dynamic(struct reading *reading, size_t index, struct hp_elf_table *dynamic)
{
    ElfW(Shdr) table, strings;
    if (!hp_elf_section(&reading->elf.header, reading->fd, index, &table) || table.sh_type != SHT_DYNSYM ||
        table.sh_entsize != sizeof(ElfW(Sym)) ||
        !hp_elf_section(&reading->elf.header, reading->fd, table.sh_link, &strings) ||
        !may_read(reading, table.sh_size) || !may_read(reading, strings.sh_size))
        return;
    hp_elf_copy_table(dynamic, reading->fd, &table, &strings);
}

/* Without a symbol it is an address in this file: the addend. */
static void add_slot(struct reading *reading, const struct hp_elf_table *dynamic, uint64_t address, uint64_t symbol,
                     uint64_t addend)
{
    struct slot *slot = &reading->slots[reading->slot_count++];
    *slot = (struct slot){address, addend};
    if (symbol == 0 || symbol >= dynamic->count)
        return;
    const ElfW(Sym) *named = &dynamic->symbols[symbol];
    slot->value = named->st_shndx != SHN_UNDEF ? named->st_value + addend : 0;
    if (strcmp(hp_elf_name(dynamic, named), HOOK) == 0)
        add_place(&reading->hook_slots, address);
}

/* Relocations with addends, as on 64-bit machines. */
static bool add_slots(struct reading *reading, const ElfW(Shdr) * section)
{
    const size_t count = section->sh_entsize == sizeof(ElfW(Rela)) ? section->sh_size / sizeof(ElfW(Rela)) : 0;
    struct hp_elf_table dynamic = {.count = 0};
    if (count == 0)
        return true;
    if (!may_read(reading, section->sh_size))
        return false;
    ElfW(Rela) *entries = hp_elf_copy(reading->fd, section->sh_offset, count * sizeof *entries);
    if (entries == NULL)
        return false;
    const bool has_room = HP_MAKE_ROOM(reading->slots, reading->slot_count + count, reading->slot_room);
    if (has_room) {
        read_dynamic(reading, section->sh_link, &dynamic);
        for (size_t at = 0; at < count; at++)
            add_slot(reading, &dynamic, entries[at].r_offset, (uint64_t)entries[at].r_info >> 32,
                     (uint64_t)entries[at].r_addend);
        hp_elf_free_table(&dynamic);
    }
    hp_memory_unmap(entries, count * sizeof *entries);
    return has_room;
}

static bool read_slots(struct reading *reading)
{
    ElfW(Shdr) section;
    for (size_t index = 0; hp_elf_section(&reading->elf.header, reading->fd, index, &section); index++)
        if (section.sh_type == SHT_RELA && (section.sh_flags & SHF_ALLOC) && !add_slots(reading, &section))
            return false;
    if (reading->slot_count > 0)
        qsort(reading->slots, reading->slot_count, sizeof *reading->slots, compare_slots);
    return true;
}

/* ---------------------------------------------------------------------------------------------- x86-64 */

/* The target of an operand relative to the end of the instruction. */
static uint64_t from_here(const unsigned char *operand, uint64_t address_after)
{
    return address_after + extended(load32(operand), 32);
}

/* "[endbr64] [bnd] jmp *slot(%rip)" */
static void find_x86_stubs(struct reading *reading, const struct code *code)
{
    static const unsigned char landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
    for (uint64_t at = 0; at + 6 <= code->size; at++) {
        if (code->bytes[at] != 0xff || code->bytes[at + 1] != 0x25 ||
            !has_place(&reading->hook_slots, from_here(code->bytes + at + 2, code->linked + at + 6)))
            continue;
        uint64_t start = at;
        add_place(&reading->hooks, code->linked + start);
        if (start >= 1 && code->bytes[start - 1] == 0xf2)
            add_place(&reading->hooks, code->linked + --start);
        if (start >= sizeof landing && memcmp(code->bytes + start - sizeof landing, landing, sizeof landing) == 0)
            add_place(&reading->hooks, code->linked + start - sizeof landing);
    }
}

/* "lea distance(%rip), register" and "mov distance(%rip), register" */
static bool is_relative(const unsigned char *at, unsigned char operation)
{
    return (at[0] == 0x48 || at[0] == 0x4c) && at[1] == operation && (at[2] & 0xc7) == 0x05;
}

/* "mov $number, register": all 64 bits, 32 of them, or 32 extended to 64. 0: another instruction. */
static uint64_t constant_at(const unsigned char *at, uint64_t left)
{
    if (left >= 10 && (at[0] & 0xfe) == 0x48 && (at[1] & 0xf8) == 0xb8)
        return load32(at + 2) | (uint64_t)load32(at + 6) << 32;
    if (left >= 5 && (at[0] & 0xf8) == 0xb8)
        return load32(at + 1);
    return left >= 6 && at[0] == 0xc7 && (at[1] & 0xf8) == 0xc0 ? extended(load32(at + 2), 32) : 0;
}

static struct finding look_at_x86(const struct reading *reading, const unsigned char *bytes, uint64_t size,
                                  uint64_t address)
{
    struct finding finding = {false, false};
    for (uint64_t at = 0; at + 5 <= size; at++) {
        const unsigned char *here = bytes + at;
        if (here[0] == 0xe8 && has_place(&reading->hooks, from_here(here + 1, address + at + 5)))
            finding.has_call = true;
        if (at + 6 <= size && here[0] == 0xff && here[1] == 0x15 &&
            has_place(&reading->hook_slots, from_here(here + 2, address + at + 6)))
            finding.has_call = true;
        const uint64_t constant = constant_at(here, size - at);
        finding.has_self |= constant == address;
        finding.has_call |= constant != 0 && has_place(&reading->hooks, constant);
        if (at + 7 > size)
            continue;
        const uint64_t target = from_here(here + 3, address + at + 7);
        if (is_relative(here, 0x8b)) {
            finding.has_call |= has_place(&reading->hook_slots, target);
            finding.has_self |= value_at(reading, target) == address;
        }
        finding.has_self |= is_relative(here, 0x8d) && target == address;
    }
    return finding;
}

/* --------------------------------------------------------------------------------------------- aarch64 */

/* "adrp register, page" and "adr register, address"; the register, or 32 for another instruction. */
static unsigned read_adr(uint32_t word, uint64_t address, uint64_t *ret_value)
{
    const uint32_t distance = (word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);
    if ((word & 0x9f000000) == 0x90000000)
        *ret_value = (address & ~UINT64_C(0xfff)) + (extended(distance, 21) << 12);
    else if ((word & 0x9f000000) == 0x10000000)
        *ret_value = address + extended(distance, 21);
    else
        return 32;
    return word & 31;
}

static bool is_ldr(uint32_t word) { return (word & 0xffc00000) == 0xf9400000; }
static bool is_add(uint32_t word) { return (word & 0xff800000) == 0x91000000; }

static uint64_t ldr_offset(uint32_t word) { return (uint64_t)(word >> 10 & 0xfff) * 8; }
static uint64_t add_number(uint32_t word) { return (uint64_t)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0); }

/* "[bti c] adrp x16, page; ldr x17, [x16, offset]; ..." */
static void find_arm_stubs(struct reading *reading, const struct code *code)
{
    uint64_t page = 0;
    for (uint64_t at = 0; at + 8 <= code->size; at += 4) {
        const uint32_t next = load32(code->bytes + at + 4);
        if (read_adr(load32(code->bytes + at), code->linked + at, &page) != 16 || !is_ldr(next) ||
            (next >> 5 & 31) != 16 || (next & 31) != 17 ||
            !has_place(&reading->hook_slots, page + ldr_offset(next)))
            continue;
        add_place(&reading->hooks, code->linked + at);
        if (at >= 4 && load32(code->bytes + at - 4) == 0xd503245f)
            add_place(&reading->hooks, code->linked + at - 4);
    }
}

static bool is_in(const struct code *code, uint64_t address, uint64_t size)
{
    return address >= code->linked && address - code->linked <= code->size &&
           size <= code->size - (address - code->linked);
}

/* The result of a load: from a slot, or from a literal pool in the code. */
static uint64_t loaded_from(const struct reading *reading, uint64_t address)
{
    for (size_t at = 0; at < reading->code_count; at++)
        if (is_in(&reading->code[at], address, 8)) {
            const unsigned char *bytes = reading->code[at].bytes + (address - reading->code[at].linked);
            return load32(bytes) | (uint64_t)load32(bytes + 4) << 32;
        }
    return value_at(reading, address);
}

/*
 * A register holds the result of the last adrp, ignoring control flow: enough to find the function's own address.
 */
static struct finding look_at_arm(const struct reading *reading, const unsigned char *bytes, uint64_t size,
                                  uint64_t address)
{
    struct finding finding = {false, false};
    uint64_t registers[33] = {0};
    bool is_known[33] = {false};
    for (uint64_t at = 0; at + 4 <= size; at += 4) {
        const uint32_t word = load32(bytes + at);
        const unsigned source = word >> 5 & 31;
        uint64_t value = 0;
        const unsigned set = read_adr(word, address + at, &value);
        registers[set] = value;
        is_known[set] = true;
        finding.has_self |= set < 32 && value == address;
        if ((word & 0xfc000000) == 0x94000000)
            finding.has_call |= has_place(&reading->hooks, address + at + (extended(word & 0x3ffffff, 26) << 2));
        if (is_add(word) && is_known[source])
            finding.has_self |= registers[source] + add_number(word) == address;
        if (is_ldr(word) && is_known[source]) {
            const uint64_t from = registers[source] + ldr_offset(word);
            finding.has_call |= has_place(&reading->hook_slots, from);
            finding.has_self |= loaded_from(reading, from) == address;
        }
    }
    return finding;
}

/* ------------------------------------------------------------------------------------------- functions */

typedef struct finding look(const struct reading *reading, const unsigned char *bytes, uint64_t size,
                            uint64_t address);

static bool is_instrumented(struct reading *reading, look *look_at, uint64_t address, uint64_t size)
{
    if (size > reading->bytes_left)
        return false;
    reading->bytes_left -= size;
    for (size_t at = 0; at < reading->code_count; at++) {
        const struct code *code = &reading->code[at];
        if (!is_in(code, address, size))
            continue;
        const struct finding finding = look_at(reading, code->bytes + (address - code->linked), size, address);
        return finding.has_call && finding.has_self;
    }
    return false;
}

static void read_code(struct reading *reading)
{
    for (size_t at = 0; at < reading->elf.part_count; at++) {
        const struct hp_elf_part *part = &reading->elf.parts[at];
        const unsigned char *bytes = part->is_code ? hp_elf_copy(reading->fd, part->offset, part->size) : NULL;
        if (bytes == NULL)
            continue;
        reading->code[reading->code_count++] = (struct code){bytes, part->size, part->linked};
        reading->bytes_left += OVERLAPS * part->size;
    }
}

/* If the hook is in this file. */
static void find_own_hook(struct reading *reading)
{
    for (size_t at = 0; at < reading->symbols.count; at++)
        if (strcmp(hp_elf_name(&reading->symbols.table, reading->symbols.sorted[at]), HOOK) == 0)
            add_place(&reading->hooks, hp_elf_start(reading->symbols.sorted[at]));
}

/* A name of a function or a source, cut as in a session. NULL: no memory, or over the limit. */
static const char *copy_of(struct reading *reading, struct hp_arena *arena, const char *from)
{
    struct hp_hash_index *index = &reading->copy_index;
    if (!HP_MAKE_ROOM(reading->copies, reading->copy_count + 1, reading->copy_room) || !hp_hash_make_room(index))
        return NULL;
    const uint32_t hash = hp_hash_with(index, 0, (uintptr_t)from);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(index, hash, &slot)) != 0;)
        if (reading->copies[number - 1].from == from)
            return reading->copies[number - 1].text;
    const size_t length = strnlen(from, LONGEST_TEXT);
    if (length > reading->texts_left)
        return NULL;
    reading->texts_left -= length;
    const char *text = hp_arena_copy(arena, from, length);
    if (text == NULL)
        return NULL;
    reading->copies[reading->copy_count++] = (struct copy){from, text};
    hp_hash_put(index, slot, hash, (uint32_t)reading->copy_count);
    return text;
}

static bool list_functions(struct reading *reading, look *look_at, struct hp_arena *arena,
                           struct hp_functions *ret_functions)
{
    const struct hp_elf_symbols *symbols = &reading->symbols;
    struct hp_function *all = hp_arena_take_array(arena, symbols->count + 1, sizeof *all);
    size_t count = 0;
    reading->texts_left = OVERLAPS * (uint64_t)symbols->table.names_size;
    for (size_t at = 0; all != NULL && at < symbols->count; at++) {
        const ElfW(Sym) *symbol = symbols->sorted[at];
        if (at + 1 < symbols->count && symbols->sorted[at + 1]->st_value == symbol->st_value)
            continue; /* the last of several names counts */
        struct hp_function *function = &all[count++];
        *function = (struct hp_function){
            .name = copy_of(reading, arena, hp_elf_name(&symbols->table, symbol)),
            .source = copy_of(reading, arena, hp_elf_source(symbols, symbol)),
            .address = hp_elf_start(symbol),
            .size = symbol->st_size,
            .is_instrumented = is_instrumented(reading, look_at, hp_elf_start(symbol), symbol->st_size),
        };
        if (function->name == NULL || function->source == NULL)
            return false;
    }
    *ret_functions = (struct hp_functions){all, count};
    return all != NULL;
}

static const char *read_file(struct reading *reading, struct hp_arena *arena, struct hp_functions *ret_functions)
{
    struct stat status;
    if (!hp_elf_read(&reading->elf, reading->fd))
        return "is not a program or library for this architecture";
    const bool is_arm = reading->elf.header.e_machine == EM_AARCH64;
    if (!is_arm && reading->elf.header.e_machine != EM_X86_64)
        return "has machine code that hotpath cannot read: only x86-64 and aarch64 are supported";
    hp_elf_symbols_read(&reading->symbols, &reading->elf.header, reading->fd);
    if (reading->symbols.count == 0)
        return "has no symbols: it was stripped";
    if (fstat(reading->fd, &status) != 0)
        return "cannot be read";
    reading->tables_left = OVERLAPS * (uint64_t)status.st_size;
    read_code(reading);
    if (!read_slots(reading))
        return "cannot be read";
    find_own_hook(reading);
    for (size_t at = 0; at < reading->code_count; at++)
        (is_arm ? find_arm_stubs : find_x86_stubs)(reading, &reading->code[at]);
    return list_functions(reading, is_arm ? look_at_arm : look_at_x86, arena, ret_functions) ? NULL
                                                                                             : "is too large";
}

const char *hp_instrumented_read(struct hp_arena *arena, const char *path, struct hp_functions *ret_functions)
{
    struct reading *reading = calloc(1, sizeof *reading);
    if (reading == NULL)
        return "is too large";
    const char *problem = "no longer exists or is not readable";
    reading->fd = hp_regular_open(AT_FDCWD, path, O_RDONLY);
    if (reading->fd >= 0) {
        problem = read_file(reading, arena, ret_functions);
        close(reading->fd);
    } else if (errno == EINVAL || errno == EISDIR) {
        problem = "is not a program or library for this architecture";
    }
    for (size_t at = 0; at < reading->code_count; at++)
        hp_memory_unmap((void *)(uintptr_t)reading->code[at].bytes, (size_t)reading->code[at].size);
    hp_elf_symbols_free(&reading->symbols);
    free(reading->copies);
    hp_hash_free(&reading->copy_index);
    free(reading->slots);
    free(reading);
    return problem;
}
