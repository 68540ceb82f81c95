/*
 * Protocol buffer messages, built in memory that grows. A nested message has a begin and an end; its length is
 * inserted at the end.
 *
 *     const size_t inner = hp_proto_begin(&proto, 2);
 *     hp_proto_u64(&proto, 1, 42);
 *     hp_proto_end(&proto, inner);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_EXPORT_PROTOBUF_H
#define HP_EXPORT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

struct hp_proto {
    char *bytes;
    size_t length, room;
    bool lacks_memory; /* everything after that is left out */
};

void hp_proto_u64(struct hp_proto *proto, uint32_t field, uint64_t number);
void hp_proto_fixed64(struct hp_proto *proto, uint32_t field, uint64_t number);
void hp_proto_double(struct hp_proto *proto, uint32_t field, double number);
void hp_proto_string(struct hp_proto *proto, uint32_t field, const char *string);

/* A number without a key, as in packed fields. */
void hp_proto_packed(struct hp_proto *proto, uint64_t number);

/* Returns the argument for hp_proto_end. */
size_t hp_proto_begin(struct hp_proto *proto, uint32_t field);
void hp_proto_end(struct hp_proto *proto, size_t begun);

/* Writes all of it, and starts again empty. */
void hp_proto_flush(struct hp_proto *proto, struct hp_text *text);

void hp_proto_free(struct hp_proto *proto);

#endif
