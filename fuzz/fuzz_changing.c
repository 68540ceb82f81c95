/*
 * Sessions in which anything becomes anything else while a report is made of them. Nothing may crash, hang or read outside,
 * and JSON has to be JSON. The session is read where it lies, or a copy of it of which single calls are read anew.
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "between_loads.h"
#include "reports.h"

static void change(void)
{
    fuzz_session_change(&fuzz_between.live, &fuzz_between.input);
    const uint8_t next = fuzz_byte(&fuzz_between.input);
    fuzz_between.is_cut = next == 255;
    fuzz_between.calm = next < 200 ? next : next * 50u;
}

/*
 * Texts are written once and before anybody knows of them, and are read where they lie. Here they may lose their ends, so
 * that zeros have to follow the session, as in the file reader's copy.
 */
static void report_changing(uint8_t how)
{
    static struct hp_settings settings;
    static struct fuzz_output output;
    struct hp_snapshot snapshot;
    const struct hp_snapshot *const list[] = {&snapshot};
    struct fuzz_session taken = fuzz_session_take(&fuzz_between.input);
    fuzz_between.live = fuzz_copy_of(&taken);
    struct fuzz_session copy = how & 1 ? fuzz_copy_of(&fuzz_between.live) : fuzz_between.live;
    fuzz_between.calm = fuzz_byte(&fuzz_between.input);
    fuzz_between.is_cut = false;
    fuzz_between.happen = change;
    if (hp_snapshot_open(&snapshot, copy.bytes, copy.size, &fuzz_now) == NULL) {
        if (how & 1)
            snapshot.read_anew = fuzz_read_live;
        fuzz_choose(&settings, how & 2 ? HP_FORMAT_JSON : HP_FORMAT_TABLE, how & 4);
        fuzz_render(list, 1, &settings, 72, &output);
        if (how & 2)
            fuzz_require_json(&output);
    }
    fuzz_between.happen = NULL;
    if (how & 1)
        fuzz_session_free(&copy);
    fuzz_session_free(&fuzz_between.live);
    fuzz_session_free(&taken);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_between.input = (struct fuzz_input){bytes, size};
    report_changing(fuzz_byte(&fuzz_between.input));
    return 0;
}
