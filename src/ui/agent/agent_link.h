/*
 * How the agent and its readers talk: messages of one size, over a socket that keeps them apart. What is long is in
 * memory that comes with a message, and cannot change any more: it is sealed. SPDX-License-Identifier: MIT
 */
#ifndef HP_AGENT_LINK_H
#define HP_AGENT_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "request.h"

enum hp_agent_kind {
    /* To a reader. */
    HP_AGENT_FOLDER = 1, /* with its descriptor: sessions are in it; it is known by that number */
    HP_AGENT_NO_FOLDER,
    HP_AGENT_STATE,   /* with memory: what a reader before it answered last */
    HP_AGENT_METRICS, /* answered by the same, with memory */
    HP_AGENT_PROFILE, /* likewise, some time later, with a status of HTTP */
    HP_AGENT_FORGET,  /* that profile is not wanted any more */
    HP_AGENT_PUSH,    /* profiles are to be pushed, after so many seconds each; they come with memory */
};

struct hp_agent_message {
    uint32_t kind, number; /* of the folder, or of the question */
    uint32_t route;        /* enum hp_route, of profiles */
    uint32_t status;
    char service[sizeof((struct hp_request *)NULL)->service], seconds[sizeof((struct hp_request *)NULL)->seconds];
};

/* Two ends, which neither block nor are inherited. */
bool hp_agent_link_open(int ret_ends[2]);

/* `fd` is -1, or goes with it, and stays open here. False: the other side is gone, or reads nothing. */
bool hp_agent_link_send(int end, const struct hp_agent_message *message, int fd);

enum hp_agent_received { HP_AGENT_NOTHING, HP_AGENT_RECEIVED, HP_AGENT_GONE };

/* *ret_fd is -1, or to be closed. Anything that is no message counts as if the other side were gone. */
enum hp_agent_received hp_agent_link_receive(int end, struct hp_agent_message *ret_message, int *ret_fd);

/* ------------------------------------------------------------------------------------------------------- memory */

#define HP_AGENT_MEMORY_MOST ((size_t)64 << 20)

/* Sealed memory with these bytes. -1: see errno. */
int hp_agent_memory_make(const void *bytes, size_t length);

/* The bytes of such memory, to be closed. False: it is not sealed, or too large. */
struct hp_agent_memory {
    const void *bytes;
    size_t length;
};
bool hp_agent_memory_open(struct hp_agent_memory *memory, int fd);
void hp_agent_memory_close(struct hp_agent_memory *memory);

#endif
