/*
 * What each session did since it was looked at last, as bodies of requests: CPU time and waiting by stack, or of
 * measured functions where there are no stacks. It is the difference of two readings, so that what is pushed adds
 * up to what the session has. Between them only sums by stack are kept.
 *
 *     struct hp_push_profiles profiles = {.serving = &serving, .began_ns = hp_clock_wall_ns(), ...};
 *     at or after the time that it returned: due_ns = hp_push_profiles_turn(&profiles, now_ns);
 *     hp_push_profiles_free(&profiles);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_PUSH_PROFILES_H
#define HP_PUSH_PROFILES_H

#include "hash_index.h"
#include "served.h"

#define HP_PUSH_STACKS 2000u /* in a profile; the rest is one */

struct hp_push_session;

struct hp_push_profiles {
    struct hp_serving *serving;
    uint64_t every_ns;
    void (*sink)(void *context, const char *bytes, size_t length);
    void *context;
    uint64_t began_ns; /* by CLOCK_REALTIME: what sessions that began before had done until then is not pushed */
    uint64_t left_out; /* sessions that have more stacks than can be kept, once per round */
    /* Private from here on. */
    char host[256];
    uint64_t due_ns, rest_ns; /* when the next round begins; until when it rests, by CLOCK_MONOTONIC */
    bool is_round;
    struct hp_push_session *sessions;
    size_t count, room;
    struct hp_hash_index index;
    size_t sums; /* of all sessions */
};

/*
 * Looks at one session at most, and takes a tenth of the time at most. Returns when it is to be called again, by
 * CLOCK_MONOTONIC.
 */
uint64_t hp_push_profiles_turn(struct hp_push_profiles *profiles, uint64_t now_ns);

void hp_push_profiles_free(struct hp_push_profiles *profiles);

#endif
