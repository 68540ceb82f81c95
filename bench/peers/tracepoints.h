/* Two empty LTTng-UST events, for calls.c. LTTng prescribes the form of this file. SPDX-License-Identifier: MIT */
#undef TRACEPOINT_PROVIDER
#define TRACEPOINT_PROVIDER hotpath_bench

#undef TRACEPOINT_INCLUDE
#define TRACEPOINT_INCLUDE "./tracepoints.h"

#if !defined(HOTPATH_BENCH_TRACEPOINTS_H) || defined(TRACEPOINT_HEADER_MULTI_READ)
#define HOTPATH_BENCH_TRACEPOINTS_H

#include <lttng/tracepoint.h>

TRACEPOINT_EVENT(hotpath_bench, enter, TP_ARGS(), TP_FIELDS())
TRACEPOINT_EVENT(hotpath_bench, leave, TP_ARGS(), TP_FIELDS())

#endif

#include <lttng/tracepoint-event.h>
