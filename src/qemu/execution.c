/*
 * QEMU hands execve on to the kernel, so a program that is executed would leave it. We see the call before, and
 * execute QEMU with what it was started with, as `hotpath run` does for the first program.
 *
 * Not done for programs that QEMU cannot run, or that get rights of another user: they run natively.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* process_vm_readv, AT_EMPTY_PATH */
#include "execution.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined __x86_64__
#define MACHINE EM_X86_64
#elif defined __aarch64__
#define MACHINE EM_AARCH64
#elif defined __riscv
#define MACHINE EM_RISCV
#else
#define MACHINE EM_NONE
#endif

#define MOST_SCRIPTS 4 /* as the kernel does: interpreters that are scripts */
#define SCRIPT_BYTES 256u
#define PRELOAD "LD_PRELOAD="
#define PRELOAD_BYTES ((size_t)4 * PATH_MAX)

/* qemu-x86_64 -cpu MODEL -plugin PLUGIN, then -E and -0 with a word each, then the program */
#define START_WORDS 5u
static char *start[START_WORDS + 1];
static char own[PATH_MAX]; /* the program; "": unknown */

void hp_execution_begin(void)
{
    static char emulator[PATH_MAX], line[4 * PATH_MAX];
    const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd >= 0 ? read(fd, line, sizeof line - 1) : 0;
    const ssize_t length = readlink("/proc/self/exe", emulator, sizeof emulator - 1);
    size_t count = 0;
    if (fd >= 0)
        close(fd);
    char *word = line;
    for (; count < START_WORDS && word < line + size; word += strlen(word) + 1)
        start[count++] = word;
    while (word < line + size && (strcmp(word, "-E") == 0 || strcmp(word, "-0") == 0)) {
        word += strlen(word) + 1;
        word += strlen(word) + 1;
    }
    if (word >= line + size || realpath(word, own) == NULL)
        own[0] = '\0';
    if (length <= 0 || count < START_WORDS || strcmp(start[1], "-cpu") != 0 || strcmp(start[3], "-plugin") != 0)
        start[0] = NULL; /* not started by `hotpath run` */
    else
        start[0] = emulator;
}

/* ------------------------------------------------------------------------------------ memory of the program */

