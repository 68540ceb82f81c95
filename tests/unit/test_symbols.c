/* Names of functions, from the symbol tables of this program and of libraries. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* After the standard headers, which it needs. */
#include <cmocka.h>

#include "images.h"
#include "text.h"

static __attribute__((noinline)) int hidden_helper(int n) { return n * 3 + 1; }

__attribute__((noinline)) int visible_helper(int n);
__attribute__((noinline)) int visible_helper(int n) { return hidden_helper(n) + 2; }

static void functions_of_the_program(void **state)
{
    (void)state;
    struct hp_symbol symbol;
    assert_true(hp_symbol_find((uintptr_t)visible_helper, &symbol));
    assert_string_equal(symbol.name, "visible_helper");
    assert_string_equal(symbol.file, "");
    assert_true(hp_text_has_suffix(symbol.image, "test_symbols"));
    assert_true(hp_symbol_find((uintptr_t)hidden_helper, &symbol));
    assert_string_equal(symbol.name, "hidden_helper");
    assert_string_equal(symbol.file, "test_symbols.c");
}

/* Anywhere in it, not only at its beginning. */
static void the_middle_of_a_function(void **state)
{
    (void)state;
    struct hp_symbol symbol;
    assert_true(hp_symbol_find((uintptr_t)visible_helper + 3, &symbol));
    assert_string_equal(symbol.name, "visible_helper");
}

static void functions_of_libraries(void **state)
{
    (void)state;
    struct hp_symbol symbol;
    void *address = dlsym(RTLD_DEFAULT, "_cmocka_run_group_tests");
    if (address == NULL)
        skip();
    assert_true(hp_symbol_find((uintptr_t)address, &symbol));
    assert_string_equal(symbol.name, "_cmocka_run_group_tests");
}

static void addresses_outside_functions(void **state)
{
    (void)state;
    struct hp_symbol symbol;
    static int data;
    int local;
    void *heap = malloc(100);
    assert_false(hp_symbol_find((uintptr_t)&data, &symbol));
    assert_false(hp_symbol_find((uintptr_t)&local, &symbol));
    assert_false(hp_symbol_find((uintptr_t)heap, &symbol));
    assert_false(hp_symbol_find(0, &symbol));
    assert_false(hp_symbol_find(UINTPTR_MAX, &symbol));
    free(heap);
}

/* Where the linker put it: the distance between two functions is the same there. */
static void the_place_in_the_file(void **state)
{
    (void)state;
    struct hp_symbol one, two, middle;
    const uintptr_t visible = (uintptr_t)visible_helper, hidden = (uintptr_t)hidden_helper;
    assert_true(hp_symbol_find(visible, &one));
    assert_true(hp_symbol_find(hidden, &two));
    assert_true(hp_symbol_find(visible + 4, &middle)); /* even: on 32-bit Arm the lowest bit means something else */
    assert_non_null(strstr(one.image, "test_symbols"));
    assert_string_equal(one.image, two.image);
    assert_int_equal((uintptr_t)(one.address - two.address), visible - hidden);
    assert_int_equal(middle.address, one.address + 4);
}

static void the_file_of_an_address(void **state)
{
    (void)state;
    const char *path;
    uint64_t offset;
    assert_true(hp_symbol_image((uintptr_t)visible_helper, &path, &offset));
    assert_non_null(strstr(path, "test_symbols"));
    assert_true(offset > 0);
    assert_false(hp_symbol_image(0, &path, &offset));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_the_program), cmocka_unit_test(the_middle_of_a_function),
        cmocka_unit_test(functions_of_libraries),   cmocka_unit_test(addresses_outside_functions),
        cmocka_unit_test(the_file_of_an_address),   cmocka_unit_test(the_place_in_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
