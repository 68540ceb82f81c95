/*
 * Identifies a row in every report, of every process, after every refresh: a hash of its content, not of its place
 * in a list. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_IDENTITY_H
#define HP_MODEL_IDENTITY_H

#include <stdint.h>

#include "labels.h"

struct hp_site_sums;

/* Combines an identity, or 0, with the next text. Never 0. */
uint64_t hp_identity_with_text(uint64_t identity, const char *text);
uint64_t hp_identity_with_number(uint64_t identity, uint64_t number);

/*
 * From name, function, file, line and kind; and the thread, if sites are kept apart by thread. NULL: outside all
 * sites.
 */
uint64_t hp_identity_of_site(const struct hp_site_sums *site);
/* Of a function that stacks have found. */
uint64_t hp_identity_of_found(const char *name, const char *library, const char *file);
uint64_t hp_identity_with_thread(uint64_t identity, const struct hp_thread_label *thread);

#endif
