/* Names of C functions without what compilers and linkers append. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plain_name.h"

static void assert_plain(const char *linked, bool is_of_c_library, const char *truth)
{
    char name[64];
    assert_int_equal(hp_plain_name(linked, is_of_c_library, name, sizeof name), strcmp(linked, truth) != 0);
    if (strcmp(linked, truth) != 0)
        assert_string_equal(name, truth);
}

static void what_compilers_append(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"copy.part.0", "copy"},
        {"copy.part.0.isra.1", "copy"},
        {"copy.constprop.12.cold", "copy"},
        {"copy.cold.3", "copy"},
        {"copy.lto_priv.0", "copy"},
        {"memcpy@@GLIBC_2.14", "memcpy"},
        {"stat64@GLIBC_2.33", "stat64"},
        {"main.func1", "main.func1"},
        {"part", "part"},
        {".part.0", ".part.0"},
        {"a.party.0", "a.party.0"},
        {"x.part", "x.part"},
        {"~run@/home/a.js", "~run@/home/a.js"},
        {"@GLIBC_2.2", "@GLIBC_2.2"},
        {"", ""},
        {"_Z4copyi.part.0", "_Z4copyi.part.0"},
        {"std::copy(int*) [clone .part.0]", "std::copy(int*) [clone .part.0]"},
    };
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++) {
        assert_plain(names[at][0], false, names[at][1]);
        assert_plain(names[at][0], true, names[at][1]);
    }
}

/* A program's own variants for kinds of CPU have the names that it gave them. */
static void variants_of_the_c_library(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"__memmove_avx_unaligned_erms", "memmove"},
        {"__memset_evex_unaligned_erms", "memset"},
        {"__strlen_avx2", "strlen"},
        {"__strchr_sse2_no_bsf", "strchr"},
        {"__memcpy_sse2_unaligned", "memcpy"},
        {"__memmove_avx512_no_vzeroupper", "memmove"},
        {"__strspn_sse42", "strspn"},
        {"__sin_fma", "sin"},
        {"__ieee754_pow_fma", "pow"},
        {"__GI___clone3", "__clone3"},
        {"__libc_start_main@@GLIBC_2.34", "__libc_start_main"},
        {"__avx2", "__avx2"},
        {"_int_malloc", "_int_malloc"},
    };
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++)
        assert_plain(names[at][0], true, names[at][1]);
    assert_plain("dot_avx2", false, "dot_avx2");
    assert_plain("__dot_avx2_unaligned", false, "__dot_avx2_unaligned");
}

static void long_names_stay(void **state)
{
    (void)state;
    char name[8];
    assert_false(hp_plain_name("a_long_name.part.0", false, name, sizeof name));
    assert_true(hp_plain_name("a.cold", false, name, sizeof name));
}

static void keys_are_left_out(void **state)
{
    static const char *const names[][2] = {{"query[SELECT 1]", "query[text]"},
                                           {"a.c:12 query[x]", "a.c:12 query[text]"},
                                           {"odd[]]", "odd[text]"},
                                           {"odd[a[b]c]", "odd[text]"},
                                           {"main", "main"},
                                           {"[other]", "[other]"},
                                           {"T::operator[]", "T::operator[]"},
                                           {"f [clone .isra.0]", "f [clone .isra.0]"},
                                           {"", ""},
                                           {"T::at[abi](int)", "T::at[abi](int)"}};
    char plain[64];
    (void)state;
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++)
        assert_string_equal(hp_without_key(names[at][0], plain, sizeof plain), names[at][1]);
    assert_string_equal(hp_without_key("a long label[secret]", plain, 12), "a lon[text]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_compilers_append),
        cmocka_unit_test(variants_of_the_c_library),
        cmocka_unit_test(long_names_stay),
        cmocka_unit_test(keys_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
