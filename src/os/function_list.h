/*
 * The functions of a program or library file, and the type of a reader that lists them. The program has such a
 * reader (src/symbols), for use by the sections; the library has none. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_FUNCTIONS_OF_H
#define HP_OS_FUNCTIONS_OF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_arena;

struct hp_function {
    const char *name;
    const char *source; /* of a static function, as passed to the compiler; "" if unknown */
    uint64_t address;   /* linked address */
    uint64_t size;      /* in bytes */
    bool is_instrumented;
};

struct hp_functions {
    struct hp_function *all; /* by address, each address once */
    size_t count;
};

/*
 * Lists the functions of a file, in memory of the arena. Returns NULL, or the reason for failure as the end of a
 * sentence that begins with the path: "is not there any more".
 */
typedef const char *hp_functions_reader(struct hp_arena *arena, const char *path,
                                        struct hp_functions *ret_functions);

#endif
