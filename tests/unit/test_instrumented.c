/*
 * Which functions of a file are instrumented: files compiled here from known sources, by all available compilers,
 * also for another machine. SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "arena.h"
#include "elf_file.h"
#include "instrumented.h"

#define SOURCE TEST_PROGRAMS "/cold_library.c"
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static struct hp_arena arena;
static char file[] = "/tmp/hotpath-instrumented-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    strcpy(file + sizeof file - 7, "XXXXXX");
    const int fd = mkstemp(file);
    return fd < 0 || close(fd) != 0;
}

static int tear_down(void **state)
{
    (void)state;
    hp_arena_release(&arena);
    return unlink(file);
}

static bool has_compiler(const char *compiler)
{
    char command[100];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", compiler);
    return system(command) == 0; /* NOLINT(cert-env33-c): the words are our own */
}

static bool compile(const char *compiler, const char *options)
{
    char command[1024];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1 && %s -nostdlib -w -o %s %s %s 2>/dev/null",
             compiler, compiler, file, SOURCE, options);
    return system(command) == 0; /* NOLINT(cert-env33-c): the words are our own */
}

/* The same as a program that has its hooks from a library. */
static bool compile_with_library(const char *compiler, const char *options)
{
    char command[1024], linked[256];
    snprintf(linked, sizeof linked, "%s %s.so -Wl,-e,library_never", options, file);
    snprintf(command, sizeof command,
             "command -v %s >/dev/null 2>&1 && %s -shared -fPIC -DHOOKS -nostdlib -w -o %s.so %s 2>/dev/null",
             compiler, compiler, file, SOURCE);
    const bool is_compiled = system(command) == 0 && compile(compiler, linked); /* NOLINT(cert-env33-c) */
    snprintf(command, sizeof command, "%s.so", file);
    unlink(command);
    return is_compiled;
}

/* Every function that is meant to be measured is, and no other. */
static void assert_found(const char *compiler, const char *options)
{
    static const char *const measured[] = {"library_called", "library_called_static", "library_never",
                                           "library_never_hidden", "library_never_static"};
    struct hp_functions functions = {0};
    size_t found = 0;
    const char *problem = hp_instrumented_read(&arena, file, &functions);
    if (problem != NULL)
        fail_msg("%s %s: %s", compiler, options, problem);
    for (size_t at = 0; at < functions.count; at++) {
        const struct hp_function *function = &functions.all[at];
        bool is_meant = false;
        for (size_t i = 0; i < COUNT(measured); i++)
            is_meant |= strcmp(function->name, measured[i]) == 0;
        if (is_meant != function->is_instrumented)
            fail_msg("%s %s: %s is%s taken for measured", compiler, options, function->name,
                     function->is_instrumented ? "" : " not");
        found += is_meant;
        assert_true(at == 0 || functions.all[at - 1].address < function->address);
        if (is_meant) {
            assert_true(function->size > 0);
            assert_string_equal(function->source, strstr(function->name, "static") ? "cold_library.c" : "");
        }
    }
    if (found != COUNT(measured))
        fail_msg("%s %s: %zu functions are measured", compiler, options, found);
}

static void measured_functions_are_found(void **state)
{
    (void)state;
    static const char *const compilers[] = {"gcc", "clang", "x86_64-linux-gnu-gcc", "aarch64-linux-gnu-gcc"};
    static const char *const options[] = {
        "-O0 -shared -fPIC",
        "-O1 -shared -fPIC",
        "-O2 -shared -fPIC",
        "-O3 -shared -fPIC",
        "-Os -shared -fPIC",
        "-O2 -shared -fPIC -fno-plt",
        "-O2 -shared -fPIC -Wl,-Bsymbolic",
        "-O2 -shared -fPIC -Wl,-z,now",
        "-O2 -shared -fPIC -fcf-protection=full -Wl,-z,ibtplt",
        "-O2 -shared -fPIC -mbranch-protection=standard -Wl,-z,force-bti",
        "-O0 -static -fno-pic -no-pie -DHOOKS -Wl,-e,library_never",
        "-O2 -static -fno-pic -no-pie -DHOOKS -Wl,-e,library_never",
        "-O2 -static-pie -fPIE -DHOOKS -Wl,-e,library_never",
        "-O2 -static -fno-pic -no-pie -mcmodel=large -DHOOKS -Wl,-e,library_never",
    };
    static const char *const with_library[] = {
        "-finstrument-functions -O2 -fno-pic -no-pie",
        "-finstrument-functions -O2 -fPIE -pie",
        "-finstrument-functions -O2 -fPIE -pie -Wl,-z,bndplt",
        "-finstrument-functions -O2 -fno-pic -no-pie -fcf-protection=full -Wl,-z,ibtplt",
        "-finstrument-functions -O2 -fno-pic -no-pie -mbranch-protection=standard -Wl,-z,force-bti",
    };
    size_t compiled = 0;
    for (size_t compiler = 0; compiler < COUNT(compilers); compiler++) {
        for (size_t option = 0; option < COUNT(with_library); option++)
            if (compile_with_library(compilers[compiler], with_library[option])) {
                compiled++;
                assert_found(compilers[compiler], with_library[option]);
            }
        for (size_t option = 0; option < COUNT(options); option++) {
            char line[200];
            snprintf(line, sizeof line, "-finstrument-functions %s", options[option]);
            if (!compile(compilers[compiler], line))
                continue;
            compiled++;
            assert_found(compilers[compiler], line);
        }
    }
    if (!has_compiler("gcc"))
        skip();
    assert_true(compiled > 0);
}

