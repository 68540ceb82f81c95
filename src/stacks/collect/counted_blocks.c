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

static void add_block(struct hp_stacks *stacks, const struct hp_space *space, uint32_t process,
                      const struct hp_instruction_block *block, uint64_t executed)
{
    const struct hp_mapping *mapping = hp_space_find(space, block->address);
    const bool is_known = mapping != NULL && mapping->image != NULL && mapping->has_bias;
    const uint32_t node = is_known ? hp_stack_tree_below(&stacks->tree, process, mapping->image->number,
                                                         block->address + mapping->bias)
                                   : hp_stack_tree_below(&stacks->tree, process, HP_STACK_NO_IMAGE, block->address);
    if (node == process)
        return;
    stacks->tree.nodes[node].weight[HP_STACK_USER_NS] += executed * block->instructions;
    stacks->tree.nodes[node].weight[HP_STACK_WALL_NS] += executed * block->instructions;
    stacks->tree.nodes[node].weight[HP_STACK_SAMPLES] += executed;
    stacks->counts.samples += executed;
    stacks->counts.whole += executed;
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

static bool add_blocks(struct hp_stacks *stacks, uint32_t pid, const struct mapped_file *file,
                       const struct mapped_file *maps)
{
    const struct hp_instruction_blocks *blocks = file->bytes;
    struct hp_space *space = calloc(1, sizeof *space);
    if (space == NULL)
        return false;
    if (!add_mappings(space, &stacks->images, maps)) {
        hp_space_free(space);
        free(space);
        return false;
    }
    const uint32_t process = hp_stack_tree_below(&stacks->tree, HP_STACK_ROOT, HP_STACK_PROCESS, pid);
    for (uint64_t at = 0; at < blocks->count && at < HP_MOST_BLOCKS; at++) {
        const uint64_t executed = executed_at(blocks, at);
        if (executed > 0)
            add_block(stacks, space, process, &blocks->all[at], executed);
    }
    stacks->counts.lost += blocks->lost;
    hp_space_free(space);
    free(space);
    return true;
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
