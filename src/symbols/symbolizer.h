/*
 * Names for addresses: functions, those that were inlined, files and lines. Of each image what there is: its own symbols and
 * debug information, or those of a separate file, or the exported symbols; else it is "image+0x...".
 *
 *     struct hp_symbolizer symbolizer = {.sysroot = NULL};
 *     count = hp_symbolizer_find(&symbolizer, image, address, places, MOST);
 *     hp_symbolizer_free(&symbolizer);
 *
 * One thread at a time. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_SYMBOLIZER_H
#define HP_SYMBOLS_SYMBOLIZER_H

#include "image_set.h"
#include "source_lines.h"
#include "text_cache.h"

struct hp_symbolizer {
    const char *sysroot; /* put before all paths; NULL: none */
    bool has_no_lines;   /* only names of functions are wanted */
    const uint64_t
        *seen_ns; /* by number of the image: the time it was seen for; NULL: its lines are worth any time */
    struct hp_image_symbols **images; /* by number of the image; NULL: not read yet */
    size_t count;
    struct hp_text_cache names, places; /* readable names of functions; places without a name */
};

/*
 * What is at an address, as the image's linker gave it: the innermost function first, each inlined into the next. Always at
 * least one, with a name. For a return address, ask for the place before it. Texts stay valid.
 */
size_t hp_symbolizer_find(struct hp_symbolizer *symbolizer, const struct hp_image *image, uint64_t linked,
                          struct hp_source_place *places, size_t most);
void hp_symbolizer_free(struct hp_symbolizer *symbolizer);

#endif
