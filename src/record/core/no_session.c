/* When sessions that begin late do so, and zones without a session. SPDX-License-Identifier: MIT */
#include "no_session.h"

#include <errno.h>
#include <sys/prctl.h>

#include "cpu.h"
#include "hook_entries.h"
#include "images.h"
#include "process.h"
#include "raw_call.h"
#include "runtime.h"
#include "scratch_stack.h"
#include "signals.h"

#define LATEST_NS UINT64_C(1000000)

/* Of the copy of the library that defers. */
static struct hp_taken_signal taken;

/* In memory that fork empties: a child has no timers. */
static int *timer(void) { return &hp_page()->deferral_timer; }

/* In a sandbox it is left: it fires only once. */
static void stop_timer(void)
{
    if (hp_page() != NULL && *timer() != 0 && !hp_is_sandboxed())
        hp_cpu_timer_stop(*timer() - 1);
    if (hp_page() != NULL)
        *timer() = 0;
}

static void on_timer(int signal, siginfo_t *info, void *context)
{
    const int saved = errno;
    if (hp_cpu_source_of(info, &taken) != HP_CPU_BY_TIMER)
        hp_private_signal_pass_on(&taken, signal, info, context);
    else
        hp_deferral_begin();
    errno = saved;
}

/* It fires once. Kernels that let it interrupt a system call are not asked to defer (src/cli/cmd_run.c). */
static void start_timer(void)
{
    int number;
    taken.is_changing = 0; /* set by a thread that does not exist in a forked child */
    if (hp_private_signal_take(&taken, HP_SIGNAL_ASIDE, on_timer) &&
        hp_cpu_timer_start(&number, hp_private_signal_number(HP_SIGNAL_ASIDE), &taken, LATEST_NS, 0))
        *timer() = number + 1;
}

/* The counter that a session will have, unless the kernel does not trust it. */
#if defined __x86_64__ || defined __i386__
#define LIKELY_COUNTER HP_COUNTER_TSC
#elif defined __aarch64__
#define LIKELY_COUNTER HP_COUNTER_CNTVCT
#elif defined __riscv && __riscv_xlen == 64
#define LIKELY_COUNTER HP_COUNTER_RDTIME
#else
#define LIKELY_COUNTER HP_COUNTER_NONE
#endif

void hp_deferral_set(hp_begin_session *begin, bool is_forked)
{
    struct hp_deferred_since *since = &hp_page()->deferred;
    hp_runtime->begin_deferred = begin;
    hp_page()->pid = hp_sys_process_id();
    since->ns = hp_clock_monotonic_ns();
    since->ticks = hp_clock_ticks_raw(LIKELY_COUNTER);
    if (!is_forked) /* else it has used nothing yet */
        since->used = hp_cpu_of_process();
    __atomic_store_n(&hp_runtime->deferral, HP_DEFERRED, __ATOMIC_RELAXED);
    hp_skip_idle(false);
    start_timer();
}

void hp_deferral_end(void)
{
    if (__atomic_exchange_n(&hp_runtime->deferral, HP_NOT_DEFERRED, __ATOMIC_RELAXED) != HP_NOT_DEFERRED)
        stop_timer();
}

static void begin_on_scratch_stack(void *unused)
{
    (void)unused;
    hp_runtime->begin_deferred();
}

/* A child of vfork shares the memory of its parent, whose session it must not begin. */
static bool is_ours_to_begin(void)
{
    return hp_page() != NULL && hp_page()->pid == hp_sys_process_id() && !hp_is_sandboxed();
}

/* Others that come meanwhile go on without a session. If there is nothing to begin, errno is not even written. */
void hp_deferral_begin(void)
{
    uint32_t deferred = HP_DEFERRED;
    if (!hp_is_deferred() || !is_ours_to_begin() ||
        !__atomic_compare_exchange_n(&hp_runtime->deferral, &deferred, HP_BEGINNING, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return;
    const int saved = errno;
    hp_on_scratch_stack(begin_on_scratch_stack, NULL);
    hp_deferral_end();
    errno = saved;
}

void hp_deferral_look(void)
{
    const struct hp_fork_page *page = hp_page();
    if (page != NULL && hp_clock_monotonic_ns() - page->deferred.ns > LATEST_NS)
        hp_deferral_begin();
}

/* Times are those of the process, as if it had begun at once. */
void hp_deferral_backdate(struct hp_header *header)
{
    struct hp_deferred_since *since = &hp_page()->deferred;
    if (since->ns == 0 || since->ns > header->clock_start.ns)
        return;
    header->wall_start_ns -= header->clock_start.ns - since->ns;
    header->clock_start =
        (struct hp_clock_pair){hp_runtime->counter == LIKELY_COUNTER ? since->ticks : since->ns, since->ns};
    header->cpu_start_ns = since->used.ns;
    header->cpu_start_kernel_ns = since->used.kernel_ns;
    since->ns = 0; /* another session of this process begins when it does */
}

void hotpath_v1_begin(void) { hp_deferral_begin(); }

/* -------------------------------------------------------------------------------------- zones without a session */

/*
 * Zones without a session: a program with macros that never starts a session would end silently, and its author
 * would not know why. So it prints one line at its end.
 *
 * Detection is free: while nothing is recorded, zones are skipped by a check of hp_no_context, which at first lets
 * them pass. The program's first zone takes the slow path and is noted; from then on zones are skipped.
 *
 * Zones of shared objects are not noted: users of a program that ships a library with zones, but does not use
 * hotpath itself, should not read about it. Only a limited number of them is let through.
 */

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
