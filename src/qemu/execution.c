/*
 * QEMU hands execve on to the kernel, so a program that is executed would leave it. We see the call before, and
 * execute QEMU with what it was started with, as `hotpath run` does for the first program.
 *
 * Not done for programs that QEMU cannot run, or that get rights of another user.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* process_vm_readv */
#include "execution.h"

#include <elf.h>
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

/* qemu-x86_64 -cpu MODEL -plugin PLUGIN */
#define START_WORDS 5u
static char *start[START_WORDS + 1];

void hp_execution_begin(void)
{
    static char emulator[PATH_MAX], line[4 * PATH_MAX];
    const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd >= 0 ? read(fd, line, sizeof line - 1) : 0;
    const ssize_t length = readlink("/proc/self/exe", emulator, sizeof emulator - 1);
    size_t count = 0;
    if (fd >= 0)
        close(fd);
    for (char *word = line; count < START_WORDS && word < line + size; word += strlen(word) + 1)
        start[count++] = word;
    if (length <= 0 || count < START_WORDS || strcmp(start[1], "-cpu") != 0 || strcmp(start[3], "-plugin") != 0)
        start[0] = NULL; /* not started by `hotpath run` */
    else
        start[0] = emulator;
}

/* ------------------------------------------------------------------------------------ memory of the program */

static bool copy(void *to, uint64_t from, size_t size)
{
    const struct iovec here = {to, size}, there = {(void *)(uintptr_t)from, size};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* False: there is no text of fewer than `size` bytes. A text may end at the end of a page. */
static bool copy_text(char *to, uint64_t from, size_t size)
{
    for (size_t done = 0; done < size;) {
        const size_t page = 4096 - (from + done) % 4096, rest = size - done, part = page < rest ? page : rest;
        if (!copy(to + done, from + done, part))
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
        if (!copy(&all[before + count], from + count * sizeof *all, sizeof *all))
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

/* The file's first bytes. False: it may not be executed, or would get other rights. */
static bool read_head(const char *path, unsigned char head[SCRIPT_BYTES])
{
    struct stat status;
    char rights[64];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    memset(head, 0, SCRIPT_BYTES);
    if (fd < 0)
        return false;
    const bool is_plain = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                          (status.st_mode & (S_ISUID | S_ISGID)) == 0 &&
                          fgetxattr(fd, "security.capability", rights, sizeof rights) <= 0 &&
                          access(path, X_OK) == 0 && read(fd, head, SCRIPT_BYTES - 1) > 0;
    close(fd);
    return is_plain;
}

static bool is_for_this_machine(const unsigned char *head)
{
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)(const void *)head;
    return memcmp(elf->e_ident, ELFMAG, SELFMAG) == 0 && elf->e_ident[EI_CLASS] == ELFCLASS64 &&
           elf->e_machine == MACHINE;
}

/* "#!INTERPRETER ARGUMENT": the program is now the interpreter. */
static bool enter_script(struct program *program, size_t number, const unsigned char *head)
{
    char *line = program->scripts[number], *script = line + SCRIPT_BYTES;
    memcpy(line, head + 2, SCRIPT_BYTES - 2);
    strcpy(script, program->path);
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

static bool find_program(struct program *program)
{
    _Alignas(8) unsigned char head[SCRIPT_BYTES];
    for (size_t scripts = 0;; scripts++) {
        if (strncmp(program->path, "/proc/", 6) == 0 || !read_head(program->path, head))
            return false;
        if (memcmp(head, "#!", 2) != 0)
            return is_for_this_machine(head);
        if (scripts == MOST_SCRIPTS || !enter_script(program, scripts, head))
            return false;
    }
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

void hp_execution_take(uint64_t path, uint64_t arguments, uint64_t environment)
{
    size_t count = 0, variables = 0;
    struct program *program = calloc(1, sizeof *program);
    char *preload = malloc(4 * PATH_MAX);
    char **words = copy_pointers(arguments, MOST_BEFORE, &count);
    char **variable = copy_pointers(environment, 0, &variables);
    if (program != NULL && preload != NULL && words != NULL && variable != NULL && start[0] != NULL &&
        copy_text(program->path, path, sizeof program->path) && find_program(program) &&
        take_preload(variable, preload, 4 * PATH_MAX))
        execve(start[0], put_command(program, words, count, preload), variable);
    free(variable);
    free(words);
    free(preload);
    free(program);
}
