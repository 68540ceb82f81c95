/*
 * The rights of the agent, which starts readers and looks into containers, and of its readers, which have those of
 * their user. SPDX-License-Identifier: MIT
 */
#ifndef HP_AGENT_RIGHTS_H
#define HP_AGENT_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether we may start processes of other users. */
bool hp_agent_is_privileged(void);

/* Gives up all rights but those, and that of looking into processes. False: see errno. */
bool hp_agent_drop_rights(void);

/* Whether we may look into processes of other users, and so into containers. */
bool hp_agent_may_look(void);

/* In the environment of a reader, which finds its end of the link at this descriptor. */
#define HP_AGENT_READER_VARIABLE "HOTPATH_AGENT_READER"
#define HP_AGENT_READER_TEXTS "texts"
#define HP_AGENT_READER_END 3

/*
 * Starts this program again, as that user if we are privileged, without anything that we have in memory, in our
 * environment, or open, and in a session of its own, without a terminal. -1: see errno.
 */
pid_t hp_agent_start_reader(uid_t user, bool becomes_user, bool with_texts, int end);

#endif
