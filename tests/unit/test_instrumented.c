/*
 * Which functions of a file are measured by the compiler: files that are compiled here, by whichever compilers there are, also
 * for another machine, of sources of which it is known. SPDX-License-Identifier: MIT
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

static void what_cannot_be_read_is_said(void **state)
{
    (void)state;
    struct hp_functions functions = {0};
    assert_string_equal(hp_instrumented_read(&arena, "/nowhere/at/all", &functions),
                        "is not there any more, or may not be read");
    assert_string_equal(hp_instrumented_read(&arena, "/", &functions),
                        "is no program or library of this machine's kind");
    assert_string_equal(hp_instrumented_read(&arena, "/dev/zero", &functions),
                        "is no program or library of this machine's kind");
    assert_string_equal(hp_instrumented_read(&arena, SOURCE, &functions),
                        "is no program or library of this machine's kind");
    if (!has_compiler("gcc"))
        skip();
    assert_true(compile("gcc", "-s -O2 -static -fno-pic -no-pie -DHOOKS -Wl,-e,library_never"));
    assert_string_equal(hp_instrumented_read(&arena, file, &functions), "has no symbols: it was stripped");
}

/* Any byte may be anything; nothing may happen but a wrong answer. */
static void broken_files_do_no_harm(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(measured_functions_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_without_hooks_has_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_files_do_no_harm, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
