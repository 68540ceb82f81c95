/* HOTPATH_EXPECT_ALLOCS: allocation limit for a scope. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "guards.h"
#include "runtime.h"
#include "text.h"

static hotpath_on_unexpected *on_unexpected; /* both under the lock, if there is one yet */
static void *on_unexpected_context;

void hotpath_set_on_unexpected(hotpath_on_unexpected *handler, void *context)
{
    on_unexpected_context = context;
    __atomic_store_n(&on_unexpected, handler, __ATOMIC_RELEASE);
}

struct hotpath_expected_ *hotpath_v1_expect(struct hotpath_expected_ *ret_expected, uint64_t most, const char *file,
                                            uint32_t line, const char *function)
{
    static uint64_t marks;
    *ret_expected = (struct hotpath_expected_){.file = file,
                                               .function = function,
                                               .most = most,
                                               .mark = __atomic_add_fetch(&marks, 1, __ATOMIC_RELAXED),
                                               .line = line};
    hp_guard_open(ret_expected, ret_expected->mark);
    ret_expected->status = hotpath_read_allocs(&ret_expected->begin);
    return ret_expected;
}

static void say(const struct hotpath_unexpected *unexpected)
{
    char bytes[512];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "hotpath: %s:%u: %s", unexpected->file, unexpected->line, unexpected->function);
    if (unexpected->is_counted) {
        hp_text_format(&line,
                       " exceeded its allocation limit of %" PRIu64 ": it allocated %" PRIu64 "%s%" PRIu64 "%s",
                       unexpected->expected, unexpected->count, unexpected->count == 1 ? " time, " : " times, ",
                       unexpected->bytes, unexpected->bytes == 1 ? " byte" : " bytes");
    } else {
        hp_text_string(&line, ": allocations cannot be counted here: link the program with -lhotpath_alloc, and do "
                              "not start or stop a session inside the scope");
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

void hotpath_v1_expect_end(struct hotpath_expected_ *expected)
{
    if (!hp_guard_close(expected, expected->mark))
        return; /* jumped over */
    const int saved = errno;
    struct hotpath_alloc_counts now = {0};
    const int status = hotpath_read_allocs(&now);
    const bool is_counted =
        expected->status == HOTPATH_OK && status == HOTPATH_OK && now.session == expected->begin.session;
    const struct hotpath_unexpected unexpected = {.file = expected->file,
                                                  .function = expected->function,
                                                  .line = expected->line,
                                                  .is_counted = is_counted,
                                                  .expected = expected->most,
                                                  .count = is_counted ? now.count - expected->begin.count : 0,
                                                  .bytes = is_counted ? now.bytes - expected->begin.bytes : 0};
    if (!is_counted || unexpected.count > unexpected.expected)
        complain(&unexpected);
    errno = saved;
}
