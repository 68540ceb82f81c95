/*
 * Short names of C++ functions. The tables are what g++ 12 and clang++ 14 made of one source, line by line.
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cxxname.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

struct name_case {
    const char *pretty;
    const char *name;
};

static const struct name_case gcc_cases[] = {
    {"int plain(int)", "plain"},
    {"int c_linkage()", "c_linkage"},
    {"const char* pointer_result(const char*)", "pointer_result"},
    {"long long unsigned int wide()", "wide"},
    {"ns::Class<T>::Class() [with T = int]", "ns::Class<int>::Class"},
    {"int ns::Class<T>::method(int, const char*) const [with T = int]", "ns::Class<int>::method"},
    {"static void ns::Class<T>::stat(T) [with T = int]", "ns::Class<int>::stat"},
    {"U ns::Class<T>::inner(U) & [with U = double; T = int]", "ns::Class<int>::inner<double>"},
    {"ns::Class<T>::operator T*() [with T = int]", "ns::Class<int>::operator int*"},
    {"bool ns::Class<T>::operator<(const ns::Class<T>&) const [with T = int]", "ns::Class<int>::operator<"},
    {"T ns::Class<T>::operator()(T) [with T = int]", "ns::Class<int>::operator()"},
    {"T ns::Class<T>::operator[](size_t) [with T = int; size_t = long unsigned int]", "ns::Class<int>::operator[]"},
    {"ns::Class<T>* ns::Class<T>::operator->() [with T = int]", "ns::Class<int>::operator->"},
    {"void ns::Array<T, N>::fill() [with T = int; int N = 2]", "ns::Array<int, 2>::fill"},
    {"std::string ns::text(std::map<int, std::__cxx11::basic_string<char> >)", "ns::text"},
    {"std::ostream* ns::operator<<(std::ostream*, const Array<int, 2>&)", "ns::operator<<"},
    {"A::A()", "A::A"},
    {"A::A(int)", "A::A"},
    {"static void A::b()", "A::b"},
    {"A::operator const char*() const", "A::operator const char*"},
    {"A::operator fp()", "A::operator fp"},
    {"A& A::operator=(const A&)", "A::operator="},
    {"A A::operator++(int)", "A::operator++"},
    {"virtual A::~A()", "A::~A"},
    {"bool A::operator<=(const A&) const &&", "A::operator<="},
    {"bool A::operator>(const A&) const volatile", "A::operator>"},
    {"bool A::operator>>(int)", "A::operator>>"},
    {"void A::operator,(int)", "A::operator,"},
    {"static void* A::operator new(size_t)", "A::operator new"},
    {"static void A::operator delete(void*)", "A::operator delete"},
    {"static void* A::operator new [](size_t)", "A::operator new[]"},
    {"A::member(int) const::<lambda(int)>", "A::member::<lambda>"},
    {"A::operator T() const [with T = double]", "A::operator double"},
    {"void (* get_handler(int))(double)", "get_handler"},
    {"int (& array_ref())[3]", "array_ref"},
    {"int (A::* member_pointer(char))(int) const", "member_pointer"},
    {"void (* (* twice())(int))(char)", "twice"},
    {"decltype ((x + y)) add(X, Y) [with X = int; Y = double; decltype ((x + y)) = double]", "add<int, double>"},
    {"decltype (*(X*)(0)) deref(X*) [with X = int; decltype (*(X*)(0)) = int&]", "deref<int>"},
    {"int simple_decl()", "simple_decl"},
    {"auto deduced()", "deduced"},
    {"decltype(auto) deduced2()", "deduced2"},
    {"int {anonymous}::hidden()", "(anonymous namespace)::hidden"},
    {"void {anonymous}::H::m()", "(anonymous namespace)::H::m"},
    {"void {anonymous}::deep::x()", "(anonymous namespace)::deep::x"},
    {"void ns2::{anonymous}::y(int)", "ns2::(anonymous namespace)::y"},
    {"void ns2::v1::z()", "ns2::v1::z"},
    {"<lambda(int)>", "<lambda>"},
    {"<lambda(auto:1, auto:2&& ...)> [with auto:1 = int; auto:2 = {int, double}]", "<lambda><int, int, double>"},
    {"outer()::<lambda(int)>", "outer::<lambda>"},
    {"outer()::<lambda()> mutable::<lambda(double)>", "outer::<lambda>::<lambda>"},
    {"outer()::<lambda()> mutable", "outer::<lambda>"},
    {"void outer()::Local::m()", "outer::Local::m"},
    {"void outer()::Local::Deep::d(int)", "outer::Local::Deep::d"},
    {"void outer()::<unnamed struct>::u()", "outer::(anonymous struct)::u"},
    {"tmpl_outer<int>(int)::<lambda(int)>", "tmpl_outer<int>::<lambda>"},
    {"void tmpl_outer(T)::L::m(int) [with T = int]", "tmpl_outer<int>::L::m"},
    {"fp_outer()::<lambda(int)>", "fp_outer::<lambda>"},
    {"long double operator\"\"_km(long double)", "operator\"\"_km"},
    {"typename std::enable_if<(N > 3), T>::type cond(T) [with long unsigned int N = 5; T = double; typename "
     "std::enable_if<(N > 3), T>::type = double]",
     "cond<5, double>"},
    {"void variadic(Ts ...) [with Ts = {int, const char*, char}]", "variadic<int, const char*, char>"},
    {"void Ch<C>::m() [with char C = '<']", "Ch<'<'>::m"},
    {"void Ch<C>::m() [with char C = ')']", "Ch<')'>::m"},
    {"void Mp<F>::m() [with bool (A::* F)(int) = &A::operator>>]", "Mp<&A::operator>>>::m"},
    {"void Fp<F>::m() [with void (* F)() = outer]", "Fp<outer>::m"},
    {"bool operator<(const T&, const ns::Array<T, 1>&) [with T = int]", "operator< <int>"},
    {"void tt(C<int>) [with C = std::vector]", "tt<std::vector>"},
    {"void Un::m()", "Un::m"},
    {"void en() [with E e = E::one]", "en<E::one>"},
    {"void func_arg(void (*)(int), int (&)[3], std::function<int(char)>)", "func_arg"},
    {"int attr()", "attr"},
    {"std::vector<std::pair<int, char> >& Co::vec()", "Co::vec"},
    {"void ellipsis(const char*, ...)", "ellipsis"},
    {"void noex()", "noex"},
    {"void Outer<T>::In<U>::deep(V) [with V = long int; U = char; T = int]", "Outer<int>::In<char>::deep<long>"},
    {"main()::<lambda(auto:3)> [with auto:3 = main()::<lambda(int)>]", "main::<lambda><lambda>"},
    {"main()::<lambda(int)>", "main::<lambda>"},
    {"main()::<lambda(std::vector<int>&)>", "main::<lambda>"},
    {"int main()", "main"},
    {"ns::Class<T>::~Class() [with T = int]", "ns::Class<int>::~Class"},
};

static const struct name_case clang_cases[] = {
    {"int plain(int)", "plain"},
    {"int c_linkage()", "c_linkage"},
    {"const char *pointer_result(const char *)", "pointer_result"},
    {"unsigned long long wide()", "wide"},
    {"ns::Class<int>::Class() [T = int]", "ns::Class<int>::Class"},
    {"int ns::Class<int>::method(int, const char *) const [T = int]", "ns::Class<int>::method"},
    {"static void ns::Class<int>::stat(T) [T = int]", "ns::Class<int>::stat"},
    {"U ns::Class<int>::inner(U) & [T = int, U = double]", "ns::Class<int>::inner<double>"},
    {"T *ns::Class<int>::operator int *() [T = int]", "ns::Class<int>::operator int*"},
    {"bool ns::Class<int>::operator<(const Class<T> &) const [T = int]", "ns::Class<int>::operator<"},
    {"T ns::Class<int>::operator()(T) [T = int]", "ns::Class<int>::operator()"},
    {"T ns::Class<int>::operator[](size_t) [T = int]", "ns::Class<int>::operator[]"},
    {"Class<T> *ns::Class<int>::operator->() [T = int]", "ns::Class<int>::operator->"},
    {"void ns::Array<int, 2>::fill() [T = int, N = 2]", "ns::Array<int, 2>::fill"},
    {"std::string ns::text(std::map<int, std::string>)", "ns::text"},
    {"std::ostream *ns::operator<<(std::ostream *, const Array<int, 2> &)", "ns::operator<<"},
    {"A::A()", "A::A"},
    {"A::A(int)", "A::A"},
    {"static void A::b()", "A::b"},
    {"const char *A::operator const char *() const", "A::operator const char*"},
    {"A::fp A::operator void (*)(int)()", "A::operator void (*)(int)"},
    {"A &A::operator=(const A &)", "A::operator="},
    {"A A::operator++(int)", "A::operator++"},
    {"virtual A::~A()", "A::~A"},
    {"bool A::operator<=(const A &) const &&", "A::operator<="},
    {"bool A::operator>(const A &) const volatile", "A::operator>"},
    {"bool A::operator>>(int)", "A::operator>>"},
    {"void A::operator,(int)", "A::operator,"},
    {"static void *A::operator new(size_t)", "A::operator new"},
    {"static void A::operator delete(void *)", "A::operator delete"},
    {"static void *A::operator new[](size_t)", "A::operator new[]"},
    {"auto A::member(int)::(anonymous class)::operator()(int) const", "A::member::<lambda>"},
    {"T A::operator double() const [T = double]", "A::operator double"},
    {"void (*get_handler(int))(double)", "get_handler"},
    {"int (&array_ref())[3]", "array_ref"},
    {"int (A::*member_pointer(char))(int) const", "member_pointer"},
    {"void (*(*twice())(int))(char)", "twice"},
    {"<dependent type> add(X, Y) [X = int, Y = double]", "add<int, double>"},
    {"<dependent type> deref(X *) [X = int]", "deref<int>"},
    {"int simple_decl()", "simple_decl"},
    {"auto deduced()", "deduced"},
    {"decltype(auto) deduced2()", "deduced2"},
    {"int (anonymous namespace)::hidden()", "(anonymous namespace)::hidden"},
    {"void (anonymous namespace)::H::m()", "(anonymous namespace)::H::m"},
    {"void (anonymous namespace)::deep::x()", "(anonymous namespace)::deep::x"},
    {"void ns2::(anonymous namespace)::y(int)", "ns2::(anonymous namespace)::y"},
    {"void ns2::z()", "ns2::z"},
    {"auto (anonymous class)::operator()(int) const", "<lambda>"},
    {"auto (anonymous class)::operator()(auto, auto &&...) const [x:auto = int, auto:2 = <int, double>]",
     "<lambda><int, int, double>"},
    {"auto outer()::(anonymous class)::operator()(int) const", "outer::<lambda>"},
    {"auto outer()::(anonymous class)::operator()()::(anonymous class)::operator()(double) const",
     "outer::<lambda>::<lambda>"},
    {"auto outer()::(anonymous class)::operator()()", "outer::<lambda>"},
    {"void outer()::Local::m()", "outer::Local::m"},
    {"void outer()::Local::Deep::d(int)", "outer::Local::Deep::d"},
    {"void outer()::(anonymous struct)::u()", "outer::(anonymous struct)::u"},
    {"auto tmpl_outer(int)::(anonymous class)::operator()(T) const", "tmpl_outer::<lambda>"},
    {"void tmpl_outer(int)::L::m(int)", "tmpl_outer::L::m"},
    {"auto fp_outer()::(anonymous class)::operator()(int) const", "fp_outer::<lambda>"},
    {"long double operator\"\"_km(long double)", "operator\"\"_km"},
    {"typename std::enable_if<(N > 3), T>::type cond(T) [N = 5UL, T = double]", "cond<5, double>"},
    {"void variadic(Ts...) [Ts = <int, const char *, char>]", "variadic<int, const char*, char>"},
    {"void Ch<'<'>::m() [C = '<']", "Ch<'<'>::m"},
    {"void Ch<')'>::m() [C = ')']", "Ch<')'>::m"},
    {"void Mp<&A::operator>>>::m() [F = &A::operator>>]", "Mp<&A::operator>>>::m"},
    {"void Fp<&outer>::m() [F = &outer]", "Fp<&outer>::m"},
    {"bool operator<(const T &, const ns::Array<T, 1> &) [T = int]", "operator< <int>"},
    {"void tt(C<int>) [C = std::vector]", "tt<std::vector>"},
    {"void Un::m()", "Un::m"},
    {"void en() [e = E::one]", "en<E::one>"},
    {"void func_arg(void (*)(int), int (&)[3], std::function<int (char)>)", "func_arg"},
    {"int attr()", "attr"},
    {"std::vector<std::pair<int, char>> &Co::vec()", "Co::vec"},
    {"void ellipsis(const char *, ...)", "ellipsis"},
    {"void noex()", "noex"},
    {"void Outer<int>::In<char>::deep(V) [T = int, U = char, V = long]", "Outer<int>::In<char>::deep<long>"},
    {"auto main()::(anonymous class)::operator()(auto) const [f:auto = (lambda at main.cpp:100:55)]",
     "main::<lambda><lambda>"},
    {"auto main()::(anonymous class)::operator()(int) const", "main::<lambda>"},
    {"auto main()::(anonymous class)::operator()(std::vector<int> &) const", "main::<lambda>"},
    {"int main()", "main"},
    {"ns::Class<int>::~Class() [T = int]", "ns::Class<int>::~Class"},
};

/* Forms of other versions, and text that is not a function. */
static const struct name_case other_cases[] = {
    {"std::string f[abi:cxx11](int)", "f"},
    {"auto outer()::(lambda)::operator()(int) const", "outer::<lambda>"},
    {"auto (lambda at main.cpp:3:9)::operator()() const", "<lambda>"},
    {"void (anonymous class)::call(int)", "(anonymous class)::call"},
    {"T &operator<< <char>(T &, char)", "operator<< <char>"},
    {"double operator\"\" _x(double)", "operator\"\"_x"},
    {"A::operator void (*)()() const", "A::operator void (*)()"},
    {"task A::operator co_await() &&", "A::operator co_await"},
    {"bool A::operator<=>(const A&) const = default", "A::operator<=>"},
    {"void A::operator()() const", "A::operator()"},
    {"int my_operator(int)", "my_operator"},
    {"int operators::run(int)", "operators::run"},
    {"decltype(f(1))::type g(int)", "g"},
    {"std::enable_if_t<(N < 3), int> h(int)", "h"},
    {"std::enable_if_t<(N < 3 && M > 2)> h2()", "h2"},
    {"A<(B->c)>::type h3(X<'\\''>)", "h3"},
    {"void \xc3\xa9t\xc3\xa9::f(int)", "\xc3\xa9t\xc3\xa9::f"},
    {"void A<(N > 3), int>::f(int)", "A<(N > 3), int>::f"},
    {"void F<auto () -> int>::call(int)", "F<auto () -> int>::call"},
    {"decltype (f(t)) g(T) [with T = int; decltype (f(t)) = int]", "g<int>"},
    {"top level", "top level"},
    {"main", "main"},
    {"", ""},
    {"()", "()"},
    {"((((", "(((("},
    {"operator", "operator"},
    {"void f(", "f"},
    {"void f<(", "void f<("},
};

