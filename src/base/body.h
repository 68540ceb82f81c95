/*
 * Bytes that grow, for texts of any length: a sink for hp_text_init_stream and for reports. It uses the heap, so
 * it is for the program alone.
 *
 *     struct hp_body body = {0};
 *     hp_text_init_stream(&text, buffer, sizeof buffer, hp_body_add, &body);
 *     ...
 *     hp_body_free(&body);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_BODY_H
#define HP_BASE_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

struct hp_body {
    char *bytes;
    size_t length, capacity;
};

/* `body` is a struct hp_body. False: no memory. */
static inline bool hp_body_add(void *body, const char *bytes, size_t length)
{
    struct hp_body *to = body;
    if (!HP_MAKE_ROOM(to->bytes, to->length + length, to->capacity))
        return false;
    if (length > 0)
        memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
    return true;
}

/* Keeps its memory for what comes next. */
static inline void hp_body_empty(struct hp_body *body) { body->length = 0; }

static inline void hp_body_free(struct hp_body *body)
{
    free(body->bytes);
    *body = (struct hp_body){0};
}

#endif
