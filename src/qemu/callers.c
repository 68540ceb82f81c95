/*
 * Which function is called by which.
 *
 * The plugin sees calls, returns and jumps out of a function, but no registers: QEMU's plugins of version 1 cannot
 * read them, and what QEMU 7.2 says of the memory that a call uses is not safe to ask for. So each thread has a
 * list of the calls that it is in, and the function of each block that ends in such an event corrects it:
 *
 * - Which function was called is known at its first event. What was executed since the last one is its own.
 * - A function that jumps to another one is replaced by it.
 * - Another function than the list has, without a jump: if the list has it further out, calls were left in some
 *   other way; else it is the handler of a signal, inside the function that it interrupted.
 * - Longjmp, exceptions and switches to other stacks set the stack pointer from a register that a function need not
 *   preserve, or from memory, and jump or return. The next function tells where they went: further out, or to a
 *   stack that was left in that function, or else to a new stack, whose functions have no caller. Of several stacks
 *   that were left there, it is the lowest that was entered above the stack pointer, if that was seen.
 *
 * SPDX-License-Identifier: MIT
 */
#include "callers.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "code_ranges.h"

#define THREADS 4096u       /* at a time; others have no paths */
#define MOST_DEPTH 200u     /* of paths: deeper calls are beside each other */
#define MOST_CALLS 4000000u /* on one stack: those further in are not followed */
#define MOST_STACKS 1024u   /* that no thread is on */
#define INDEX (4 * HP_MOST_PATHS)

static struct hp_callers_host host;
static bool is_known; /* callers are */

/* ------------------------------------------------------------------------------------------------------- paths */

static uint32_t *places;                                 /* a hash index of paths, by caller and function */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for new paths, and for the list of stacks */

static bool is_full;

static struct hp_call_path *paths;

static inline struct hp_call_path *path_at(uint32_t path) { return &paths[path]; }

static uint32_t new_path(uint32_t caller, uint64_t function)
{
    const uint32_t number = host.blocks->paths + 1;
    is_full = is_full || number > HP_MOST_PATHS || !host.make_room(number + 1);
    if (is_full)
        return 0;
    *path_at(number) = (struct hp_call_path){.function = function, .caller = caller};
    path_at(number)->depth = caller != 0 ? path_at(caller)->depth + 1 : 0;
    __atomic_store_n(&host.blocks->paths, number, __ATOMIC_RELEASE);
    return number;
}

/* 0: it is not there, and `ret_place` is where to put it. Acquire pairs with the release of add_path. */
static uint32_t find_path(uint32_t caller, uint64_t function, uint64_t *ret_place)
{
    uint64_t place = ((function ^ ((uint64_t)caller << 40)) * UINT64_C(0x9e3779b97f4a7c15)) >> 40;
    for (;; place++) {
        const uint32_t path = __atomic_load_n(&places[place % INDEX], __ATOMIC_ACQUIRE);
        if (path == 0) {
            *ret_place = place % INDEX;
            return 0;
        }
        if (path_at(path)->caller == caller && path_at(path)->function == function)
            return path;
    }
}

