/* The process's own ELF images, and their functions. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* dladdr, dl_iterate_phdr */
#include "images.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "elf_file.h"
#include "loaded_image.h"
#include "memory.h"
#include "process.h"
#include "raw_call.h"
#include "text.h"

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

/* ---------------------------------------------------------------------------------------------------- functions */

/*
 * Names of functions. /proc/self/maps tells which file is mapped at an address, and at which offset; the file's
 * program headers turn this into the linked address, and its symbol table has the name.
 *
 * If the path leads to another inode than the mapped one, the file may have been replaced, or the file system may
 * report other numbers than it maps; then the file's code must equal the code in memory.
 *
 * Large buffers are static, since a signal handler may get here on a small stack.
 */

#define MAX_IMAGES 256u
#define PATH_BYTES 512u
#define CODE_BYTES 16u

struct mapping {
    struct hp_map_line line;
    char path[PATH_BYTES];
};

struct image {
    struct mapping mapping; /* the range of the first lookup */
    struct stat status;     /* of the file, when it was read */
    struct hp_elf elf;
    struct hp_elf_symbols symbols;
};

static struct image *images; /* MAX_IMAGES of them */
static uint32_t image_count;

/* ----------------------------------------------------------------------------------------------- the map */

struct map_reader {
    int fd;
    size_t length, at;
    char buffer[4096];
};

/* The next line, cut to `size`. False: there are no more. */
static bool next_line(struct map_reader *reader, char *line, size_t size)
{
    size_t length = 0;
    for (;;) {
        if (reader->at == reader->length) {
            const ssize_t got = hp_sys_read(reader->fd, reader->buffer, sizeof reader->buffer);
            if (got <= 0)
                return false;
            reader->length = (size_t)got;
            reader->at = 0;
        }
        const char c = reader->buffer[reader->at++];
        if (c == '\n')
            break;
        if (length + 1 < size)
            line[length++] = c;
    }
    line[length] = '\0';
    return true;
}

/* A deleted file is identified by its former path. */
static void strip_deleted(char *path)
{
    static const char mark[] = " (deleted)";
    if (hp_text_has_suffix(path, mark))
        path[strlen(path) - (sizeof mark - 1)] = '\0';
}

static bool is_in(const struct mapping *mapping, uintptr_t address)
{
    return address >= mapping->line.start && address < mapping->line.end;
}

static uint64_t offset_of(const struct mapping *mapping, uintptr_t address)
{
    return address - mapping->line.start + mapping->line.offset;
}

static bool find_mapping(uintptr_t address, struct mapping *ret_mapping)
{
    static struct map_reader reader;
    static char text[PATH_BYTES + 100];
    bool is_found = false;
    reader.length = reader.at = 0;
    reader.fd = hp_sys_open("/proc/self/maps", O_RDONLY, 0);
    if (reader.fd < 0)
        return false;
    while (!is_found && next_line(&reader, text, sizeof text))
        is_found = hp_map_line_read(text, &ret_mapping->line, ret_mapping->path, PATH_BYTES) &&
                   ret_mapping->path[0] == '/' && is_in(ret_mapping, address);
    hp_sys_close(reader.fd);
    if (is_found)
        strip_deleted(ret_mapping->path);
    return is_found;
}

/* --------------------------------------------------------------------------------------------- the file */

/*
 * Whether the file has the code that is in memory, except for a breakpoint or two. Not all code is readable as
 * data.
 */
static bool has_code(int fd, const struct mapping *mapping, uintptr_t address)
{
    unsigned char here[CODE_BYTES], there[CODE_BYTES];
    unsigned differences = 0;
    const int memory = hp_sys_open("/proc/self/mem", O_RDONLY, 0);
    const bool is_read = memory >= 0 && hp_elf_read_at(memory, address, here, sizeof here) &&
                         hp_elf_read_at(fd, offset_of(mapping, address), there, sizeof there);
    if (memory >= 0)
        hp_sys_close(memory);
    for (size_t at = 0; is_read && at < sizeof here; at++)
        differences += here[at] != there[at];
    return is_read && differences <= 2;
}

static void read_image(struct image *image, uintptr_t address)
{
    const int fd = hp_sys_open(image->mapping.path, O_RDONLY | O_NOCTTY, 0);
    if (fd < 0)
        return;
    if (fstat(fd, &image->status) == 0 && S_ISREG(image->status.st_mode) &&
        (image->status.st_ino == image->mapping.line.inode || has_code(fd, &image->mapping, address)))
        if (hp_elf_read(&image->elf, fd))
            hp_elf_symbols_read(&image->symbols, &image->elf.header, fd);
    hp_sys_close(fd);
}

