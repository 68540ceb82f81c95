/* What measuring costs on this machine: see calibration.c. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_CALIBRATION_H
#define HP_RECORD_CALIBRATION_H

#include <stdbool.h>

#include "runtime.h"

/* Measures what one zone costs on this machine, and what else there is to be paid; quickly where there may never be one. Signals held. */
struct hp_zone_cost hp_zones_calibrate(bool is_quick);

#endif
