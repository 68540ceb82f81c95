/*
 * Names and sums of locks.
 *
 * A wrapper is a function that is there to call the lock function. Its caller is the place that users know. Which
 * functions are wrappers is found from all sites of a process: several functions call it, and it is for several
 * locks, or it takes a lock and leaves it to others to give it up, or the other way round. Functions of the C++
 * library that are inlined into their callers are passed over, too.
 *
 * Two locks are in one row if they have the same kind and name, so those of several processes are added up.
 * SPDX-License-Identifier: MIT
 */
#include "lock_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "clock.h"
#include "demangle.h"
#include "elf_file.h"
#include "files.h"
#include "growing_array.h"
#include "image_set.h"
#include "layout.h"
#include "memory.h"
#include "session_dirs.h"
#include "symbolizer.h"
#include "text.h"

#define MOST_INLINED 16u
#define MOST_NAME 1024u

/* A frame of a site, with its name. */
struct frame {
    const char *name; /* NULL: none */
    const char *file;
    uint32_t line;
};
#define MOST_FRAMES 8u
struct named_site {
    struct frame frames[MOST_FRAMES];
    uint32_t count;
    uint32_t chosen; /* index of the frame that users know */
};

/* The file of a process. */
struct file {
    struct hp_locks_header header;
    const struct hp_lock_site *sites;
    const struct hp_lock_pair *pairs;
    const struct hp_lock_image *images;
    const struct hp_lock_place *places;
    const struct hp_lock_entry *entries;
    char *bytes;
    size_t size;
    double ns_per_tick;
    struct named_site *named;    /* of the sites */
    struct hp_lock_row **row_of; /* of the places */
};

struct hp_lock_names {
    struct hp_arena arena;
    struct hp_image_set images;
    struct hp_symbolizer symbolizer;
    struct hp_lock_profile *profile;
    size_t row_room, block_room, table_room;
    const uint32_t *pids;
    size_t pid_count;
    const char *folder;
    bool is_out_of_memory;
};

/* ------------------------------------------------------------------------------------------------------ reading */

static uint32_t limited(uint32_t count, uint32_t most) { return count < most ? count : most; }

static const void *table_at(const struct file *file, uint32_t at, uint32_t *count, size_t size)
{
    const size_t room = file->size > at ? (file->size - at) / size : 0;
    *count = room < *count ? (uint32_t)room : *count;
    return file->bytes + (*count > 0 ? at : 0);
}

static bool is_header(const struct hp_locks_header *header)
{
    return memcmp(header->magic, HP_LOCKS_MAGIC, sizeof header->magic) == 0 &&
           header->byte_order == HP_BYTE_ORDER && header->version == HP_LOCKS_VERSION;
}

static void find_tables(struct file *file)
{
    uint32_t *counts = file->header.counts;
    counts[HP_LOCK_SITES] = limited(counts[HP_LOCK_SITES], HP_LOCK_MOST_SITES);
    counts[HP_LOCK_PAIRS] = limited(counts[HP_LOCK_PAIRS], HP_LOCK_MOST_PAIRS);
    counts[HP_LOCK_IMAGES] = limited(counts[HP_LOCK_IMAGES], HP_LOCK_MOST_IMAGES);
    counts[HP_LOCK_PLACES] = limited(counts[HP_LOCK_PLACES], HP_LOCK_MOST_PLACES);
    counts[HP_LOCK_ENTRIES] = limited(counts[HP_LOCK_ENTRIES], HP_LOCK_MOST_ENTRIES);
    file->sites = table_at(file, HP_LOCK_SITES_AT, &counts[HP_LOCK_SITES], sizeof *file->sites);
    file->pairs = table_at(file, HP_LOCK_PAIRS_AT, &counts[HP_LOCK_PAIRS], sizeof *file->pairs);
    file->images = table_at(file, HP_LOCK_IMAGES_AT, &counts[HP_LOCK_IMAGES], sizeof *file->images);
    file->places = table_at(file, HP_LOCK_PLACES_AT, &counts[HP_LOCK_PLACES], sizeof *file->places);
    file->entries = table_at(file, HP_LOCK_ENTRIES_AT, &counts[HP_LOCK_ENTRIES], sizeof *file->entries);
}

