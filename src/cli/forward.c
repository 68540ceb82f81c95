/* Forwards signals to the program. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "forward.h"

#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Sent by the kernel about something that we did ourselves. */
static bool is_about_us(const siginfo_t *info)
{
    const int signal = info->si_signo;
    return info->si_code > 0 && (signal == SIGCHLD || signal == SIGXCPU || signal == SIGXFSZ || signal == SIGPIPE);
}

static bool is_from(const siginfo_t *info, pid_t pid)
{
    return pid != 0 && info->si_code <= 0 && info->si_pid == pid;
}

/* Only kill and the kernel can signal a group; a signal with a value was sent to one process. */
static bool can_be_of_group(const siginfo_t *info) { return info->si_code >= 0; }

/* Without a witness, a signal from the kernel is taken to be for the group, as those from the terminal are. */
static bool went_to_group(const siginfo_t *info, const struct hp_witness *witness)
{
    if (!can_be_of_group(info))
        return false;
    const enum hp_testimony testimony = hp_witness_ask(witness, info);
    return testimony == HP_TESTIMONY_GROUP ||
           (testimony == HP_TESTIMONY_NONE && info->si_code > 0 && info->si_signo != SIGALRM);
}

/*
 * The program may have left our group, as shells do. If we lead the group, the program would lead it in our place:
 * it could not leave, and would have received the signal.
 */
static bool is_reached_by_group(pid_t program) { return getpgid(program) == getpgrp() || getpgrp() != getpid(); }

/* The kernel lets nobody forge a signal of kill or of the kernel, so these are sent in our name. */
static void pass_on(const siginfo_t *info, pid_t to)
{
    siginfo_t same = *info;
    if (info->si_code < 0 && info->si_code != SI_TKILL &&
        syscall(SYS_rt_sigqueueinfo, to, info->si_signo, &same) == 0)
        return;
    kill(to, info->si_signo);
}

/* If the parent has ended, getppid names the reaper, to which the signal means nothing. */
static bool is_there(pid_t parent) { return parent > 0 && getppid() == parent; }

void hp_forward(const siginfo_t *info, const struct hp_forwarding *forwarding)
{
    if (is_about_us(info))
        return;
    /* The order matters: the witness has to drop its copy of the signal in any case. */
    const bool is_for_group = went_to_group(info, &forwarding->witness);
    if (is_from(info, forwarding->witness.pid))
        return;
    if (is_for_group ? !is_reached_by_group(forwarding->program) : !is_from(info, forwarding->program))
        pass_on(info, forwarding->program);
    else if (!is_for_group && is_there(forwarding->parent))
        pass_on(info, forwarding->parent);
}

void hp_forward_last(const siginfo_t *info, const struct hp_forwarding *forwarding)
{
    if (is_from(info, forwarding->program) && !went_to_group(info, &forwarding->witness) &&
        is_there(forwarding->parent))
        pass_on(info, forwarding->parent);
}
