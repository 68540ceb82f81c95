/*
 * Several copies of the library in one process: a program with libhotpath.a, a plugin linked to libhotpath.so,
 * another plugin with the library built in. They must act as one recorder, and the dynamic linker merges them only
 * in some of these cases. So each copy has an ELF note that leads to its `hp_here`. A copy that is loaded reads the
 * notes of all images; if another copy is active already, it uses that copy's state from then on. Threads then
 * share contexts (threads.c), so zones nest across copies.
 *
 * Only copies with the same layout can share state. A hash identifies the layout (shared_layout.h): sizes alone
 * would not detect two members that changed places. Copies with different layouts are independent, each with its
 * own recorder and report.
 *
 * A copy in a shared object also keeps that object from being unloaded: other copies point into its state, and the
 * C library calls its functions when threads exit. SPDX-License-Identifier: MIT
 */
#include "runtime.h"

#include "cpu_counter.h"
#include "images.h"
#include "instruction_clock.h"
#include "no_session.h"
#include "process.h"
#include "shared_layout.h"

/* The target of a note. The first two members never move, in any version, so that copies can compare them. */
struct here {
    uint64_t layout;
    uint64_t state_bytes;      /* differs if the same sources are compiled with other options */
    struct hp_recorder *state; /* NULL until this copy has searched for others */
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

static bool may_call(void) { return !hp_is_sealed(); }

void hp_library_join(void)
{
    if (hp_here.state != NULL)
        return;
    hp_instruction_clock_exclude_copy(hp_environment("HOTPATH_CLOCK"));
    hp_images_each_note(meet, &hp_runtime);
    hp_cpu_counters_use(&hp_runtime->counters, may_call);
    hp_image_stay_loaded(&hp_here);
    size_t copy = 0;
    while (copy < HP_COPIES && hp_runtime->no_contexts[copy] != NULL)
        copy++;
    if (copy < HP_COPIES)
        hp_runtime->no_contexts[copy] = &hp_no_context;
    HOTPATH_PUT_(hp_no_context.skip, copy < HP_COPIES && hp_runtime->gate == 0 && !hp_is_deferred());
    hp_here.state = hp_runtime;
}
