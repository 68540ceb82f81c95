/* An open program or library file. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* memfd_create */
#include "image_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_file.h"
#include "memory.h"

/* ------------------------------------------------------------------------------------------------------ linkage */

/*
 * How a program or library is linked.
 */

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

/* --------------------------------------------------------------------------------------------------- image file */

#define LARGEST_VDSO (1u << 20)
#define MOST_NOTES 4096u /* bytes of a note section that are read */

/* -------------------------------------------------------------------------------------------- sections */

static void read_sections(struct hp_image_file *file)
{
    const ElfW(Ehdr) *header = &file->elf.header;
    file->sections = hp_elf_copy(file->fd, header->e_shoff, header->e_shnum * sizeof *file->sections);
    file->section_count = file->sections != NULL ? header->e_shnum : 0;
}

bool hp_image_file_section_at(const struct hp_image_file *file, size_t index, ElfW(Shdr) * ret_section)
{
    if (index >= file->section_count)
        return false;
    *ret_section = file->sections[index];
    return true;
}

static void read_section_names(struct hp_image_file *file)
{
    ElfW(Shdr) names;
    if (!hp_image_file_section_at(file, file->elf.header.e_shstrndx, &names))
        return;
    file->section_names = hp_elf_copy_texts(file->fd, &names, &file->section_names_size);
}

static bool is_named(const struct hp_image_file *file, const ElfW(Shdr) * section, const char *name)
{
    return section->sh_name < file->section_names_size && strcmp(file->section_names + section->sh_name, name) == 0;
}

bool hp_image_file_section(const struct hp_image_file *file, const char *name, ElfW(Shdr) * ret_section)
{
    for (size_t index = 1; hp_image_file_section_at(file, index, ret_section); index++)
        if (ret_section->sh_type != SHT_NOBITS && is_named(file, ret_section, name))
            return true;
    return false;
}

void *hp_image_file_copy(const struct hp_image_file *file, const char *name, ElfW(Shdr) * ret_section)
{
    if (!hp_image_file_section(file, name, ret_section) || (ret_section->sh_flags & SHF_COMPRESSED))
        return NULL;
    return hp_elf_copy(file->fd, ret_section->sh_offset, ret_section->sh_size);
}

/* --------------------------------------------------------------------------------------------- build-id */

static bool build_id_at(struct hp_image_file *file, uint64_t offset, uint64_t size)
{
    char bytes[MOST_NOTES];
    const size_t length = size < sizeof bytes ? (size_t)size : sizeof bytes;
    struct hp_elf_note note;
    const char *at = hp_elf_read_at(file->fd, offset, bytes, length) ? bytes : NULL;
    while (at != NULL && (at = hp_elf_note_at(at, bytes + length, &note)) != NULL)
        if (hp_elf_note_is(&note, "GNU", NT_GNU_BUILD_ID)) {
            file->build_id.size = note.size < HP_BUILD_ID_MOST ? note.size : HP_BUILD_ID_MOST;
            memcpy(file->build_id.bytes, note.value, file->build_id.size);
            return file->build_id.size > 0;
        }
    return false;
}

/* By the program headers. Those of a debug file lead nowhere, so the sections are tried, too. */
static void read_build_id(struct hp_image_file *file)
{
    ElfW(Shdr) section;
    ElfW(Phdr) part;
    if (hp_image_file_section(file, ".note.gnu.build-id", &section) &&
        build_id_at(file, section.sh_offset, section.sh_size))
        return;
    for (size_t at = 0; hp_elf_part_header(&file->elf.header, file->fd, at, &part); at++)
        if (part.p_type == PT_NOTE && build_id_at(file, part.p_offset, part.p_filesz))
            return;
}

void hp_build_id_put(const struct hp_build_id *id, char text[HP_BUILD_ID_TEXT])
{
    text[0] = '\0';
    for (size_t at = 0; at < id->size && at < HP_BUILD_ID_MOST; at++)
        snprintf(text + 2 * at, 3, "%02x", id->bytes[at]);
}

bool hp_build_id_equal(const struct hp_build_id *a, const struct hp_build_id *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* ------------------------------------------------------------------------------------------------ files */

int hp_image_file_open_vdso(void)
{
    const ElfW(Ehdr) *header =
        (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR); /* NOLINT(performance-no-int-to-ptr) */
    const size_t size = header == NULL ? 0 : header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    if (size == 0 || size > LARGEST_VDSO)
        return -1;
    const int fd = memfd_create("vdso", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, header, size) != (ssize_t)size) {
        close(fd);
        return -1;
    }
    return fd;
}

bool hp_image_file_read(struct hp_image_file *file, int fd)
{
    *file = (struct hp_image_file){.fd = fd};
    if (!hp_elf_read(&file->elf, fd)) {
        hp_image_file_close(file);
        return false;
    }
    read_sections(file);
    read_section_names(file);
    read_build_id(file);
    return true;
}

void hp_image_file_close(struct hp_image_file *file)
{
    if (file->sections != NULL)
        hp_memory_unmap(file->sections, file->section_count * sizeof *file->sections);
    if (file->section_names != NULL)
        hp_memory_unmap(file->section_names, file->section_names_size);
    if (file->fd >= 0)
        close(file->fd);
    *file = (struct hp_image_file){.fd = -1};
}

/* The name, its zero, up to three more, and the CRC. */
bool hp_image_file_debug_link(const struct hp_image_file *file, char *name, size_t size, uint32_t *ret_sum)
{
    uint8_t bytes[1024];
    ElfW(Shdr) section;
    if (!hp_image_file_section(file, ".gnu_debuglink", &section) || section.sh_size > sizeof bytes ||
        !hp_elf_read_at(file->fd, section.sh_offset, bytes, (size_t)section.sh_size))
        return false;
    const size_t length = strnlen((const char *)bytes, (size_t)section.sh_size), sum = (length + 4) / 4 * 4;
    if (length == 0 || length >= size || sum + 4 > section.sh_size || memchr(bytes, '/', length) != NULL)
        return false;
    memcpy(name, bytes, length + 1);
    memcpy(ret_sum, bytes + sum, sizeof *ret_sum);
    return true;
}

bool hp_image_file_bias(const struct hp_image_file *file, uint64_t offset, uint64_t size, uint64_t *ret_bias)
{
    for (size_t at = 0; at < file->elf.part_count; at++) {
        const struct hp_elf_part *part = &file->elf.parts[at];
        if (part->is_code && part->offset < offset + size && part->offset + part->size > offset) {
            *ret_bias = part->linked - part->offset;
            return true;
        }
    }
    return false;
}
