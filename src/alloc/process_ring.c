/*
 * The state of the ring is in memory that the kernel wipes in a forked child, however it was forked: the child has
 * no ring yet. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "process_ring.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "hotpath.h"
#include "raw_call.h"

#define PAGE 65536u /* the largest page of all supported platforms */
#define MOST_FOLDER 1200u

enum state { NOT_MADE, BEING_MADE, MADE, REFUSED };

struct page {
    struct hp_stack_ring ring;
    uint32_t state;
};

static struct {
    struct page *page; /* NULL: there is no run */
    uint64_t capacity, period_ns;
    char folder[MOST_FOLDER];
} process;

/* ----------------------------------------------------------------------------------------------------- its name */

static char *put_text(char *to, const char *text)
{
    while (*text != '\0')
        *to++ = *text++;
    return to;
}

static char *put_number(char *to, uint64_t number)
{
    char digits[20];
    unsigned count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0)
        *to++ = digits[--count];
    return to;
}

/* DIRECTORY/PID-NANOSECONDS.ring: after exec the same process has another one. */
static void name_ring(char *path, uint32_t pid)
{
    path = put_number(put_text(put_text(path, process.folder), "/"), pid);
    path = put_number(put_text(path, "-"), hp_raw_clock(CLOCK_MONOTONIC));
    path = put_text(path, HP_STACK_RING_SUFFIX);
    *path = '\0';
}

/* ---------------------------------------------------------------------------------------------------- making it */

/* Static, since the handler's stack frames must be small; used once. */
static char path_of_ring[MOST_FOLDER + 64];

static void make(struct page *page)
{
    const uint32_t pid = (uint32_t)hp_raw(SYS_getpid, 0);
    name_ring(path_of_ring, pid);
    const struct hp_stack_ring_plan plan = {.path = path_of_ring,
                                            .capacity = process.capacity,
                                            .period_ns = process.period_ns,
                                            .pid = pid,
                                            .kind = HP_LOAN_PROCESS_RING};
    const bool is_made = hp_stack_ring_make(&page->ring, &plan);
    __atomic_store_n(&page->state, is_made ? MADE : REFUSED, __ATOMIC_RELEASE);
}

struct hp_stack_ring *hp_process_ring_present(void)
{
    struct page *page = process.page;
    /* Acquire pairs with the release above. */
    return page != NULL && __atomic_load_n(&page->state, __ATOMIC_ACQUIRE) == MADE ? &page->ring : NULL;
}

struct hp_stack_ring *hp_process_ring(void)
{
    struct page *page = process.page;
    uint32_t not_made = NOT_MADE;
    if (page != NULL &&
        __atomic_compare_exchange_n(&page->state, &not_made, BEING_MADE, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        make(page);
    return hp_process_ring_present();
}

bool hp_process_ring_is_refused(void)
{
    const struct page *page = process.page;
    return page == NULL || __atomic_load_n(&page->state, __ATOMIC_RELAXED) == REFUSED;
}

/*
 * Beside the session: if the recorder has none, because the run is over or a sandbox forbids it, there is no ring
 * either.
 */
static bool find_folder(void)
{
    const char *session = hotpath_session_path(), *slash = session != NULL ? strrchr(session, '/') : NULL;
    const size_t length = slash != NULL ? (size_t)(slash - session) : 0;
    if (length == 0 || length >= MOST_FOLDER || getenv("HOTPATH_RUN") == NULL)
        return false;
    memcpy(process.folder, session, length);
    process.folder[length] = '\0';
    return true;
}

static uint64_t confinement_of_run(void)
{
    const char *around = getenv(HP_RUN_CONFINEMENT);
    return around != NULL ? strtoull(around, NULL, 10) : 0;
}

bool hp_process_ring_prepare(uint64_t period_ns)
{
    if (!HP_STACK_RING_WORKS || !find_folder())
        return false;
    struct page *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || madvise(page, PAGE, MADV_WIPEONFORK) != 0)
        return false; /* without it, a child could not be told from its parent */
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    process.capacity = hp_stack_ring_capacity(cores > 0 ? (uint64_t)cores : 1);
    process.period_ns = period_ns;
    hp_borrow_from(getenv(HP_RUN_LENDER), confinement_of_run());
    process.page = page;
    return true;
}
