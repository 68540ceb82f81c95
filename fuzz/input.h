/*
 * The bytes of an input, taken from the front. After the end, zeros are returned: every input is valid.
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct fuzz_input {
    const uint8_t *at;
    size_t left;
};

static inline uint8_t fuzz_byte(struct fuzz_input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->at++;
}

/* Little-endian, of 1 to 8 bytes. */
static inline uint64_t fuzz_number(struct fuzz_input *input, unsigned bytes)
{
    uint64_t number = 0;
    for (unsigned at = 0; at < bytes; at++)
        number |= (uint64_t)fuzz_byte(input) << 8 * at;
    return number;
}

/* This many bytes, or the rest. Returns how many. */
static inline size_t fuzz_bytes(struct fuzz_input *input, void *to, size_t size)
{
    const size_t length = size < input->left ? size : input->left;
    if (length > 0)
        memcpy(to, input->at, length);
    input->at += length;
    input->left -= length;
    return length;
}

/* A text of at most size - 1 bytes, none of them zero; the input says how many. */
static inline void fuzz_text(struct fuzz_input *input, char *to, size_t size)
{
    size_t length = (size_t)fuzz_number(input, 2) % size;
    length = fuzz_bytes(input, to, length);
    to[length] = '\0';
}

#endif
