/*
 * Interposed functions by which libraries run event loops, in the library that `hotpath run` preloads. They tell
 * when a loop begins and ends: what a program does between two runs is not a turn. They also give the loop its
 * name, and join all its waits into one loop, whichever function waits.
 *
 * A call goes to the function that its caller is bound to (bound_function.h). SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <stddef.h>
#include <stdint.h>

#include "bound_function.h"
#include "hook_entries.h"
#include "loop_bounds.h"

__thread struct hp_loop_bounds hp_loop_bounds __attribute__((tls_model("initial-exec")));

/* As in their headers, which are not needed to build us. */
HP_LIBRARY_HOOK(int, uv_run, (void *loop, int mode));
HP_LIBRARY_HOOK(int, event_base_loop, (void *base, int flags));
HP_LIBRARY_HOOK(int, event_base_dispatch, (void *base));
HP_LIBRARY_HOOK(int, ev_run, (void *loop, int flags));
HP_LIBRARY_HOOK(void, g_main_loop_run, (void *loop));
HP_LIBRARY_HOOK(int, g_main_context_iteration, (void *context, int may_block));

/* A function that runs loops. */
struct runner {
    struct hp_bound_function hooked;
    struct hotpath_site *site;
    bool is_one_turn; /* it waits first: what comes before that is not a turn */
};

#define SITE(name_, function_, library)                                                                            \
    {                                                                                                              \
        .id = HOTPATH_ID_NEW_, .kind = HOTPATH_KIND_OBJECT_, .name = (name_), .function = (function_),             \
        .file = (library)                                                                                          \
    }

static struct hotpath_site libuv = SITE("libuv: uv_run", "uv_run", "libuv");
static struct hotpath_site libevent = SITE("libevent: event_base_loop", "event_base_loop", "libevent");
static struct hotpath_site libev = SITE("libev: ev_run", "ev_run", "libev");
static struct hotpath_site glib = SITE("glib: g_main_loop", "g_main_loop_run", "glib");
static struct hotpath_site glib_turns = SITE("glib: g_main_context_iteration", "g_main_context_iteration", "glib");

static struct runner hooked_uv_run = {{.name = "uv_run"}, &libuv, false};
static struct runner hooked_event_base_loop = {{.name = "event_base_loop"}, &libevent, false};
static struct runner hooked_event_base_dispatch = {{.name = "event_base_dispatch"}, &libevent, false};
static struct runner hooked_ev_run = {{.name = "ev_run"}, &libev, false};
static struct runner hooked_g_main_loop_run = {{.name = "g_main_loop_run"}, &glib, false};
static struct runner hooked_g_main_context_iteration = {{.name = "g_main_context_iteration"}, &glib_turns, true};

/* ------------------------------------------------------------------------------------------------- a run */

struct run {
    uintptr_t next; /* the real function; 0: none */
    bool is_inner;  /* one function calls the other: the loop runs already */
    struct hotpath_site *site;
    const void *loop;
    struct hp_loop_bounds before; /* the enclosing loop */
};

static void begin(struct run *run, struct runner *runner, const void *loop, const void *caller, uintptr_t stack)
{
    struct hp_loop_bounds *bounds = &hp_loop_bounds;
    struct hp_loaded_function next;
    run->next = hp_bound_find(&runner->hooked, caller, loop, &next) ? next.address : 0;
    run->is_inner =
        run->next == 0 || (bounds->loop.site == runner->site && bounds->loop.loop == loop && stack < bounds->stack);
    if (run->is_inner)
        return;
    run->site = runner->site;
    run->loop = loop;
    run->before = *bounds;
    *bounds = (struct hp_loop_bounds){{.site = runner->site, .loop = loop}, stack, next.library};
    if (!runner->is_one_turn)
        hotpath_v1_loop_begin(runner->site, loop);
}

static void end(const struct run *run)
{
    if (run->is_inner)
        return;
    hotpath_v1_loop_end(run->site, run->loop);
    hp_loop_bounds = run->before;
}

/* A macro, so that the return address is the caller's. */
#define RUN(name, loop)                                                                                            \
    struct run run;                                                                                                \
    begin(&run, &hooked_##name, loop, __builtin_return_address(0), HP_STACK_PLACE())
#define NEXT(name) ((__typeof__(hook_##name) *)run.next)

int hook_uv_run(void *loop, int mode)
{
    RUN(uv_run, loop);
    const int result = run.next != 0 ? NEXT(uv_run)(loop, mode) : 0;
    end(&run);
    return result;
}

int hook_event_base_loop(void *base, int flags)
{
    RUN(event_base_loop, base);
    const int result = run.next != 0 ? NEXT(event_base_loop)(base, flags) : -1;
    end(&run);
    return result;
}

int hook_event_base_dispatch(void *base)
{
    RUN(event_base_dispatch, base);
    const int result = run.next != 0 ? NEXT(event_base_dispatch)(base) : -1;
    end(&run);
    return result;
}

int hook_ev_run(void *loop, int flags)
{
    RUN(ev_run, loop);
    const int result = run.next != 0 ? NEXT(ev_run)(loop, flags) : 0;
    end(&run);
    return result;
}

void hook_g_main_loop_run(void *loop)
{
    RUN(g_main_loop_run, loop);
    if (run.next != 0)
        NEXT(g_main_loop_run)(loop);
    end(&run);
}

int hook_g_main_context_iteration(void *context, int may_block)
{
    RUN(g_main_context_iteration, context);
    const int result = run.next != 0 ? NEXT(g_main_context_iteration)(context, may_block) : 0;
    end(&run);
    return result;
}
