/*
 * The small pieces of C++ text: identifiers, operators, brackets. May be used in a signal handler.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_CXXTEXT_H
#define HP_BASE_CXXTEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a character may be part of an identifier. */
bool hp_cxx_is_identifier(char c);

bool hp_cxx_starts_with(const char *text, const char *start);

/* True when the word "operator" is at `at`; `first` is where the whole text begins. */
bool hp_cxx_is_operator(const char *first, const char *at);

/* Length of the sign of an operator at `at`; 0 when there is none. */
size_t hp_cxx_sign_length(const char *at);

/* Behind the character literal at `at`, or behind its quote when it is none. */
const char *hp_cxx_skip_character(const char *at);

/* Behind the bracket that closes the one at `at`; at the end of the text when none does. */
const char *hp_cxx_skip_group(const char *at);

#endif
