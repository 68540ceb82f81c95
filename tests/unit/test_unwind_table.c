/*
 * Unwind tables whose rows are made on demand equal a full scan: for every program of every function, and for all
 * code, from its first byte to its last. With the C library, intact and broken. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "growing_array.h"
#include "image_set.h"
#include "memory.h"
#include "unwind_table.h"

static char libc_path[4096];

/* ------------------------------------------------------------------------------------- reading everything */

struct function {
    uint64_t start, end;
    size_t number; /* of those that begin together, the lowest is believed */
    size_t first, count;
};

struct row {
    uint64_t place;
    struct hp_unwind_rule rule;
};

struct everything {
    struct hp_cfi cfi;
    struct function *functions;
    size_t count, room;
    struct row *rows; /* of each function; then in one list, in order of their places */
    size_t row_count, row_room;
    struct row *list;
    size_t list_count;
    struct hp_rule_set expressions;
};

static bool add_row(void *context, uint64_t place, const struct hp_unwind_rule *rule)
{
    struct everything *all = context;
    assert_true(HP_MAKE_ROOM(all->rows, all->row_count + 1, all->row_room));
    all->rows[all->row_count++] = (struct row){place, *rule};
    all->functions[all->count - 1].count++;
    return true;
}

static int32_t add_expression(void *context, const uint8_t *bytes, size_t size)
{
    struct everything *all = context;
    return hp_rule_set_add_expression(&all->expressions, bytes, size);
}

static void add_function(struct everything *all, uint64_t start, uint64_t end)
{
    assert_true(HP_MAKE_ROOM(all->functions, all->count + 1, all->room));
    all->functions[all->count] = (struct function){start, end, all->count, all->row_count, 0};
    all->count++;
}

static bool read_function(void *context, uint64_t start, uint64_t end, size_t at)
{
    struct everything *all = context;
    const struct hp_cfi_visitor visitor = {all, add_row, add_expression};
    add_function(all, start, end);
    hp_cfi_rows(&all->cfi, at, &visitor);
    assert_true(all->functions[all->count - 1].count > 0);
    return true;
}

static void read_signal_returns(struct everything *all, const struct hp_image_file *file)
{
    const struct hp_unwind_rule rule = {.cfa_kind = HP_CFA_SIGNAL};
    for (size_t index = 0; index < file->elf.part_count; index++) {
        const struct hp_elf_part *part = &file->elf.parts[index];
        const size_t size = (size_t)part->size;
        uint8_t *code = part->is_code ? hp_elf_copy(file->fd, part->offset, part->size) : NULL;
        size_t length;
        if (code == NULL)
            continue;
        for (size_t at = 0;
             (at += hp_machine_signal_return(all->cfi.machine, code + at, size - at, &length)) < size;
             at += length) {
            add_function(all, part->linked + at - 1, part->linked + at + length);
            add_row(all, part->linked + at - 1, &rule);
        }
        hp_memory_unmap(code, size);
    }
}

