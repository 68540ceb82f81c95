/*
 * Where the program comes from, for reports that are kept: the commit and branch of the sources in the current
 * folder, and the CI job that runs us. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_SOURCE_FACTS_H
#define HP_CLI_SOURCE_FACTS_H

#include <stddef.h>

/*
 * Writes "commit=...,branch=...,dirty=true,ci=github,job=...", as far as they are known and fit. Nothing is
 * executed for it.
 */
void hp_source_facts_find(char *text, size_t size);

#endif
