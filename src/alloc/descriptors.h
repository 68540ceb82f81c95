/*
 * Which descriptors of the process lead to channels: pipes, sockets of the machine's own, eventfds, message queues. A table by number, so
 * that a read of a file costs one load. The kernel is asked once for each, when it is first used; what closes a descriptor, or puts
 * another in its place, says so. SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_DESCRIPTORS_H
#define HP_ALLOC_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

#include "hotpath.h"

#define HP_DESCRIPTORS 4096u /* further ones are not looked at */

enum { HP_UNKNOWN, HP_NO_CHANNEL, HP_FIRST_CHANNEL }; /* from there on the number of a site */

struct hp_descriptor {
    uint32_t what; /* atomic; release, after `key` */
    uint32_t reserved;
    uintptr_t key; /* which of its site */
};
extern struct hp_descriptor hp_descriptors[HP_DESCRIPTORS] __attribute__((visibility("hidden")));

/* Asks what it is. HP_NO_CHANNEL, too, where nobody may be asked now. */
uint32_t hp_descriptor_look(int number);
uint32_t hp_descriptor_look_for_queue(int number);
/* Begins a transfer by a descriptor that leads to a channel. False: it is not recorded. */
bool hp_descriptor_transfer(uint32_t what, int number, bool is_sending, struct hotpath_transfer_ *ret_transfer);

/* The user wants no channels to be found. Queues that are no descriptors ask. */
bool hp_descriptors_are_off(void);

/* These two are connected with each other, and with nothing else. */
void hp_descriptor_pair(int one, int other);
/* It is closed, or another one now. */
void hp_descriptor_forget(int number);
void hp_descriptor_forget_range(unsigned first, unsigned last);

static inline __attribute__((always_inline)) bool hp_transfer_begin(int number, bool is_sending,
                                                                    struct hotpath_transfer_ *ret_transfer)
{
    if (__builtin_expect((unsigned)number >= HP_DESCRIPTORS || HOTPATH_GET_(hotpath_v1_head->skip) != 0, 0))
        return false;
    uint32_t what = __atomic_load_n(&hp_descriptors[number].what, __ATOMIC_ACQUIRE);
    if (__builtin_expect(what == HP_UNKNOWN, 0))
        what = hp_descriptor_look(number);
    return __builtin_expect(what != HP_NO_CHANNEL, 0) &&
           hp_descriptor_transfer(what, number, is_sending, ret_transfer);
}

#endif
