/* Text that grows. SPDX-License-Identifier: MIT */
#include "body.h"

#include <stdlib.h>
#include <string.h>

bool hp_body_add(void *context, const char *bytes, size_t length)
{
    struct hp_body *body = context;
    if (length > body->capacity - body->length) {
        const size_t capacity =
            2 * body->capacity > body->length + length ? 2 * body->capacity : body->length + length;
        char *more = realloc(body->bytes, capacity);
        if (more == NULL)
            return false;
        body->bytes = more;
        body->capacity = capacity;
    }
    if (length > 0)
        memcpy(body->bytes + body->length, bytes, length);
    body->length += length;
    return true;
}

void hp_body_free(struct hp_body *body)
{
    free(body->bytes);
    *body = (struct hp_body){0};
}
