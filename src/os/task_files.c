/* What the kernel's files about a thread say. SPDX-License-Identifier: MIT */
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

uint64_t hp_task_number(const char **at)
{
    uint64_t number = 0;
    while (**at == ' ' || **at == '\t')
        ++*at;
    for (; **at >= '0' && **at <= '9'; ++*at)
        number = number * 10 + (uint64_t)(**at - '0');
    return number;
}

uint64_t hp_task_hex(const char **at)
{
    uint64_t number = 0;
    while (**at == ' ')
        ++*at;
    if ((*at)[0] == '0' && (*at)[1] == 'x')
        *at += 2;
    for (;; ++*at) {
        const char c = **at;
        if (c >= '0' && c <= '9')
            number = number << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            number = number << 4 | (uint64_t)(c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            number = number << 4 | (uint64_t)(c - 'A' + 10);
        else
            return number;
    }
}

/* ------------------------------------------------------------------------------------------- those that live */

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

/* The kernel shows a process by its first thread. When that has ended by pthread_exit, others may go on. */
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

char hp_task_state(uint32_t pid, uint32_t tid, uint64_t *ret_start)
{
    *ret_start = 0;
    char text[1024];
    if (!hp_task_read(pid, tid, "stat", text, sizeof text))
        return 'X';
    const char *at = strrchr(text, ')'); /* the name before it may hold anything */
    if (at == NULL || at[1] != ' ')
        return 'X';
    const char state = at[2];
    for (int field = 2; at != NULL && field < 22; field++) {
        at = strchr(at, ' ');
        if (at != NULL)
            at++;
    }
    *ret_start = at != NULL ? hp_task_number(&at) : 0;
    return tid == 0 && state == 'Z' ? find_living(pid).state : state;
}

uint64_t hp_task_switches(uint32_t pid, uint32_t tid)
{
    static const char key[] = "\nvoluntary_ctxt_switches:";
    char text[4096];
    if (!hp_task_read(pid, tid, "status", text, sizeof text))
        return UINT64_MAX;
    const char *at = strstr(text, key);
    if (at == NULL)
        return UINT64_MAX;
    at += sizeof key - 1;
    return hp_task_number(&at);
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
