/* Stores stacks in a file. SPDX-License-Identifier: MIT */
#include "stack_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

#define VERSION 7u
/* flags */
#define HAS_KERNEL 1u
#define BY_TIMERS 2u
#define BY_PROGRAM 4u
#define HIDES_KERNEL 8u
#define REFUSED_FROM 16u /* the upper half: number of threads refused */
#define MOST_REFUSED 0xffffu
#define MOST_BYTES (UINT64_C(1) << 31)

static const char magic[8] = "hpstacks";

struct file_header {
    char magic[8];
    uint32_t version, flags;
    uint64_t counts[11]; /* the first fields of struct hp_stack_counts */
    uint64_t text_bytes;
    uint32_t images, functions, frames, nodes;
    uint32_t zones, shares;
    uint32_t programs, unused;
    struct hp_failed failed;
};

/* Texts are offsets into the last part of the file; each ends with a zero. */
struct file_image {
    uint32_t path, build_id, package;
};

struct file_function {
    uint32_t name, file, image;
};

struct file_program {
    uint32_t name, file;
};

_Static_assert(sizeof(struct file_header) == 160 && sizeof(struct file_image) == 12 &&
                   sizeof(struct file_function) == 12 && sizeof(struct file_program) == 8,
               "no gaps");
_Static_assert(offsetof(struct hp_stack_counts, refused) == sizeof((struct file_header){0}.counts), "all numbers");
_Static_assert(sizeof(struct hp_named_frame) == 8 && sizeof(struct hp_zone_share) == 8 + 8 * HP_STACK_WEIGHTS &&
                   sizeof(struct hp_named_node) == 24 + 8 * HP_STACK_WEIGHTS,
               "these are in the file as they are in memory");

/* ---------------------------------------------------------------------------------------------- writing */

static uint32_t text_of(const struct hp_named_stacks *stacks, const char *text)
{
    return (uint32_t)(text - stacks->texts);
}

/* The texts end with a zero. */
static uint32_t text_or_none(const struct hp_named_stacks *stacks, const char *text)
{
    return text != NULL && text[0] != '\0' ? text_of(stacks, text) : (uint32_t)(stacks->text_bytes - 1);
}

static bool write_tables(FILE *file, const struct hp_named_stacks *stacks)
{
    for (size_t at = 0; at < stacks->image_count; at++) {
        const struct hp_named_image *image = &stacks->images[at];
        const struct file_image written = {text_of(stacks, image->path), text_of(stacks, image->build_id),
                                           text_or_none(stacks, image->package)};
        fwrite(&written, sizeof written, 1, file);
    }
    for (size_t at = 0; at < stacks->function_count; at++) {
        const struct hp_named_function *function = &stacks->functions[at];
        const struct file_function written = {text_of(stacks, function->name), text_of(stacks, function->file),
                                              function->image};
        fwrite(&written, sizeof written, 1, file);
    }
    fwrite(stacks->frames, sizeof *stacks->frames, stacks->frame_count, file);
    fwrite(stacks->nodes, sizeof *stacks->nodes, stacks->node_count, file);
    for (size_t at = 0; at < stacks->zone_count; at++) {
        const uint32_t name = text_of(stacks, stacks->zones[at].name);
        fwrite(&name, sizeof name, 1, file);
    }
    for (size_t at = 0; at < stacks->program_count; at++) {
        const struct hp_named_program *program = &stacks->programs[at];
        const struct file_program written = {text_of(stacks, program->name), text_of(stacks, program->file)};
        fwrite(&written, sizeof written, 1, file);
    }
    if (stacks->share_count > 0)
        fwrite(stacks->shares, sizeof *stacks->shares, stacks->share_count, file);
    fwrite(stacks->texts, 1, stacks->text_bytes, file);
    return !ferror(file);
}

