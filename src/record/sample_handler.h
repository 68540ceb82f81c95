/* The signal handler for samples: see sampler.h. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_SAMPLE_HANDLER_H
#define HP_RECORD_SAMPLE_HANDLER_H

#include <stdbool.h>

#include "private_signal.h"

/* Installs the handler for this signal, unless it is installed. False: not possible. */
bool hp_sample_take_signal(enum hp_private_signal which);

#endif
