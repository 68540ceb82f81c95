/* A whole report as text for people. SPDX-License-Identifier: MIT */
#ifndef HP_REPORT_REPORT_TEXT_H
#define HP_REPORT_REPORT_TEXT_H

#include <stdbool.h>

#include "prose.h"
#include "section.h"

/* Writes the report. False: the arena of the results has no memory. */
bool hp_report_text_render(const hotpath_results *results, struct hp_text *out, const struct hp_table_style *style);

#endif