static void a_file_without_hooks_has_none(void **state)
{
    (void)state;
    struct hp_functions functions = {0};
    if (!has_compiler("gcc"))
        skip();
    assert_true(compile("gcc", "-O2 -shared -fPIC -DHOOKS"));
    assert_null(hp_instrumented_read(&arena, file, &functions));
    assert_true(functions.count >= 7);
    for (size_t at = 0; at < functions.count; at++)
        assert_false(functions.all[at].is_instrumented);
}

static void unreadable_files_are_reported(void **state)
{
    (void)state;
    struct hp_functions functions = {0};
    assert_string_equal(hp_instrumented_read(&arena, "/nowhere/at/all", &functions),
                        "no longer exists or is not readable");
    assert_string_equal(hp_instrumented_read(&arena, "/", &functions),
                        "is not a program or library for this architecture");
    assert_string_equal(hp_instrumented_read(&arena, "/dev/zero", &functions),
                        "is not a program or library for this architecture");
    assert_string_equal(hp_instrumented_read(&arena, SOURCE, &functions),
                        "is not a program or library for this architecture");
    if (!has_compiler("gcc"))
        skip();
    assert_true(compile("gcc", "-s -O2 -static -fno-pic -no-pie -DHOOKS -Wl,-e,library_never"));
    assert_string_equal(hp_instrumented_read(&arena, file, &functions), "has no symbols: it was stripped");
}

/* Any byte may be anything; nothing may happen but a wrong answer. */
static void broken_files_are_survived(void **state)
{
    (void)state;
    static unsigned char good[1 << 17], bad[1 << 17];
    if (!has_compiler("gcc"))
        skip();
    assert_true(compile("gcc", "-finstrument-functions -O2 -shared -fPIC"));
    FILE *stream = fopen(file, "rb");
    assert_non_null(stream);
    const size_t size = fread(good, 1, sizeof good, stream);
    fclose(stream);
    assert_in_range(size, 1000, sizeof good - 1);
    uint32_t random = 1;
    for (int round = 0; round < 400; round++) {
        memcpy(bad, good, size);
        for (int change = 0; change < 20; change++) {
            random = random * 1664525 + 1013904223;
            /* Half of them in the header and the tables at the end, where they hurt. */
            const size_t at = change % 4 == 0   ? (random >> 8) % 64
                              : change % 4 == 1 ? size - 1 - (random >> 8) % 2048
                                                : (random >> 8) % size;
            bad[at] = (unsigned char)(random >> 24);
        }
        memcpy(bad, good, 16);
        stream = fopen(file, "wb");
        assert_non_null(stream);
        fwrite(bad, 1, round % 3 == 0 ? size : size - random % size, stream);
        fclose(stream);
        struct hp_functions functions = {0};
        (void)hp_instrumented_read(&arena, file, &functions);
        hp_arena_release(&arena);
    }
}

/* ------------------------------------------------------------------------------------------- large files */

#define FUNCTIONS_START 0x1000u
#define FUNCTION_BYTES 2u

/* A file with nothing in it but symbols of functions, one behind the other; its names are the caller's. */
struct large {
    size_t functions;
    size_t sources; /* names of sources, evenly among the functions */
    size_t first_name, name_step;
    const char *names;
    size_t names_size;
};

