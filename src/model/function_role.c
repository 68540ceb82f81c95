/* What a function found in stacks is to a reader. SPDX-License-Identifier: MIT */
#include "function_role.h"

#include <stddef.h>
#include <string.h>

#include "text.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool begins_with_one(const char *name, const char *const *list, size_t count)
{
    for (size_t at = 0; at < count; at++)
        if (hp_text_begins(name, list[at]))
            return true;
    return false;
}

bool hp_is_c_library(const char *path)
{
    static const char *const names[] = {"libc.so", "libc-2", "libc.musl",  "ld-linux", "ld-musl",
                                        "ld-2",    "libdl",  "libpthread", "[vdso]"};
    return begins_with_one(hp_text_base_name(path), names, COUNT(names));
}

bool hp_is_system_path(const char *path)
{
    static const char *const names[] = {"libstdc++", "libc++.", "libgcc_s"};
    return hp_is_c_library(path) || begins_with_one(hp_text_base_name(path), names, COUNT(names));
}

bool hp_is_program_file(const char *library)
{
    return library[0] != '\0' && library[0] != '[' && strstr(library, ".so") == NULL;
}

/* Where threads and programs begin. A name that ends with a star may go on. */
static bool is_start(const char *name)
{
    static const char *const names[] = {"_start",
                                        "__libc_start_main*",
                                        "__libc_start_call_main",
                                        "start_thread",
                                        "__GI___clone*",
                                        "__clone*",
                                        "clone",
                                        "clone3",
                                        "_dl_start*",
                                        "call_init*",
                                        "_dl_init*",
                                        "std::thread::_State*",
                                        "std::rt::*",
                                        "std::sys::backtrace*",
                                        "lang_start*",
                                        "runtime.goexit*",
                                        "runtime.main*",
                                        "runtime.mstart*",
                                        "runtime.mcall*",
                                        "runtime.morestack*",
                                        "runtime.systemstack*",
                                        "runtime.rt0_go*",
                                        "main.main",
                                        HP_REST_OF_STACK};
    for (size_t at = 0; at < COUNT(names); at++) {
        const size_t length = strlen(names[at]);
        const bool may_go_on = names[at][length - 1] == '*';
        if (may_go_on ? strncmp(name, names[at], length - 1) == 0 : strcmp(name, names[at]) == 0)
            return true;
    }
    return false;
}

bool hp_is_nameless(const char *name)
{
    const char *address = strrchr(name, '+');
    return address != NULL && address > name && hp_text_begins(address, "+0x") && address[3] != '\0' &&
           address[3 + strspn(address + 3, "0123456789abcdef")] == '\0';
}

/* Of the standard libraries of C++ and Rust, which are compiled into programs. */
static bool is_of_language(const char *name)
{
    static const char *const spaces[] = {
        "std::", "__gnu_cxx::", "core::", "alloc::", "hashbrown::", "<alloc::", "<core::", "<std::"};
    const char *blank = strchr(name, ' '), *arguments = strpbrk(name, "(<:");
    const bool has_type = blank != NULL && (arguments == NULL || blank < arguments); /* "void std::sort..." */
    return begins_with_one(name, spaces, COUNT(spaces)) ||
           (has_type && begins_with_one(blank + 1, spaces, COUNT(spaces)));
}

enum hp_function_role hp_function_role(const char *name, const char *library)
{
    static const char *const others[] = {"libm.so", "libm-2", "librt.so"};
    if (hp_text_begins(name, "[kernel") || strcmp(library, "[kernel]") == 0)
        return HP_ROLE_KERNEL;
    if (hp_text_begins(name, "[code in no file"))
        return HP_ROLE_GENERATED;
    if (name[0] == '<' &&
        (hp_text_begins(name, "<not sampled") || strcmp(name, "<hotpath>") == 0 || strcmp(name, "<startup>") == 0))
        return HP_ROLE_UNSEEN;
    if (is_start(name))
        return HP_ROLE_START;
    if (hp_is_system_path(library) || begins_with_one(library, others, COUNT(others)))
        return HP_ROLE_HELPER;
    if (hp_is_nameless(name))
        return HP_ROLE_NAMELESS;
    return is_of_language(name) ? HP_ROLE_HELPER : HP_ROLE_CODE;
}
