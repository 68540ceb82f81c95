/*
 * The first sentence of a report, if what a program does most is moving a few bytes at a time: "emit_char writes 1
 * byte at a time to out.log: 68 % of the CPU time is in write". docs/io.md describes its rule.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_IO_SENTENCE_H
#define HP_REPORT_IO_SENTENCE_H

#include "section.h"
#include "text.h"

/* At most this many bytes at a time, as half of the calls. */
#define HP_IO_FEW_BYTES 64.0
/* Fewer calls cannot matter. */
#define HP_IO_MANY_CALLS 1000u
/* Of the CPU time, in these calls. */
#define HP_IO_SAID_PART 0.25

/* False: it does not decide; nothing is put. */
bool hp_io_sentence_put(struct hp_text *line, const struct hotpath_results *results);

#endif
