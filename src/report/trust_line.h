/*
 * How far a report can be trusted: the clock, the cost of measuring, what could not be recorded, each in words.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_TRUST_LINE_H
#define HP_REPORT_TRUST_LINE_H

#include "run.h"
#include "text.h"
#include "trust.h"

struct hp_loss_words {
    const char *key;  /* in JSON */
    const char *one;  /* "... zone was left by longjmp: counted, not timed" */
    const char *many; /* "... zones were left ..." */
};

/* One per valid enum hp_loss. */
extern const struct hp_loss_words hp_loss_words[];
extern const size_t hp_loss_count;

/* Why a session ran out of space, or is not in its own file; NULL: nothing to report. */
const char *hp_trust_refusal(const struct hp_trust *trust);
const char *hp_trust_storage(const struct hp_trust *trust);
/* What a sandbox prevented; NULL: nothing. */
const char *hp_trust_sandbox(const struct hp_trust *trust);

/*
 * "Measuring distorts the picture: it took about 64 % of the run. build_tree has 62 % of the time measured, about
 * 26 % alone. " Nothing if it took little. `site` has `own_ns` of `whole_ns`; NULL: no function was measured.
 */
struct hp_profile;
struct hp_site_sums;
void hp_trust_put_distortion(const struct hp_trust *trust, const struct hp_profile *profile,
                             const struct hp_site_sums *site, double own_ns, double whole_ns, struct hp_text *text);

/* That at least one file of the run is truncated. */
void hp_trust_put_cut_off(const struct hp_run *run, struct hp_text *text);

/* The last line of a report, without a newline. */
void hp_trust_put(const struct hp_trust *trust, struct hp_text *text);

#endif
