/* Facts about the process. SPDX-License-Identifier: MIT */
#include "process.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "files.h"
#include "raw_call.h"
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

/* ------------------------------------------------------------------------------------------------------ counter */

#if defined(__x86_64__) || defined(__i386__)

static bool tsc_is_invariant(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8)) != 0;
}

/* The kernel removes the TSC from this list if it has seen it drift or differ between cores. */
static bool kernel_trusts_tsc(void)
{
    char sources[256];
    if (!hp_file_read_text("/sys/devices/system/clocksource/clocksource0/available_clocksource", sources,
                           sizeof sources))
        return tsc_is_invariant(); /* no sysfs in this container: trust the CPU */
    for (const char *at = sources; *at; at++)
        if (at[0] == 't' && at[1] == 's' && at[2] == 'c' && (at == sources || at[-1] == ' '))
            return true;
    return false;
}

enum hp_counter hp_clock_counter(void)
{
    return hp_clock_may_be_read() && kernel_trusts_tsc() ? HP_COUNTER_TSC : HP_COUNTER_NONE;
}

#elif defined(__aarch64__)
enum hp_counter hp_clock_counter(void) { return HP_COUNTER_CNTVCT; }
#elif defined(__riscv) && __riscv_xlen == 64
enum hp_counter hp_clock_counter(void) { return HP_COUNTER_RDTIME; }
#else
enum hp_counter hp_clock_counter(void) { return HP_COUNTER_NONE; }
#endif

/* ----------------------------------------------------------------------------------------------------- terminal */

struct hp_terminal hp_terminal_of(int fd)
{
    struct winsize size;
    const char *kind = hp_environment("TERM");
    memset(&size, 0, sizeof size);
    const bool is_terminal = ioctl(fd, TIOCGWINSZ, &size) == 0;
    return (struct hp_terminal){.columns = size.ws_col,
                                .has_color = is_terminal && (kind == NULL || strcmp(kind, "dumb") != 0)};
}
