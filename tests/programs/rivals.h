/*
 * Processes that are busy on the same CPU, so that their parent has to wait for it. They end with the parent.
 * SPDX-License-Identifier: MIT
 */
#ifndef RIVALS_H
#define RIVALS_H

/* First: it asks for all that the C library has. */
#include "support.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_RIVALS 3

static pid_t rivals[MOST_RIVALS];

/* As many as that, for good. */
static void bring_rivals(int count)
{
    cpu_set_t mine;
    size_t cpu = 0;
    MUST(sched_getaffinity(0, sizeof mine, &mine) == 0);
    while (!CPU_ISSET(cpu, &mine))
        cpu++;
    CPU_ZERO(&mine);
    CPU_SET(cpu, &mine);
    MUST(sched_setaffinity(0, sizeof mine, &mine) == 0);
    const pid_t parent = getpid();
    for (int at = 0; at < count; at++) {
        rivals[at] = fork();
        MUST(rivals[at] >= 0);
        while (rivals[at] == 0)
            if (getppid() != parent)
                _exit(0);
    }
}

static void end_rivals(void)
{
    for (int at = 0; at < MOST_RIVALS; at++)
        if (rivals[at] > 0) {
            kill(rivals[at], SIGKILL);
            waitpid(rivals[at], NULL, 0);
        }
}

#endif
