/* Every adapter whose library is there, and the macros that convert, for a C++ program with many warnings. */
#include <hotpath.h>

#if __has_include(<uv.h>)
#include <hotpath/uv.h>
#endif
#if __has_include(<event2/event.h>)
#include <hotpath/event2.h>
#endif
#if __has_include(<gio/gio.h>)
#include <hotpath/glib.h>
#endif
#include <hotpath/pool.h>
#if __has_include(<boost/asio.hpp>) && !defined(WITHOUT_ASIO)
#define BOOST_ASIO_CUSTOM_HANDLER_TRACKING "hotpath/asio.hpp"
#include <hotpath/asio.hpp> /* not first by Boost: warnings of what system headers include are not shown */
#include <utility>         /* which Boost 1.74 does not include, and needs */

#include <boost/asio.hpp>
#endif
#if defined(__cpp_impl_coroutine)
#include <hotpath/coro.hpp>

struct coroutine {
    struct promise_type : hotpath::traced {
        promise_type(hotpath::source_location at = hotpath::source_location::current()) : traced(at) {}
        coroutine get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        auto initial_suspend() { return begins(std::suspend_always{}); }
        auto final_suspend() noexcept { return ends(std::suspend_always{}); }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};

coroutine wait(int times);
coroutine wait(int times)
{
    for (int at = 0; at < times; at++)
        co_await std::suspend_always{};
}
#endif

int use(int length);
int use(int length)
{
    HOTPATH_MEASURE();
    HOTPATH_EXPECT_ALLOCS(length);
    HOTPATH_CHANNEL_SENT("queue", &length, 1, 4, length, 7);
    HOTPATH_CHANNEL_RECEIVED("queue", &length, 1, 4, length);
    HOTPATH_CHANNEL_CAPACITY("queue", &length, length);
    HOTPATH_CHANNEL_DROPPED("queue", &length, length);
    HOTPATH_STREAM_ITEM("stream", &length, 1, length);
    HOTPATH_VALUE("value", length);
    HOTPATH_JOB(&length, "job");
    return length;
}
