/* Stacks of a run that goes on. SPDX-License-Identifier: MIT */
#include "stack_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "stack_file.h"

#define PATIENCE_NS UINT64_C(4000000000)
#define STEP_US 10000u

static uint64_t ns_of(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec;
}

/* ------------------------------------------------------------------------------------------------- asking */

/* False: nobody would answer. */
static bool ask(const char *folder)
{
    char path[PATH_MAX];
    return hp_file_path_in(folder, HP_STACKS_WANTED_NAME, path, sizeof path) &&
           utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Its runner holds a lock on the folder. */
static bool goes_on(const char *folder)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool is_locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0;
    if (fd >= 0)
        close(fd);
    return is_locked;
}

/* Whether there is another file than the one that was read. */
static bool has_news(const struct hp_stack_watch *watch, const char *folder, struct stat *ret_status)
{
    char path[PATH_MAX];
    return hp_file_path_in(folder, HP_STACK_FILE_NAME, path, sizeof path) && lstat(path, ret_status) == 0 &&
           (ret_status->st_ino != watch->inode || ret_status->st_mtim.tv_sec != watch->changed.tv_sec ||
            ret_status->st_mtim.tv_nsec != watch->changed.tv_nsec);
}

void hp_stack_watch_renew(struct hp_stack_watch *watch, const char *folder)
{
    struct stat status;
    if (!goes_on(folder) || !has_news(watch, folder, &status))
        return;
    watch->inode = status.st_ino;
    watch->changed = status.st_mtim;
}

/* A file that is replaced meanwhile is read again the next time. */
bool hp_stack_watch_look(struct hp_stack_watch *watch, const char *folder, struct hp_named_stacks *ret_stacks)
{
    struct stat status;
    if (watch->is_final)
        return false;
    ask(folder);
    if (!has_news(watch, folder, &status) || !hp_stack_file_read(folder, ret_stacks))
        return false;
    watch->inode = status.st_ino;
    watch->changed = status.st_mtim;
    watch->is_final = !ret_stacks->is_live;
    return true;
}

/* Until it was written after the question, or will not be written any more. */
bool hp_stack_watch_now(const char *folder, struct hp_named_stacks *ret_stacks)
{
    struct hp_stack_watch before = {0};
    struct stat status;
    hp_stack_watch_renew(&before, folder);
    const uint64_t until_ns = hp_clock_monotonic_ns() + PATIENCE_NS;
    while (ask(folder) && goes_on(folder) && !has_news(&before, folder, &status) &&
           hp_clock_monotonic_ns() < until_ns)
        usleep(STEP_US);
    return hp_stack_file_read(folder, ret_stacks);
}

/* ---------------------------------------------------------------------------------------------- the other side */

void hp_stacks_offer(const char *folder)
{
    char path[PATH_MAX];
    static const struct timespec never[2] = {{0}, {0}};
    if (!hp_file_path_in(folder, HP_STACKS_WANTED_NAME, path, sizeof path))
        return;
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    futimens(fd, never);
    close(fd);
}

void hp_stacks_withdraw(const char *folder)
{
    char path[PATH_MAX];
    const int error = errno;
    if (hp_file_path_in(folder, HP_STACKS_WANTED_NAME, path, sizeof path))
        unlink(path);
    errno = error;
}

bool hp_stacks_are_wanted(const char *folder)
{
    char path[PATH_MAX];
    struct stat status;
    if (!hp_file_path_in(folder, HP_STACKS_WANTED_NAME, path, sizeof path) || lstat(path, &status) != 0)
        return false;
    const uint64_t asked_ns = ns_of(&status.st_mtim), now_ns = hp_clock_wall_ns();
    /* The clock may have been set back: a question of the future is none, or it would be answered until then. */
    return now_ns < HP_STACKS_WANTED_NS + asked_ns && asked_ns < HP_STACKS_WANTED_NS + now_ns;
}

#define SHORTEST_NS UINT64_C(1000000000) /* between two pictures */
#define LONGEST_NS UINT64_C(5000000000)
#define COST_PART 100u             /* they may take one part in this many of a CPU, ... */
#define SLOW_NS UINT64_C(50000000) /* ... and more only if one takes so long */
#define SLOW_PART 50u

uint64_t hp_stacks_pause_ns(uint64_t cost_ns)
{
    const uint64_t pause_ns = COST_PART * cost_ns, least_ns = pause_ns > SHORTEST_NS ? pause_ns : SHORTEST_NS;
    if (cost_ns > SLOW_NS)
        return SLOW_PART * cost_ns > LONGEST_NS ? SLOW_PART * cost_ns : LONGEST_NS;
    return least_ns < LONGEST_NS ? least_ns : LONGEST_NS;
}
