/* The writer side of a ring of stacks. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* registers in ucontext_t */
#include "stack_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "memory.h"
#include "raw_call.h"

_Static_assert(sizeof(struct hp_stack_record) == 56, "no gaps");
_Static_assert(sizeof(struct hp_stack_ring_header) <= HP_STACK_RING_HEADER_BYTES, "one page");
_Static_assert(offsetof(struct hp_stack_ring_header, head) == 64 &&
                   offsetof(struct hp_stack_ring_header, tail) == 128,
               "lines of the cache");

/* --------------------------------------------------------------------------------------------------- registers */

#if HP_STACK_RING_WORKS && defined __x86_64__
bool hp_stack_registers_of(const void *context, struct hp_stack_registers *ret_registers)
{
    static const uint8_t places[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                     REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    const ucontext_t *interrupted = context;
    for (size_t at = 0; at < sizeof places; at++)
        ret_registers->value[at] = (uint64_t)interrupted->uc_mcontext.gregs[places[at]];
    ret_registers->known = (UINT64_C(1) << sizeof places) - 1;
    return true;
}
#elif HP_STACK_RING_WORKS
bool hp_stack_registers_of(const void *context, struct hp_stack_registers *ret_registers)
{
    const ucontext_t *interrupted = context;
    for (size_t at = 0; at < 31; at++)
        ret_registers->value[at] = interrupted->uc_mcontext.regs[at];
    ret_registers->value[HP_STACK_SP] = interrupted->uc_mcontext.sp;
    ret_registers->value[HP_STACK_PC] = interrupted->uc_mcontext.pc;
    ret_registers->known = (UINT64_C(1) << HP_STACK_REGISTERS) - 1;
    return true;
}
#else
bool hp_stack_registers_of(const void *context, struct hp_stack_registers *ret_registers)
{
    (void)context, (void)ret_registers;
    return false;
}
#endif

/* ------------------------------------------------------------------------------------------------------- making */

#define MOST_CORES 16u
#define BYTES_PER_CORE (UINT64_C(1) << 19)

uint64_t hp_stack_ring_capacity(uint64_t cores)
{
    uint64_t capacity = 2 * BYTES_PER_CORE;
    while (capacity < BYTES_PER_CORE * (cores < MOST_CORES ? cores : MOST_CORES))
        capacity *= 2;
    return capacity;
}

/* The mapping, or NULL. */
static void *map_file(long fd, uint64_t bytes)
{
    const long memory = hp_raw(HP_SYS_MMAP, NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return hp_raw_is_error(memory) ? NULL : (void *)(uintptr_t)memory;
}

static void fill_header(struct hp_stack_ring_header *header, const struct hp_stack_ring_plan *plan)
{
    header->capacity = plan->capacity;
    header->pid = plan->pid;
    header->record_header_bytes = sizeof(struct hp_stack_record);
    header->period_ns = plan->period_ns;
    /* Release: a reader that sees the magic sees the rest. */
    __atomic_store_n(&header->magic, HP_STACK_RING_MAGIC, __ATOMIC_RELEASE);
}

static char *put_number(char *to, uint32_t number)
{
    char digits[10];
    unsigned count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0)
        *to++ = digits[--count];
    return to;
}

/* A symbolic link takes neither a descriptor nor a disk block: it can be made where the ring cannot. */
static bool tell_failed_rings(const char *path, uint32_t pid, long error)
{
    char text[sizeof HP_RING_FAILED + 24] = HP_RING_FAILED;
    char *end = put_number(text + sizeof HP_RING_FAILED - 1, pid);
    *end++ = '-';
    *put_number(end, (uint32_t)error) = '\0';
    return hp_raw(SYS_symlinkat, text, AT_FDCWD, path) == 0;
}

static uint64_t bytes_of(const struct hp_stack_ring_plan *plan)
{
    return HP_STACK_RING_HEADER_BYTES + plan->capacity;
}

/* Allocates and maps all of it. Returns 0, or the error. */
static long map_all(struct hp_stack_ring *ring, long fd, const struct hp_stack_ring_plan *plan)
{
    const long refusal = hp_raw_fallocate((int)fd, 0, bytes_of(plan));
    if (refusal < 0)
        return -refusal;
    struct hp_stack_ring_header *header = map_file(fd, bytes_of(plan));
    if (header == NULL)
        return ENOMEM;
    ring->records = (unsigned char *)header + HP_STACK_RING_HEADER_BYTES;
    ring->capacity = plan->capacity;
    ring->header = header;
    return 0;
}

/*
 * When everything is filled in, its mode is set again to the same value: this notifies those who watch the
 * directory. (Closing would not: the kernel keeps a mapped file open.) Returns 0, or the error.
 */
static long make(struct hp_stack_ring *ring, const struct hp_stack_ring_plan *plan)
{
    if (bytes_of(plan) > hp_raw_limit(RLIMIT_FSIZE))
        return EFBIG; /* a file that grows beyond the limit gets its process a signal */
    if (bytes_of(plan) + plan->beside > hp_memory_allowance())
        return ENOMEM;
    const long fd =
        hp_raw(SYS_openat, AT_FDCWD, plan->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, (long)0600);
    if (fd < 0)
        return -fd;
    const long error = map_all(ring, fd, plan);
    if (ring->header != NULL) {
        fill_header(ring->header, plan);
        hp_raw(SYS_fchmod, fd, (long)0600);
    } else {
        hp_raw(SYS_unlinkat, AT_FDCWD, plan->path, 0);
    }
    hp_raw(SYS_close, fd);
    return error;
}

/* Its header is filled in. Returns 0, or the error. */
static long borrow(struct hp_stack_ring *ring, const struct hp_stack_ring_plan *plan)
{
    struct hp_loan loan;
    const struct hp_loan_request request = {
        .kind = plan->kind, .session = plan->session, .bytes = plan->capacity, .period_ns = plan->period_ns};
    const int fd = hp_borrow(&request, &loan);
    if (fd < 0)
        return -fd;
    const long error = loan.bytes == bytes_of(plan) ? map_all(ring, fd, plan) : EINVAL;
    hp_raw(SYS_close, fd);
    return error;
}

bool hp_stack_ring_make(struct hp_stack_ring *ring, const struct hp_stack_ring_plan *plan)
{
    ring->header = NULL;
    ring->is_untold = false;
    if (!HP_STACK_RING_WORKS || !hp_stack_ring_is_possible(plan->capacity))
        return false;
    if (hp_is_confined_in_run())
        return false; /* it may forbid all of this. Nothing told of it, or no ring would be wanted */
    const long error = make(ring, plan);
    if (error != 0 && hp_loan_may_help((int)error) && borrow(ring, plan) == 0)
        return true;
    ring->is_untold = error != 0 && error != EEXIST && !tell_failed_rings(plan->path, plan->pid, error);
    return error == 0;
}

void hp_stack_ring_unmap(struct hp_stack_ring *ring)
{
    if (ring->header != NULL)
        hp_raw(SYS_munmap, ring->header, HP_STACK_RING_HEADER_BYTES + ring->capacity);
    ring->header = NULL;
}

#if HP_STACK_RING_WORKS
/* ---------------------------------------------------------------------------------------------- copying a stack */

struct piece {
    const void *start;
    size_t bytes;
};

/* The kernel copies what is mapped, and stops at the first gap. */
static long copy_by_kernel(void *to, uintptr_t from, size_t bytes)
{
    const struct piece local = {to, bytes}, remote = {(const void *)from, bytes};
    return hp_raw(SYS_process_vm_readv, hp_raw(SYS_getpid, 0), &local, 1, &remote, 1, 0);
}

/* A loop that compilers do not turn into memcpy, which is the C library's. */
__attribute__((no_sanitize("address"))) static void copy_words(volatile uint64_t *to, const volatile uint64_t *from,
                                                               size_t count)
{
    for (size_t at = 0; at < count; at++)
        to[at] = from[at];
}

/*
 * If that call is refused, as in some containers: the thread's whole own stack, or the rest of the page of the
 * stack pointer.
 */
static size_t copy_directly(void *to, uintptr_t from, size_t bytes, const struct hp_stack *own)
{
    const size_t left = HP_LEAST_PAGE - (from & (HP_LEAST_PAGE - 1));
    const size_t sure = hp_stack_has(own, from) ? own->high - from : left, most = sure < bytes ? sure : bytes;
    if (from % sizeof(uint64_t) != 0 || !hp_raw_can_read(from))
        return 0;
    copy_words(to, (const volatile uint64_t *)from, most / sizeof(uint64_t));
    return most / sizeof(uint64_t) * sizeof(uint64_t);
}

static size_t copy_stack(void *to, uintptr_t from, size_t bytes, const struct hp_stack *own)
{
    const long copied = copy_by_kernel(to, from, bytes);
    if (copied >= 0)
        return (size_t)copied;
    return copied == -EFAULT ? 0 : copy_directly(to, from, bytes, own);
}

/* ---------------------------------------------------------------------------------------------------- reserving */

static size_t aligned(size_t bytes)
{
    return (bytes + HP_STACK_RECORD_ALIGN - 1) & ~(size_t)(HP_STACK_RECORD_ALIGN - 1);
}

static struct hp_stack_record *record_at(const struct hp_stack_ring *ring, uint64_t position)
{
    return (struct hp_stack_record *)(void *)(ring->records + (position & (ring->capacity - 1)));
}

/* Release pairs with the reader, which reads the mark first. */
static void publish(struct hp_stack_record *record, uint64_t position)
{
    __atomic_store_n(&record->mark, hp_stack_mark(position), __ATOMIC_RELEASE);
}

/* The last piece of the file may be too short for a whole header: the mark and the length are enough. */
static void put_skipped(const struct hp_stack_ring *ring, uint64_t position, uint64_t bytes)
{
    struct hp_stack_record *record = record_at(ring, position);
    record->bytes = (uint32_t)bytes;
    record->kind = HP_STACK_SKIPPED;
    publish(record, position);
}

/* Reserves a piece that does not cross the end of the file. False: the ring is full. */
static bool reserve(const struct hp_stack_ring *ring, uint64_t bytes, uint64_t *ret_position)
{
    struct hp_stack_ring_header *header = ring->header;
    uint64_t head = __atomic_load_n(&header->head, __ATOMIC_RELAXED), skipped;
    do {
        /* Acquire: only after that may we overwrite what the reader has finished with. */
        const uint64_t tail = __atomic_load_n(&header->tail, __ATOMIC_ACQUIRE);
        const uint64_t to_end = ring->capacity - (head & (ring->capacity - 1));
        skipped = bytes > to_end ? to_end : 0;
        if (head - tail > ring->capacity || skipped + bytes > ring->capacity - (head - tail))
            return false;
    } while (!__atomic_compare_exchange_n(&header->head, &head, head + skipped + bytes, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    if (skipped > 0)
        put_skipped(ring, head, skipped);
    *ret_position = head + skipped;
    return true;
}

/* ------------------------------------------------------------------------------------------------------ putting */

static size_t stack_bytes(uintptr_t sp, const struct hp_stack *own)
{
    if (own->high <= sp || own->high - sp > HP_STACK_FARTHEST)
        return HP_STACK_UNKNOWN_BYTES;
    return own->high - sp < HP_STACK_MOST_BYTES ? (own->high - sp) & ~(uintptr_t)7 : HP_STACK_MOST_BYTES;
}

static uint64_t *put_registers(uint64_t *to, const struct hp_stack_registers *registers)
{
    for (unsigned number = 0; number < HP_STACK_REGISTERS; number++)
        if (registers->known >> number & 1)
            *to++ = registers->value[number];
    return to;
}

static void fill(struct hp_stack_record *record, const struct hp_stack_note *note,
                 const struct hp_stack_registers *registers, size_t stack, const struct hp_stack *own)
{
    uint64_t *more = (uint64_t *)(void *)(record + 1);
    record->kind = (uint16_t)note->kind;
    record->words = note->word_count;
    record->flags = note->flags;
    record->thread_id = note->thread_id;
    record->zone = note->zone;
    record->ns = note->ns;
    record->weight = note->weight;
    record->known = registers != NULL ? registers->known : 0;
    record->stack_bytes = 0;
    record->unused = 0;
    for (unsigned at = 0; at < note->word_count; at++)
        *(volatile uint64_t *)more++ = note->words[at];
    if (registers == NULL)
        return;
    more = put_registers(more, registers);
    record->stack_bytes = (uint32_t)copy_stack(more, (uintptr_t)registers->value[HP_STACK_SP], stack, own);
}

bool hp_stack_ring_put(struct hp_stack_ring *ring, const struct hp_stack_note *note,
                       const struct hp_stack_registers *registers, const struct hp_stack *own)
{
    const size_t stack = registers != NULL ? stack_bytes((uintptr_t)registers->value[HP_STACK_SP], own) : 0;
    const size_t words =
        note->word_count + (size_t)(registers != NULL ? __builtin_popcountll(registers->known) : 0);
    const size_t bytes = aligned(sizeof(struct hp_stack_record) + 8 * words + stack);
    uint64_t position;
    if (note->word_count > HP_STACK_MOST_WORDS || !reserve(ring, bytes, &position)) {
        __atomic_fetch_add(&ring->header->lost, 1, __ATOMIC_RELAXED);
        return false;
    }
    struct hp_stack_record *record = record_at(ring, position);
    record->bytes = (uint32_t)bytes;
    fill(record, note, registers, stack, own);
    publish(record, position);
    return true;
}
#else
bool hp_stack_ring_put(struct hp_stack_ring *ring, const struct hp_stack_note *note,
                       const struct hp_stack_registers *registers, const struct hp_stack *own)
{
    (void)ring, (void)note, (void)registers, (void)own;
    return false;
}
#endif
