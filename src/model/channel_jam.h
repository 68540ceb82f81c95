/*
 * Finds the channel that holds up the program: the one whose senders were blocked for the largest part of their
 * time, so its receivers are too slow; or the other way round. docs/verdict.md describes these rules.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_CHANNEL_JAM_H
#define HP_MODEL_CHANNEL_JAM_H

#include "model.h"

struct hp_channel_jam {
    const char *channel;
    double part;      /* of the time of the blocked threads */
    const char *slow; /* the measured function on the other side; NULL: unknown */
};

/* Among senders, or among receivers. False: none, or no memory. */
bool hp_channel_jam_of(struct hp_model *model, bool is_of_senders, struct hp_channel_jam *ret_jam);

#endif