static uint32_t flags_of(const struct hp_stack_counts *counts)
{
    const uint64_t refused = counts->refused < MOST_REFUSED ? counts->refused : MOST_REFUSED;
    return (counts->has_kernel ? HAS_KERNEL : 0) | (counts->source == HP_STACKS_BY_TIMERS ? BY_TIMERS : 0) |
           (counts->source == HP_STACKS_BY_PROGRAM ? BY_PROGRAM : 0) | (counts->hides_kernel ? HIDES_KERNEL : 0) |
           (uint32_t)refused << REFUSED_FROM;
}

static bool write_all(FILE *file, const struct hp_named_stacks *stacks)
{
    struct file_header header = {.version = VERSION,
                                 .flags = flags_of(&stacks->counts),
                                 .text_bytes = stacks->text_bytes,
                                 .images = (uint32_t)stacks->image_count,
                                 .functions = (uint32_t)stacks->function_count,
                                 .frames = (uint32_t)stacks->frame_count,
                                 .nodes = (uint32_t)stacks->node_count,
                                 .zones = (uint32_t)stacks->zone_count,
                                 .shares = (uint32_t)stacks->share_count,
                                 .programs = (uint32_t)stacks->program_count,
                                 .failed = stacks->counts.failed};
    memcpy(header.magic, magic, sizeof magic);
    memcpy(header.counts, &stacks->counts, sizeof header.counts);
    return fwrite(&header, sizeof header, 1, file) == 1 && write_tables(file, stacks);
}

