/* The table of formats. SPDX-License-Identifier: MIT */
#include <string.h>

#include "export.h"

#define ENTRY(name) &hp_format_##name,
const struct hp_export_format *const hp_export_formats[] = {HP_EXPORT_FORMATS(ENTRY)};

const size_t hp_export_format_count = sizeof hp_export_formats / sizeof hp_export_formats[0];

const struct hp_export_format *hp_export_format_find(const char *name)
{
    for (size_t at = 0; at < hp_export_format_count; at++)
        if (strcmp(hp_export_formats[at]->name, name) == 0)
            return hp_export_formats[at];
    return NULL;
}
