/*
 * Where answers come from. Only the commands know where sessions are, how runs are compared and how programs are
 * started; they hand it over here, so that a tool is the same code as a command. SPDX-License-Identifier: MIT
 */
#ifndef HP_MCP_MCP_SOURCE_H
#define HP_MCP_MCP_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model.h"
#include "named_stacks.h"
#include "options.h"
#include "programs.h"
#include "text.h"

/* A session or run that is open, or a part of it. */
struct hp_mcp_run {
    struct hp_stored_session session;
    struct hp_model *model;
    const struct hp_named_stacks *stacks; /* NULL: there are none */
    bool is_part;                         /* `from` or `to` was given */
};

/* A session as lists have it: "4711-99", "running", "5m ago", "pid 4711 and 2 more". */
struct hp_mcp_session_words {
    char name[64], state[32], age[24], processes[112];
};

/* Moments in seconds since the run began. */
struct hp_mcp_range {
    bool has_from, has_to;
    double from, to;
};

/* A list of words from a client, with a NULL at the end. */
struct hp_mcp_words {
    char **all;
    size_t count;
};

struct hp_mcp_source {
    const struct hp_settings *settings;
    void *context;
    /* Adds the user's measured programs, the newest first. */
    void (*list)(void *context, struct hp_sessions *sessions);
    void (*describe)(const struct hp_stored_session *session, struct hp_mcp_session_words *ret_words);
    /* The session of that name, process or program, of the user's own folders; NULL: the newest. */
    bool (*find)(void *context, const char *name, struct hp_stored_session *ret_session);
    /* Opens it for one answer; `close` it in either case. False: `problem` says why. */
    bool (*open)(void *context, const struct hp_mcp_range *range, struct hp_mcp_run *run);
    void (*close)(void *context);
    /* The lines of a function of the session that is open. */
    bool (*annotate)(void *context, const struct hp_mcp_run *run, const char *function, struct hp_text *out);
    /*
     * What has changed between runs: a sentence, then lines that begin with a word for what they are about, at most
     * `most` of one kind; "and 7 more" tells of the others.
     */
    bool (*compare)(void *context, const struct hp_mcp_words *before, const struct hp_mcp_words *now, size_t most,
                    struct hp_text *out);
    /* The line on why the latest of these failed. */
    const char *(*problem)(void *context);
};

#endif
