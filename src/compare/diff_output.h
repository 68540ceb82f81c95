/*
 * A comparison in words, as JSON (docs/diff.schema.json) and as Markdown for a pull request.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COMPARE_DIFF_OUTPUT_H
#define HP_COMPARE_DIFF_OUTPUT_H

#include "comparison.h"
#include "text.h"

typedef void hp_diff_put(const struct hp_comparison *comparison, struct hp_text *text);

/* What writes "text", "markdown" or "json"; NULL: there is no such format. Without a name: text. */
hp_diff_put *hp_diff_put_of(const char *format);

void hp_diff_put_text(const struct hp_comparison *comparison, struct hp_text *text);
/* How much runs scatter: both sides are the same runs. */
void hp_diff_put_scatter(const struct hp_comparison *comparison, struct hp_text *text);
void hp_diff_put_markdown(const struct hp_comparison *comparison, struct hp_text *text);
void hp_diff_put_json(const struct hp_comparison *comparison, struct hp_text *text);
/* Runs that could not be compared: why, and the exit status. */
void hp_diff_put_json_refusal(const char *problem, uint64_t exit, struct hp_text *text);

#endif
