/* The code mappings of a process. SPDX-License-Identifier: MIT */
#include "space.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"
#include "process.h"

#define LONGEST_PATH 4096u

/* ---------------------------------------------------------------------------------------------- finding */

/* The first mapping that ends after the address. */
static size_t first_behind(const struct hp_space *space, uint64_t address)
{
    size_t low = 0, high = space->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (space->all[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct hp_mapping *hp_space_find(const struct hp_space *space, uint64_t address)
{
    const size_t at = first_behind(space, address);
    return at < space->count && space->all[at].start <= address ? &space->all[at] : NULL;
}

/* ----------------------------------------------------------------------------------------------- adding */

static void forget(struct hp_space *space) { memset(space->remembered, 0, sizeof space->remembered); }

static bool insert(struct hp_space *space, size_t at, const struct hp_mapping *mapping)
{
    if (!HP_MAKE_ROOM(space->all, space->count + 1, space->room))
        return false;
    memmove(space->all + at + 1, space->all + at, (space->count - at) * sizeof *space->all);
    space->all[at] = *mapping;
    space->count++;
    return true;
}

/* Removes a range; a mapping around it is split in two. */
static bool cut_out(struct hp_space *space, uint64_t start, uint64_t end)
{
    size_t at = first_behind(space, start);
    while (at < space->count && space->all[at].start < end) {
        struct hp_mapping *mapping = &space->all[at];
        struct hp_mapping behind = *mapping;
        behind.start = end;
        const bool has_behind = mapping->end > end;
        if (mapping->start < start) {
            mapping->end = start;
            at++;
            if (has_behind && !insert(space, at, &behind))
                return false;
            return has_behind ? true : cut_out(space, start, end);
        }
        if (has_behind) {
            mapping->start = end;
            return true;
        }
        memmove(mapping, mapping + 1, (space->count - at - 1) * sizeof *mapping);
        space->count--;
    }
    return true;
}

bool hp_space_add(struct hp_space *space, struct hp_image_set *images, const struct hp_image_place *place,
                  uint64_t offset)
{
    struct hp_mapping mapping = {.start = place->start, .end = place->end};
    uint64_t bias;
    if (place->start >= place->end)
        return true;
    forget(space);
    if (!cut_out(space, place->start, place->end))
        return false;
    if (place->path[0] == '/' || strcmp(place->path, "[vdso]") == 0) {
        mapping.image = hp_image_set_find(images, place);
        if (mapping.image == NULL)
            return false;
        mapping.has_bias = mapping.image->is_readable &&
                           hp_image_file_bias(&mapping.image->file, offset, place->end - place->start, &bias);
        mapping.bias = mapping.has_bias ? bias + offset - place->start : 0;
    }
    if (place->end > space->top)
        space->top = place->end;
    return insert(space, first_behind(space, place->start), &mapping);
}

/* ------------------------------------------------------------------------------------------ from a text */

bool hp_space_add_maps(struct hp_space *space, struct hp_image_set *images, pid_t pid, const char *text)
{
    char path[LONGEST_PATH];
    for (const char *line = text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        struct hp_map_line mapped;
        struct hp_image_place place = {.path = path, .pid = pid};
        if (hp_map_line_read(line, &mapped, path, sizeof path) && mapped.is_code) {
            place.start = mapped.start;
            place.end = mapped.end;
            place.inode = mapped.inode;
            if (!hp_space_add(space, images, &place, mapped.offset))
                return false;
        }
        line += length + (line[length] != '\0');
    }
    return true;
}

bool hp_space_copy(struct hp_space *space, const struct hp_space *from)
{
    struct hp_mapping *all = malloc((from->count + 1) * sizeof *all);
    if (all == NULL)
        return false;
    if (from->count > 0)
        memcpy(all, from->all, from->count * sizeof *all);
    space->all = all;
    space->count = from->count;
    space->room = from->count + 1;
    space->top = from->top;
    return true;
}

void hp_space_free(struct hp_space *space)
{
    free(space->all);
    *space = (struct hp_space){.count = 0};
}
