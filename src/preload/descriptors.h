/*
 * Which descriptors of the process are channels: pipes, local sockets, eventfds, message queues. A table by number,
 * so that a read of a plain file costs one load. The kernel is asked once per descriptor, at first use; functions
 * that close or replace a descriptor reset its entry. SPDX-License-Identifier: MIT
 */
#ifndef HP_PRELOAD_DESCRIPTORS_H
#define HP_PRELOAD_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook_entries.h"

#define HP_DESCRIPTORS 4096u /* further ones are ignored */

enum { HP_UNKNOWN, HP_NO_CHANNEL, HP_FIRST_CHANNEL }; /* from there on the number of a site */

/*
 * An entry is one word, so that it never mixes two descriptors: what it is (8 bits), how often the number was
 * closed or replaced (23 bits), whether it is O_NONBLOCK, which channel of its site (32 bits). A lookup stores its
 * result only if the number was not closed meanwhile.
 */
extern uint64_t hp_descriptors[HP_DESCRIPTORS] __attribute__((visibility("hidden")));

static inline uint32_t hp_descriptor_what(uint64_t entry) { return (uint8_t)entry; }

/* How often the number was closed or replaced: another one, another descriptor. */
static inline uint32_t hp_descriptor_generation(uint64_t entry) { return (uint32_t)(entry >> 8) & 0x7fffff; }

/* Asks the kernel what it is, and returns its entry. Also HP_NO_CHANNEL if that is not allowed now. */
uint64_t hp_descriptor_look(int number);
uint64_t hp_descriptor_look_for_queue(int number);
/* How data is moved. */
#define HP_RECEIVING 0u
#define HP_SENDING 1u
#define HP_AT_ONCE 2u /* this call does not wait */
/* Begins a transfer on a descriptor that is a channel. False: not recorded. */
bool hp_descriptor_transfer(uint64_t entry, unsigned how, struct hotpath_transfer_ *ret_transfer);
/* The program has made it blocking, or not. */
void hp_descriptor_set_nonblocking(int number, bool is_nonblocking);

struct sockaddr_un;
/* The path that a local socket, or its other end, is bound to, as in `sun_path`. Returns its length; 0: none. */
size_t hp_descriptor_local_path(int number, struct sockaddr_un *ret_address);

/* Whether the user has turned channel detection off. For queues that are not descriptors. */
bool hp_descriptors_are_off(void);

/*
 * Asks the kernel about a new descriptor, and prepares the records for it, so that this thread's transfers need no
 * system call: a sandbox of which nothing tells us may forbid them by then.
 */
void hp_descriptor_prepare(int number);
/* The same for two that are connected to each other and to nothing else. */
void hp_descriptor_pipe(const int ends[2], bool is_nonblocking);
void hp_descriptor_socket_pair(const int ends[2], bool is_nonblocking);
/*
 * Called before and after the call that closes or replaces it: before, since another thread may get the number
 * right after; and after, since another thread may have looked up the old one meanwhile. Returns the entry it had.
 */
uint64_t hp_descriptor_forget(int number);
void hp_descriptor_forget_range(unsigned first, unsigned last);
/*
 * It is closed: if it was the last descriptor of a channel, the channel has ended. The recorder is told when the
 * next channel is made, or at exit, since that takes system calls; the time is that of the closing.
 */
void hp_descriptor_closed(uint64_t entry);
void hp_descriptor_close_range(unsigned first, unsigned last);

static inline __attribute__((always_inline)) uint64_t hp_descriptor_entry(int number)
{
    return __atomic_load_n(&hp_descriptors[number], __ATOMIC_ACQUIRE); /* pairs with remember */
}

static inline __attribute__((always_inline)) bool hp_transfer_begin(int number, unsigned how,
                                                                    struct hotpath_transfer_ *ret_transfer)
{
    if (__builtin_expect((unsigned)number >= HP_DESCRIPTORS || HOTPATH_GET_(hotpath_v1_context->skip) != 0, 0))
        return false;
    uint64_t entry = hp_descriptor_entry(number);
    if (__builtin_expect(hp_descriptor_what(entry) == HP_UNKNOWN, 0))
        entry = hp_descriptor_look(number);
    return __builtin_expect(hp_descriptor_what(entry) != HP_NO_CHANNEL, 0) &&
           hp_descriptor_transfer(entry, how, ret_transfer);
}

#endif
