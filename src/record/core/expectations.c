/*
 * HOTPATH_EXPECT_ALLOCS and its siblings: limits for a scope, for tests of the program. All compare what the
 * calling thread has counted at the end of the scope with what it had at its beginning.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "arith.h"
#include "guards.h"
#include "hotpath.h"
#include "instruction_clock.h"
#include "lifecycle.h"
#include "runtime.h"
#include "sites.h"
#include "store.h"
#include "text.h"
#include "thread_context.h"
#include "threads.h"

static hotpath_on_unexpected *on_unexpected; /* both under the lock, if there is one yet */
static void *on_unexpected_context;

void hotpath_set_on_unexpected(hotpath_on_unexpected *handler, void *context)
{
    on_unexpected_context = context;
    __atomic_store_n(&on_unexpected, handler, __ATOMIC_RELEASE);
}

/* -------------------------------------------------------------------------------------------------------- calls */

/* Of a function, its name as the source has it; of a block or what has a label, that. */
static bool is_called(uint32_t site, const char *name)
{
    if (site == HP_SITE_ROOT || site == HP_SITE_OTHER || hp_lane_is_suspended_site(site))
        return false;
    const struct hp_known_site *known = hp_site_known(site);
    const uint32_t kind = known->kind & ~HOTPATH_KIND_CXX_;
    const bool is_function = kind == HOTPATH_KIND_FUNCTION_ || kind == HOTPATH_KIND_MAIN_;
    return strcmp(known->name, name) == 0 || (is_function && strcmp(known->function, name) == 0);
}

/* Finished calls of all sites of that name. The caller holds the context. */
static uint64_t count_calls(const struct hp_thread_context *context, const char *name)
{
    uint64_t calls = 0;
    for (uint32_t at = context->record->node_chunks; at != 0;) {
        const struct hp_node_chunk *chunk = hp_store_at(context->store, at);
        for (uint32_t number = 0; number < chunk->used; number++) {
            const struct hotpath_node_ *node = &chunk->nodes[number];
            calls += is_called(node->site, name) ? HOTPATH_GET_(node->calls) : 0;
        }
        at = chunk->next;
    }
    return calls;
}

/* False: there is no session, or this thread is not in it. */
static bool read_calls(const char *name, uint64_t *ret_calls, uint32_t *ret_session)
{
    struct hp_thread_context *context = hp_is_active() ? hp_thread_context_of() : NULL;
    if (context == NULL)
        return false;
    const uint32_t before = hp_context_hold_too(&context->hot);
    const uint32_t gate = HOTPATH_GATE_OF_(&context->hot) & HOTPATH_EPOCH_ & ~HP_GATE_PAUSED;
    const bool is_counted = gate != 0 && gate == context->hot.epoch;
    *ret_session = context->hot.epoch;
    *ret_calls = is_counted ? count_calls(context, name) : 0;
    hp_context_put_back(&context->hot, before);
    return is_counted;
}

/* ------------------------------------------------------------------------------------------------- instructions */

/* The library calls functions of libc, which count, so `now` is read before anything else is done. */
static bool read_instructions(uint64_t *ret_instructions)
{
    const bool is_counting = hp_instruction_clock_is_counting();
    *ret_instructions = is_counting ? hp_instruction_clock_read() : 0;
    return is_counting;
}

/* Not a failure: the same tests run under other clocks, too. */
static void note_unchecked(const struct hotpath_unexpected *unexpected)
{
    static uint32_t is_said; /* not of one byte: RISC-V would need libatomic to exchange it */
    char bytes[512];
    struct hp_text line;
    if (__atomic_exchange_n(&is_said, 1, __ATOMIC_RELAXED))
        return;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line,
                   "hotpath: %s:%u: %s: instructions are not counted here, so no limit of them is checked; "
                   "hotpath run --clock instructions counts them",
                   unexpected->file, unexpected->line, unexpected->function);
    hp_print_line(hp_text_end(&line));
}

/* ------------------------------------------------------------------------------------------------------- scopes */

static struct hotpath_expected_ *begin(struct hotpath_expected_ *expected)
{
    static uint64_t marks;
    const int saved = errno;
    bool is_read;
    expected->mark = __atomic_add_fetch(&marks, 1, __ATOMIC_RELAXED);
    hp_guard_open(expected, expected->mark);
    switch (expected->limited) {
    case HOTPATH_LIMITED_CALLS_:
        is_read = read_calls(expected->called, &expected->before, &expected->session);
        break;
    case HOTPATH_LIMITED_INSTRUCTIONS_:
        is_read = read_instructions(&expected->before);
        break;
    default:
        is_read = hotpath_read_allocs(&expected->begin) == HOTPATH_OK;
        break;
    }
    expected->status = is_read ? HOTPATH_OK : HOTPATH_E_INACTIVE;
    errno = saved;
    return expected;
}

struct hotpath_expected_ *hotpath_v1_expect(struct hotpath_expected_ *ret_expected, uint64_t most, const char *file,
                                            uint32_t line, const char *function)
{
    *ret_expected = (struct hotpath_expected_){
        .file = file, .function = function, .most = most, .line = line, .limited = HOTPATH_LIMITED_ALLOCS_};
    return begin(ret_expected);
}

