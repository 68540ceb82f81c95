/*
 * C++20 coroutines and hotpath/coro.hpp. The schedule is known; the program behaves and prints the same without
 * hotpath.
 */
#include <hotpath/coro.hpp>

#include <chrono>
#include <cstdio>
#include <deque>
#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>

namespace net
{

void spin(int ms)
{
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    while (std::chrono::steady_clock::now() < end)
        ;
}

/* Begins when it is awaited, and continues its awaiter. */
template <class Result> struct task {
    struct promise_type : hotpath::traced {
        promise_type(hotpath::source_location at = hotpath::source_location::current()) : traced(at) {}
        task get_return_object() { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
        auto initial_suspend() { return begins(std::suspend_always{}); }
        struct go_back {
            bool await_ready() noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> done) noexcept
            {
                return done.promise().awaits ? done.promise().awaits : std::noop_coroutine();
            }
            void await_resume() noexcept {}
        };
        auto final_suspend() noexcept { return ends(go_back{}); }
        void return_value(Result result) { value = result; }
        void unhandled_exception() { error = std::current_exception(); }

        std::coroutine_handle<> awaits;
        std::exception_ptr error;
        Result value{};
    };

    explicit task(std::coroutine_handle<promise_type> of) : handle(of) {}
    task(task &&other) : handle(std::exchange(other.handle, nullptr)) {}
    ~task()
    {
        if (handle)
            handle.destroy();
    }

    auto operator co_await()
    {
        struct awaiter {
            std::coroutine_handle<promise_type> handle;
            bool await_ready() { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<> who)
            {
                handle.promise().awaits = who;
                return handle;
            }
            Result await_resume()
            {
                if (handle.promise().error)
                    std::rethrow_exception(handle.promise().error);
                return handle.promise().value;
            }
        };
        return awaiter{handle};
    }

    std::coroutine_handle<promise_type> handle;
};

std::deque<std::coroutine_handle<>> queue;

/* Comes back in the next round. */
struct next_round {
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> handle) { queue.push_back(handle); }
    void await_resume() {}
};

/* Is never waited for. */
struct at_once {
    bool await_ready() { return true; }
    void await_suspend(std::coroutine_handle<>) {}
    int await_resume() { return 1; }
};

task<int> read_number(int number)
{
    spin(2);
    co_await next_round{};
    spin(2);
    if (number < 0)
        throw std::runtime_error("no number");
    co_return number;
}

template <class Number> struct adder {
    task<Number> add(Number a, Number b)
    {
        Number sum = co_await read_number(a);
        sum += co_await read_number(b) + co_await at_once{};
        co_return sum;
    }
};

task<int> fails()
{
    try {
        co_return co_await read_number(-1);
    } catch (const std::runtime_error &error) {
        std::printf("%s\n", error.what());
        co_return 0;
    }
}

void run_queue(bool on_threads)
{
    while (!queue.empty()) {
        const std::coroutine_handle<> handle = queue.front();
        queue.pop_front();
        if (on_threads)
            std::thread([handle] { handle.resume(); }).join();
        else
            handle.resume();
    }
}

} // namespace net

/* An eager one, which runs until it waits for the first time, and frees itself. */
struct detached {
    struct promise_type : hotpath::traced {
        promise_type() : traced("detached") {}
        detached get_return_object() { return {}; }
        auto initial_suspend() { return begins(std::suspend_never{}); }
        auto final_suspend() noexcept { return ends(std::suspend_never{}); }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

/* It yields, and is resumed for each. */
struct numbers {
    struct promise_type : hotpath::traced {
        promise_type(hotpath::source_location at = hotpath::source_location::current()) : traced(at) {}
        numbers get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        auto initial_suspend() { return begins(std::suspend_always{}); }
        auto final_suspend() noexcept { return ends(std::suspend_always{}); }
        auto yield_value(int number)
        {
            value = number;
            return rests(std::suspend_always{});
        }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }

        int value = 0;
    };

    std::coroutine_handle<promise_type> handle;
};

static numbers count_to(int most)
{
    for (int number = 1; number <= most; number++)
        co_yield number;
}

static void print_numbers()
{
    const numbers all = count_to(4);
    for (all.handle.resume(); !all.handle.done(); all.handle.resume())
        std::printf("%d\n", all.handle.promise().value);
    all.handle.destroy();
}

static detached print_sum(int number)
{
    net::adder<int> adder;
    std::printf("%d\n", co_await adder.add(number, 10));
}

int main()
{
    HOTPATH_MAIN();
    {
        net::task<int> failing = net::fails();
        failing.handle.resume();
        net::run_queue(false);
    }
    {
        net::task<int> never = net::read_number(5); /* destroyed before it has begun, ... */
        net::task<int> half = net::read_number(6);  /* ... and in the middle */
        half.handle.resume();
        net::queue.clear();
    }
    print_numbers();
    for (int i = 0; i < 3; i++)
        print_sum(i);
    net::run_queue(true);
    return 0;
}
