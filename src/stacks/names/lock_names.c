/*
 * Names and sums of locks.
 *
 * A wrapper (site_names.h) is a function that is there to call the lock function: several functions call it, and it
 * is for several locks, or it takes a lock and leaves it to others to give it up, or the other way round.
 *
 * Two locks are in one row if they have the same kind and name, so those of several processes are added up.
 * SPDX-License-Identifier: MIT
 */
#include "lock_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "axis.h"
#include "demangle.h"
#include "elf_file.h"
#include "files.h"
#include "growing_array.h"
#include "site_names.h"
#include "text.h"

#define MOST_NAME HP_SITE_MOST_NAME

/* The file of a process. */
struct file {
    struct hp_side_reading read;
    const struct hp_lock_pair *pairs;
    const struct hp_lock_place *places;
    const struct hp_lock_entry *entries;
    struct hp_lock_row **row_of; /* of the places */
};

struct hp_lock_names {
    struct hp_site_names sites;
    struct hp_lock_profile *profile;
    size_t row_room, block_room, table_room;
    const uint32_t *pids;
    size_t pid_count;
    const char *folder;
};

static const struct hp_side_format format = {
    .suffix = HP_LOCKS_SUFFIX,
    .magic = HP_LOCKS_MAGIC,
    .version = HP_LOCKS_VERSION,
    .bytes = HP_LOCKS_BYTES,
    .table_count = HP_LOCK_TABLES,
    .own = {[HP_LOCK_PAIRS] = {HP_LOCK_PAIRS_AT, sizeof(struct hp_lock_pair), HP_LOCK_MOST_PAIRS},
            [HP_LOCK_PLACES] = {HP_LOCK_PLACES_AT, sizeof(struct hp_lock_place), HP_LOCK_MOST_PLACES},
            [HP_LOCK_ENTRIES] = {HP_LOCK_ENTRIES_AT, sizeof(struct hp_lock_entry), HP_LOCK_MOST_ENTRIES}}};

static uint32_t count_of(const struct file *file, enum hp_lock_table table)
{
    return file->read.header.counts[table];
}

/* ---------------------------------------------------------------------------------------------------- wrappers */

/* Only locks are taken and given up by the same thread. */
static bool has_sides(const struct file *file, uint32_t place)
{
    const uint32_t kind = place - 1 < count_of(file, HP_LOCK_PLACES) ? file->places[place - 1].kind : 0;
    return kind == HP_LOCK_MUTEX || kind == HP_LOCK_RWLOCK || kind == HP_LOCK_SPIN || kind == HP_LOCK_OWN;
}

static void gather_uses(struct hp_site_uses *uses, const void *context)
{
    const struct file *file = context;
    for (uint32_t at = 0; at < count_of(file, HP_LOCK_PLACES); at++)
        hp_site_use(uses, file->places[at].site, at + 1,
                    !file->places[at].is_made && has_sides(file, at + 1) ? HP_SITE_TAKES : HP_SITE_BOTH);
    for (uint32_t at = 0; at < count_of(file, HP_LOCK_PAIRS); at++) {
        const struct hp_lock_pair *pair = &file->pairs[at];
        const bool is_lock = has_sides(file, pair->place);
        hp_site_use(uses, pair->waiter, pair->place, is_lock ? HP_SITE_TAKES : HP_SITE_BOTH);
        hp_site_use(uses, pair->holder, pair->place, is_lock ? HP_SITE_GIVES : HP_SITE_BOTH);
    }
}

/* ------------------------------------------------------------------------------------------------ global locks */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

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
    const struct hp_call_image *nearest = NULL;
    uint64_t linked;
    char name[MOST_NAME];
    for (uint32_t at = 0; at < file->read.header.counts[HP_SIDE_IMAGES]; at++)
        if (file->read.images[at].start <= address &&
            (nearest == NULL || file->read.images[at].start > nearest->start))
            nearest = &file->read.images[at];
    struct hp_image *image =
        nearest != NULL ? hp_site_image(&names->sites, &file->read, nearest->start, &linked) : NULL;
    if (image == NULL)
        return NULL;
    linked += address - nearest->start;
    if (!image->is_readable || !find_in_tables(image, linked, name, sizeof name))
        snprintf(name, sizeof name, "%s+0x%llx", base_of(image->path), (unsigned long long)linked);
    return hp_site_keep(&names->sites, name);
}

