/*
 * The page for coding agents: what to ask in which order. `hotpath help agents` prints it.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_AGENTS_PAGE_H
#define HP_CLI_AGENTS_PAGE_H

#include "text.h"

/* Markdown; docs/agents.md is made of it. */
void hp_agents_page_put(struct hp_text *text);

#endif