/* By the two moments in the file, unless they are so close that errors show. */
static double rate_of(const struct hp_locks_header *header)
{
    const uint64_t ticks = header->latest_ticks - header->first_ticks, ns = header->latest_ns - header->first_ns;
    const bool is_far = ns > 20000000 && ns < UINT64_MAX / 2 && ticks > 0 && ticks < UINT64_MAX / 2;
    if (!is_far && header->ticks_per_ms > 0)
        return 1e6 / (double)header->ticks_per_ms;
    return ticks > 0 && ns > 0 ? (double)ns / (double)ticks : 1;
}

static bool read_file(struct file *file, const char *path)
{
    struct stat status;
    const int fd = hp_regular_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW);
    if (fd < 0)
        return false;
    const bool is_there = fstat(fd, &status) == 0 && status.st_size >= (off_t)HP_LOCKS_HEADER_BYTES &&
                          status.st_size <= (off_t)HP_LOCKS_BYTES &&
                          (file->bytes = malloc((size_t)status.st_size)) != NULL;
    file->size = is_there ? (size_t)status.st_size : 0;
    const bool is_read = is_there && hp_elf_read_at(fd, 0, file->bytes, file->size);
    close(fd);
    if (!is_read)
        return false;
    memcpy(&file->header, file->bytes, sizeof file->header);
    if (!is_header(&file->header))
        return false;
    find_tables(file);
    file->ns_per_tick = rate_of(&file->header);
    return true;
}

/* ---------------------------------------------------------------------------------------------- texts and names */

