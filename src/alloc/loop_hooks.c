/*
 * Interposed functions by which libraries run event loops, in the library that `hotpath run` preloads. They tell
 * when a loop begins and ends: what a program does between two runs is not a turn. They also give the loop its
 * name, and join all its waits into one loop, whichever function waits.
 *
 * These functions are not in the C library, and may not be loaded when the process starts. Those loaded then stay;
 * those loaded later may be unloaded again, and are looked up each time. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <stddef.h>
#include <stdint.h>

#include "hotpath.h"
#include "loaded_function.h"
#include "loop_bounds.h"
#include "resolve.h"
#include "stack_place.h"

#define PUBLIC __attribute__((visibility("default")))

__thread struct hp_loop_bounds hp_loop_bounds __attribute__((tls_model("initial-exec")));

/* As in their headers, which are not needed to build us. */
PUBLIC int uv_run(void *loop, int mode);
PUBLIC int event_base_loop(void *base, int flags);
PUBLIC int event_base_dispatch(void *base);
PUBLIC int ev_run(void *loop, int flags);
PUBLIC void g_main_loop_run(void *loop);
PUBLIC int g_main_context_iteration(void *context, int may_block);

/* A function that runs loops. */
struct runner {
    const char *function;
    struct hotpath_site *site;
    bool is_one_turn;               /* it waits first: what comes before that is not a turn */
    struct hp_loaded_function next; /* the real function, if it was there from the start */
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

enum { UV_RUN, EVENT_BASE_LOOP, EVENT_BASE_DISPATCH, EV_RUN, G_MAIN_LOOP_RUN, G_MAIN_CONTEXT_ITERATION, RUNNERS };
static struct runner runners[RUNNERS] = {
    [UV_RUN] = {"uv_run", &libuv, false, {0}},
    [EVENT_BASE_LOOP] = {"event_base_loop", &libevent, false, {0}},
    [EVENT_BASE_DISPATCH] = {"event_base_dispatch", &libevent, false, {0}},
    [EV_RUN] = {"ev_run", &libev, false, {0}},
    [G_MAIN_LOOP_RUN] = {"g_main_loop_run", &glib, false, {0}},
    [G_MAIN_CONTEXT_ITERATION] = {"g_main_context_iteration", &glib_turns, true, {0}},
};

/* ------------------------------------------------------------------------------------- the real functions */

/* Not under a sanitizer, which may interpose functions that the search needs and not be initialised yet. */
__attribute__((constructor)) static void find_at_start(void)
{
    for (size_t at = 0; at < RUNNERS && !hp_resolve_has_sanitizer(); at++)
        hp_loaded_find(runners[at].function, &runners[at].next);
}

/* False: there is none; without us the caller would not have found one. */
static bool find_next(const struct runner *runner, struct hp_loaded_function *ret_next)
{
    *ret_next = runner->next;
    return ret_next->address != 0 || hp_loaded_find(runner->function, ret_next);
}

/* ------------------------------------------------------------------------------------------------- a run */

struct run {
    uintptr_t next; /* the real function; 0: none */
    bool is_inner;  /* one function calls the other: the loop runs already */
    struct hotpath_site *site;
    const void *loop;
    struct hp_loop_bounds before; /* the enclosing loop */
};

static void begin(struct run *run, const struct runner *runner, const void *loop, uintptr_t stack)
{
    struct hp_loop_bounds *bounds = &hp_loop_bounds;
    struct hp_loaded_function next;
    run->next = find_next(runner, &next) ? next.address : 0;
    run->is_inner =
        run->next == 0 || (bounds->loop.site == runner->site && bounds->loop.loop == loop && stack < bounds->stack);
    if (run->is_inner)
        return;
    run->site = runner->site;
    run->loop = loop;
    run->before = *bounds;
    *bounds = (struct hp_loop_bounds){{.site = runner->site, .loop = loop}, stack, next.from, next.size};
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

#define RUN(number, loop)                                                                                          \
    struct run run;                                                                                                \
    begin(&run, &runners[number], loop, HP_STACK_PLACE())
#define NEXT(type) ((__typeof__(type) *)run.next)

PUBLIC int uv_run(void *loop, int mode)
{
    RUN(UV_RUN, loop);
    const int result = run.next != 0 ? NEXT(uv_run)(loop, mode) : 0;
    end(&run);
    return result;
}

PUBLIC int event_base_loop(void *base, int flags)
{
    RUN(EVENT_BASE_LOOP, base);
    const int result = run.next != 0 ? NEXT(event_base_loop)(base, flags) : -1;
    end(&run);
    return result;
}

PUBLIC int event_base_dispatch(void *base)
{
    RUN(EVENT_BASE_DISPATCH, base);
    const int result = run.next != 0 ? NEXT(event_base_dispatch)(base) : -1;
    end(&run);
    return result;
}

PUBLIC int ev_run(void *loop, int flags)
{
    RUN(EV_RUN, loop);
    const int result = run.next != 0 ? NEXT(ev_run)(loop, flags) : 0;
    end(&run);
    return result;
}

PUBLIC void g_main_loop_run(void *loop)
{
    RUN(G_MAIN_LOOP_RUN, loop);
    if (run.next != 0)
        NEXT(g_main_loop_run)(loop);
    end(&run);
}

PUBLIC int g_main_context_iteration(void *context, int may_block)
{
    RUN(G_MAIN_CONTEXT_ITERATION, context);
    const int result = run.next != 0 ? NEXT(g_main_context_iteration)(context, may_block) : 0;
    end(&run);
    return result;
}
