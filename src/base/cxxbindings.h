/*
 * Template arguments in what gcc and clang call __PRETTY_FUNCTION__:
 *
 *     U Box<T>::as(U) [with U = char; T = int]       gcc: innermost first, and typedefs behind them
 *     U Box<int>::as(U) [T = int, U = char]          clang: outermost first
 *
 * May be used in a signal handler. SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_CXXBINDINGS_H
#define HP_BASE_CXXBINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

struct hp_cxx_bindings {
    const char *pretty;
    const char *begin, *end; /* of what is between the brackets; NULL: there are none */
    bool is_gcc;
};

void hp_cxx_bindings_find(const char *pretty, struct hp_cxx_bindings *ret_bindings);

/*
 * Adds `text`, of that length, with arguments in place of parameters. In a name (`is_name`) they are replaced
 * between brackets and in "operator T" only.
 */
void hp_cxx_bindings_put(const struct hp_cxx_bindings *bindings, const char *text, size_t length, bool is_name,
                         struct hp_text *out);

/*
 * Adds "<int, char>", the arguments of the function itself: those that `name`, which ends with a zero, does not
 * have. `of_lambda` chooses those that have no name, as they are a lambda's.
 */
void hp_cxx_bindings_put_own(const struct hp_cxx_bindings *bindings, const char *name, bool of_lambda,
                             struct hp_text *out);

#endif
