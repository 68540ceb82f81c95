/* Loops in C++: the macros compile, and count. SPDX-License-Identifier: MIT */
#include <hotpath.h>

template <typename T> static T wait_for(T value)
{
    HOTPATH_LOOP_WAIT("typed");
    return value;
}

int main()
{
    HOTPATH_MAIN();
    int sum = 0;
    for (int at = 0; at < 5; at++)
        sum += wait_for(at);
    HOTPATH_LOOP_END("typed");
    return sum == 10 ? 0 : 1;
}
