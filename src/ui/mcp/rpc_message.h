/*
 * One line of the protocol: JSON-RPC 2.0 with what MCP puts into it. A line may be hostile: it is read with bounds
 * and copied, and says what is wrong with it. SPDX-License-Identifier: MIT
 */
#ifndef HP_MCP_RPC_MESSAGE_H
#define HP_MCP_RPC_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"

enum hp_rpc_error {
    HP_RPC_NOT_JSON = -32700,
    HP_RPC_NOT_A_REQUEST = -32600,
    HP_RPC_NO_METHOD = -32601,
    HP_RPC_WRONG_PARAMETERS = -32602,
    HP_RPC_NO_VERSION = -32022, /* of MCP: the revision is not supported */
};

enum hp_rpc_kind {
    HP_RPC_WRONG, /* `error` and `problem` say why */
    HP_RPC_REQUEST,
    HP_RPC_NOTIFICATION, /* no answer is expected */
    HP_RPC_RESPONSE,     /* to a request of ours: there are none */
};

/* The id of a request, an integer or a string. */
struct hp_rpc_id {
    bool is_given, is_string;
    int64_t number;
    char bytes[200];
    size_t length;
};

struct hp_rpc_message {
    enum hp_rpc_kind kind;
    enum hp_rpc_error error;
    const char *problem;
    struct hp_rpc_id id;
    char method[64];
    bool has_version; /* in _meta: the revision without initialize */
    char version[32];
    char asked_version[32]; /* of initialize; "": none */
    char tool[64];          /* of tools/call; "": none */
    bool has_arguments, are_arguments_wrong;
    const char *arguments; /* of tools/call: an object, within the line */
    size_t arguments_length;
    struct hp_rpc_id cancelled; /* of notifications/cancelled */
};

/* The message points into the line. */
void hp_rpc_read(struct hp_rpc_message *message, const char *line, size_t length);

bool hp_rpc_is_same_id(const struct hp_rpc_id *a, const struct hp_rpc_id *b);

/* Writes "jsonrpc" and "id"; the object is open already. */
void hp_rpc_put_head(struct hp_json *json, const struct hp_rpc_id *id);

#endif
