/* Facts about processes and their threads. SPDX-License-Identifier: MIT */
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
#include <unistd.h>

#include "command_line.h"
#include "files.h"
#include "raw_call.h"
#include "text.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

/* ------------------------------------------------------------------------------------------ files of the kernel */

bool hp_task_read(uint32_t pid, uint32_t tid, const char *name, char *text, size_t size)
{
    char path[HP_TASK_PATH];
    return hp_file_read_text(hp_task_path(path, pid, tid, name), text, size);
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
    return hp_task_digits(at, 16, ret_number) && *(*at)++ == sign;
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
        !read_hex(&text, ' ', &device) || !hp_task_digits(&text, 10, &ret_line->inode))
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

/* ------------------------------------------------------------------------------------------------- this process */

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
    hp_command_line(text, hp_file_read_bytes("/proc/self/cmdline", text, size - 1));
}

size_t hp_process_command_of(uint32_t pid, uint32_t tid, char *text, size_t size)
{
    char path[HP_TASK_PATH];
    return hp_command_line(text, hp_file_read_bytes(hp_task_path(path, pid, tid, "cmdline"), text, size - 1));
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

/* The value of the first line of /proc/cpuinfo that begins with this name. */
static bool read_cpu_line(const char *cpus, const char *name, struct hp_text *to)
{
    const char *line = strstr(cpus, name), *value = line != NULL ? strchr(line, ':') : NULL;
    if (value == NULL || (line != cpus && line[-1] != '\n'))
        return false;
    value += 1 + strspn(value + 1, " \t");
    hp_text_bytes(to, value, strcspn(value, "\n"));
    return true;
}

void hp_process_cpu(char *text, size_t size)
{
    char cpus[2048];
    struct hp_text out;
    hp_text_init(&out, text, size);
    cpus[hp_file_read_bytes("/proc/cpuinfo", cpus, sizeof cpus - 1)] = '\0';
    if (!read_cpu_line(cpus, "model name", &out) && read_cpu_line(cpus, "CPU implementer", &out)) {
        hp_text_char(&out, ' ');
        read_cpu_line(cpus, "CPU part", &out);
    }
    if (out.length == 0)
        hp_text_string(&out, "unknown CPU");
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

/* Without the C library, see hp_text_begins: it is asked for dozens of names. */
static const char *value_of(const char *variable, const char *name)
{
    for (; *name != '\0'; variable++, name++)
        if (*variable != *name)
            return NULL;
    return *variable == '=' ? variable + 1 : NULL;
}

const char *hp_environment(const char *name)
{
    const char *value = NULL;
    for (char **at = environ; at != NULL && *at != NULL && value == NULL; at++)
        value = value_of(*at, name);
    return value;
}

/* It says so to all programs that it runs, static ones, too. */
bool hp_process_has_valgrind(void)
{
    static uint32_t answer; /* atomic; 0: not asked yet */
    uint32_t known = __atomic_load_n(&answer, __ATOMIC_RELAXED);
    if (known == 0) {
        const char *preloaded = hp_environment("LD_PRELOAD");
        known = preloaded != NULL && strstr(preloaded, "/vgpreload_") != NULL ? 2 : 1;
        __atomic_store_n(&answer, known, __ATOMIC_RELAXED);
    }
    return known == 2;
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

uint32_t hp_task_parent(uint32_t pid)
{
    char text[512];
    if (!hp_task_read(pid, 0, "stat", text, sizeof text))
        return 0;
    const char *at = strrchr(text, ')'); /* the name before it may have any characters */
    if (at == NULL || strlen(at) < 4)
        return 0;
    at += 4; /* ") S " */
    return (uint32_t)hp_task_number(&at);
}
