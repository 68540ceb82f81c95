/* For the reader of sessions in fuzz_live: something may happen before each of its loads. SPDX-License-Identifier: MIT */
#ifndef FUZZ_BETWEEN_LOADS_H
#define FUZZ_BETWEEN_LOADS_H

void fuzz_before_load(void);

#define __atomic_load_n(at, order) (fuzz_before_load(), __atomic_load_n(at, order))

#endif
