/*
 * The files beside the sessions of a run (side_layout.h), and names for the places in the code that are in them.
 * Trusts nothing in the files.
 *
 *     struct hp_side_reading file = {0};
 *     if (hp_side_read(&file, path, &format) && hp_sites_name(&names, &file)) ...
 *         hp_sites_pass_wrappers(&file, gather, context);
 *         function = hp_site_function(&file, number);
 *     hp_side_reading_free(&file);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_SITE_NAMES_H
#define HP_NAMES_SITE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "code_place.h"
#include "image_set.h"
#include "side_layout.h"
#include "symbolizer.h"

#define HP_SITE_MOST_NAME 1024u
#define HP_SITE_MOST_FRAMES 8u

/* Whether two names are the same; NULL is one, too. */
bool hp_is_same_name(const char *a, const char *b);

/*
 * Adds a histogram of a process (hp_step_of) to one in ticks of `tick_ns`. All processes of a run have the same
 * ticks, but for the last digits of their length: what is a step for one is a step for all. In other steps a time
 * would be inaccurate twice.
 */
void hp_steps_add(uint64_t *to, double *tick_ns, const uint32_t *from, double from_tick_ns, uint32_t bits,
                  uint32_t octaves);

/* The functions of a site, inlined ones included, the innermost first. */
struct hp_named_site {
    struct hp_code_place frames[HP_SITE_MOST_FRAMES];
    uint32_t count;
    uint32_t chosen; /* index of the frame that users know */
};

/* What a kind of file is like. */
struct hp_side_format {
    const char *suffix, *magic;
    uint32_t version, bytes;
    uint32_t table_count;
    struct {
        uint32_t at, bytes, most;
    } own[HP_SIDE_MOST_TABLES]; /* from HP_SIDE_FIRST_OWN on; the others are not used */
};

struct hp_side_reading {
    struct hp_side_header header; /* with counts that the file has room for */
    const struct hp_call_site *sites;
    const struct hp_call_image *images;
    const void *tables[HP_SIDE_MOST_TABLES];
    char *bytes;
    size_t size;
    double ns_per_tick;
    struct hp_named_site *named; /* of the sites */
};

bool hp_side_read(struct hp_side_reading *file, const char *path, const struct hp_side_format *format);
void hp_side_reading_free(struct hp_side_reading *file);

/* What names have in common; zero at first. */
struct hp_site_names {
    struct hp_arena arena;
    struct hp_image_set images;
    struct hp_symbolizer symbolizer;
    bool is_out_of_memory;
};
void hp_site_names_free(struct hp_site_names *names);
const char *hp_site_keep(struct hp_site_names *names, const char *text);
/* The image with an address, and its linked address there. NULL: unknown. */
struct hp_image *hp_site_image(struct hp_site_names *names, const struct hp_side_reading *file, uint64_t address,
                               uint64_t *ret_linked);

/* Names all sites of a file. Functions of the C++ library that are inlined into their callers are passed over. */
bool hp_sites_name(struct hp_site_names *names, struct hp_side_reading *file);

/*
 * What a function is used for: a function that is called by several others, and for several things, or only for one
 * side of what belongs together, is a wrapper. Its caller is the place that users know.
 */
enum hp_site_side { HP_SITE_TAKES = 1, HP_SITE_GIVES = 2, HP_SITE_BOTH = HP_SITE_TAKES | HP_SITE_GIVES };
struct hp_site_uses; /* private */
typedef void hp_site_gather(struct hp_site_uses *uses, const void *context);
void hp_site_use(struct hp_site_uses *uses, uint32_t site, uint32_t thing, enum hp_site_side side);
/* Moves the chosen frames past wrappers. `gather` calls hp_site_use for all that is known, perhaps repeatedly. */
void hp_sites_pass_wrappers(struct hp_side_reading *file, hp_site_gather *gather, const void *context);

/* By the number of a site, from 1. Its name is NULL if it is unknown. */
struct hp_code_place hp_site_function(const struct hp_side_reading *file, uint32_t site);

#endif
