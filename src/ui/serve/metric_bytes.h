/*
 * Sums of metrics as bytes, for another process or a later one. Who reads them trusts nothing in them: what is
 * damaged or made up is refused, and names are made safe again.
 *
 *     struct hp_metric_input in = hp_metric_input_of(bytes, length);
 *     if (hp_metric_sums_take(&in, &sums, false, &points, NULL)) ...
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SERVE_METRIC_BYTES_H
#define HP_SERVE_METRIC_BYTES_H

#include "body.h"
#include "metric_sums.h"

/* ------------------------------------------------------------------------------------------------------- pieces */

struct hp_metric_input {
    const unsigned char *at, *end;
    bool is_bad; /* something was not as it must be; all that follows is zero */
};

static inline struct hp_metric_input hp_metric_input_of(const void *bytes, size_t length)
{
    return (struct hp_metric_input){.at = bytes, .end = (const unsigned char *)bytes + length};
}

/* False: no memory. */
bool hp_metric_put_number(struct hp_body *body, uint64_t number);
bool hp_metric_put_text(struct hp_body *body, const char *text);
bool hp_metric_put_points(struct hp_body *body, const struct hp_metric_points *points);

uint64_t hp_metric_take_number(struct hp_metric_input *in);

/* A number of things that follow, each of a byte or more: so it is never more than there are bytes left. */
size_t hp_metric_take_count(struct hp_metric_input *in);

/* A text in the bytes themselves; "": none, or they are bad. */
const char *hp_metric_take_text(struct hp_metric_input *in);

/* --------------------------------------------------------------------------------------------------------- sums */

/* Which series of the sums those are that were written: by their number then, from 1; 0: none. */
struct hp_metric_renumbered {
    uint32_t *numbers;
    size_t count;
};

/* Names of a service without series. */
struct hp_metric_refusals {
    struct {
        uint32_t service, kind, count;
    } * all;
    size_t count, room;
};

/* False: no memory. */
bool hp_metric_sums_put(const struct hp_metric_sums *sums, struct hp_body *body);

/*
 * Finds or makes their series in `sums`, and returns what each has, as a reading of a session does. `is_own`: the
 * names are those of such sums, and need not be made safe again. `ret_renumbered` and `ret_refusals` may be NULL;
 * free them and the points in any case. False: the bytes are bad, or there is no memory.
 */
bool hp_metric_sums_take(struct hp_metric_input *in, struct hp_metric_sums *sums, bool is_own,
                         struct hp_metric_points *ret_points, struct hp_metric_renumbered *ret_renumbered,
                         struct hp_metric_refusals *ret_refusals);

/* Of series as they are numbered now. */
bool hp_metric_take_points(struct hp_metric_input *in, const struct hp_metric_sums *sums,
                           const struct hp_metric_renumbered *renumbered, struct hp_metric_points *ret_points);

#endif
