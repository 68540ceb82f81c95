/*
 * Exact counts of instructions by address.
 *
 * QEMU maps the code of the program without the right to execute it, so each mapping of a file may be code.
 * SPDX-License-Identifier: MIT
 */
#include "counted_blocks.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "instruction_blocks.h"
#include "process.h"
#include "space.h"
#include "text.h"

struct mapped_file {
    void *bytes; /* NULL: none, or empty */
    size_t size;
};

static struct mapped_file map_file(const char *path)
{
    struct stat status;
    struct mapped_file file = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED)
            file = (struct mapped_file){bytes, (size_t)status.st_size};
    }
    if (fd >= 0)
        close(fd);
    return file;
}

static void unmap_file(const struct mapped_file *file)
{
    if (file->bytes != NULL)
        munmap(file->bytes, file->size);
}

static bool add_mappings(struct hp_space *space, struct hp_image_set *images, const struct mapped_file *maps)
{
    char line[PATH_MAX + 128], path[PATH_MAX];
    const char *at = maps->bytes, *end = at + maps->size;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((stop != NULL ? stop : end) - at);
        struct hp_map_line mapped;
        snprintf(line, sizeof line, "%.*s", length < sizeof line ? (int)length : (int)sizeof line - 1, at);
        at += length + 1;
        if (!hp_map_line_read(line, &mapped, path, sizeof path) || hp_text_has_suffix(path, HP_BLOCKS_SUFFIX))
            continue;
        const struct hp_image_place place = {
            .path = path, .start = mapped.start, .end = mapped.end, .inode = mapped.inode};
        if (!hp_space_add(space, images, &place, mapped.offset))
            return false;
    }
    return true;
}

/* By all threads. */
static uint64_t executed_at(const struct hp_instruction_blocks *blocks, uint64_t at)
{
    uint64_t executed = blocks->all[at].executed;
    for (unsigned lane = 0; lane < HP_BLOCK_LANES; lane++)
        if (blocks->lanes >> lane & 1)
            executed += blocks->by_lane[lane][at];
    return executed;
}

/* ---------------------------------------------------------------------------------------------- one process */

/*
 * Two exact counts: instructions of each block, and of each path of calls. They are joined so that both remain:
 * each path takes what it executed from the blocks of its function. Which blocks it takes, when the function has
 * several callers, is not known, and nothing shows it.
 */

struct part {
    const struct hp_instruction_block *block;
    uint64_t executions, instructions; /* that no path took yet */
};

struct function {
    uint64_t begin;
    size_t next, end; /* parts that are left */
};

struct counted {
    struct hp_stacks *stacks;
    const struct hp_instruction_blocks *blocks;
    const struct hp_space *space;
    uint32_t process;
    struct part *parts; /* sorted by function */
    struct function *functions;
    uint32_t *nodes; /* of the tree, by path; 0: no path leads there */
    size_t part_count, function_count;
};

static uint32_t node_below(struct counted *counted, uint32_t parent, uint64_t address)
{
    const struct hp_mapping *mapping = hp_space_find(counted->space, address);
    const bool is_known = mapping != NULL && mapping->image != NULL && mapping->has_bias;
    return is_known ? hp_stack_tree_below(&counted->stacks->tree, parent, mapping->image->number,
                                          address + mapping->bias)
                    : hp_stack_tree_below(&counted->stacks->tree, parent, HP_STACK_NO_IMAGE, address);
}

static void take(struct counted *counted, struct part *part, uint64_t instructions, uint32_t caller)
{
    const uint64_t executions =
        instructions == part->instructions ? part->executions : instructions / part->block->instructions;
    const uint32_t node = node_below(counted, caller, part->block->address);
    uint64_t *weight = counted->stacks->tree.nodes[node].weight;
    part->instructions -= instructions;
    part->executions -= executions;
    weight[HP_STACK_USER_NS] += instructions;
    weight[HP_STACK_WALL_NS] += instructions;
    weight[HP_STACK_SAMPLES] += executions;
    counted->stacks->counts.samples += executions;
    counted->stacks->counts.whole += executions;
}

static int compare_parts(const void *one, const void *other)
{
    const struct hp_instruction_block *a = ((const struct part *)one)->block;
    const struct hp_instruction_block *b = ((const struct part *)other)->block;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return a < b ? -1 : a > b;
}

static bool find_parts(struct counted *counted)
{
    const uint64_t count = counted->blocks->count < HP_MOST_BLOCKS ? counted->blocks->count : HP_MOST_BLOCKS;
    counted->parts = calloc(count + 1, sizeof *counted->parts);
    counted->functions = calloc(count + 1, sizeof *counted->functions);
    if (counted->parts == NULL || counted->functions == NULL)
        return false;
    for (uint64_t at = 0; at < count; at++) {
        const struct hp_instruction_block *block = &counted->blocks->all[at];
        const uint64_t executed = executed_at(counted->blocks, at);
        if (executed > 0 && block->instructions > 0)
            counted->parts[counted->part_count++] = (struct part){block, executed, executed * block->instructions};
    }
    qsort(counted->parts, counted->part_count, sizeof *counted->parts, compare_parts);
    for (size_t at = 0; at < counted->part_count; at++) {
        const uint64_t begin = counted->parts[at].block->function;
        if (at == 0 || counted->functions[counted->function_count - 1].begin != begin)
            counted->functions[counted->function_count++] = (struct function){begin, at, at};
        counted->functions[counted->function_count - 1].end = at + 1;
    }
    return true;
}

