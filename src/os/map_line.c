/* A line of /proc/PID/maps. SPDX-License-Identifier: MIT */
#include "map_line.h"

#include <string.h>

#include "text.h"

static unsigned digit_of(char c)
{
    return c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

static bool read_number(const char **at, unsigned base, uint64_t *ret_number)
{
    const char *first = *at;
    for (*ret_number = 0; digit_of(**at) < base; ++*at)
        *ret_number = *ret_number * base + digit_of(**at);
    return *at > first;
}

/* A hexadecimal number and the character after it. */
static bool read_hex(const char **at, char sign, uint64_t *ret_number)
{
    return read_number(at, 16, ret_number) && *(*at)++ == sign;
}

/* "start-end rwxp offset major:minor inode   path" */
bool hp_map_line_read(const char *text, struct hp_map_line *ret_line, char *path, size_t size)
{
    uint64_t device;
    if (!read_hex(&text, '-', &ret_line->start) || !read_hex(&text, ' ', &ret_line->end) || strcspn(text, "\n") < 5)
        return false;
    ret_line->is_code = text[2] == 'x';
    text += 5;
    if (!read_hex(&text, ' ', &ret_line->offset) || !read_hex(&text, ':', &device) ||
        !read_hex(&text, ' ', &device) || !read_number(&text, 10, &ret_line->inode))
        return false;
    text += strspn(text, " ");
    const size_t length = strcspn(text, "\n");
    if (length >= size)
        return false;
    memcpy(path, text, length);
    path[length] = '\0';
    hp_text_read_newlines(path);
    return true;
}
