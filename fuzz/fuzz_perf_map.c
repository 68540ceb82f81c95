/*
 * Gives arbitrary maps of generated code to their reader: a byte for how many addresses, the addresses, then the
 * map. Each address must have the name of the last line that has it, found here in the simplest way.
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "input.h"
#include "perf_map.h"

#define MOST 16u
#define LONGEST_INPUT 4096u

static int by_address(const void *a, const void *b)
{
    const struct hp_generated_code *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* A number in a line, with one blank behind it. NULL: it is none. */
static const char *number_at(const char *at, uint64_t *ret_number)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X') && at[2] != '\0')
        at += 2;
    const size_t length = strspn(at, digits);
    *ret_number = strtoull(at, NULL, 16);
    return length > 0 && length <= 16 && at[length] == ' ' ? at + length + 1 : NULL;
}

/* The name in a line, if it has the address; else NULL. */
static const char *name_for(const char *line, uint64_t address)
{
    uint64_t start, size;
    const char *at = number_at(line, &start);
    at = at != NULL ? number_at(at, &size) : NULL;
    if (at == NULL || *at == '\0' || start + size < start)
        return NULL;
    return address >= start && address < start + size ? at : NULL;
}

/* From the first line to the last one. Texts with zeros are left out by the caller. */
static void require_last(const char *text, size_t size, const struct hp_generated_code *code)
{
    char line[LONGEST_INPUT + 1];
    const char *expected = NULL;
    size_t length = 0;
    for (const char *at = text, *end; (end = memchr(at, '\n', size - (size_t)(at - text))) != NULL; at = end + 1) {
        memcpy(line, at, (size_t)(end - at));
        line[end - at] = '\0';
        const char *name = name_for(line, code->address);
        if (name != NULL) {
            expected = at + (name - line);
            length = (size_t)(end - expected);
        }
        if (end + 1 == text + size)
            break;
    }
    REQUIRE(code->name == expected && (expected == NULL || code->length == length));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    struct hp_generated_code codes[MOST] = {0};
    if (size > LONGEST_INPUT)
        return 0;
    const size_t count = fuzz_byte(&input) % (MOST + 1);
    for (size_t at = 0; at < count; at++) { /* most are near each other */
        const uint64_t low = fuzz_byte(&input), high = fuzz_byte(&input);
        codes[at].address = low | high << (fuzz_byte(&input) % 64);
    }
    qsort(codes, count, sizeof codes[0], by_address);
    char *text = malloc(input.left > 0 ? input.left : 1); /* so that a sanitizer sees the first byte beyond it */
    REQUIRE(text != NULL);
    if (input.left > 0)
        memcpy(text, input.at, input.left);
    REQUIRE(hp_perf_map_find(text, input.left, codes, count));
    const bool has_zeros = memchr(text, '\0', input.left) != NULL;
    for (size_t at = 0; at < count && !has_zeros; at++)
        require_last(text, input.left, &codes[at]);
    free(text);
    return 0;
}
