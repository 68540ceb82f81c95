/*
 * C++20 coroutines as tasks: make hotpath::traced a base of the promise type and call it in three functions.
 *
 *   struct promise_type : hotpath::traced {
 *       promise_type(hotpath::source_location at = hotpath::source_location::current()) : traced(at) {}
 *       auto initial_suspend() { return begins(std::suspend_always{}); }
 *       auto final_suspend() noexcept { return ends(std::suspend_always{}); }
 *       ...
 *
 * Each coroutine of that type is a task, named after its function or by `traced("label")`. It is created by the
 * call, polled from each resume to the next co_await that suspends, ready at its end, and cancelled if destroyed
 * earlier. co_await goes through traced::await_transform; a promise with its own await_transform or yield_value
 * returns `rests(awaiter)` there. hotpath::source_location is std::source_location, or stands for it where the
 * compiler has none (clang before 16). It does not matter which thread resumes a coroutine, or from where. Without
 * -DHOTPATH, awaiters are passed through and traced is empty.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOTPATH_CORO_HPP
#define HOTPATH_CORO_HPP

#include <hotpath.h>

#if !defined(__cpp_impl_coroutine)
#error "hotpath/coro.hpp needs a compiler with C++20 coroutines, and -std=c++20"
#endif

#include <coroutine>
#include <type_traits>
#include <utility>
#include <version>

#if defined(__cpp_lib_source_location)
#include <source_location>
#endif

namespace hotpath
{

#if defined(__cpp_lib_source_location)
using std::source_location;
#else
class source_location
{
  public:
    static constexpr source_location current(const char *file = __builtin_FILE(),
                                             const char *function = __builtin_FUNCTION(),
                                             unsigned line = __builtin_LINE()) noexcept
    {
        source_location at;
        at.file_ = file;
        at.function_ = function;
        at.line_ = line;
        return at;
    }
    constexpr const char *file_name() const noexcept { return file_; }
    constexpr const char *function_name() const noexcept { return function_; }
    constexpr unsigned line() const noexcept { return line_; }

  private:
    const char *file_ = "", *function_ = "";
    unsigned line_ = 0;
};
#endif

#if HOTPATH_ON_

/* Sites of coroutines, by their functions. */
class traced_sites
{
  public:
    static struct hotpath_site *find(const char *name, const source_location &at)
    {
        static struct slot slots[count];
        const uint64_t hash = uint64_t(reinterpret_cast<uintptr_t>(name)) * UINT64_C(0x9e3779b97f4a7c15);
        for (unsigned step = 0; step < count; step++) {
            struct slot *slot = &slots[((hash >> 40) + step) % count];
            const char *none = nullptr;
            if (__atomic_compare_exchange_n(&slot->name, &none, filling(), false, __ATOMIC_ACQUIRE,
                                            __ATOMIC_ACQUIRE))
                return fill(slot, name, at);
            while (none == filling())
                none = __atomic_load_n(&slot->name, __ATOMIC_ACQUIRE); /* pairs with fill */
            if (none == name)
                return &slot->site;
        }
        return nullptr;
    }

  private:
    static const unsigned count = 1024;

    struct slot {
        const char *name; /* null: free; or filling() */
        struct hotpath_site site;
        char text[128]; /* the name in reports */
    };

    /*
     * "net::task<int> net::fetch(int) [with ...]" becomes net::fetch: the text between the last blank outside <>
     * and the first bracket.
     */
    static void shorten(const char *name, char *ret_text, size_t size)
    {
        size_t length = 0;
        int depth = 0;
        for (const char *at = name; *at != 0 && !(*at == '(' && depth == 0); at++) {
            depth += (*at == '<') - (*at == '>');
            if (*at == ' ' && depth == 0)
                length = 0;
            else if (length + 1 < size)
                ret_text[length++] = *at;
        }
        ret_text[length] = 0;
        if (__builtin_strstr(name, "<lambda") != nullptr && length + 11 < size)
            __builtin_strcpy(ret_text + length, "::<lambda>");
    }

    static const char *filling() { return ""; }

    static struct hotpath_site *fill(struct slot *slot, const char *name, const source_location &at)
    {
        if (name == at.function_name())
            shorten(name, slot->text, sizeof slot->text);
        slot->site = {HOTPATH_ID_NEW_,
                      HOTPATH_KIND_TASK_ | HOTPATH_KIND_CXX_,
                      at.line(),
                      0,
                      slot->text[0] != 0 ? slot->text : name,
                      at.function_name(),
                      at.file_name()};
        __atomic_store_n(&slot->name, name, __ATOMIC_RELEASE);
        return &slot->site;
    }
};

