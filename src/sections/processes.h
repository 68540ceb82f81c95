/* The section `processes`: what every process of the run measured. SPDX-License-Identifier: MIT */
#ifndef HP_SECTIONS_PROCESSES_H
#define HP_SECTIONS_PROCESSES_H

#include "section.h"

extern const struct hp_section_type hp_section_processes;

#endif
