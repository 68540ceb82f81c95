/*
 * What loading our library costs a process: the work of the kernel and of the dynamic linker, which no process can
 * measure in itself. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_LOAD_COST_H
#define HP_CLI_LOAD_COST_H

#include <stdint.h>

/*
 * CPU time in nanoseconds by which a short process takes longer if it loads the library as processes of a run do.
 * Runs a few of them. 0: unknown.
 */
uint64_t hp_load_cost_ns(const char *library);

#endif
