/* From snapshots to a finished report. SPDX-License-Identifier: MIT */
#include "report.h"

#include "arena.h"
#include "flat_report.h"
#include "json_report.h"
#include "section.h"
#include "table.h"
#include "text.h"

#define BUFFER_BYTES 16384u

int hp_report_render_model(struct hp_model *model, const struct hp_settings *settings,
                           const struct hp_report_target *target)
{
    struct hp_text out;
    if (settings->output.format == HP_FORMAT_NONE)
        return HOTPATH_OK;
    char *buffer = hp_arena_take(model->arena, BUFFER_BYTES);
    const hotpath_results *results = hp_results_of_model(model, settings);
    bool is_complete = true;
    if (buffer == NULL || results == NULL)
        return HOTPATH_E_SPACE;
    hp_text_init_stream(&out, buffer, BUFFER_BYTES, target->sink, target->context);
    /* Only the program hotpath can write the page; a measured program writes the table instead. */
    if (settings->output.format == HP_FORMAT_TABLE || settings->output.format == HP_FORMAT_HTML) {
        const struct hp_table_style style = {.width = target->width, .color = target->color};
        is_complete = hp_report_text_render(results, &out, &style);
    } else if (settings->output.format == HP_FORMAT_CSV) {
        hp_flat_report_put_csv(results, &out);
    } else if (settings->output.format == HP_FORMAT_MARKDOWN) {
        is_complete = hp_flat_report_put_markdown(results, &out);
    } else {
        hp_json_report_render(results, &out, settings->output.format == HP_FORMAT_JSON_PRETTY);
    }
    if (!hp_text_finish(&out))
        return HOTPATH_E_OUTPUT;
    return is_complete ? HOTPATH_OK : HOTPATH_E_SPACE;
}

int hp_report_render(const struct hp_snapshots *snapshots, const struct hp_settings *settings,
                     const struct hp_report_target *target)
{
    struct hp_arena arena = {0};
    struct hp_model model;
    if (settings->output.format == HP_FORMAT_NONE)
        return HOTPATH_OK;
    const int status = hp_model_build(&model, &arena, &arena, snapshots)
                           ? hp_report_render_model(&model, settings, target)
                           : HOTPATH_E_SPACE;
    hp_arena_release(&arena);
    return status;
}

int hp_report_hand_over(const struct hp_snapshots *snapshots, const struct hp_settings *settings,
                        hotpath_reporter *reporter, void *context)
{
    struct hp_arena arena = {0};
    const hotpath_results *results = hp_results_build(&arena, snapshots, settings);
    if (results != NULL)
        reporter(results, context);
    hp_arena_release(&arena);
    return results != NULL ? HOTPATH_OK : HOTPATH_E_SPACE;
}