static void assert_names(const struct name_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[256];
        const size_t length = hp_cxx_short_name(cases[i].pretty, name, sizeof name);
        assert_string_equal(name, cases[i].name);
        assert_int_equal(length, strlen(cases[i].name));
    }
}

/* As c++filt has what both compilers made of the same source. */
static const struct name_case demangled_cases[] = {
    {"(anonymous namespace)::H::m()", "(anonymous namespace)::H::m"},
    {"A::operator char const*()", "A::operator char const*"},
    {"A::operator new[](unsigned long)", "A::operator new[]"},
    {"A::operator,(int)", "A::operator,"},
    {"A::operator=(A&&)", "A::operator="},
    {"A::operator>>(int)", "A::operator>>"},
    {"A::~A()", "A::~A"},
    {"Ch<(char)41>::m()", "Ch<(char)41>::m"},
    {"auto outer()::$_0::operator()<int>(int) const", "outer::<lambda><int>"},
    {"auto outer()::{lambda(auto:1)#2}::operator()<int>(int) const", "outer::<lambda><int>"},
    {"decltype ({parm#1}+{parm#2}) add<int, double>(int, double)", "add<int, double>"},
    {"double ns::Class<int>::inner<double>(double) &", "ns::Class<int>::inner<double>"},
    {"func_arg(void (*)(int), int (&) [3], std::function<int (char)>)", "func_arg"},
    {"ns::Class<int>::Class()", "ns::Class<int>::Class"},
    {"ns::Class<int>::method(int, char const*) const", "ns::Class<int>::method"},
    {"ns::Class<int>::operator()(int)", "ns::Class<int>::operator()"},
    {"ns::Class<int>::operator<(ns::Class<int> const&) const", "ns::Class<int>::operator<"},
    {"operator\"\" _km(long double)", "operator\"\"_km"},
    {"operator<(Pair const&, Pair const&)", "operator<"},
    {"outer()::$_1::operator()(int) const", "outer::<lambda>"},
    {"outer()::$_2::__invoke(int)", "outer::$_2::__invoke"},
    {"outer()::$_3::u()", "outer::$_3::u"},
    {"outer()::Local::m()", "outer::Local::m"},
    {"outer()::{lambda(int)#1}::operator()(int) const", "outer::<lambda>"},
    {"outer()::{lambda(int)#1}::operator()(int) const::{lambda(double)#1}::operator()(double) const",
     "outer::<lambda>::<lambda>"},
    {"outer()::{lambda(int)#3}::_FUN(int)", "outer::<lambda>::_FUN"},
    {"outer()::{unnamed type#1}::u()", "outer::{unnamed type#1}::u"},
    {"tagged[abi:v1]()", "tagged"},
    {"tmpl_outer<int>(int)::{lambda(int)#1}::operator()(int) const", "tmpl_outer<int>::<lambda>"},
    {"void variadic<int, char const*, char>(int, char const*, char)", "variadic<int, char const*, char>"},
};

