/*
 * Stacks of other programs, which must belong to the same user.
 *
 *   stacks show PID             the stack of each thread of a stopped process: addresses and names
 *   stacks waiting PID          the same for waiting threads, which are not stopped: as `hotpath run` reads them
 *   stacks time PID COUNT       takes this many stacks of a running process; prints the frames unwound per second
 *   stacks names FILE COUNT     how many addresses of a file are named per second, the first time and later
 *
 * Time is the CPU time of this process. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "symbolizer.h"
#include "unwind.h"

#define STACK_BYTES 65536u
#define MOST_FRAMES 1024u
#define ROUNDS 7

struct stack {
    struct hp_registers registers;
    size_t size;
    char bytes[STACK_BYTES];
};

static struct hp_image_set images;
static struct hp_space space;
static struct hp_unwinder unwinder;
static struct hp_symbolizer symbolizer;

static double ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static _Noreturn void give_up(const char *problem)
{
    fprintf(stderr, "stacks: %s\n", problem);
    exit(1);
}

/* -------------------------------------------------------------------------------------- copying stacks */

static void read_maps(pid_t pid)
{
    static char text[1 << 20];
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *stream = fopen(path, "r");
    if (stream == NULL)
        give_up("there is no such process");
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    fclose(stream);
    hp_space_free(&space);
    if (!hp_space_add_maps(&space, &images, pid, text))
        give_up("no memory");
}

/* In the order of DWARF. */
static void get_registers(pid_t thread, struct hp_registers *registers)
{
#if defined(__x86_64__)
    struct user_regs_struct user;
    struct iovec all = {&user, sizeof user};
    if (ptrace(PTRACE_GETREGSET, thread, (void *)(uintptr_t)NT_PRSTATUS, &all) != 0) /* NOLINT */
        give_up("registers cannot be read");
    const uint64_t values[] = {user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi,
                               user.rbp, user.rsp, user.r8,  user.r9,  user.r10, user.r11,
                               user.r12, user.r13, user.r14, user.r15, user.rip};
    memcpy(registers->value, values, sizeof values);
    registers->known = 0x1ffff;
#else
    struct iovec all = {registers->value, sizeof registers->value};
    if (ptrace(PTRACE_GETREGSET, thread, (void *)(uintptr_t)NT_PRSTATUS, &all) != 0) /* NOLINT */
        give_up("registers cannot be read");
    registers->known = UINT64_C(0x1ffffffff); /* x0 to x30, sp, pc: the same order */
#endif
}

static void read_stack(pid_t pid, struct stack *stack)
{
    const uint64_t sp = stack->registers.value[hp_machine_here()->sp];
    for (size_t size = STACK_BYTES - sp % 4096; size > 0 && size <= STACK_BYTES; size -= 4096) {
        const struct iovec here = {stack->bytes, size}, there = {(void *)(uintptr_t)sp, size}; /* NOLINT */
        const ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
        if (got > 0) {
            stack->size = (size_t)got;
            return;
        }
    }
}

static void take(pid_t pid, pid_t thread, struct stack *stack)
{
    int status;
    stack->size = 0;
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0 || ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0 ||
        waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status))
        give_up("the thread cannot be stopped");
    get_registers(thread, &stack->registers);
    read_stack(pid, stack);
    ptrace(PTRACE_DETACH, thread, NULL, NULL);
}

static size_t unwind(const struct stack *stack, struct hp_frame *frames, enum hp_unwind_end *ret_end)
{
    const struct hp_machine *machine = hp_machine_here();
    const struct hp_stack_bytes piece = {stack->registers.value[machine->sp], stack->bytes, stack->size};
    const struct hp_stack_memory memory = {.pieces = &piece, .count = 1};
    return hp_unwind(&unwinder, &space, machine, &stack->registers, &memory, frames, MOST_FRAMES, ret_end);
}

/* ---------------------------------------------------------------------------------------------- showing */

static void show_frame(const struct hp_frame *frame)
{
    static const char *const how[] = {"first", "table", "pointer", "interrupted", "recovered"};
    const uint64_t place = frame->pc - !frame->is_exact;
    const struct hp_mapping *mapping = hp_space_find(&space, place);
    struct hp_source_place places[16] = {{.function = "?", .file = ""}};
    size_t count = 1;
    if (mapping != NULL && mapping->has_bias)
        count = hp_symbolizer_find(&symbolizer, mapping->image, place + mapping->bias, places, 16);
    printf("%#llx %s %s\n", (unsigned long long)frame->pc, how[frame->how], places[count - 1].function);
}

