/*
 * Numbers for the sessions of a run whose zones were met: stacks come from rings, from heaps and from looks at threads that wait, on
 * several threads of ours, and a zone is a site of a session. SPDX-License-Identifier: MIT
 */
#ifndef HP_STACKS_SESSION_NUMBERS_H
#define HP_STACKS_SESSION_NUMBERS_H

#include <stdint.h>

/* That of the session with this name, without its folder; the same whenever it is asked. 0: no memory, or too long a name. Any thread. */
uint32_t hp_session_number(const char *name);

/* Its name. NULL: there is none. When nobody asks for numbers any more, until they are freed. */
const char *hp_session_of_number(uint32_t number);
void hp_session_numbers_free(void);

#endif