static int compare_functions(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void put_row(struct everything *all, uint64_t place, const struct hp_unwind_rule *rule)
{
    if (all->list_count > 0 && all->list[all->list_count - 1].place == place)
        all->list_count--;
    all->list[all->list_count++] = (struct row){place, *rule};
}

static void put_function(struct everything *all, const struct function *function, uint64_t from)
{
    static const struct hp_unwind_rule none = {.cfa_kind = HP_CFA_NONE};
    for (size_t at = function->first; at < function->first + function->count; at++)
        put_row(all, all->rows[at].place > from ? all->rows[at].place : from, &all->rows[at].rule);
    put_row(all, function->end, &none);
}

static void read_everything(struct everything *all, const struct hp_image_file *file)
{
    ElfW(Shdr) section;
    uint8_t *bytes = hp_image_file_copy(file, ".eh_frame", &section);
    uint64_t done = 0;
    assert_non_null(bytes);
    *all = (struct everything){.cfi = {.machine = hp_machine_of(file->elf.header.e_machine),
                                       .bytes = bytes,
                                       .size = (size_t)section.sh_size,
                                       .linked = section.sh_addr}};
    read_signal_returns(all, file);
    hp_cfi_list(&all->cfi, read_function, all);
    qsort(all->functions, all->count, sizeof *all->functions, compare_functions);
    all->list = malloc((all->row_count + all->count + 1) * sizeof *all->list);
    assert_non_null(all->list);
    for (size_t at = 0; at < all->count; at++) {
        const struct function *function = &all->functions[at];
        if (function->end > done) {
            put_function(all, function, function->start > done ? function->start : done);
            done = function->end;
        }
    }
    hp_memory_unmap(bytes, (size_t)section.sh_size);
}

static void free_everything(struct everything *all)
{
    free(all->functions);
    free(all->rows);
    free(all->list);
    hp_rule_set_free(&all->expressions);
}

/* ------------------------------------------------------------------------------------------------ files */

static int find_libc(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    if (strstr(info->dlpi_name, "/libc.so") != NULL)
        snprintf(libc_path, sizeof libc_path, "%s", info->dlpi_name);
    return 0;
}

/* A copy of the C library, to be broken. */
static int copy_of_libc(void)
{
    static char bytes[1 << 16];
    const int fd = memfd_create("libc", MFD_CLOEXEC);
    FILE *stream = fopen(libc_path, "rb");
    size_t got;
    assert_true(fd >= 0 && stream != NULL);
    while ((got = fread(bytes, 1, sizeof bytes, stream)) > 0)
        assert_int_equal(write(fd, bytes, got), got);
    fclose(stream);
    return fd;
}

static void open_copy(struct hp_image_file *file, int fd) { assert_true(hp_image_file_read(file, dup(fd))); }

/* Changes `count` bytes of a section, here and there. */
static void break_section(int fd, const char *name, size_t count, unsigned seed)
{
    struct hp_image_file file;
    ElfW(Shdr) section;
    open_copy(&file, fd);
    assert_true(hp_image_file_section(&file, name, &section));
    uint64_t random = seed;
    for (size_t at = 0; at < count; at++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const uint8_t byte = (uint8_t)(random >> 56);
        const off_t place = (off_t)(section.sh_offset + (random >> 20) % section.sh_size);
        assert_int_equal(pwrite(fd, &byte, 1, place), 1);
    }
    hp_image_file_close(&file);
}

/* ---------------------------------------------------------------------------------------------- compare */

static void assert_same_expression(const struct hp_unwind_table *table, const struct hp_unwind_rule *is,
                                   const struct everything *all, const struct hp_unwind_rule *should)
{
    size_t size, should_size;
    const uint8_t *bytes = hp_unwind_table_expression(table, is, &size);
    const uint8_t *should_bytes = hp_rule_set_expression(&all->expressions, should->cfa_offset, &should_size);
    assert_int_equal(size, should_size);
    assert_memory_equal(bytes, should_bytes, size);
    assert_memory_equal(is->saved, should->saved, sizeof is->saved);
}

/* Of stubs of the linker only the table knows something. */
static bool is_stub(const struct hp_image_file *file, uint64_t place)
{
    ElfW(Shdr) section;
    for (size_t at = 0; hp_image_file_section_at(file, at, &section); at++)
        if (strncmp(file->section_names + section.sh_name, ".plt", 4) == 0 && place >= section.sh_addr &&
            place - section.sh_addr < section.sh_size)
            return true;
    return false;
}

static void assert_same_at(struct hp_unwind_table *table, uint64_t place, const struct everything *all,
                           const struct hp_unwind_rule *should)
{
    const struct hp_unwind_rule *is = hp_unwind_table_find(table, place);
    if (place - table->base > UINT32_MAX) /* no image is that large */
        return;
    assert_ptr_equal(hp_unwind_table_find(table, place), is);
    if (should->cfa_kind == HP_CFA_NONE && is_stub(table->file, place))
        return;
    if (is->cfa_kind != should->cfa_kind)
        fail_msg("at %#llx: a rule of the kind %d; it should be %d", (unsigned long long)place, is->cfa_kind,
                 should->cfa_kind);
    if (should->cfa_kind == HP_CFA_EXPRESSION)
        assert_same_expression(table, is, all, should);
    else if (should->cfa_kind == HP_CFA_REGISTER && memcmp(is, should, sizeof *is) != 0)
        fail_msg("at %#llx: another rule than there should be", (unsigned long long)place);
}

/*
 * At the first and the last place of each row. Those from the end first, to begin with functions that are listed
 * late. Returns the number of rows.
 */
static size_t assert_same(struct hp_unwind_table *table, const struct everything *all)
{
    size_t count = 0;
    for (size_t at = all->list_count; at > 1; at--, count++) {
        assert_same_at(table, all->list[at - 1].place - 1, all, &all->list[at - 2].rule);
        assert_same_at(table, all->list[at - 2].place, all, &all->list[at - 2].rule);
    }
    return count;
}

/* On x86-64 signal handlers return to code of the C library, on other machines to the kernel's. */
static bool has_signal_return(const struct everything *all)
{
#if defined(__x86_64__)
    for (size_t at = 0; at < all->list_count; at++)
        if (all->list[at].rule.cfa_kind == HP_CFA_SIGNAL)
            return true;
    return false;
#else
    (void)all;
    return true;
#endif
}

/* In a broken one a single function may seem to be all code. */
static void compare_copy(int fd, bool is_whole)
{
    struct hp_image_file file;
    struct hp_unwind_table table;
    struct everything all;
    open_copy(&file, fd);
    read_everything(&all, &file);
    hp_unwind_table_make(&table, &file, NULL);
    assert_in_range(table.row_count, 0, 4); /* those of the linker's stubs */
    const size_t count = assert_same(&table, &all);
    assert_true(!is_whole || (count > 1000 && has_signal_return(&all) && table.row_count > all.count));
    hp_unwind_table_free(&table);
    free_everything(&all);
    hp_image_file_close(&file);
}

/* ------------------------------------------------------------------------------------------------ tests */

static void same_as_reading_the_whole_section(void **state)
{
    (void)state;
    const int fd = copy_of_libc();
    compare_copy(fd, true);
    close(fd);
}

static void same_for_a_broken_section(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 8; seed++) {
        const int fd = copy_of_libc();
        break_section(fd, ".eh_frame", seed * seed * 20, seed);
        compare_copy(fd, false);
        close(fd);
    }
}