static void names_of_gcc(void **state)
{
    (void)state;
    assert_names(gcc_cases, COUNT(gcc_cases));
}

static void names_of_clang(void **state)
{
    (void)state;
    assert_names(clang_cases, COUNT(clang_cases));
}

static void names_of_demanglers(void **state)
{
    (void)state;
    assert_names(demangled_cases, COUNT(demangled_cases));
}

static void other_names(void **state)
{
    (void)state;
    assert_names(other_cases, COUNT(other_cases));
}

/* Types as people write them. */
static const struct name_case tidy_cases[] = {
    {"T Box<T>::get() const [with T = std::map<std::__cxx11::basic_string<char>, std::vector<int> >]",
     "Box<std::map<std::string, std::vector<int>>>::get"},
    {"std::vector<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
     "std::allocator<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > > >::end()",
     "std::vector<std::string>::end"},
    {"T Box<T>::get() [with T = std::vector<std::__cxx11::basic_string<char> >]",
     "Box<std::vector<std::string>>::get"},
    {"std::map<int, char, std::less<int>, std::allocator<std::pair<int const, char> > >::map()",
     "std::map<int, char>::map"},
    {"void Mine<int, std::less<int> >::f()", "Mine<int, std::less<int>>::f"},
    {"std::unique_ptr<A, std::default_delete<A> >::reset(A*)", "std::unique_ptr<A>::reset"},
    {"std::vector<int, Pool<int> >::end()", "std::vector<int, Pool<int>>::end"},
    {"std::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >::size() const",
     "std::basic_string<wchar_t>::size"},
    {"std::basic_ostream<char, std::char_traits<char> >::flush()", "std::ostream::flush"},
    {"std::__1::vector<int, std::__1::allocator<int>>::size() const", "std::vector<int>::size"},
    /* Another allocator makes another type. */
    {"Box<std::basic_string<char, std::char_traits<char>, my::pool<char> > >::get()",
     "Box<std::basic_string<char, my::pool<char>>>::get"},
    {"Arr<int, 3ul>::size() const", "Arr<int, 3>::size"},
    {"f<0x1ful>(int)", "f<0x1ful>"},
    {"T sq(T) [with T = long long unsigned int]", "sq<unsigned long long>"},
    {"T sq(T) [with T = short unsigned int]", "sq<unsigned short>"},
    {"void f(T, U) [with T = int*; U = const char*]", "f<int*, const char*>"},
    {"void f(T, size_t) [with T = int; size_t = long unsigned int]", "f<int>"},
    {"void f(T, std::string) [with T = int; std::string = std::__cxx11::basic_string<char>]", "f<int>"},
    {"void Vec<T, A>::push(T) [with T = int; A = std::allocator<int>]", "Vec<int>::push"},
    {"void Vec<int>::push(T) [T = int, A = std::allocator<int>]", "Vec<int>::push"},
    {"void Tup<int>::many(U...) [Ts = <int>, U = <int, double>]", "Tup<int>::many<int, double>"},
    {"void Tup<>::go() [Ts = <>]", "Tup<>::go"},
    {"void each(F) [with F = main()::<lambda(int)>]", "each<lambda>"},
};

