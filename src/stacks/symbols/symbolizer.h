/*
 * Names addresses: functions, inlined functions, files and lines. For each image uses what there is: its own
 * symbols and debug information, or those of a separate file, or the exported symbols; else "image+0x...".
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
#include "symbol_tables.h"

struct hp_symbolizer {
    const char *sysroot;              /* put before all paths; NULL: none */
    bool has_no_lines;                /* only names of functions are wanted */
    struct hp_image_symbols **images; /* by number of the image; NULL: not read yet */
    size_t count;
    uint64_t *seen_ns;                  /* by number of the image, if lines are chosen: the time it was seen */
    size_t seen_count;                  /* images that come later have no lines */
    uint64_t lines_ns;                  /* what reading lines may still take */
    struct hp_text_cache names, places; /* readable names of functions; places without a name */
};

/* A place on a stack. */
struct hp_event_code {
    const struct hp_image *image; /* NULL: unknown */
    uint64_t linked;
    size_t caller;        /* one before it; the first is that of all */
    uint64_t ns, self_ns; /* how long it was seen, with its callees and without */
};

/*
 * Chooses whose lines are read, before places are looked up: by default those of all. Reading them takes a small
 * part of the time for which code was seen; the code that took longest itself comes first. Without memory, all are
 * read. First files are chosen, before they are loaded, then parts of them.
 */
void hp_symbolizer_weigh(struct hp_symbolizer *symbolizer, const struct hp_event_code *event, size_t count);
void hp_symbolizer_choose_lines(struct hp_symbolizer *symbolizer, const struct hp_event_code *event, size_t count);

/* Reads the symbols of an image, which is done otherwise when they are needed. False: they were read before. */
bool hp_symbolizer_load(struct hp_symbolizer *symbolizer, const struct hp_image *image);

/*
 * What is at a link-time address of the image: the innermost function first, each inlined into the next. Always at
 * least one, with a name. For a return address, ask for the address before it. Texts stay valid.
 */
size_t hp_symbolizer_find(struct hp_symbolizer *symbolizer, const struct hp_image *image, uint64_t linked,
                          struct hp_source_place *places, size_t most);
void hp_symbolizer_free(struct hp_symbolizer *symbolizer);

#endif
