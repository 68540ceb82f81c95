/*
 * By what a thing is known in every report, of every process, after every refresh: a number made of its content, never of its
 * place in a list. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_IDENTITY_H
#define HP_MODEL_IDENTITY_H

#include <stdint.h>

#include "labels.h"

struct hp_site_sums;

/* What is known by more than one thing: that of the first, or 0, together with the next. Never 0. */
uint64_t hp_identity_with_text(uint64_t identity, const char *text);
uint64_t hp_identity_with_number(uint64_t identity, uint64_t number);

/* Name, function, file, line and kind; and the thread where sites are kept apart by it. NULL: outside of all. */
uint64_t hp_identity_of_site(const struct hp_site_sums *site);
uint64_t hp_identity_with_thread(uint64_t identity, const struct hp_thread_label *thread);

#endif
