/*
 * Where the program comes from, for reports that are kept: the commit and branch of the sources in the current
 * folder, and the CI job that runs us. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_SOURCE_FACTS_H
#define HP_CLI_SOURCE_FACTS_H

#include <stddef.h>

/*
 * Appends "commit=...,branch=...,ci=github,job=..." to a list of metadata, as far as they are known and fit. What
 * the user has set stays as it is.
 */
void hp_source_facts_add(char *metadata, size_t size);

#endif
