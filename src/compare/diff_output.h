/*
 * A comparison in words, as JSON (docs/diff.schema.json) and as Markdown for a pull request.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COMPARE_DIFF_OUTPUT_H
#define HP_COMPARE_DIFF_OUTPUT_H

#include "comparison.h"
#include "text.h"

void hp_diff_put_text(const struct hp_comparison *comparison, struct hp_text *text);
/* How much runs scatter: both sides are the same runs. */
void hp_diff_put_scatter(const struct hp_comparison *comparison, struct hp_text *text);
void hp_diff_put_markdown(const struct hp_comparison *comparison, struct hp_text *text);
void hp_diff_put_json(const struct hp_comparison *comparison, struct hp_text *text);

#endif
