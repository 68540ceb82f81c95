/* Code that handlers of signals return to, whether something is said of it or not. SPDX-License-Identifier: MIT */
#ifndef HP_UNWIND_SIGNAL_RETURN_H
#define HP_UNWIND_SIGNAL_RETURN_H

#include "image_file.h"
#include "machine.h"

/*
 * Whether an address, as linked, is in such code, and where that ends. It is nobody's function: what returns there has not been
 * called from the place before it, so that place is made a part of it. Reads some bytes of the file.
 */
bool hp_signal_return_is_at(const struct hp_machine *machine, const struct hp_image_file *file, uint64_t linked,
                            uint64_t *ret_end);

/* What is this far from an address that is in such code, or further, is not in it. */
#define HP_SIGNAL_RETURN_MOST 10u

#endif
