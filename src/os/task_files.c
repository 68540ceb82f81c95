/* The kernel's files about a thread. SPDX-License-Identifier: MIT */
#include "task_files.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
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

bool hp_task_read(uint32_t pid, uint32_t tid, const char *name, char *text, size_t size)
{
    char path[HP_TASK_PATH];
    return hp_file_read_text(hp_task_path(path, pid, tid, name), text, size);
}

static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    const char lower = (char)(c | ' ');
    return lower >= 'a' && lower <= 'f' ? (unsigned)(lower - 'a') + 10 : 16;
}

static bool read_number(const char **at, unsigned base, uint64_t *ret_number)
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
    read_number(at, 10, &number);
    return number;
}

uint64_t hp_task_hex(const char **at)
{
    uint64_t number;
    *at += strspn(*at, " ");
    if ((*at)[0] == '0' && (*at)[1] == 'x')
        *at += 2;
    read_number(at, 16, &number);
    return number;
}

/* ------------------------------------------------------------------------------------------- live threads */

struct search {
    uint32_t pid, tid;
    char state;
};

static void look_for_living(const char *name, void *context)
{
    struct search *search = context;
    uint64_t start;
    const uint32_t tid = (uint32_t)hp_task_number(&name);
    const char state = tid != 0 && search->tid == 0 ? hp_task_state(search->pid, tid, &start) : 'X';
    if (state == 'X' || state == 'Z')
        return;
    search->tid = tid;
    search->state = state;
}

/* The kernel shows a process by its first thread. If that has ended by pthread_exit, others may still run. */
static struct search find_living(uint32_t pid)
{
    char path[HP_TASK_PATH];
    struct search search = {.pid = pid, .state = 'Z'};
    hp_file_each(hp_task_path(path, pid, 0, "task"), look_for_living, &search);
    return search;
}

uint32_t hp_task_spokesman(uint32_t pid)
{
    const uint32_t tid = find_living(pid).tid;
    return tid != pid ? tid : 0;
}

/* The field with that number of "stat"; `at` is at the end of the second field. */
static uint64_t field_of(const char *at, int number)
{
    for (int field = 2; at != NULL && field < number; field++) {
        at = strchr(at, ' ');
        if (at != NULL)
            at++;
    }
    return at != NULL ? hp_task_number(&at) : 0;
}

/* The end of the second field of "stat", the name in parentheses, which may contain anything. NULL: none. */
static const char *end_of_name(const char *text)
{
    const char *at = strrchr(text, ')');
    return at != NULL && at[1] == ' ' ? at : NULL;
}

char hp_task_state(uint32_t pid, uint32_t tid, uint64_t *ret_start)
{
    *ret_start = 0;
    char text[1024];
    if (!hp_task_read(pid, tid, "stat", text, sizeof text))
        return 'X';
    const char *at = end_of_name(text);
    if (at == NULL)
        return 'X';
    const char state = at[2];
    *ret_start = field_of(at, 22);
    return tid == 0 && state == 'Z' ? find_living(pid).state : state;
}

bool hp_task_account(uint32_t pid, uint32_t tid, struct hp_task_account *ret_account)
{
    char text[1024];
    *ret_account = (struct hp_task_account){0};
    if (!hp_task_read(pid, tid, "stat", text, sizeof text))
        return false;
    const char *end = end_of_name(text), *begin = strchr(text, '(');
    if (end == NULL || begin == NULL || begin >= end)
        return false;
    const size_t length = (size_t)(end - begin - 1), most = sizeof ret_account->name - 1;
    memcpy(ret_account->name, begin + 1, length < most ? length : most);
    ret_account->state = end[2];
    ret_account->user = field_of(end, 14);
    ret_account->kernel = field_of(end, 15);
    return true;
}

/* The number after a key in "status". False: none. */
static bool find_number(const char *text, const char *key, uint64_t *ret_number)
{
    const char *at = strstr(text, key);
    if (at == NULL)
        return false;
    at += strlen(key);
    *ret_number = hp_task_number(&at);
    return true;
}

bool hp_task_all_switches(uint32_t pid, uint32_t tid, uint64_t *ret_voluntary, uint64_t *ret_involuntary)
{
    char text[4096];
    return hp_task_read(pid, tid, "status", text, sizeof text) &&
           find_number(text, "\nvoluntary_ctxt_switches:", ret_voluntary) &&
           find_number(text, "\nnonvoluntary_ctxt_switches:", ret_involuntary);
}

uint64_t hp_task_resident(uint32_t pid)
{
    char text[128];
    if (!hp_task_read(pid, 0, "statm", text, sizeof text))
        return 0;
    const char *at = text;
    hp_task_number(&at);
    const long page = sysconf(_SC_PAGESIZE);
    return page > 0 ? hp_task_number(&at) * (uint64_t)page : 0;
}

uint64_t hp_task_resident_peak(uint32_t pid)
{
    char text[4096];
    uint64_t kilobytes = 0;
    if (hp_task_read(pid, 0, "status", text, sizeof text))
        find_number(text, "\nVmHWM:", &kilobytes);
    return kilobytes * 1024;
}

uint64_t hp_task_switches(uint32_t pid, uint32_t tid)
{
    char text[4096];
    uint64_t count;
    const bool is_known = hp_task_read(pid, tid, "status", text, sizeof text) &&
                          find_number(text, "\nvoluntary_ctxt_switches:", &count);
    return is_known ? count : UINT64_MAX;
}

uint64_t hp_task_confinement(uint32_t pid)
{
    char text[4096];
    if (!hp_task_read(pid, 0, "status", text, sizeof text))
        return 0;
    const char *mode = strstr(text, "\nSeccomp:"), *filters = strstr(text, "\nSeccomp_filters:");
    const char *mode_at = mode != NULL ? mode + strlen("\nSeccomp:") : "0";
    const char *filters_at = filters != NULL ? filters + strlen("\nSeccomp_filters:") : "0";
    return (hp_task_number(&mode_at) != 0) + hp_task_number(&filters_at);
}

uint64_t hp_task_executable(uint32_t pid)
{
    char path[HP_TASK_PATH], name[256];
    ssize_t length = readlink(hp_task_path(path, pid, 0, "exe"), name, sizeof name);
    if (length < 0 && errno == ENOENT)
        length = readlink(hp_task_path(path, pid, hp_task_spokesman(pid), "exe"), name, sizeof name);
    return length > 0 ? hp_text_hash(name, (size_t)length) : 0;
}

/* -------------------------------------------------------------------------------------------------- memory maps */

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
