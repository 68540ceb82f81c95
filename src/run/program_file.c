/* Finds programs and what is installed with us, and decides what can be preloaded. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* asprintf, dladdr, readlink, realpath */
#include "program_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "image_file.h"

/* ------------------------------------------------------------------------------------------------ finding files */

static bool is_program(const char *file)
{
    struct stat status;
    return stat(file, &status) == 0 && S_ISREG(status.st_mode) && access(file, X_OK) == 0;
}

bool hp_find_in_path(const char *name, char *file, size_t size)
{
    const char *path = getenv("PATH");
    for (path = path != NULL ? path : "/bin:/usr/bin";; path++) {
        const size_t length = strcspn(path, ":");
        if ((size_t)snprintf(file, size, "%.*s/%s", length > 0 ? (int)length : 1, length > 0 ? path : ".", name) <
                size &&
            is_program(file))
            return true;
        path += length;
        if (*path == '\0')
            return false;
    }
}

bool hp_is_in_path(const char *name)
{
    char file[4096];
    return hp_find_in_path(name, file, sizeof file);
}

/* ---------------------------------------------------------------------------------------------------- installed */

#ifndef HOTPATH_LIBRARIES_FROM_PROGRAMS /* set by the build: path from the programs to the libraries */
#define HOTPATH_LIBRARIES_FROM_PROGRAMS "../lib"
#endif

