/*
 * In libhotpath_alloc.so alone: what stands in front of the C library's functions about signals once more, since a library that is
 * preloaded stands in front of the C library, and what it needs does not. Why it is there is in signal_view.h.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "signal_view.h"

#ifdef HP_IN_FRONT_OF_SIGNALS
HP_DEFINE_SIGNALS_FRONT
#endif