/* Where a sandbox refuses the calls made for it. Opened each time: a forked child has another one. */
static bool copy_by_file(const struct iovec *ours, uint64_t address, bool is_write)
{
    ssize_t done = -1;
    const int fd = open("/proc/self/mem", (is_write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (lseek(fd, (off_t)address, SEEK_SET) == (off_t)address)
        done = is_write ? writev(fd, ours, 1) : readv(fd, ours, 1);
    close(fd);
    return done == (ssize_t)ours->iov_len;
}

bool hp_guest_copy(void *ours, uint64_t address, size_t size, bool is_write)
{
    const struct iovec here = {ours, size}, there = {(void *)(uintptr_t)address, size};
    const ssize_t done = is_write ? process_vm_writev(getpid(), &here, 1, &there, 1, 0)
                                  : process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    if (done >= 0 || errno == EFAULT)
        return done == (ssize_t)size;
    return copy_by_file(&here, address, is_write);
}

/* There is room for PATH_MAX. */
static void copy_path(char *to, const char *from) { memcpy(to, from, strlen(from) + 1); }

/* False: there is no text of fewer than `size` bytes. A text may end at the end of a page. */
static bool copy_text(char *to, uint64_t from, size_t size)
{
    for (size_t done = 0; done < size;) {
        const size_t page = 4096 - (from + done) % 4096, rest = size - done, part = page < rest ? page : rest;
        if (!hp_guest_copy(to + done, from + done, part, false))
            return false;
        if (memchr(to + done, '\0', part) != NULL)
            return true;
        done += part;
    }
    return false;
}

/* Copies pointers up to a null pointer, behind `before` places. NULL: they cannot be read. */
static char **copy_pointers(uint64_t from, size_t before, size_t *ret_count)
{
    size_t count = 0, room = 64;
    char **all = malloc((before + room) * sizeof *all);
    while (all != NULL && from != 0) {
        if (count == room) {
            char **more = realloc(all, (before + (room *= 2)) * sizeof *all);
            if (more == NULL)
                break;
            all = more;
        }
        if (!hp_guest_copy(&all[before + count], from + count * sizeof *all, sizeof *all, false))
            break;
        if (all[before + count] == NULL) {
            *ret_count = count;
            return all;
        }
        count++;
    }
    free(all);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------ the program */

struct program {
    char path[PATH_MAX];
    char scripts[MOST_SCRIPTS][SCRIPT_BYTES + PATH_MAX]; /* their first lines, of which words are arguments */
    char *words[3 * MOST_SCRIPTS]; /* in front of the arguments but the first, last word first */
    size_t word_count;
};

static bool gets_rights(int fd, const struct stat *status)
{
    char rights[64];
    return (status->st_mode & (S_ISUID | S_ISGID)) != 0 ||
           fgetxattr(fd, "security.capability", rights, sizeof rights) > 0;
}

#define NO_PROGRAM "" /* the call fails */

/* The file's first bytes. Returns why QEMU cannot run it; NULL: it can. */
static const char *read_head(const char *path, unsigned char head[SCRIPT_BYTES])
{
    struct stat status;
    memset(head, 0, SCRIPT_BYTES);
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || access(path, X_OK) != 0)
        return NO_PROGRAM;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return "it cannot be read";
    const char *obstacle = gets_rights(fd, &status)                ? "it gets rights of another user"
                           : read(fd, head, SCRIPT_BYTES - 1) <= 0 ? NO_PROGRAM
                                                                   : NULL;
    close(fd);
    return obstacle;
}

static const char *machine_obstacle(const unsigned char *head)
{
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)(const void *)head;
    if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0)
        return NO_PROGRAM; /* the kernel refuses it, too, unless binfmt_misc knows it */
    const bool is_here = elf->e_ident[EI_CLASS] == ELFCLASS64 && elf->e_machine == MACHINE;
    return is_here ? NULL : "it is built for another architecture";
}

/* "#!INTERPRETER ARGUMENT": the program is now the interpreter. */
static bool enter_script(struct program *program, size_t number, const unsigned char *head)
{
    char *line = program->scripts[number], *script = line + SCRIPT_BYTES;
    memcpy(line, head + 2, SCRIPT_BYTES - 2);
    copy_path(script, program->path);
    char *end = strchr(line, '\n');
    if (end == NULL)
        return false;
    while (end > line && strchr(" \t\r", end[-1]) != NULL)
        end--;
    *end = '\0';
    line += strspn(line, " \t");
    char *argument = line + strcspn(line, " \t");
    if (*argument != '\0') {
        *argument++ = '\0';
        argument += strspn(argument, " \t");
    }
    program->words[program->word_count++] = script;
    if (*argument != '\0')
        program->words[program->word_count++] = argument;
    snprintf(program->path, sizeof program->path, "%s", line);
    return *line != '\0';
}

/* Returns why QEMU cannot run it; NULL: it can. */
static const char *find_program(struct program *program)
{
    _Alignas(8) unsigned char head[SCRIPT_BYTES];
    for (size_t scripts = 0;; scripts++) {
        const char *obstacle =
            strncmp(program->path, "/proc/", 6) == 0 ? "its path is in /proc" : read_head(program->path, head);
        if (obstacle != NULL)
            return obstacle;
        if (memcmp(head, "#!", 2) != 0)
            return machine_obstacle(head);
        if (scripts == MOST_SCRIPTS || !enter_script(program, scripts, head))
            return "the first line of its script is unusual";
    }
}

/* Of a descriptor: where its file is, if it is there. */
static bool read_link(const char *link, char path[PATH_MAX])
{
    struct stat open_file, file;
    const ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    return path[0] == '/' && stat(link, &open_file) == 0 && stat(path, &file) == 0 &&
           open_file.st_dev == file.st_dev && open_file.st_ino == file.st_ino;
}

