/*
 * The section `cold`: functions compiled with -finstrument-functions that were never called.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_COLD_H
#define HP_REPORT_COLD_H

#include "function_list.h"

/* Lists the functions of a file; set by programs that can. NULL, as in the library: there is no such section. */
extern hp_functions_reader *hp_cold_reader;

#endif
