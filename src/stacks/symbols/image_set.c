/* The programs and libraries that processes have mapped. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "image_set.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "growing_array.h"
#include "text.h"

struct hp_image_name {
    char *path; /* as the kernel reported it */
    uint64_t inode;
    struct hp_build_id build_id;
    struct hp_image *image;
};

static const char deleted[] = " (deleted)";

/* --------------------------------------------------------------------------------------------- opening */

static bool is_vdso(const char *path) { return strcmp(path, "[vdso]") == 0; }

static int open_path(const char *before, const char *path)
{
    char whole[PATH_MAX];
    const int length = snprintf(whole, sizeof whole, "%s%s", before, path);
    return length > 0 && (size_t)length < sizeof whole ? hp_regular_open(AT_FDCWD, whole, O_RDONLY) : -1;
}

/* Opens it in the mount namespace of the process, which may be a container; else in ours. */
static int open_there(const struct hp_image_set *set, const struct hp_image_place *place, const char *path)
{
    char root[64];
    int fd = -1;
    if (set->sysroot != NULL)
        return open_path(set->sysroot, path);
    if (place->pid > 0) {
        snprintf(root, sizeof root, "/proc/%ld/root", (long)place->pid);
        fd = open_path(root, path);
    }
    return fd >= 0 ? fd : open_path("", path);
}

static bool has_inode(int fd, uint64_t inode)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_ino == inode;
}

/*
 * A file without a name: opened through the mapping itself, which needs privileges, or as the executable of the
 * process.
 */
static int open_deleted(const struct hp_image_place *place)
{
    char path[100];
    if (place->pid <= 0)
        return -1;
    snprintf(path, sizeof path, "/proc/%ld/map_files/%llx-%llx", (long)place->pid, (unsigned long long)place->start,
             (unsigned long long)place->end);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0 || place->inode == 0)
        return fd;
    snprintf(path, sizeof path, "/proc/%ld/exe", (long)place->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0 && !has_inode(fd, place->inode)) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool read_file(struct hp_image *image, int fd, const struct hp_build_id *wanted)
{
    if (fd < 0 || !hp_image_file_read(&image->file, fd))
        return false;
    if (wanted->size == 0 || hp_build_id_equal(&image->file.build_id, wanted))
        return true;
    hp_image_file_close(&image->file);
    return false;
}

/* A file at the path of a deleted one is the same only if its build-id says so. */
static void read_image(const struct hp_image_set *set, struct hp_image *image, const struct hp_image_place *place)
{
    const bool is_deleted = hp_text_has_suffix(place->path, deleted);
    if (is_vdso(place->path))
        image->is_readable = read_file(image, hp_image_file_open_vdso(), &(struct hp_build_id){.size = 0});
    else if (place->path[0] != '/')
        return;
    else if (is_deleted)
        image->is_readable = read_file(image, open_deleted(place), &place->build_id);
    if (!image->is_readable && !is_vdso(place->path) && (!is_deleted || place->build_id.size > 0))
        image->is_readable = read_file(image, open_there(set, place, image->path), &place->build_id);
}

/* -------------------------------------------------------------------------------------------- the set */

static struct hp_image *known_by_name(const struct hp_image_set *set, const struct hp_image_place *place)
{
    for (size_t at = set->name_count; at-- > 0;) {
        const struct hp_image_name *name = &set->names[at];
        if (name->inode == place->inode && hp_build_id_equal(&name->build_id, &place->build_id) &&
            strcmp(name->path, place->path) == 0)
            return name->image;
    }
    return NULL;
}

static struct hp_image *known_by_build_id(const struct hp_image_set *set, const struct hp_build_id *build_id)
{
    for (size_t at = 0; build_id->size > 0 && at < set->count; at++)
        if (set->all[at]->is_readable && hp_build_id_equal(&set->all[at]->file.build_id, build_id))
            return set->all[at];
    return NULL;
}

static void free_image(struct hp_image *image)
{
    hp_image_file_close(&image->file);
    free(image->path);
    free(image);
}

static char *path_without_mark(const char *path)
{
    const size_t length = strlen(path);
    return strndup(path, hp_text_has_suffix(path, deleted) ? length - (sizeof deleted - 1) : length);
}

static struct hp_image *add_image(struct hp_image_set *set, const struct hp_image_place *place)
{
    struct hp_image *image = HP_MAKE_ROOM(set->all, set->count + 1, set->room) ? calloc(1, sizeof *image) : NULL;
    if (image == NULL)
        return NULL;
    image->file.fd = -1;
    image->inode = place->inode;
    image->path = path_without_mark(place->path);
    if (image->path == NULL) {
        free_image(image);
        return NULL;
    }
    read_image(set, image, place);
    struct hp_image *same = image->is_readable ? known_by_build_id(set, &image->file.build_id) : NULL;
    if (same != NULL) {
        free_image(image);
        return same;
    }
    image->number = (uint32_t)set->count;
    set->all[set->count++] = image;
    return image;
}

struct hp_image *hp_image_set_find(struct hp_image_set *set, const struct hp_image_place *place)
{
    struct hp_image *image = known_by_name(set, place);
    if (image != NULL)
        return image;
    char *path = HP_MAKE_ROOM(set->names, set->name_count + 1, set->name_room) ? strdup(place->path) : NULL;
    if (path == NULL)
        return NULL;
    image = known_by_build_id(set, &place->build_id);
    if (image == NULL)
        image = add_image(set, place);
    if (image == NULL) {
        free(path);
        return NULL;
    }
    set->names[set->name_count++] = (struct hp_image_name){path, place->inode, place->build_id, image};
    return image;
}

void hp_image_set_free(struct hp_image_set *set)
{
    for (size_t at = 0; at < set->count; at++)
        free_image(set->all[at]);
    for (size_t at = 0; at < set->name_count; at++)
        free(set->names[at].path);
    free(set->all);
    free(set->names);
    *set = (struct hp_image_set){.sysroot = set->sysroot};
}
