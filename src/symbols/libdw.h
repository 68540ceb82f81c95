/*
 * libdw, the debug information reader of elfutils, loaded when it is first needed: it is large, and most commands
 * need no lines. If it is not installed, or was not when hotpath was built, there are no lines.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_LIBDW_H
#define HP_SYMBOLS_LIBDW_H

#include <dwarf.h>
#include <elfutils/libdw.h>

/* The functions that are used of it. */
#define HP_LIBDW_FUNCTIONS(F)                                                                                      \
    F(dwarf_begin)                                                                                                 \
    F(dwarf_end)                                                                                                   \
    F(dwarf_get_units)                                                                                             \
    F(dwarf_ranges)                                                                                                \
    F(dwarf_getsrclines)                                                                                           \
    F(dwarf_onesrcline)                                                                                            \
    F(dwarf_lineaddr)                                                                                              \
    F(dwarf_lineno)                                                                                                \
    F(dwarf_lineendsequence)                                                                                       \
    F(dwarf_linesrc)                                                                                               \
    F(dwarf_getsrcfiles)                                                                                           \
    F(dwarf_filesrc)                                                                                               \
    F(dwarf_child)                                                                                                 \
    F(dwarf_siblingof)                                                                                             \
    F(dwarf_tag)                                                                                                   \
    F(dwarf_dieoffset)                                                                                             \
    F(dwarf_attr)                                                                                                  \
    F(dwarf_attr_integrate)                                                                                        \
    F(dwarf_formstring)                                                                                            \
    F(dwarf_formudata)

struct hp_libdw {
#define HP_LIBDW_POINTER(name) __typeof__(name) *name;
    HP_LIBDW_FUNCTIONS(HP_LIBDW_POINTER)
#undef HP_LIBDW_POINTER
};

/* NULL: not installed. */
const struct hp_libdw *hp_libdw_get(void);

#endif
