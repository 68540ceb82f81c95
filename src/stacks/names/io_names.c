/*
 * Names and sums of I/O.
 *
 * What the kernel counts for a process includes its children that it waited for, with all that they have done since
 * their parents forked them. So of each process that has a file, what its children with files have done at most is
 * taken off, if these ended before its numbers were noted.
 * SPDX-License-Identifier: MIT
 */
#include "io_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arith.h"
#include "files.h"
#include "growing_array.h"
#include "hash_index.h"
#include "site_names.h"
#include "text.h"

/* The kernel's numbers of a process. */
struct counted {
    uint32_t pid, parent;
    uint64_t read_first, read, written_first, written;
    uint64_t read_seen, written_seen;
    uint64_t latest_ns;
};

struct hp_io_names {
    struct hp_site_names sites;
    struct hp_io_profile *profile;
    size_t row_room, user_room;
    struct hp_hash_index row_index, user_index;
    const uint32_t *pids;
    size_t pid_count;
    const char *folder;
    struct counted *counted;
    size_t counted_count, counted_room;
};

/* The file of a process. */
struct file {
    struct hp_side_reading read;
    const struct hp_io_zone *zones;
    const struct hp_io_row *rows;
    const struct hp_io_cell *cells;
};

static const struct hp_side_format format = {
    .suffix = HP_IO_SUFFIX,
    .magic = HP_IO_MAGIC,
    .version = HP_IO_VERSION,
    .bytes = HP_IO_BYTES,
    .table_count = HP_IO_TABLES,
    .own = {[HP_IO_ZONES] = {HP_IO_ZONES_AT, sizeof(struct hp_io_zone), HP_IO_MOST_ZONES},
            [HP_IO_ROWS] = {HP_IO_ROWS_AT, sizeof(struct hp_io_row), HP_IO_MOST_ROWS},
            [HP_IO_CELLS] = {HP_IO_CELLS_AT, sizeof(struct hp_io_cell), HP_IO_MOST_CELLS}}};

static uint32_t count_of(const struct file *file, enum hp_io_table table)
{
    return file->read.header.counts[table];
}

static const struct hp_io_row *row_of(const struct file *file, const struct hp_io_cell *cell)
{
    return cell->row != 0 && cell->row <= count_of(file, HP_IO_ROWS) && cell->op < HP_IO_OPS
               ? &file->rows[cell->row - 1]
               : NULL;
}

/* ------------------------------------------------------------------------------------------------------- sums */

static void add_error(struct hp_io_errors *errors, uint32_t number, uint64_t count)
{
    errors->total += count;
    for (unsigned at = 0; at < HP_IO_ERRORS && number != 0; at++)
        if (errors->all[at].number == number || errors->all[at].number == 0) {
            errors->all[at].number = number;
            errors->all[at].count += (uint32_t)count;
            return;
        }
    errors->others += count;
}

static double ns_of(const struct file *file, uint64_t ticks) { return (double)ticks * file->read.ns_per_tick; }

static double moment_of(const struct file *file, uint64_t ticks)
{
    const struct hp_side_header *header = &file->read.header;
    return (double)header->first_ns + (double)(int64_t)(ticks - header->first_ticks) * file->read.ns_per_tick;
}

static void add_moments(struct hp_io_sums *sums, double first_ns, double last_ns)
{
    if (sums->first_ns <= 0 || first_ns < sums->first_ns)
        sums->first_ns = first_ns;
    if (last_ns > sums->last_ns)
        sums->last_ns = last_ns;
}

static void add_steps(struct hp_io_sums *sums, const struct file *file, const struct hp_io_cell *cell)
{
    for (uint32_t at = 0; at < HP_IO_SIZES; at++)
        sums->sizes[at] += cell->sizes[at];
    if (cell->timed != 0)
        hp_steps_add(sums->times, &sums->tick_ns, cell->times, file->read.ns_per_tick, HP_IO_TIME_BITS,
                     HP_IO_TIME_OCTAVES);
}

