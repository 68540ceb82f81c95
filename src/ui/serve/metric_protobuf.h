/*
 * Sums of metrics as protobuf messages of Prometheus (io.prometheus.client.MetricFamily, delimited), with native
 * histograms of schema 3. SPDX-License-Identifier: MIT
 */
#ifndef HP_SERVE_METRIC_PROTOBUF_H
#define HP_SERVE_METRIC_PROTOBUF_H

#include "metric_text.h"

/* False: no memory. */
bool hp_metric_protobuf_write(const struct hp_metric_text *metrics, struct hp_text *out);

#endif
