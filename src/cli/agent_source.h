/*
 * Where `hotpath mcp` has its answers from: stored sessions, read as `hotpath report` reads them; `hotpath
 * annotate`; and `hotpath diff`. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_AGENT_SOURCE_H
#define HP_CLI_AGENT_SOURCE_H

#include "arguments.h"
#include "mcp_source.h"
#include "report_output.h"

struct hp_agent_source {
    const struct hp_arguments *arguments; /* of the command: its folder of sessions */
    struct hp_settings settings;
    struct hp_sessions parts;
    struct hp_opened_run run;
    bool is_open;
    struct hp_stored_session
        kept; /* what is open, if it is not to change any more; no path: it is closed at once */
    char problem[1200];
};

/* It must outlive what it returns. */
struct hp_mcp_source hp_agent_source_of(struct hp_agent_source *source, const struct hp_arguments *arguments);
void hp_agent_source_free(struct hp_agent_source *source);

#endif
