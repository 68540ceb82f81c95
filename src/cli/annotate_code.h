/* The instructions of a function, as objdump prints them. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_ANNOTATE_CODE_H
#define HP_CLI_ANNOTATE_CODE_H

#include "annotated.h"

/* Disassembles the function around this offset in the file. False, with one line on stderr: not possible. */
bool hp_annotate_code(const struct hp_named_image *image, uint64_t place, struct hp_annotated *ret_text);

#endif
