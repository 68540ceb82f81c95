/*
 * How far a report can be trusted: the clock, what measuring cost, what could not be recorded, each in words.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SECTIONS_TRUST_LINE_H
#define HP_SECTIONS_TRUST_LINE_H

#include "run.h"
#include "text.h"
#include "trust.h"

struct hp_loss_words {
    const char *key;  /* in JSON */
    const char *one;  /* "... zone was left by longjmp: counted, not timed" */
    const char *many; /* "... zones were left ..." */
};

/* One per enum hp_loss that has a meaning. */
extern const struct hp_loss_words hp_loss_words[];
extern const size_t hp_loss_count;

/* Why a session had no space for more, or is not in a file of its own; NULL where there is nothing to say. */
const char *hp_trust_refusal(const struct hp_trust *trust);
const char *hp_trust_storage(const struct hp_trust *trust);
/* What a sandbox has kept from it; NULL: nothing. */
const char *hp_trust_sandbox(const struct hp_trust *trust);

/* That files of the run, at least one, have lost their ends. */
void hp_trust_put_cut_off(const struct hp_run *run, struct hp_text *text);

/* The closing line of a report, without its end. */
void hp_trust_put(const struct hp_trust *trust, struct hp_text *text);

#endif
