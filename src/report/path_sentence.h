/*
 * The first sentence of a report, if the critical path decides it (docs/critical-path.md): "main waits for worker
 * 3, which waits 71 % of the time for cache_lock, held by rebuild (42 ms at a time); of the critical path, 71 % is
 * in rebuild". SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_PATH_SENTENCE_H
#define HP_REPORT_PATH_SENTENCE_H

#include "function_profile.h"
#include "path_profile.h"
#include "section.h"

/* Minimum part of the path's waits whose wakers are known. */
#define HP_PATH_KNOWN_PART 0.7
/* Minimum part of the path that was waited for, without the time between waking and running. */
#define HP_PATH_WAITED_PART 0.5
/* Minimum part for what is waited for to be named in the sentence. */
#define HP_PATH_SAID_PART 0.25

/* False: the path does not decide; nothing is put. */
bool hp_path_sentence_put(struct hp_text *line, const struct hotpath_results *results);

/* A share of the path, without the time between waking and running, and that in the run queue. */
double hp_path_share(const struct hp_run_path *path, uint64_t ticks);
/* The name of what was waited for, or of its kind: "a lock". */
const char *hp_path_for_name(const struct hp_path_for *wait);

#endif
