/* Passing signals on. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "forward.h"

#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* By the kernel, about what we did ourselves. */
static bool is_about_us(const siginfo_t *info)
{
    const int signal = info->si_signo;
    return info->si_code > 0 && (signal == SIGCHLD || signal == SIGXCPU || signal == SIGXFSZ || signal == SIGPIPE);
}

/* What the program tells its parent, and what our witness tells us, is for us. */
static bool is_from_us(const siginfo_t *info, pid_t program, const struct hp_witness *witness)
{
    return info->si_code <= 0 && (info->si_pid == program || (witness->pid != 0 && info->si_pid == witness->pid));
}

/* Only kill and the kernel can send to a group; what bears a value was sent to one process. */
static bool can_be_of_group(const siginfo_t *info) { return info->si_code >= 0; }

/* Where nobody can tell, the kernel is believed to have meant the group, as the terminal does. */
static bool went_to_group(const siginfo_t *info, const struct hp_witness *witness)
{
    if (!can_be_of_group(info))
        return false;
    const enum hp_testimony testimony = hp_witness_ask(witness, info);
    return testimony == HP_TESTIMONY_GROUP ||
           (testimony == HP_TESTIMONY_NONE && info->si_code > 0 && info->si_signo != SIGALRM);
}

/* The kernel lets nobody send as if by kill, or as itself, so these come from us. */
static void pass_on(const siginfo_t *info, pid_t program)
{
    siginfo_t same = *info;
    if (info->si_code < 0 && info->si_code != SI_TKILL &&
        syscall(SYS_rt_sigqueueinfo, program, info->si_signo, &same) == 0)
        return;
    kill(program, info->si_signo);
}

void hp_forward(const siginfo_t *info, pid_t program, const struct hp_witness *witness)
{
    if (is_about_us(info))
        return;
    /* In this order: whatever the witness has of it is to be forgotten. */
    if (!went_to_group(info, witness) && !is_from_us(info, program, witness))
        pass_on(info, program);
}
