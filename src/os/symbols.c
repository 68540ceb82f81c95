/*
 * Names of functions. /proc/self/maps says which file is mapped at an address, and where in the file that is; the file's
 * program headers turn this into the address the linker gave it, and its symbol table has the name.
 *
 * A file is believed only if it has the code that is in memory (inodes would not do: some file systems show others than
 * they map), and every offset in it is checked: it may be replaced, cut, or odd. SPDX-License-Identifier: MIT
 */
#include "symbols.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "memory.h"
#include "sort.h"
#include "sys.h"

#define MAX_IMAGES 256u
#define PATH_BYTES 512u

/* One line of the map: a range of addresses and where in its file that begins. */
struct mapping {
    uintptr_t from, to;
    uint64_t offset;
    uint64_t inode;
    char path[PATH_BYTES];
};

struct image {
    struct mapping mapping; /* the range that was asked for first */
    const unsigned char *bytes;
    size_t size;
    const char *names; /* the table of strings */
    size_t names_size;
    const ElfW(Sym) * symbols; /* as they are in the file */
    const ElfW(Sym) * *sorted; /* functions by address */
    size_t count;
};

static struct image *images; /* MAX_IMAGES of them */
static uint32_t image_count;

/* ----------------------------------------------------------------------------------------------- the map */

static const char *read_hex(const char *at, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (;; at++) {
        const char c = *at;
        if (c >= '0' && c <= '9')
            number = number * 16 + (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            number = number * 16 + (uint64_t)(c - 'a' + 10);
        else
            break;
    }
    *ret_number = number;
    return at;
}

/* "from-to rwxp offset major:minor inode   path", without its end. */
static bool read_line(const char *line, struct mapping *ret_mapping)
{
    uint64_t from, to, device;
    const char *at = read_hex(line, &from);
    at = *at == '-' ? read_hex(at + 1, &to) : NULL;
    if (at == NULL || *at != ' ')
        return false;
    at = strchr(at + 1, ' ');
    if (at == NULL)
        return false;
    at = read_hex(at + 1, &ret_mapping->offset);
    at = read_hex(at + 1, &device);
    at = read_hex(at + 1, &device);
    uint64_t inode = 0;
    for (at++; *at >= '0' && *at <= '9'; at++)
        inode = inode * 10 + (uint64_t)(*at - '0');
    at += strspn(at, " ");
    const size_t length = strlen(at);
    if (*at != '/' || length >= PATH_BYTES)
        return false;
    ret_mapping->from = (uintptr_t)from;
    ret_mapping->to = (uintptr_t)to;
    ret_mapping->inode = inode;
    memcpy(ret_mapping->path, at, length + 1);
    return true;
}

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

static bool find_mapping(uintptr_t address, struct mapping *ret_mapping)
{
    struct map_reader reader = {.fd = hp_sys_open("/proc/self/maps", O_RDONLY, 0)};
    char line[PATH_BYTES + 100];
    bool is_found = false;
    if (reader.fd < 0)
        return false;
    while (!is_found && next_line(&reader, line, sizeof line))
        is_found = read_line(line, ret_mapping) && address >= ret_mapping->from && address < ret_mapping->to;
    hp_sys_close(reader.fd);
    return is_found;
}

/* --------------------------------------------------------------------------------------------- the file */

static const void *at_offset(const struct image *image, uint64_t offset, uint64_t size)
{
    return offset <= image->size && size <= image->size - offset ? image->bytes + offset : NULL;
}

static const ElfW(Shdr) * section(const struct image *image, size_t index)
{
    const ElfW(Ehdr) *header = at_offset(image, 0, sizeof *header);
    if (index >= header->e_shnum || header->e_shentsize != sizeof(ElfW(Shdr)))
        return NULL;
    return at_offset(image, header->e_shoff + index * sizeof(ElfW(Shdr)), sizeof(ElfW(Shdr)));
}

static bool is_elf(const struct image *image)
{
    const ElfW(Ehdr) *header = at_offset(image, 0, sizeof *header);
    return header != NULL && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32);
}

/* The table of all symbols; of a stripped file that of the exported ones. */
static const ElfW(Shdr) * symbol_section(const struct image *image)
{
    const ElfW(Shdr) *best = NULL;
    for (size_t index = 0; section(image, index) != NULL; index++) {
        const ElfW(Shdr) *one = section(image, index);
        if (one->sh_type == SHT_SYMTAB || (one->sh_type == SHT_DYNSYM && best == NULL))
            best = one;
    }
    return best;
}

static bool is_function(const ElfW(Sym) * symbol)
{
    const unsigned type = symbol->st_info & 15;
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF;
}

/* Of several names of one function a global one comes last, which is the one that is found. */
static int compare_symbols(const void *a, const void *b)
{
    const ElfW(Sym) *x = a, *y = b;
    if (x->st_value != y->st_value)
        return x->st_value < y->st_value ? -1 : 1;
    const unsigned xb = x->st_info >> 4, yb = y->st_info >> 4;
    if ((xb == STB_GLOBAL) != (yb == STB_GLOBAL))
        return xb == STB_GLOBAL ? 1 : -1;
    return x == y ? 0 : x < y ? -1 : 1;
}

static void sort_symbols(struct image *image, size_t total)
{
    image->sorted = hp_memory_map((total + 1) * sizeof(const ElfW(Sym) *));
    if (image->sorted == NULL)
        return;
    for (size_t at = 0; at < total; at++)
        if (is_function(&image->symbols[at]))
            image->sorted[image->count++] = &image->symbols[at];
    hp_sort(image->sorted, image->count, compare_symbols);
}

