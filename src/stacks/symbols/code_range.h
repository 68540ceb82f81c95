/* The address range of the function at a place. SPDX-License-Identifier: MIT */
#ifndef HP_SYMBOLS_CODE_RANGE_H
#define HP_SYMBOLS_CODE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

struct hp_code_range {
    uint64_t start, end; /* link-time addresses */
};

enum hp_code_range_result {
    HP_CODE_FOUND,
    HP_CODE_NO_FILE,   /* errno says why */
    HP_CODE_OTHER_FILE /* it was replaced since: its build-id differs */
};

/* `build_id` is that of the wanted file, in hexadecimal; "": it has none. `place` is a link-time address. */
enum hp_code_range_result hp_code_range_find(const char *path, const char *build_id, uint64_t place,
                                             struct hp_code_range *ret_range);

#endif
