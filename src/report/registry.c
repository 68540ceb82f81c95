/* The sections as a table (sections.def). SPDX-License-Identifier: MIT */
#include "section.h"

const struct hp_section_type *const hp_section_types[] = {
#define HP_SECTION(type, source) &type,
#include "sections.def"
#undef HP_SECTION
};

const size_t hp_section_type_count = sizeof hp_section_types / sizeof hp_section_types[0];

_Static_assert(sizeof hp_section_types / sizeof hp_section_types[0] <= HP_MAX_SECTIONS,
               "HP_MAX_SECTIONS has to grow");