/* --------------------------------------------------------------------------------------------------------- rows */

static void put_place(char *name, size_t size, const char *verb, const struct hp_code_place *function)
{
    if (function->name == NULL)
        snprintf(name, size, "%s in an unknown function", verb);
    else if (function->line != 0)
        snprintf(name, size, "%s in %s:%u", verb, function->name, (unsigned)function->line);
    else
        snprintf(name, size, "%s in %s", verb, function->name);
}

static const char *name_of(struct hp_lock_names *names, const struct file *file, const struct hp_lock_place *place,
                           const struct hp_code_place *function)
{
    char name[MOST_NAME];
    const char *global = NULL;
    if (place->kind == HP_LOCK_OTHERS)
        return "<other>";
    if (place->name[0] != '\0') {
        snprintf(name, sizeof name, "%.*s", (int)sizeof place->name, place->name);
        return hp_site_keep(&names->sites, name);
    }
    if (place->address != 0)
        global = name_global(names, file, place->address);
    if (global != NULL)
        return global;
    put_place(name, sizeof name, place->is_made ? "made" : "used", function);
    return hp_site_keep(&names->sites, name);
}

static struct hp_lock_row *find_row(struct hp_lock_names *names, const char *name, uint32_t kind)
{
    struct hp_lock_profile *profile = names->profile;
    for (size_t at = 0; at < profile->row_count; at++)
        if (profile->rows[at]->kind == kind && strcmp(profile->rows[at]->name, name) == 0)
            return profile->rows[at];
    struct hp_lock_row *row = hp_arena_take(&names->sites.arena, sizeof *row);
    if (row == NULL || !HP_MAKE_ROOM(profile->rows, profile->row_count + 1, names->row_room)) {
        names->sites.is_out_of_memory = true;
        return NULL;
    }
    row->name = name;
    row->kind = kind;
    profile->rows[profile->row_count++] = row;
    return row;
}

static void add_steps(struct hp_lock_row *row, const struct file *file, const struct hp_lock_place *place)
{
    const double tick_ns = file->read.ns_per_tick;
    hp_steps_add(row->wait_steps, &row->tick_ns, place->wait_steps, tick_ns, HP_LOCK_WAIT_BITS, HP_LOCK_OCTAVES);
    hp_steps_add(row->hold_steps, &row->tick_ns, place->hold_steps, tick_ns, HP_LOCK_HOLD_BITS, HP_LOCK_OCTAVES);
}

static double larger(double a, double b) { return a > b ? a : b; }

