/* Names of C functions as their authors know them. SPDX-License-Identifier: MIT */
#include "plain_name.h"

#include <string.h>

#include "text.h"

static bool begins(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

/* "@@GLIBC_2.2.5": a version begins with a capital letter. What generated code is called may have other ones. */
static size_t without_version(const char *name, size_t length)
{
    const char *at = memchr(name, '@', length);
    if (at == NULL || at == name)
        return length;
    const char *version = at + (at[1] == '@' ? 2 : 1);
    const size_t left = (size_t)(name + length - version);
    const bool is_version =
        left > 0 && version[0] >= 'A' && version[0] <= 'Z' &&
        strspn(version, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._") >= left;
    return is_version ? (size_t)(at - name) : length;
}

/* ".part.0", ".cold", ".cold.1" at the end. */
static size_t without_clone(const char *name, size_t length)
{
    static const char *const kinds[] = {".part", ".constprop", ".isra", ".cold", ".lto_priv", ".clone", ".llvm"};
    size_t end = length;
    while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9')
        end--;
    const bool has_number = end < length && end > 0 && name[end - 1] == '.';
    const size_t word_end = has_number ? end - 1 : length;
    for (size_t at = 0; at < sizeof kinds / sizeof kinds[0]; at++) {
        const size_t kind = strlen(kinds[at]);
        const bool needs_number = strcmp(kinds[at], ".cold") != 0;
        if (word_end > kind && memcmp(name + word_end - kind, kinds[at], kind) == 0 &&
            (has_number || !needs_number))
            return word_end - kind;
    }
    return length;
}

/* A word at the end that tells for which CPU a function is; 0: none. */
static size_t cpu_word(const char *name, size_t length)
{
    static const char *const words[] = {"_evex512", "_evex",  "_avx512", "_avx2",   "_avx",           "_sse2",
                                        "_sse3",    "_ssse3", "_sse4_1", "_sse4_2", "_sse42",         "_fma4",
                                        "_fma",     "_erms",  "_rtm",    "_movbe",  "_no_vzeroupper", "_asimd",
                                        "_sve",     "_mte",   "_back",   "_no_bsf", "_unaligned"};
    for (size_t at = 0; at < sizeof words / sizeof words[0]; at++) {
        const size_t word = strlen(words[at]);
        if (length > word && memcmp(name + length - word, words[at], word) == 0)
            return word;
    }
    return 0;
}

/* "__memset_avx2_unaligned_erms", "__ieee754_pow_fma", "__GI___clone3" */
static size_t without_cpu(const char **name, size_t length)
{
    const size_t before = length;
    if (begins(*name, "__GI_")) {
        *name += 5;
        length -= 5;
    }
    const size_t whole = length;
    for (size_t word; (word = cpu_word(*name, length)) > 0;)
        length -= word;
    const size_t front = begins(*name, "__ieee754_") ? 10 : begins(*name, "__") ? 2 : 0;
    if (length == whole || length <= front)
        return before == whole ? whole : length;
    *name += front;
    return length - front;
}

bool hp_plain_name(const char *linked, bool is_of_c_library, char *name, size_t size)
{
    const char *begin = linked;
    const size_t whole = strnlen(linked, size);
    size_t length = whole, before;
    if (whole == size || begins(linked, "_Z") || strpbrk(linked, "(<[: ") != NULL)
        return false;
    length = without_version(begin, length);
    do {
        before = length;
        length = without_clone(begin, length);
    } while (length < before);
    if (is_of_c_library)
        length = without_cpu(&begin, length);
    memcpy(name, begin, length);
    name[length] = '\0';
    return length < whole;
}

/* "operator[]" and "parse [clone .isra.0]" have brackets of their own. */
const char *hp_without_key(const char *name, char *plain, size_t size)
{
    struct hp_text text;
    const char *bracket = name[0] != '\0' ? strchr(name + 1, '[') : NULL;
    if (bracket == NULL || name[strlen(name) - 1] != ']' || strcmp(bracket, "[]") == 0 ||
        begins(bracket, "[clone ."))
        return name;
    static const char key[] = "[text]";
    const size_t length = (size_t)(bracket - name), room = size - sizeof key;
    hp_text_init(&text, plain, size);
    hp_text_bytes(&text, name, length < room ? length : room);
    hp_text_string(&text, key);
    return hp_text_end(&text);
}
