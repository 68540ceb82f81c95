/* CPU time of other processes, from the kernel. SPDX-License-Identifier: MIT */
#ifndef HP_OBSERVE_USED_TIME_H
#define HP_OBSERVE_USED_TIME_H

#include <stdint.h>

/* Of all threads of a process, including ended ones. 0: no such process. */
uint64_t hp_used_by(uint32_t pid);

/* Of all reaped children and the children that they reaped. */
uint64_t hp_used_by_children(void);

#endif
