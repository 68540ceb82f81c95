/*
 * Lines from a client of `hotpath mcp`, for a server without sessions that may run nothing. Each answer must be
 * one line of JSON; what is answered must have been asked; and names of sessions must not be paths.
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "input.h"
#include "json_reader.h"
#include "mcp_server.h"
#include "rpc_message.h"

#define LONGEST_INPUT 16384u

static void list(void *context, struct hp_sessions *sessions)
{
    (void)context;
    (void)sessions;
}

/* Whatever a client names comes here whole, and ends. */
static bool find(void *context, const char *name, struct hp_stored_session *ret_session)
{
    (void)context;
    (void)ret_session;
    REQUIRE(name == NULL || (name[0] != '\0' && name[0] != '-' && strlen(name) < LONGEST_INPUT));
    return false;
}

static void close_none(void *context) { (void)context; }

static bool compare(void *context, const struct hp_mcp_words *before, const struct hp_mcp_words *now, size_t most,
                    struct hp_text *out)
{
    (void)context;
    (void)out;
    REQUIRE(before->count > 0 && now->count > 0 && most > 0);
    REQUIRE(before->all[before->count] == NULL && now->all[now->count] == NULL);
    for (size_t at = 0; at < before->count; at++)
        REQUIRE(before->all[at][0] != '\0');
    return false;
}

static const char *problem(void *context)
{
    (void)context;
    return "there are no sessions";
}

static bool start(void *context, const struct hp_mcp_words *argv, size_t seconds, char *words, size_t size)
{
    (void)context;
    REQUIRE(argv->count > 0 && argv->all[argv->count] == NULL && seconds >= 1 && seconds <= 300);
    REQUIRE(size > 0);
    words[0] = '\0';
    return argv->count % 2 == 0;
}

static void stop(void *context) { ++*(int *)context; }

/* One object, on one line, that answers a request. */
static void check_answer(const struct hp_body *answer, const struct hp_rpc_message *message)
{
    if (answer->length == 0) {
        REQUIRE(message->kind != HP_RPC_WRONG);
        return;
    }
    REQUIRE(answer->bytes[answer->length - 1] == '\n');
    REQUIRE(memchr(answer->bytes, '\n', answer->length - 1) == NULL);
    struct hp_json_reader reader = hp_json_reader_of(answer->bytes, answer->length);
    bool has_id = false, has_end = false;
    REQUIRE(hp_json_next(&reader) == HP_JSON_OBJECT);
    while (hp_json_next(&reader) == HP_JSON_KEY) {
        has_id |= hp_json_is(&reader, "id");
        has_end |= hp_json_is(&reader, "result") || hp_json_is(&reader, "error");
        REQUIRE(hp_json_skip(&reader));
    }
    REQUIRE(hp_json_finish(&reader) && has_id && has_end);
    REQUIRE(message->kind == HP_RPC_REQUEST || message->kind == HP_RPC_WRONG);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct hp_settings settings;
    static struct hp_rpc_message message;
    int stopped = 0;
    const struct hp_mcp_source source = {.settings = &settings,
                                         .list = list,
                                         .find = find,
                                         .close = close_none,
                                         .compare = compare,
                                         .problem = problem};
    struct hp_mcp_server server = {.source = &source, .start = start, .stop = stop, .context = &stopped};
    struct hp_body answer = {0};
    if (size > LONGEST_INPUT)
        return 0;
    for (size_t from = 0, to; from < size; from = to + 1) {
        const uint8_t *end = memchr(bytes + from, '\n', size - from);
        to = end != NULL ? (size_t)(end - bytes) : size;
        char *line = malloc(to - from + 1); /* ends where AddressSanitizer sees an overrun */
        REQUIRE(line != NULL);
        memcpy(line, bytes + from, to - from);
        const bool was_running = server.pending.is_open;
        hp_rpc_read(&message, line, to - from);
        hp_mcp_server_line(&server, line, to - from, &answer);
        if (to - from > 1) /* of a blank line nothing is said */
            check_answer(&answer, &message);
        REQUIRE(!server.pending.is_open || was_running || message.kind == HP_RPC_REQUEST);
        free(line);
    }
    if (server.pending.is_open)
        hp_mcp_server_run_ended(&server, "", "it left no session", &answer);
    REQUIRE(!server.pending.is_open);
    hp_body_free(&answer);
    return 0;
}
