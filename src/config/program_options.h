/* The options of a program (struct hotpath_options), field by field. SPDX-License-Identifier: MIT */
#ifndef HP_CONFIG_PROGRAM_OPTIONS_H
#define HP_CONFIG_PROGRAM_OPTIONS_H

#include "options.h"

#define HP_PROGRAM_VALUE_BYTES 24

/* The program's value of an option, in environment syntax; NULL: not set. */
const char *hp_program_value(const struct hp_option *option, const struct hotpath_options *options,
                             char buffer[HP_PROGRAM_VALUE_BYTES]);

#endif