static bool own_folder(char *folder, size_t size)
{
    const ssize_t length = readlink("/proc/self/exe", folder, size - 1);
    if (length <= 0)
        return false;
    folder[length] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

bool hp_installed_find(const char *name, char *path, size_t size)
{
    static const char *const places[] = {HOTPATH_LIBRARIES_FROM_PROGRAMS, "../lib"};
    char folder[PATH_MAX], file[2 * PATH_MAX], whole[PATH_MAX];
    if (!own_folder(folder, sizeof folder))
        return false;
    for (size_t at = 0; at < sizeof places / sizeof places[0]; at++) {
        if (places[at][0] == '/')
            snprintf(file, sizeof file, "%s/%s", places[at], name);
        else
            snprintf(file, sizeof file, "%s/%s/%s", folder, places[at], name);
        if (realpath(file, whole) == NULL || strlen(whole) >= size)
            continue;
        memcpy(path, whole, strlen(whole) + 1);
        return true;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------- trusted path */

/*
 * Whether a file may be loaded into another program: anyone else who could change it, or a folder above it, would
 * run code there.
 *
 * Checks paths that only we and root can change.
 */

/* Many systems give each user a group of the same name with no other members, and a umask that lets it write. */
static bool is_own_group(gid_t group)
{
    const struct passwd *user = getpwuid(geteuid());
    const struct group *entry = getgrgid(group);
    if (user == NULL || entry == NULL || user->pw_gid != group || strcmp(user->pw_name, entry->gr_name) != 0)
        return false;
    for (char **member = entry->gr_mem; *member != NULL; member++)
        if (strcmp(*member, user->pw_name) != 0)
            return false;
    return true;
}

static bool others_can_write(const struct stat *status)
{
    if (S_ISDIR(status->st_mode) && (status->st_mode & S_ISVTX))
        return false;
    return (status->st_mode & S_IWOTH) || ((status->st_mode & S_IWGRP) && !is_own_group(status->st_gid));
}

/* What is wrong with one of them, or NULL. */
static const char *flaw_of(const char *path, bool is_file)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return strerror(errno);
    if (is_file ? !S_ISREG(status.st_mode) : !S_ISDIR(status.st_mode))
        return is_file ? "it is not a regular file" : "it is not a directory";
    if (status.st_uid != 0 && status.st_uid != geteuid())
        return "it belongs to another user";
    return others_can_write(&status) ? "others can write to it" : NULL;
}

/*
 * The file and all folders above it must belong to root or to us, and nobody else may write to them; folders with
 * the sticky bit (/tmp) are accepted, because others cannot replace our files there. `path` is from realpath.
 * False: `problem` says what is wrong with which of them.
 */
static bool path_is_trusted(const char *path, char *problem, size_t size)
{
    char part[PATH_MAX];
    const size_t length = strlen(path);
    const char *flaw = NULL;
    if (path[0] != '/' || length >= sizeof part) {
        snprintf(problem, size, "'%s' is not an absolute path", path);
        return false;
    }
    for (size_t end = 1; flaw == NULL && end <= length; end++) {
        if (end > 1 && end < length && path[end] != '/')
            continue;
        memcpy(part, path, end);
        part[end] = '\0';
        flaw = flaw_of(part, end == length);
        if (flaw != NULL)
            snprintf(problem, size, "'%s' cannot be trusted: %s", part, flaw);
    }
    return flaw == NULL;
}

/* -------------------------------------------------------------------------------------------------- the library */

/* By what it counts besides: locks 1, I/O 2. */
static const char *const file_names[] = {"libhotpath_preload.so.0", "libhotpath_locks.so.0", "libhotpath_io.so.0",
                                         "libhotpath_locks_io.so.0"};
#define APART "/libhotpath_alloc.so" /* may be given instead; it needs a partner, from its folder */
#define PARTNER "libhotpath.so.0"

/* ------------------------------------------------------------------------------------------------------- path */

/* LD_PRELOAD is separated by blanks and colons, so the path must have neither. */
bool hp_alloc_library_find(const char *given, bool has_locks, bool has_io, char *path, size_t size)
{
    char whole[PATH_MAX];
    const char *name = file_names[(has_locks ? 1 : 0) + (has_io ? 2 : 0)];
    if (given != NULL ? realpath(given, whole) == NULL : !hp_installed_find(name, whole, sizeof whole))
        return false;
    if (strlen(whole) >= size || strpbrk(whole, ": ") != NULL)
        return false;
    memcpy(path, whole, strlen(whole) + 1);
    return true;
}

bool hp_alloc_library_partner(const char *library, char path[PATH_MAX])
{
    char linked[2 * PATH_MAX];
    if (strstr(library, APART) == NULL)
        return false;
    snprintf(linked, sizeof linked, "%.*s/%s", (int)(strrchr(library, '/') - library), library, PARTNER);
    return realpath(linked, path) != NULL;
}

bool hp_alloc_library_is_trusted(const char *library, char *problem, size_t size)
{
    char partner[PATH_MAX];
    return path_is_trusted(library, problem, size) &&
           (!hp_alloc_library_partner(library, partner) || path_is_trusted(partner, problem, size));
}

/* ------------------------------------------------------------------------------------------------ environment */

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
 * (src/preload/malloc_counter.c).
 */
static void let_sanitizers_be(void) { add_item("ASAN_OPTIONS", "verify_asan_link_order=0", false); }

/*
 * A program with another C library would fail to start with our library. Its dynamic linker ignores entries that it
 * does not find or cannot parse. Only glibc's expands $LIB, the folder of libraries; from there the path leads back
 * to the root. Only musl's treats tabs as separators; for glibc's, that many tabs make a name that is too long.
 */
#ifdef __GLIBC__
static char *for_this_c_library(const char *library)
{
    char *path = NULL;
    Dl_info libc;
    const bool is_known = dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &libc) != 0;
    /* Outside these folders, $LIB may expand to a folder that does not exist. */
    const bool is_usual =
        is_known && (strncmp(libc.dli_fname, "/lib", 4) == 0 || strncmp(libc.dli_fname, "/usr/lib", 8) == 0);
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
 * Its partner too, by its full path: otherwise the dynamic linker of every process would search some twenty
 * folders for it.
 */
static void preload_both(const char *library)
{
    char partner[PATH_MAX];
    if (hp_alloc_library_partner(library, partner) && strpbrk(partner, ": ") == NULL)
        preload(partner);
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

/* -------------------------------------------------------------------------------------------------- the program */

/*
 * Some programs cannot load the library: AddressSanitizer refuses to start unless it comes first, and the dynamic
 * linker prints an error in the program's name. So the program's file is inspected first. A file that cannot be
 * read or parsed is no obstacle: exec will report what is wrong with it.
 */

/* --------------------------------------------------------------------------------------------------- opening it */

static int open_executable(const char *path)
{
    return access(path, X_OK) == 0 ? hp_regular_open(AT_FDCWD, path, O_RDONLY) : -1;
}

static int open_program(const char *name)
{
    char path[PATH_MAX];
    if (strchr(name, '/') != NULL)
        return open_executable(name);
    return hp_find_in_path(name, path, sizeof path) ? open_executable(path) : -1;
}

#define SCRIPT_LINE_BYTES 256u

/* The interpreter in the first line of a script; NULL: not a script. */
static const char *read_interpreter(int fd, char line[SCRIPT_LINE_BYTES])
{
    const ssize_t length = pread(fd, line, SCRIPT_LINE_BYTES - 1, 0);
    if (length < 3 || memcmp(line, "#!", 2) != 0)
        return NULL;
    line[length] = '\0';
    char *name = line + 2 + strspn(line + 2, " \t");
    name[strcspn(name, " \t\r\n")] = '\0';
    return name;
}

/* -1: not a script. */
static int open_interpreter(int fd)
{
    char line[SCRIPT_LINE_BYTES];
    const char *name = read_interpreter(fd, line);
    return name != NULL ? open_executable(name) : -1;
}

bool hp_program_lacks_interpreter(const char *program, char *ret_name, size_t size)
{
    char line[SCRIPT_LINE_BYTES];
    struct hp_linkage linkage = {.fd = -1};
    const int fd = open_program(program);
    const char *name = fd >= 0 ? read_interpreter(fd, line) : NULL;
    if (name == NULL && fd >= 0 && hp_linkage_read(&linkage, fd))
        name = linkage.linker;
    const bool is_missing = name != NULL && name[0] != '\0' && access(name, F_OK) != 0;
    if (is_missing)
        snprintf(ret_name, size, "%s", name);
    if (fd >= 0)
        close(fd);
    return is_missing;
}

/* ------------------------------------------------------------------------------------------------ inspecting it */

/*
 * Each C library has its own dynamic linker, and a library linked for one cannot be loaded into a program of
 * another.
 */
static bool is_same_linker(const struct hp_linkage *program)
{
    struct hp_linkage own = {.fd = -1};
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const bool is_known = fd >= 0 && hp_linkage_read(&own, fd) && own.linker[0] != '\0';
    if (fd >= 0)
        close(fd);
    const char *name = strrchr(program->linker, '/'), *own_name = strrchr(own.linker, '/');
    return !is_known || (name != NULL && own_name != NULL && strcmp(name, own_name) == 0);
}

static bool is_sanitized(const struct hp_linkage *linkage)
{
    static const char *const names[] = {"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init", "__lsan_init",
                                        "libasan.so",  "libtsan.so",  "liblsan.so",  "libhwasan.so"};
    return hp_linkage_names_any(linkage, names, sizeof names / sizeof names[0]);
}

/* The program already contains our functions: by the linker's --wrap, from an archive, or from single/. */
static bool has_them(const struct hp_linkage *program)
{
    static const char *const names[] = {"__wrap_malloc", "hotpath_v1_alloc_yield"};
    return hp_linkage_defines_any(program, names, sizeof names / sizeof names[0]);
}

static bool gets_rights(int fd)
{
    struct stat file;
    return fstat(fd, &file) == 0 && (((file.st_mode & S_ISUID) && file.st_uid != getuid()) ||
                                     ((file.st_mode & S_ISGID) && file.st_gid != getgid()));
}

/* ------------------------------------------------------------------------------------------------- the decision */

/*
 * Compared by address, so they are arrays: the compiler may merge equal literals. All but the last are obstacles
 * for this program only: its dynamic linker ignores LD_PRELOAD, so its children may still be given it.
 */
static const char is_static[] = "it is statically linked, without libhotpath_alloc_wrap.a";
static const char has_rights[] = "it runs with privileges that you do not have";
static const char has_all[] = ""; /* its own copy steps aside */
static const char is_of_tests[] = "";

bool hp_program_may_pass(const char *obstacle)
{
    return obstacle == is_static || obstacle == has_rights || obstacle == has_all;
}

static const char *obstacle_in(int fd, const struct hp_linkage *library)
{
    struct hp_linkage program;
    if (!hp_linkage_read(&program, fd))
        return NULL;
    if (has_them(&program))
        return has_all;
    if (!hp_linkage_is_same_machine(&program, library))
        return "it is built for another architecture";
    if (program.linker[0] == '\0')
        return is_static;
    if (!is_same_linker(&program))
        return "it uses a different C library than hotpath";
    if (gets_rights(fd))
        return has_rights;
    if (is_sanitized(&program))
        return "it contains a sanitizer, which replaces malloc";
    return NULL;
}

const char *hp_program_lock_obstacle(const char *obstacle, const char *program)
{
    static const char *const hooks[] = {"__wrap_pthread_mutex_lock"};
    struct hp_linkage linkage;
    if (obstacle == NULL || obstacle[0] == '\0')
        return NULL;
    const int fd = open_program(program);
    const bool has_hooks = fd >= 0 && hp_linkage_read(&linkage, fd) && hp_linkage_defines_any(&linkage, hooks, 1);
    if (fd >= 0)
        close(fd);
    return has_hooks               ? NULL
           : obstacle == is_static ? "it is statically linked, without libhotpath_locks_wrap.a"
                                   : obstacle;
}

/* A sanitizer build of the library needs a runtime that other programs do not have. */
static bool is_for_tests(const char *library)
{
    char path[PATH_MAX];
    struct hp_linkage partner;
    const bool has_partner = hp_alloc_library_partner(library, path);
    const int fd = hp_regular_open(AT_FDCWD, has_partner ? path : library, O_RDONLY);
    const bool is_so = fd >= 0 && hp_linkage_read(&partner, fd) && is_sanitized(&partner);
    if (fd >= 0)
        close(fd);
    return is_so;
}

static const char *obstacle_at(int fd, const struct hp_linkage *library)
{
    const int interpreter = open_interpreter(fd);
    if (interpreter < 0)
        return obstacle_in(fd, library);
    const char *obstacle = obstacle_in(interpreter, library);
    close(interpreter);
    return obstacle;
}

const char *hp_program_obstacle(const char *library, const char *program)
{
    struct hp_linkage linkage;
    if (is_for_tests(library))
        return is_of_tests;
    const char *obstacle = NULL;
    const int library_fd = hp_regular_open(AT_FDCWD, library, O_RDONLY), fd = open_program(program);
    if (library_fd < 0 || !hp_linkage_read(&linkage, library_fd))
        obstacle = "the library cannot be read";
    else if (fd >= 0)
        obstacle = obstacle_at(fd, &linkage);
    if (library_fd >= 0)
        close(library_fd);
    if (fd >= 0)
        close(fd);
    return obstacle;
}

static const char *emulation_obstacle_at(int fd)
{
    char line[SCRIPT_LINE_BYTES];
    struct hp_linkage own = {.fd = -1}, program;
    if (read_interpreter(fd, line) != NULL)
        return "it is a script; run its interpreter, as in 'sh SCRIPT'";
    if (!hp_linkage_read(&program, fd))
        return NULL; /* the emulator says what is wrong with it */
    const int own_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const bool is_other =
        own_fd >= 0 && hp_linkage_read(&own, own_fd) && !hp_linkage_is_same_machine(&program, &own);
    if (own_fd >= 0)
        close(own_fd);
    return is_other ? "it is built for another architecture" : gets_rights(fd) ? has_rights : NULL;
}

const char *hp_program_emulation_obstacle(const char *program)
{
    const int fd = open_program(program);
    const char *obstacle = fd >= 0 ? emulation_obstacle_at(fd) : NULL;
    if (fd >= 0)
        close(fd);
    return obstacle;
}

bool hp_program_has_zones(const char *program)
{
    static const char *const shared[] = {"libhotpath.so"}, *const own[] = {"hotpath_v1_enter"};
    struct hp_linkage linkage;
    const int fd = open_program(program);
    const bool has = fd >= 0 && hp_linkage_read(&linkage, fd) &&
                     (hp_linkage_names_any(&linkage, shared, 1) || hp_linkage_defines_any(&linkage, own, 1));
    if (fd >= 0)
        close(fd);
    return has;
}
