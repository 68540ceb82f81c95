/* Channels in C++: the macros compile, and count. SPDX-License-Identifier: MIT */
#include <hotpath.h>

#include <cstddef>
#include <queue>

template <typename T> static void pass(std::queue<T> &queue, T item)
{
    HOTPATH_CHANNEL_SENT("typed", &queue, 1, sizeof item, queue.size() + 1);
    queue.push(item);
    {
        HOTPATH_CHANNEL_EMPTY("typed", &queue);
    }
    queue.pop();
    HOTPATH_CHANNEL_RECEIVED("typed", &queue, 1, sizeof item, queue.size());
}

int main()
{
    HOTPATH_MAIN();
    std::queue<int> numbers;
    std::queue<double> reals;
    for (int at = 0; at < 3; at++)
        pass(numbers, at);
    pass(reals, 2.5);
    HOTPATH_CHANNEL_END("typed", &reals);
    HOTPATH_CHANNEL_CAPACITY("typed", &numbers, 10);
    HOTPATH_CHANNEL_TEXT("typed", &numbers, "%d numbers", 3);
    for (int at = 0; at < 5; at++) {
        HOTPATH_STREAM_NEXT("counted", &numbers);
        HOTPATH_STREAM_ITEM("counted", &numbers, 1, sizeof at);
        HOTPATH_STREAM_TEXT("counted", &numbers, "number %d", static_cast<int>(at));
    }
    HOTPATH_STREAM_END("counted", &numbers);
    return 0;
}
