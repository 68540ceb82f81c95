/* Reports of sessions, for the targets. SPDX-License-Identifier: MIT */
#ifndef FUZZ_REPORTS_H
#define FUZZ_REPORTS_H

#include "check.h"
#include "report.h"

/* A time long after the sessions began. */
extern const struct hp_clock_pair fuzz_now;

/* Selects everything there is to show, sorted differently for the two time modes. */
void fuzz_choose(struct hp_settings *settings, uint32_t format, bool is_exclusive);

/* Renders into the output, which is emptied first. */
void fuzz_render(const struct hp_snapshot *const *sessions, size_t count, const struct hp_settings *settings,
                 uint32_t width, struct fuzz_output *output);

#endif