static const char *keep(struct hp_lock_names *names, const char *text)
{
    const char *kept = hp_arena_copy(&names->arena, text, strlen(text));
    names->is_out_of_memory |= kept == NULL;
    return kept != NULL ? kept : "";
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The image with an address, and its linked address there. */
static struct hp_image *image_at(struct hp_lock_names *names, const struct file *file, uint64_t address,
                                 uint64_t *ret_linked)
{
    for (uint32_t at = 0; at < file->header.counts[HP_LOCK_IMAGES]; at++) {
        const struct hp_lock_image *mapped = &file->images[at];
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

static void add_frame(struct hp_lock_names *names, struct named_site *site, const struct hp_source_place *place)
{
    char name[MOST_NAME];
    if (site->count == MOST_FRAMES)
        return;
    if (!hp_demangle(place->function, name, sizeof name))
        snprintf(name, sizeof name, "%s", place->function);
    shorten(name);
    site->frames[site->count++] = (struct frame){keep(names, name), keep(names, place->file), place->line};
}

static void name_site(struct hp_lock_names *names, const struct file *file, const struct hp_lock_site *from,
                      struct named_site *site)
{
    struct hp_source_place places[MOST_INLINED];
    char unknown[40];
    uint64_t linked;
    for (unsigned frame = 0; frame < HP_LOCK_FRAMES && from->pc[frame] != 0; frame++) {
        const struct hp_image *image = image_at(names, file, from->pc[frame] - 1, &linked);
        if (image == NULL) {
            snprintf(unknown, sizeof unknown, "0x%llx", (unsigned long long)from->pc[frame]);
            add_frame(names, site, &(struct hp_source_place){.function = unknown, .file = ""});
            continue;
        }
        const size_t count = hp_symbolizer_find(&names->symbolizer, image, linked, places, MOST_INLINED);
        for (size_t at = 0; at < count; at++)
            add_frame(names, site, &places[at]);
    }
}

/* ---------------------------------------------------------------------------------------------------- wrappers */

/* Inlined into whatever uses a lock of C++. */
static bool is_of_cxx_library(const char *name)
{
    return strncmp(name, "std::", 5) == 0 || strncmp(name, "__gthread", 9) == 0 ||
           strncmp(name, "__glibcxx_", 10) == 0 || strncmp(name, "__shared_", 9) == 0 ||
           strncmp(name, "__gnu_cxx::", 11) == 0;
}

/* What one function at the end of sites is called by, and for which locks. */
enum side { TAKES = 1, GIVES = 2, UNKNOWN_SIDE = TAKES | GIVES };
struct use {
    const char *function, *caller;
    uint32_t place;
    enum side side;
};

struct uses {
    struct use *all;
    size_t count, room;
};

static bool note_use(struct uses *uses, const struct file *file, uint32_t number, uint32_t place, enum side side)
{
    if (number == 0 || number > file->header.counts[HP_LOCK_SITES])
        return true;
    const struct named_site *site = &file->named[number - 1];
    if (site->chosen + 1 >= site->count)
        return true;
    if (!HP_MAKE_ROOM(uses->all, uses->count + 1, uses->room))
        return false;
    uses->all[uses->count++] =
        (struct use){site->frames[site->chosen].name, site->frames[site->chosen + 1].name, place, side};
    return true;
}

static int by_function(const void *a, const void *b)
{
    return strcmp(((const struct use *)a)->function, ((const struct use *)b)->function);
}

/* Only locks are taken and given up by the same thread. */
static bool has_sides(const struct file *file, uint32_t place)
{
    const uint32_t kind = place - 1 < file->header.counts[HP_LOCK_PLACES] ? file->places[place - 1].kind : 0;
    return kind == HP_LOCK_MUTEX || kind == HP_LOCK_RWLOCK || kind == HP_LOCK_SPIN || kind == HP_LOCK_OWN;
}

static bool gather_uses(struct uses *uses, const struct file *file)
{
    for (uint32_t at = 0; at < file->header.counts[HP_LOCK_PLACES]; at++)
        if (!note_use(uses, file, file->places[at].site, at + 1,
                      !file->places[at].is_made && has_sides(file, at + 1) ? TAKES : UNKNOWN_SIDE))
            return false;
    for (uint32_t at = 0; at < file->header.counts[HP_LOCK_PAIRS]; at++) {
        const struct hp_lock_pair *pair = &file->pairs[at];
        const bool is_lock = has_sides(file, pair->place);
        if (!note_use(uses, file, pair->waiter, pair->place, is_lock ? TAKES : UNKNOWN_SIDE) ||
            !note_use(uses, file, pair->holder, pair->place, is_lock ? GIVES : UNKNOWN_SIDE))
            return false;
    }
    if (uses->count > 1)
        qsort(uses->all, uses->count, sizeof *uses->all, by_function);
    return true;
}

static bool is_wrapper(const struct uses *uses, const char *name)
{
    const struct use *first = NULL;
    bool has_callers = false, has_places = false;
    unsigned sides = 0;
    for (size_t at = 0; at < uses->count; at++) {
        const struct use *use = &uses->all[at];
        if (strcmp(use->function, name) != 0)
            continue;
        if (first == NULL)
            first = use;
        has_callers |= strcmp(use->caller, first->caller) != 0;
        has_places |= use->place != first->place;
        sides |= use->side;
    }
    return has_callers && (has_places || sides != UNKNOWN_SIDE);
}

/* One step outwards for sites that end in a wrapper. False: there was none. */
static bool pass_wrappers(struct file *file)
{
    struct uses uses = {0};
    bool has_passed = false;
    if (gather_uses(&uses, file))
        for (uint32_t at = 0; at < file->header.counts[HP_LOCK_SITES]; at++) {
            struct named_site *site = &file->named[at];
            if (site->chosen + 1 < site->count && is_wrapper(&uses, site->frames[site->chosen].name)) {
                site->chosen++;
                has_passed = true;
            }
        }
    free(uses.all);
    return has_passed;
}

static bool name_sites(struct hp_lock_names *names, struct file *file)
{
    const uint32_t count = file->header.counts[HP_LOCK_SITES];
    file->named = hp_arena_take_array(&names->arena, count + 1, sizeof *file->named);
    if (file->named == NULL)
        return false;
    for (uint32_t at = 0; at < count; at++) {
        struct named_site *site = &file->named[at];
        name_site(names, file, &file->sites[at], site);
        while (site->chosen + 1 < site->count && is_of_cxx_library(site->frames[site->chosen].name))
            site->chosen++;
    }
    for (unsigned step = 0; step < 2 && pass_wrappers(file); step++)
        ;
    return true;
}

static struct hp_lock_function function_of(const struct file *file, uint32_t site)
{
    if (site == 0 || site > file->header.counts[HP_LOCK_SITES] || file->named[site - 1].count == 0)
        return (struct hp_lock_function){NULL, "", 0};
    const struct named_site *its = &file->named[site - 1];
    const struct frame *frame = &its->frames[its->chosen];
    return (struct hp_lock_function){frame->name, frame->file, frame->line};
}

/* ------------------------------------------------------------------------------------------------ global locks */

static bool find_object(const struct hp_elf_table *table, uint64_t linked, char *name, size_t size)
{
    for (size_t at = 0; at < table->count; at++) {
        const ElfW(Sym) *symbol = &table->symbols[at];
        const unsigned type = symbol->st_info & 15;
        if ((type != STT_OBJECT && type != STT_TLS) || symbol->st_shndx == SHN_UNDEF || symbol->st_size == 0 ||
            linked - symbol->st_value >= symbol->st_size)
            continue;
        char plain[MOST_NAME / 2];
        const char *linker = hp_elf_name(table, symbol);
        if (!hp_demangle(linker, plain, sizeof plain))
            snprintf(plain, sizeof plain, "%s", linker);
        if (linked == symbol->st_value)
            snprintf(name, size, "%s", plain);
        else
            snprintf(name, size, "%s+0x%llx", plain, (unsigned long long)(linked - symbol->st_value));
        return true;
    }
    return false;
}

static bool find_in_tables(const struct hp_image *image, uint64_t linked, char *name, size_t size)
{
    static const char *const pairs[][2] = {{".symtab", ".strtab"}, {".dynsym", ".dynstr"}};
    ElfW(Shdr) symbols, texts;
    bool is_found = false;
    for (size_t at = 0; at < 2 && !is_found; at++) {
        struct hp_elf_table table = {0};
        if (!hp_image_file_section(&image->file, pairs[at][0], &symbols) ||
            !hp_image_file_section(&image->file, pairs[at][1], &texts))
            continue;
        hp_elf_copy_table(&table, image->file.fd, &symbols, &texts);
        is_found = find_object(&table, linked, name, size);
        hp_elf_free_table(&table);
    }
    return is_found;
}

/* A global lock is in an image, and its distance to the code is what it was when that was linked. */
static const char *name_global(struct hp_lock_names *names, const struct file *file, uint64_t address)
{
    const struct hp_lock_image *nearest = NULL;
    uint64_t linked;
    char name[MOST_NAME];
    for (uint32_t at = 0; at < file->header.counts[HP_LOCK_IMAGES]; at++)
        if (file->images[at].start <= address && (nearest == NULL || file->images[at].start > nearest->start))
            nearest = &file->images[at];
    struct hp_image *image = nearest != NULL ? image_at(names, file, nearest->start, &linked) : NULL;
    if (image == NULL)
        return NULL;
    linked += address - nearest->start;
    if (!image->is_readable || !find_in_tables(image, linked, name, sizeof name))
        snprintf(name, sizeof name, "%s+0x%llx", base_of(image->path), (unsigned long long)linked);
    return keep(names, name);
}

/* --------------------------------------------------------------------------------------------------------- rows */

static void put_place(char *name, size_t size, const char *verb, const struct hp_lock_function *function)
{
    if (function->name == NULL)
        snprintf(name, size, "%s in an unknown function", verb);
    else if (function->line != 0)
        snprintf(name, size, "%s in %s:%u", verb, function->name, (unsigned)function->line);
    else
        snprintf(name, size, "%s in %s", verb, function->name);
}

static const char *name_of(struct hp_lock_names *names, const struct file *file, const struct hp_lock_place *place,
                           const struct hp_lock_function *function)
{
    char name[MOST_NAME];
    const char *global = NULL;
    if (place->kind == HP_LOCK_OTHERS)
        return "<other>";
    if (place->name[0] != '\0') {
        snprintf(name, sizeof name, "%.*s", (int)sizeof place->name, place->name);
        return keep(names, name);
    }
    if (place->address != 0)
        global = name_global(names, file, place->address);
    if (global != NULL)
        return global;
    put_place(name, sizeof name, place->is_made ? "made" : "used", function);
    return keep(names, name);
}

static struct hp_lock_row *find_row(struct hp_lock_names *names, const char *name, uint32_t kind)
{
    struct hp_lock_profile *profile = names->profile;
    for (size_t at = 0; at < profile->row_count; at++)
        if (profile->rows[at]->kind == kind && strcmp(profile->rows[at]->name, name) == 0)
            return profile->rows[at];
    struct hp_lock_row *row = hp_arena_take(&names->arena, sizeof *row);
    if (row == NULL || !HP_MAKE_ROOM(profile->rows, profile->row_count + 1, names->row_room)) {
        names->is_out_of_memory = true;
        return NULL;
    }
    row->name = name;
    row->kind = kind;
    profile->rows[profile->row_count++] = row;
    return row;
}

static void add_steps(struct hp_lock_row *row, const struct file *file, const struct hp_lock_place *place)
{
    for (uint32_t at = 0; at < HP_LOCK_OCTAVES * HP_LOCK_STEPS; at++)
        if (place->steps[at] != 0)
            row->steps[hp_lock_step((uint64_t)(hp_lock_step_ticks(at) * file->ns_per_tick))] += place->steps[at];
}

static double larger(double a, double b) { return a > b ? a : b; }

static double ns_of(const struct file *file, uint64_t ticks) { return (double)ticks * file->ns_per_tick; }

static void add_place(struct hp_lock_row *row, const struct file *file, const struct hp_lock_place *place)
{
    row->instances += place->instances;
    row->locked += place->locked;
    row->contended += place->contended;
    row->waits += place->waits;
    row->timeouts += place->timeouts;
    row->wait_ns += ns_of(file, place->wait_ticks);
    row->blame_ns += ns_of(file, place->blame_ticks);
    row->latency_ns += ns_of(file, place->latency_ticks);
    row->unknown_ns += ns_of(file, place->unknown_ticks);
    row->wait_longest_ns = larger(row->wait_longest_ns, ns_of(file, place->wait_longest));
    row->holds += place->holds;
    row->hold_ns += ns_of(file, place->hold_ticks);
    row->hold_longest_ns = larger(row->hold_longest_ns, ns_of(file, place->hold_longest));
    if (place->longest_queue > row->longest_queue)
        row->longest_queue = place->longest_queue;
    add_steps(row, file, place);
}

static void add_entries(const struct file *file)
{
    for (uint32_t at = 0; at < file->header.counts[HP_LOCK_ENTRIES]; at++) {
        const struct hp_lock_entry *entry = &file->entries[at];
        if (entry->place == 0 || entry->place > file->header.counts[HP_LOCK_PLACES] ||
            file->row_of[entry->place - 1] == NULL)
            continue;
        struct hp_lock_row *row = file->row_of[entry->place - 1];
        row->locked += entry->locked;
        row->holds += entry->holds;
        row->hold_ns += ns_of(file, entry->hold_ticks);
    }
}

static bool add_rows(struct hp_lock_names *names, struct file *file)
{
    const uint32_t count = file->header.counts[HP_LOCK_PLACES];
    file->row_of = hp_arena_take_array(&names->arena, count + 1, sizeof *file->row_of);
    if (file->row_of == NULL)
        return false;
    for (uint32_t at = 0; at < count; at++) {
        const struct hp_lock_place *place = &file->places[at];
        if (place->key == 0)
            continue;
        const struct hp_lock_function function = function_of(file, place->site);
        struct hp_lock_row *row = find_row(names, name_of(names, file, place, &function), place->kind);
        if (row == NULL)
            return false;
        if (row->function.name == NULL)
            row->function = function;
        row->is_made |= place->is_made != 0;
        file->row_of[at] = row;
        add_place(row, file, place);
    }
    add_entries(file);
    return true;
}

/* ------------------------------------------------------------------------------------------------------- blocks */

static bool is_same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool add_block(struct hp_lock_names *names, const struct file *file, const struct hp_lock_pair *pair)
{
    struct hp_lock_profile *profile = names->profile;
    const struct hp_lock_row *row = file->row_of[pair->place - 1];
    const char *waiter = pair->waiter != HP_LOCK_SEVERAL ? function_of(file, pair->waiter).name : NULL;
    const char *holder = function_of(file, pair->holder).name;
    struct hp_lock_block *block = NULL;
    for (size_t at = 0; at < profile->block_count && block == NULL; at++)
        if (profile->blocks[at].lock == row && is_same(profile->blocks[at].waiter, waiter) &&
            is_same(profile->blocks[at].holder, holder))
            block = &profile->blocks[at];
    if (block == NULL) {
        if (!HP_MAKE_ROOM(profile->blocks, profile->block_count + 1, names->block_room))
            return false;
        block = &profile->blocks[profile->block_count++];
        *block = (struct hp_lock_block){.lock = row, .waiter = waiter, .holder = holder};
    }
    block->count += pair->count;
    block->ns += ns_of(file, pair->ticks);
    block->longest_ns = larger(block->longest_ns, ns_of(file, pair->longest));
    return true;
}

static bool add_blocks(struct hp_lock_names *names, const struct file *file)
{
    for (uint32_t at = 0; at < file->header.counts[HP_LOCK_PAIRS]; at++) {
        const struct hp_lock_pair *pair = &file->pairs[at];
        if (pair->place != 0 && pair->place <= file->header.counts[HP_LOCK_PLACES] &&
            file->row_of[pair->place - 1] != NULL && !add_block(names, file, pair))
            return false;
    }
    return true;
}

/* ----------------------------------------------------------------------------------------------------- together */

static bool is_wanted(const struct hp_lock_names *names, uint32_t pid)
{
    for (size_t at = 0; at < names->pid_count; at++)
        if (names->pids[at] == pid)
            return true;
    return names->pid_count == 0;
}

static void count_processes(struct hp_lock_names *names, const struct file *file)
{
    struct hp_lock_profile *profile = names->profile;
    for (size_t row = 0; row < profile->row_count; row++)
        for (uint32_t at = 0; at < file->header.counts[HP_LOCK_PLACES]; at++)
            if (file->row_of[at] == profile->rows[row]) {
                profile->rows[row]->processes++;
                break;
            }
}

/* For others that refer to its locks by number. */
static bool keep_tables(struct hp_lock_names *names, const struct file *file)
{
    struct hp_lock_profile *profile = names->profile;
    const uint32_t count = file->header.counts[HP_LOCK_SITES];
    struct hp_lock_function *sites = hp_arena_take_array(&names->arena, count + 1, sizeof *sites);
    if (sites == NULL || !HP_MAKE_ROOM(profile->tables, profile->table_count + 1, names->table_room))
        return false;
    for (uint32_t at = 0; at < count; at++)
        sites[at] = function_of(file, at + 1);
    profile->tables[profile->table_count++] =
        (struct hp_lock_process){.pid = file->header.pid,
                                 .place_count = file->header.counts[HP_LOCK_PLACES],
                                 .site_count = count,
                                 .places = file->row_of,
                                 .sites = sites};
    return true;
}

static void add_file(const char *name, void *context)
{
    struct hp_lock_names *names = context;
    struct file file = {0};
    char path[2048];
    if (!hp_text_has_suffix(name, HP_LOCKS_SUFFIX) ||
        snprintf(path, sizeof path, "%s/%s", names->folder, name) >= (int)sizeof path)
        return;
    if (read_file(&file, path) && is_wanted(names, file.header.pid)) {
        names->is_out_of_memory |= !name_sites(names, &file) || !add_rows(names, &file) ||
                                   !add_blocks(names, &file) || !keep_tables(names, &file);
        if (file.row_of != NULL)
            count_processes(names, &file);
        names->profile->processes++;
        names->profile->times_every_hold |= file.header.times_every_hold != 0;
        for (unsigned loss = 0; loss < HP_LOCK_LOSSES; loss++)
            names->profile->unnamed += loss != HP_LOCK_LOST_PAIRS ? file.header.losses[loss] : 0;
    }
    free(file.bytes);
}

static int by_wait(const void *a, const void *b)
{
    const struct hp_lock_row *x = *(struct hp_lock_row *const *)a, *y = *(struct hp_lock_row *const *)b;
    if (x->wait_ns > y->wait_ns || x->wait_ns < y->wait_ns)
        return x->wait_ns > y->wait_ns ? -1 : 1;
    if (x->locked != y->locked)
        return x->locked > y->locked ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_time(const void *a, const void *b)
{
    const struct hp_lock_block *x = a, *y = b;
    return x->ns > y->ns ? -1 : x->ns < y->ns;
}

/* Rows that were made and never used say nothing. */
static void drop_unused(struct hp_lock_profile *profile)
{
    size_t kept = 0;
    for (size_t at = 0; at < profile->row_count; at++)
        if (profile->rows[at]->locked != 0 || profile->rows[at]->waits != 0)
            profile->rows[kept++] = profile->rows[at];
    profile->row_count = kept;
}

static void finish(struct hp_lock_profile *profile)
{
    drop_unused(profile);
    if (profile->row_count > 1)
        qsort(profile->rows, profile->row_count, sizeof *profile->rows, by_wait);
    if (profile->block_count > 1)
        qsort(profile->blocks, profile->block_count, sizeof *profile->blocks, by_time);
    for (size_t at = profile->block_count; at-- > 0;)
        for (size_t row = 0; row < profile->row_count; row++)
            if (profile->rows[row] == profile->blocks[at].lock)
                profile->rows[row]->worst = &profile->blocks[at];
}

bool hp_locks_read(const char *folder, const uint32_t *pids, size_t pid_count, struct hp_named_locks *ret_locks)
{
    *ret_locks = (struct hp_named_locks){.names = calloc(1, sizeof *ret_locks->names)};
    struct hp_lock_names *names = ret_locks->names;
    if (names == NULL)
        return false;
    *names = (struct hp_lock_names){
        .profile = &ret_locks->profile, .folder = folder, .pids = pids, .pid_count = pid_count};
    hp_file_each(folder, add_file, names);
    finish(&ret_locks->profile);
    return !names->is_out_of_memory && ret_locks->profile.processes > 0;
}

void hp_named_locks_free(struct hp_named_locks *locks)
{
    if (locks->names == NULL)
        return;
    free(locks->profile.rows);
    free(locks->profile.blocks);
    free(locks->profile.tables);
    hp_symbolizer_free(&locks->names->symbolizer);
    hp_image_set_free(&locks->names->images);
    hp_arena_release(&locks->names->arena);
    free(locks->names);
    *locks = (struct hp_named_locks){0};
}

/* --------------------------------------------------------------------------------------------- while it goes on */

#define SHORTEST_NS UINT64_C(1000000000)
#define COST_PART 50u

const struct hp_lock_profile *hp_lock_watch_look(struct hp_lock_watch *watch, const char *folder, uint32_t pid)
{
    const uint64_t now_ns = hp_clock_monotonic_ns(), before_ns = hp_clock_thread_ns();
    if (now_ns < watch->due_ns)
        return watch->is_known ? &watch->locks.profile : NULL;
    hp_lock_watch_free(watch);
    watch->is_known = hp_locks_read(folder, &pid, pid != 0, &watch->locks);
    const uint64_t pause_ns = COST_PART * (hp_clock_thread_ns() - before_ns);
    watch->due_ns = now_ns + (pause_ns > SHORTEST_NS ? pause_ns : SHORTEST_NS);
    return watch->is_known ? &watch->locks.profile : NULL;
}

const struct hp_lock_profile *hp_lock_watch_look_at(struct hp_lock_watch *watch, const char *path, uint32_t pid)
{
    char folder[2048];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    const bool is_run = hp_text_has_suffix(path, HP_RUN_SUFFIX);
    if (!is_run && slash != NULL)
        *slash = '\0';
    return hp_text_has_suffix(folder, HP_RUN_SUFFIX) ? hp_lock_watch_look(watch, folder, is_run ? 0 : pid) : NULL;
}

void hp_lock_watch_free(struct hp_lock_watch *watch)
{
    hp_named_locks_free(&watch->locks);
    *watch = (struct hp_lock_watch){0};
}
