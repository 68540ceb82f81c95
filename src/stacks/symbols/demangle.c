/*
 * Demangles C++ names, and Rust names of the legacy form.
 *
 * The demangler allocates as much as the result takes, and the names come from an untrusted file: a name can refer
 * to parts of itself, so that each reference doubles the result. So long names and names with many references are
 * refused (n references lengthen it by a factor of at most 3^(n/3)), and after some seconds all further names are.
 * SPDX-License-Identifier: MIT
 */
#include "demangle.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cxxname.h"
#include "text.h"

#define LONGEST_NAME 1000u
#define MOST_REFERENCES 30u
#define MOST_SECONDS 5

typedef char *demangler(const char *mangled, char *buffer, size_t *size, int *status);

static demangler *demangle;
static const char *library; /* the demangler's library */

static void find_demangler(void)
{
    static const char *const names[] = {"libstdc++.so.6", "libc++abi.so.1"};
    static bool is_done;
    for (size_t at = 0; !is_done && demangle == NULL && at < sizeof names / sizeof names[0]; at++) {
        void *handle = dlopen(names[at], RTLD_LAZY | RTLD_LOCAL);
        if (handle != NULL)
            *(void **)&demangle = dlsym(handle, "__cxa_demangle");
        library = names[at];
    }
    is_done = true;
}

const char *hp_demangle_library(void)
{
    find_demangler();
    return demangle != NULL ? library : NULL;
}

/* S_, S1_, T_, T1_: references to earlier parts. */
static size_t count_references(const char *name)
{
    size_t count = 0;
    for (; *name != '\0'; name++) {
        if (*name != 'S' && *name != 'T')
            continue;
        const size_t number = strspn(name + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        count += name[1 + number] == '_';
    }
    return count;
}

static bool is_harmless(const char *name)
{
    return strnlen(name, LONGEST_NAME + 1) <= LONGEST_NAME && count_references(name) <= MOST_REFERENCES;
}

/* Removes suffixes of the compiler, such as ".constprop.0", which the demangler does not know. */
static bool copy_without_suffix(const char *linked, char name[LONGEST_NAME + 1])
{
    const size_t length = strcspn(linked, ".");
    memcpy(name, linked, length);
    name[length] = '\0';
    return length > 2;
}

static bool read_name(const char *name, char *signature, size_t size)
{
    static clock_t spent;
    int status = 0;
    if (spent > (clock_t)MOST_SECONDS * CLOCKS_PER_SEC)
        return false;
    const clock_t start = clock();
    char *readable = demangle(name, NULL, NULL, &status);
    spent += clock() - start;
    const bool is_good = readable != NULL && status == 0 && strlen(readable) < size;
    if (is_good)
        memcpy(signature, readable, strlen(readable) + 1);
    free(readable);
    return is_good;
}

bool hp_demangle(const char *linked, char *signature, size_t size)
{
    char name[LONGEST_NAME + 1];
    if (!hp_cxx_is_mangled(linked) || !is_harmless(linked) || !copy_without_suffix(linked, name))
        return false;
    return hp_demangle_library() != NULL && read_name(name, signature, size);
}

/* ----------------------------------------------------------------------------------------------- Rust */

/*
 * Rust's legacy mangling: "_ZN", then each part of the path with its length before it, the last of which is a hash,
 * then "E". Characters not allowed in symbols are escaped between dollar signs.
 */
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
