/* Finds processes, and says why they cannot be observed. SPDX-License-Identifier: MIT */
#include "find_process.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "growing_array.h"
#include "process.h"
#include "sessions.h"
#include "text.h"

#define COMM_BYTES 16u /* of a program's name in the kernel, with the zero */
#define MOST_LISTED 20u
#define KERNEL_THREAD 0x00200000u /* PF_KTHREAD */

/* ---------------------------------------------------------------------------------------------------- by its id */

/* The flags of a process, as the kernel has them: the ninth field of its stat, after a name in brackets. */
static uint32_t flags_of(uint32_t pid)
{
    char text[512];
    if (!hp_task_read(pid, 0, "stat", text, sizeof text))
        return 0;
    const char *at = strrchr(text, ')');
    for (unsigned field = 2; at != NULL && field < 9; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? (uint32_t)strtoul(at, NULL, 10) : 0;
}

/* EXIT_DONE: it can have stacks. */
static int check(const struct hp_command *command, uint32_t pid)
{
    uint64_t start;
    const char state = hp_task_state(pid, 0, &start);
    (void)command;
    if (!hp_process_exists(pid) || state == 'X')
        return hp_fail("there is no process %u", (unsigned)pid);
    if (state == 'Z')
        return hp_fail("process %u has ended: it is a zombie, until its parent waits for it", (unsigned)pid);
    if ((flags_of(pid) & KERNEL_THREAD) != 0)
        return hp_fail("process %u is a thread of the kernel: it has no stack that could be shown", (unsigned)pid);
    if (pid == (uint32_t)getpid())
        return hp_fail("hotpath cannot show its own stacks");
    return EXIT_DONE;
}

/* ---------------------------------------------------------------------------------------------------- by a name */

/* The processes of a name. */
struct named {
    const char *name;
    uint32_t *all;
    size_t count, room;
};

static bool read_comm(uint32_t pid, char comm[COMM_BYTES])
{
    char text[64];
    if (!hp_task_read(pid, 0, "comm", text, sizeof text))
        return false;
    const size_t length = strcspn(text, "\n"), kept = length < COMM_BYTES ? length : COMM_BYTES - 1;
    memcpy(comm, text, kept);
    comm[kept] = '\0';
    return true;
}

static void visit_process(const char *entry, void *context)
{
    struct named *named = context;
    char comm[COMM_BYTES];
    uint64_t start;
    const uint32_t pid = isdigit((unsigned char)entry[0]) ? (uint32_t)hp_task_number(&entry) : 0;
    if (pid == 0 || pid == (uint32_t)getpid() || !read_comm(pid, comm) ||
        strncmp(comm, named->name, COMM_BYTES - 1) != 0 || hp_task_state(pid, 0, &start) == 'Z')
        return;
    if (HP_MAKE_ROOM(named->all, named->count + 1, named->room))
        named->all[named->count++] = pid;
}

static void list(const struct named *named)
{
    for (size_t at = 0; at < named->count && at < MOST_LISTED; at++) {
        char command[200], shown[400];
        hp_process_command_of(named->all[at], 0, command, sizeof command);
        hp_copy_printable(shown, sizeof shown, command);
        fprintf(stderr, "  %u  %s\n", (unsigned)named->all[at], shown);
    }
    if (named->count > MOST_LISTED)
        fprintf(stderr, "  and %zu more\n", named->count - MOST_LISTED);
}

static int choose_by_comm(const char *name, uint32_t *ret_pid)
{
    struct named named = {.name = name};
    int status = EXIT_DONE;
    hp_file_each(hp_task_root, visit_process, &named);
    if (named.count == 0) {
        status = hp_fail("there is no process '%s'", name);
    } else if (named.count > 1) {
        hp_fail("there are %zu processes '%s'; give a process id:", named.count, name);
        list(&named);
        status = EXIT_USAGE;
    } else {
        *ret_pid = named.all[0];
    }
    free(named.all);
    return status;
}

static bool is_of_program(const struct hp_stored_session *session, const char *name)
{
    char program[256];
    snprintf(program, sizeof program, "%.*s", (int)strcspn(session->command, " "), session->command);
    return strcmp(hp_text_base_name(program), name) == 0;
}

/* The newest measured process that lives, of that program or of any (NULL). False: there is none. */
static bool choose_measured(const struct hp_settings *settings, const char *name, uint32_t *ret_pid)
{
    struct hp_sessions found = {0};
    bool is_found = false;
    hp_sessions_find(&found, &settings->record, true);
    for (size_t at = 0; !is_found && at < found.count; at++) {
        const struct hp_stored_session *session = &found.all[at];
        is_found = !session->is_run && !session->is_outside && session->state == HP_SESSION_LIVE &&
                   (name == NULL || is_of_program(session, name));
        if (is_found)
            *ret_pid = session->pid;
    }
    hp_sessions_free(&found);
    return is_found;
}

int hp_process_choose(const struct hp_command *command, const struct hp_settings *settings, const char *name,
                      uint32_t *ret_pid)
{
    char *end;
    int status = EXIT_DONE;
    if (name == NULL)
        return choose_measured(settings, NULL, ret_pid)
                   ? EXIT_DONE
                   : hp_misuse(command, "no measured program runs: give a process id or the name of a program");
    errno = 0;
    const unsigned long number = strtoul(name, &end, 10);
    if (isdigit((unsigned char)name[0]) && *end == '\0') {
        if (errno != 0 || number == 0 || number > INT32_MAX)
            return hp_misuse(command, "'%s' is not a process id", name);
        *ret_pid = (uint32_t)number;
    } else if (!choose_measured(settings, name, ret_pid)) {
        status = choose_by_comm(name, ret_pid);
    }
    return status == EXIT_DONE ? check(command, *ret_pid) : status;
}

/* -------------------------------------------------------------------------------------------------- permissions */

bool hp_process_is_of_another_user(uint32_t pid)
{
    char path[HP_TASK_PATH];
    struct stat status;
    return geteuid() != 0 && stat(hp_task_path(path, pid, 0, "stat"), &status) == 0 && status.st_uid != geteuid();
}

static void read_setting(const char *path, char *text, size_t size)
{
    if (!hp_file_read_text(path, text, size))
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

void hp_explain_refused_samples(const char *what)
{
    char paranoia[16];
    read_setting("/proc/sys/kernel/perf_event_paranoid", paranoia, sizeof paranoia);
    if (paranoia[0] != '\0' && strtol(paranoia, NULL, 10) > 2)
        hp_fail("%s: kernel.perf_event_paranoid is %s; run 'sysctl kernel.perf_event_paranoid=2' as root, or use "
                "sudo",
                what, paranoia);
    else
        hp_fail("%s: perf is not allowed, as in many containers, or the process has too many threads", what);
}

void hp_explain_hidden_waits(uint32_t pid, const char *what)
{
    char scope[16];
    read_setting("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
    if (hp_process_is_of_another_user(pid))
        hp_fail("%s: process %u belongs to another user; use sudo", what, (unsigned)pid);
    else if (scope[0] != '\0' && scope[0] != '0')
        hp_fail("%s: kernel.yama.ptrace_scope is %s; run 'sysctl kernel.yama.ptrace_scope=0' as root, or use sudo",
                what, scope);
    else
        hp_fail("%s: the process has privileges that you do not have, or is not dumpable; use sudo", what);
}