static void add_cell(struct hp_io_sums *sums, const struct file *file, const struct hp_io_cell *cell)
{
    const double longest_ns = ns_of(file, cell->longest);
    sums->ops += cell->timed + cell->untimed;
    sums->bytes += cell->bytes;
    sums->timed += cell->timed;
    sums->again += cell->again;
    sums->ns += ns_of(file, cell->ticks);
    sums->longest_ns = longest_ns > sums->longest_ns ? longest_ns : sums->longest_ns;
    if (cell->first_ticks != 0)
        add_moments(sums, moment_of(file, cell->first_ticks), moment_of(file, cell->last_ticks));
    for (unsigned at = 0; at < HP_IO_ERRORS; at++)
        if (cell->errors[at].count != 0)
            add_error(&sums->errors, cell->errors[at].number, cell->errors[at].count);
    if (cell->other_errors != 0)
        add_error(&sums->errors, 0, cell->other_errors);
    add_steps(sums, file, cell);
}

/* ----------------------------------------------------------------------------------------------- rows and users */

/* Of a run with many processes; a row and a user take some kilobytes each. */
#define MOST_ROWS 4000u
#define MOST_USERS 8000u
#define OTHERS "<other>"

static struct hp_io_profile_row *add_row(struct hp_io_names *names, const char *name, uint32_t kind, uint32_t op)
{
    struct hp_io_profile *profile = names->profile;
    struct hp_io_profile_row *row = hp_arena_take(&names->sites.arena, sizeof *row);
    if (row == NULL || !HP_MAKE_ROOM(profile->rows, profile->row_count + 1, names->row_room)) {
        names->sites.is_out_of_memory = true;
        return NULL;
    }
    row->name = hp_site_keep(&names->sites, name);
    row->kind = kind;
    row->op = op;
    profile->rows[profile->row_count++] = row;
    return row;
}

static struct hp_io_profile_row *find_row(struct hp_io_names *names, const char *name, uint32_t kind, uint32_t op)
{
    struct hp_io_profile *profile = names->profile;
    struct hp_hash_index *index = &names->row_index;
    if (!hp_hash_make_room(index)) {
        names->sites.is_out_of_memory = true;
        return NULL;
    }
    const uint32_t hash = hp_hash_with_text(index, hp_hash_with(index, kind, op), name);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(index, hash, &slot)) != 0;) {
        struct hp_io_profile_row *row = profile->rows[number - 1];
        if (row->op == op && row->kind == kind && strcmp(row->name, name) == 0)
            return row;
    }
    if (profile->row_count >= MOST_ROWS && kind != HP_IO_OTHERS)
        return find_row(names, OTHERS, HP_IO_OTHERS, op);
    struct hp_io_profile_row *row = add_row(names, name, kind, op);
    if (row != NULL)
        hp_hash_put(index, slot, hash, (uint32_t)profile->row_count);
    return row;
}

static struct hp_io_user *add_user(struct hp_io_names *names, struct hp_io_profile_row *row,
                                   const struct hp_code_place *place, const char *zone)
{
    struct hp_io_profile *profile = names->profile;
    struct hp_io_user *user = hp_arena_take(&names->sites.arena, sizeof *user);
    if (user == NULL || !HP_MAKE_ROOM(profile->users, profile->user_count + 1, names->user_room)) {
        names->sites.is_out_of_memory = true;
        return NULL;
    }
    user->row = row;
    user->place = *place;
    user->zone = zone;
    profile->users[profile->user_count++] = user;
    return user;
}

static struct hp_io_user *find_user(struct hp_io_names *names, struct hp_io_profile_row *row,
                                    const struct hp_code_place *place, const char *zone)
{
    static const struct hp_code_place nowhere = {.file = ""};
    struct hp_io_profile *profile = names->profile;
    struct hp_hash_index *index = &names->user_index;
    if (!hp_hash_make_room(index)) {
        names->sites.is_out_of_memory = true;
        return NULL;
    }
    const uint32_t named =
        hp_hash_with_text(index, hp_hash_with(index, 0, (uintptr_t)row), place->name != NULL ? place->name : "");
    const uint32_t hash = hp_hash_with_text(index, named, zone != NULL ? zone : "");
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(index, hash, &slot)) != 0;) {
        struct hp_io_user *user = profile->users[number - 1];
        if (user->row == row && hp_is_same_name(user->zone, zone) && hp_is_same_name(user->place.name, place->name))
            return user;
    }
    if (profile->user_count >= MOST_USERS && (place->name != NULL || zone != NULL))
        return find_user(names, row, &nowhere, NULL);
    struct hp_io_user *user = add_user(names, row, place, zone);
    if (user != NULL)
        hp_hash_put(index, slot, hash, (uint32_t)profile->user_count);
    return user;
}

