/*
 * A tool: its name, its parameters, and the function that answers. One table describes a parameter: the schema that
 * clients see, the checks of a call, and the words of an error come from it. SPDX-License-Identifier: MIT
 */
#ifndef HP_MCP_MCP_TOOL_H
#define HP_MCP_MCP_TOOL_H

#include "json.h"
#include "json_reader.h"
#include "mcp_source.h"

enum hp_mcp_type {
    HP_MCP_TEXT,
    HP_MCP_CHOICE,  /* one of `words`; the first is the default */
    HP_MCP_COUNT,   /* an integer from 1 to `most` */
    HP_MCP_SECONDS, /* from 0 on */
    HP_MCP_FLAG,
    HP_MCP_WORDS, /* a list of strings; a single string is a list of one */
};

struct hp_mcp_parameter {
    const char *name;
    enum hp_mcp_type type;
    const char *words; /* "self|cpu" */
    uint32_t usual, most;
    bool is_required;
    const char *about; /* NULL: the name is enough */
};

struct hp_mcp_call;
struct hp_mcp_answer;

struct hp_mcp_tool {
    const char *name;
    const char *about;
    const struct hp_mcp_parameter *parameters;
    size_t parameter_count;
    bool is_of_session; /* takes session, from and to; the session is open when it answers */
    bool is_of_sizes;   /* takes detail and format */
    bool is_starting;   /* it starts a program: it is not read-only, and offered only if that is allowed */
    /* False: the problem of the call says what is wrong. NULL: the caller does it. */
    bool (*answer)(struct hp_mcp_call *call, struct hp_mcp_answer *answer);
};

#define HP_MCP_PARAMETERS_MOST 10u
#define HP_MCP_PROBLEM_BYTES 3200u

struct hp_mcp_value {
    bool is_given;
    double number;
    const char *text;
    struct hp_mcp_words words;
};

/* A call with its arguments. Begins as {.tool, .source}; free it in either case. */
struct hp_mcp_call {
    const struct hp_mcp_tool *tool;
    const struct hp_mcp_source *source;
    struct hp_mcp_value values[HP_MCP_PARAMETERS_MOST];
    struct hp_mcp_run run;
    char problem[HP_MCP_PROBLEM_BYTES];
    /* Private: memory of texts and words. */
    char *texts;
    char **words;
};

/* The parameters of a tool, one by one, those that tools share at the end. NULL: there are no more. */
const struct hp_mcp_parameter *hp_mcp_parameter(const struct hp_mcp_tool *tool, size_t at);

/* Reads the arguments: a JSON object, or nothing. False: the problem of the call says what is right. */
bool hp_mcp_call_read(struct hp_mcp_call *call, const char *arguments, size_t length);
void hp_mcp_call_free(struct hp_mcp_call *call);

/* Puts a sentence as the problem of the call; always false. */
bool hp_mcp_fail(struct hp_mcp_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The values of a parameter, by its name: as given, else the usual one. */
const struct hp_mcp_value *hp_mcp_value(const struct hp_mcp_call *call, const char *name);
const char *hp_mcp_text(const struct hp_mcp_call *call, const char *name); /* NULL: not given */
size_t hp_mcp_count(const struct hp_mcp_call *call, const char *name);
bool hp_mcp_flag(const struct hp_mcp_call *call, const char *name);
/* Whether a choice is that word. */
bool hp_mcp_is(const struct hp_mcp_call *call, const char *name, const char *word);

/* Writes the tool as tools/list has it. */
void hp_mcp_put_tool(struct hp_json *json, const struct hp_mcp_tool *tool);

#endif
