/*
 * The short name of a C++ function, out of what gcc and clang call __PRETTY_FUNCTION__:
 *
 *     int ns::Class<T>::method(int, const char*) const [with T = int]     ns::Class<T>::method
 *     void (* handler(int))(double)                                       handler
 *     auto main()::(anonymous class)::operator()(int) const               main::<lambda>
 *
 * Return type, parameters, qualifiers and template bindings are left out. Both compilers' words for lambdas,
 * unnamed namespaces and unnamed types become the same ones: <lambda>, (anonymous namespace), (anonymous struct).
 *
 * May be used in a signal handler. SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_CXXNAME_H
#define HP_BASE_CXXNAME_H

#include <stddef.h>

/*
 * Writes the short name and a zero to `out`, cut to `size` bytes in all, and returns its length. What does not
 * look like a function of C++ is copied as it is.
 */
size_t hp_cxx_short_name(const char *pretty, char *out, size_t size);

#endif