static const char *name_of(struct hp_io_names *names, const struct hp_io_row *row)
{
    char name[HP_IO_NAME_BYTES + 4];
    if (row->kind == HP_IO_OTHERS)
        return OTHERS;
    memcpy(name, row->name, HP_IO_NAME_BYTES);
    name[HP_IO_NAME_BYTES] = '\0';
    name[HP_IO_NAME_BYTES - 1] = '\0';
    return hp_site_keep(&names->sites, name);
}

/* NULL: none. */
static const char *zone_of(struct hp_io_names *names, const struct file *file, const struct hp_io_cell *cell)
{
    char name[sizeof file->zones->name];
    if (cell->zone == 0 || cell->zone > count_of(file, HP_IO_ZONES))
        return NULL;
    memcpy(name, file->zones[cell->zone - 1].name, sizeof name);
    name[sizeof name - 1] = '\0';
    return hp_site_keep(&names->sites, name);
}

static void add_cells(struct hp_io_names *names, const struct file *file, const char *const *row_names)
{
    for (uint32_t at = 0; at < count_of(file, HP_IO_CELLS); at++) {
        const struct hp_io_cell *cell = &file->cells[at];
        const struct hp_io_row *from = row_of(file, cell);
        if (from == NULL || cell->timed + cell->untimed == 0)
            continue;
        struct hp_io_profile_row *row = find_row(names, row_names[cell->row - 1], from->kind, cell->op);
        const struct hp_code_place place = hp_site_function(&file->read, cell->site);
        struct hp_io_user *user = row != NULL ? find_user(names, row, &place, zone_of(names, file, cell)) : NULL;
        if (user == NULL)
            return;
        add_cell(&row->sums, file, cell);
        add_cell(&user->sums, file, cell);
    }
}

/* --------------------------------------------------------------------------------------- what the kernel counts */

