/*
 * Gives arbitrary names to the code that makes C++ names readable: the short name of a signature, the qualified
 * name in a mangled name, and the demangler; and to the one for Rust. Each result must end within its buffer and
 * have the returned length; if it fits, it must equal the result with a larger buffer. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "cxxname.h"
#include "demangle.h"
#include "input.h"

#define LONGEST_NAME 2000u
#define ROOM 8192u
#define LEAST_ROOM 16u /* for the words before a name: "decltype" is one */

typedef size_t shortener(const char *name, char *out, size_t size);

/* Time stands still: the demangler gives up after some seconds of work. */
clock_t clock(void);
clock_t clock(void) { return 0; }

/* Into memory of exactly that size, so that a sanitizer sees the first byte beyond it. */
static void require_shortened(shortener *shorten, const char *name, const char *whole, size_t size)
{
    char *out = malloc(size);
    REQUIRE(out != NULL);
    const size_t length = shorten(name, out, size);
    REQUIRE(length == strlen(out) && length < size);
    REQUIRE(size < LEAST_ROOM || strlen(whole) >= size || strcmp(out, whole) == 0);
    free(out);
}

static void check(shortener *shorten, const char *name, size_t size)
{
    static char whole[ROOM];
    const size_t length = shorten(name, whole, sizeof whole);
    REQUIRE(length == strlen(whole) && length < sizeof whole);
    require_shortened(shorten, name, whole, size);
    require_shortened(shorten, name, whole, length + 1);
}

static void check_demangler(const char *name, size_t size)
{
    static char whole[ROOM];
    char *signature = malloc(size);
    REQUIRE(signature != NULL);
    if (hp_demangle(name, signature, size)) {
        REQUIRE(strlen(signature) < size);
        check(hp_cxx_short_name, signature, size);
        check(hp_cxx_signature, signature, size);
        REQUIRE(hp_demangle(name, whole, sizeof whole) && strcmp(whole, signature) == 0);
    }
    free(signature);
}

static void check_rust(const char *linked, size_t size)
{
    static char whole[ROOM];
    char *name = malloc(size);
    REQUIRE(name != NULL);
    if (hp_rust_name(linked, name, size)) {
        REQUIRE(strlen(name) < size);
        REQUIRE(hp_rust_name(linked, whole, sizeof whole) && strcmp(whole, name) == 0);
    }
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    const size_t room = 1 + (size_t)fuzz_number(&input, 2) % 1024;
    if (input.left > LONGEST_NAME)
        return 0;
    /* Exactly as long as the name, with the mangling prefix and without it. */
    char *name = malloc(input.left + 3);
    REQUIRE(name != NULL);
    memcpy(name, "_Z", 2);
    name[2 + fuzz_bytes(&input, name + 2, input.left)] = '\0';
    check(hp_cxx_short_name, name + 2, room);
    check(hp_cxx_signature, name + 2, room);
    check(hp_cxx_bare_name, name + 2, room);
    check(hp_cxx_qualified_name, name + 2, room);
    check(hp_cxx_qualified_name, name, room);
    check_demangler(name, room);
    check_rust(name, room);
    free(name);
    return 0;
}