static bool path_in(const char *folder, const char *name, char *path, size_t size)
{
    if (snprintf(path, size, "%s/%s", folder, name) < (int)size)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

/* Written under another name first: a concurrent reader sees all of the old file or all of the new one. */
bool hp_stack_file_write(const char *folder, const struct hp_named_stacks *stacks)
{
    char path[PATH_MAX], draft[PATH_MAX];
    if (!path_in(folder, HP_STACK_FILE_NAME, path, sizeof path) ||
        !path_in(folder, HP_STACK_FILE_DRAFT, draft, sizeof draft))
        return false;
    const int fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    bool is_written = write_all(file, stacks);
    is_written = fclose(file) == 0 && is_written && rename(draft, path) == 0;
    if (!is_written) {
        const int error = errno;
        unlink(draft);
        errno = error;
    }
    return is_written;
}

/* ---------------------------------------------------------------------------------------------- reading */

/* The unread rest. */
struct bytes {
    const char *at;
    uint64_t left;
};

static bool take(struct bytes *bytes, void *to, uint64_t size)
{
    if (size > bytes->left)
        return false;
    if (size > 0)
        memcpy(to, bytes->at, (size_t)size);
    bytes->at += size;
    bytes->left -= size;
    return true;
}

/*
 * A table of that many entries; NULL: truncated, or no memory. Allocates one more than needed, so that it is never
 * empty.
 */
static void *take_table(struct bytes *bytes, uint64_t count, size_t size)
{
    void *table = count <= bytes->left / size ? calloc((size_t)count + 1, size) : NULL;
    if (table != NULL)
        take(bytes, table, count * size);
    return table;
}

static bool take_images(struct bytes *bytes, const struct file_header *header, struct hp_named_stacks *stacks,
                        struct file_image **ret_images)
{
    *ret_images = take_table(bytes, header->images, sizeof **ret_images);
    stacks->images = *ret_images != NULL ? calloc(header->images + (size_t)1, sizeof *stacks->images) : NULL;
    return stacks->images != NULL;
}

static bool take_functions(struct bytes *bytes, const struct file_header *header, struct hp_named_stacks *stacks,
                           struct file_function **ret_functions)
{
    *ret_functions = take_table(bytes, header->functions, sizeof **ret_functions);
    stacks->functions =
        *ret_functions != NULL ? calloc(header->functions + (size_t)1, sizeof *stacks->functions) : NULL;
    return stacks->functions != NULL;
}

static bool take_programs(struct bytes *bytes, const struct file_header *header, struct hp_named_stacks *stacks,
                          struct file_program **ret_programs)
{
    *ret_programs = take_table(bytes, header->programs, sizeof **ret_programs);
    stacks->programs =
        *ret_programs != NULL ? calloc(header->programs + (size_t)1, sizeof *stacks->programs) : NULL;
    stacks->program_count = stacks->programs != NULL ? header->programs : 0;
    return stacks->programs != NULL;
}

static bool take_zones(struct bytes *bytes, const struct file_header *header, struct hp_named_stacks *stacks,
                       uint32_t **ret_names, struct file_program **ret_programs)
{
    *ret_names = take_table(bytes, header->zones, sizeof **ret_names);
    stacks->zones = *ret_names != NULL ? calloc(header->zones + (size_t)1, sizeof *stacks->zones) : NULL;
    if (stacks->zones == NULL || !take_programs(bytes, header, stacks, ret_programs))
        return false;
    stacks->shares = stacks->zones != NULL ? take_table(bytes, header->shares, sizeof *stacks->shares) : NULL;
    if (stacks->shares == NULL)
        return false;
    stacks->zone_count = header->zones;
    stacks->share_count = header->shares;
    return true;
}

/* The last byte is a zero, so every text ends. */
static bool take_texts(struct bytes *bytes, const struct file_header *header, struct hp_named_stacks *stacks)
{
    if (header->text_bytes != bytes->left || header->text_bytes == 0)
        return false;
    stacks->texts = take_table(bytes, header->text_bytes, 1);
    stacks->text_bytes = (size_t)header->text_bytes;
    return stacks->texts != NULL && stacks->texts[stacks->text_bytes - 1] == '\0';
}

static bool find_text(const struct hp_named_stacks *stacks, uint32_t place, const char **ret_text)
{
    *ret_text = stacks->texts + place;
    return place < stacks->text_bytes;
}

static bool settle_names(struct hp_named_stacks *stacks, const struct file_image *images,
                         const struct file_function *functions)
{
    for (size_t at = 0; at < stacks->image_count; at++)
        if (!find_text(stacks, images[at].path, &stacks->images[at].path) ||
            !find_text(stacks, images[at].build_id, &stacks->images[at].build_id) ||
            !find_text(stacks, images[at].package, &stacks->images[at].package))
            return false;
    for (size_t at = 0; at < stacks->function_count; at++) {
        struct hp_named_function *function = &stacks->functions[at];
        function->image = functions[at].image;
        if (!find_text(stacks, functions[at].name, &function->name) ||
            !find_text(stacks, functions[at].file, &function->file) ||
            (function->image >= stacks->image_count && function->image != HP_STACK_NO_IMAGE))
            return false;
    }
    return true;
}

static bool settle_zones(struct hp_named_stacks *stacks, const uint32_t *names)
{
    for (size_t at = 0; at < stacks->zone_count; at++)
        if (!find_text(stacks, names[at], &stacks->zones[at].name))
            return false;
    return true;
}

static bool settle_programs(struct hp_named_stacks *stacks, const struct file_program *programs)
{
    for (size_t at = 0; at < stacks->program_count; at++)
        if (!find_text(stacks, programs[at].name, &stacks->programs[at].name) ||
            !find_text(stacks, programs[at].file, &stacks->programs[at].file))
            return false;
    return true;
}

static bool is_sound_share(const struct hp_named_stacks *stacks, const struct hp_zone_share *share)
{
    return share->node < stacks->node_count && share->zone < stacks->zone_count;
}

static bool is_sound_node(const struct hp_named_stacks *stacks, size_t number)
{
    const struct hp_named_node *node = &stacks->nodes[number];
    if (number == HP_STACK_ROOT)
        return node->frame_count == 0;
    return node->parent < number && (node->frame_count > 0 || node->image == HP_STACK_PROCESS) &&
           node->first_frame <= stacks->frame_count && node->frame_count <= stacks->frame_count - node->first_frame;
}

static bool is_sound(const struct hp_named_stacks *stacks)
{
    for (size_t at = 0; at < stacks->frame_count; at++)
        if (stacks->frames[at].function >= stacks->function_count)
            return false;
    for (size_t at = 0; at < stacks->node_count; at++)
        if (!is_sound_node(stacks, at))
            return false;
    for (size_t at = 0; at < stacks->share_count; at++)
        if (!is_sound_share(stacks, &stacks->shares[at]))
            return false;
    return stacks->node_count > 0;
}

static bool take_all(struct bytes *bytes, const struct file_header *header, struct hp_named_stacks *stacks)
{
    struct file_image *images = NULL;
    struct file_function *functions = NULL;
    struct file_program *programs = NULL;
    uint32_t *zones = NULL;
    bool is_done = take_images(bytes, header, stacks, &images) && take_functions(bytes, header, stacks, &functions);
    if (is_done) {
        stacks->image_count = header->images;
        stacks->function_count = header->functions;
        stacks->frame_count = header->frames;
        stacks->node_count = header->nodes;
        stacks->frames = take_table(bytes, header->frames, sizeof *stacks->frames);
        stacks->nodes = stacks->frames != NULL ? take_table(bytes, header->nodes, sizeof *stacks->nodes) : NULL;
        is_done = stacks->nodes != NULL && take_zones(bytes, header, stacks, &zones, &programs) &&
                  take_texts(bytes, header, stacks) && settle_names(stacks, images, functions) &&
                  settle_zones(stacks, zones) && settle_programs(stacks, programs) && is_sound(stacks);
    }
    free(images);
    free(functions);
    free(zones);
    free(programs);
    return is_done;
}

bool hp_stack_file_parse(const void *start, size_t size, struct hp_named_stacks *ret_stacks)
{
    struct bytes bytes = {start, size};
    struct file_header header;
    const size_t common = offsetof(struct file_header, flags); /* common to all versions */
    *ret_stacks = (struct hp_named_stacks){0};
    errno = EINVAL;
    if (!take(&bytes, &header, common) || memcmp(header.magic, magic, sizeof magic) != 0)
        return false;
    errno = EPROTO;
    if (header.version != VERSION)
        return false;
    errno = EINVAL;
    if (!take(&bytes, (char *)&header + common, sizeof header - common))
        return false;
    struct hp_stack_counts *counts = &ret_stacks->counts;
    memcpy(counts, header.counts, sizeof header.counts);
    counts->has_kernel = header.flags & HAS_KERNEL;
    counts->hides_kernel = header.flags & HIDES_KERNEL;
    counts->refused = header.flags >> REFUSED_FROM;
    counts->failed = header.failed;
    counts->source = header.flags & BY_TIMERS    ? HP_STACKS_BY_TIMERS
                     : header.flags & BY_PROGRAM ? HP_STACKS_BY_PROGRAM
                     : counts->samples > 0       ? HP_STACKS_BY_PERF
                                                 : HP_STACKS_BY_NOBODY;
    if (take_all(&bytes, &header, ret_stacks))
        return true;
    hp_named_stacks_free(ret_stacks);
    errno = EINVAL;
    return false;
}

/* Not mapped: the file could be truncated while it is read. */
bool hp_stack_file_read(const char *folder, struct hp_named_stacks *ret_stacks)
{
    char path[PATH_MAX];
    struct stat status;
    if (!path_in(folder, HP_STACK_FILE_NAME, path, sizeof path) || lstat(path, &status) != 0)
        return false;
    errno = EINVAL;
    if (!S_ISREG(status.st_mode) || status.st_size <= 0 || (uint64_t)status.st_size > MOST_BYTES)
        return false;
    char *bytes = malloc((size_t)status.st_size);
    if (bytes == NULL)
        return false;
    const ssize_t size = hp_file_read_regular(path, bytes, (size_t)status.st_size);
    const bool is_read = size > 0 && hp_stack_file_parse(bytes, (size_t)size, ret_stacks);
    const int error = errno;
    free(bytes);
    errno = error;
    return is_read;
}