class traced
{
  public:
    explicit traced(source_location at) { create(at.function_name(), at); }
    explicit traced(const char *label, source_location at = source_location::current()) { create(label, at); }
    traced(const traced &) = delete;
    traced &operator=(const traced &) = delete;

    ~traced()
    {
        rest();
        if (task_.id_ != 0)
            hotpath_v1_task_end(&task_, 1);
    }

    /* For initial_suspend: wraps its awaiter; the coroutine is polled from the first resume on. */
    template <class Awaiter> auto begins(Awaiter awaiter)
    {
        return around<Awaiter>(static_cast<Awaiter &&>(awaiter), this, true);
    }

    /* For final_suspend. */
    template <class Awaiter> Awaiter ends(Awaiter awaiter) noexcept
    {
        rest();
        hotpath_v1_task_end(&task_, 0);
        task_.id_ = 0;
        return awaiter;
    }

    /*
     * For other awaiters returned by functions of the promise. Temporaries are moved, because these functions
     * return before the awaiter is used.
     */
    template <class Awaitable> auto rests(Awaitable &&awaitable)
    {
        using awaiter = decltype(awaiter_of(static_cast<Awaitable &&>(awaitable)));
        using kept =
            std::conditional_t<std::is_rvalue_reference_v<awaiter>, std::remove_reference_t<awaiter>, awaiter>;
        return around<kept>(static_cast<Awaitable &&>(awaitable), this, false);
    }

    /* The awaited object outlives the wait. */
    template <class Awaitable> auto await_transform(Awaitable &&awaitable)
    {
        using awaiter = decltype(awaiter_of(static_cast<Awaitable &&>(awaitable)));
        return around<awaiter>(static_cast<Awaitable &&>(awaitable), this, false);
    }

  private:
    hotpath_task task_;
    struct hotpath_poll_ poll_ = {};

    void create(const char *name, const source_location &at)
    {
        struct hotpath_site *site = traced_sites::find(name, at);
        task_.id_ = 0;
        if (site != nullptr)
            hotpath_task_(&task_, site);
    }

    void run() { hotpath_begin_poll_(&poll_, &task_, 0); }

    void rest()
    {
        hotpath_end_poll_(&poll_);
        poll_.id = 0;
    }

    /*
     * The awaiter that co_await would use: a copy if it was made for this, else a reference to the awaited object.
     */
    template <class Awaitable> static decltype(auto) awaiter_of(Awaitable &&awaitable)
    {
        if constexpr (requires { static_cast<Awaitable &&>(awaitable).operator co_await(); })
            return static_cast<Awaitable &&>(awaitable).operator co_await();
        else if constexpr (requires { operator co_await(static_cast<Awaitable &&>(awaitable)); })
            return operator co_await(static_cast<Awaitable &&>(awaitable));
        else
            return static_cast<Awaitable &&>(awaitable);
    }

    template <class Awaiter> class around
    {
      public:
        template <class Awaitable> around(Awaitable &&awaitable, traced *self, bool is_resting)
            : awaiter_(awaiter_of(static_cast<Awaitable &&>(awaitable))), self_(self), is_resting_(is_resting)
        {
        }

        bool await_ready() { return awaiter_.await_ready(); }

        /*
         * After the end of the poll another thread may resume and finish the coroutine, so nothing of it is
         * touched.
         */
        template <class Promise> auto await_suspend(std::coroutine_handle<Promise> handle)
        {
            traced *const self = self_;
            if (!is_resting_)
                self->rest();
            is_resting_ = true;
            try {
                return awaiter_.await_suspend(handle);
            } catch (...) {
                self->run();
                throw;
            }
        }

        decltype(auto) await_resume()
        {
            if (is_resting_)
                self_->run();
            return awaiter_.await_resume();
        }

      private:
        Awaiter awaiter_;
        traced *self_;
        bool is_resting_;
    };
};

#else

class traced
{
  public:
    explicit traced(source_location) {}
    explicit traced(const char *, source_location = source_location::current()) {}

    template <class Awaiter> Awaiter begins(Awaiter awaiter) { return awaiter; }
    template <class Awaiter> Awaiter ends(Awaiter awaiter) noexcept { return awaiter; }
    template <class Awaitable> Awaitable &&rests(Awaitable &&awaitable)
    {
        return static_cast<Awaitable &&>(awaitable);
    }
};

#endif

} // namespace hotpath

#endif
