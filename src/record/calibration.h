/* The cost of measuring on this machine: see calibration.c. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_CALIBRATION_H
#define HP_RECORD_CALIBRATION_H

#include <stdbool.h>

#include "runtime.h"

/* Measures the cost of a zone and the other costs; quickly if there may never be a zone. Signals are blocked. */
struct hp_zone_cost hp_zones_calibrate(bool is_quick);

#endif
