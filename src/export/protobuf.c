/* Writes protocol buffers. SPDX-License-Identifier: MIT */
#include "protobuf.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

#define LONGEST_NUMBER 10u /* bytes of 64 bits, 7 in each */
enum { NUMBER = 0, EIGHT_BYTES = 1, BYTES = 2 };

static bool make_room(struct hp_proto *proto, size_t more)
{
    proto->lacks_memory = proto->lacks_memory || !HP_MAKE_ROOM(proto->bytes, proto->length + more, proto->room);
    return !proto->lacks_memory;
}

static size_t encode(uint64_t number, char *bytes)
{
    size_t length = 0;
    for (; number >= 0x80; number >>= 7)
        bytes[length++] = (char)(0x80 | (number & 0x7f));
    bytes[length++] = (char)number;
    return length;
}

void hp_proto_packed(struct hp_proto *proto, uint64_t number)
{
    if (make_room(proto, LONGEST_NUMBER))
        proto->length += encode(number, proto->bytes + proto->length);
}

static void put_tag(struct hp_proto *proto, uint32_t field, uint32_t type)
{
    hp_proto_packed(proto, (uint64_t)field << 3 | type);
}

void hp_proto_u64(struct hp_proto *proto, uint32_t field, uint64_t number)
{
    put_tag(proto, field, NUMBER);
    hp_proto_packed(proto, number);
}

/* Little-endian on every machine. */
void hp_proto_fixed64(struct hp_proto *proto, uint32_t field, uint64_t number)
{
    put_tag(proto, field, EIGHT_BYTES);
    for (size_t at = 0; at < sizeof number && make_room(proto, 1); at++, number >>= 8)
        proto->bytes[proto->length++] = (char)(number & 0xff);
}

void hp_proto_double(struct hp_proto *proto, uint32_t field, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    hp_proto_fixed64(proto, field, bits);
}

void hp_proto_string(struct hp_proto *proto, uint32_t field, const char *string)
{
    const size_t length = strlen(string);
    put_tag(proto, field, BYTES);
    hp_proto_packed(proto, length);
    if (length > 0 && make_room(proto, length)) {
        memcpy(proto->bytes + proto->length, string, length);
        proto->length += length;
    }
}

size_t hp_proto_begin(struct hp_proto *proto, uint32_t field)
{
    put_tag(proto, field, BYTES);
    return proto->length;
}

void hp_proto_end(struct hp_proto *proto, size_t begun)
{
    char bytes[LONGEST_NUMBER];
    if (!make_room(proto, LONGEST_NUMBER))
        return;
    const size_t size = encode(proto->length - begun, bytes);
    memmove(proto->bytes + begun + size, proto->bytes + begun, proto->length - begun);
    memcpy(proto->bytes + begun, bytes, size);
    proto->length += size;
}

void hp_proto_flush(struct hp_proto *proto, struct hp_text *text)
{
    if (!proto->lacks_memory)
        hp_text_bytes(text, proto->bytes, proto->length);
    proto->length = 0;
}

void hp_proto_free(struct hp_proto *proto)
{
    free(proto->bytes);
    memset(proto, 0, sizeof *proto);
}
