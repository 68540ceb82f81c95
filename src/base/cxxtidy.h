/*
 * Types of C++ as people write them, out of what compilers and demanglers write:
 *
 *     std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >     std::string
 *     std::vector<long unsigned int, std::allocator<long unsigned int> >                 std::vector<unsigned long>
 *     Array<int, 3ul>                                                                     Array<int, 3>
 *     const char *                                                                        const char*
 *
 * May be used in a signal handler. SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_CXXTIDY_H
#define HP_BASE_CXXTIDY_H

#include "text.h"

/* Adds `name`, which ends with a zero, to `out`. */
void hp_cxx_tidy(const char *name, struct hp_text *out);

#endif
