/* An ELF file. SPDX-License-Identifier: MIT */
#include "elf_file.h"

#include <errno.h>
#include <string.h>

#include "memory.h"
#include "raw_call.h"

#define MAX_TABLE (UINT64_C(1) << 30)

bool hp_elf_read_at(int fd, uint64_t offset, void *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t got = pread(fd, (char *)bytes + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

void *hp_elf_copy(int fd, uint64_t offset, uint64_t size)
{
    void *bytes = size > 0 && size <= MAX_TABLE ? hp_memory_map((size_t)size) : NULL;
    if (bytes != NULL && !hp_elf_read_at(fd, offset, bytes, (size_t)size)) {
        hp_memory_unmap(bytes, (size_t)size);
        return NULL;
    }
    return bytes;
}

/* The last text ends, whatever the file says. */
char *hp_elf_copy_texts(int fd, const ElfW(Shdr) * section, size_t *ret_size)
{
    char *texts = hp_elf_copy(fd, section->sh_offset, section->sh_size);
    *ret_size = texts != NULL ? (size_t)section->sh_size : 0;
    if (texts != NULL)
        texts[*ret_size - 1] = '\0';
    return texts;
}

bool hp_elf_section(const ElfW(Ehdr) * header, int fd, size_t index, ElfW(Shdr) * ret_section)
{
    return index < header->e_shnum &&
           hp_elf_read_at(fd, header->e_shoff + index * sizeof *ret_section, ret_section, sizeof *ret_section);
}

bool hp_elf_part_header(const ElfW(Ehdr) * header, int fd, size_t index, ElfW(Phdr) * ret_part)
{
    return index < header->e_phnum &&
           hp_elf_read_at(fd, header->e_phoff + index * sizeof *ret_part, ret_part, sizeof *ret_part);
}

bool hp_elf_read_header(int fd, ElfW(Ehdr) * ret_header)
{
    return hp_elf_read_at(fd, 0, ret_header, sizeof *ret_header) &&
           memcmp(ret_header->e_ident, ELFMAG, SELFMAG) == 0;
}

static bool has_own_form(const ElfW(Ehdr) * header)
{
    return header->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
           header->e_phentsize == sizeof(ElfW(Phdr)) && header->e_shentsize == sizeof(ElfW(Shdr));
}

static void read_parts(struct hp_elf *elf, int fd)
{
    ElfW(Phdr) part;
    elf->part_count = 0;
    for (size_t at = 0; elf->part_count < HP_ELF_PARTS && hp_elf_part_header(&elf->header, fd, at, &part); at++)
        if (part.p_type == PT_LOAD)
            elf->parts[elf->part_count++] =
                (struct hp_elf_part){part.p_offset, part.p_filesz, part.p_vaddr, (part.p_flags & PF_X) != 0};
}

bool hp_elf_read(struct hp_elf *elf, int fd)
{
    if (!hp_elf_read_header(fd, &elf->header) || !has_own_form(&elf->header))
        return false;
    read_parts(elf, fd);
    return true;
}

bool hp_elf_linked(const struct hp_elf *elf, uint64_t offset, uint64_t *ret_address)
{
    for (size_t at = 0; at < elf->part_count; at++) {
        const struct hp_elf_part *part = &elf->parts[at];
        if (offset >= part->offset && offset - part->offset < part->size) {
            *ret_address = offset - part->offset + part->linked;
            return true;
        }
    }
    return false;
}

/* Header, name and value. The last two are padded to a multiple of four bytes. */
const char *hp_elf_note_at(const char *at, const char *end, struct hp_elf_note *ret_note)
{
    ElfW(Nhdr) head;
    const uint64_t left = (uint64_t)(end - at);
    if (left < sizeof head)
        return NULL;
    memcpy(&head, at, sizeof head);
    const uint64_t value_at = sizeof head + ((uint64_t)head.n_namesz + 3) / 4 * 4;
    const uint64_t size = (value_at + head.n_descsz + 3) / 4 * 4;
    if (value_at + head.n_descsz > left)
        return NULL;
    *ret_note = (struct hp_elf_note){.type = head.n_type,
                                     .name = at + sizeof head,
                                     .name_size = head.n_namesz,
                                     .value = at + value_at,
                                     .size = head.n_descsz};
    return size < left ? at + size : end;
}

bool hp_elf_note_is(const struct hp_elf_note *note, const char *name, uint32_t type)
{
    return note->type == type && note->name_size == strlen(name) + 1 &&
           memcmp(note->name, name, note->name_size) == 0;
}
