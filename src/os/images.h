/* The process's own ELF images: the program and the shared objects loaded into it. SPDX-License-Identifier: MIT */
#ifndef HP_OS_IMAGES_H
#define HP_OS_IMAGES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A note of ours: it leads, by a 32-bit distance from where that distance stands, to an object of the image it is in.
 * To be used once per image, at file level.
 */
#if defined(__arm__)
#define HP_IMAGE_NOTE_TYPE_ "%note"
#else
#define HP_IMAGE_NOTE_TYPE_ "@note"
#endif
#define HP_IMAGE_NOTE(object)                                                                                      \
    __asm__(".pushsection .note.hotpath,\"a\"," HP_IMAGE_NOTE_TYPE_ "\n"                                           \
            ".p2align 2\n"                                                                                         \
            ".long 8, 4, 2\n" /* bytes of the name, bytes of the distance, type */                                 \
            ".asciz \"hotpath\"\n"                                                                                 \
            ".long " object " - .\n"                                                                               \
            ".popsection\n")

/* Calls `visit` with the object that each note of ours in any image leads to. Not in a signal handler. */
typedef void hp_image_visit(const void *object, void *context);
void hp_images_each_note(hp_image_visit *visit, void *context);

/* Whether an object is in the program itself, as opposed to a shared object. No lock, no system call. */
bool hp_image_is_program(const void *address);

/* Keeps the shared object that `address` lies in from being unloaded. */
void hp_image_stay_loaded(const void *address);

#endif
