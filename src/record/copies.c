/*
 * Several copies of the library in one process: a program with libhotpath.a, a plugin linked to libhotpath.so, another
 * that carries the library in itself. They must be one recorder, and the dynamic linker unites them in some of these
 * cases only. So each copy has an ELF note that leads to its `hp_here`; a copy that is loaded looks through the notes of
 * all images and, when another copy is at work already, works on that one's state from then on. Threads then share
 * heads (threads.c), so zones nest across copies.
 *
 * Only copies of the same layout can share anything. A number stands for that (shared_layout.h): sizes alone would not tell two
 * members that have changed places. Copies with different ones are strangers, each with a recorder and a report of its own.
 *
 * A copy in a shared object also sees to it that the object is never unloaded: other copies point into its state, and
 * the C library calls its functions when threads end. SPDX-License-Identifier: MIT
 */
#include "copies.h"

#include "images.h"
#include "runtime.h"
#include "shared_layout.h"

/* What a note leads to. The first two stay where they are in all versions, or copies could not compare them. */
struct here {
    uint64_t layout;
    uint64_t state_bytes;      /* the same sources may be compiled with other options */
    struct hp_recorder *state; /* NULL until this copy has looked for others */
};
extern struct here hp_here;
__attribute__((visibility("hidden"), used)) struct here hp_here = {HP_SHARED_LAYOUT, sizeof(struct hp_recorder),
                                                                   NULL};

HP_IMAGE_NOTE("hp_here");

static void meet(const void *object, void *context)
{
    const struct here *here = object;
    struct hp_recorder **found = context;
    if (here != &hp_here && here->layout == hp_here.layout && here->state_bytes == hp_here.state_bytes &&
        here->state != NULL)
        *found = here->state;
}

void hp_copies_join(void)
{
    if (hp_here.state != NULL)
        return;
    hp_images_each_note(meet, &hp_runtime);
    hp_image_stay_loaded(&hp_here);
    size_t copy = 0;
    while (copy < HP_COPIES && hp_runtime->idle_heads[copy] != NULL)
        copy++;
    if (copy < HP_COPIES)
        hp_runtime->idle_heads[copy] = &hp_idle_head;
    HOTPATH_PUT_(hp_idle_head.skip, copy < HP_COPIES && hp_runtime->gate == 0);
    hp_here.state = hp_runtime;
}
