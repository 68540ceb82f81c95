/* The section `calls`: the latest calls of functions whose calls are logged. SPDX-License-Identifier: MIT */
#ifndef HP_SECTIONS_CALLS_H
#define HP_SECTIONS_CALLS_H

#include "section.h"

extern const struct hp_section_type hp_section_calls;

#endif
