/* How long ago something was, in words. SPDX-License-Identifier: MIT */
#include "age.h"

#include <stdio.h>

#include "clock.h"

void hp_put_age(char *text, size_t size, uint64_t began_ns)
{
    const uint64_t now = hp_clock_wall_ns();
    const uint64_t seconds = now > began_ns ? (now - began_ns) / 1000000000u : 0;
    if (seconds < 120)
        snprintf(text, size, "%us ago", (unsigned)seconds);
    else if (seconds < 7200)
        snprintf(text, size, "%um ago", (unsigned)(seconds / 60));
    else if (seconds < 172800)
        snprintf(text, size, "%uh ago", (unsigned)(seconds / 3600));
    else
        snprintf(text, size, "%ud ago", (unsigned)(seconds / 86400 < 99999 ? seconds / 86400 : 99999));
}
