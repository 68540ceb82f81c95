/* Holding contexts and sessions. SPDX-License-Identifier: MIT */
#include "holding.h"

#include "memory.h"
#include "mutex.h"
#include "raw_call.h"

/* The gate is checked again with the context held: only then is the session certain to stay. */
struct hp_thread_context *hp_thread_hold(void)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    if (&context->hot == &hp_no_context || context->thread_id == 0 || context->record == NULL ||
        hp_context_is_held(&context->hot))
        return NULL;
    hp_context_hold(&context->hot);
    if (hp_context_has_session(&context->hot))
        return context;
    hp_context_let_go(&context->hot);
    return NULL;
}

/* -------------------------------------------------------------------------------------------- holding a session */

/*
 * `holders` of a linked session is never 0: a new holder raises the count only from 1 on, and then checks that it
 * is still the running session. The records themselves are never unmapped, so a late access is harmless.
 */

#define PATIENCE_NS UINT64_C(50000000)
#define FIRST_PAUSE_NS UINT64_C(20000)

static void set_phase(struct hp_session *session, enum hp_phase phase)
{
    __atomic_store_n(&session->phase, phase, __ATOMIC_RELEASE);
}

static bool is_in(const struct hp_session *session, enum hp_phase phase)
{
    return __atomic_load_n(&session->phase, __ATOMIC_ACQUIRE) == phase;
}