static void note_counted(struct hp_io_names *names, const struct file *file)
{
    const struct hp_side_header *header = &file->read.header;
    struct hp_io_share *share = &names->profile->share;
    if (!HP_MAKE_ROOM(names->counted, names->counted_count + 1, names->counted_room)) {
        names->sites.is_out_of_memory = true;
        return;
    }
    names->counted[names->counted_count++] = (struct counted){.pid = header->pid,
                                                              .parent = (uint32_t)header->numbers[HP_IO_PARENT],
                                                              .read_first = header->numbers[HP_IO_READ_FIRST],
                                                              .read = header->numbers[HP_IO_READ_LATEST],
                                                              .written_first = header->numbers[HP_IO_WRITTEN_FIRST],
                                                              .written = header->numbers[HP_IO_WRITTEN_LATEST],
                                                              .latest_ns = header->latest_ns};
    struct counted *counted = &names->counted[names->counted_count - 1];
    uint64_t read = 0, written = 0;
    for (uint32_t at = 0; at < count_of(file, HP_IO_CELLS); at++) {
        const struct hp_io_cell *cell = &file->cells[at];
        const struct hp_io_row *row = row_of(file, cell);
        if (row == NULL || row->kind == HP_IO_TOLD)
            continue;
        read += hp_io_kernel_reads(cell->op) ? cell->bytes : 0;
        written += hp_io_kernel_writes(cell->op) ? cell->bytes : 0;
    }
    share->read_seen += read;
    share->written_seen += written;
    counted->read_seen = read;
    counted->written_seen = written;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* What is written at the very end of a process was seen, and is in no number of the kernel that we have. */
static void sum_counted(struct hp_io_names *names)
{
    struct hp_io_share *share = &names->profile->share;
    for (size_t at = 0; at < names->counted_count; at++) {
        const struct counted *own = &names->counted[at];
        uint64_t read = hp_less(own->read, own->read_first), written = hp_less(own->written, own->written_first);
        for (size_t child = 0; child < names->counted_count; child++)
            if (names->counted[child].parent == own->pid && names->counted[child].latest_ns < own->latest_ns) {
                read = hp_less(read, names->counted[child].read);
                written = hp_less(written, names->counted[child].written);
            }
        share->read += larger(read, own->read_seen);
        share->written += larger(written, own->written_seen);
    }
}

/* ----------------------------------------------------------------------------------------------------- together */

static bool is_wanted(const struct hp_io_names *names, uint32_t pid)
{
    for (size_t at = 0; at < names->pid_count; at++)
        if (names->pids[at] == pid)
            return true;
    return names->pid_count == 0;
}

/* A function that reads or writes several things for several others is a wrapper. */
static void gather_uses(struct hp_site_uses *uses, const void *context)
{
    const struct file *file = context;
    for (uint32_t at = 0; at < count_of(file, HP_IO_CELLS); at++)
        if (row_of(file, &file->cells[at]) != NULL)
            hp_site_use(uses, file->cells[at].site, file->cells[at].row, HP_SITE_BOTH);
}

static void add_named(struct hp_io_names *names, struct file *file)
{
    const uint32_t count = count_of(file, HP_IO_ROWS);
    const char **row_names = hp_arena_take_array(&names->sites.arena, count + 1, sizeof *row_names);
    if (row_names == NULL || !hp_sites_name(&names->sites, &file->read)) {
        names->sites.is_out_of_memory = true;
        return;
    }
    for (uint32_t at = 0; at < count; at++)
        row_names[at] = name_of(names, &file->rows[at]);
    hp_sites_pass_wrappers(&file->read, gather_uses, file);
    add_cells(names, file, row_names);
}

static void add_file(const char *name, void *context)
{
    struct hp_io_names *names = context;
    struct file file = {0};
    char path[2048];
    if (!hp_text_has_suffix(name, HP_IO_SUFFIX) ||
        snprintf(path, sizeof path, "%s/%s", names->folder, name) >= (int)sizeof path)
        return;
    if (hp_side_read(&file.read, path, &format) && is_wanted(names, file.read.header.pid)) {
        file.zones = file.read.tables[HP_IO_ZONES];
        file.rows = file.read.tables[HP_IO_ROWS];
        file.cells = file.read.tables[HP_IO_CELLS];
        add_named(names, &file);
        note_counted(names, &file);
        names->profile->processes++;
        names->profile->unnamed += file.read.header.losses[HP_IO_LOST_ROWS];
    }
    hp_side_reading_free(&file.read);
}

static int compare(const struct hp_io_sums *x, const struct hp_io_sums *y)
{
    if (x->ns > y->ns || x->ns < y->ns)
        return x->ns > y->ns ? -1 : 1;
    return x->ops > y->ops ? -1 : x->ops < y->ops;
}

static int by_time(const void *a, const void *b)
{
    const struct hp_io_profile_row *x = *(struct hp_io_profile_row *const *)a;
    const struct hp_io_profile_row *y = *(struct hp_io_profile_row *const *)b;
    const int order = compare(&x->sums, &y->sums);
    return order != 0 ? order : strcmp(x->name, y->name);
}

static int by_time_of_users(const void *a, const void *b)
{
    const struct hp_io_user *x = *(struct hp_io_user *const *)a, *y = *(struct hp_io_user *const *)b;
    return compare(&x->sums, &y->sums);
}

static void finish(struct hp_io_names *names)
{
    struct hp_io_profile *profile = names->profile;
    sum_counted(names);
    if (profile->row_count > 1)
        qsort(profile->rows, profile->row_count, sizeof(struct hp_io_profile_row *), by_time);
    if (profile->user_count > 1)
        qsort(profile->users, profile->user_count, sizeof(struct hp_io_user *), by_time_of_users);
    for (size_t at = profile->user_count; at-- > 0;)
        if (profile->users[at]->place.name != NULL)
            profile->users[at]->row->most = profile->users[at];
}

bool hp_io_read(const char *folder, const uint32_t *pids, size_t pid_count, struct hp_named_io *ret_io)
{
    *ret_io = (struct hp_named_io){.names = calloc(1, sizeof *ret_io->names)};
    struct hp_io_names *names = ret_io->names;
    if (names == NULL)
        return false;
    *names =
        (struct hp_io_names){.profile = &ret_io->profile, .folder = folder, .pids = pids, .pid_count = pid_count};
    hp_file_each(folder, add_file, names);
    finish(names);
    return !names->sites.is_out_of_memory && ret_io->profile.processes > 0;
}

void hp_named_io_free(struct hp_named_io *named)
{
    if (named->names == NULL)
        return;
    free(named->profile.rows);
    free(named->profile.users);
    free(named->names->counted);
    hp_hash_free(&named->names->row_index);
    hp_hash_free(&named->names->user_index);
    hp_site_names_free(&named->names->sites);
    free(named->names);
    *named = (struct hp_named_io){0};
}
