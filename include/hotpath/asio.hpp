/*
 * Boost.Asio's asynchronous operations as tasks. Nothing is included; compile with
 *
 *   -DHOTPATH -DBOOST_ASIO_CUSTOM_HANDLER_TRACKING='"hotpath/asio.hpp"'
 *
 * Each operation is a task named after what began it, such as "socket.async_receive": from that call until its
 * handler returns. The handler is its poll; or, if a task ran when the operation began, a poll of that task, which
 * waits for the operation until then. Operations that are destroyed before they complete are cancelled. Without
 * -DHOTPATH nothing is recorded.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOTPATH_ASIO_HPP
#define HOTPATH_ASIO_HPP

#include <cstdint>
#include <initializer_list>

#include <hotpath/adapter.h>

namespace hotpath
{

#if HOTPATH_ON_

/* Sites of operations, by the two names that Asio has for each: literals, which are compared by address. */
class asio_sites
{
  public:
    static struct hotpath_site *find(const char *object, const char *operation)
    {
        static slot slots[count];
        const uint64_t hash = uint64_t(reinterpret_cast<uintptr_t>(operation)) * UINT64_C(0x9e3779b97f4a7c15);
        for (unsigned step = 0; step < count; step++) {
            slot *at = &slots[((hash >> 40) + step) % count];
            unsigned state = unused;
            if (__atomic_compare_exchange_n(&at->state, &state, filling, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
                return fill(at, object, operation);
            while (state == filling)
                state = __atomic_load_n(&at->state, __ATOMIC_ACQUIRE); /* pairs with fill */
            if (at->object == object && at->operation == operation)
                return &at->site;
        }
        return nullptr;
    }

  private:
    static constexpr unsigned count = 256;
    enum { unused, filling, filled };

    struct slot {
        unsigned state;
        const char *object, *operation;
        struct hotpath_site site;
        char text[96]; /* the name in reports */
    };

    static struct hotpath_site *fill(slot *at, const char *object, const char *operation)
    {
        size_t length = 0;
        for (const char *part : {object, ".", operation})
            while (*part != 0 && length + 1 < sizeof at->text)
                at->text[length++] = *part++;
        at->object = object;
        at->operation = operation;
        at->site = {HOTPATH_ID_NEW_, HOTPATH_KIND_TASK_ | HOTPATH_KIND_CXX_, 0, 0, at->text, operation, "asio"};
        __atomic_store_n(&at->state, unsigned(filled), __ATOMIC_RELEASE);
        return &at->site;
    }
};

/* A base of Asio's operations. */
struct asio_handler {
    hotpath_task own = {}, then = {};
    asio_handler() = default;
    asio_handler(const asio_handler &) = delete;
    asio_handler &operator=(const asio_handler &) = delete;
    ~asio_handler() { hotpath_v1_task_end(&own, 1); }

    void begin(const char *object, const char *operation)
    {
        struct hotpath_site *site = asio_sites::find(object, operation);
        if (site == nullptr || HOTPATH_GET_(hotpath_v1_context->skip) != 0)
            return;
        then = hotpath_then_();
        own = hotpath_own_begin_(site, then);
    }
};

/* On the stack while an operation completes, which is freed before its handler is called. */
class asio_completion
{
  public:
    explicit asio_completion(asio_handler &handler)
    {
        wait_.own = handler.own;
        wait_.then = handler.then;
        handler.own.id_ = 0;
    }
    asio_completion(const asio_completion &) = delete;
    asio_completion &operator=(const asio_completion &) = delete;

    ~asio_completion()
    {
        invocation_end(); /* the handler has thrown */
        if (!was_invoked_)
            hotpath_v1_task_end(&wait_.own, 1);
    }

    template <class... Arguments> void invocation_begin(const Arguments &...)
    {
        is_running_ = was_invoked_ = true;
        hotpath_turn_begin_(&turn_, &wait_, 0);
    }

    void invocation_end()
    {
        if (is_running_)
            hotpath_turn_end_(&turn_);
        is_running_ = false;
    }

  private:
    struct hotpath_wait_ wait_ = {};
    struct hotpath_turn_ turn_ = {};
    bool is_running_ = false, was_invoked_ = false;
};

template <class Context, class Native>
void asio_creation(Context &, asio_handler &handler, const char *object, void *, Native, const char *operation)
{
    handler.begin(object, operation);
}

#else

struct asio_handler {
};
struct asio_completion {
    template <class Handler> explicit asio_completion(const Handler &) {}
    template <class... Arguments> void invocation_begin(const Arguments &...) {}
    void invocation_end() {}
};
template <class... Arguments> void asio_creation(const Arguments &...) {}

#endif

template <class... Arguments> void asio_ignore(const Arguments &...) {}

} // namespace hotpath

#define BOOST_ASIO_INHERIT_TRACKED_HANDLER : public ::hotpath::asio_handler
#define BOOST_ASIO_ALSO_INHERIT_TRACKED_HANDLER , public ::hotpath::asio_handler
#define BOOST_ASIO_HANDLER_TRACKING_INIT (void)0
#define BOOST_ASIO_HANDLER_LOCATION(args) (void)0
#define BOOST_ASIO_HANDLER_CREATION(args) ::hotpath::asio_creation args
#define BOOST_ASIO_HANDLER_COMPLETION(args) ::hotpath::asio_completion tracked_completion args
#define BOOST_ASIO_HANDLER_INVOCATION_BEGIN(args) tracked_completion.invocation_begin args
#define BOOST_ASIO_HANDLER_INVOCATION_END tracked_completion.invocation_end()
#define BOOST_ASIO_HANDLER_OPERATION(args) ::hotpath::asio_ignore args
#define BOOST_ASIO_HANDLER_REACTOR_REGISTRATION(args) ::hotpath::asio_ignore args
#define BOOST_ASIO_HANDLER_REACTOR_DEREGISTRATION(args) ::hotpath::asio_ignore args
#define BOOST_ASIO_HANDLER_REACTOR_READ_EVENT 1
#define BOOST_ASIO_HANDLER_REACTOR_WRITE_EVENT 2
#define BOOST_ASIO_HANDLER_REACTOR_ERROR_EVENT 4
#define BOOST_ASIO_HANDLER_REACTOR_EVENTS(args) ::hotpath::asio_ignore args
#define BOOST_ASIO_HANDLER_REACTOR_OPERATION(args) ::hotpath::asio_ignore args

#endif