static bool change_phase(struct hp_session *session, enum hp_phase from, enum hp_phase to)
{
    uint32_t phase = from;
    return __atomic_compare_exchange_n(&session->phase, &phase, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static struct hp_session *first_of_all(void) { return __atomic_load_n(&hp_runtime->sessions, __ATOMIC_ACQUIRE); }

/* -------------------------------------------------------------------------------------------- records */

static struct hp_session *used_before(void)
{
    for (struct hp_session *session = first_of_all(); session != NULL; session = session->next)
        if (change_phase(session, HP_PHASE_FREE, HP_PHASE_IN_USE))
            return session;
    return NULL;
}

static struct hp_session *new_record(void)
{
    struct hp_session *session = hp_memory_map(sizeof *session);
    if (session == NULL)
        return NULL;
    session->phase = HP_PHASE_IN_USE;
    session->place = __atomic_fetch_add(&hp_runtime->session_places, 1, __ATOMIC_RELAXED);
    session->next = first_of_all();
    while (!__atomic_compare_exchange_n(&hp_runtime->sessions, &session->next, session, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
        ;
    return session;
}

struct hp_session *hp_session_make(const struct hp_settings *settings)
{
    struct hp_session *session = used_before();
    if (session == NULL)
        session = new_record();
    if (session == NULL)
        return NULL;
    hp_settings_copy(&session->settings, settings);
    if (hp_store_create(&session->store, &settings->record, hp_sys_process_id(), session->place) != NULL) {
        set_phase(session, HP_PHASE_FREE);
        return NULL;
    }
    __atomic_store_n(&session->holders, 1, __ATOMIC_RELEASE);
    return session;
}

void hp_session_discard(struct hp_session *session)
{
    hp_store_remove(&session->store);
    /* A thread that found it in the record's earlier life may still hold it for a moment. */
    hp_session_let_go(session);
}

/* -------------------------------------------------------------------------------------------- holding */

void hp_session_link(struct hp_session *session)
{
    hp_runtime->store = &session->store;
    /* Release pairs with the acquire of hp_session_hold. */
    __atomic_store_n(&hp_runtime->session, session, __ATOMIC_RELEASE);
}

struct hp_session *hp_session_unlink(void)
{
    struct hp_session *session = hp_runtime->session;
    __atomic_store_n(&hp_runtime->session, NULL, __ATOMIC_RELEASE);
    hp_runtime->store = NULL;
    return session;
}

static bool raise_holders(struct hp_session *session)
{
    uint32_t holders = __atomic_load_n(&session->holders, __ATOMIC_RELAXED);
    while (holders != 0)
        if (__atomic_compare_exchange_n(&session->holders, &holders, holders + 1, true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return true;
    return false;
}

struct hp_session *hp_session_hold(void)
{
    for (;;) {
        struct hp_session *session = __atomic_load_n(&hp_runtime->session, __ATOMIC_ACQUIRE);
        if (session == NULL || hp_is_forked_child())
            return NULL;
        const bool is_held = raise_holders(session);
        if (__atomic_load_n(&hp_runtime->session, __ATOMIC_ACQUIRE) == session)
            return is_held ? session : NULL;
        if (is_held)
            hp_session_let_go(session);
    }
}

void hp_session_hold_too(struct hp_session *session) { __atomic_fetch_add(&session->holders, 1, __ATOMIC_RELAXED); }

/* Accesses of other holders happen before the memory is released. */
void hp_session_let_go(struct hp_session *session)
{
    if (__atomic_sub_fetch(&session->holders, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    hp_store_empty(&session->store);
    set_phase(session, HP_PHASE_EMPTY);
}

void hp_session_lose(enum hp_loss loss)
{
    struct hp_session *session = hp_session_hold();
    if (session == NULL)
        return;
    hp_store_lose(&session->store, loss, 1);
    hp_session_let_go(session);
}

/* --------------------------------------------------------------------------------------------- ending */

/* Contexts are scanned under the lock: contexts come and go, and change their session, only under it. */
typedef bool question(const struct hp_session *session);

static bool ask(question *asked, const struct hp_session *session)
{
    struct hp_signals held;
    if (!hp_lock(&held))
        return false;
    const bool is = asked(session);
    hp_unlock(&held);
    return is;
}

static bool is_quiet(const struct hp_session *session)
{
    for (const struct hp_thread_context *context = hp_page()->contexts; context != NULL; context = context->next)
        if (context->thread_id != 0 && context->store == &session->store && hp_context_is_at_work(context))
            return false;
    return true;
}

/* Only the calling thread has ever had a context, so there is no other to wait for. */
static bool is_alone(const struct hp_session *session)
{
    (void)session;
    const uint32_t self = hp_sys_thread_id();
    for (const struct hp_thread_context *context = hp_page()->contexts; context != NULL; context = context->next)
        if (context->thread_id != 0 && context->thread_id != self)
            return false;
    return true;
}

/*
 * Each thread checks the gate after it has marked its context and before it touches anything. The gate is closed
 * and all threads have passed a barrier: a thread seen idle after that finds the gate closed.
 */
static bool settle(const struct hp_session *session, uint64_t patience)
{
    if (!ask(is_alone, session) && !hp_memory_barrier_everywhere())
        return false;
    const uint64_t from = hp_clock_monotonic_ns();
    uint64_t pause = FIRST_PAUSE_NS;
    while (!ask(is_quiet, session)) {
        if (hp_clock_monotonic_ns() - from >= patience)
            return false;
        hp_pause_ns(pause); /* sleep, do not spin: the thread we wait for may need our CPU */
        pause *= 2;
    }
    return true;
}

bool hp_session_settle(struct hp_session *session) { return settle(session, PATIENCE_NS); }

void hp_session_end(struct hp_session *session)
{
    if (settle(session, PATIENCE_NS))
        hp_session_let_go(session);
    else
        set_phase(session, HP_PHASE_UNSETTLED);
}

static bool is_looked_at(const struct hp_session *session)
{
    for (const struct hp_thread_context *context = hp_page()->contexts; context != NULL; context = context->next)
        if (context->thread_id != 0 && context->hot.base == session->store.range.base)
            return true;
    return false;
}

static void give_page_back(struct hp_session *session)
{
    struct hp_signals held;
    if (!hp_lock(&held))
        return;
    if (!is_looked_at(session) && change_phase(session, HP_PHASE_EMPTY, HP_PHASE_IN_USE)) {
        hp_store_forget(&session->store);
        set_phase(session, HP_PHASE_FREE);
    }
    hp_unlock(&held);
}

void hp_sessions_tidy(void)
{
    for (struct hp_session *session = first_of_all(); session != NULL; session = session->next) {
        if (is_in(session, HP_PHASE_UNSETTLED) && settle(session, 0) &&
            change_phase(session, HP_PHASE_UNSETTLED, HP_PHASE_IN_USE))
            hp_session_let_go(session);
        if (is_in(session, HP_PHASE_EMPTY))
            give_page_back(session);
    }
}

/* A session that was held at fork may be in use further up this stack, so it stays mapped. */
void hp_sessions_forget(const struct hp_session *own)
{
    for (struct hp_session *session = first_of_all(); session != NULL; session = session->next) {
        if (session == own || session->phase == HP_PHASE_FREE || session->holders > 1)
            continue;
        hp_store_forget(&session->store);
        session->holders = 0;
        session->phase = HP_PHASE_FREE;
    }
    if (own == NULL)
        hp_session_unlink();
}
