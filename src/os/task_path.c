/* Names and numbers in /proc. SPDX-License-Identifier: MIT */
#include "task_path.h"

#include <string.h>

#include "text.h"

const char *hp_task_root = "/proc";

const char *hp_task_path(char path[HP_TASK_PATH], uint32_t pid, uint32_t tid, const char *name)
{
    struct hp_text text;
    hp_text_init(&text, path, HP_TASK_PATH);
    hp_text_string(&text, hp_task_root);
    hp_text_char(&text, '/');
    if (pid != 0)
        hp_text_u64(&text, pid);
    else
        hp_text_string(&text, "self");
    if (tid != 0) {
        hp_text_string(&text, "/task/");
        hp_text_u64(&text, tid);
    }
    hp_text_char(&text, '/');
    hp_text_string(&text, name);
    return hp_text_end(&text);
}

static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    const char lower = (char)(c | ' ');
    return lower >= 'a' && lower <= 'f' ? (unsigned)(lower - 'a') + 10 : 16;
}

bool hp_task_digits(const char **at, unsigned base, uint64_t *ret_number)
{
    const char *first = *at;
    for (*ret_number = 0; digit_of(**at) < base; ++*at)
        *ret_number = *ret_number * base + digit_of(**at);
    return *at > first;
}

uint64_t hp_task_number(const char **at)
{
    uint64_t number;
    *at += strspn(*at, " \t");
    hp_task_digits(at, 10, &number);
    return number;
}

uint64_t hp_task_hex(const char **at)
{
    uint64_t number;
    *at += strspn(*at, " ");
    if ((*at)[0] == '0' && (*at)[1] == 'x')
        *at += 2;
    hp_task_digits(at, 16, &number);
    return number;
}
