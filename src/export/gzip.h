/*
 * Writes a gzip file, by zlib if it is installed. Without it the contents are stored, uncompressed: such files are
 * valid, too.
 *
 *     static struct hp_gzip gzip;
 *     hp_gzip_begin(&gzip, HP_GZIP_FAST, &out);
 *     hp_text_string(&gzip.in, "...");
 *     hp_gzip_end(&gzip);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_EXPORT_GZIP_H
#define HP_EXPORT_GZIP_H

#include "text.h"

#define HP_GZIP_BLOCK 65535u /* the maximum length */

enum { HP_GZIP_STORE = 0, HP_GZIP_FAST = 1 };

struct hp_deflate;

struct hp_gzip {
    struct hp_text *out;
    struct hp_text in;          /* what is written here is compressed there */
    struct hp_deflate *deflate; /* NULL: it is stored */
    uint32_t crc, length;
    uint32_t table[256];
    char block[HP_GZIP_BLOCK];
};

void hp_gzip_begin(struct hp_gzip *gzip, int level, struct hp_text *out);
void hp_gzip_end(struct hp_gzip *gzip);

#endif
