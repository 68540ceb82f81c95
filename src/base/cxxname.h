/*
 * The short name of a C++ function, from the __PRETTY_FUNCTION__ of gcc or clang:
 *
 *     int ns::Class<T>::method(int, const char*) const [with T = int]     ns::Class<int>::method
 *     T square(T) [T = double]                                            square<double>
 *     void (* handler(int))(double)                                       handler
 *     auto main()::(anonymous class)::operator()(int) const               main::<lambda>
 *
 * Return type, parameters and qualifiers are left out; template arguments are put in where they belong. Both
 * compilers' words for lambdas, unnamed namespaces and unnamed types become the same ones: <lambda>, (anonymous
 * namespace), (anonymous struct), and types are as people write them. What demanglers write is read as
 * well.
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

/*
 * The short name with the types of its parameters, by which functions of one name differ: "Box<int>::get() const".
 * Returns its length, or 0 where there are none. Cut as above.
 */
size_t hp_cxx_signature(const char *pretty, char *out, size_t size);

/* A short name without template arguments: "Box::get" for "Box<int>::get". Cut as above; returns its length. */
size_t hp_cxx_bare_name(const char *name, char *out, size_t size);

/* Whether a name of the linker's is one of C++: it begins with _Z. */
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