static void read_symbols(struct image *image)
{
    const ElfW(Shdr) *table = is_elf(image) ? symbol_section(image) : NULL;
    const ElfW(Shdr) *strings = table != NULL ? section(image, table->sh_link) : NULL;
    if (strings == NULL || table->sh_entsize != sizeof(ElfW(Sym)))
        return;
    image->names = at_offset(image, strings->sh_offset, strings->sh_size);
    image->names_size = strings->sh_size;
    image->symbols = at_offset(image, table->sh_offset, table->sh_size);
    /* The last byte ends the last name. */
    if (image->names == NULL || image->symbols == NULL || image->names_size == 0 ||
        image->names[image->names_size - 1] != '\0')
        return;
    sort_symbols(image, table->sh_size / sizeof(ElfW(Sym)));
}

static void map_file(struct image *image)
{
    struct stat status;
    const int fd = hp_sys_open(image->mapping.path, O_RDONLY | O_NOCTTY, 0);
    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            image->bytes = bytes;
            image->size = (size_t)status.st_size;
        }
    }
    hp_sys_close(fd);
}

/* ---------------------------------------------------------------------------------------------- finding */

static struct image *known_image(const struct mapping *mapping)
{
    for (uint32_t at = 0; at < image_count; at++)
        if (images[at].mapping.inode == mapping->inode && strcmp(images[at].mapping.path, mapping->path) == 0)
            return &images[at];
    return NULL;
}

static struct image *image_of(const struct mapping *mapping)
{
    struct image *image = known_image(mapping);
    if (image != NULL)
        return image;
    if (images == NULL)
        images = hp_memory_map(MAX_IMAGES * sizeof *images);
    if (images == NULL || image_count == MAX_IMAGES)
        return NULL;
    image = &images[image_count++];
    image->mapping = *mapping;
    map_file(image);
    if (image->bytes != NULL)
        read_symbols(image);
    return image;
}

/* Whether the file has the code that is in memory. */
static bool is_mapped_here(const struct image *image, const struct mapping *mapping, uintptr_t address)
{
    const size_t size = mapping->to - address < 16 ? mapping->to - address : 16;
    const void *code = at_offset(image, address - mapping->from + mapping->offset, size);
    return code != NULL && memcmp(code, (const void *)address, size) == 0;
}

/* An image in whose range the address was before, if its code still is there; saves looking at the map again. */
static struct image *image_around(uintptr_t address, struct mapping *ret_mapping)
{
    for (uint32_t at = 0; at < image_count; at++) {
        struct image *image = &images[at];
        if (address >= image->mapping.from && address < image->mapping.to &&
            is_mapped_here(image, &image->mapping, address)) {
            *ret_mapping = image->mapping;
            return image;
        }
    }
    return NULL;
}

/* The address that the linker gave to what lies there in the file. */
static bool linked_address(const struct image *image, uint64_t offset, uint64_t *ret_address)
{
    const ElfW(Ehdr) *header = at_offset(image, 0, sizeof *header);
    for (size_t at = 0; at < header->e_phnum; at++) {
        const ElfW(Phdr) *part = at_offset(image, header->e_phoff + at * sizeof *part, sizeof *part);
        if (part != NULL && part->p_type == PT_LOAD && offset >= part->p_offset &&
            offset - part->p_offset < part->p_filesz) {
            *ret_address = offset - part->p_offset + part->p_vaddr;
            return true;
        }
    }
    return false;
}

static uint64_t start_of(const ElfW(Sym) * symbol)
{
#if defined(__arm__)
    return symbol->st_value & ~UINT64_C(1);
#else
    return symbol->st_value;
#endif
}

/* The last function that begins at or before the address, if it reaches that far. */
static const ElfW(Sym) * symbol_at(const struct image *image, uint64_t address)
{
    size_t low = 0, high = image->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (start_of(image->sorted[middle]) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    const ElfW(Sym) *symbol = image->sorted[low - 1];
    const uint64_t into = address - start_of(symbol);
    return into == 0 || into < symbol->st_size ? symbol : NULL;
}

static const char *name_of(const struct image *image, const ElfW(Sym) * symbol)
{
    return symbol->st_name < image->names_size ? image->names + symbol->st_name : "";
}

/* Static functions stand behind the name of their source. */
static const char *file_of(const struct image *image, const ElfW(Sym) * symbol)
{
    if (symbol->st_info >> 4 != STB_LOCAL)
        return "";
    for (const ElfW(Sym) *at = symbol; at >= image->symbols; at--)
        if ((at->st_info & 15) == STT_FILE)
            return name_of(image, at);
    return "";
}

bool hp_symbol_find(uintptr_t address, struct hp_symbol *ret_symbol)
{
    struct mapping mapping;
    uint64_t linked;
#if defined(__arm__)
    address &= ~(uintptr_t)1; /* tells the kind of code */
#endif
    struct image *image = image_around(address, &mapping);
    if (image == NULL && find_mapping(address, &mapping))
        image = image_of(&mapping);
    if (image == NULL || image->count == 0 || !is_mapped_here(image, &mapping, address) ||
        !linked_address(image, address - mapping.from + mapping.offset, &linked))
        return false;
    const ElfW(Sym) *symbol = symbol_at(image, linked);
    if (symbol == NULL || name_of(image, symbol)[0] == '\0')
        return false;
    ret_symbol->name = name_of(image, symbol);
    ret_symbol->file = file_of(image, symbol);
    return true;
}

bool hp_symbol_image(uintptr_t address, const char **ret_path, uint64_t *ret_offset)
{
    struct mapping mapping;
    struct image *image = find_mapping(address, &mapping) ? image_of(&mapping) : NULL;
    if (image == NULL)
        return false;
    *ret_path = image->mapping.path;
    *ret_offset = address - mapping.from + mapping.offset;
    return true;
}
