/* The process's own ELF images. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* dladdr, dl_iterate_phdr */
#include "images.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/auxv.h>

#include "elf_file.h"
#include "loaded_image.h"

/* Missing in glibc before 2.34 and in static programs. */
#pragma weak dladdr
#pragma weak dlsym
#pragma weak dl_iterate_phdr

struct notes {
    hp_image_visit *visit;
    void *context;
};

static void read_notes(const char *at, const char *end, const struct notes *notes)
{
    struct hp_elf_note note;
    int32_t distance;
    while ((at = hp_elf_note_at(at, end, &note)) != NULL)
        if (hp_elf_note_is(&note, "hotpath", 2) && note.size == sizeof distance) {
            memcpy(&distance, note.value, sizeof distance);
            notes->visit(note.value + distance, notes->context);
        }
}

static int look_at(struct dl_phdr_info *image, size_t size, void *context)
{
    (void)size;
    for (const ElfW(Phdr) *part = image->dlpi_phdr; part < image->dlpi_phdr + image->dlpi_phnum; part++)
        if (part->p_type == PT_NOTE) {
            const char *from = (const char *)hp_loaded_start(image, part);
            read_notes(from, from + part->p_memsz, context);
        }
    return 0;
}

void hp_images_each_note(hp_image_visit *visit, void *context)
{
    struct notes notes = {visit, context};
    if (dl_iterate_phdr != NULL)
        dl_iterate_phdr(look_at, &notes);
}

/* --------------------------------------------------------------------------------------- what is loaded now */

static int list_one(struct dl_phdr_info *image, size_t size, void *context)
{
    struct hp_image_ranges *ranges = context;
    uintptr_t from = UINTPTR_MAX, to = 0;
    (void)size;
    for (const ElfW(Phdr) *part = image->dlpi_phdr; part < image->dlpi_phdr + image->dlpi_phnum; part++) {
        const uintptr_t start = hp_loaded_start(image, part);
        if (part->p_type != PT_LOAD)
            continue;
        from = start < from ? start : from;
        to = start + part->p_memsz > to ? start + part->p_memsz : to;
    }
    if (ranges->count < HP_IMAGES) {
        ranges->all[ranges->count].from = from;
        ranges->all[ranges->count++].to = to;
    }
    return 0;
}

void hp_images_list(struct hp_image_ranges *ret_ranges)
{
    ret_ranges->count = 0;
    if (dl_iterate_phdr != NULL)
        dl_iterate_phdr(list_one, ret_ranges);
}

bool hp_images_have(const struct hp_image_ranges *ranges, uintptr_t address)
{
    for (uint32_t at = 0; at < ranges->count; at++)
        if (address >= ranges->all[at].from && address < ranges->all[at].to)
            return true;
    return false;
}

static int read_unloaded(struct dl_phdr_info *image, size_t size, void *unloaded)
{
    (void)size;
    *(uint64_t *)unloaded = image->dlpi_subs;
    return 1;
}

uint64_t hp_images_unloaded(void)
{
    uint64_t unloaded = 0;
    if (dl_iterate_phdr != NULL)
        dl_iterate_phdr(read_unloaded, &unloaded);
    return unloaded;
}

/* ------------------------------------------------------------------------------------------------------- places */

struct place {
    uintptr_t address;
    size_t images; /* images visited */
    bool stays;
};

/*
 * The load bias of the program: the difference between the address of its headers, as given by the kernel, and
 * their linked address. Static programs do not record the latter, but linkers put the headers right after the file
 * header.
 */
static uintptr_t distance_of(const ElfW(Phdr) * parts, size_t count)
{
    uintptr_t wanted = (uintptr_t)parts;
    for (size_t at = 0; at < count; at++) {
        if (parts[at].p_type == PT_PHDR)
            return (uintptr_t)parts - parts[at].p_vaddr;
        if (parts[at].p_type == PT_LOAD && parts[at].p_offset == 0)
            wanted = parts[at].p_vaddr + sizeof(ElfW(Ehdr));
    }
    return (uintptr_t)parts - wanted;
}

bool hp_image_is_program(const void *address)
{
    const ElfW(Phdr) *parts = (const void *)getauxval(AT_PHDR);
    const size_t count = parts != NULL ? getauxval(AT_PHNUM) : 0;
    const struct dl_phdr_info program = {
        .dlpi_addr = distance_of(parts, count), .dlpi_phdr = parts, .dlpi_phnum = (ElfW(Half))count};
    return hp_loaded_segment(&program, PT_LOAD, (uintptr_t)address) != NULL;
}

/*
 * Whether a linker option (-z nodelete) marks it, as for libhotpath.so. Marking it again would cost the dynamic
 * linker an allocation that it never frees.
 */
static bool is_marked(const struct dl_phdr_info *image)
{
    const ElfW(Dyn) *entry = hp_loaded_dynamic(image);
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_FLAGS_1 && (entry->d_un.d_val & DF_1_NODELETE))
            return true;
    return false;
}

/* The first image is the program itself, which is never unloaded. Returning 1 ends the search. */
static int look_where(struct dl_phdr_info *image, size_t size, void *context)
{
    struct place *place = context;
    (void)size;
    const bool is_first = place->images++ == 0;
    if (hp_loaded_segment(image, PT_LOAD, place->address) == NULL)
        return 0;
    place->stays = is_first || is_marked(image);
    return 1;
}

/* Looked up by name: a direct reference makes linkers warn about static programs, although none ever gets here. */
static void reopen(const char *path, int flags)
{
    union {
        void *object;
        void *(*function)(const char *path, int flags);
    } open = {dlsym != NULL ? dlsym(RTLD_DEFAULT, "dlopen") : NULL};
    if (open.object != NULL)
        open.function(path, flags);
}

void hp_image_stay_loaded(const void *address)
{
    struct place place = {.address = (uintptr_t)address, .stays = dl_iterate_phdr == NULL};
    Dl_info object;
    if (dl_iterate_phdr != NULL)
        dl_iterate_phdr(look_where, &place);
    if (!place.stays && dladdr != NULL && dladdr(address, &object) != 0 && object.dli_fname != NULL)
        reopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
