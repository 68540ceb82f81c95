/*
 * Arbitrary bytes for a terminal: made safe, they contain no control characters; fitted, they take the returned
 * width, within the limit; cut, they are still UTF-8. SPDX-License-Identifier: MIT
 */
#include "check.h"
#include "input.h"
#include "utf8.h"

#define LONGEST_INPUT 4096u

/* The fitted text takes the returned width, within the limit. */
static void check_fitted(const char *bytes, size_t length, size_t columns)
{
    static char safe[8 * LONGEST_INPUT], fitted[8 * LONGEST_INPUT + 8];
    struct hp_text text;
    hp_text_init(&text, safe, sizeof safe);
    hp_utf8_put_safe(&text, bytes, length);
    REQUIRE(!text.is_cut);
    const size_t safe_length = text.length;
    fuzz_require_harmless(safe, safe_length);
    hp_text_init(&text, fitted, sizeof fitted);
    const size_t taken = hp_utf8_put_fitted(&text, safe, safe_length, columns);
    REQUIRE(!text.is_cut && taken <= columns);
    REQUIRE(fuzz_require_harmless(fitted, text.length) == taken);
}

/* Cut to any size, it is a prefix of the whole text. */
static void check_cut(const char *bytes, size_t length, size_t size)
{
    static char cut[LONGEST_INPUT + 1];
    struct hp_text text;
    hp_text_init(&text, cut, size);
    hp_utf8_put_safe(&text, bytes, length);
    fuzz_require_harmless(cut, text.length);
    hp_text_end(&text);
    REQUIRE(text.length < size && cut[text.length] == '\0');
    fuzz_require_harmless(cut, text.length);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    const size_t number = (size_t)fuzz_number(&input, 2) % LONGEST_INPUT;
    if (input.left > LONGEST_INPUT)
        return 0;
    check_fitted((const char *)input.at, input.left, number % 400);
    check_cut((const char *)input.at, input.left, number + 1);
    return 0;
}
