/*
 * The numbers of sessions for Prometheus and other collectors: of one session, or of all of the host, added up by
 * service. SPDX-License-Identifier: MIT
 */
#ifndef HP_SERVE_METRICS_H
#define HP_SERVE_METRICS_H

#include "body.h"
#include "metric_bytes.h"
#include "metric_sums.h"
#include "model.h"
#include "options.h"
#include "programs.h"
#include "side_watch.h"

/* Reads what the series of one session have, which is served by itself. False: no memory. */
bool hp_metrics_read(struct hp_model *model, const struct hp_settings *settings, struct hp_metric_sums *sums,
                     uint32_t service, struct hp_metric_points *ret_points);

/* The first word of a command, without folders. */
void hp_metrics_program(char *name, size_t size, const char *command);

/*
 * The service of a run: its label, else the unit or container of its first process as long as that runs, else the
 * name of its program.
 */
void hp_metrics_service(char *name, size_t size, const struct hp_model *model);

/* ------------------------------------------------------------------------------------- all sessions of the host */

/* A session that was read, and may have ended since. */
struct hp_metric_session;

/* Zeroed at first. */
struct hp_host_metrics {
    struct hp_metric_sums sums;
    struct hp_metric_session *sessions;
    size_t count, room;
    struct hp_hash_index index; /* of the sessions */
    struct hp_metric_points fresh;
    size_t live, left_out; /* sessions that go on, and those that were not read */
    uint64_t listed_ns;    /* when it was brought up to date */
    bool hides_texts;      /* of names only what stands in the source: set it at first */
};

/*
 * Reads what is new, unless that was done less than a second ago. Sessions are listed once, and only those that go
 * on are read again. False: no memory.
 */
bool hp_host_metrics_refresh(struct hp_host_metrics *host, const struct hp_program_source *source,
                             const struct hp_settings *settings);

/*
 * The service of that name, or that of the session which `hotpath ls` lists by that name, with or without what
 * follows the dot. 0: there is none.
 */
uint32_t hp_host_metrics_service(const struct hp_host_metrics *host, const char *name);

/*
 * The sessions of a service that run, or began at `since_ns` or later (CLOCK_REALTIME). Paths are valid until the
 * next refresh.
 */
#define HP_HOST_SESSIONS 8u
struct hp_host_sessions {
    const char *paths[HP_HOST_SESSIONS];
    size_t count, left_out; /* those that are too many */
};
void hp_host_metrics_sessions(const struct hp_host_metrics *host, uint32_t service, uint64_t since_ns,
                              struct hp_host_sessions *ret_sessions);

/*
 * What it has, as bytes: the sums (metric_bytes.h), and then what is known of the sessions, so that nothing is
 * counted twice or lost by who reads the bytes again. False: no memory.
 */
bool hp_host_metrics_save(const struct hp_host_metrics *host, struct hp_body *body);

/*
 * Goes on from there; `host` is empty. Sessions are found again in these folders, under whatever path. False: the
 * bytes are bad, or there is no memory; `host` is empty then.
 */
bool hp_host_metrics_load(struct hp_host_metrics *host, struct hp_metric_input *in, const char *const *folders,
                          size_t folder_count);

void hp_host_metrics_free(struct hp_host_metrics *host);

#endif
