/*
 * Programs that run code of others: how they are known, what is said about them, and what makes them name the code
 * that they generate at run time. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_LANGUAGES_H
#define HP_MODEL_LANGUAGES_H

#include <stddef.h>

struct hp_language {
    /* Beginnings of the names of programs and libraries that are it; "": none. */
    const char *program, *library;
    const char *code;     /* what it runs: "Python code" */
    const char *compiler; /* its JIT compiler, by the function that does all of it; NULL: none */
    /* Of one that generates code: */
    const char *generator;  /* its name; NULL: it does not */
    const char *files[2];   /* beginnings of the names of files that are mapped then */
    const char *map_option; /* what makes it write a perf map; NULL: nothing does */
};

extern const struct hp_language hp_languages[];
extern const size_t hp_language_count;

/* Of a program, by its name: "python3.11" is Python, "shasum" is no shell. NULL: none. */
const struct hp_language *hp_language_of_program(const char *program);

/* The number of the one that generates code where that file is mapped, plus 1; 0: none. */
size_t hp_language_generating(const char *path);

#endif
