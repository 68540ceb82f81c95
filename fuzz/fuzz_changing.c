/*
 * Sessions that change arbitrarily while a report is made of them. Nothing may crash, hang or read out of bounds,
 * and JSON must be valid. The session is read in place, or from a copy with single calls read again; once, or
 * repeatedly by one model that is refreshed. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "between_loads.h"
#include "floors.h"
#include "model.h"
#include "reports.h"

static void change(void)
{
    fuzz_session_change(&fuzz_between.live, &fuzz_between.input);
    const uint8_t next = fuzz_byte(&fuzz_between.input);
    fuzz_between.is_cut = next == 255;
    fuzz_between.calm = next < 200 ? next : next * 50u;
}

#define READINGS 3u

/* Read repeatedly, as by a live view, with changes between and during the reads. */
static void report_again(const struct fuzz_session *session, bool is_copy, const struct hp_settings *settings,
                         struct fuzz_output *output)
{
    struct hp_arena kept = {0}, passing = {0};
    struct hp_floors floors = {0};
    struct hp_model model = {.kept = &kept, .arena = &passing};
    struct hp_snapshot snapshot;
    const struct hp_snapshot *const list[] = {&snapshot};
    const struct hp_snapshots snapshots = {.all = list, .count = 1, .floors = &floors};
    const struct hp_report_target target = {.sink = fuzz_collect, .context = output, .width = 72};
    for (unsigned reading = 0; reading < READINGS; reading++) {
        if (is_copy)
            memcpy(session->bytes, fuzz_between.live.bytes, session->size);
        if (hp_snapshot_open(&snapshot, session->bytes, session->size, &fuzz_now) != NULL)
            break;
        if (is_copy)
            snapshot.read_anew = fuzz_read_live;
        output->length = 0;
        REQUIRE(hp_model_refresh(&model, &snapshots, false));
        REQUIRE(hp_report_render_model(&model, settings, &target) == HOTPATH_OK);
        change();
    }
    hp_arena_release(&kept);
    hp_arena_release(&passing);
    hp_floors_release(&floors);
}

/*
 * Texts are written once, before anything refers to them, and are read in place. Here they may lose their
 * terminators, so zeros must follow the session, as in the file reader's copy.
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
    fuzz_choose(&settings, how & 2 ? HP_FORMAT_JSON : HP_FORMAT_TABLE, how & 4);
    if (how & 8) {
        report_again(&copy, how & 1, &settings, &output);
    } else if (hp_snapshot_open(&snapshot, copy.bytes, copy.size, &fuzz_now) == NULL) {
        if (how & 1)
            snapshot.read_anew = fuzz_read_live;
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
