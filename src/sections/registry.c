/* The list of sections: a new one is one line here. SPDX-License-Identifier: MIT */
#include "alloc_pools.h"
#include "alloc_table.h"
#include "alloc_threads.h"
#include "bottlenecks.h"
#include "calls.h"
#include "calltree.h"
#include "cold.h"
#include "cpu_table.h"
#include "processes.h"
#include "section.h"
#include "slowest.h"
#include "timing.h"
#include "wait_table.h"

const struct hp_section_type *const hp_section_types[] = {
    &hp_section_bottlenecks,   /* where more than time was measured */
    &hp_section_timing,        /* one line each */
    &hp_section_alloc_bytes,   /* where malloc was watched; one of the two, unless asked for */
    &hp_section_alloc_count,   /* the same in numbers of blocks */
    &hp_section_alloc_threads, /* on request */
    &hp_section_alloc_pools,   /* where the program has some */
    &hp_section_cpu,           /* where processor time was sampled */
    &hp_section_waits,         /* where somebody watched */
    &hp_section_calltree,      /* on request */
    &hp_section_calls,         /* where some were logged */
    &hp_section_slowest,       /* on request */
    &hp_section_processes,     /* of several */
    &hp_section_cold,          /* on request */
};

const size_t hp_section_type_count = sizeof hp_section_types / sizeof hp_section_types[0];
