/*
 * The functions of a program or library file, and the kind of reader that lists them. The program has such a reader
 * (src/symbols), which the sections may ask; the library has none. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_FUNCTIONS_OF_H
#define HP_OS_FUNCTIONS_OF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_arena;

struct hp_function {
    const char *name;
    const char *source; /* of a static one, as the compiler was told; "" where it is not known */
    uint64_t address;   /* as the linker gave it */
    uint64_t size;      /* in bytes */
    bool is_instrumented;
};

struct hp_functions {
    struct hp_function *all; /* by address, each address once */
    size_t count;
};

/*
 * Lists the functions of a file, in memory of the arena. Returns NULL, or why it cannot, as the end of a sentence that
 * begins with the path: "is not there any more".
 */
typedef const char *hp_functions_reader(struct hp_arena *arena, const char *path,
                                        struct hp_functions *ret_functions);

#endif
