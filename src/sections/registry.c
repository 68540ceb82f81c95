/* The list of sections: a new one is one line here. SPDX-License-Identifier: MIT */
#include "calltree.h"
#include "cold.h"
#include "processes.h"
#include "section.h"
#include "timing.h"

const struct hp_section_type *const hp_section_types[] = {
    &hp_section_timing,
    &hp_section_calltree,
    &hp_section_processes,
    &hp_section_cold,
};

const size_t hp_section_type_count = sizeof hp_section_types / sizeof hp_section_types[0];
