/*
 * Some programs cannot load the library: AddressSanitizer refuses to start unless it comes first, and the dynamic
 * linker prints an error in the program's name. So the program's file is inspected first. A file that cannot be
 * read or parsed is no obstacle: exec will report what is wrong with it. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* memmem */
#include "alloc_library.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_file.h"
#include "installed.h"
#include "memory.h"
#include "regular_file.h"
#include "trusted_path.h"

#define FILE_NAME "libhotpath_alloc.so.0"
#define PARTNER "libhotpath.so.0" /* libhotpath_alloc.so looks for it in its own folder */

/* ------------------------------------------------------------------------------------------------------- path */

/* LD_PRELOAD is separated by blanks and colons, so the path must have neither. */
bool hp_alloc_library_find(const char *given, char *path, size_t size)
{
    char whole[PATH_MAX];
    if (given != NULL ? realpath(given, whole) == NULL : !hp_installed_find(FILE_NAME, whole, sizeof whole))
        return false;
    if (strlen(whole) >= size || strpbrk(whole, ": ") != NULL)
        return false;
    memcpy(path, whole, strlen(whole) + 1);
    return true;
}

bool hp_alloc_library_is_trusted(const char *library, char *problem, size_t size)
{
    char partner[2 * PATH_MAX], whole[PATH_MAX];
    snprintf(partner, sizeof partner, "%.*s/%s", (int)(strrchr(library, '/') - library), library, PARTNER);
    return hp_path_is_trusted(library, problem, size) &&
           (realpath(partner, whole) == NULL || hp_path_is_trusted(whole, problem, size));
}

/* --------------------------------------------------------------------------------------- the file of a program */

static int open_in(const char *folder, size_t length, const char *name, int mode)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%.*s%s%s", (int)length, folder, length > 0 ? "/" : "", name) >=
            sizeof path ||
        access(path, mode) != 0)
        return -1;
    return hp_regular_open(AT_FDCWD, path, O_RDONLY);
}

static int open_program(const char *name)
{
    const char *folder = getenv("PATH");
    if (strchr(name, '/') != NULL)
        return open_in("", 0, name, X_OK);
    for (folder = folder != NULL ? folder : "/bin:/usr/bin";; folder++) {
        const size_t length = strcspn(folder, ":");
        const int fd = open_in(folder, length, name, X_OK);
        folder += length;
        if (fd >= 0 || *folder == '\0')
            return fd;
    }
}

/* Opens the interpreter of a script; -1: not a script. */
static int open_interpreter(int fd)
{
    char line[256];
    const ssize_t length = pread(fd, line, sizeof line - 1, 0);
    if (length < 3 || memcmp(line, "#!", 2) != 0)
        return -1;
    line[length] = '\0';
    char *name = line + 2 + strspn(line + 2, " \t");
    name[strcspn(name, " \t\n")] = '\0';
    return open_in("", 0, name, X_OK);
}

/* ------------------------------------------------------------------------------------------------ program files */

struct image {
    int fd;
    ElfW(Ehdr) header;
    char linker[256]; /* the program's dynamic linker; "": none */
    ElfW(Phdr) dynamic;
};

