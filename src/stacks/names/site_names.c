/*
 * Names of places in the code. Which functions are wrappers is found from all that a process did: the same function
 * may be one in one program and the place that users know in another. SPDX-License-Identifier: MIT
 */
#include "site_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "demangle.h"
#include "elf_file.h"
#include "files.h"
#include "growing_array.h"
#include "layout.h"
#include "plain_name.h"

#define MOST_INLINED 16u

/* ------------------------------------------------------------------------------------------------------ reading */

/* As many items as there may be, and as are in the file. */
static const void *find_table(struct hp_side_reading *file, uint32_t table, uint32_t at, uint32_t size,
                              uint32_t most)
{
    uint32_t *count = &file->header.counts[table];
    const size_t room = file->size > at ? (file->size - at) / size : 0;
    *count = *count < most ? *count : most;
    *count = room < *count ? (uint32_t)room : *count;
    return file->bytes + (*count > 0 ? at : 0);
}

static bool is_header(const struct hp_side_header *header, const struct hp_side_format *format)
{
    return memcmp(header->magic, format->magic, sizeof header->magic) == 0 && header->byte_order == HP_BYTE_ORDER &&
           header->version == format->version;
}

static void find_tables(struct hp_side_reading *file, const struct hp_side_format *format)
{
    file->sites = find_table(file, HP_SIDE_SITES, HP_SIDE_SITES_AT, sizeof *file->sites, HP_SIDE_MOST_SITES);
    file->images = find_table(file, HP_SIDE_IMAGES, HP_SIDE_IMAGES_AT, sizeof *file->images, HP_SIDE_MOST_IMAGES);
    for (uint32_t table = HP_SIDE_FIRST_OWN; table < format->table_count; table++)
        file->tables[table] =
            find_table(file, table, format->own[table].at, format->own[table].bytes, format->own[table].most);
}

/* By the two moments in the file, unless they are so close that errors show. */
static double rate_of(const struct hp_side_header *header)
{
    const uint64_t ticks = header->latest_ticks - header->first_ticks, ns = header->latest_ns - header->first_ns;
    const bool is_far = ns > 20000000 && ns < UINT64_MAX / 2 && ticks > 0 && ticks < UINT64_MAX / 2;
    if (!is_far && header->ticks_per_ms > 0)
        return 1e6 / (double)header->ticks_per_ms;
    return ticks > 0 && ns > 0 ? (double)ns / (double)ticks : 1;
}

bool hp_side_read(struct hp_side_reading *file, const char *path, const struct hp_side_format *format)
{
    struct stat status;
    const int fd = hp_regular_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW);
    if (fd < 0)
        return false;
    const bool is_there = fstat(fd, &status) == 0 && status.st_size >= (off_t)HP_SIDE_HEADER_BYTES &&
                          status.st_size <= (off_t)format->bytes &&
                          (file->bytes = malloc((size_t)status.st_size)) != NULL;
    file->size = is_there ? (size_t)status.st_size : 0;
    const bool is_read = is_there && hp_elf_read_at(fd, 0, file->bytes, file->size);
    close(fd);
    if (!is_read)
        return false;
    memcpy(&file->header, file->bytes, sizeof file->header);
    if (!is_header(&file->header, format))
        return false;
    find_tables(file, format);
    file->ns_per_tick = rate_of(&file->header);
    return true;
}

