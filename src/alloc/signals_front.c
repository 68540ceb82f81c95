/*
 * In libhotpath_alloc.so alone: `sigaction` and `signal` once more, since a library that is preloaded stands in front of the C
 * library, and what it needs does not. Why they are there is in signal_view.h. SPDX-License-Identifier: MIT
 */
#include "signal_view.h"

#ifdef HP_IN_FRONT_OF_SIGNALS

HOTPATH_API_ int sigaction(int signal, const struct sigaction *action, struct sigaction *before)
{
    return hotpath_v1_sigaction(signal, action, before);
}

HOTPATH_API_ hp_plain_handler *signal(int number, hp_plain_handler *handler)
{
    return hotpath_v1_signal(number, handler);
}

#endif
