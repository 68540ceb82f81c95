/*
 * Demangles C++ names.
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
