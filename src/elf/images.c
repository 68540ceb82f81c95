/* The process's own ELF images. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* dladdr, dl_iterate_phdr */
#include "images.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

/* Missing in glibc before 2.34 and in static programs. */
#pragma weak dladdr
#pragma weak dlsym
#pragma weak dl_iterate_phdr

static const char our_name[] = "hotpath";

struct notes {
    hp_image_visit *visit;
    void *context;
};

static size_t round_up(size_t size, size_t step) { return (size + step - 1) & ~(step - 1); }

static void follow(const ElfW(Nhdr) * note, const char *name, const char *target, const struct notes *notes)
{
    int32_t distance;
    if (note->n_namesz != sizeof our_name || note->n_descsz != sizeof distance || note->n_type != 2 ||
        memcmp(name, our_name, sizeof our_name) != 0)
        return;
    memcpy(&distance, target, sizeof distance);
    notes->visit(target + distance, notes->context);
}

static void read_notes(const char *from, size_t size, size_t step, const struct notes *notes)
{
    const char *end = from + size;
    while ((size_t)(end - from) >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)from;
        const size_t name_bytes = round_up(note->n_namesz, step);
        const size_t rest_bytes = round_up(note->n_descsz, step);
        from += sizeof *note;
        if (name_bytes > (size_t)(end - from) || rest_bytes > (size_t)(end - from) - name_bytes)
            return;
        follow(note, from, from + name_bytes, notes);
        from += name_bytes + rest_bytes;
    }
}

static int look_at(struct dl_phdr_info *object, size_t size, void *context)
{
    (void)size;
    for (size_t at = 0; at < object->dlpi_phnum; at++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[at];
        if (part->p_type == PT_NOTE)
            read_notes((const char *)(object->dlpi_addr + part->p_vaddr), part->p_memsz, part->p_align == 8 ? 8 : 4,
                       context);
    }
    return 0;
}

void hp_images_each_note(hp_image_visit *visit, void *context)
{
    struct notes notes = {visit, context};
    if (dl_iterate_phdr != NULL)
        dl_iterate_phdr(look_at, &notes);
}

struct place {
    uintptr_t address;
    size_t objects; /* objects visited */
    bool stays;
};

static bool is_in(const struct dl_phdr_info *object, uintptr_t address)
{
    for (size_t at = 0; at < object->dlpi_phnum; at++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[at];
        const uintptr_t from = object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && address >= from && address - from < part->p_memsz)
            return true;
    }
    return false;
}

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
    return is_in(&program, (uintptr_t)address);
}

/*
 * Whether a linker option (-z nodelete) marks it, as for libhotpath.so. Marking it again would cost the dynamic
 * linker an allocation that it never frees.
 */
static bool is_marked(const struct dl_phdr_info *object)
{
    for (size_t at = 0; at < object->dlpi_phnum; at++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[at];
        if (part->p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *entry = (const void *)(object->dlpi_addr + part->p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == DT_FLAGS_1 && (entry->d_un.d_val & DF_1_NODELETE))
                return true;
    }
    return false;
}

/* The first object is the program itself, which is never unloaded. Returning 1 ends the search. */
static int look_where(struct dl_phdr_info *object, size_t size, void *context)
{
    struct place *place = context;
    (void)size;
    const bool is_first = place->objects++ == 0;
    if (!is_in(object, place->address))
        return 0;
    place->stays = is_first || is_marked(object);
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
