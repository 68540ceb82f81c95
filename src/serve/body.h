/* Text that grows, for answers. SPDX-License-Identifier: MIT */
#ifndef HP_SERVE_BODY_H
#define HP_SERVE_BODY_H

#include <stdbool.h>
#include <stddef.h>

struct hp_body {
    char *bytes;
    size_t length, capacity;
};

/* A sink for hp_text_init_stream whose context is a body. False: no memory. */
bool hp_body_add(void *body, const char *bytes, size_t length);

/* Keeps its memory for what comes next. */
static inline void hp_body_empty(struct hp_body *body) { body->length = 0; }

void hp_body_free(struct hp_body *body);

#endif
