/*
 * The recorder's state and its lock.
 *
 * hotpath_v1_runtime is a "unique" symbol: when several shared objects each carry a copy of the library, the dynamic
 * linker of glibc makes them all use one. Each copy still has its own hotpath_v1_head; threads.c lets them share heads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "runtime.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "memory.h"
#include "process.h"
#include "sys.h"

/* Compilers cannot be asked for such a symbol; the assembler can. */
#if defined(__GLIBC__)
#if defined(__arm__)
#define ASM_TYPE(name) "%" name
#else
#define ASM_TYPE(name) "@" name
#endif
#define RUNTIME_BYTES 32768
#define TEXT_OF(number) TEXT_OF_(number)
#define TEXT_OF_(number) #number
__asm__(".pushsection .bss.hotpath_v1_runtime,\"aw\"," ASM_TYPE("nobits") "\n"
        ".type hotpath_v1_runtime, " ASM_TYPE("gnu_unique_object") "\n"
        ".size hotpath_v1_runtime, " TEXT_OF(RUNTIME_BYTES) "\n"
        ".p2align 6\n"
        "hotpath_v1_runtime: .zero " TEXT_OF(RUNTIME_BYTES) "\n"
        ".popsection\n");
_Static_assert(sizeof(struct hp_recorder) <= RUNTIME_BYTES, "raise RUNTIME_BYTES");
#else
__attribute__((visibility("default"))) struct hp_recorder hotpath_v1_runtime;
#endif

/* Where hotpath_v1_head of a thread points before it registers, and after it ended. Never written to. */
struct hotpath_head_ hp_idle_head = {.base = (char *)&hotpath_v1_runtime};

__thread struct hotpath_head_ *hotpath_v1_head = &hp_idle_head;
__thread uint32_t hp_thread_is_over;

static void empty_in_child(void)
{
    /* Only where the kernel cannot do it for us. */
    struct hp_fork_page *page = hp_runtime->fork_page;
    if (page == NULL || hp_runtime->has_wipe)
        return;
    for (struct hp_head *head = page->heads, *next; head != NULL; head = next) {
        next = head->next;
        memset(head, 0, sizeof *head);
    }
    memset(page, 0, sizeof *page);
}

bool hp_runtime_prepare(void)
{
    if (hp_runtime->fork_page != NULL)
        return true;
    struct hp_fork_page *page = hp_memory_map(65536);
    if (page == NULL)
        return false;
    hp_runtime->has_wipe = hp_memory_wipe_on_fork(page, 65536);
    if (!hp_runtime->has_wipe)
        pthread_atfork(NULL, NULL, empty_in_child);
    page->is_ours = 1;
    hp_runtime->counter = hp_clock_counter();
    hp_runtime->fork_page = page;
    return true;
}

/*
 * A spin lock: it is held for microseconds, by slow paths only. Signals are held while it is taken, so its holder
 * is never interrupted by code that wants it too. Acquire pairs with the release in hp_unlock.
 */
void hp_lock(struct hp_signals *held)
{
    hp_signals_hold(held);
    while (__atomic_exchange_n(&hp_runtime->fork_page->lock, 1, __ATOMIC_ACQUIRE) != 0)
        sched_yield();
}

void hp_unlock(const struct hp_signals *held)
{
    __atomic_store_n(&hp_runtime->fork_page->lock, 0, __ATOMIC_RELEASE);
    hp_signals_release(held);
}

bool hp_is_forked_child(void)
{
    const struct hp_fork_page *page = hp_runtime->fork_page;
    return page != NULL && __atomic_load_n(&page->is_ours, __ATOMIC_RELAXED) == 0;
}

uint64_t hp_now(void)
{
    return hp_clock_ticks(hp_runtime->counter);
}

uint64_t hotpath_v1_clock(void)
{
    return hp_clock_monotonic_ns();
}

void hp_say(const char *line)
{
    if (!hp_file_is(2, &hp_runtime->standard_error))
        return;
    char whole[600];
    size_t length = strnlen(line, sizeof whole - 1);
    memcpy(whole, line, length);
    whole[length++] = '\n';
    hp_file_write(2, whole, length);
}