/* fexecve comes as one of these. QEMU is in /proc/self/exe, so that is the program's only for itself. */
static void leave_links(char path[PATH_MAX])
{
    char real[PATH_MAX];
    if (strcmp(path, "/proc/self/exe") == 0 && own[0] != '\0')
        copy_path(path, own);
    else if ((strncmp(path, "/proc/self/fd/", 14) == 0 || strncmp(path, "/dev/fd/", 8) == 0) &&
             read_link(path, real))
        copy_path(path, real);
}

static bool read_path(const struct hp_execution *asked, char path[PATH_MAX])
{
    char name[PATH_MAX], link[32];
    if (!copy_text(name, asked->path, sizeof name))
        return false;
    const bool is_descriptor = name[0] == '\0' && asked->flags & AT_EMPTY_PATH;
    int length;
    if (is_descriptor || (name[0] != '/' && asked->folder != AT_FDCWD)) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", asked->folder);
        if (!read_link(link, path))
            copy_path(path, link);
        length = (int)strlen(path);
        if (!is_descriptor)
            length += snprintf(path + length, PATH_MAX - (size_t)length, "/%s", name);
    } else {
        length = snprintf(path, PATH_MAX, "%s", name);
    }
    leave_links(path);
    return length < PATH_MAX;
}

/* ------------------------------------------------------------------------------------------------------- QEMU */

/* Takes LD_PRELOAD out of the environment, which is QEMU's. False: it cannot be passed on. */
static bool take_preload(char **environment, char *preload, size_t size)
{
    size_t kept = 0;
    preload[0] = '\0';
    for (size_t at = 0; environment[at] != NULL; at++) {
        char begin[sizeof PRELOAD] = "";
        const bool is_long = !copy_text(begin, (uintptr_t)environment[at], sizeof begin);
        if (is_long && strncmp(begin, PRELOAD, strlen(PRELOAD)) == 0) {
            if (!copy_text(preload, (uintptr_t)environment[at], size) || strchr(preload, ',') != NULL)
                return false;
            continue;
        }
        environment[kept++] = environment[at];
    }
    environment[kept] = NULL;
    return true;
}

#define MOST_BEFORE (START_WORDS + 5 + 3 * MOST_SCRIPTS)

/* `words` has room for them in front of the program's own. Returns the first. */
static char **put_command(struct program *program, char **words, size_t count, char *preload)
{
    char **first = words + MOST_BEFORE + (count > 0), *name = count > 0 ? words[MOST_BEFORE] : program->path;
    if (program->word_count > 0)
        name = program->path;
    for (size_t at = 0; at < program->word_count; at++)
        *--first = program->words[at];
    *--first = program->path;
    *--first = name;
    *--first = (char *)(uintptr_t) "-0";
    if (preload[0] != '\0') {
        *--first = preload;
        *--first = (char *)(uintptr_t) "-E";
    }
    for (size_t at = START_WORDS; at-- > 0;)
        *--first = start[at];
    return first;
}

void hp_execution_take(const struct hp_execution *asked, void (*note_native)(const char *path, const char *why))
{
    size_t count = 0, variables = 0;
    struct program *program = calloc(1, sizeof *program);
    char *preload = malloc(PRELOAD_BYTES);
    char **words = copy_pointers(asked->arguments, MOST_BEFORE, &count);
    char **variable = copy_pointers(asked->environment, 0, &variables);
    if (program != NULL && preload != NULL && words != NULL && variable != NULL && start[0] != NULL &&
        read_path(asked, program->path)) {
        char path[PATH_MAX];
        copy_path(path, program->path);
        const char *obstacle = find_program(program);
        if (obstacle == NULL && !take_preload(variable, preload, PRELOAD_BYTES))
            obstacle = "there is a comma in the name of a library to preload";
        if (obstacle == NULL)
            execve(start[0], put_command(program, words, count, preload), variable);
        else if (obstacle[0] != '\0')
            note_native(path, obstacle);
    }
    free(variable);
    free(words);
    free(preload);
    free(program);
}
