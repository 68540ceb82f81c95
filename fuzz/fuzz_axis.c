/*
 * Reads a time axis of arbitrary bytes, never beyond them. Also writes one with arbitrary samples at arbitrary
 * times: no counter may fall, and it must end with what was put last. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* memfd_create */
#include <sys/mman.h>
#include <unistd.h>

#include "axis_writer.h"
#include "check.h"
#include "input.h"

#define START UINT64_C(1000000000)
#define MOST_SAMPLES 64u

static uint64_t bytes_of[HP_AXIS_BYTES / sizeof(uint64_t)];

static void read_any(struct fuzz_input input)
{
    struct hp_axis axis;
    struct hp_axis_series series;
    uint64_t sum = 0;
    memset(bytes_of, 0, HP_AXIS_VALUES_AT + 4096);
    memcpy(bytes_of, input.at, input.left < HP_AXIS_VALUES_AT ? input.left : HP_AXIS_VALUES_AT);
    if (!hp_axis_open(&axis, bytes_of))
        return;
    for (uint32_t place = 0; place <= HP_AXIS_SERIES; place++)
        if (hp_axis_series(&axis, place, &series)) {
            REQUIRE(series.first < axis.header.used && memchr(series.name, '\0', sizeof series.name) != NULL);
            for (uint32_t slot = series.first; slot < axis.header.used; slot++)
                sum += hp_axis_value(&axis, place, slot);
        }
    __asm__ volatile("" : : "r"(sum));
}

static void check_series(const struct hp_axis *axis, uint32_t place, const struct hp_axis_writer *writer)
{
    struct hp_axis_series series;
    uint64_t before = 0;
    if (!hp_axis_series(axis, place, &series) || hp_axis_is_level(series.kind))
        return;
    for (uint32_t slot = series.first; slot < axis->header.used; slot++) {
        const uint64_t now = hp_axis_value(axis, place, slot);
        REQUIRE(now >= before);
        before = now;
    }
    REQUIRE(before == writer->latest[place]);
}

static void write_any(struct fuzz_input *input)
{
    static struct hp_axis_writer writer;
    struct hp_axis axis;
    uint64_t now = START;
    const int fd = memfd_create("axis", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && hp_axis_begin(&writer, fd, 1, 2, START));
    for (uint32_t at = 0; input->left > 0 && at < MOST_SAMPLES; at++) {
        const uint32_t kind = 1 + fuzz_byte(input) % (HP_AXIS_KINDS - 1), id = fuzz_byte(input);
        if (fuzz_byte(input) % 16 == 0)
            hp_axis_drop(&writer, kind, id);
        else
            hp_axis_put(&writer, kind, id, "a", fuzz_number(input, 4));
        now += fuzz_number(input, 2) << fuzz_byte(input) % 28;
        REQUIRE(hp_axis_write(&writer, now));
    }
    if (writer.header.used > 0) {
        REQUIRE(pread(fd, bytes_of, sizeof bytes_of, 0) == (ssize_t)sizeof bytes_of &&
                hp_axis_open(&axis, bytes_of));
        for (uint32_t place = 0; place < HP_AXIS_SERIES; place++)
            check_series(&axis, place, &writer);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    if (size > 0 && bytes[0] == HP_AXIS_MAGIC[0])
        read_any(input);
    else
        write_any(&input);
    return 0;
}
