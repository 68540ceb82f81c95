/*
 * The ELF images of this process, the program and its shared objects, and the functions in them.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_ELF_IMAGES_H
#define HP_ELF_IMAGES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * An ELF note of ours: a 32-bit offset, relative to its own position, to an object in the same image. Use once per
 * image, at file level.
 */
#if defined(__arm__)
#define HP_IMAGE_NOTE_TYPE_ "%note"
#else
#define HP_IMAGE_NOTE_TYPE_ "@note"
#endif
#define HP_IMAGE_NOTE(object)                                                                                      \
    __asm__(".pushsection .note.hotpath,\"a\"," HP_IMAGE_NOTE_TYPE_ "\n"                                           \
            ".p2align 2\n"                                                                                         \
            ".long 8, 4, 2\n" /* size of the name, size of the offset, type */                                     \
            ".asciz \"hotpath\"\n"                                                                                 \
            ".long " object " - .\n"                                                                               \
            ".popsection\n")

/* Calls `visit` with the object of each of our notes, in all images. Not in a signal handler. */
typedef void hp_image_visit(const void *object, void *context);
void hp_images_each_note(hp_image_visit *visit, void *context);

/* Whether an object is in the program itself rather than in a shared object. No lock, no system call. */
bool hp_image_is_program(const void *address);

/* Where images are loaded now. Those that do not fit are missing. */
#define HP_IMAGES 256u
struct hp_image_ranges {
    uint32_t count;
    struct {
        uintptr_t from, to;
    } all[HP_IMAGES];
};
void hp_images_list(struct hp_image_ranges *ret_ranges);
bool hp_images_have(const struct hp_image_ranges *ranges, uintptr_t address);

/* How many images were unloaded so far. Not in a signal handler. */
uint64_t hp_images_unloaded(void);

/* Keeps the shared object that `address` lies in from being unloaded. */
void hp_image_stay_loaded(const void *address);

/* ---------------------------------------------------------------------------------------------------- functions */

/*
 * Names of functions, from the ELF symbol tables of the program and its loaded libraries. Each table is read and
 * sorted once. No heap, and no lock of the dynamic linker. One thread at a time.
 */

struct hp_symbol {
    const char *name;  /* as in the symbol table */
    const char *file;  /* the source of a static function, as passed to the compiler; "" if unknown */
    const char *image; /* the path of the program or library; NULL if unknown */
    uint64_t address;  /* linked address of the address that was asked for */
};

/*
 * The function that contains `address`. False: its image cannot be read, or has no such symbol. Texts stay valid.
 */
bool hp_symbol_find(uintptr_t address, struct hp_symbol *ret_symbol);

/* Forgets where images were that are not loaded any more: others may take their places. */
void hp_symbols_forget(const struct hp_image_ranges *loaded);

/* The file mapped at an address, and the offset in it. False: none. The path is valid until the next call. */
bool hp_symbol_image(uintptr_t address, const char **ret_path, uint64_t *ret_offset);

#endif
