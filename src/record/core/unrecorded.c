/*
 * Zones without a session: a program with macros that never starts a session would end silently, and its author
 * would not know why. So it prints one line at its end.
 *
 * Detection is free: while nothing is recorded, zones are skipped by a check of hp_no_context, which at first lets
 * them pass. The program's first zone takes the slow path and is noted; from then on zones are skipped.
 *
 * Zones of shared objects are not noted: users of a program that ships a library with zones, but does not use
 * hotpath itself, should not read about it. Only a limited number of them is let through. SPDX-License-Identifier:
 * MIT
 */
#include "unrecorded.h"

#include <sys/prctl.h>

#include "images.h"
#include "process.h"
#include "raw_call.h"
#include "runtime.h"

#define MOST_FOREIGN_ZONES 1000u

enum { DEAF, LISTENS };

/*
 * Whether the kernel forbids something. A process that has entered a sandbox since then may not even ask where to
 * write.
 */
static int32_t confinement(void) { return prctl(PR_GET_SECCOMP, 0, 0, 0, 0); }

void hp_unrecorded_listen(void)
{
    struct hp_unrecorded *state = &hp_runtime->unrecorded;
    const char *wish = hp_environment("HOTPATH");
    if (hp_library_owns_state() && (wish == NULL || wish[0] == '\0') && !hp_process_is_privileged()) {
        state->pid = hp_sys_process_id();
        state->confinement = confinement();
        HOTPATH_PUT_(state->listens, LISTENS);
    }
    if (HOTPATH_GET_(state->listens) == LISTENS)
        HOTPATH_PUT_(hp_no_context.skip, 0);
}

/*
 * A session that starts at the same time lets zones pass after it has opened its gate. If we do not see the gate
 * open, it will do so after us.
 */
static void stop_listening(void)
{
    if (__atomic_exchange_n(&hp_runtime->unrecorded.listens, DEAF, __ATOMIC_RELAXED) == DEAF)
        return;
    hp_skip_idle(true);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&hp_runtime->gate, __ATOMIC_RELAXED) != 0)
        hp_skip_idle(false);
}

void hp_unrecorded_meet(const void *site)
{
    struct hp_unrecorded *state = &hp_runtime->unrecorded;
    if (HOTPATH_GET_(state->listens) == DEAF)
        return;
    if (site != NULL && hp_image_is_program(site))
        HOTPATH_PUT_(state->is_met, 1);
    else if (__atomic_add_fetch(&state->foreign_zones, 1, __ATOMIC_RELAXED) < MOST_FOREIGN_ZONES)
        return;
    stop_listening();
}

void hp_unrecorded_forget(void)
{
    stop_listening();
    HOTPATH_PUT_(hp_runtime->unrecorded.is_met, 0);
}

/* Forked children are silent: their parent's line is enough. */
void hp_unrecorded_explain(void)
{
    const struct hp_unrecorded *state = &hp_runtime->unrecorded;
    if (HOTPATH_GET_(state->is_met) && state->confinement == confinement() && state->pid == hp_sys_process_id())
        hp_say("hotpath: the program has measured functions, but nothing was recorded: put HOTPATH_MAIN() first in "
               "main and compile that file with -DHOTPATH, set HOTPATH=1, or run the program with 'hotpath run'; "
               "HOTPATH=0 silences this message");
}
