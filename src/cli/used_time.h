/* Processor time that other processes have used, by the kernel's word. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_USED_TIME_H
#define HP_CLI_USED_TIME_H

#include <stdint.h>

/* All threads of a process, those that ended included. 0: there is no such process. */
uint64_t hp_used_by(uint32_t pid);

/* All children that were waited for, and all that these waited for. */
uint64_t hp_used_by_children(void);

#endif
