/*
 * Gives arbitrary files to everything that reads programs and libraries: functions by address, how a file is
 * linked, names of functions in memory, and which of them the compiler measures. Results must be in bounds and
 * sorted, and names terminated. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "exact_memory.h"
#include "image_file.h"
#include "input.h"
#include "instrumented.h"

/* Included for access to its static functions: the map of this process says nothing about a forged file. */
#include "images.c"

#include "arena.h"

#define LARGEST_INPUT (1u << 20)

static int file = -1;
static char path[64];

static void write_file(const uint8_t *bytes, size_t size)
{
    if (file < 0) {
        file = memfd_create("fuzz_elf", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    REQUIRE(file >= 0 && pwrite(file, bytes, size, 0) == (ssize_t)size && ftruncate(file, (off_t)size) == 0);
}

/* ---------------------------------------------------------------------------------------- by address */

static size_t length_of(const char *text) { return strlen(text); }

static void look_for(const struct hp_elf_symbols *symbols, uint64_t address)
{
    const ElfW(Sym) *symbol = hp_elf_function(symbols, address);
    if (symbol == NULL)
        return;
    const uint64_t start = hp_elf_start(symbol);
    REQUIRE(symbol >= symbols->table.symbols && symbol < symbols->table.symbols + symbols->table.count);
    REQUIRE(address >= start && (address == start || address - start < symbol->st_size));
    const char *name = hp_elf_name(&symbols->table, symbol), *source = hp_elf_source(symbols, symbol);
    REQUIRE(length_of(name) < symbols->table.names_size || name[0] == '\0');
    REQUIRE(length_of(source) < symbols->table.names_size || source[0] == '\0');
}

/* At and next to where functions begin and end. */
static void check_functions(const struct hp_elf_symbols *symbols)
{
    for (size_t at = 0; at < symbols->count && at < 64; at++) {
        const uint64_t start = hp_elf_start(symbols->sorted[at]);
        REQUIRE(at == 0 || symbols->sorted[at - 1]->st_value <= symbols->sorted[at]->st_value);
        look_for(symbols, start - 1);
        look_for(symbols, start);
        look_for(symbols, start + symbols->sorted[at]->st_size - 1);
        look_for(symbols, start + symbols->sorted[at]->st_size);
    }
    look_for(symbols, 0);
    look_for(symbols, UINT64_MAX);
}

static void check_parts(const struct hp_elf *elf)
{
    uint64_t linked;
    REQUIRE(elf->part_count <= HP_ELF_PARTS);
    for (size_t at = 0; at < elf->part_count; at++) {
        const struct hp_elf_part *part = &elf->parts[at];
        REQUIRE(hp_elf_linked(elf, part->offset, &linked) || part->size == 0);
        hp_elf_linked(elf, part->offset + part->size, &linked);
    }
}

static void check_file(void)
{
    struct hp_elf elf;
    struct hp_elf_symbols symbols = {.count = 0};
    if (!hp_elf_read(&elf, file))
        return;
    check_parts(&elf);
    hp_elf_symbols_read(&symbols, &elf.header, file);
    check_functions(&symbols);
    hp_elf_symbols_free(&symbols);
}

static void check_linkage(size_t size)
{
    static const char *const names[] = {"__cyg_profile_func_enter", "libc.so", "no such name"};
    struct hp_linkage linkage;
    REQUIRE(hp_linkage_read(&linkage, file) == (size >= sizeof(ElfW(Ehdr))));
    REQUIRE(length_of(linkage.linker) < sizeof linkage.linker);
    REQUIRE(hp_linkage_is_same_machine(&linkage, &linkage));
    hp_linkage_names_any(&linkage, names, 3);
    hp_linkage_defines_any(&linkage, names, 3);
}

/* ------------------------------------------------------------------------------------------- in memory */

/* As if the file were mapped, its first page first, at an address that is never read. */
static void check_symbols(size_t size)
{
    struct stat status;
    struct mapping mapping = {.line = {.start = 0x10000, .end = 0x10000 + LARGEST_INPUT}};
    struct hp_symbol symbol;
    REQUIRE(fstat(file, &status) == 0);
    mapping.line.inode = status.st_ino;
    strcpy(mapping.path, path);
    struct image *image = image_of(&mapping, (uintptr_t)mapping.line.start);
    REQUIRE(image != NULL);
    for (uintptr_t at = 0; at < size; at += 1 + size / 64)
        if (symbol_where_it_was((uintptr_t)mapping.line.start + at, &image, &(uint64_t){0}) != NULL) {
            REQUIRE(hp_symbol_find((uintptr_t)mapping.line.start + at, &symbol));
            REQUIRE(length_of(symbol.name) > 0 && length_of(symbol.file) < image->symbols.table.names_size);
        }
    hp_elf_symbols_free(&images[0].symbols);
    image_count = 0;
}

/* A line of the map, of arbitrary bytes. */
static void check_line(const uint8_t *bytes, size_t size)
{
    struct mapping mapping;
    char *line = malloc(size + 1);
    REQUIRE(line != NULL);
    if (size > 0)
        memcpy(line, bytes, size);
    line[size] = '\0';
    if (hp_map_line_read(line, &mapping.line, mapping.path, PATH_BYTES)) {
        REQUIRE(length_of(mapping.path) < PATH_BYTES);
        strip_deleted(mapping.path);
    }
    free(line);
}

/* -------------------------------------------------------------------------------------------- measured */

static void check_instrumented(void)
{
    struct hp_arena arena = {0};
    struct hp_functions functions = {0};
    if (hp_instrumented_read(&arena, path, &functions) == NULL)
        for (size_t at = 0; at < functions.count; at++) {
            const struct hp_function *function = &functions.all[at];
            REQUIRE(at == 0 || functions.all[at - 1].address < function->address);
            REQUIRE(length_of(function->name) + length_of(function->source) < LARGEST_INPUT);
        }
    hp_arena_release(&arena);
}

/* All but the list of images, which is never freed. */
static void require_given_back(void) { REQUIRE(fuzz_memory_pieces() <= 1); }

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size > LARGEST_INPUT)
        return 0;
    check_line(bytes, size);
    if (size < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return 0;
    write_file(bytes, size);
    check_file();
    check_linkage(size);
    check_symbols(size);
    check_instrumented();
    require_given_back();
    return 0;
}
