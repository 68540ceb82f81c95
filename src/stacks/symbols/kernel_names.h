/*
 * The functions of the running kernel, from /proc/kallsyms. Reading it takes some 40 ms, and addresses are there
 * only for those who may see them. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_KERNEL_NAMES_H
#define HP_SYMBOLS_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_kernel_function {
    uint64_t start;
    uint32_t name; /* in the texts */
    uint32_t rank; /* of names of the same address, the last one counts */
};

struct hp_kernel_names {
    struct hp_kernel_function *all; /* sorted by address */
    size_t count, room;
    char *texts;
    size_t text_bytes, text_room;
};

/* Of this kernel, or of such a file. False: it cannot be read, has no addresses, or there is no memory. */
bool hp_kernel_names_read(struct hp_kernel_names *names, const char *path);
void hp_kernel_names_free(struct hp_kernel_names *names);

#define HP_KERNEL_SYMBOLS "/proc/kallsyms"
#define HP_NO_KERNEL_FUNCTION SIZE_MAX

/* The number of the function at an address; always the same for all addresses of one. */
size_t hp_kernel_names_find(const struct hp_kernel_names *names, uint64_t address);
const char *hp_kernel_name(const struct hp_kernel_names *names, size_t number);

/* Why a thread was in the kernel, by the function where it entered. */
enum hp_kernel_entry { HP_ENTRY_UNKNOWN, HP_ENTRY_CALL, HP_ENTRY_FAULT, HP_ENTRY_INTERRUPT };
enum hp_kernel_entry hp_kernel_entry_of(const char *name);

#endif
