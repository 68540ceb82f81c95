/* A report as JSON; docs/report.schema.json is the contract. SPDX-License-Identifier: MIT */
#ifndef HP_RENDER_JSON_REPORT_H
#define HP_RENDER_JSON_REPORT_H

#include <stdbool.h>

#include "section.h"
#include "text.h"

/* Writes the report and ends it with a new line. */
void hp_json_report_render(const hotpath_results *results, struct hp_text *out, bool is_pretty);

#endif