static uint32_t add_path(uint32_t caller, uint64_t function)
{
    uint64_t place;
    pthread_mutex_lock(&lock);
    uint32_t path = find_path(caller, function, &place); /* by another thread, meanwhile */
    if (path == 0) {
        path = new_path(caller, function);
        __atomic_store_n(&places[place], path, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return path;
}

/* Without space, the caller. */
static uint32_t path_below(uint32_t caller, uint64_t function)
{
    uint64_t place;
    uint32_t path = find_path(caller, function, &place);
    if (path == 0 && !is_full)
        path = add_path(caller, function);
    return path != 0 ? path : caller;
}

/* ------------------------------------------------------------------------------------------------------ threads */

/* Where a thread is: a path, and its caller in the upper half. Path 0: it is not known yet, or none. */
typedef uint64_t where;

static inline where where_of(uint32_t caller, uint32_t path) { return (where)caller << 32 | path; }
static inline uint32_t path_of(where at) { return (uint32_t)at; }
static inline uint32_t caller_of(where at) { return (uint32_t)(at >> 32); }

/* Who called. */
struct call {
    where at;
    uint64_t function;
};

struct stack {
    struct stack *next;
    struct call *calls;
    uint32_t depth, room;
    uint64_t highest; /* of the stack pointers that were seen when it was entered; 0: none */
    struct call left; /* while no thread is on it */
};

enum lost { NOT_LOST, LOST_BY_RETURN, LOST_BY_JUMP };

struct thread {
    struct stack *on; /* NULL: nothing was called yet */
    const uint64_t *count;
    uint64_t settled; /* so much of the count is part of paths */
    uint64_t pointer; /* to the stack, when it was last set; 0: not seen */
    struct call now;
    uint32_t root;
    bool has_jumped, has_moved; /* to another function; the stack pointer */
    enum lost lost;
};

static struct thread threads[THREADS];
static struct stack *left_stacks; /* the latest first */

/* NULL: no memory. */
static struct stack *new_stack(void)
{
    struct stack *stack = calloc(1, sizeof *stack);
    if (stack == NULL)
        return NULL;
    stack->room = 64;
    stack->calls = calloc(stack->room, sizeof *stack->calls);
    if (stack->calls == NULL) {
        free(stack);
        return NULL;
    }
    return stack;
}

static void free_stack(struct stack *stack)
{
    if (stack != NULL)
        free(stack->calls);
    free(stack);
}

static __attribute__((noinline)) void begin_thread(struct thread *thread, unsigned cpu)
{
    const uint32_t root = path_below(0, cpu);
    const uint64_t *count = host.count_of(cpu);
    *thread = (struct thread){
        .on = new_stack(), .count = count, .settled = *count, .now = {where_of(root, 0), 0}, .root = root};
}

/* NULL: it cannot be followed. */
static inline struct thread *thread_of(unsigned cpu)
{
    if (__builtin_expect(cpu >= THREADS, 0))
        return NULL;
    if (__builtin_expect(threads[cpu].on == NULL, 0))
        begin_thread(&threads[cpu], cpu);
    return threads[cpu].on != NULL ? &threads[cpu] : NULL;
}

void hp_callers_begin_thread(unsigned cpu)
{
    if (cpu < THREADS) {
        free_stack(threads[cpu].on);
        threads[cpu].on = NULL;
    }
}

static inline void push(struct thread *thread)
{
    struct stack *stack = thread->on;
    if (__builtin_expect(stack->depth == stack->room, 0)) {
        struct call *more =
            stack->depth < MOST_CALLS ? realloc(stack->calls, 2 * stack->room * sizeof *stack->calls) : NULL;
        if (more == NULL)
            return;
        stack->calls = more;
        stack->room *= 2;
    }
    stack->calls[stack->depth++] = thread->now;
    const uint32_t caller = stack->depth <= MOST_DEPTH ? path_of(thread->now.at) : caller_of(thread->now.at);
    thread->now = (struct call){where_of(caller, 0), 0};
}

static inline void pop(struct thread *thread)
{
    const struct stack *stack = thread->on;
    const struct call outermost = {where_of(thread->root, 0), 0};
    thread->now = stack->depth > 0 ? stack->calls[--thread->on->depth] : outermost;
}

/* ----------------------------------------------------------------------------------------- finding the way back */

/* False: no call further out is of that function. */
static bool leave_calls(struct thread *thread, uint64_t function)
{
    uint32_t depth = thread->on->depth;
    while (depth > 0 && thread->on->calls[depth - 1].function != function)
        depth--;
    if (depth == 0)
        return false;
    thread->on->depth = depth;
    pop(thread);
    return true;
}

/* The better one of two stacks that were left in the function that goes on. */
static bool is_better(const struct stack *stack, const struct stack *than, uint64_t pointer)
{
    const bool is_above = stack->highest >= pointer;
    if (than == NULL)
        return true;
    if (pointer == 0 || stack->highest == 0 || is_above != (than->highest >= pointer))
        return pointer != 0 && is_above && than->highest < pointer;
    return is_above ? stack->highest < than->highest : stack->highest > than->highest;
}

/* Under the lock. NULL: none was left there. */
static struct stack *take_stack(uint64_t function, uint64_t pointer)
{
    struct stack **best = NULL;
    for (struct stack **link = &left_stacks; *link != NULL; link = &(*link)->next)
        if ((*link)->left.function == function && is_better(*link, best != NULL ? *best : NULL, pointer))
            best = link;
    struct stack *stack = best != NULL ? *best : NULL;
    if (stack != NULL)
        *best = stack->next;
    return stack;
}

/* Under the lock. Those whose memory another one uses now are over, and so are the oldest. */
static void drop_stacks(uint64_t pointer)
{
    unsigned count = 0;
    for (struct stack **link = &left_stacks; *link != NULL;) {
        struct stack *stack = *link;
        if (++count > MOST_STACKS || (pointer != 0 && stack->highest == pointer)) {
            *link = stack->next;
            free_stack(stack);
        } else {
            link = &stack->next;
        }
    }
}

static void go_on(struct thread *thread, struct stack *stack)
{
    thread->on->left = thread->now;
    thread->on->next = left_stacks;
    left_stacks = thread->on;
    thread->now = stack->left;
    thread->on = stack;
    if (thread->pointer > stack->highest)
        stack->highest = thread->pointer;
}

static bool switch_stack(struct thread *thread, uint64_t function, bool may_be_new)
{
    pthread_mutex_lock(&lock);
    struct stack *stack = take_stack(function, thread->pointer);
    if (stack == NULL && may_be_new) {
        drop_stacks(thread->pointer);
        stack = new_stack();
        if (stack != NULL)
            stack->left.at = where_of(thread->root, 0);
    }
    if (stack != NULL)
        go_on(thread, stack);
    pthread_mutex_unlock(&lock);
    return stack != NULL;
}

/* The function that runs is not the one of the list. */
static __attribute__((noinline)) void find_way(struct thread *thread, uint64_t function)
{
    if (thread->lost == LOST_BY_RETURN) {
        if (!switch_stack(thread, function, false) && !leave_calls(thread, function))
            switch_stack(thread, function, true);
    } else if (thread->lost == LOST_BY_JUMP) {
        if (!leave_calls(thread, function))
            switch_stack(thread, function, false);
    } else if (!thread->has_jumped && thread->now.function != 0 && !leave_calls(thread, function)) {
        push(thread);
    }
}

/* ------------------------------------------------------------------------------------------------------- events */

/* A block that ends in a call, return or jump to another function. */
struct event {
    uint64_t function;
    where latest; /* where it was found last */
};

static struct event *events; /* by number of the block */

static __attribute__((noinline)) where find_where(struct event *event, uint32_t caller)
{
    const where found = where_of(caller, path_below(caller, event->function));
    __atomic_store_n(&event->latest, found, __ATOMIC_RELAXED);
    return found;
}

static inline void locate(struct thread *thread, struct event *event)
{
    const uint32_t caller = caller_of(thread->now.at);
    const where latest = __atomic_load_n(&event->latest, __ATOMIC_RELAXED);
    thread->now.at = __builtin_expect(caller_of(latest) == caller, 1) ? latest : find_where(event, caller);
    thread->now.function = event->function;
}

static inline void settle(struct thread *thread)
{
    const uint64_t count = *thread->count;
    uint64_t *instructions = &path_at(path_of(thread->now.at))->instructions;
    if (*host.is_threaded) /* another thread may go on with a coroutine of this one */
        __atomic_fetch_add(instructions, count - thread->settled, __ATOMIC_RELAXED);
    else
        *instructions += count - thread->settled;
    thread->settled = count;
}

/* What was executed up to here is that of the function that runs. */
static inline void arrive(struct thread *thread, struct event *event)
{
    if (thread->now.function != event->function) {
        if (__builtin_expect(thread->lost != NOT_LOST || (thread->now.function != 0 && !thread->has_jumped), 0))
            find_way(thread, event->function);
        if (thread->now.function != event->function)
            locate(thread, event);
    }
    settle(thread);
}

static inline void set_state(struct thread *thread, bool has_jumped, enum lost lost)
{
    thread->has_jumped = has_jumped;
    thread->has_moved = false;
    thread->lost = lost;
}

static void calls(unsigned cpu, void *event)
{
    struct thread *thread = thread_of(cpu);
    if (thread == NULL)
        return;
    arrive(thread, event);
    set_state(thread, false, NOT_LOST);
    push(thread);
}

static void returns(unsigned cpu, void *event)
{
    struct thread *thread = thread_of(cpu);
    if (thread == NULL)
        return;
    arrive(thread, event);
    set_state(thread, false, thread->has_moved ? LOST_BY_RETURN : NOT_LOST);
    pop(thread);
}

static void jumps(unsigned cpu, void *event)
{
    struct thread *thread = thread_of(cpu);
    if (thread == NULL)
        return;
    arrive(thread, event);
    set_state(thread, !thread->has_moved, thread->has_moved ? LOST_BY_JUMP : NOT_LOST);
}

static void moves(unsigned cpu, void *event)
{
    struct thread *thread = thread_of(cpu);
    if (thread == NULL)
        return;
    arrive(thread, event);
    set_state(thread, false, NOT_LOST);
    thread->has_moved = true;
    thread->pointer = 0;
}

static void sees_stack(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
    struct thread *thread = thread_of(cpu);
    (void)info, (void)data;
    if (thread != NULL)
        thread->pointer = address;
}

/* Code of the library returns: what the program called there is over, if that did not call other functions. */
static void own_returns(unsigned cpu, void *data)
{
    struct thread *thread = thread_of(cpu);
    (void)data;
    if (thread != NULL && thread->now.function == 0)
        pop(thread);
}

void hp_callers_note_call(unsigned cpu, int64_t number)
{
    struct thread *thread = cpu < THREADS && threads[cpu].on != NULL ? &threads[cpu] : NULL;
    if (thread == NULL)
        return;
    if ((number == SYS_exit || number == SYS_exit_group) && thread->now.function != 0)
        settle(thread);
}

void hp_callers_leave_parent(void)
{
    pthread_mutex_init(&lock, NULL);
    for (unsigned cpu = 0; cpu < THREADS; cpu++)
        if (threads[cpu].on != NULL)
            threads[cpu].settled = *threads[cpu].count;
}

/* -------------------------------------------------------------------------------------------------- translation */

/* An instruction of x86-64, without its prefixes. */
struct instruction {
    const uint8_t *code; /* the opcode */
    uint64_t next;       /* the address behind it */
    uint32_t size;       /* from the opcode on */
    uint8_t rex;
};

static bool is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e || byte == 0x36 ||
           byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65;
}

static struct instruction read_instruction(const struct qemu_plugin_insn *from)
{
    const uint8_t *code = qemu_plugin_insn_haddr(from);
    uint32_t size = code != NULL ? (uint32_t)qemu_plugin_insn_size(from) : 0;
    struct instruction read = {.next = qemu_plugin_insn_vaddr(from) + qemu_plugin_insn_size(from)};
    for (; size > 1 && is_prefix(*code); size--)
        code++;
    if (size > 1 && (*code & 0xf0) == 0x40) {
        read.rex = *code++;
        size--;
    }
    read.code = code;
    read.size = size;
    return read;
}

#define RSP 4u
#define RBP 5u

static bool is_preserved(unsigned reg) { return reg == 3 || reg == RSP || reg == RBP || reg >= 12; }

/*
 * Sets the stack pointer to something that is not of the function's own frame: that would be computed from rsp or
 * rbp, or be in a register that functions preserve.
 */
static bool sets_stack(const struct instruction *read)
{
    if (read->size < 2)
        return read->size == 1 && (read->code[0] == 0x5c || read->code[0] == 0x94) && (read->rex & 1) == 0;
    const unsigned mode = read->code[1] >> 6;
    const unsigned reg = (read->code[1] >> 3 & 7u) | (read->rex & 4u) << 1;
    const unsigned base = (read->code[1] & 7u) | (read->rex & 1u) << 3;
    switch (read->code[0]) {
    case 0x89: /* mov reg, r/m */
    case 0x01: /* add */
        return mode == 3 && base == RSP && !is_preserved(reg);
    case 0x8b: /* mov r/m, reg */
    case 0x03:
        return reg == RSP && (mode == 3 ? !is_preserved(base) : (base & 7u) != RSP && base != RBP);
    case 0x87: /* xchg */
        return reg == RSP || (mode == 3 && base == RSP);
    case 0x8d: /* lea */
        return reg == RSP && (base & 7u) != RSP && !is_preserved(base);
    default:
        return false;
    }
}

/* Push or pop of a register. */
static bool uses_stack(const struct instruction *read)
{
    return read->size == 1 && (read->code[0] & 0xf0) == 0x50 && read->code[0] != 0x5c;
}

static int64_t offset_of(const uint8_t *code, uint32_t size)
{
    int32_t offset;
    if (size == 1)
        return (int8_t)code[0];
    memcpy(&offset, code, sizeof offset);
    return offset;
}

/* A jump whose target is in the instruction. */
static bool is_direct_jump(const struct instruction *read, uint64_t *ret_target)
{
    const uint8_t *code = read->code;
    if (read->size == 2 && (code[0] == 0xeb || (code[0] & 0xf0) == 0x70 || (code[0] & 0xfc) == 0xe0))
        *ret_target = read->next + (uint64_t)offset_of(code + 1, 1);
    else if (read->size == 5 && code[0] == 0xe9)
        *ret_target = read->next + (uint64_t)offset_of(code + 1, 4);
    else if (read->size == 6 && code[0] == 0x0f && (code[1] & 0xf0) == 0x80)
        *ret_target = read->next + (uint64_t)offset_of(code + 2, 4);
    else
        return false;
    return true;
}

/* Calls of the next instruction read the program counter. */
static bool is_call(const struct instruction *read)
{
    const uint8_t *code = read->code;
    return (read->size == 5 && code[0] == 0xe8 && offset_of(code + 1, 4) != 0) ||
           (read->size >= 2 && code[0] == 0xff && (code[1] >> 3 & 7) == 2);
}

static bool is_return(const struct instruction *read)
{
    return read->size > 0 && (read->code[0] == 0xc3 || read->code[0] == 0xc2);
}

static bool may_leave(const struct instruction *read, uint64_t function)
{
    uint64_t target;
    const struct hp_code_range range = hp_code_range_of(function);
    if (is_direct_jump(read, &target))
        return target < range.begin || target >= range.end;
    return read->size >= 2 && read->code[0] == 0xff && (read->code[1] >> 3 & 7) == 4;
}

static void watch_moves(const struct qemu_plugin_tb *code, size_t instructions, struct event *event)
{
    bool has_moved = false;
    for (size_t at = 0; at < instructions; at++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(code, at);
        const struct instruction read = read_instruction(instruction);
        if (sets_stack(&read)) {
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, moves, QEMU_PLUGIN_CB_NO_REGS, event);
            has_moved = true;
        } else if (has_moved && uses_stack(&read)) {
            qemu_plugin_register_vcpu_mem_cb(instruction, sees_stack, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                             NULL);
            has_moved = false;
        }
    }
}