bool hp_is_same_name(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

void hp_steps_add(uint64_t *to, double *tick_ns, const uint32_t *from, double from_tick_ns, uint32_t bits,
                  uint32_t octaves)
{
    if (*tick_ns <= 0)
        *tick_ns = from_tick_ns;
    const double ratio = from_tick_ns / *tick_ns;
    const bool is_same = ratio > 0.999 && ratio < 1.001;
    for (uint32_t at = 0; at < octaves << bits; at++)
        if (from[at] != 0)
            to[is_same ? at : hp_step_of((uint64_t)(hp_step_middle(at, bits) * ratio), bits, octaves)] += from[at];
}

void hp_side_reading_free(struct hp_side_reading *file)
{
    free(file->bytes);
    *file = (struct hp_side_reading){0};
}

void hp_site_names_free(struct hp_site_names *names)
{
    hp_symbolizer_free(&names->symbolizer);
    hp_image_set_free(&names->images);
    hp_arena_release(&names->arena);
}

/* ---------------------------------------------------------------------------------------------- texts and names */

const char *hp_site_keep(struct hp_site_names *names, const char *text)
{
    const char *kept = hp_arena_copy(&names->arena, text, strlen(text));
    names->is_out_of_memory |= kept == NULL;
    return kept != NULL ? kept : "";
}

/* The image with an address, and its linked address there. */
struct hp_image *hp_site_image(struct hp_site_names *names, const struct hp_side_reading *file, uint64_t address,
                               uint64_t *ret_linked)
{
    for (uint32_t at = 0; at < file->header.counts[HP_SIDE_IMAGES]; at++) {
        const struct hp_call_image *mapped = &file->images[at];
        char path[sizeof mapped->path];
        uint64_t bias;
        if (address - mapped->start >= mapped->end - mapped->start || mapped->start == 0)
            continue;
        memcpy(path, mapped->path, sizeof path);
        path[sizeof path - 1] = '\0';
        const struct hp_image_place place = {
            .path = path, .start = mapped->start, .end = mapped->end, .inode = mapped->inode};
        struct hp_image *image = hp_image_set_find(&names->images, &place);
        if (image == NULL)
            return NULL;
        *ret_linked = address - mapped->start + mapped->offset;
        if (image->is_readable &&
            hp_image_file_bias(&image->file, mapped->offset, mapped->end - mapped->start, &bias))
            *ret_linked += bias;
        return image;
    }
    return NULL;
}

/* The arguments of a C++ function, and of a template, are left out. */
static void shorten(char *name)
{
    size_t depth = 0, length = strlen(name);
    if (length == 0 || name[length - 1] != ')')
        return;
    for (size_t at = length; at-- > 0;) {
        depth += name[at] == ')';
        depth -= name[at] == '(' && depth > 0;
        if (name[at] == '(' && depth == 0 && at > 0 && strncmp(name, "operator", 8) != 0) {
            name[at] = '\0';
            return;
        }
    }
}

static void add_frame(struct hp_site_names *names, struct hp_named_site *site, const struct hp_source_place *place)
{
    char name[HP_SITE_MOST_NAME];
    if (site->count == HP_SITE_MOST_FRAMES)
        return;
    if (!hp_demangle(place->function, name, sizeof name) &&
        !hp_plain_name(place->function, false, name, sizeof name))
        snprintf(name, sizeof name, "%s", place->function);
    shorten(name);
    site->frames[site->count++] =
        (struct hp_code_place){hp_site_keep(names, name), hp_site_keep(names, place->file), place->line};
}

/* A hook that is called by another one, as printf is. */
static bool is_ours(const struct hp_image *image)
{
    const char *slash = strrchr(image->path, '/');
    return slash != NULL && strncmp(slash, "/libhotpath", 11) == 0;
}

static void name_site(struct hp_site_names *names, const struct hp_side_reading *file,
                      const struct hp_call_site *from, struct hp_named_site *site)
{
    struct hp_source_place places[MOST_INLINED];
    char unknown[40];
    uint64_t linked;
    for (unsigned frame = 0; frame < HP_CALL_FRAMES && from->pc[frame] != 0; frame++) {
        const struct hp_image *image = hp_site_image(names, file, from->pc[frame] - 1, &linked);
        if (image == NULL) {
            snprintf(unknown, sizeof unknown, "0x%llx", (unsigned long long)from->pc[frame]);
            add_frame(names, site, &(struct hp_source_place){.function = unknown, .file = ""});
            continue;
        }
        if (is_ours(image))
            continue;
        const size_t count = hp_symbolizer_find(&names->symbolizer, image, linked, places, MOST_INLINED);
        for (size_t at = 0; at < count; at++)
            add_frame(names, site, &places[at]);
    }
}

/* ---------------------------------------------------------------------------------------------------- wrappers */

/* Inlined into whatever uses a lock of C++. Templates that are inlined have no scope in their names, but a file. */
static bool is_of_cxx_library(const struct hp_code_place *function)
{
    const char *name = function->name;
    return strncmp(name, "std::", 5) == 0 || strstr(function->file, "/include/c++/") != NULL ||
           strncmp(name, "__gthread", 9) == 0 || strncmp(name, "__glibcxx_", 10) == 0 ||
           strncmp(name, "__shared_", 9) == 0 || strncmp(name, "__gnu_cxx::", 11) == 0;
}

struct use {
    const char *function, *caller;
    uint32_t thing;
    enum hp_site_side side;
};

struct hp_site_uses {
    const struct hp_side_reading *file;
    struct use *all;
    size_t count, room;
    bool is_out_of_memory;
};

void hp_site_use(struct hp_site_uses *uses, uint32_t number, uint32_t thing, enum hp_site_side side)
{
    if (number == 0 || number > uses->file->header.counts[HP_SIDE_SITES])
        return;
    const struct hp_named_site *site = &uses->file->named[number - 1];
    if (site->chosen + 1 >= site->count)
        return;
    if (!HP_MAKE_ROOM(uses->all, uses->count + 1, uses->room)) {
        uses->is_out_of_memory = true;
        return;
    }
    uses->all[uses->count++] =
        (struct use){site->frames[site->chosen].name, site->frames[site->chosen + 1].name, thing, side};
}

static int by_function(const void *a, const void *b)
{
    return strcmp(((const struct use *)a)->function, ((const struct use *)b)->function);
}

/* The first use of a function; they are sorted. */
static size_t first_use(const struct hp_site_uses *uses, const char *name)
{
    size_t low = 0, high = uses->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(uses->all[middle].function, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_wrapper(const struct hp_site_uses *uses, const char *name)
{
    const size_t begin = first_use(uses, name);
    const struct use *first = &uses->all[begin];
    bool has_callers = false, has_things = false;
    unsigned sides = 0;
    for (size_t at = begin; at < uses->count && strcmp(uses->all[at].function, name) == 0; at++) {
        const struct use *use = &uses->all[at];
        has_callers |= strcmp(use->caller, first->caller) != 0;
        has_things |= use->thing != first->thing;
        sides |= use->side;
    }
    return has_callers && (has_things || sides != HP_SITE_BOTH);
}

/* One step outwards for sites that end in a wrapper. False: there was none. */
static bool pass(struct hp_side_reading *file, hp_site_gather *gather, const void *context)
{
    struct hp_site_uses uses = {.file = file};
    bool has_passed = false;
    gather(&uses, context);
    if (uses.count > 1)
        qsort(uses.all, uses.count, sizeof *uses.all, by_function);
    for (uint32_t at = 0; at < file->header.counts[HP_SIDE_SITES] && !uses.is_out_of_memory; at++) {
        struct hp_named_site *site = &file->named[at];
        if (site->chosen + 1 < site->count && is_wrapper(&uses, site->frames[site->chosen].name)) {
            site->chosen++;
            has_passed = true;
        }
    }
    free(uses.all);
    return has_passed;
}

void hp_sites_pass_wrappers(struct hp_side_reading *file, hp_site_gather *gather, const void *context)
{
    for (unsigned step = 0; step < 2 && pass(file, gather, context); step++)
        ;
}

bool hp_sites_name(struct hp_site_names *names, struct hp_side_reading *file)
{
    const uint32_t count = file->header.counts[HP_SIDE_SITES];
    file->named = hp_arena_take_array(&names->arena, count + 1, sizeof *file->named);
    if (file->named == NULL)
        return false;
    for (uint32_t at = 0; at < count; at++) {
        struct hp_named_site *site = &file->named[at];
        name_site(names, file, &file->sites[at], site);
        while (site->chosen + 1 < site->count && is_of_cxx_library(&site->frames[site->chosen]))
            site->chosen++;
    }
    return true;
}

struct hp_code_place hp_site_function(const struct hp_side_reading *file, uint32_t site)
{
    if (site == 0 || site > file->header.counts[HP_SIDE_SITES] || file->named[site - 1].count == 0)
        return (struct hp_code_place){NULL, "", 0};
    const struct hp_named_site *its = &file->named[site - 1];
    return its->frames[its->chosen];
}
