/*
 * Compact reports of modified sessions: must be JSON in one line, and equal the pretty ones except for blanks.
 * SPDX-License-Identifier: MIT
 */
#include "reports.h"
#include "shapes.h"

static void check_report(struct fuzz_input *input)
{
    static struct hp_settings settings;
    static struct fuzz_output compact, pretty;
    struct hp_snapshot snapshot;
    const struct hp_snapshot *const list[] = {&snapshot, &snapshot};
    const uint8_t how = fuzz_byte(input);
    struct fuzz_session session = fuzz_session_take(input);
    if (hp_snapshot_open(&snapshot, session.bytes, session.size, how & 1 ? &fuzz_now : NULL) == NULL) {
        fuzz_choose(&settings, HP_FORMAT_JSON, how & 2);
        fuzz_render(list, how & 4 ? 2 : 1, &settings, 0, &compact);
        settings.output.format = HP_FORMAT_JSON_PRETTY;
        fuzz_render(list, how & 4 ? 2 : 1, &settings, 0, &pretty);
        fuzz_require_json(&compact);
        fuzz_require_same_json(&compact, &pretty);
        const char *const end = memchr(compact.bytes, '\n', compact.length);
        REQUIRE(end == NULL || end == compact.bytes + compact.length - 1);
    }
    fuzz_session_free(&session);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    check_report(&input);
    return 0;
}
