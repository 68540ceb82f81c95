/*
 * The readers of the agent, one for each user, and the sums of what they answer. Nothing that a reader says is
 * believed: an answer that is no answer, or that does not come, ends it, and another one is started later. What it
 * has counted stays. SPDX-License-Identifier: MIT
 */
#ifndef HP_AGENT_USERS_H
#define HP_AGENT_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent_link.h"
#include "agent_reader.h"
#include "metric_bytes.h"
#include "session_folders.h"

#define HP_AGENT_USERS_MOST 64u /* as there are bits in a number */

struct hp_agent_user {
    uid_t id;
    char name[64];
    /* Its reader; the end is -1: none runs. */
    int end;
    pid_t pid;
    uint32_t questions_before;               /* that were asked before it was started */
    uint64_t retry_ns;                       /* when another one may be started */
    uint32_t failures;                       /* since one was well */
    uint64_t folders[HP_AGENT_FOLDERS_MOST]; /* the identities of those that it has, by number; 0: free */
    uint64_t asked_ns;                       /* for metrics; 0: it was not, or has answered */
    /* What it has answered. */
    int state;    /* the memory with it; -1: nothing */
    bool is_new;  /* it was not kept yet */
    bool is_idle; /* there was nothing to read */
    struct hp_agent_metrics about;
    uint64_t push_left_out; /* sessions, as in hp_push_profiles */
    struct hp_metric_points points;
    struct hp_metric_refusals refusals;
};

typedef void hp_agent_take_push(void *context, const struct hp_agent_user *user, const void *bytes, size_t length);
typedef void hp_agent_take_profile(void *context, const struct hp_agent_user *user,
                                   const struct hp_agent_message *message, int fd);

struct hp_agent_users {
    bool is_privileged; /* readers are of their user */
    bool with_texts;
    const char *list;   /* names and numbers of those that may be read; NULL: all */
    const char *folder; /* of the states of readers; NULL: they are not kept */
    hp_agent_take_profile *take_profile;
    hp_agent_take_push *take_push;
    uint32_t push_s; /* how often profiles are pushed; 0: never */
    void *context;
    struct hp_metric_sums sums; /* of all */
    struct hp_agent_user *all;
    size_t count, room;
    uint64_t failures; /* readers that had to be ended, or ended by themselves */
    uint32_t questions;
    bool is_told; /* that the folder cannot be written */
};

/* Whether the list has a user. */
bool hp_agent_users_has(const struct hp_agent_users *users, uid_t id);

/* Takes what was kept of readers before. False: `problem` says what is wrong with the folder. */
bool hp_agent_users_load(struct hp_agent_users *users, char *problem, size_t size);

/* Starts readers for users with folders, tells them which, and ends those of users without any. */
void hp_agent_users_settle(struct hp_agent_users *users, struct hp_session_folders *folders);

/* Asks all that run and are not busy. */
void hp_agent_users_ask_metrics(struct hp_agent_users *users);

/* Asks all that run, and returns which, as bits. Each answers for itself, with that number. */
uint64_t hp_agent_users_ask_profile(struct hp_agent_users *users, const struct hp_request *request,
                                    uint32_t *ret_number);

/* Those that ran when that was asked, and run still. */
uint64_t hp_agent_users_asked(const struct hp_agent_users *users, uint32_t number);
void hp_agent_users_forget_profile(struct hp_agent_users *users, uint32_t number);

/*
 * Takes what has been answered, and ends readers that take too long. Returns how many others were asked for metrics
 * not long ago, and will answer soon.
 */
size_t hp_agent_users_turn(struct hp_agent_users *users);

/* Keeps what was answered, so that a later agent goes on from there. */
void hp_agent_users_save(struct hp_agent_users *users);

/* CPU time of the readers that run. */
uint64_t hp_agent_users_cpu_ns(const struct hp_agent_users *users);

void hp_agent_users_free(struct hp_agent_users *users);

#endif
