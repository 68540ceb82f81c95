/*
 * The short name of a C++ function, from the __PRETTY_FUNCTION__ of gcc or clang:
 *
 *     int ns::Class<T>::method(int, const char*) const [with T = int]     ns::Class<T>::method
 *     void (* handler(int))(double)                                       handler
 *     auto main()::(anonymous class)::operator()(int) const               main::<lambda>
 *
 * Return type, parameters, qualifiers and template bindings are dropped. Lambdas, unnamed namespaces and unnamed
 * types are spelled the same for both compilers: <lambda>, (anonymous namespace), (anonymous struct).
 *
 * May be used in a signal handler. SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_CXXNAME_H
#define HP_BASE_CXXNAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes the short name and a zero to `out`, cut to `size` bytes in all, and returns its length. Text that does not
 * look like a C++ function is copied unchanged.
 */
size_t hp_cxx_short_name(const char *pretty, char *out, size_t size);

/* Whether a linker symbol is a C++ name: it begins with _Z. */
bool hp_cxx_is_mangled(const char *name);

/*
 * The qualified name in a mangled one, without a demangler:
 *
 *     _ZNK3foo3barEv     foo::bar        _ZN3fooC2Ei     foo::foo        _ZSt4sortv     std::sort
 *
 * Returns its length, or 0 if the name is not C++, or has templates, operators or anything else that takes more
 * than reading names in sequence. Cut to `size` bytes in all.
 */
size_t hp_cxx_qualified_name(const char *mangled, char *out, size_t size);

#endif
