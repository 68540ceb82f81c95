/* Writes gzip files (RFC 1951, 1952). SPDX-License-Identifier: MIT */
#include "gzip.h"

#include <dlfcn.h>
#include <stdlib.h>

#if __has_include(<zlib.h>) && __has_include(<zconf.h>)
#include <zlib.h>
#define HAS_ZLIB 1
#else
#define HAS_ZLIB 0
#endif

/* ------------------------------------------------------------------------------------------------------- stored */

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

static void begin_stored(struct hp_gzip *gzip)
{
    static const char header[10] = {0x1f, (char)0x8b, 8, 0, 0, 0, 0, 0, 0, (char)255};
    gzip->crc = UINT32_MAX;
    gzip->length = 0;
    fill_table(gzip->table);
    hp_text_bytes(gzip->out, header, sizeof header);
}

static void end_stored(struct hp_gzip *gzip)
{
    put_block(gzip, "", 0, true);
    put_number(gzip->out, ~gzip->crc, 4);
    put_number(gzip->out, gzip->length, 4);
}

/* --------------------------------------------------------------------------------------------------- compressed */

#if HAS_ZLIB

#define LIBRARY "libz.so.1"
#define GZIP_HEADER 16 /* added to the size of the window, it asks for a gzip file */
#define USUAL_MEMORY 8

struct hp_deflate {
    z_stream stream;
    unsigned char bytes[16384];
};

static struct {
    __typeof__(deflateInit2_) *begin;
    __typeof__(deflate) *deflate;
    __typeof__(deflateEnd) *end;
} zlib;

static bool find_zlib(void)
{
    static bool is_tried;
    void *handle = is_tried ? NULL : dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    is_tried = true;
    if (handle != NULL) {
        *(void **)&zlib.begin = dlsym(handle, "deflateInit2_");
        *(void **)&zlib.deflate = dlsym(handle, "deflate");
        *(void **)&zlib.end = dlsym(handle, "deflateEnd");
    }
    return zlib.begin != NULL && zlib.deflate != NULL && zlib.end != NULL;
}

/* NULL: there is no zlib, or no memory. */
static struct hp_deflate *begin_deflate(int level)
{
    struct hp_deflate *deflate = level != HP_GZIP_STORE && find_zlib() ? calloc(1, sizeof *deflate) : NULL;
    if (deflate == NULL || zlib.begin(&deflate->stream, level, Z_DEFLATED, MAX_WBITS + GZIP_HEADER, USUAL_MEMORY,
                                      Z_DEFAULT_STRATEGY, ZLIB_VERSION, (int)sizeof deflate->stream) == Z_OK)
        return deflate;
    free(deflate);
    return NULL;
}

static void run_deflate(struct hp_gzip *gzip, const char *bytes, size_t length, int flush)
{
    z_stream *stream = &gzip->deflate->stream;
    stream->next_in = (unsigned char *)(uintptr_t)bytes;
    stream->avail_in = (unsigned)length;
    do {
        stream->next_out = gzip->deflate->bytes;
        stream->avail_out = sizeof gzip->deflate->bytes;
        zlib.deflate(stream, flush);
        hp_text_bytes(gzip->out, (const char *)gzip->deflate->bytes,
                      sizeof gzip->deflate->bytes - stream->avail_out);
    } while (stream->avail_out == 0);
}

static bool compress_block(void *context, const char *bytes, size_t length)
{
    struct hp_gzip *gzip = context;
    run_deflate(gzip, bytes, length, Z_NO_FLUSH);
    return !gzip->out->is_cut;
}

static void end_deflate(struct hp_gzip *gzip)
{
    run_deflate(gzip, "", 0, Z_FINISH);
    zlib.end(&gzip->deflate->stream);
    free(gzip->deflate);
}

#else

static struct hp_deflate *begin_deflate(int level)
{
    (void)level;
    return NULL;
}

#define compress_block store
static void end_deflate(struct hp_gzip *gzip) { (void)gzip; }

#endif

void hp_gzip_begin(struct hp_gzip *gzip, int level, struct hp_text *out)
{
    gzip->out = out;
    gzip->deflate = begin_deflate(level);
    if (gzip->deflate == NULL)
        begin_stored(gzip);
    hp_text_init_stream(&gzip->in, gzip->block, sizeof gzip->block, gzip->deflate != NULL ? compress_block : store,
                        gzip);
}

void hp_gzip_end(struct hp_gzip *gzip)
{
    hp_text_finish(&gzip->in);
    if (gzip->deflate != NULL)
        end_deflate(gzip);
    else
        end_stored(gzip);
}
