/* Files that hooks write, while they do. SPDX-License-Identifier: MIT */
#include "side_watch.h"

#include "clock.h"
#include "session_dirs.h"

#define SHORTEST_NS UINT64_C(1000000000)
#define COST_PART 50u

void hp_side_watch_look(struct hp_side_watch *watch, const char *folder, uint32_t pid)
{
    const uint64_t now_ns = hp_clock_monotonic_ns(), before_ns = hp_clock_thread_ns();
    /* The watch may have been moved, and with it what these point to. */
    watch->locks = watch->locks != NULL ? &watch->named_locks.profile : NULL;
    watch->io = watch->io != NULL ? &watch->named_io.profile : NULL;
    if (now_ns < watch->due_ns)
        return;
    hp_side_watch_free(watch);
    watch->locks = hp_locks_read(folder, &pid, pid != 0, &watch->named_locks) ? &watch->named_locks.profile : NULL;
    watch->io = hp_io_read(folder, &pid, pid != 0, &watch->named_io) ? &watch->named_io.profile : NULL;
    const uint64_t pause_ns = COST_PART * (hp_clock_thread_ns() - before_ns);
    watch->due_ns = now_ns + (pause_ns > SHORTEST_NS ? pause_ns : SHORTEST_NS);
}

void hp_side_watch_look_at(struct hp_side_watch *watch, const char *path, uint32_t pid)
{
    char folder[2048];
    if (hp_session_dir_find_run(path, folder, sizeof folder))
        hp_side_watch_look(watch, folder, hp_session_dir_is_of_run(path) ? 0 : pid);
    else
        hp_side_watch_look(watch, path, 0);
}

void hp_side_watch_free(struct hp_side_watch *watch)
{
    hp_named_locks_free(&watch->named_locks);
    hp_named_io_free(&watch->named_io);
    *watch = (struct hp_side_watch){0};
}
