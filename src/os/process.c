/* Facts about the process. SPDX-License-Identifier: MIT */
#include "process.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "files.h"
#include "sys.h"
#include "task_files.h"
#include "text.h"

uint64_t hp_process_start_time(uint32_t pid)
{
    uint64_t start;
    hp_task_state(pid, 0, &start);
    return start;
}

bool hp_process_exists(uint32_t pid) { return kill((pid_t)pid, 0) == 0 || errno == EPERM; }

enum hp_life hp_process_life(uint32_t pid, uint64_t start, uint32_t pid_namespace)
{
    if (start == 0 || pid == 0 || pid_namespace != hp_process_namespace())
        return HP_LIFE_UNKNOWN;
    return hp_process_exists(pid) && hp_process_start_time(pid) == start ? HP_LIFE_LIVE : HP_LIFE_OVER;
}

bool hp_process_has_thread(uint32_t thread_id)
{
    return syscall(SYS_tgkill, hp_sys_process_id(), thread_id, 0) == 0 || errno != ESRCH;
}

uint32_t hp_process_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (uint32_t)status.st_ino : 0;
}

bool hp_process_is_privileged(void) { return getauxval(AT_SECURE) != 0; }

void hp_process_command(char *text, size_t size)
{
    const size_t length = hp_file_read_bytes("/proc/self/cmdline", text, size - 1);
    for (size_t at = 0; at + 1 < length; at++)
        if (text[at] == '\0')
            text[at] = ' ';
    text[length] = '\0';
}

void hp_process_executable(char *text, size_t size)
{
    const ssize_t length = readlink("/proc/self/exe", text, size - 1);
    text[length > 0 ? length : 0] = '\0';
}

void hp_process_host(char *text, size_t size)
{
    struct utsname names;
    struct hp_text out;
    hp_text_init(&out, text, size);
    if (uname(&names) == 0)
        hp_text_string(&out, names.nodename);
    hp_text_end(&out);
}

void hp_process_system(char *text, size_t size)
{
    struct utsname names;
    struct hp_text out;
    hp_text_init(&out, text, size);
    if (uname(&names) == 0) {
        hp_text_string(&out, names.sysname);
        hp_text_char(&out, ' ');
        hp_text_string(&out, names.release);
        hp_text_char(&out, ' ');
        hp_text_string(&out, names.machine);
    }
    hp_text_end(&out);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void hp_process_boot_id(unsigned char id[16])
{
    char text[64];
    memset(id, 0, 16);
    if (!hp_file_read_text("/proc/sys/kernel/random/boot_id", text, sizeof text))
        return;
    size_t nibbles = 0;
    for (const char *at = text; *at && nibbles < 32; at++) {
        const int digit = hex_digit(*at);
        if (digit < 0)
            continue;
        id[nibbles / 2] = (unsigned char)(id[nibbles / 2] << 4 | digit);
        nibbles++;
    }
}

uint32_t hp_process_cores(void)
{
    unsigned long mask[64] = {0};
    const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    uint32_t cores = 0;
    for (size_t word = 0; bytes > 0 && word < (size_t)bytes / sizeof mask[0]; word++)
        cores += (uint32_t)__builtin_popcountl(mask[word]);
    return cores ? cores : 1;
}

void hp_process_thread_name(char name[16])
{
    memset(name, 0, 16);
    prctl(PR_GET_NAME, name, 0, 0, 0);
    name[15] = '\0';
}

extern char **environ;

char *const *hp_environment_all(void) { return environ; }

const char *hp_environment(const char *name)
{
    const size_t length = strlen(name);
    for (char **at = environ; at != NULL && *at != NULL; at++)
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
            return *at + length + 1;
    return NULL;
}
