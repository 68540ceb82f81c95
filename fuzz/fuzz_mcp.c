/*
 * Lines from a client of `hotpath mcp`, for a server with one session that may run nothing. Each answer must be
 * one line of JSON, with a text that has its size and no control characters; what is answered must have been asked;
 * and names of sessions must not be paths. The input begins with the session, if its first byte is 1: two bytes
 * for how many belong to it, one for whether they are names of a session or changes to one. Otherwise it is the
 * first of shapes.h. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "check.h"
#include "input.h"
#include "json_reader.h"
#include "mcp_answer.h"
#include "mcp_server.h"
#include "reports.h"
#include "rpc_message.h"
#include "shapes.h"
#include "snapshot.h"
#include "utf8.h"

#define LONGEST_INPUT 16384u

/* ------------------------------------------------------------------------------------------------- the session */

struct recorded {
    struct session_builder named;
    struct fuzz_session changed;
    struct hp_snapshot snapshot;
    struct hp_arena arena;
    struct hp_model model;
    bool is_readable;
};

static void record(struct recorded *recorded, struct fuzz_input *input)
{
    const unsigned char *bytes;
    size_t size;
    memset(recorded, 0, sizeof *recorded);
    if (fuzz_byte(input) % 2 == 0 && input->left > 0) {
        fuzz_shape_named(&recorded->named, input);
        bytes = recorded->named.bytes;
        size = builder_size(&recorded->named);
    } else {
        recorded->changed = fuzz_session_take(input);
        bytes = recorded->changed.bytes;
        size = recorded->changed.size;
    }
    recorded->is_readable = hp_snapshot_open(&recorded->snapshot, bytes, size, &fuzz_now) == NULL;
}

static void forget(struct recorded *recorded)
{
    builder_free(&recorded->named);
    fuzz_session_free(&recorded->changed);
}

static void list(void *context, struct hp_sessions *sessions)
{
    (void)context;
    for (unsigned at = 0; at < 2; at++) {
        struct hp_stored_session *session = hp_sessions_add(sessions);
        REQUIRE(session != NULL);
        strcpy(session->command, at == 0 ? "a | b\nnext: run {}" : "c");
        strcpy(session->program, "a b");
        session->began_ns = 2 - at;
    }
}

static void describe(const struct hp_stored_session *session, struct hp_mcp_session_words *ret_words)
{
    *ret_words = (struct hp_mcp_session_words){.state = "finished", .age = "1s ago", .processes = "pid 7"};
    strcpy(ret_words->name, session->began_ns == 2 ? "7-2" : "7-1");
}

/* Whatever a client names comes here whole. */
static bool find(void *context, const char *name, struct hp_stored_session *ret_session)
{
    (void)context;
    REQUIRE(name == NULL || (name[0] != '\0' && name[0] != '-' && strlen(name) < LONGEST_INPUT));
    *ret_session = (struct hp_stored_session){.began_ns = 2, .command = "a \"b\"", .program = "a b"};
    return name == NULL || strchr(name, '/') == NULL;
}

static bool open_run(void *context, const struct hp_mcp_range *range, struct hp_mcp_run *run)
{
    struct recorded *recorded = context;
    const struct hp_snapshot *const all[] = {&recorded->snapshot};
    const struct hp_snapshots snapshots = {.all = all, .count = 1};
    if (!recorded->is_readable || range->has_from || range->has_to ||
        !hp_model_build(&recorded->model, &recorded->arena, &recorded->arena, &snapshots))
        return false;
    run->model = &recorded->model;
    return true;
}

static void close_run(void *context) { hp_arena_release(&((struct recorded *)context)->arena); }

static bool annotate(void *context, const struct hp_mcp_run *run, const char *function, struct hp_text *out)
{
    (void)context;
    REQUIRE(run->model != NULL && function != NULL);
    hp_text_string(out, "\n   100 %  7  ");
    hp_utf8_put_safe(out, function, strlen(function));
    hp_text_string(out, "\nlast");
    return strlen(function) % 2 == 0;
}

static bool compare(void *context, const struct hp_mcp_words *before, const struct hp_mcp_words *now, size_t most,
                    struct hp_text *out)
{
    (void)context;
    REQUIRE(before->count > 0 && now->count > 0 && most > 0);
    REQUIRE(before->all[before->count] == NULL && now->all[now->count] == NULL);
    hp_text_string(out, "Worse.\n\nruns     1\n");
    for (size_t at = 0; at < before->count; at++) {
        REQUIRE(before->all[at][0] != '\0');
        hp_utf8_put_safe(out, before->all[at], strlen(before->all[at]));
        hp_text_string(out, "\nexact    and 7 more\n");
    }
    return true;
}

