/* Writes gzip files (RFC 1951, 1952). SPDX-License-Identifier: MIT */
#include "gzip.h"

static void fill_table(uint32_t *table)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? UINT32_C(0xedb88320) ^ value >> 1 : value >> 1;
        table[byte] = value;
    }
}

static void put_number(struct hp_text *out, uint32_t number, unsigned bytes)
{
    for (unsigned at = 0; at < bytes; at++)
        hp_text_char(out, (char)(number >> (8 * at) & 0xff));
}

static void put_block(struct hp_gzip *gzip, const char *bytes, size_t length, bool is_last)
{
    hp_text_char(gzip->out, is_last ? 1 : 0);
    put_number(gzip->out, (uint32_t)length, 2);
    put_number(gzip->out, ~(uint32_t)length, 2);
    hp_text_bytes(gzip->out, bytes, length);
}

static bool store(void *context, const char *bytes, size_t length)
{
    struct hp_gzip *gzip = context;
    for (size_t at = 0; at < length; at++)
        gzip->crc = gzip->table[(gzip->crc ^ (unsigned char)bytes[at]) & 0xff] ^ gzip->crc >> 8;
    gzip->length += (uint32_t)length;
    put_block(gzip, bytes, length, false);
    return !gzip->out->is_cut;
}

void hp_gzip_begin(struct hp_gzip *gzip, struct hp_text *out)
{
    static const char header[10] = {0x1f, (char)0x8b, 8, 0, 0, 0, 0, 0, 0, (char)255};
    gzip->out = out;
    gzip->crc = UINT32_MAX;
    gzip->length = 0;
    fill_table(gzip->table);
    hp_text_init_stream(&gzip->in, gzip->block, sizeof gzip->block, store, gzip);
    hp_text_bytes(out, header, sizeof header);
}

void hp_gzip_end(struct hp_gzip *gzip)
{
    hp_text_finish(&gzip->in);
    put_block(gzip, "", 0, true);
    put_number(gzip->out, ~gzip->crc, 4);
    put_number(gzip->out, gzip->length, 4);
}
