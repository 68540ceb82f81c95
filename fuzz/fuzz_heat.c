/*
 * Reads a heat map of arbitrary bytes. Also writes one with arbitrary calls at arbitrary times: it must have as
 * many calls as were added, within what large counts are rounded by. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* memfd_create */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "heat_writer.h"
#include "input.h"

#define START UINT64_C(1000000000)
#define MOST_SAMPLES 64u

static hp_heat_row rows[HP_HEAT_SLOTS];

static uint64_t count_all(const struct hp_heat *heat)
{
    uint64_t sum = 0;
    for (uint32_t place = 0; place <= HP_HEAT_SITES; place++) {
        if (!hp_heat_rows(heat, place, rows))
            continue;
        for (uint32_t slot = 0; slot < HP_HEAT_SLOTS; slot++)
            for (uint32_t at = 0; at < HP_HEAT_CELLS; at++) {
                REQUIRE(hp_heat_bucket_of(rows[slot][at]) < HP_HEAT_BUCKETS);
                sum += hp_heat_count_of(rows[slot][at]);
            }
    }
    return sum;
}

/* hp_regular_open refuses links, so it has to be a file. */
static void read_any(const uint8_t *bytes, size_t size)
{
    char path[] = "/tmp/hotpath-fuzz-heat-XXXXXX";
    struct hp_heat heat;
    const int fd = mkstemp(path);
    REQUIRE(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && ftruncate(fd, (off_t)HP_HEAT_BYTES) == 0);
    if (hp_heat_open(&heat, path)) {
        count_all(&heat);
        hp_heat_close(&heat);
    }
    close(fd);
    unlink(path);
}

static void write_any(struct fuzz_input *input)
{
    static struct hp_heat_writer writer;
    struct hp_heat heat;
    uint64_t now = START, added = 0;
    const int fd = memfd_create("heat", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && hp_heat_begin(&writer, fd, 1, 2, START));
    for (uint32_t at = 0; input->left > 0 && at < MOST_SAMPLES; at++) {
        uint64_t calls[HP_HEAT_BUCKETS] = {0};
        const uint32_t place = hp_heat_track(&writer, fuzz_byte(input) % 8, START);
        REQUIRE(place < HP_HEAT_SITES);
        for (uint32_t some = fuzz_byte(input) % 32; some > 0; some--) {
            const uint32_t count = fuzz_number(input, 2) & 0xffff;
            calls[fuzz_byte(input) % HP_HEAT_BUCKETS] += count;
            added += count;
        }
        const uint64_t before = now;
        now += fuzz_number(input, 2) << fuzz_byte(input) % 28;
        REQUIRE(hp_heat_add(&writer, place, calls, before, now) && hp_heat_write(&writer, now));
    }
    heat.fd = fd;
    heat.header = writer.header;
    memcpy(heat.sites, writer.sites, sizeof heat.sites);
    const uint64_t found = count_all(&heat);
    REQUIRE(found <= added + added / 10000 && added <= found + found / 10000);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    if (size > 0 && bytes[0] == HP_HEAT_MAGIC[0])
        read_any(bytes, size);
    else
        write_any(&input);
    return 0;
}
