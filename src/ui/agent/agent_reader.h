/*
 * A reader: the process of the agent that reads the sessions of one user, with the rights of that user and no
 * others. It does what it is asked (agent_link.h), and ends when nobody can ask any more.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_AGENT_READER_H
#define HP_AGENT_READER_H

#include "body.h"
#include "served.h"

#define HP_AGENT_FOLDERS_MOST 256u /* of a user */

/* The folders that it reads, as paths; those that are free are "". */
struct hp_agent_places {
    char paths[HP_AGENT_FOLDERS_MOST][40];
};

struct hp_agent_reader {
    int end;
    struct hp_serving serving; /* whose source lists the sessions of the places */
    struct hp_agent_places *places;
};

void hp_agent_reader_run(struct hp_agent_reader *reader);

/* ---------------------------------------------------------------------------------------------- what it answers */

/* Metrics: this, and then what hp_host_metrics_save writes. */
struct hp_agent_metrics {
    uint64_t sessions, live, left_out;
};

/* False: it was made by another version, or with other names, or is damaged. */
bool hp_agent_metrics_take(struct hp_metric_input *in, bool with_texts, struct hp_agent_metrics *ret_metrics);

#endif
