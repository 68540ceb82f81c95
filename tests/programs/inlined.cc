/*
 * Inlined functions, for tests/unit/test_symbolizer.c, which compiles this in many ways. Labels mark the addresses
 * to look up; marks at the ends of lines give the expected result. SPDX-License-Identifier: MIT
 */
#define PROBE(name) __asm__ volatile(".globl " name "\n" name ":\n nop")
#define INLINED inline __attribute__((always_inline))

volatile int sink;

namespace shapes
{
INLINED int innermost(int x)
{
    PROBE("probe_inner"); // line: innermost
    return x * 3;
}

template <class T> struct box {
    INLINED int middle(T x)
    {
        int y = innermost(x); // line: middle
        return y + sink;
    }
};

__attribute__((noinline)) int outer(int x)
{
    box<int> b;
    int y = b.middle(x); // line: outer
    sink = y;
    PROBE("probe_outer"); // line: behind
    return y;
}
} // namespace shapes

extern "C" __attribute__((noinline, visibility("default"))) int entrance(int x)
{
    PROBE("probe_entrance"); // line: entrance
    return shapes::outer(x) + 1;
}
