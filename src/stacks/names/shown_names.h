/*
 * Names of functions as reports show them. Those of C++ are known by their whole signatures ("char
 * Box<int>::as<char>() const"), of which a reader needs the name ("Box<int>::as<char>"); where several functions
 * have that name, the types of their parameters as well. What is no signature stays as it is.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_SHOWN_NAMES_H
#define HP_NAMES_SHOWN_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct hp_shown_names {
    const char **all; /* in the order of the full ones: those themselves, or texts */
    char *texts;
};

/* False: no memory. */
bool hp_shown_names_make(const char *const *full, size_t count, struct hp_shown_names *ret_names);
void hp_shown_names_free(struct hp_shown_names *names);

#endif
