/* A place in the code, with names. SPDX-License-Identifier: MIT */
#ifndef HP_MODEL_CODE_PLACE_H
#define HP_MODEL_CODE_PLACE_H

#include <stdint.h>

struct hp_code_place {
    const char *name; /* of the function, past wrappers; NULL: unknown */
    const char *file; /* "": unknown */
    uint32_t line;
};

#endif
