/* The heaviest stacks of a session, one line each: as `hotpath export` weighs them. SPDX-License-Identifier: MIT */
#ifndef HP_MCP_MCP_STACKS_H
#define HP_MCP_MCP_STACKS_H

#include "mcp_answer.h"
#include "weighted.h"

struct hp_mcp_stacks {
    const enum hp_dimension *of; /* what they are weighted by: the first one that the session has ... */
    size_t of_count;
    const char *title;
    const char *function; /* only stacks with it; NULL: all */
    size_t limit, depth;
};

/*
 * With `has_sentence` also a sentence on the heaviest one, and its function as a next call. False: there are none.
 */
bool hp_mcp_put_stacks(struct hp_mcp_call *call, struct hp_mcp_answer *answer, const struct hp_mcp_stacks *stacks,
                       bool has_sentence);

#endif
