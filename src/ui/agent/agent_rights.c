/* The rights of the agent and of its readers. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* setresuid, setgroups, syscall */
#include "agent_rights.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534u
#define BIT(capability) (UINT64_C(1) << (capability))
#define NEEDED (BIT(CAP_SETUID) | BIT(CAP_SETGID))
#define READER_MEMORY ((rlim_t)1 << 30)

/* ------------------------------------------------------------------------------------------------- capabilities */

static uint64_t rights(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capget, &head, data) != 0)
        return 0;
    return data[0].effective | (uint64_t)data[1].effective << 32;
}

static bool keep_rights(uint64_t kept)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
        {.effective = (uint32_t)kept, .permitted = (uint32_t)kept},
        {.effective = (uint32_t)(kept >> 32), .permitted = (uint32_t)(kept >> 32)}};
    /* With this a program of root that is executed gets no rights back. */
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_capset, &head, data) == 0;
}

bool hp_agent_is_privileged(void) { return (rights() & NEEDED) == NEEDED; }

bool hp_agent_may_look(void) { return (rights() & BIT(CAP_SYS_PTRACE)) != 0; }

bool hp_agent_drop_rights(void)
{
    return keep_rights(rights() & (NEEDED | BIT(CAP_SYS_PTRACE))) && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

/* ------------------------------------------------------------------------------------------------------- reader */

/* Groups of the user do not matter: a folder is readable for its owner. With -1 all would stay as it is. */
static bool become(uid_t user, gid_t group)
{
    return user != (uid_t)-1 && group != (gid_t)-1 && setgroups(0, NULL) == 0 &&
           setresgid(group, group, group) == 0 && setresuid(user, user, user) == 0;
}

#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9 */
#endif
#define OTHERS_MOST 65536

/* Those of libraries, too, which may stay open in a program that is executed: connections to collectors. */
static void close_others(void)
{
    struct rlimit open = {.rlim_cur = OTHERS_MOST};
    if (syscall(SYS_close_range, HP_AGENT_READER_END + 1u, ~0u, 0u) == 0)
        return;
    getrlimit(RLIMIT_NOFILE, &open);
    const int most = open.rlim_cur < OTHERS_MOST ? (int)open.rlim_cur : OTHERS_MOST;
    for (int fd = HP_AGENT_READER_END + 1; fd < most; fd++)
        close(fd);
}

/*
 * A user has power over all processes of that user, and so over the reader. It must not have our terminal, which
 * it could type into, nor our keys, nor our folder, which may be in one that is closed to others.
 */
static bool leave_surroundings(void)
{
    syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL); /* where there are keys */
    close_others();
    return setsid() > 0 && chdir("/") == 0;
}

static void limit(void)
{
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* which map terabytes */
    setrlimit(RLIMIT_AS, &(struct rlimit){READER_MEMORY, READER_MEMORY});
#endif
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){1024, 1024});
}

/* The end of the link may be where something else has to be. */
static bool place_descriptors(int end)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC), copy = fcntl(end, F_DUPFD_CLOEXEC, 10);
    if (null < 0 || copy < 0)
        return false;
    for (int at = 0; at <= 2; at++)
        if (dup2(null, at) < 0)
            return false;
    return dup2(copy, HP_AGENT_READER_END) == HP_AGENT_READER_END;
}

/* What the linker and sanitizers want to know; where another user is told, nothing of ours. */
static size_t put_environment(const char *environment[6], bool becomes_user, bool with_texts)
{
    static char kept[3][4096];
    static const char *const names[] = {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS"};
    size_t count = 0;
    environment[count++] =
        with_texts ? HP_AGENT_READER_VARIABLE "=" HP_AGENT_READER_TEXTS : HP_AGENT_READER_VARIABLE "=names";
    for (size_t at = 0; at < sizeof names / sizeof names[0] && !becomes_user; at++) {
        const char *value = getenv(names[at]);
        if (value == NULL || strlen(names[at]) + strlen(value) + 2 > sizeof kept[at])
            continue;
        char *end = stpcpy(kept[at], names[at]);
        *end++ = '=';
        memcpy(end, value, strlen(value) + 1);
        environment[count++] = kept[at];
    }
    environment[count] = NULL;
    return count;
}

pid_t hp_agent_start_reader(uid_t user, bool becomes_user, bool with_texts, int end)
{
    static const char *const arguments[] = {"hotpath", "agent", NULL};
    const char *environment[6];
    const struct passwd *entry = becomes_user ? getpwuid(user) : NULL;
    const gid_t group = entry != NULL ? entry->pw_gid : NOBODY;
    put_environment(environment, becomes_user, with_texts);
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_IGN); /* of the terminal: the agent ends it */
    if (place_descriptors(end) && leave_surroundings() && (!becomes_user || become(user, group)) &&
        keep_rights(0)) {
        limit();
        execve("/proc/self/exe", (char *const *)(uintptr_t)arguments, (char *const *)(uintptr_t)environment);
    }
    _exit(127);
}
