/* Answers requests that are allowed. Knows nothing of sockets. SPDX-License-Identifier: MIT */
#ifndef HP_SERVE_ANSWER_H
#define HP_SERVE_ANSWER_H

#include "request.h"
#include "served.h"

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

/* One line of text that says what is wrong. */
void hp_answer_problem(struct hp_answer *ret_answer, unsigned status, const char *problem);

#endif
