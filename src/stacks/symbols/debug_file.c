/* Finds the separate debug file of a stripped file. SPDX-License-Identifier: MIT */
#include "debug_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "debuginfod.h"
#include "files.h"

#define ROOT "/usr/lib/debug"

/* A path built piece by piece. */
struct path {
    char bytes[PATH_MAX];
    size_t length;
    bool is_cut;
};

static void append(struct path *path, const char *text, size_t length)
{
    if (path->length + length >= sizeof path->bytes) {
        path->is_cut = true;
        return;
    }
    memcpy(path->bytes + path->length, text, length);
    path->length += length;
    path->bytes[path->length] = '\0';
}

static void append_text(struct path *path, const char *text) { append(path, text, strlen(text)); }

static bool open_path(const struct path *path, struct hp_image_file *ret_debug)
{
    const int fd = path->is_cut ? -1 : hp_regular_open(AT_FDCWD, path->bytes, O_RDONLY);
    return fd >= 0 && hp_image_file_read(ret_debug, fd);
}

/* --------------------------------------------------------------------------------------------- build-id */

/* ROOT/.build-id/ab/cdef....debug */
static bool open_by_build_id(const struct hp_image_file *file, const char *sysroot, struct hp_image_file *ret_debug)
{
    struct path path = {.length = 0};
    char digits[4];
    if (file->build_id.size < 2)
        return false;
    append_text(&path, sysroot);
    append_text(&path, ROOT "/.build-id/");
    for (size_t at = 0; at < file->build_id.size; at++) {
        snprintf(digits, sizeof digits, at == 0 ? "%02x/" : "%02x", file->build_id.bytes[at]);
        append_text(&path, digits);
    }
    append_text(&path, ".debug");
    if (!open_path(&path, ret_debug))
        return false;
    if (hp_build_id_equal(&file->build_id, &ret_debug->build_id))
        return true;
    hp_image_file_close(ret_debug);
    return false;
}

/* ------------------------------------------------------------------------------------------- debug link */

/* The CRC of debug links. */
static uint32_t sum_of(int fd)
{
    unsigned char bytes[65536];
    uint32_t table[256], sum = UINT32_MAX;
    uint64_t offset = 0;
    ssize_t got;
    for (uint32_t at = 0; at < 256; at++) {
        table[at] = at;
        for (int bit = 0; bit < 8; bit++)
            table[at] = table[at] >> 1 ^ (table[at] & 1 ? 0xedb88320u : 0);
    }
    while ((got = pread(fd, bytes, sizeof bytes, (off_t)offset)) > 0) {
        for (ssize_t at = 0; at < got; at++)
            sum = table[(sum ^ bytes[at]) & 255] ^ sum >> 8;
        offset += (uint64_t)got;
    }
    return ~sum;
}

/* If both files have a build-id, it decides, and the CRC is not computed. */
static bool belongs(const struct hp_image_file *file, const struct hp_image_file *debug, uint32_t sum)
{
    return file->build_id.size > 0 && debug->build_id.size > 0
               ? hp_build_id_equal(&file->build_id, &debug->build_id)
               : sum_of(debug->fd) == sum;
}

/* Next to the file, in .debug below it, and in the global debug folder. */
static bool open_by_link(const struct hp_image_file *file, const char *path, const char *sysroot,
                         struct hp_image_file *ret_debug)
{
    static const char *const places[][2] = {{"", "/"}, {"", "/.debug/"}, {ROOT, "/"}};
    char name[256];
    uint32_t sum;
    const char *end = strrchr(path, '/');
    if (end == NULL || !hp_image_file_debug_link(file, name, sizeof name, &sum))
        return false;
    for (size_t at = 0; at < sizeof places / sizeof places[0]; at++) {
        struct path whole = {.length = 0};
        append_text(&whole, sysroot);
        append_text(&whole, places[at][0]);
        append(&whole, path, (size_t)(end - path));
        append_text(&whole, places[at][1]);
        append_text(&whole, name);
        if (!open_path(&whole, ret_debug))
            continue;
        if (belongs(file, ret_debug, sum))
            return true;
        hp_image_file_close(ret_debug);
    }
    return false;
}

bool hp_debug_file_open(const struct hp_image_file *file, const char *path, const char *sysroot,
                        struct hp_image_file *ret_debug)
{
    const char *before = sysroot != NULL ? sysroot : "";
    *ret_debug = (struct hp_image_file){.fd = -1};
    return open_by_build_id(file, before, ret_debug) || open_by_link(file, path, before, ret_debug) ||
           hp_debuginfod_open(file, ret_debug);
}
