/*
 * Answers are kept until a library is closed: dlclose is hooked for that. While it runs, an image may go and
 * another may take its addresses, so nothing kept is used. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "real_functions.h"

#include <stddef.h>

#include "hook_entries.h"

uint32_t hp_closed_libraries; /* atomic */
void (*hp_begin_more)(void);
static uint32_t closing; /* atomic: threads that are in dlclose */

/* -------------------------------------------------------------------------------------------------- dlclose */

#define EACH(DO, AS) DO(dlclose)
HP_REAL_FUNCTIONS(EACH)

__attribute__((constructor)) static void find_next(void)
{
    hp_resolve_all(find_each);
    if (!hp_resolve_has_sanitizer())
        hp_loaded_begin();
}

HP_PUBLIC int dlclose(void *library)
{
    HP_NEED(dlclose);
    if (!HP_IS_THERE(dlclose))
        return hp_no_such_function();
    __atomic_add_fetch(&closing, 1, __ATOMIC_SEQ_CST);
    const int result = next.dlclose(library);
    hotpath_v1_closed();
    __atomic_add_fetch(&hp_closed_libraries, 1, __ATOMIC_SEQ_CST);
    __atomic_sub_fetch(&closing, 1, __ATOMIC_SEQ_CST);
    return result;
}

/* ---------------------------------------------------------------------------------------------------- slots */

/* Word by word: another thread may read or write it. */
static void copy(struct hp_loaded_answer *to, const struct hp_loaded_answer *from)
{
    __atomic_store_n(&to->function.address, HOTPATH_GET_(from->function.address), __ATOMIC_RELAXED);
    __atomic_store_n(&to->function.library.from, HOTPATH_GET_(from->function.library.from), __ATOMIC_RELAXED);
    __atomic_store_n(&to->function.library.size, HOTPATH_GET_(from->function.library.size), __ATOMIC_RELAXED);
    __atomic_store_n(&to->callers.from, HOTPATH_GET_(from->callers.from), __ATOMIC_RELAXED);
    __atomic_store_n(&to->callers.size, HOTPATH_GET_(from->callers.size), __ATOMIC_RELAXED);
    __atomic_store_n(&to->images, HOTPATH_GET_(from->images), __ATOMIC_RELAXED);
}

/* Not inlined, as what follows: each takes stack only while it runs. */
static __attribute__((noinline)) bool is_answered(const struct hp_bound_slot *slot, uint32_t now, uintptr_t caller,
                                                  struct hp_loaded_function *ret_function)
{
    struct hp_loaded_answer answer;
    const uint32_t sequence = __atomic_load_n(&slot->sequence, __ATOMIC_ACQUIRE);
    copy(&answer, &slot->answer);
    const bool is_current = HOTPATH_GET_(slot->closed) == now;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (!is_current || sequence & 1 || HOTPATH_GET_(slot->sequence) != sequence ||
        !hp_loaded_has(&answer.callers, caller) || (answer.images != 0 && answer.images != hp_loaded_images()))
        return false;
    *ret_function = answer.function;
    return true;
}

/* A slot that another thread is writing is left alone. */
static void keep(struct hp_bound_slot *slot, uint32_t now, const struct hp_loaded_answer *answer)
{
    uint32_t sequence = HOTPATH_GET_(slot->sequence);
    if (sequence & 1 || !__atomic_compare_exchange_n(&slot->sequence, &sequence, sequence + 1, false,
                                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    HOTPATH_PUT_(slot->closed, now);
    copy(&slot->answer, answer);
    __atomic_store_n(&slot->sequence, sequence + 2, __ATOMIC_RELEASE);
}

/* -------------------------------------------------------------------------------------------------- finding */

struct question {
    struct hp_loaded_call call; /* without an argument: the function beside the caller */
    struct hp_loaded_answer answer;
    bool is_found;
};

static void ask(void *context)
{
    struct question *question = context;
    const struct hp_loaded_call *call = &question->call;
    question->is_found = call->argument != 0 ? hp_loaded_for_call(call, &question->answer)
                                             : hp_loaded_beside(call->name, call->caller, &question->answer);
}

static __attribute__((noinline)) bool find_slowly(struct hp_bound_function *hooked, uint32_t now, uintptr_t caller,
                                                  uintptr_t argument, struct hp_loaded_function *ret_function)
{
    struct question question = {.call = {hooked->name, caller, argument}};
    if (!hotpath_v1_aside(ask, &question))
        ask(&question); /* reads memory only */
    *ret_function = question.answer.function;
    if (question.is_found && question.answer.callers.size != 0)
        keep(&hooked->slots[__atomic_fetch_add(&hooked->next, 1, __ATOMIC_RELAXED) % HP_BOUND_SLOTS], now,
             &question.answer);
    return question.is_found;
}

#define BESIDE 0

/* The number of closed libraries is read first: an answer that is older than a dlclose is out of date. */
static inline bool find_bound(struct hp_bound_function *hooked, uintptr_t caller, uintptr_t argument,
                              struct hp_loaded_function *ret_function)
{
    const uint32_t now = __atomic_load_n(&hp_closed_libraries, __ATOMIC_SEQ_CST);
    if (__builtin_expect(__atomic_load_n(&closing, __ATOMIC_SEQ_CST) == 0, 1))
        for (size_t at = 0; at < HP_BOUND_SLOTS; at++)
            if (is_answered(&hooked->slots[at], now, caller, ret_function))
                return true;
    return find_slowly(hooked, now, caller, argument, ret_function);
}

/* NULL is no object of a library. */
bool hp_bound_find(struct hp_bound_function *hooked, const void *caller, const void *argument,
                   struct hp_loaded_function *ret_function)
{
    return find_bound(hooked, (uintptr_t)caller, argument != NULL ? (uintptr_t)argument : 1, ret_function);
}

bool hp_bound_beside(struct hp_bound_function *wanted, uintptr_t other, struct hp_loaded_function *ret_function)
{
    return find_bound(wanted, other, BESIDE, ret_function);
}
