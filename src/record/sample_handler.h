/* The handler of samples: see sampler.h. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_SAMPLE_HANDLER_H
#define HP_RECORD_SAMPLE_HANDLER_H

#include <stdbool.h>

#include "private_signal.h"

/* From now on the handler is called for this signal, or still is; false: it cannot be. */
bool hp_sample_take_signal(enum hp_private_signal which);

#endif
