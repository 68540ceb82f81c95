/*
 * Templates and overloads, for tests/e2e/test_cxx_names.py, which compiles it in many ways: with macros
 * (-DHOTPATH), with every function measured by the compiler, and without a word of hotpath, to be found by samples.
 * Each function works for some milliseconds of the thread's own time.
 */
#include <hotpath.h>

#include <cstddef>
#include <string>
#include <vector>

#include "computing.h"

#ifndef WORK_MS
#define WORK_MS 1
#endif

static inline __attribute__((always_inline, no_instrument_function)) void work()
{
    const uint64_t until = used_ns() + WORK_MS * UINT64_C(1000000);
    while (used_ns() < until)
        compute(1000);
}

template <typename T> APART T square(T x)
{
    HOTPATH_MEASURE();
    work();
    return x * x;
}

template <typename T, std::size_t N> struct Array {
    T items[N];
    APART std::size_t size() const
    {
        HOTPATH_MEASURE();
        work();
        return N;
    }
    template <typename U> APART U sum(U start)
    {
        HOTPATH_MEASURE();
        work();
        return start;
    }
};

template <typename T> struct Box {
    APART int get() const
    {
        HOTPATH_MEASURE();
        work();
        return 1;
    }
};

template <typename T> struct Box<T *> {
    APART int get() const
    {
        HOTPATH_MEASURE();
        work();
        return 2;
    }
};

namespace ns
{
APART void over(int)
{
    HOTPATH_MEASURE();
    work();
}

APART void over(unsigned long)
{
    HOTPATH_MEASURE();
    work();
}
} // namespace ns

template <typename... Types> APART void many(Types...)
{
    HOTPATH_MEASURE();
    work();
}

APART void plain()
{
    HOTPATH_MEASURE();
    work();
}

int main()
{
    HOTPATH_MAIN();
    square(1);
    square(1.5);
    square(2UL);
    Array<int, 3> array = {};
    array.size();
    array.sum(1.5F);
    Box<std::vector<std::string>>().get();
    Box<int *>().get();
    ns::over(1);
    ns::over(1UL);
    many(1, 'x');
    plain();
    return 0;
}
