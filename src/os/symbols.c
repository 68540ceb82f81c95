/*
 * Names of functions. /proc/self/maps says which file is mapped at an address, and where in the file that is; the file's
 * program headers turn this into the address the linker gave it, and its symbol table has the name.
 *
 * The tables are copied: a mapping of the file would fault when somebody shortens it. Nothing in the file is believed
 * before it is checked. Where the path leads to another inode than is mapped, the file may have been replaced, or the file
 * system may show other numbers than it maps; then its code has to be the one in memory.
 *
 * All that is large is static, since a signal handler may come here on a small stack. SPDX-License-Identifier: MIT
 */
#include "symbols.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "memory.h"
#include "sort.h"
#include "sys.h"
#include "text.h"

#define MAX_IMAGES 256u
#define MAX_PARTS 16u /* loaded segments of a file; there are four or five */
#define MAX_TABLE (UINT64_C(1) << 30)
#define PATH_BYTES 512u
#define CODE_BYTES 16u

/* One line of the map: a range of addresses and where in its file that begins. */
struct mapping {
    uintptr_t from, to;
    uint64_t offset;
    uint64_t inode;
    char path[PATH_BYTES];
};

/* A segment: where it is in the file, and where the linker put it. */
struct part {
    uint64_t offset, size, linked;
};

