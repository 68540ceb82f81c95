/*
 * An image of this process, as dl_iterate_phdr shows it. Inline, for libhotpath and libhotpath_alloc, which share
 * no internal functions. SPDX-License-Identifier: MIT
 */
#ifndef HP_ELF_LOADED_IMAGE_H
#define HP_ELF_LOADED_IMAGE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* struct dl_phdr_info */
#endif
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* Where a segment is in memory. */
static inline uintptr_t hp_loaded_start(const struct dl_phdr_info *image, const ElfW(Phdr) * part)
{
    return image->dlpi_addr + part->p_vaddr;
}

/* The segment of this type that contains an address; NULL: none. */
static inline const ElfW(Phdr) *
    hp_loaded_segment(const struct dl_phdr_info *image, uint32_t type, uintptr_t address)
{
    for (size_t at = 0; at < image->dlpi_phnum; at++) {
        const ElfW(Phdr) *part = &image->dlpi_phdr[at];
        if (part->p_type == type && address - hp_loaded_start(image, part) < part->p_memsz)
            return part;
    }
    return NULL;
}

/* Its dynamic entries, which end with DT_NULL; NULL: none. */
static inline const ElfW(Dyn) * hp_loaded_dynamic(const struct dl_phdr_info *image)
{
    for (size_t at = 0; at < image->dlpi_phnum; at++)
        if (image->dlpi_phdr[at].p_type == PT_DYNAMIC)
            return (const void *)hp_loaded_start(image, &image->dlpi_phdr[at]);
    return NULL;
}

#endif
