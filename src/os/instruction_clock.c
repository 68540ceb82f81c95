/*
 * A clock that counts the instructions of the program.
 *
 * A thread asks once where its count is. A forked child has a copy of it at the same address.
 * SPDX-License-Identifier: MIT
 */
#include "instruction_clock.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

#ifndef HP_FOR_HOOKS
#include "cpu_counter.h"
#endif
#include "raw_call.h"

/*
 * The code of this copy of the library. In a program it has a section of its own, for which the linker makes these
 * names. A shared library is all ours.
 */
#define OF_THIS_FILE __attribute__((weak, visibility("hidden")))
extern const char __start_hotpath_text[] OF_THIS_FILE, __stop_hotpath_text[] OF_THIS_FILE;
#ifndef HOTPATH_IN_ONE_FILE
extern const ElfW(Ehdr) __ehdr_start OF_THIS_FILE;
#endif

/* It begins with a value: there is room for such variables before larger ones. */
#ifdef HP_FOR_HOOKS
const volatile uint64_t *hp_instruction_cell = HP_NO_CELL;
#else
__thread const volatile uint64_t *hp_instruction_cell = HP_NO_CELL;
#endif

static bool is_counting;

static bool is_asked(void) { return !hp_instruction_cell_is_none(hp_instruction_cell); }

static const volatile uint64_t *ask(struct hp_instruction_request *request)
{
    request->magic = HP_INSTRUCTION_MAGIC;
    hp_raw(HP_INSTRUCTION_CALL, request, 0, 0, 0, 0);
    return request->cell != 0 ? (const volatile uint64_t *)(uintptr_t)request->cell : HP_NO_CELL;
}

#ifndef HOTPATH_IN_ONE_FILE
/* Up to the end of the code. */
static const char *end_of_file(void)
{
    const char *file = (const char *)&__ehdr_start;
    const ElfW(Phdr) *parts = (const ElfW(Phdr) *)(const void *)(file + __ehdr_start.e_phoff);
    uintptr_t end = 0;
    for (unsigned at = 0; at < __ehdr_start.e_phnum; at++)
        if (parts[at].p_type == PT_LOAD && (parts[at].p_flags & PF_X) != 0)
            end = parts[at].p_vaddr + parts[at].p_memsz;
    return file + end;
}
#endif

/* Hooks read no counts, so they have none of the CPU's. */
#ifdef HP_FOR_HOOKS
static bool begin_with_cpu(void) { return false; }
static bool is_by_cpu(void) { return false; }
static uint64_t read_cpu(void) { return 0; }
static void end_cpu(void) {}
#else
static struct hp_counted_thread *own_counter(void)
{
    const uintptr_t cell = (uintptr_t)hp_instruction_cell;
    return cell != (uintptr_t)HP_NO_CELL && (cell & 1) ? (struct hp_counted_thread *)(cell - 1) : NULL;
}

static void keep_counter(struct hp_counted_thread *own)
{
    hp_instruction_cell = own != NULL ? (const volatile uint64_t *)((uintptr_t)own + 1) : HP_NO_CELL;
}

static bool begin_with_cpu(void)
{
    struct hp_counted_thread *own = own_counter();
    const bool is_on = hp_cpu_counter_begin(&own);
    if (is_on)
        keep_counter(own);
    return is_on;
}

static bool is_by_cpu(void) { return hp_cpu_counter_is_on(); }

static uint64_t read_cpu(void)
{
    struct hp_counted_thread *own = own_counter(), *const before = own;
    const uint64_t count = hp_cpu_counter_read(&own);
    if (own != before)
        keep_counter(own);
    return count;
}

static void end_cpu(void)
{
    struct hp_counted_thread *own = own_counter();
    hp_cpu_counter_end_thread(&own);
    keep_counter(own);
}
#endif

static bool begin_with_qemu(void)
{
    const char *begin = __start_hotpath_text, *end = __stop_hotpath_text;
#ifndef HOTPATH_IN_ONE_FILE
    if (begin == NULL && &__ehdr_start != NULL)
        begin = (const char *)&__ehdr_start, end = end_of_file();
#endif
    struct hp_instruction_request request = {.own_begin = (uintptr_t)begin, .own_end = (uintptr_t)end};
    hp_instruction_cell = ask(&request);
    __atomic_store_n(&is_counting, is_asked(), __ATOMIC_RELAXED);
    return is_asked();
}

bool hp_instruction_clock_begin(bool has_cpu) { return has_cpu ? begin_with_cpu() : begin_with_qemu(); }

bool hp_instruction_clock_is_counting(void)
{
    return __atomic_load_n(&is_counting, __ATOMIC_RELAXED) || is_by_cpu();
}

bool hp_instruction_clock_is_by_cpu(const char *wish) { return wish != NULL && strcmp(wish, HP_CLOCK_BY_CPU) == 0; }

void hp_instruction_clock_exclude_copy(const char *wish)
{
    if (wish != NULL && strncmp(wish, HP_CLOCK_BY_QEMU, strlen(HP_CLOCK_BY_QEMU)) == 0 &&
        !hp_instruction_clock_is_by_cpu(wish))
        begin_with_qemu();
}

static void tell(uint64_t flags)
{
    struct hp_instruction_request request = {.flags = flags};
    if (is_asked())
        ask(&request);
}

void hp_instruction_clock_expect_thread(void) { tell(HP_INSTRUCTION_THREADED); }

void hp_instruction_clock_end_thread(void)
{
    if (is_by_cpu())
        end_cpu();
}

void hp_instruction_clock_forgo_callers(void) { tell(HP_INSTRUCTION_MEASURED); }

uint64_t hp_instruction_clock_read_first(void)
{
    if (is_by_cpu())
        return read_cpu();
    struct hp_instruction_request request = {0};
    hp_instruction_cell = ask(&request);
    return is_asked() ? *hp_instruction_cell : 0;
}