static void a_broken_index_changes_nothing(void **state)
{
    (void)state;
    struct hp_image_file whole, broken;
    struct hp_unwind_table table;
    struct everything all;
    const int fd = copy_of_libc(), broken_fd = copy_of_libc();
    break_section(broken_fd, ".eh_frame_hdr", 100000, 1);
    open_copy(&whole, fd);
    open_copy(&broken, broken_fd);
    read_everything(&all, &whole);
    hp_unwind_table_make(&table, &broken, NULL);
    assert_true(assert_same(&table, &all) > 1000);
    hp_unwind_table_free(&table);
    free_everything(&all);
    hp_image_file_close(&whole);
    hp_image_file_close(&broken);
    close(fd);
    close(broken_fd);
}

static void rows_are_made_on_demand(void **state)
{
    (void)state;
    struct hp_image_file file;
    struct hp_unwind_table table;
    const int fd = copy_of_libc();
    open_copy(&file, fd);
    hp_unwind_table_make(&table, &file, NULL);
    assert_true(table.count > 1000);
    const size_t before = table.row_count, middle = table.count / 2;
    const uint64_t place = table.base + table.starts[middle];
    const struct hp_unwind_rule *rule = hp_unwind_table_find(&table, place);
    assert_in_range(table.row_count - before, 0, 500);
    for (size_t at = 0; at < table.count; at++) /* rules come in, and stay where they are */
        hp_unwind_table_find(&table, table.base + table.starts[at]);
    assert_ptr_equal(hp_unwind_table_find(&table, place), rule);
    hp_unwind_table_free(&table);
    hp_image_file_close(&file);
    close(fd);
}

static void only_starts_of_functions_are_found(void **state)
{
    (void)state;
    struct hp_image_file file;
    struct hp_unwind_table table;
    size_t starts = 0, functions = 0;
    const int fd = copy_of_libc();
    open_copy(&file, fd);
    hp_unwind_table_make(&table, &file, NULL);
    for (size_t at = 0; at + 1 < table.count; at++) {
        const uint64_t start = table.base + table.starts[at], last = table.base + table.starts[at + 1] - 1;
        if (table.stretches[at].section == HP_UNWIND_UNKNOWN_CODE) {
            assert_false(hp_unwind_table_is_start(&table, start, last));
            assert_false(at > 0 && hp_unwind_table_is_start(&table, start - 1, last + 1));
            continue;
        }
        functions++;
        starts += hp_unwind_table_is_start(&table, start, last);
        assert_false(hp_unwind_table_is_start(&table, last + 1, last));
        assert_false(hp_unwind_table_is_start(&table, start, start - 1));
    }
    assert_true(starts > functions / 2); /* parts of functions that are hardly ever run begin otherwise */
    hp_unwind_table_free(&table);
    hp_image_file_close(&file);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_reading_the_whole_section),  cmocka_unit_test(same_for_a_broken_section),
        cmocka_unit_test(a_broken_index_changes_nothing),     cmocka_unit_test(rows_are_made_on_demand),
        cmocka_unit_test(only_starts_of_functions_are_found),
    };
    dl_iterate_phdr(find_libc, NULL);
    if (libc_path[0] == '\0' || hp_machine_here() == NULL)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
