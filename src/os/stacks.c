/* Stacks of threads. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "stacks.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "raw_call.h"
#include "signals.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#ifndef SS_ONSTACK
#define SS_ONSTACK 1
#endif

/* ---------------------------------------------------------------------------------------------------- own stack */

/* The minimum size of a thread's stack. */
#define SURE_BYTES ((uintptr_t)16 << 10)
/*
 * What the first thread has below the arguments: at least this much is kept free of other mappings, whatever its
 * limit.
 */
#define SURE_BYTES_OF_FIRST ((uintptr_t)1 << 20)
/* If the kernel does not tell what is mapped: the usual size of a stack. */
#define USUAL_BYTES ((uintptr_t)8 << 20)

/* A line of /proc/self/maps while it is parsed: "5581-5592 rw-p 00000000 00:00 0    [stack]". */
struct line {
    uintptr_t from, to;
    uint32_t field; /* 0 and 1: the two addresses */
    uint32_t matched;
};

static const char stack_name[] = "[stack]\n";

static int digit_of(char letter)
{
    return letter >= '0' && letter <= '9' ? letter - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* What to search for: the mapping that contains `address`, and perhaps the first thread's stack. */
struct search {
    uintptr_t address;
    bool needs_first;
    struct line line;
    uintptr_t before; /* end of the previous mapping */
    struct hp_stack found, first;
};

static void end_line(struct search *search)
{
    const struct line *line = &search->line;
    if (search->address >= line->from && search->address < line->to)
        search->found = (struct hp_stack){line->from, line->to};
    if (line->matched == sizeof stack_name - 1) /* it grows down to the next mapping */
        search->first = (struct hp_stack){search->before, line->to};
    search->before = line->to;
    search->line = (struct line){0, 0, 0, 0};
}

static void read_letter(struct search *search, char letter)
{
    struct line *line = &search->line;
    const int digit = digit_of(letter);
    uintptr_t *address = line->field == 0 ? &line->from : &line->to;
    if (line->field < 2 && digit >= 0)
        *address = *address << 4 | (uintptr_t)digit;
    else if (line->field < 2)
        line->field++;
    line->matched = letter == stack_name[line->matched] ? line->matched + 1 : letter == '[';
    if (letter == '\n')
        end_line(search);
}

/* A process may have tens of thousands of mappings, sorted by address. */
static bool is_done(const struct search *search)
{
    return !search->needs_first && search->before > search->address;
}

static bool search_maps(struct search *search)
{
    char text[256]; /* small: a coroutine's stack may have little more */
    long length = 0;
    const long fd = hp_raw(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    while (!is_done(search) && (length = hp_raw(SYS_read, fd, text, sizeof text)) > 0)
        for (long at = 0; at < length; at++)
            read_letter(search, text[at]);
    hp_raw(SYS_close, fd);
    return length >= 0;
}

/* The kernel puts some random bytes between the strings of arguments and environment, and the stack. */
static uintptr_t top_of_first(void) { return (uintptr_t)getauxval(AT_RANDOM); }

/*
 * C libraries put their thread data, which pthread_self points to, at the upper end of a thread's stack, and a
 * guard page below it. The first thread is different: its stack is the kernel's, and has a name.
 */
bool hp_stack_is_own(uintptr_t here, bool is_first, bool is_forked, struct hp_stack *ret_own)
{
    const uintptr_t self = (uintptr_t)pthread_self();
    const uintptr_t top = is_first ? top_of_first() : self, sure = is_first ? SURE_BYTES_OF_FIRST : SURE_BYTES;
    struct search search = {.address = self, .needs_first = is_first};
    if (top - here < sure) {
        *ret_own = (struct hp_stack){top - sure, top};
        return true;
    }
    if (!search_maps(&search)) {
        *ret_own = is_first ? (struct hp_stack){0, UINTPTR_MAX} : (struct hp_stack){self - USUAL_BYTES, self};
        return hp_stack_has(ret_own, here);
    }
    if (is_first && hp_stack_has(&search.first, here)) {
        *ret_own = search.first;
        return true;
    }
    *ret_own = (struct hp_stack){search.found.low, self};
    return (!is_first || is_forked) && hp_stack_has(ret_own, here);
}

/* ------------------------------------------------------------------------------------------------------ signals */

#define MOST_WORDS (1u << 17) /* words of a stack to search */

/* Every signal frame contains the registers. */
static bool has_room(uintptr_t low, uintptr_t high) { return high - low >= sizeof(mcontext_t); }

#if defined __x86_64__ && defined __LP64__
/*
 * The code selector as the kernel stores it there, in one word with two unused ones; next to them is the stack
 * selector, or nothing.
 */
static uint64_t code_selector(void)
{
    uint16_t code;
    __asm__("mov %%cs, %0" : "=r"(code));
    return code;
}

#define SELECTORS UINT64_C(0x0000ffffffffffff)

/* Reads arbitrary words of the host, so no sanitizer may check it. */
__attribute__((no_sanitize_address, no_sanitize_thread)) bool hp_stack_may_have_signal(uintptr_t low,
                                                                                       uintptr_t high)
{
    const uint64_t wanted = code_selector();
    const volatile uint64_t *word = (const volatile uint64_t *)(low & ~(sizeof *word - 1));
    if (high < low || high - low > MOST_WORDS * sizeof *word)
        return true;
    if (!has_room(low, high))
        return false;
    while ((uintptr_t)(word + 1) <= high)
        if ((*word++ & SELECTORS) == wanted)
            return true;
    return false;
}
#else
bool hp_stack_may_have_signal(uintptr_t low, uintptr_t high) { return high < low || has_room(low, high); }
#endif

/* --------------------------------------------------------------------------------------------- alternate stacks */

#define PAGE_BYTES UINT64_C(65536) /* the largest of the platforms we know */
/* Handlers of the program with SA_ONSTACK run there as well. */
#define ROOM_BYTES (UINT64_C(64) << 10)
/* Marks ours in a forked child: no other alternate stack is smaller than whole pages by this much. */
#define MARK_BYTES 208u

/* The kernel's layout. */
struct kernel_stack {
    void *base;
    int flags;
    size_t bytes;
};

uint64_t hp_alternate_least(void)
{
    const uint64_t least = getauxval(AT_MINSIGSTKSZ);
    return least > 4096 ? least : 4096;
}

static size_t mapped_bytes(void)
{
    return (size_t)((hp_alternate_least() + ROOM_BYTES + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1));
}

enum hp_alternate hp_alternate_present(uint64_t *ret_bytes)
{
    struct kernel_stack present = {NULL, SS_DISABLE, 0};
    hp_raw(SYS_sigaltstack, NULL, &present);
    *ret_bytes = present.bytes;
    if (present.flags & SS_DISABLE)
        return HP_ALTERNATE_NONE;
    if (present.flags & SS_ONSTACK)
        return HP_ALTERNATE_IN_USE;
    return present.bytes == mapped_bytes() - MARK_BYTES ? HP_ALTERNATE_OURS : HP_ALTERNATE_HOSTS;
}

static void *base_of(const struct hp_stack *stack) { return (void *)(stack->low + MARK_BYTES); }

bool hp_alternate_is(const struct hp_stack *stack)
{
    struct kernel_stack present = {NULL, SS_DISABLE, 0};
    hp_raw(SYS_sigaltstack, NULL, &present);
    return stack->high != 0 && !(present.flags & SS_DISABLE) && present.base == base_of(stack);
}

bool hp_alternate_set(const struct hp_stack *stack)
{
    const struct kernel_stack ours = {base_of(stack), 0, stack->high - stack->low - MARK_BYTES};
    return hp_raw(SYS_sigaltstack, &ours, NULL) == 0;
}

bool hp_alternate_make(struct hp_stack *ret_stack)
{
    const size_t bytes = mapped_bytes();
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    *ret_stack = (struct hp_stack){(uintptr_t)memory, (uintptr_t)memory + bytes};
    if (hp_alternate_set(ret_stack))
        return true;
    munmap(memory, bytes);
    *ret_stack = (struct hp_stack){0, 0};
    return false;
}

void hp_alternate_end(struct hp_stack *stack, bool is_own)
{
    const struct kernel_stack none = {NULL, SS_DISABLE, 0};
    const struct hp_stack ended = *stack;
    *stack = (struct hp_stack){0, 0};
    if (ended.high == 0)
        return;
    if (is_own && hp_alternate_is(&ended) && hp_raw(SYS_sigaltstack, &none, NULL) != 0)
        return; /* the thread exits in a handler */
    munmap((void *)ended.low, ended.high - ended.low);
}

bool hp_alternate_is_usual(void)
{
    struct hp_kernel_action urgent;
    if (hp_raw(SYS_rt_sigaction, SIGURG, NULL, &urgent, sizeof(uint64_t)) != 0)
        return false;
    const bool has_handler = urgent.handler != (uintptr_t)SIG_DFL && urgent.handler != (uintptr_t)SIG_IGN;
    return has_handler && (urgent.flags & SA_ONSTACK);
}
