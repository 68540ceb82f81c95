/*
 * Profiles to collectors: the targets that a user names, and what is on its way to them.
 *
 *     hp_push_targets_add(&targets, "otlp=http://collector:4318", problem, sizeof problem);
 *     hp_push_targets_add_header(&targets, "X-Token: secret", problem, sizeof problem);
 *     struct hp_push *push = hp_push_open(&targets, say);
 *     hp_push_add(push, bytes, length);                the body of a request: see push_profiles.h
 *     at or after the time that it returned: due_ns = hp_push_turn(push, now_ns);
 *     hp_push_close(push);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_PUSH_PUSH_H
#define HP_PUSH_PUSH_H

#include "metric_text.h"
#include "push_spool.h"

#define HP_PUSH_HEADERS 16u
#define HP_PUSH_USUAL_S 60u

struct hp_push_target {
    char url[1024];
    char name[300]; /* without path: "http://collector:4318" */
    char *headers[HP_PUSH_HEADERS];
    size_t header_count;
};

/* Zeroed at first. */
struct hp_push_targets {
    struct hp_push_target all[HP_PUSH_TARGETS];
    size_t count;
};

/* "otlp=URL"; without a path it is the usual one. False: `problem` says what is wrong. */
bool hp_push_targets_add(struct hp_push_targets *targets, const char *target, char *problem, size_t size);

/* "Name: value" for the target that was added last, or "@FILE" with a header in each line. */
bool hp_push_targets_add_header(struct hp_push_targets *targets, const char *header, char *problem, size_t size);

void hp_push_targets_free(struct hp_push_targets *targets);

struct hp_push;

/* `say` prints a line about what does not work, once for each target and kind. NULL: no memory, or no libcurl. */
struct hp_push *hp_push_open(const struct hp_push_targets *targets, void (*say)(const char *line));

/* For all targets; `push` is a struct hp_push. */
void hp_push_add(void *push, const char *bytes, size_t length);

/* The same of one of several sources: its number is below HP_PUSH_SOURCES. */
void hp_push_add_of(struct hp_push *push, size_t source, const char *bytes, size_t length);

/* Returns when it is to be called again, by CLOCK_MONOTONIC; UINT64_MAX: after something was added. */
uint64_t hp_push_turn(struct hp_push *push, uint64_t now_ns);

/* Metrics about it; `left_out` is of its profiles. */
void hp_push_say_metrics(const struct hp_push *push, uint64_t left_out, hp_metric_say *say, void *context);

void hp_push_close(struct hp_push *push);

#endif