/* ---------------------------------------------------------------------------------------------- finding */

/* A file that was modified since it was read counts as another one; a deleted one is still the same. */
static bool is_unchanged(const struct image *image)
{
    struct stat now;
    if (stat(image->mapping.path, &now) != 0 || now.st_ino != image->status.st_ino)
        return true;
    return now.st_size == image->status.st_size && now.st_mtim.tv_sec == image->status.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == image->status.st_mtim.tv_nsec;
}

static struct image *known_image(const struct mapping *mapping)
{
    for (uint32_t at = image_count; at-- > 0;)
        if (images[at].mapping.line.inode == mapping->line.inode &&
            strcmp(images[at].mapping.path, mapping->path) == 0)
            return is_unchanged(&images[at]) ? &images[at] : NULL;
    return NULL;
}

static struct image *image_of(const struct mapping *mapping, uintptr_t address)
{
    struct image *image = known_image(mapping);
    if (image != NULL)
        return image;
    if (images == NULL)
        images = hp_memory_map(MAX_IMAGES * sizeof *images);
    if (images == NULL || image_count == MAX_IMAGES)
        return NULL;
    image = &images[image_count];
    memset(image, 0, sizeof *image);
    image->mapping = *mapping;
    read_image(image, address);
    __atomic_store_n(&image_count, image_count + 1, __ATOMIC_RELEASE);
    return image;
}

/* The function at that address, and the linked address of that place. */
static const ElfW(Sym) *
    symbol_in(const struct image *image, const struct mapping *mapping, uintptr_t address, uint64_t *ret_linked)
{
    if (!hp_elf_linked(&image->elf, offset_of(mapping, address), ret_linked))
        return NULL;
    const ElfW(Sym) *symbol = hp_elf_function(&image->symbols, *ret_linked);
    return symbol != NULL && hp_elf_name(&image->symbols.table, symbol)[0] != '\0' ? symbol : NULL;
}

/*
 * A function that begins at the address in a known image: most likely the image is still there, which saves reading
 * the map again. (hp_symbols_forget is called when one was closed.)
 */
static const ElfW(Sym) * symbol_where_it_was(uintptr_t address, struct image **ret_image, uint64_t *ret_linked)
{
    for (uint32_t at = image_count; at-- > 0;) {
        struct image *image = &images[at];
        if (!is_in(&image->mapping, address))
            continue;
        const ElfW(Sym) *symbol = symbol_in(image, &image->mapping, address, ret_linked);
        if (symbol != NULL && hp_elf_start(symbol) == *ret_linked) {
            *ret_image = image;
            return symbol;
        }
    }
    return NULL;
}

bool hp_symbol_find(uintptr_t address, struct hp_symbol *ret_symbol)
{
    static struct mapping mapping;
    struct image *image;
    uint64_t linked;
#if defined(__arm__)
    address &= ~(uintptr_t)1; /* the lowest bit marks Thumb code */
#endif
    const ElfW(Sym) *symbol = symbol_where_it_was(address, &image, &linked);
    if (symbol == NULL) {
        image = find_mapping(address, &mapping) ? image_of(&mapping, address) : NULL;
        symbol = image != NULL ? symbol_in(image, &mapping, address, &linked) : NULL;
    }
    if (symbol == NULL)
        return false;
    ret_symbol->name = hp_elf_name(&image->symbols.table, symbol);
    ret_symbol->file = hp_elf_source(&image->symbols, symbol);
    ret_symbol->image = image->mapping.path;
    ret_symbol->address = linked;
    return true;
}

void hp_symbols_forget(const struct hp_image_ranges *loaded)
{
    for (uint32_t at = 0; at < image_count; at++)
        if (!hp_images_have(loaded, (uintptr_t)images[at].mapping.line.start))
            images[at].mapping.line.start = images[at].mapping.line.end = 0;
}

bool hp_symbol_image(uintptr_t address, const char **ret_path, uint64_t *ret_offset)
{
    static struct mapping mapping;
    if (!find_mapping(address, &mapping))
        return false;
    *ret_path = mapping.path;
    *ret_offset = offset_of(&mapping, address);
    return true;
}