/* Of its registers only those at the system call are known. False: it runs. */
static bool take_waiting(pid_t pid, pid_t thread, struct stack *stack)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)thread);
    FILE *stream = fopen(path, "r");
    const bool is_read = stream != NULL && fgets(text, sizeof text, stream) != NULL;
    if (stream != NULL)
        fclose(stream);
    const char *pc = is_read ? strrchr(text, ' ') : NULL, *sp = pc;
    while (sp != NULL && sp > text && sp[-1] != ' ')
        sp--;
    if (sp == NULL || sp == text)
        return false;
    stack->registers.known = 0;
    hp_register_set(&stack->registers, hp_machine_here()->pc, strtoull(pc, NULL, 16));
    hp_register_set(&stack->registers, hp_machine_here()->sp, strtoull(sp, NULL, 16));
    read_stack(pid, stack);
    return true;
}

static bool is_waiting; /* only waiting threads are wanted */

static void show_thread(pid_t pid, pid_t thread)
{
    static const char *const ends[] = {"start", "cut", "unknown", "broken", "full"};
    static struct stack stack;
    struct hp_frame frames[MOST_FRAMES];
    enum hp_unwind_end end;
    if (!is_waiting)
        take(pid, thread, &stack);
    else if (!take_waiting(pid, thread, &stack))
        return;
    const size_t count = unwind(&stack, frames, &end);
    printf("thread %d: %zu frames, end: %s\n", (int)thread, count, ends[end]);
    for (size_t at = 0; at < count; at++)
        show_frame(&frames[at]);
}

static void show(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    if (folder == NULL)
        give_up("there is no such process");
    symbolizer.has_no_lines = true;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.')
            show_thread(pid, (pid_t)atoi(entry->d_name));
    closedir(folder);
}

/* --------------------------------------------------------------------------------------------- measuring */

static void time_stacks(pid_t pid, size_t count)
{
    struct stack *stacks = calloc(count, sizeof *stacks);
    struct hp_frame frames[MOST_FRAMES];
    enum hp_unwind_end end;
    size_t total = 0, whole = 0;
    if (stacks == NULL || count == 0)
        give_up("no memory");
    for (size_t at = 0; at < count; at++) {
        take(pid, pid, &stacks[at]);
        usleep(1000);
    }
    read_maps(pid);
    for (int round = 0; round < ROUNDS; round++) {
        const double from = ms();
        total = whole = 0;
        for (size_t at = 0; at < count; at++) {
            total += unwind(&stacks[at], frames, &end);
            whole += end == HP_UNWIND_START;
        }
        printf("%s %8.2f M frames/s\n", round == 0 ? "with tables" : "unwinding  ",
               (double)total / (ms() - from) / 1e3);
    }
    printf("stacks      %8zu, of %.1f frames; %.1f %% reach the start\n", count, (double)total / (double)count,
           100.0 * (double)whole / (double)count);
    free(stacks);
}

static void time_names(const char *path, size_t count)
{
    const struct hp_image_place place = {.path = path};
    const struct hp_image *image = hp_image_set_find(&images, &place);
    const struct hp_elf_part *code = NULL;
    uint64_t *addresses = calloc(count, sizeof *addresses), random = 1;
    if (image == NULL || !image->is_readable || addresses == NULL)
        give_up("the file cannot be read");
    for (size_t at = 0; at < image->file.elf.part_count; at++)
        if (image->file.elf.parts[at].is_code)
            code = &image->file.elf.parts[at];
    for (size_t at = 0; code != NULL && at < count; at++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        addresses[at] = code->linked + (random >> 16) % code->size;
        fprintf(stderr, "%#llx\n", (unsigned long long)addresses[at]); /* for other symbolizers */
    }
    for (int round = 0; round < ROUNDS; round++) {
        struct hp_source_place places[16];
        const double from = ms();
        size_t lines = 0, total = 0;
        for (size_t at = 0; at < count; at++) {
            total += hp_symbolizer_find(&symbolizer, image, addresses[at], places, 16);
            lines += places[0].line > 0;
        }
        printf("%s %10.0f addresses/s, %zu functions, %zu with lines\n", round == 0 ? "cold" : "warm",
               (double)count / (ms() - from) * 1e3, total, lines);
    }
    free(addresses);
}

int main(int argc, char **argv)
{
    if (hp_machine_here() == NULL)
        give_up("stacks of this machine cannot be unwound");
    is_waiting = argc == 3 && strcmp(argv[1], "waiting") == 0;
    if (is_waiting || (argc == 3 && strcmp(argv[1], "show") == 0)) {
        read_maps(atoi(argv[2]));
        show(atoi(argv[2]));
    } else if (argc == 4 && strcmp(argv[1], "time") == 0) {
        time_stacks(atoi(argv[2]), (size_t)atoi(argv[3]));
    } else if (argc == 4 && strcmp(argv[1], "names") == 0) {
        time_names(argv[2], (size_t)atoi(argv[3]));
    } else {
        return fprintf(stderr, "usage: stacks show PID | waiting PID | time PID COUNT | names FILE COUNT\n"), 2;
    }
    hp_symbolizer_free(&symbolizer);
    hp_space_free(&space);
    hp_unwinder_free(&unwinder);
    hp_image_set_free(&images);
    return 0;
}