static bool read_image(struct image *image, int fd)
{
    image->fd = fd;
    if (!hp_elf_read_at(fd, 0, &image->header, sizeof image->header) ||
        memcmp(image->header.e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    for (size_t at = 0; at < image->header.e_phnum; at++) {
        ElfW(Phdr) part;
        if (!hp_elf_read_at(fd, image->header.e_phoff + at * sizeof part, &part, sizeof part))
            return true;
        if (part.p_type == PT_INTERP && part.p_filesz < sizeof image->linker)
            hp_elf_read_at(fd, part.p_offset, image->linker, part.p_filesz);
        if (part.p_type == PT_DYNAMIC)
            image->dynamic = part;
    }
    return true;
}

static bool is_same_machine(const struct image *one, const struct image *other)
{
    return memcmp(one->header.e_ident, other->header.e_ident, EI_DATA + 1) == 0 &&
           one->header.e_machine == other->header.e_machine;
}

/*
 * Each C library has its own dynamic linker, and a library linked for one cannot be loaded into a program of
 * another.
 */
static bool is_same_linker(const struct image *image)
{
    struct image own;
    memset(&own, 0, sizeof own);
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const bool is_known = fd >= 0 && read_image(&own, fd) && own.linker[0] != '\0';
    if (fd >= 0)
        close(fd);
    const char *name = strrchr(image->linker, '/'), *own_name = strrchr(own.linker, '/');
    return !is_known || (name != NULL && own_name != NULL && strcmp(name, own_name) == 0);
}

static uint64_t dynamic_value(const struct image *image, ElfW(Sxword) tag)
{
    for (uint64_t at = 0; at + sizeof(ElfW(Dyn)) <= image->dynamic.p_filesz; at += sizeof(ElfW(Dyn))) {
        ElfW(Dyn) entry;
        if (!hp_elf_read_at(image->fd, image->dynamic.p_offset + at, &entry, sizeof entry) ||
            entry.d_tag == DT_NULL)
            return 0;
        if (entry.d_tag == tag)
            return entry.d_un.d_val;
    }
    return 0;
}

static uint64_t offset_of(const struct image *image, uint64_t address)
{
    for (size_t at = 0; at < image->header.e_phnum; at++) {
        ElfW(Phdr) part;
        if (hp_elf_read_at(image->fd, image->header.e_phoff + at * sizeof part, &part, sizeof part) &&
            part.p_type == PT_LOAD && address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz)
            return address - part.p_vaddr + part.p_offset;
    }
    return 0;
}

/* Whether the dynamic string table, which holds symbol and library names, has one of these names. */
static bool names_any(const struct image *image, const char *const *wanted, size_t count)
{
    const uint64_t size = dynamic_value(image, DT_STRSZ);
    char *names = hp_elf_copy(image->fd, offset_of(image, dynamic_value(image, DT_STRTAB)), size);
    bool is_found = false;
    if (names == NULL)
        return false;
    for (size_t at = 0; at < count && !is_found; at++)
        is_found = memmem(names, (size_t)size, wanted[at], strlen(wanted[at])) != NULL;
    hp_memory_unmap(names, (size_t)size);
    return is_found;
}

static bool is_sanitized(const struct image *image)
{
    static const char *const names[] = {"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init", "__lsan_init",
                                        "libasan.so",  "libtsan.so",  "liblsan.so",  "libhwasan.so"};
    return names_any(image, names, sizeof names / sizeof names[0]);
}

static bool defines_any(int fd, const char *const *wanted, size_t count)
{
    struct hp_elf elf;
    memset(&elf, 0, sizeof elf);
    bool is_found = false;
    if (hp_elf_read(&elf, fd))
        for (size_t at = 0; at < elf.count * count && !is_found; at++)
            is_found = strcmp(hp_elf_name(&elf.table, elf.sorted[at / count]), wanted[at % count]) == 0;
    hp_elf_free(&elf);
    return is_found;
}

/* The program already contains our functions: by the linker's --wrap, from an archive, or from single/. */
static bool has_them(int fd)
{
    static const char *const names[] = {"__wrap_malloc", "hotpath_v1_alloc_yield"};
    return defines_any(fd, names, sizeof names / sizeof names[0]);
}

static bool gets_rights(int fd)
{
    struct stat file;
    return fstat(fd, &file) == 0 && (((file.st_mode & S_ISUID) && file.st_uid != getuid()) ||
                                     ((file.st_mode & S_ISGID) && file.st_gid != getgid()));
}

/* ------------------------------------------------------------------------------------------------- the decision */

/*
 * An obstacle for this program only: its dynamic linker ignores LD_PRELOAD, so its children may still be given it.
 */
static const char is_static[] = "it is statically linked, without libhotpath_alloc_wrap.a";
static const char has_rights[] = "it runs with privileges that you do not have";
static const char has_all[] = ""; /* its own copy steps aside */
static const char is_of_tests[] =
    ""; /* compared by address: an array, because the compiler may merge equal literals */

bool hp_alloc_library_may_pass(const char *obstacle)
{
    return obstacle == is_static || obstacle == has_rights || obstacle == has_all;
}

static const char *obstacle_in(int fd, const struct image *library)
{
    struct image image;
    memset(&image, 0, sizeof image);
    if (!read_image(&image, fd))
        return NULL;
    if (has_them(fd))
        return has_all;
    if (!is_same_machine(&image, library))
        return "it is built for another architecture";
    if (image.linker[0] == '\0')
        return is_static;
    if (!is_same_linker(&image))
        return "it uses a different C library than hotpath";
    if (gets_rights(fd))
        return has_rights;
    if (is_sanitized(&image))
        return "it contains a sanitizer, which replaces malloc";
    return NULL;
}

/* A sanitizer build of the library needs a runtime that other programs do not have. */
static bool is_for_tests(const char *library)
{
    struct image image;
    memset(&image, 0, sizeof image);
    const size_t folder = (size_t)(strrchr(library, '/') - library);
    const int fd = open_in(library, folder, PARTNER, R_OK);
    const bool is_so = fd >= 0 && read_image(&image, fd) && is_sanitized(&image);
    if (fd >= 0)
        close(fd);
    return is_so;
}

static const char *obstacle_at(int fd, const struct image *library)
{
    const int interpreter = open_interpreter(fd);
    if (interpreter < 0)
        return obstacle_in(fd, library);
    const char *obstacle = obstacle_in(interpreter, library);
    close(interpreter);
    return obstacle;
}

const char *hp_alloc_library_obstacle(const char *library, const char *program)
{
    struct image image;
    memset(&image, 0, sizeof image);
    if (is_for_tests(library))
        return is_of_tests;
    const char *obstacle = NULL;
    const int library_fd = hp_regular_open(AT_FDCWD, library, O_RDONLY), fd = open_program(program);
    if (library_fd < 0 || !read_image(&image, library_fd))
        obstacle = "the library cannot be read";
    else if (fd >= 0)
        obstacle = obstacle_at(fd, &image);
    if (library_fd >= 0)
        close(library_fd);
    if (fd >= 0)
        close(fd);
    return obstacle;
}

/* Prepends or appends an item to the value of a variable. */
static void add_item(const char *variable, const char *item, bool is_first)
{
    const char *others = getenv(variable);
    char *list = NULL;
    if (others == NULL || others[0] == '\0')
        setenv(variable, item, 1);
    else if (asprintf(&list, "%s:%s", is_first ? item : others, is_first ? others : item) >= 0)
        setenv(variable, list, 1);
    free(list);
}

/*
 * The program's children may be anything, and their files cannot be inspected in advance. Programs with gcc's
 * AddressSanitizer would refuse to start unless it comes first, so it is told not to insist; malloc stays its own
 * (src/alloc/malloc_counter.c).
 */
static void let_sanitizers_be(void) { add_item("ASAN_OPTIONS", "verify_asan_link_order=0", false); }

/*
 * A program with another C library would fail to start with our library. Its dynamic linker ignores entries that it
 * does not find or cannot parse. Only glibc's expands $LIB, the folder of libraries; from there the path leads back
 * to the root. Only musl's treats tabs as separators; for glibc's, that many tabs make a name that is too long.
 */
#ifdef __GLIBC__
/* Outside these folders, $LIB may expand to a folder that does not exist. */
static int note_c_library(struct dl_phdr_info *object, size_t size, void *context)
{
    bool *is_usual = context;
    (void)size;
    if (strstr(object->dlpi_name, "/libc.so") != NULL)
        *is_usual = strncmp(object->dlpi_name, "/lib", 4) == 0 || strncmp(object->dlpi_name, "/usr/lib", 8) == 0;
    return 0;
}

static char *for_this_c_library(const char *library)
{
    char *path = NULL;
    bool is_usual = false;
    dl_iterate_phdr(note_c_library, &is_usual);
    return asprintf(&path, "%s%s", is_usual ? "/$LIB/../../../../.." : "", library) >= 0 ? path : NULL;
}
#else
static char *for_this_c_library(const char *library)
{
    char tabs[PATH_MAX + 1], *path = NULL;
    memset(tabs, '\t', sizeof tabs);
    return asprintf(&path, "%.*s%s", (int)sizeof tabs, tabs, library) >= 0 ? path : NULL;
}
#endif

static void preload(const char *library)
{
    char *path = for_this_c_library(library);
    if (path != NULL)
        add_item("LD_PRELOAD", path, true);
    free(path);
}

/*
 * libhotpath.so too, by its full path: otherwise the dynamic linker of every process would search some twenty
 * folders for it.
 */
static void preload_both(const char *library)
{
    char partner[2 * PATH_MAX], whole[PATH_MAX];
    snprintf(partner, sizeof partner, "%.*s/%s", (int)(strrchr(library, '/') - library), library, PARTNER);
    if (realpath(partner, whole) != NULL && strpbrk(whole, ": ") == NULL)
        preload(whole);
    preload(library);
}

void hp_alloc_library_preload(const char *library, bool with_children)
{
    preload_both(library);
    if (!with_children) {
        unsetenv("HOTPATH_PRELOAD");
        return;
    }
    setenv("HOTPATH_PRELOAD", "all", 1);
    let_sanitizers_be();
}

bool hp_program_has_zones(const char *program)
{
    static const char *const shared[] = {"libhotpath.so"}, *const own[] = {"hotpath_v1_enter"};
    struct image image;
    memset(&image, 0, sizeof image);
    const int fd = open_program(program);
    const bool has = fd >= 0 && read_image(&image, fd) && (names_any(&image, shared, 1) || defines_any(fd, own, 1));
    if (fd >= 0)
        close(fd);
    return has;
}
