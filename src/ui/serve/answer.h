/* Answers requests that are allowed. Knows nothing of sockets. SPDX-License-Identifier: MIT */
#ifndef HP_SERVE_ANSWER_H
#define HP_SERVE_ANSWER_H

#include "metric_text.h"
#include "request.h"
#include "served.h"

#define HP_TYPE_JSON "application/json"
#define HP_TYPE_TEXT "text/plain; charset=utf-8"
#define HP_TYPE_PROFILE "application/octet-stream"

struct hp_answer {
    unsigned status; /* HTTP status */
    const char *type;
    struct hp_body body; /* to be freed */
};

/* Headers of a request; NULL: none. */
struct hp_asked {
    const char *accept, *host;
};

/* All but HP_ROUTE_EVENTS and profiles. */
void hp_answer_make(struct hp_serving *serving, const struct hp_request *request, const char *token,
                    const struct hp_asked *asked, struct hp_answer *ret_answer);

/* Metrics in the format that is wanted, and the services in that of HTTP discovery. A status of 0: no memory. */
void hp_answer_metrics(struct hp_answer *answer, struct hp_metric_text metrics, const char *accept);
void hp_answer_targets(struct hp_answer *answer, const struct hp_metric_sums *sums, const char *host);

/* One line of text that says what is wrong. */
void hp_answer_problem(struct hp_answer *ret_answer, unsigned status, const char *problem);

#endif
