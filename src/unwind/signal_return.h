/*
 * Finds the code that signal handlers return to, with or without call frame information.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_UNWIND_SIGNAL_RETURN_H
#define HP_UNWIND_SIGNAL_RETURN_H

#include "image_file.h"
#include "machine.h"

/*
 * Whether a link-time address is in such code, and where that ends. It was not called: its return address is not
 * after a call, so the byte before it counts as part of it. Reads some bytes of the file.
 */
bool hp_signal_return_is_at(const struct hp_machine *machine, const struct hp_image_file *file, uint64_t linked,
                            uint64_t *ret_end);

/* An address this far from one in such code, or further, is not in it. */
#define HP_SIGNAL_RETURN_MOST 10u

#endif
