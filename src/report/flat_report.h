/*
 * A report for other programs to show: as CSV, with raw numbers and a header per section, and as Markdown, with the
 * visible columns of the tables. SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_FLAT_REPORT_H
#define HP_REPORT_FLAT_REPORT_H

#include "section.h"
#include "text.h"

/*
 * RFC 4180. Each line has its section first; sections are divided by an empty line. Keys and numbers are those of
 * JSON; a location is FILE:LINE. Pictures (histograms and series) are left out.
 */
void hp_flat_report_put_csv(const hotpath_results *results, struct hp_text *out);

/* False: the arena of the results has no memory. */
bool hp_flat_report_put_markdown(const hotpath_results *results, struct hp_text *out);

#endif
