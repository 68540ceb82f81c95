/*
 * The witness process. It sleeps until it is asked; its signals stay pending meanwhile.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "witness.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "held_signals.h"
#include "inherited.h"
#include "task_files.h"

#define LOOK_MS 20

struct question {
    int signal; /* 0: stop guarding */
    int code;
    pid_t sender;
    pid_t guarded; /* the program to guard; 0: none */
};

/* ---------------------------------------------------------------------------------- the witness process */

/* A pending signal from another sender is dropped too: of most signals the kernel keeps only one. */
static bool has_seen(const struct question *question)
{
    siginfo_t info;
    return hp_held_take(hp_held_bit(question->signal), &info, 0) > 0 && info.si_code == question->code &&
           (question->code > 0 || info.si_pid == question->sender);
}

static bool is_stopped(pid_t pid)
{
    uint64_t start;
    return hp_task_state((uint32_t)pid, 0, &start) == 'T';
}

static void guard(int link, pid_t program, pid_t runner)
{
    struct pollfd news = {.fd = link, .events = POLLIN, .revents = 0};
    while (is_stopped(program))
        if (poll(&news, 1, LOOK_MS) > 0)
            return;
    kill(runner, SIGCONT);
}

/* The other end of the socket closes when the runner ends, however it ends. */
static _Noreturn void live(int link, pid_t runner)
{
    struct question question;
    while (recv(link, &question, sizeof question, 0) == (ssize_t)sizeof question) {
        const char answer = question.signal != 0 && has_seen(&question);
        if (send(link, &answer, 1, MSG_NOSIGNAL) != 1)
            break;
        if (question.guarded != 0)
            guard(link, question.guarded, runner);
    }
    _exit(0);
}

/* ------------------------------------------------------------------------------------------ the runner's side */

bool hp_witness_start(struct hp_witness *witness)
{
    int ends[2];
    const pid_t runner = getpid();
    memset(witness, 0, sizeof *witness);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    const pid_t pid = fork();
    if (pid == 0) {
        hp_inherited_keep_only(ends[1]);
        live(ends[1], runner);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    *witness = (struct hp_witness){.pid = pid, .link = ends[0]};
    return true;
}

#define USUAL_MS 100
#define MOST_MS 1000

/* A stop of the group has stopped the witness, too; then it is continued. */
static bool is_answered(const struct hp_witness *witness)
{
    struct pollfd link = {.fd = witness->link, .events = POLLIN, .revents = 0};
    if (poll(&link, 1, USUAL_MS) == 1)
        return true;
    kill(witness->pid, SIGCONT);
    return poll(&link, 1, MOST_MS) == 1;
}

/* Discards late answers to earlier questions. */
static void forget_answers(const struct hp_witness *witness)
{
    char answer;
    while (recv(witness->link, &answer, 1, MSG_DONTWAIT) == 1)
        ;
}

/* False: no answer. */
static bool ask(const struct hp_witness *witness, const struct question *question, char *ret_answer)
{
    if (witness->pid == 0)
        return false;
    forget_answers(witness);
    return send(witness->link, question, sizeof *question, MSG_NOSIGNAL) == (ssize_t)sizeof *question &&
           is_answered(witness) && recv(witness->link, ret_answer, 1, 0) == 1;
}

/*
 * A signal to a group reaches its processes one after the other, and we may be the first. The sender holds the
 * kernel's tasklist lock meanwhile, and setpgid waits for that lock before it finds that we are in our group
 * already.
 */
static void let_it_reach_all(void) { (void)!setpgid(0, getpgrp()); }

enum hp_testimony hp_witness_ask(const struct hp_witness *witness, const siginfo_t *info)
{
    const struct question question = {.signal = info->si_signo, .code = info->si_code, .sender = info->si_pid};
    char answer;
    let_it_reach_all();
    if (!ask(witness, &question, &answer))
        return HP_TESTIMONY_NONE;
    return answer ? HP_TESTIMONY_GROUP : HP_TESTIMONY_ALONE;
}

/* An earlier SIGCONT of the program says nothing about the next one, so the witness drops it. */
bool hp_witness_guard(const struct hp_witness *witness, pid_t program)
{
    char answer;
    return ask(witness, &(struct question){.signal = SIGCONT, .guarded = program}, &answer);
}

void hp_witness_rest(const struct hp_witness *witness)
{
    char answer;
    ask(witness, &(struct question){0}, &answer);
}

void hp_witness_end(struct hp_witness *witness)
{
    if (witness->pid == 0)
        return;
    kill(witness->pid, SIGKILL);
    while (waitpid(witness->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    hp_witness_forget(witness);
}

void hp_witness_forget(struct hp_witness *witness)
{
    close(witness->link);
    memset(witness, 0, sizeof *witness);
}
