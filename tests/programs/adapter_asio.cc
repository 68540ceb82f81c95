/*
 * Boost.Asio's operations as tasks: five timers that continue a task, one timer alone, one that is cancelled by
 * another one, one that is destroyed, three posts. SPDX-License-Identifier: MIT
 */
#include <hotpath.h>

#include <boost/asio.hpp>
#include <cstdio>
namespace asio = boost::asio;
static int left = 5;
static void on_timer(asio::steady_timer &timer, hotpath_task *task)
{
    if (--left == 0) {
        HOTPATH_TASK_RESULT(task, "%d left", left);
        return;
    }
    timer.expires_after(std::chrono::milliseconds(5));
    timer.async_wait([&timer, task](boost::system::error_code) { on_timer(timer, task); });
}
static void run()
{
    asio::io_context io;
    asio::steady_timer timer(io, std::chrono::milliseconds(5)), never(io, std::chrono::hours(1));
    hotpath_task task;
    HOTPATH_TASK(&task, "ticks");
    {
        HOTPATH_TASK_POLL(&task);
        timer.async_wait([&](boost::system::error_code) { on_timer(timer, &task); });
    }
    asio::steady_timer alone(io, std::chrono::milliseconds(7));
    alone.async_wait([](boost::system::error_code) {});
    for (int at = 0; at < 3; at++)
        asio::post(io, [] {});
    never.async_wait([](boost::system::error_code error) { std::printf("%s\n", error.message().c_str()); });
    asio::steady_timer stop(io, std::chrono::milliseconds(60));
    stop.async_wait([&](boost::system::error_code) { never.cancel(); });
    io.run();
    asio::steady_timer late(io, std::chrono::hours(1));
    late.async_wait([](boost::system::error_code) {}); /* destroyed with its context */
}

int main()
{
    HOTPATH_MAIN();
    run();
    return 0;
}
