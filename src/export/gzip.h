/*
 * A gzip file with stored (uncompressed) contents: for readers that accept nothing else, without a library. Such
 * files are valid, and can be compressed with gzip itself. SPDX-License-Identifier: MIT
 */
#ifndef HP_EXPORT_GZIP_H
#define HP_EXPORT_GZIP_H

#include "text.h"

#define HP_GZIP_BLOCK 65535u /* the maximum length */

struct hp_gzip {
    struct hp_text *out;
    struct hp_text in; /* what is written here is stored there */
    uint32_t crc, length;
    uint32_t table[256];
    char block[HP_GZIP_BLOCK];
};

void hp_gzip_begin(struct hp_gzip *gzip, struct hp_text *out);
void hp_gzip_end(struct hp_gzip *gzip);

#endif
