/*
 * Tables at any width, with arbitrary names, notes, labels and paths. Lines must not exceed the terminal's width,
 * those of a table must have equal width, and there may be no control characters. SPDX-License-Identifier: MIT
 */
#include "reports.h"
#include "shapes.h"

#define LONGEST_INPUT 16384u

/* A + would look like the rule of a table. */
static void leave_out_plus(uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < size; at++)
        if (bytes[at] == '+')
            bytes[at] = 'p';
}

static void check_tables(struct fuzz_input *input, uint32_t width, uint8_t how)
{
    static struct hp_settings settings;
    static struct fuzz_output output;
    struct session_builder builder;
    struct hp_snapshot snapshot;
    const struct hp_snapshot *const list[] = {&snapshot, &snapshot};
    fuzz_shape_named(&builder, input);
    fuzz_choose(&settings, HP_FORMAT_TABLE, how & 1);
    settings.show.min_percent = 0;
    settings.show.focus[0] = '\0';
    settings.show.slowest[0] = '\0';
    if (how & 2)
        settings.show.columns[0] = '\0';
    REQUIRE(hp_snapshot_open(&snapshot, builder.bytes, builder_size(&builder), how & 4 ? &fuzz_now : NULL) == NULL);
    fuzz_render(list, how & 8 ? 2 : 1, &settings, width, &output);
    fuzz_require_lines(&output, width);
    builder_free(&builder);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static uint8_t copy[LONGEST_INPUT];
    if (size > sizeof copy)
        return 0;
    if (size > 0)
        memcpy(copy, bytes, size);
    struct fuzz_input input = {copy, size};
    const uint8_t how = fuzz_byte(&input);
    const uint32_t width = (uint32_t)fuzz_number(&input, 2) % 400;
    leave_out_plus(copy, size);
    check_tables(&input, width, how);
    return 0;
}
