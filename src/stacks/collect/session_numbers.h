/*
 * Numbers the sessions of a run whose zones occur in stacks. Stacks come from rings, from heaps and from samples of
 * waiting threads, on several threads of ours; a zone is a site of a session. SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_SESSION_NUMBERS_H
#define HP_COLLECT_SESSION_NUMBERS_H

#include <stdint.h>

/*
 * The number of the session with this name, without its folder; always the same. 0: no memory, or the name is too
 * long. Any thread may call it.
 */
uint32_t hp_session_number(const char *name);

/* Its name. NULL: none. Only when numbers are no longer requested, until they are freed. */
const char *hp_session_of_number(uint32_t number);
void hp_session_numbers_free(void);

#endif