static double ns_of(const struct file *file, uint64_t ticks) { return (double)ticks * file->read.ns_per_tick; }

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
    row->watched_ns += ns_of(file, place->watched_ticks);
    row->free_ns += ns_of(file, place->free_ticks);
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
    for (uint32_t at = 0; at < count_of(file, HP_LOCK_ENTRIES); at++) {
        const struct hp_lock_entry *entry = &file->entries[at];
        if (entry->place == 0 || entry->place > count_of(file, HP_LOCK_PLACES) ||
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
    const uint32_t count = count_of(file, HP_LOCK_PLACES);
    file->row_of = hp_arena_take_array(&names->sites.arena, count + 1, sizeof(struct hp_lock_row *));
    if (file->row_of == NULL)
        return false;
    for (uint32_t at = 0; at < count; at++) {
        const struct hp_lock_place *place = &file->places[at];
        if (place->key == 0)
            continue;
        const struct hp_code_place function = hp_site_function(&file->read, place->site);
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

static bool add_block(struct hp_lock_names *names, const struct file *file, const struct hp_lock_pair *pair)
{
    struct hp_lock_profile *profile = names->profile;
    const struct hp_lock_row *row = file->row_of[pair->place - 1];
    const char *waiter = pair->waiter != HP_LOCK_SEVERAL ? hp_site_function(&file->read, pair->waiter).name : NULL;
    const char *holder = hp_site_function(&file->read, pair->holder).name;
    struct hp_lock_block *block = NULL;
    for (size_t at = 0; at < profile->block_count && block == NULL; at++)
        if (profile->blocks[at].lock == row && hp_is_same_name(profile->blocks[at].waiter, waiter) &&
            hp_is_same_name(profile->blocks[at].holder, holder))
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
    for (uint32_t at = 0; at < count_of(file, HP_LOCK_PAIRS); at++) {
        const struct hp_lock_pair *pair = &file->pairs[at];
        if (pair->place != 0 && pair->place <= count_of(file, HP_LOCK_PLACES) &&
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
        for (uint32_t at = 0; at < count_of(file, HP_LOCK_PLACES); at++)
            if (file->row_of[at] == profile->rows[row]) {
                profile->rows[row]->processes++;
                break;
            }
}

/* For others that refer to its locks by number. */
static bool keep_tables(struct hp_lock_names *names, const struct file *file)
{
    struct hp_lock_profile *profile = names->profile;
    const uint32_t count = file->read.header.counts[HP_SIDE_SITES];
    struct hp_code_place *sites = hp_arena_take_array(&names->sites.arena, count + 1, sizeof *sites);
    if (sites == NULL || !HP_MAKE_ROOM(profile->tables, profile->table_count + 1, names->table_room))
        return false;
    for (uint32_t at = 0; at < count; at++)
        sites[at] = hp_site_function(&file->read, at + 1);
    profile->tables[profile->table_count++] =
        (struct hp_lock_process){.pid = file->read.header.pid,
                                 .place_count = count_of(file, HP_LOCK_PLACES),
                                 .site_count = count,
                                 .places = file->row_of,
                                 .sites = sites};
    return true;
}

static void add_path(struct hp_lock_names *names, const char *path)
{
    struct file file = {0};
    if (hp_side_read(&file.read, path, &format) && is_wanted(names, file.read.header.pid)) {
        file.pairs = file.read.tables[HP_LOCK_PAIRS];
        file.places = file.read.tables[HP_LOCK_PLACES];
        file.entries = file.read.tables[HP_LOCK_ENTRIES];
        const bool is_named = hp_sites_name(&names->sites, &file.read);
        if (is_named)
            hp_sites_pass_wrappers(&file.read, gather_uses, &file);
        names->sites.is_out_of_memory |=
            !is_named || !add_rows(names, &file) || !add_blocks(names, &file) || !keep_tables(names, &file);
        if (file.row_of != NULL)
            count_processes(names, &file);
        names->profile->processes++;
        names->profile->times_every_hold |= file.read.header.flag != 0;
        for (unsigned loss = 0; loss < HP_LOCK_LOSSES; loss++)
            names->profile->unnamed += loss != HP_LOCK_LOST_PAIRS ? file.read.header.losses[loss] : 0;
    }
    hp_side_reading_free(&file.read);
}

static void add_file(const char *name, void *context)
{
    struct hp_lock_names *names = context;
    char path[2048];
    if (hp_text_has_suffix(name, HP_LOCKS_SUFFIX) &&
        snprintf(path, sizeof path, "%s/%s", names->folder, name) < (int)sizeof path)
        add_path(names, path);
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
        qsort(profile->rows, profile->row_count, sizeof(struct hp_lock_row *), by_wait);
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
    char beside[2048];
    if (hp_beside_path(folder, HP_LOCKS_SUFFIX, beside, sizeof beside))
        add_path(names, beside);
    else
        hp_file_each(folder, add_file, names);
    finish(&ret_locks->profile);
    return !names->sites.is_out_of_memory && ret_locks->profile.processes > 0;
}

void hp_named_locks_free(struct hp_named_locks *locks)
{
    if (locks->names == NULL)
        return;
    free(locks->profile.rows);
    free(locks->profile.blocks);
    free(locks->profile.tables);
    hp_site_names_free(&locks->names->sites);
    free(locks->names);
    *locks = (struct hp_named_locks){0};
}
