/* The table of formats; a new format is one line here. SPDX-License-Identifier: MIT */
#include <string.h>

#include "export.h"

const struct hp_export_format *const hp_export_formats[] = {
    &hp_format_firefox,    &hp_format_pprof,    &hp_format_speedscope, &hp_format_folded,
    &hp_format_flamegraph, &hp_format_perfetto, &hp_format_dhat,
};

const size_t hp_export_format_count = sizeof hp_export_formats / sizeof hp_export_formats[0];

const struct hp_export_format *hp_export_format_find(const char *name)
{
    for (size_t at = 0; at < hp_export_format_count; at++)
        if (strcmp(hp_export_formats[at]->name, name) == 0)
            return hp_export_formats[at];
    return NULL;
}
