/*
 * Gives arbitrary maps of generated code to their reader: a byte with the number of addresses, these, then the map.
 * Names must be within a line of the map, and an address must have the name that it has alone.
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "input.h"
#include "perf_map.h"

#define MOST 16u

static int by_address(const void *a, const void *b)
{
    const struct hp_generated_code *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    struct hp_generated_code codes[MOST] = {0};
    const size_t count = fuzz_byte(&input) % (MOST + 1);
    for (size_t at = 0; at < count; at++) /* most are near each other */
        codes[at].address = fuzz_byte(&input) | (uint64_t)fuzz_byte(&input) << (fuzz_byte(&input) % 64);
    qsort(codes, count, sizeof codes[0], by_address);
    char *exact = malloc(input.left > 0 ? input.left : 1); /* so that a sanitizer sees the first byte beyond it */
    REQUIRE(exact != NULL);
    if (input.left > 0)
        memcpy(exact, input.at, input.left);
    REQUIRE(hp_perf_map_find(exact, input.left, codes, count));
    for (size_t at = 0; at < count; at++) {
        struct hp_generated_code alone = {.address = codes[at].address};
        REQUIRE(hp_perf_map_find(exact, input.left, &alone, 1));
        REQUIRE(alone.name == codes[at].name && alone.length == codes[at].length);
        if (alone.name == NULL)
            continue;
        REQUIRE(alone.length > 0 && alone.name > exact && alone.name + alone.length < exact + input.left);
        REQUIRE(memchr(alone.name, '\n', alone.length) == NULL && alone.name[alone.length] == '\n');
    }
    free(exact);
    return 0;
}
