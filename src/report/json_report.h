/* A report as JSON; docs/report.schema.json is the contract. SPDX-License-Identifier: MIT */
#ifndef HP_REPORT_JSON_REPORT_H
#define HP_REPORT_JSON_REPORT_H

#include <stdbool.h>

#include "json.h"
#include "section.h"
#include "text.h"

/* Writes the report, ended by a newline. */
void hp_json_report_render(const hotpath_results *results, struct hp_text *out, bool is_pretty);

/*
 * Its parts, for writers of the same values in another shape: what comes before the sections and after them, what a
 * section has before its rows, a cell without its key, and an id in hexadecimal, since JSON readers may not have
 * 64-bit integers.
 */
void hp_json_report_put_about(struct hp_json *json, const hotpath_results *results);
void hp_json_report_put_end(struct hp_json *json, const hotpath_results *results);
void hp_json_report_put_head(struct hp_json *json, const struct hotpath_section *section);
void hp_json_report_put_cell(struct hp_json *json, const struct hp_column *column, const struct hp_cell *cell);
void hp_json_report_put_id(struct hp_json *json, uint64_t id);

#endif