static void types_are_simplified(void **state)
{
    (void)state;
    assert_names(tidy_cases, COUNT(tidy_cases));
}

static const struct name_case signature_cases[] = {
    {"void over(int)", "over(int)"},
    {"void over(const char *, unsigned long)", "over(const char*, unsigned long)"},
    {"void over(const char*, long unsigned int)", "over(const char*, unsigned long)"},
    {"T Box<T>::get() const [with T = double]", "Box<double>::get() const"},
    {"T Box<double>::get() const [T = double]", "Box<double>::get() const"},
    {"char Box<int>::as<char>() const", "Box<int>::as<char>() const"},
    {"U Box<T>::as(U) && [with U = char; T = int]", "Box<int>::as<char>(char) &&"},
    {"decltype ((t + 1)) fwd(T&&) [with T = int&; decltype ((t + 1)) = int]", "fwd<int&>(int&)"},
    {"<dependent type> fwd(T &&) [T = int &]", "fwd<int&>(int&)"},
    {"over(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)",
     "over(std::string const&)"},
    {"main", ""},
    {"main.(*Server).Serve", ""}, /* Go */
    {"<alloc::vec::Vec<T> as core::ops::Drop>::drop", ""},
    {"outer()::<lambda(int)>", ""},
};

static void signatures_have_the_types_of_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(signature_cases); i++) {
        char name[256];
        const size_t length = hp_cxx_signature(signature_cases[i].pretty, name, sizeof name);
        assert_string_equal(name, signature_cases[i].name);
        assert_int_equal(length, strlen(name));
    }
}

