/*
 * Profiles that a collector fetches: what the running sessions of a service did in the seconds after it asked, as
 * pprof. Stacks are those of that time range; measured functions are the difference of two readings.
 *
 *     struct hp_pull *pull = hp_pull_begin(serving, &request, &problem, &status);
 *     once a second: if (hp_pull_is_ready(pull)) ... hp_pull_write(pull, &body) ...
 *     hp_pull_free(pull);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SERVE_PULL_H
#define HP_SERVE_PULL_H

#include "request.h"
#include "served.h"

#define HP_PULL_USUAL_S 30u
#define HP_PULL_MOST_S 120u
#define HP_PULLS_MOST 4u /* at a time */

struct hp_pull;

/* NULL: *ret_problem says why, with its HTTP status. */
struct hp_pull *hp_pull_begin(struct hp_serving *serving, const struct hp_request *request,
                              const char **ret_problem, unsigned *ret_status);

/* Asks for stacks, and whether its time is over and they are known until then. */
bool hp_pull_is_ready(struct hp_pull *pull);

/* Once. False: no memory. */
bool hp_pull_write(struct hp_pull *pull, struct hp_body *ret_body);

void hp_pull_free(struct hp_pull *pull);

#endif
