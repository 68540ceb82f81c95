/*
 * Rust's legacy mangling: "_ZN", then each part of the path with its length before it, the last of which is a hash,
 * then "E". Characters not allowed in symbols are escaped between dollar signs. SPDX-License-Identifier: MIT
 */
#include "rust_name.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

#define HASH_LENGTH 17u

struct escape {
    const char *written;
    const char *meant;
};

static const struct escape escapes[] = {
    {"$SP$", "@"}, {"$BP$", "*"}, {"$RF$", "&"}, {"$LT$", "<"}, {"$GT$", ">"},
    {"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","},  {"..", "::"},
};

/* "$u7e$": a character by its number. Returns the length, or 0. */
static size_t numbered(const char *at, size_t length, struct hp_text *text)
{
    char *end;
    if (length < 4 || at[0] != '$' || at[1] != 'u')
        return 0;
    const unsigned long number = strtoul(at + 2, &end, 16);
    if (*end != '$' || end == at + 2 || end > at + 8 || number < ' ' || number > '~')
        return 0;
    hp_text_char(text, (char)number);
    return (size_t)(end + 1 - at);
}

static size_t escaped(const char *at, size_t length, struct hp_text *text)
{
    for (size_t index = 0; index < sizeof escapes / sizeof escapes[0]; index++) {
        const size_t size = strlen(escapes[index].written);
        if (size <= length && memcmp(at, escapes[index].written, size) == 0) {
            hp_text_string(text, escapes[index].meant);
            return size;
        }
    }
    return numbered(at, length, text);
}

static void write_part(const char *part, size_t length, struct hp_text *text)
{
    size_t at = length >= 2 && part[0] == '_' && part[1] == '$' ? 1 : 0;
    while (at < length) {
        const size_t size = escaped(part + at, length - at, text);
        if (size == 0)
            hp_text_char(text, part[at]);
        at += size > 0 && size <= length - at ? size : 1;
    }
}

static bool is_hash(const char *part, size_t length)
{
    return length == HASH_LENGTH && part[0] == 'h' && strspn(part + 1, "0123456789abcdef") >= HASH_LENGTH - 1;
}

/* The next part of a path. False: none. */
static bool next_part(const char **at, const char *end, const char **ret_part, size_t *ret_length)
{
    char *behind;
    if (**at < '1' || **at > '9')
        return false;
    const unsigned long length = strtoul(*at, &behind, 10);
    if (behind > end || length > (size_t)(end - behind))
        return false;
    *ret_part = behind;
    *ret_length = length;
    *at = behind + length;
    return true;
}

bool hp_rust_name(const char *linked, char *name, size_t size)
{
    struct hp_text text;
    const char *part, *end = linked + strlen(linked);
    size_t length, count = 0;
    if (strncmp(linked, "_ZN", 3) != 0 || size == 0)
        return false;
    hp_text_init(&text, name, size);
    for (const char *at = linked + 3; next_part(&at, end, &part, &length); count++) {
        if (is_hash(part, length) && *at == 'E') {
            hp_text_end(&text);
            return count > 0 && !text.is_cut;
        }
        if (count > 0)
            hp_text_string(&text, "::");
        write_part(part, length, &text);
    }
    return false;
}
