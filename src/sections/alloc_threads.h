/* The section `alloc-threads`. SPDX-License-Identifier: MIT */
#ifndef HP_SECTIONS_ALLOC_THREADS_H
#define HP_SECTIONS_ALLOC_THREADS_H

#include "section.h"

extern const struct hp_section_type hp_section_alloc_threads;

#endif