struct hotpath_expected_ *hotpath_v1_expect_calls(struct hotpath_expected_ *ret_expected, const char *called,
                                                  uint64_t most, const char *file, uint32_t line,
                                                  const char *function)
{
    *ret_expected = (struct hotpath_expected_){.file = file,
                                               .function = function,
                                               .called = called,
                                               .most = most,
                                               .line = line,
                                               .limited = HOTPATH_LIMITED_CALLS_};
    return begin(ret_expected);
}

struct hotpath_expected_ *hotpath_v1_expect_instructions(struct hotpath_expected_ *ret_expected, uint64_t most,
                                                         const char *file, uint32_t line, const char *function)
{
    *ret_expected = (struct hotpath_expected_){
        .file = file, .function = function, .most = most, .line = line, .limited = HOTPATH_LIMITED_INSTRUCTIONS_};
    return begin(ret_expected);
}

static void say(const struct hotpath_unexpected *unexpected)
{
    char bytes[512];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "hotpath: %s:%u: %s", unexpected->file, unexpected->line, unexpected->function);
    if (!unexpected->is_counted && unexpected->called != NULL) {
        hp_text_format(&line,
                       ": calls of '%s' cannot be counted here: they need a session (HOTPATH_MAIN or "
                       "hotpath_start) that does not start or stop inside the scope",
                       unexpected->called);
    } else if (!unexpected->is_counted) {
        hp_text_string(&line, ": allocations cannot be counted here: link the program with -lhotpath_alloc, and do "
                              "not start or stop a session inside the scope");
    } else if (unexpected->called != NULL) {
        hp_text_format(&line, " exceeded its limit of %" PRIu64 " calls of '%s': there were %" PRIu64,
                       unexpected->expected, unexpected->called, unexpected->count);
    } else if (strcmp(unexpected->what, "instructions") == 0) {
        hp_text_format(&line, " exceeded its limit of %" PRIu64 " instructions: there were %" PRIu64,
                       unexpected->expected, unexpected->count);
    } else {
        hp_text_format(&line,
                       " exceeded its allocation limit of %" PRIu64 ": it allocated %" PRIu64 "%s%" PRIu64 "%s",
                       unexpected->expected, unexpected->count, unexpected->count == 1 ? " time, " : " times, ",
                       unexpected->bytes, unexpected->bytes == 1 ? " byte" : " bytes");
    }
    hp_print_line(hp_text_end(&line)); /* the program asked for it, in a run, too */
}

static void complain(const struct hotpath_unexpected *unexpected)
{
    hotpath_on_unexpected *handler = __atomic_load_n(&on_unexpected, __ATOMIC_ACQUIRE);
    if (handler != NULL) {
        handler(unexpected, on_unexpected_context);
        return;
    }
    say(unexpected);
    abort();
}

static void count_allocations(const struct hotpath_expected_ *expected, struct hotpath_unexpected *unexpected)
{
    struct hotpath_alloc_counts now = {0};
    unexpected->what = "allocations";
    const int status = hotpath_read_allocs(&now);
    unexpected->is_counted =
        expected->status == HOTPATH_OK && status == HOTPATH_OK && now.session == expected->begin.session;
    unexpected->count = unexpected->is_counted ? now.count - expected->begin.count : 0;
    unexpected->bytes = unexpected->is_counted ? now.bytes - expected->begin.bytes : 0;
}

static void count_calls_since(const struct hotpath_expected_ *expected, struct hotpath_unexpected *unexpected)
{
    uint64_t calls;
    uint32_t session;
    unexpected->what = "calls";
    unexpected->called = expected->called;
    unexpected->is_counted = expected->status == HOTPATH_OK && read_calls(expected->called, &calls, &session) &&
                             session == expected->session;
    unexpected->count = unexpected->is_counted ? calls - expected->before : 0;
}

static void count_instructions(const struct hotpath_expected_ *expected, uint64_t now,
                               struct hotpath_unexpected *unexpected)
{
    unexpected->what = "instructions";
    unexpected->is_counted = expected->status == HOTPATH_OK && hp_instruction_clock_is_counting();
    unexpected->count = unexpected->is_counted ? hp_less(now, expected->before) : 0;
}

void hotpath_v1_expect_end(struct hotpath_expected_ *expected)
{
    uint64_t now;
    read_instructions(&now);
    if (!hp_guard_close(expected, expected->mark))
        return; /* jumped over */
    const int saved = errno;
    const bool may_be_uncounted = expected->limited == HOTPATH_LIMITED_INSTRUCTIONS_;
    struct hotpath_unexpected unexpected = {
        .file = expected->file, .function = expected->function, .line = expected->line, .expected = expected->most};
    if (expected->limited == HOTPATH_LIMITED_INSTRUCTIONS_)
        count_instructions(expected, now, &unexpected);
    else
        (expected->called != NULL ? count_calls_since : count_allocations)(expected, &unexpected);
    if (may_be_uncounted && !unexpected.is_counted)
        note_unchecked(&unexpected);
    else if (!unexpected.is_counted || unexpected.count > unexpected.expected)
        complain(&unexpected);
    errno = saved;
}
