/* An empty function, measured by the compiler's hooks. SPDX-License-Identifier: MIT */
#ifndef BENCH_EVERYTHING_H
#define BENCH_EVERYTHING_H

#include <stdint.h>

void measured_by_compiler(void);
void run_measured_by_compiler(uint32_t passes);

#endif
