/* How a program or library is linked. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* memmem */
#include "linkage.h"

#include <string.h>

#include "elf_symbols.h"
#include "memory.h"

bool hp_linkage_read(struct hp_linkage *linkage, int fd)
{
    ElfW(Phdr) part;
    *linkage = (struct hp_linkage){.fd = fd};
    if (!hp_elf_read_header(fd, &linkage->header))
        return false;
    for (size_t at = 0; hp_elf_part_header(&linkage->header, fd, at, &part); at++) {
        if (part.p_type == PT_INTERP && part.p_filesz < sizeof linkage->linker)
            hp_elf_read_at(fd, part.p_offset, linkage->linker, part.p_filesz);
        if (part.p_type == PT_DYNAMIC)
            linkage->dynamic = part;
    }
    return true;
}

bool hp_linkage_is_same_machine(const struct hp_linkage *a, const struct hp_linkage *b)
{
    return memcmp(a->header.e_ident, b->header.e_ident, EI_DATA + 1) == 0 &&
           a->header.e_machine == b->header.e_machine;
}

/* Of the first dynamic entry of this kind; 0: there is none. */
static uint64_t dynamic_value(const struct hp_linkage *linkage, ElfW(Sxword) tag)
{
    ElfW(Dyn) entry = {.d_tag = DT_NULL};
    for (uint64_t at = 0; at + sizeof entry <= linkage->dynamic.p_filesz; at += sizeof entry)
        if (!hp_elf_read_at(linkage->fd, linkage->dynamic.p_offset + at, &entry, sizeof entry) ||
            entry.d_tag == DT_NULL)
            return 0;
        else if (entry.d_tag == tag)
            return entry.d_un.d_val;
    return 0;
}

static uint64_t offset_of(const struct hp_linkage *linkage, uint64_t address)
{
    ElfW(Phdr) part;
    for (size_t at = 0; hp_elf_part_header(&linkage->header, linkage->fd, at, &part); at++)
        if (part.p_type == PT_LOAD && address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz)
            return address - part.p_vaddr + part.p_offset;
    return 0;
}

/* They are all in the dynamic string table. */
bool hp_linkage_names_any(const struct hp_linkage *linkage, const char *const *texts, size_t count)
{
    const uint64_t size = dynamic_value(linkage, DT_STRSZ);
    char *names = hp_elf_copy(linkage->fd, offset_of(linkage, dynamic_value(linkage, DT_STRTAB)), size);
    bool is_found = false;
    if (names == NULL)
        return false;
    for (size_t at = 0; at < count && !is_found; at++)
        is_found = memmem(names, (size_t)size, texts[at], strlen(texts[at])) != NULL;
    hp_memory_unmap(names, (size_t)size);
    return is_found;
}

bool hp_linkage_defines_any(const struct hp_linkage *linkage, const char *const *names, size_t count)
{
    struct hp_elf elf;
    struct hp_elf_symbols own = {.count = 0};
    bool is_found = false;
    if (hp_elf_read(&elf, linkage->fd))
        hp_elf_symbols_read(&own, &elf.header, linkage->fd);
    for (size_t at = 0; at < own.count * count && !is_found; at++)
        is_found = strcmp(hp_elf_name(&own.table, own.sorted[at / count]), names[at % count]) == 0;
    hp_elf_symbols_free(&own);
    return is_found;
}