struct image {
    struct mapping mapping; /* the range that was asked for first */
    struct stat status;     /* of the file, when it was read */
    struct part parts[MAX_PARTS];
    size_t part_count;
    char *names; /* the table of strings */
    size_t names_size;
    ElfW(Sym) * symbols; /* as they are in the file */
    ElfW(Sym) * *sorted; /* functions by address */
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

/* A file that is no longer where it was is known by the path it had. */
static void strip_deleted(char *path)
{
    static const char mark[] = " (deleted)";
    if (hp_text_has_suffix(path, mark))
        path[strlen(path) - (sizeof mark - 1)] = '\0';
}

static bool find_mapping(uintptr_t address, struct mapping *ret_mapping)
{
    static struct map_reader reader;
    static char line[PATH_BYTES + 100];
    bool is_found = false;
    reader.length = reader.at = 0;
    reader.fd = hp_sys_open("/proc/self/maps", O_RDONLY, 0);
    if (reader.fd < 0)
        return false;
    while (!is_found && next_line(&reader, line, sizeof line))
        is_found = read_line(line, ret_mapping) && address >= ret_mapping->from && address < ret_mapping->to;
    hp_sys_close(reader.fd);
    if (is_found)
        strip_deleted(ret_mapping->path);
    return is_found;
}

/* --------------------------------------------------------------------------------------------- the file */

static bool read_at(int fd, uint64_t offset, void *bytes, size_t size)
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

/* A piece of the file in memory of our own; NULL when it is not there. */
static void *copy_of(int fd, uint64_t offset, uint64_t size)
{
    void *bytes = size > 0 && size <= MAX_TABLE ? hp_memory_map((size_t)size) : NULL;
    if (bytes != NULL && !read_at(fd, offset, bytes, (size_t)size)) {
        hp_memory_unmap(bytes, (size_t)size);
        return NULL;
    }
    return bytes;
}

static bool read_header(int fd, ElfW(Ehdr) * ret_header)
{
    return read_at(fd, 0, ret_header, sizeof *ret_header) && memcmp(ret_header->e_ident, ELFMAG, SELFMAG) == 0 &&
           ret_header->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
           ret_header->e_phentsize == sizeof(ElfW(Phdr)) && ret_header->e_shentsize == sizeof(ElfW(Shdr));
}

static void read_parts(struct image *image, int fd, const ElfW(Ehdr) * header)
{
    ElfW(Phdr) part;
    for (size_t at = 0; at < header->e_phnum && image->part_count < MAX_PARTS; at++)
        if (read_at(fd, header->e_phoff + at * sizeof part, &part, sizeof part) && part.p_type == PT_LOAD)
            image->parts[image->part_count++] = (struct part){part.p_offset, part.p_filesz, part.p_vaddr};
}

static bool read_section(int fd, const ElfW(Ehdr) * header, size_t index, ElfW(Shdr) * ret_section)
{
    return index < header->e_shnum &&
           read_at(fd, header->e_shoff + index * sizeof *ret_section, ret_section, sizeof *ret_section);
}

/* The table of all symbols; of a stripped file that of the exported ones. */
static bool find_table(int fd, const ElfW(Ehdr) * header, ElfW(Shdr) * ret_table)
{
    ElfW(Shdr) section;
    bool is_found = false;
    for (size_t index = 0; read_section(fd, header, index, &section); index++)
        if (section.sh_type == SHT_SYMTAB || (section.sh_type == SHT_DYNSYM && !is_found)) {
            *ret_table = section;
            is_found = true;
        }
    return is_found && ret_table->sh_entsize == sizeof(ElfW(Sym));
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

/* `count` comes last: a child that is forked meanwhile finds a table that is sorted, or none. */
static void sort_symbols(struct image *image, size_t total)
{
    size_t count = 0;
    image->sorted = hp_memory_map((total + 1) * sizeof(ElfW(Sym) *));
    if (image->sorted == NULL)
        return;
    for (size_t at = 0; at < total; at++)
        if (is_function(&image->symbols[at]))
            image->sorted[count++] = &image->symbols[at];
    hp_sort(image->sorted, count, compare_symbols);
    __atomic_store_n(&image->count, count, __ATOMIC_RELEASE);
}

static void read_symbols(struct image *image, int fd, const ElfW(Ehdr) * header)
{
    ElfW(Shdr) table = {0}, strings;
    if (!find_table(fd, header, &table) || !read_section(fd, header, table.sh_link, &strings))
        return;
    image->names = copy_of(fd, strings.sh_offset, strings.sh_size);
    image->symbols = copy_of(fd, table.sh_offset, table.sh_size);
    if (image->names == NULL || image->symbols == NULL)
        return;
    image->names_size = strings.sh_size;
    image->names[image->names_size - 1] = '\0'; /* ends the last name, whatever the file says */
    sort_symbols(image, table.sh_size / sizeof(ElfW(Sym)));
}

/* Whether the file has the code that is in memory, but for a breakpoint or two. Not every code may be read as data. */
static bool has_code(int fd, const struct mapping *mapping, uintptr_t address)
{
    unsigned char here[CODE_BYTES], there[CODE_BYTES];
    unsigned differences = 0;
    const int memory = hp_sys_open("/proc/self/mem", O_RDONLY, 0);
    const bool is_read = memory >= 0 && read_at(memory, address, here, sizeof here) &&
                         read_at(fd, address - mapping->from + mapping->offset, there, sizeof there);
    if (memory >= 0)
        hp_sys_close(memory);
    for (size_t at = 0; is_read && at < sizeof here; at++)
        differences += here[at] != there[at];
    return is_read && differences <= 2;
}

static void read_image(struct image *image, uintptr_t address)
{
    ElfW(Ehdr) header;
    const int fd = hp_sys_open(image->mapping.path, O_RDONLY | O_NOCTTY, 0);
    if (fd < 0)
        return;
    if (fstat(fd, &image->status) == 0 && S_ISREG(image->status.st_mode) && read_header(fd, &header) &&
        (image->status.st_ino == image->mapping.inode || has_code(fd, &image->mapping, address))) {
        read_parts(image, fd, &header);
        read_symbols(image, fd, &header);
    }
    hp_sys_close(fd);
}

/* ---------------------------------------------------------------------------------------------- finding */

/* A file that was written to since it was read is another one; one that is gone is still what it was. */
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
        if (images[at].mapping.inode == mapping->inode && strcmp(images[at].mapping.path, mapping->path) == 0)
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

/* The address that the linker gave to what lies there in the file. */
static bool linked_address(const struct image *image, uint64_t offset, uint64_t *ret_address)
{
    for (size_t at = 0; at < image->part_count; at++) {
        const struct part *part = &image->parts[at];
        if (offset >= part->offset && offset - part->offset < part->size) {
            *ret_address = offset - part->offset + part->linked;
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

static const ElfW(Sym) * symbol_in(const struct image *image, const struct mapping *mapping, uintptr_t address)
{
    uint64_t linked;
    if (!linked_address(image, address - mapping->from + mapping->offset, &linked))
        return NULL;
    const ElfW(Sym) *symbol = symbol_at(image, linked);
    return symbol != NULL && name_of(image, symbol)[0] != '\0' ? symbol : NULL;
}

/*
 * A function that begins at the address in an image that was there before: most likely it still is, which saves looking
 * at the map again. Where another library has taken its place, few of its functions begin where those of the old did.
 */
static const ElfW(Sym) * symbol_where_it_was(uintptr_t address, struct image **ret_image)
{
    for (uint32_t at = image_count; at-- > 0;) {
        struct image *image = &images[at];
        if (address < image->mapping.from || address >= image->mapping.to)
            continue;
        const ElfW(Sym) *symbol = symbol_in(image, &image->mapping, address);
        uint64_t linked;
        if (symbol != NULL &&
            linked_address(image, address - image->mapping.from + image->mapping.offset, &linked) &&
            start_of(symbol) == linked) {
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
#if defined(__arm__)
    address &= ~(uintptr_t)1; /* tells the kind of code */
#endif
    const ElfW(Sym) *symbol = symbol_where_it_was(address, &image);
    if (symbol == NULL) {
        image = find_mapping(address, &mapping) ? image_of(&mapping, address) : NULL;
        symbol = image != NULL ? symbol_in(image, &mapping, address) : NULL;
    }
    if (symbol == NULL)
        return false;
    ret_symbol->name = name_of(image, symbol);
    ret_symbol->file = file_of(image, symbol);
    ret_symbol->image = image->mapping.path;
    return true;
}

bool hp_symbol_image(uintptr_t address, const char **ret_path, uint64_t *ret_offset)
{
    static struct mapping mapping;
    if (!find_mapping(address, &mapping))
        return false;
    *ret_path = mapping.path;
    *ret_offset = address - mapping.from + mapping.offset;
    return true;
}
