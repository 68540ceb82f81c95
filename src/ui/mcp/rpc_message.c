/* One line of the protocol. SPDX-License-Identifier: MIT */
#include "rpc_message.h"

#include <string.h>

#include "json_reader.h"

#define META_VERSION "io.modelcontextprotocol/protocolVersion"

static void fail(struct hp_rpc_message *message, enum hp_rpc_error error, const char *problem)
{
    if (message->kind == HP_RPC_WRONG && message->problem != NULL)
        return; /* the first fault counts */
    message->kind = HP_RPC_WRONG;
    message->error = error;
    message->problem = problem;
}

/* ------------------------------------------------------------------------------------------------------ values */

/* A string that fits; anything else is an empty one. False: it is another value, or too long. */
static bool read_text(struct hp_json_reader *reader, char *text, size_t size)
{
    const bool is_text = hp_json_next(reader) == HP_JSON_STRING;
    text[0] = '\0';
    if (is_text && reader->length < size) {
        const size_t length = hp_json_copy(reader, text, size);
        return strlen(text) == length; /* a zero inside would cut it */
    }
    if (reader->token == HP_JSON_OBJECT || reader->token == HP_JSON_ARRAY)
        hp_json_leave(reader);
    return false;
}

/* Integers up to 2^53 are exact as JSON has them; nobody counts further, nor in fractions. */
#define MOST_ID 9007199254740992.0

/* False: it is neither a string nor an integer, or too long. */
static bool read_id(struct hp_json_reader *reader, struct hp_rpc_id *id)
{
    const enum hp_json_token token = hp_json_next(reader);
    *id = (struct hp_rpc_id){.is_given = true, .is_string = token == HP_JSON_STRING};
    if (token == HP_JSON_OBJECT || token == HP_JSON_ARRAY)
        hp_json_leave(reader);
    if (token == HP_JSON_STRING && reader->length < sizeof id->bytes) {
        id->length = hp_json_copy(reader, id->bytes, sizeof id->bytes);
        return true;
    }
    if (token != HP_JSON_NUMBER || reader->number < -MOST_ID || reader->number > MOST_ID)
        return false;
    id->number = (int64_t)reader->number;
    return (double)id->number == reader->number;
}

/* -------------------------------------------------------------------------------------------------- parameters */

static void read_meta(struct hp_json_reader *reader, struct hp_rpc_message *message)
{
    if (hp_json_next(reader) != HP_JSON_OBJECT) {
        if (reader->token == HP_JSON_ARRAY)
            hp_json_leave(reader);
        return;
    }
    while (hp_json_next(reader) == HP_JSON_KEY) {
        if (hp_json_is(reader, META_VERSION)) {
            read_text(reader, message->version, sizeof message->version);
            message->has_version = true;
        } else {
            hp_json_skip(reader);
        }
    }
}

static void read_arguments(struct hp_json_reader *reader, struct hp_rpc_message *message)
{
    const char *begin = reader->at;
    const enum hp_json_token token = hp_json_next(reader);
    if (token == HP_JSON_OBJECT || token == HP_JSON_ARRAY)
        hp_json_leave(reader);
    message->has_arguments = token == HP_JSON_OBJECT;
    message->are_arguments_wrong = token != HP_JSON_OBJECT && token != HP_JSON_NULL;
    message->arguments = begin;
    message->arguments_length = (size_t)(reader->at - begin);
}

static void read_parameters(struct hp_json_reader *reader, struct hp_rpc_message *message)
{
    if (hp_json_next(reader) != HP_JSON_OBJECT) {
        if (reader->token == HP_JSON_ARRAY)
            hp_json_leave(reader);
        if (reader->token != HP_JSON_NULL)
            fail(message, HP_RPC_WRONG_PARAMETERS, "params is not an object");
        return;
    }
    while (hp_json_next(reader) == HP_JSON_KEY) {
        if (hp_json_is(reader, "_meta"))
            read_meta(reader, message);
        else if (hp_json_is(reader, "name"))
            read_text(reader, message->tool, sizeof message->tool);
        else if (hp_json_is(reader, "arguments"))
            read_arguments(reader, message);
        else if (hp_json_is(reader, "protocolVersion"))
            read_text(reader, message->asked_version, sizeof message->asked_version);
        else if (hp_json_is(reader, "requestId"))
            read_id(reader, &message->cancelled);
        else
            hp_json_skip(reader);
    }
}

/* ----------------------------------------------------------------------------------------------------- message */

struct seen {
    bool has_method, is_response, is_of_version;
};

static void read_member(struct hp_json_reader *reader, struct hp_rpc_message *message, struct seen *seen)
{
    char version[8];
    if (hp_json_is(reader, "jsonrpc")) {
        seen->is_of_version = read_text(reader, version, sizeof version) && strcmp(version, "2.0") == 0;
    } else if (hp_json_is(reader, "id")) {
        if (!read_id(reader, &message->id)) {
            message->id = (struct hp_rpc_id){0};
            fail(message, HP_RPC_NOT_A_REQUEST, "id is not an integer or a string of at most 199 bytes");
        }
    } else if (hp_json_is(reader, "method")) {
        seen->has_method = true;
        if (!read_text(reader, message->method, sizeof message->method))
            message->method[0] = '\0'; /* none of ours is so long */
    } else if (hp_json_is(reader, "params")) {
        read_parameters(reader, message);
    } else {
        seen->is_response |= hp_json_is(reader, "result") || hp_json_is(reader, "error");
        hp_json_skip(reader);
    }
}

void hp_rpc_read(struct hp_rpc_message *message, const char *line, size_t length)
{
    struct hp_json_reader reader = hp_json_reader_of(line, length);
    struct seen seen = {0};
    *message = (struct hp_rpc_message){.kind = HP_RPC_REQUEST};
    if (hp_json_next(&reader) == HP_JSON_OBJECT)
        while (hp_json_next(&reader) == HP_JSON_KEY)
            read_member(&reader, message, &seen);
    else if (reader.token != HP_JSON_ERROR)
        fail(message, HP_RPC_NOT_A_REQUEST, "a message is one object; batches are not supported");
    if (reader.token == HP_JSON_ARRAY)
        hp_json_leave(&reader);
    if (!hp_json_finish(&reader)) {
        *message = (struct hp_rpc_message){.kind = HP_RPC_WRONG};
        fail(message, HP_RPC_NOT_JSON, "the line is not JSON");
        return;
    }
    if (!seen.has_method && seen.is_response && message->kind != HP_RPC_WRONG)
        message->kind = HP_RPC_RESPONSE;
    else if (!seen.has_method || !seen.is_of_version)
        fail(message, HP_RPC_NOT_A_REQUEST, "a request has \"jsonrpc\": \"2.0\" and a method");
    else if (message->kind == HP_RPC_REQUEST && !message->id.is_given)
        message->kind = HP_RPC_NOTIFICATION;
}

/* -------------------------------------------------------------------------------------------------------- ids */

bool hp_rpc_is_same_id(const struct hp_rpc_id *a, const struct hp_rpc_id *b)
{
    return a->is_given && b->is_given && a->is_string == b->is_string && a->number == b->number &&
           a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

void hp_rpc_put_head(struct hp_json *json, const struct hp_rpc_id *id)
{
    hp_json_put_string(json, "jsonrpc", "2.0");
    hp_json_key(json, "id");
    if (!id->is_given)
        hp_json_null(json);
    else if (id->is_string)
        hp_json_string_bytes(json, id->bytes, id->length);
    else
        hp_json_i64(json, id->number);
}
