/*
 * Folded stacks: "main;work;leaf 1200" for each stack, the outermost function first, with an integer at the end.
 * FlameGraph, speedscope, inferno, Firefox Profiler and others read it. SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

/* Separators in names are replaced. */
static void put_name(struct hp_text *text, const char *name)
{
    for (const char *end; (end = strchr(name, ';')) != NULL; name = end + 1) {
        hp_text_bytes(text, name, (size_t)(end - name));
        hp_text_char(text, ':');
    }
    hp_text_string(text, name);
}

/* The names of a stack, from the outermost function on. */
static void put_stack(struct hp_text *text, const struct hp_weighted *weighted, const uint32_t *way, size_t length)
{
    for (size_t at = length; at-- > 0;) {
        put_name(text, weighted->functions[weighted->nodes[way[at]].function].name);
        hp_text_char(text, at > 0 ? ';' : ' ');
    }
}

static bool write(const struct hp_export *export, struct hp_text *text)
{
    const struct hp_weighted *weighted = export->weighted;
    const struct hp_weights *weights = hp_export_weights(export, 0);
    uint32_t *way = calloc(weighted->node_count + 1, sizeof *way);
    if (way == NULL)
        return false;
    for (size_t node = 1; node < weighted->node_count && !text->is_cut; node++) {
        const uint64_t own = hp_weight_own(weights, node);
        size_t length = 0;
        for (uint32_t at = (uint32_t)node; own > 0 && at != HP_WEIGHTED_ROOT; at = weighted->nodes[at].parent)
            way[length++] = at;
        if (own == 0)
            continue;
        put_stack(text, weighted, way, length);
        hp_text_format(text, "%" PRIu64 "\n", own);
    }
    free(way);
    return true;
}

const struct hp_export_format hp_format_folded = {
    .name = "folded",
    .is_of_one = true,
    .write = write,
};