static const char *problem(void *context)
{
    (void)context;
    return "this is no session: a | b \"c\"";
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

/* Rows begin with a bar; nothing else does. What is cut ends with a whole line. */
static void check_text(const char *text, size_t length)
{
    REQUIRE(length <= HP_MCP_FULL_BYTES);
    for (size_t at = 0; at < length; at++)
        REQUIRE((unsigned char)text[at] >= 0x20 || text[at] == '\n');
    REQUIRE(length == 0 || text[length - 1] == '\n' || text[length - 1] == '}' || memcmp(text, "error: ", 7) == 0);
}

/* {"content":[{"type":"text","text":"..."}],"isError":false} */
static void check_result(struct hp_json_reader *reader)
{
    static char text[8 * HP_MCP_FULL_BYTES];
    int depth = 0;
    bool is_text = false;
    do {
        const enum hp_json_token token = hp_json_next(reader);
        depth += token == HP_JSON_OBJECT || token == HP_JSON_ARRAY;
        depth -= token == HP_JSON_OBJECT_END || token == HP_JSON_ARRAY_END;
        REQUIRE(token != HP_JSON_ERROR);
        if (token == HP_JSON_STRING && is_text && depth == 3)
            check_text(text, hp_json_copy(reader, text, sizeof text));
        is_text = token == HP_JSON_KEY && hp_json_is(reader, "text");
    } while (depth > 0);
}

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
        const bool is_result = hp_json_is(&reader, "result");
        has_end |= is_result || hp_json_is(&reader, "error");
        if (is_result)
            check_result(&reader);
        else
            REQUIRE(hp_json_skip(&reader));
    }
    REQUIRE(hp_json_finish(&reader) && has_id && has_end);
    REQUIRE(message->kind == HP_RPC_REQUEST || message->kind == HP_RPC_WRONG);
}

static void answer_lines(struct hp_mcp_server *server, const uint8_t *bytes, size_t size)
{
    static struct hp_rpc_message message;
    struct hp_body answer = {0};
    for (size_t from = 0, to; from < size; from = to + 1) {
        const uint8_t *end = memchr(bytes + from, '\n', size - from);
        to = end != NULL ? (size_t)(end - bytes) : size;
        char *line = malloc(to - from + 1); /* ends where AddressSanitizer sees an overrun */
        REQUIRE(line != NULL);
        memcpy(line, bytes + from, to - from);
        const bool was_running = server->pending.is_open;
        hp_rpc_read(&message, line, to - from);
        hp_mcp_server_line(server, line, to - from, &answer);
        if (to - from > 1) /* of a blank line nothing is said */
            check_answer(&answer, &message);
        REQUIRE(!server->pending.is_open || was_running || message.kind == HP_RPC_REQUEST);
        free(line);
    }
    if (server->pending.is_open)
        hp_mcp_server_run_ended(server, "7-2", NULL, &answer);
    REQUIRE(!server->pending.is_open);
    hp_body_free(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct hp_settings settings;
    static struct recorded recorded;
    struct fuzz_input input = {bytes, size}, session = {bytes, 0};
    int stopped = 0;
    if (size > LONGEST_INPUT)
        return 0;
    if (size > 0 && bytes[0] == 1) {
        fuzz_byte(&input);
        const size_t length = (size_t)fuzz_number(&input, 2);
        session = (struct fuzz_input){input.at, length < input.left ? length : input.left};
        input.at += session.left;
        input.left -= session.left;
    }
    fuzz_choose(&settings, HP_FORMAT_TABLE, false);
    record(&recorded, &session);
    const struct hp_mcp_source source = {.settings = &settings,
                                         .context = &recorded,
                                         .list = list,
                                         .describe = describe,
                                         .find = find,
                                         .open = open_run,
                                         .close = close_run,
                                         .annotate = annotate,
                                         .compare = compare,
                                         .problem = problem};
    struct hp_mcp_server server = {.source = &source, .start = start, .stop = stop, .context = &stopped};
    answer_lines(&server, input.at, input.left);
    forget(&recorded);
    return 0;
}
