/*
 * Functions of loaded libraries, found as the dynamic linker finds them, by reading the images' own tables: dlsym
 * and dlopen would take a lock that is held while constructors run, and cannot search for another image. No heap,
 * no system call; takes some 4 KB of stack. Not in signal handlers. SPDX-License-Identifier: MIT
 */
#ifndef HP_ELF_LOADED_FUNCTION_H
#define HP_ELF_LOADED_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

/* Addresses of an image; size 0: none. */
struct hp_loaded_range {
    uintptr_t from, size;
};

struct hp_loaded_function {
    uintptr_t address;
    struct hp_loaded_range library; /* the code of its library */
};

static inline bool hp_loaded_has(const struct hp_loaded_range *range, uintptr_t address)
{
    return address - range->from < range->size;
}

/*
 * Notes the images that are loaded at process start: all others are bound to functions of these first. Done once,
 * at the latest by the functions below.
 */
void hp_loaded_begin(void);

/* The function that dlsym(RTLD_NEXT) finds there. 0: ask dlsym; it may be chosen at load time, or be elsewhere. */
uintptr_t hp_loaded_next(const char *name);

/* A call of a function that we stand in front of. */
struct hp_loaded_call {
    const char *name;
    uintptr_t caller;   /* its return address */
    uintptr_t argument; /* its first argument, an object of the library */
};

/* The function that a call would have reached without us. */
struct hp_loaded_answer {
    struct hp_loaded_function function;
    struct hp_loaded_range callers; /* the answer holds for calls from there; none: for this call only ... */
    uint64_t images;                /* ... as long as hp_loaded_images says this; 0: until an image is unloaded */
};

/* A number that changes when images are loaded or unloaded, and is not 0. */
uint64_t hp_loaded_images(void);

/*
 * It is the one that the calling image is bound to. The return address may be in another image than the call, if
 * that was a jump at the end of a function. Then it is what all images are bound to that refer to the function; if
 * that differs, the object shows whose it is. False: there is no such function.
 */
bool hp_loaded_for_call(const struct hp_loaded_call *call, struct hp_loaded_answer *ret_answer);

/* A function of the image that has this code. False: it has none of that name. */
bool hp_loaded_beside(const char *name, uintptr_t code, struct hp_loaded_answer *ret_answer);

#endif
