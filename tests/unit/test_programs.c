/* Which session is a program that was started again. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "programs.h"

static struct hp_stored_session all[] = {
    {.path = "/s/1", .command = "server --port 1", .began_ns = 100, .state = HP_SESSION_FINISHED},
    {.path = "/s/2", .command = "other --port 1", .began_ns = 200, .state = HP_SESSION_LIVE},
    {.path = "/s/3", .command = "server --port 1", .began_ns = 50, .state = HP_SESSION_LIVE},
    {.path = "/s/4", .command = "serverless", .began_ns = 300, .state = HP_SESSION_LIVE},
    {.path = "/s/5", .command = "server --port 2", .began_ns = 400, .state = HP_SESSION_LIVE},
    {.path = "/s/6", .command = "server --port 1", .began_ns = 150, .state = HP_SESSION_LIVE},
    {.path = "/s/7", .command = "server --port 1", .began_ns = 500, .state = HP_SESSION_LIVE, .is_paused = true},
    {.path = "/s/8", .command = "server", .began_ns = 350, .state = HP_SESSION_FINISHED},
};

static const char *found(size_t count, const char *path, const char *command, uint64_t began_ns)
{
    const struct hp_sessions sessions = {.all = all, .count = count};
    const struct hp_stored_session *session = hp_sessions_restarted(&sessions, path, command, began_ns);
    return session != NULL ? session->path : "none";
}

static void the_same_command_is_meant_first(void **state)
{
    (void)state;
    assert_string_equal(found(8, "/s/1", "server --port 1", 100), "/s/6"); /* not the newer one of another port */
    assert_string_equal(found(5, "/s/1", "server --port 1", 100), "/s/5"); /* which is the program, at least */
    assert_string_equal(found(4, "/s/1", "server --port 1", 100), "none"); /* "serverless" is another one */
    assert_string_equal(found(8, "/s/6", "server --port 1", 150), "/s/5"); /* it is not its own successor */
    assert_string_equal(found(8, "/s/5", "server --port 2", 400), "none");
    assert_string_equal(found(8, "/s/1", "", 0), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_command_is_meant_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
