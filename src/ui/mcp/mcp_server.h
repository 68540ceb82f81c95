/*
 * The protocol: an answer for each line, in both eras. A request whose _meta names a revision is of the era without
 * `initialize`; nothing is kept between two messages, so both work in one process. SPDX-License-Identifier: MIT
 */
#ifndef HP_MCP_MCP_SERVER_H
#define HP_MCP_MCP_SERVER_H

#include "body.h"
#include "mcp_tool.h"
#include "rpc_message.h"

#define HP_MCP_LINE_MOST (1u << 20) /* bytes of a line */

/* A program that a client had started and that still runs. */
struct hp_mcp_pending {
    bool is_open;
    struct hp_rpc_id id;
    bool is_new; /* of the era without initialize */
};

struct hp_mcp_server {
    const struct hp_mcp_source *source;
    /*
     * Starts a program measured; its end is told by hp_mcp_server_run_ended. NULL: nothing may be started, and
     * there is no tool for it. False: `problem` says why.
     */
    bool (*start)(void *context, const struct hp_mcp_words *argv, size_t seconds, char *problem, size_t size);
    void (*stop)(void *context);
    void *context;
    struct hp_mcp_pending pending;
};

/* Answers a line without its newline. `answer` is empty if none is expected; else it ends with a newline. */
void hp_mcp_server_line(struct hp_mcp_server *server, const char *line, size_t length, struct hp_body *answer);

/* The answer to a line of more than HP_MCP_LINE_MOST bytes. */
void hp_mcp_server_long_line(struct hp_body *answer);

/*
 * The answer of `run`, when the program has ended: about the newest session of that name, or a problem (not NULL).
 */
void hp_mcp_server_run_ended(struct hp_mcp_server *server, const char *session, const char *problem,
                             struct hp_body *answer);

#endif
