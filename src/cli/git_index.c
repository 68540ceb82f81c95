/*
 * Reads git's index (gitformat-index(5), versions 2 to 4): it has the size and time of each file when git last
 * compared it. The cache of trees at its end is valid unless something was staged. SPDX-License-Identifier: MIT
 */
#include "git_index.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "text.h"

#define MOST_BYTES (1u << 20) /* about ten thousand files, which take some milliseconds */
#define ASSUMED 0x8000u       /* flags of an entry */
#define EXTENDED 0x4000u
#define STAGE 0x3000u
#define SKIPPED 0x4000u /* the second flags */
#define INTENDED 0x2000u
#define KIND 0170000u /* of the mode */
#define REGULAR 0100000u
#define LINK 0120000u

struct index {
    const unsigned char *bytes;
    size_t length, at;
    uint32_t version, count;
    size_t hash_bytes;
    char name[PATH_MAX];
    size_t name_length;
};

struct entry {
    uint32_t seconds, ns, mode, size, flags, more_flags;
};

static uint32_t number_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint32_t short_at(const unsigned char *bytes) { return (uint32_t)bytes[0] << 8 | bytes[1]; }

static size_t left(const struct index *index) { return index->length - index->at; }

/* Version 4: how many bytes of the name before do not belong to this one. */
static bool read_removed(struct index *index, size_t *removed)
{
    size_t value = 0;
    for (bool is_first = true; left(index) > 0 && value < PATH_MAX; is_first = false) {
        const unsigned char byte = index->bytes[index->at++];
        value = (is_first ? 0 : (value + 1) << 7) | (byte & 127);
        if (byte < 128) {
            *removed = value;
            return value <= index->name_length;
        }
    }
    return false;
}

/* The name, and the zeros behind it. */
static bool read_name(struct index *index, size_t start)
{
    size_t removed = 0;
    if (index->version == 4 && !read_removed(index, &removed))
        return false;
    const size_t kept = index->version == 4 ? index->name_length - removed : 0;
    const unsigned char *from = index->bytes + index->at, *end = memchr(from, 0, left(index));
    if (end == NULL || kept + (size_t)(end - from) >= sizeof index->name)
        return false;
    memcpy(index->name + kept, from, (size_t)(end - from) + 1);
    index->name_length = kept + (size_t)(end - from);
    index->at += (size_t)(end - from) + 1;
    if (index->version < 4)
        index->at = start + (index->at - start + 7) / 8 * 8;
    return index->at <= index->length;
}

static bool read_entry(struct index *index, struct entry *entry)
{
    const size_t start = index->at, fixed = 40 + index->hash_bytes + 2;
    if (left(index) < fixed + 2)
        return false;
    const unsigned char *bytes = index->bytes + start;
    *entry = (struct entry){.seconds = number_at(bytes + 8),
                            .ns = number_at(bytes + 12),
                            .mode = number_at(bytes + 24),
                            .size = number_at(bytes + 36),
                            .flags = short_at(bytes + fixed - 2)};
    index->at += fixed;
    if ((entry->flags & EXTENDED) != 0 && index->version > 2) {
        entry->more_flags = short_at(bytes + fixed);
        index->at += 2;
    }
    return read_name(index, start);
}

/* Submodules and folders that are left out are not files. Not every git stores nanoseconds. */
static bool is_changed(int root, const char *name, const struct entry *entry)
{
    struct stat about;
    const uint32_t kind = entry->mode & KIND;
    if ((entry->flags & STAGE) != 0 || (entry->more_flags & INTENDED) != 0)
        return true;
    if ((entry->flags & ASSUMED) != 0 || (entry->more_flags & SKIPPED) != 0 || (kind != REGULAR && kind != LINK))
        return false;
    return fstatat(root, name, &about, AT_SYMLINK_NOFOLLOW) != 0 || (about.st_mode & S_IFMT) != kind ||
           (uint32_t)about.st_size != entry->size || (uint32_t)about.st_mtim.tv_sec != entry->seconds ||
           (entry->ns != 0 && (uint32_t)about.st_mtim.tv_nsec != entry->ns);
}

/* What follows the entries: names of four letters, each with its length. */
static enum hp_git_state read_extensions(struct index *index)
{
    enum hp_git_state state = HP_GIT_CLEAN;
    while (left(index) >= 8 + index->hash_bytes) {
        const unsigned char *bytes = index->bytes + index->at;
        const size_t length = number_at(bytes + 4);
        if (length > left(index) - 8 || memcmp(bytes, "link", 4) == 0)
            return HP_GIT_UNKNOWN; /* the other half is in another file */
        if (memcmp(bytes, "TREE", 4) == 0 && length > 3 && memcmp(bytes + 8, "\0-1", 3) == 0)
            state = HP_GIT_DIRTY; /* the whole is no tree that is known */
        index->at += 8 + length;
    }
    return state;
}

static enum hp_git_state compare(struct index *index, int root)
{
    enum hp_git_state state = HP_GIT_CLEAN;
    struct entry entry;
    if (left(index) < 12 || memcmp(index->bytes, "DIRC", 4) != 0)
        return HP_GIT_UNKNOWN;
    index->version = number_at(index->bytes + 4);
    index->count = number_at(index->bytes + 8);
    index->at = 12;
    if (index->version < 2 || index->version > 4)
        return HP_GIT_UNKNOWN;
    for (uint32_t at = 0; at < index->count; at++) {
        if (!read_entry(index, &entry))
            return HP_GIT_UNKNOWN;
        if (state == HP_GIT_CLEAN && is_changed(root, index->name, &entry))
            state = HP_GIT_DIRTY;
    }
    const enum hp_git_state rest = read_extensions(index);
    return rest == HP_GIT_CLEAN ? state : rest;
}

enum hp_git_state hp_git_index_compare(const char *git, const char *root, size_t hash_bytes)
{
    static struct index index;
    static char path[PATH_MAX + 8];
    struct hp_text text;
    hp_text_init(&text, path, sizeof path);
    hp_text_format(&text, "%s/index", git);
    const int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    unsigned char *bytes = malloc(MOST_BYTES);
    const ssize_t length = bytes != NULL ? hp_file_read_regular(hp_text_end(&text), bytes, MOST_BYTES) : -1;
    enum hp_git_state state = HP_GIT_UNKNOWN;
    index = (struct index){.bytes = bytes, .length = length > 0 ? (size_t)length : 0};
    index.hash_bytes = hash_bytes > 0 ? hash_bytes : 20;
    if (folder >= 0 && length > 0 && (size_t)length < MOST_BYTES)
        state = compare(&index, folder);
    if (folder >= 0)
        close(folder);
    free(bytes);
    return state;
}
