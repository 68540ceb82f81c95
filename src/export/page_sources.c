/*
 * Source text of measured functions, for pages where the user asked for it. The session names the files, and
 * sessions may come from anywhere: only files with the extension of a source are read. SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "page.h"
#include "regular_file.h"
#include "section.h"
#include "text.h"

#define LINES_BEFORE 3u /* the recorded line of a function is often below its head */
#define MOST_LINES 120u
#define MOST_FUNCTIONS 500u
#define MOST_BYTES (4u << 20) /* of a file */

static bool is_source(const char *file)
{
    static const char *const endings[] = {".c",   ".h",   ".cc",  ".cpp", ".cxx", ".c++", ".hh", ".hpp",
                                          ".hxx", ".inc", ".inl", ".ipp", ".m",   ".mm",  ".rs"};
    for (size_t at = 0; at < sizeof endings / sizeof endings[0]; at++)
        if (hp_text_has_suffix(file, endings[at]))
            return true;
    return false;
}

/*
 * Compilers often get paths relative to their working directory: a folder above the program, or the current one.
 * -1: not found.
 */
static int open_source(const char *file, const char *program)
{
    char path[4096];
    int fd = hp_regular_open(AT_FDCWD, file, O_RDONLY);
    size_t folder = file[0] != '/' ? strlen(program) : 0;
    while (fd < 0 && folder > 0) {
        while (folder > 0 && program[folder - 1] != '/')
            folder--;
        if (folder > 0 && snprintf(path, sizeof path, "%.*s%s", (int)folder, program, file) < (int)sizeof path)
            fd = hp_regular_open(AT_FDCWD, path, O_RDONLY);
        folder -= folder > 0;
    }
    return fd;
}

/* The whole file, with a terminating zero byte. NULL: it cannot be read. To be freed. */
static char *read_source(const char *file, const char *program, size_t *ret_length)
{
    const int fd = is_source(file) ? open_source(file, program) : -1;
    char *bytes = fd >= 0 ? malloc(MOST_BYTES + 1) : NULL;
    size_t length = 0;
    for (ssize_t more = 1; bytes != NULL && more > 0 && length<MOST_BYTES; length += more> 0 ? (size_t)more : 0)
        more = read(fd, bytes + length, MOST_BYTES - length);
    if (fd >= 0)
        close(fd);
    if (bytes != NULL)
        bytes[length] = '\0';
    *ret_length = length;
    return bytes;
}

/* Lines from a few before the line of a function to the first that ends it: a brace in column 1. */
static void put_lines(struct hp_json *json, const char *bytes, size_t length, uint32_t place)
{
    const char *at = bytes, *end = bytes + length;
    const uint32_t first = place > LINES_BEFORE ? place - LINES_BEFORE : 1;
    hp_json_put_u64(json, "first", first);
    hp_json_key(json, "lines");
    hp_json_begin_array(json);
    for (uint32_t line = 1; at < end && line < first + MOST_LINES; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t its = stop != NULL ? (size_t)(stop - at) : (size_t)(end - at);
        if (line >= first)
            hp_json_string_bytes(json, at, its);
        if (line >= place && *at == '}')
            break;
        at += its + (stop != NULL);
    }
    hp_json_end_array(json);
}

static void put_source(struct hp_json *json, const struct hp_location *location, const char *program)
{
    size_t length;
    char *bytes = location->file != NULL ? read_source(location->file, program, &length) : NULL;
    if (bytes == NULL)
        return;
    hp_json_begin_object(json);
    hp_json_put_string(json, "file", location->file);
    hp_json_put_u64(json, "line", location->line);
    put_lines(json, bytes, length, location->line);
    hp_json_end_object(json);
    free(bytes);
}

void hp_page_put_sources(struct hp_json *json, const hotpath_results *results)
{
    const struct hotpath_section *timing = NULL;
    for (size_t at = 0; at < results->section_count; at++)
        if (strcmp(results->sections[at]->name, "timing") == 0)
            timing = results->sections[at];
    const size_t column = timing != NULL ? hp_section_find_column(timing, "location", strlen("location")) : 0;
    const struct hp_snapshot *first = results->model->run.sessions[0];
    const char *program = hp_snapshot_text(first, first->header.executable);
    hp_json_begin_array(json);
    for (size_t row = 0;
         timing != NULL && column < timing->column_count && row < timing->row_count && row < MOST_FUNCTIONS; row++)
        if (timing->rows[row].cells[column].has_value && timing->rows[row].cells[column].location != NULL)
            put_source(json, timing->rows[row].cells[column].location, program);
    hp_json_end_array(json);
}
