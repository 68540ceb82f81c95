/*
 * Some programs cannot load the library: AddressSanitizer refuses to start unless it comes first, and the dynamic
 * linker prints an error in the program's name. So the program's file is inspected first. A file that cannot be
 * read or parsed is no obstacle: exec will report what is wrong with it. SPDX-License-Identifier: MIT
 */
#include "program_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_library.h"
#include "files.h"
#include "find_file.h"
#include "image_file.h"

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