static qemu_plugin_exec_cb *event_of(const struct instruction *last, uint64_t function)
{
    return is_call(last) ? calls : is_return(last) ? returns : may_leave(last, function) ? jumps : NULL;
}

void hp_callers_watch_block(const struct qemu_plugin_tb *code, uint64_t block)
{
    if (!is_known)
        return;
    const size_t count = qemu_plugin_tb_n_insns(code);
    struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(code, count - 1);
    const struct instruction read = read_instruction(last);
    struct event *event = &events[block];
    event->function = host.blocks->all[block].function;
    watch_moves(code, count, event);
    qemu_plugin_exec_cb *what = event_of(&read, event->function);
    if (what != NULL)
        qemu_plugin_register_vcpu_insn_exec_cb(last, what, QEMU_PLUGIN_CB_NO_REGS, event);
}

void hp_callers_watch_own(const struct qemu_plugin_tb *code)
{
    if (!is_known)
        return;
    struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(code, qemu_plugin_tb_n_insns(code) - 1);
    const struct instruction read = read_instruction(last);
    if (is_return(&read))
        qemu_plugin_register_vcpu_insn_exec_cb(last, own_returns, QEMU_PLUGIN_CB_NO_REGS, NULL);
}

uint64_t hp_callers_function_of(uint64_t address) { return is_known ? hp_code_range_of(address).begin : 0; }

void hp_callers_begin(const struct hp_callers_host *with, const char *machine)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (strcmp(machine, "x86_64") != 0)
        return;
    places = mmap(NULL, INDEX * sizeof *places, PROT_READ | PROT_WRITE, flags, -1, 0);
    events = mmap(NULL, HP_MOST_BLOCKS * sizeof *events, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (places != MAP_FAILED && events != MAP_FAILED) {
        host = *with, paths = with->blocks->path;
        is_known = true;
        host.blocks->has_paths = 1;
    }
}

bool hp_callers_end(void)
{
    const bool was_known = is_known;
    is_known = false;
    if (was_known)
        host.blocks->has_paths = 0;
    return was_known;
}