static void bare_names_have_no_arguments(void **state)
{
    (void)state;
    static const struct name_case cases[] = {
        {"sq<int>", "sq"},
        {"Box<std::vector<int>>::as<char>", "Box::as"},
        {"operator< <int>", "operator<"},
        {"A::operator<<", "A::operator<<"},
        {"none<int>::<lambda><int>", "none::<lambda>"},
        {"plain", "plain"},
        {"A<int>::operator->", "A::operator->"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char name[256];
        const size_t length = hp_cxx_bare_name(cases[i].pretty, name, sizeof name);
        assert_string_equal(name, cases[i].name);
        assert_int_equal(length, strlen(name));
    }
}

static void long_names_are_cut(void **state)
{
    (void)state;
    static const char pretty[] = "int namespace_name::function_name(int)";
    static const char name[] = "namespace_name::function_name";
    for (size_t size = 1; size <= sizeof name + 1; size++) {
        char *out = malloc(size); /* the sanitizer knows where it ends */
        assert_non_null(out);
        const size_t length = hp_cxx_short_name(pretty, out, size);
        assert_int_equal(length, size < sizeof name ? size - 1 : sizeof name - 1);
        assert_int_equal(strlen(out), length);
        assert_memory_equal(out, name, length);
        free(out);
    }
    char untouched = 'x';
    assert_int_equal(hp_cxx_short_name(pretty, &untouched, 0), 0);
    assert_int_equal(untouched, 'x');
}

static void too_many_brackets_are_survived(void **state)
{
    (void)state;
    char pretty[512] = "void f";
    char name[512];
    memset(pretty + 6, '<', 300);
    strcat(pretty, "(int)");
    hp_cxx_short_name(pretty, name, sizeof name);
    assert_string_equal(name, pretty);
}

/* Any text gives some name, within bounds and in the end; the sanitizer watches both ends of both buffers. */
static void random_text_is_survived(void **state)
{
    (void)state;
    static const char *const pieces[] = {"operator",    "(",           ")",      "<",        ">",       "[", "]",
                                         "{",           "}",           "::",     " ",        "*",       "&", "'",
                                         "\\",          "->",          "f",      "decltype", "<lambda", ",", "\"\"",
                                         "(anonymous ", "{anonymous}", " const", "~",        " new",    "()"};
    uint64_t random = 88172645463325252u;
    for (size_t i = 0; i < 50000; i++) {
        char text[256] = "";
        char out[32];
        for (size_t j = 0; j < i % 16; j++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            strcat(text, pieces[(random >> 32) % COUNT(pieces)]);
        }
        char *pretty = malloc(strlen(text) + 1);
        assert_non_null(pretty);
        strcpy(pretty, text);
        const size_t length = hp_cxx_short_name(pretty, out, sizeof out);
        assert_true(length < sizeof out && out[length] == '\0');
        assert_true(length > 0 || text[0] == '\0');
        free(pretty);
    }
}

/* As g++ has them; what takes more than reading names is given up. */
static void qualified_names_of_the_linker(void **state)
{
    (void)state;
    static const struct name_case cases[] = {
        {"_Z3fooi", "foo"},
        {"_ZL6hiddenv", "hidden"},
        {"_ZN3foo3barEv", "foo::bar"},
        {"_ZNK3foo3barEv", "foo::bar"},
        {"_ZNKR3foo3barEv", "foo::bar"},
        {"_ZN3foo3BarC1Ei", "foo::Bar::Bar"},
        {"_ZN3foo3BarC2Ei", "foo::Bar::Bar"},
        {"_ZN3foo3BarD0Ev", "foo::Bar::~Bar"},
        {"_ZN3BarD2Ev", "Bar::~Bar"},
        {"_ZN12_GLOBAL__N_16hiddenEi", "(anonymous namespace)::hidden"},
        {"_ZN3foo12_GLOBAL__N_16hiddenEi", "foo::(anonymous namespace)::hidden"},
        {"_ZSt9terminatev", "std::terminate"},
        {"_ZNSt6thread4joinEv", "std::thread::join"},
        {"_ZN3fooL6hiddenEv", "foo::hidden"},
        {"_ZN3foo4textB5cxx11Ev", "foo::text"},
        {"_Z4textB5cxx11v", "text"},
        {"_Z3fooi.constprop.0", "foo"},
        {"_ZN3foo3barEv.part.0.cold", "foo::bar"},
        /* given up */
        {"foo", ""},
        {"", ""},
        {"_", ""},
        {"_Z", ""},
        {"_Zfoo", ""},
        {"_Z3fo", ""},
        {"_Z0", ""},
        {"_Z99999999999999999999foo", ""},
        {"_ZN3foo", ""},
        {"_ZN3foo3bar", ""},
        {"_ZNE", ""},
        {"_ZNC1Ev", ""},
        {"_Z3fooIiEvT_", ""},
        {"_ZN3fooIiE3barEv", ""},
        {"_ZNSaIcE3fooEv", ""},
        {"_ZNSs3fooEv", ""},
        {"_ZplRK3fooS1_", ""},
        {"_ZN3fooplERKS_", ""},
        {"_ZZ4mainENKUlvE_clEv", ""},
        {"_ZTV3foo", ""},
        {"_ZN3fooBEv", ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char out[64];
        char *mangled = malloc(strlen(cases[i].pretty) + 1);
        assert_non_null(mangled);
        strcpy(mangled, cases[i].pretty);
        const size_t length = hp_cxx_qualified_name(mangled, out, sizeof out);
        assert_string_equal(out, cases[i].name);
        assert_int_equal(length, strlen(out));
        free(mangled);
    }
    char small[6];
    assert_int_equal(hp_cxx_qualified_name("_ZN3foo3barEv", small, sizeof small), 5);
    assert_string_equal(small, "foo::");
}

static void random_mangled_names_are_survived(void **state)
{
    (void)state;
    static const char letters[] = "NKVrROLSt3foo1x0C1D2EBI_Z9";
    uint64_t random = 88172645463325252u;
    for (size_t i = 0; i < 50000; i++) {
        char out[16];
        const size_t size = 3 + i % 24;
        char *mangled = calloc(1, size + 1);
        assert_non_null(mangled);
        memcpy(mangled, "_Z", 2);
        for (size_t j = 2; j < size; j++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            mangled[j] = letters[(random >> 32) % (sizeof letters - 1)];
        }
        const size_t length = hp_cxx_qualified_name(mangled, out, sizeof out);
        assert_true(length < sizeof out && out[length] == '\0');
        free(mangled);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_gcc),
        cmocka_unit_test(names_of_clang),
        cmocka_unit_test(names_of_demanglers),
        cmocka_unit_test(types_are_simplified),
        cmocka_unit_test(signatures_have_the_types_of_parameters),
        cmocka_unit_test(bare_names_have_no_arguments),
        cmocka_unit_test(other_names),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(too_many_brackets_are_survived),
        cmocka_unit_test(random_text_is_survived),
        cmocka_unit_test(qualified_names_of_the_linker),
        cmocka_unit_test(random_mangled_names_are_survived),
    };
    return cmocka_run_group_tests_name("cxxname", tests, NULL, NULL);
}