static int compare_begin(const void *wanted, const void *function)
{
    const uint64_t begin = *(const uint64_t *)wanted, other = ((const struct function *)function)->begin;
    return begin < other ? -1 : begin > other;
}

static uint32_t path_count(const struct counted *counted)
{
    const uint32_t count = counted->blocks->has_paths ? counted->blocks->paths : 0;
    return count < HP_MOST_PATHS ? count : HP_MOST_PATHS;
}

/* Nodes for those paths that lead to instructions; the file may be damaged. */
static bool make_nodes(struct counted *counted)
{
    const struct hp_call_path *paths = counted->blocks->path;
    const uint32_t count = path_count(counted);
    counted->nodes = calloc(count + 1, sizeof *counted->nodes);
    if (counted->nodes == NULL)
        return false;
    for (uint32_t at = count; at > 0; at--)
        if ((counted->nodes[at] != 0 || paths[at].instructions > 0) && paths[at].caller < at)
            counted->nodes[paths[at].caller] = 1;
    for (uint32_t at = 1; at <= count; at++)
        if (counted->nodes[at] != 0)
            counted->nodes[at] = paths[at].depth == 0 || paths[at].caller >= at
                                     ? counted->process
                                     : node_below(counted, counted->nodes[paths[at].caller], paths[at].function);
    return true;
}

static void add_path(struct counted *counted, const struct hp_call_path *path, uint32_t caller)
{
    uint64_t left = path->instructions;
    struct function *function = bsearch(&path->function, counted->functions, counted->function_count,
                                        sizeof *counted->functions, compare_begin);
    while (function != NULL && left > 0 && function->next < function->end) {
        struct part *part = &counted->parts[function->next];
        const uint64_t taken = left < part->instructions ? left : part->instructions;
        take(counted, part, taken, caller);
        left -= taken;
        function->next += part->instructions == 0;
    }
}

static bool add_all(struct counted *counted)
{
    if (!find_parts(counted) || !make_nodes(counted))
        return false;
    for (uint32_t at = 1; at <= path_count(counted); at++) {
        const struct hp_call_path *path = &counted->blocks->path[at];
        if (path->depth > 0 && path->instructions > 0 && path->caller < at)
            add_path(counted, path, counted->nodes[path->caller]);
    }
    for (size_t at = 0; at < counted->part_count; at++)
        if (counted->parts[at].instructions > 0)
            take(counted, &counted->parts[at], counted->parts[at].instructions, counted->process);
    return true;
}

static bool add_blocks(struct hp_stacks *stacks, uint32_t pid, const struct mapped_file *file,
                       const struct mapped_file *maps)
{
    struct counted counted = {.stacks = stacks, .blocks = file->bytes};
    struct hp_space *space = calloc(1, sizeof *space);
    bool is_added = space != NULL && add_mappings(space, &stacks->images, maps);
    if (is_added) {
        counted.space = space;
        counted.process = hp_stack_tree_below(&stacks->tree, HP_STACK_ROOT, HP_STACK_PROCESS, pid);
        is_added = add_all(&counted);
        stacks->counts.lost += counted.blocks->lost;
    }
    if (space != NULL)
        hp_space_free(space);
    free(space);
    free(counted.parts);
    free(counted.functions);
    free(counted.nodes);
    return is_added;
}

static bool read_process(struct hp_stacks *stacks, const char *folder, const char *name, uint64_t *refused)
{
    char path[PATH_MAX];
    const unsigned long pid = strtoul(name, NULL, 10);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const struct mapped_file file = map_file(path);
    unlink(path);
    snprintf(path, sizeof path, "%s/%.*s%s", folder, (int)(strlen(name) - strlen(HP_BLOCKS_SUFFIX)), name,
             HP_BLOCK_MAPS_SUFFIX);
    const struct mapped_file maps = map_file(path);
    unlink(path);
    const struct hp_instruction_blocks *blocks = file.bytes;
    const bool is_one =
        blocks != NULL && maps.bytes != NULL && file.size >= sizeof *blocks && blocks->magic == HP_BLOCKS_MAGIC;
    if (is_one)
        *refused += blocks->refused;
    const bool is_read = is_one && add_blocks(stacks, (uint32_t)pid, &file, &maps);
    unmap_file(&file);
    unmap_file(&maps);
    return is_read;
}

bool hp_counted_blocks_read(const char *folder, struct hp_stacks *ret_stacks, uint64_t *ret_refused)
{
    *ret_refused = 0;
    *ret_stacks = (struct hp_stacks){.counts = {.source = HP_STACKS_BY_PERF, .period_ns = 1}};
    DIR *all = opendir(folder);
    if (all == NULL)
        return false;
    bool has_any = false;
    for (const struct dirent *entry; (entry = readdir(all)) != NULL;)
        if (hp_text_has_suffix(entry->d_name, HP_BLOCKS_SUFFIX))
            has_any = read_process(ret_stacks, folder, entry->d_name, ret_refused) || has_any;
    closedir(all);
    return has_any && ret_stacks->counts.samples > 0;
}

void hp_counted_blocks_free(struct hp_stacks *stacks)
{
    hp_stack_tree_free(&stacks->tree);
    hp_image_set_free(&stacks->images);
}
