/*
 * What a function found in stacks is to a reader: code of the program, or what stands between its functions and the
 * machine. Known by its name and the file that it is in. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_FUNCTION_ROLE_H
#define HP_MODEL_FUNCTION_ROLE_H

#include <stdbool.h>

#define HP_REST_OF_STACK "[rest of the stack unknown]" /* stands for the callers that could not be found */

enum hp_function_role {
    HP_ROLE_CODE,      /* a function with a name */
    HP_ROLE_HELPER,    /* of the C library, or of the standard library of the language: it works for its caller */
    HP_ROLE_KERNEL,    /* a system call, or something else in the kernel */
    HP_ROLE_GENERATED, /* code that was made at run time, without a name */
    HP_ROLE_NAMELESS,  /* code of a file that has no names */
    HP_ROLE_START,     /* starts a thread or a program; says nothing */
    HP_ROLE_UNSEEN     /* time without a stack: "<not sampled>" */
};

/* `library`: the file that it is in, without its folders; "": none. */
enum hp_function_role hp_function_role(const char *name, const char *library);

/* Whether a file is of the C library; whether it is that or one of the compiler's libraries. */
bool hp_is_c_library(const char *path);
bool hp_is_system_path(const char *path);

/* Whether a function of a file has no name: it is called by its address, "libz.so.1+0x49f0". */
bool hp_is_nameless(const char *name);

/* Whether a file is a program, not a library. */
bool hp_is_program_file(const char *library);

#endif
