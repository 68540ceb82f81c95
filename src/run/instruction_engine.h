/*
 * What counts the instructions of a program for `hotpath run --clock instructions`: qemu-user with our plugin
 * (src/qemu). The program is run by it, and the library in it reads the counts.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RUN_INSTRUCTION_ENGINE_H
#define HP_RUN_INSTRUCTION_ENGINE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct hp_instruction_engine {
    char emulator[PATH_MAX];
    char plugin[2 * PATH_MAX + 64]; /* as QEMU wants it: "file=PATH,folder=PATH" */
    char program[PATH_MAX];
    char preload[4 * PATH_MAX]; /* as the program gets it: "LD_PRELOAD=..."; QEMU itself must not */
    char about[200];            /* "qemu 7.2.22, cpu max,-erms"; the library adds the program's C library */
    char **command;             /* NULL: instructions are not counted */
    bool has_callers;           /* calls are to be followed; set by the caller */
};

/*
 * Finds everything, and makes the command. False: instructions of the program cannot be counted, and `problem` says
 * why. `library` is preloaded, and counts by address are left in `folder`; "": none.
 */
bool hp_instruction_engine_find(struct hp_instruction_engine *engine, char **argv, const char *library,
                                const char *folder, char *problem, size_t size);
/* Whether QEMU can count at all: then `about` says which one, else why not. */
bool hp_instruction_engine_is_there(char *about, size_t size);
/* Called in the new process, after the library was put into LD_PRELOAD. */
void hp_instruction_engine_prepare(struct hp_instruction_engine *engine);

/* Why the CPU cannot count instructions here; "": it can. */
void hp_cpu_counter_explain(char *problem, size_t size);

#endif
