/* The numbers of a session for Prometheus and other collectors. SPDX-License-Identifier: MIT */
#ifndef HP_SERVE_METRICS_H
#define HP_SERVE_METRICS_H

#include "served.h"
#include "text.h"

/*
 * Writes them as OpenMetrics 1.0, or in the older text format of Prometheus (0.0.4). The number of label values is
 * limited: functions to HP_SERVED_METRIC_NAMES, those with most time first; a function that was once included
 * stays. False: no memory.
 */
bool hp_metrics_write(struct hp_serving *serving, struct hp_served *served, bool is_openmetrics,
                      struct hp_text *out);

#endif
