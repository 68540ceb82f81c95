/*
 * Which descriptors of the process are channels: pipes, local sockets, eventfds, message queues. A table by number,
 * so that a read of a plain file costs one load. The kernel is asked once per descriptor, at first use; functions
 * that close or replace a descriptor reset its entry. SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_DESCRIPTORS_H
#define HP_ALLOC_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

#include "hotpath.h"

#define HP_DESCRIPTORS 4096u /* further ones are ignored */

enum { HP_UNKNOWN, HP_NO_CHANNEL, HP_FIRST_CHANNEL }; /* from there on the number of a site */

struct hp_descriptor {
    uint32_t what; /* atomic; release, after `key` */
    uint32_t reserved;
    uintptr_t key; /* which channel of its site */
};
extern struct hp_descriptor hp_descriptors[HP_DESCRIPTORS] __attribute__((visibility("hidden")));

/* Asks the kernel what it is. Also HP_NO_CHANNEL if that is not allowed now. */
uint32_t hp_descriptor_look(int number);
uint32_t hp_descriptor_look_for_queue(int number);
/* Begins a transfer on a descriptor that is a channel. False: not recorded. */
bool hp_descriptor_transfer(uint32_t what, int number, bool is_sending, struct hotpath_transfer_ *ret_transfer);

/* Whether the user has turned channel detection off. For queues that are not descriptors. */
bool hp_descriptors_are_off(void);

/* These two are connected to each other and to nothing else. */
void hp_descriptor_pair(int one, int other);
/* It was closed or replaced. */
void hp_descriptor_forget(int number);
void hp_descriptor_forget_range(unsigned first, unsigned last);

static inline __attribute__((always_inline)) bool hp_transfer_begin(int number, bool is_sending,
                                                                    struct hotpath_transfer_ *ret_transfer)
{
    if (__builtin_expect((unsigned)number >= HP_DESCRIPTORS || HOTPATH_GET_(hotpath_v1_context->skip) != 0, 0))
        return false;
    uint32_t what = __atomic_load_n(&hp_descriptors[number].what, __ATOMIC_ACQUIRE);
    if (__builtin_expect(what == HP_UNKNOWN, 0))
        what = hp_descriptor_look(number);
    return __builtin_expect(what != HP_NO_CHANNEL, 0) &&
           hp_descriptor_transfer(what, number, is_sending, ret_transfer);
}

#endif