static void write_symbols(FILE *stream, const struct large *large)
{
    const size_t each = large->functions / (large->sources > 0 ? large->sources : 1);
    ElfW(Sym) symbol = {0};
    fwrite(&symbol, sizeof symbol, 1, stream);
    for (size_t at = 0; at < large->functions; at++) {
        if (large->sources > 0 && at % each == 0) {
            symbol =
                (ElfW(Sym)){.st_name = (uint32_t)(1 + 4 * (at / each)), .st_info = STT_FILE, .st_shndx = SHN_ABS};
            fwrite(&symbol, sizeof symbol, 1, stream);
        }
        symbol = (ElfW(Sym)){.st_name = (uint32_t)(large->first_name + at * large->name_step),
                             .st_info = STT_FUNC,
                             .st_shndx = 1,
                             .st_value = FUNCTIONS_START + at * FUNCTION_BYTES,
                             .st_size = FUNCTION_BYTES};
        fwrite(&symbol, sizeof symbol, 1, stream);
    }
}

static void write_large(const struct large *large)
{
    const size_t symbols = 1 + large->functions + large->sources, code = large->functions * FUNCTION_BYTES;
    /* The loaded segment is the beginning of the file: none of it is a call. */
    const ElfW(Phdr)
        part = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = FUNCTIONS_START, .p_filesz = code};
    ElfW(Ehdr) header = {.e_ident = {0x7f, 'E', 'L', 'F', sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32, 1, 1},
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_phoff = sizeof header,
                         .e_phentsize = sizeof part,
                         .e_phnum = 1,
                         .e_shoff = sizeof header + sizeof part,
                         .e_shentsize = sizeof(ElfW(Shdr)),
                         .e_shnum = 3};
    const size_t strings_at = header.e_shoff + 3 * sizeof(ElfW(Shdr)), symbols_at = strings_at + large->names_size;
    const ElfW(Shdr) sections[3] = {
        {.sh_type = SHT_NULL},
        {.sh_type = SHT_SYMTAB,
         .sh_offset = symbols_at,
         .sh_size = symbols * sizeof(ElfW(Sym)),
         .sh_link = 2,
         .sh_entsize = sizeof(ElfW(Sym))},
        {.sh_type = SHT_STRTAB, .sh_offset = strings_at, .sh_size = large->names_size},
    };
    FILE *stream = fopen(file, "wb");
    assert_non_null(stream);
    fwrite(&header, sizeof header, 1, stream);
    fwrite(&part, sizeof part, 1, stream);
    fwrite(sections, sizeof sections, 1, stream);
    fwrite(large->names, 1, large->names_size, stream);
    write_symbols(stream, large);
    assert_int_equal(fclose(stream), 0);
}

/* A search for its source with every function would take hours here. */
static void a_million_static_functions_are_read(void **state)
{
    (void)state;
    struct hp_functions functions = {0};
    const struct large large = {
        .functions = 1000000, .sources = 2, .first_name = 9, .names = "\0a.c\0b.c\0f", .names_size = 11};
    write_large(&large);
    assert_null(hp_instrumented_read(&arena, file, &functions));
    assert_int_equal(functions.count, large.functions);
    for (size_t at = 0; at < functions.count; at++) {
        assert_string_equal(functions.all[at].name, "f");
        assert_string_equal(functions.all[at].source, at < large.functions / 2 ? "a.c" : "b.c");
        assert_false(functions.all[at].is_instrumented);
    }
}

#define LONG_NAME 1000000u

/* Functions with one long name, or with its ends, each one byte shorter than the last. */
static void write_with_long_name(size_t count, size_t step)
{
    char *names = calloc(1, LONG_NAME + 2);
    assert_non_null(names);
    memset(names + 1, 'n', LONG_NAME);
    write_large(&(struct large){
        .functions = count, .first_name = 1, .name_step = step, .names = names, .names_size = LONG_NAME + 2});
    free(names);
}

/* One name for all of them is there once, and no longer than it is recorded. */
static void shared_long_name_is_stored_once(void **state)
{
    (void)state;
    struct hp_functions functions = {0};
    write_with_long_name(200000, 0);
    assert_null(hp_instrumented_read(&arena, file, &functions));
    assert_int_equal(functions.count, 200000);
    assert_int_equal(strlen(functions.all[0].name), 4095);
    assert_ptr_equal(functions.all[0].name, functions.all[199999].name);
    assert_true(arena.taken < 200000 * (sizeof functions.all[0] + 16));
}

/* Names that are all parts of one another: much longer together than the file. */
static void overlapping_names_are_refused(void **state)
{
    (void)state;
    struct hp_functions functions = {0};
    write_with_long_name(500000, 1);
    assert_string_equal(hp_instrumented_read(&arena, file, &functions), "is too large");
    assert_true(arena.taken < 500000 * sizeof(struct hp_function) + 6 * LONG_NAME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(measured_functions_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_without_hooks_has_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unreadable_files_are_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_files_are_survived, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_million_static_functions_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shared_long_name_is_stored_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(overlapping_names_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
