/*
 * Rings of stacks: records are read back, with concurrent writers, and with writers that are killed.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "ring_reader.h"
#include "scratch_folder.h"
#include "stack_ring.h"

#define CAPACITY HP_STACK_RING_LEAST
#define STACK_WORDS 512u

static char path[200];
static struct hp_stack_ring ring;
static struct hp_ring_reader reader;
static _Alignas(4096) uint64_t stack[STACK_WORDS];
static const struct hp_stack whole = {(uintptr_t)stack, (uintptr_t)(stack + STACK_WORDS)};

#define PID 17u
#define PERIOD 1003009u

static int begin(void **state)
{
    static unsigned number;
    (void)state;
    snprintf(path, sizeof path, "%s/%u.ring", scratch_folder, number++);
    for (unsigned at = 0; at < STACK_WORDS; at++)
        stack[at] = 1000 + at;
    if (!HP_STACK_RING_WORKS)
        return 0;
    return !hp_stack_ring_make(
               &ring,
               &(struct hp_stack_ring_plan){.path = path, .capacity = CAPACITY, .pid = PID, .period_ns = PERIOD}) ||
           !hp_ring_reader_open(&reader, path);
}

static int end(void **state)
{
    (void)state;
    if (!HP_STACK_RING_WORKS)
        return 0;
    hp_ring_reader_close(&reader);
    hp_stack_ring_unmap(&ring);
    return unlink(path);
}

static void need_rings(void)
{
    if (!HP_STACK_RING_WORKS)
        skip();
}

/* Registers whose stack pointer points into our stack. */
static struct hp_stack_registers registers_at(const void *sp)
{
    struct hp_stack_registers registers = {.known = UINT64_C(1) << HP_STACK_SP | UINT64_C(1) << HP_STACK_PC | 1};
    registers.value[0] = 42;
    registers.value[HP_STACK_SP] = (uintptr_t)sp;
    registers.value[HP_STACK_PC] = 4711;
    return registers;
}

static bool put(uint64_t number, const uint64_t *sp)
{
    const uint64_t words[] = {number, ~number};
    const struct hp_stack_registers registers = registers_at(sp);
    const struct hp_stack_note note = {.kind = HP_STACK_ALLOCATION,
                                       .flags = HP_STACK_IN_KERNEL,
                                       .thread_id = 5,
                                       .zone = 6,
                                       .ns = 7,
                                       .weight = 8 + number,
                                       .words = words,
                                       .word_count = 2};
    return hp_stack_ring_put(&ring, &note, &registers, &whole);
}

/* The records that were read. */
struct seen {
    uint64_t count, last, sum;
    bool is_wrong;
};

static void take(void *context, const struct hp_ring_record *record)
{
    struct seen *seen = context;
    const struct hp_stack_record *head = record->head;
    const uint64_t number = record->words[0], *bytes = record->stack;
    seen->count++;
    seen->last = number;
    seen->sum += number;
    seen->is_wrong |= head->words != 2 || record->words[1] != ~number || head->weight != 8 + number ||
                      head->kind != HP_STACK_ALLOCATION || head->thread_id != 5 || head->zone != 6 ||
                      head->ns != 7 || head->flags != HP_STACK_IN_KERNEL || record->registers[0] != 42;
    /* In the order of their numbers: 0, then the two others. */
    const uintptr_t sp = (uintptr_t)record->registers[1];
    const size_t words = (whole.high - sp) / sizeof *bytes;
    seen->is_wrong |= record->registers[2] != 4711 || head->stack_bytes != words * sizeof *bytes ||
                      (words > 0 && memcmp(bytes, (const void *)sp, head->stack_bytes) != 0);
}

static struct seen read_all(bool is_last, uint64_t *ret_lost)
{
    struct seen seen = {0};
    const uint64_t lost = hp_ring_reader_read(&reader, is_last, take, &seen);
    if (ret_lost != NULL)
        *ret_lost = lost;
    assert_false(seen.is_wrong);
    return seen;
}

/* -------------------------------------------------------------------------------------------------------- tests */

static void test_header(void **state)
{
    (void)state;
    need_rings();
    assert_int_equal(reader.header.pid, PID);
    assert_int_equal(reader.header.period_ns, PERIOD);
    assert_int_equal(hp_stack_ring_end(&ring), HP_RING_OPEN);
    hp_ring_reader_tell(&reader, HP_RING_CONFINED);
    assert_int_equal(hp_stack_ring_end(&ring), HP_RING_CONFINED);
}

static void test_records_are_read_back(void **state)
{
    (void)state;
    need_rings();
    assert_int_equal(read_all(false, NULL).count, 0);
    assert_true(put(1, stack));
    assert_true(put(2, stack + STACK_WORDS - 1));
    const struct seen seen = read_all(false, NULL);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.sum, 3);
    assert_int_equal(read_all(true, NULL).count, 0);
}

/* Records of many lengths, many times around. */
static void test_records_wrap_around(void **state)
{
    uint64_t lost, expected = 0, found = 0;
    (void)state;
    need_rings();
    for (uint64_t number = 0; number < 5000; number++) {
        assert_true(put(number, stack + number * 37 % STACK_WORDS));
        expected += number;
        if (number % 7 == 0)
            found += read_all(false, &lost).sum;
    }
    found += read_all(true, &lost).sum;
    assert_int_equal(found, expected);
    assert_int_equal(lost, 0);
}

static void test_full(void **state)
{
    uint64_t lost, fit = 0;
    (void)state;
    need_rings();
    while (put(fit, stack))
        fit++;
    assert_in_range(fit, CAPACITY / 5000, CAPACITY / sizeof stack);
    assert_false(put(1, stack));
    assert_int_equal(read_all(false, &lost).count, fit);
    assert_int_equal(lost, 2);
    assert_true(put(1, stack));
    assert_int_equal(read_all(false, &lost).count, 1);
    assert_int_equal(lost, 0);
}

/* As if its writer had been killed before it published: there is a piece that was reserved. */
static void test_unpublished_record_of_a_killed_writer(void **state)
{
    uint64_t lost;
    (void)state;
    need_rings();
    for (unsigned round = 0; round < 40; round++) { /* also where older records lie beneath */
        assert_true(put(10, stack));
        ring.header->head += round % 2 ? 4096 : 4224;
        if ((ring.header->head & (CAPACITY - 1)) < 8192) { /* it went around, which a writer does not */
            ring.header->head &= ~(uint64_t)(CAPACITY - 1);
            reader.at = ring.header->tail = ring.header->head;
            continue;
        }
        assert_true(put(20, stack));
        const struct seen first = read_all(false, &lost);
        assert_int_equal(first.count, 1);
        assert_int_equal(first.last, 10);
        assert_int_equal(lost, 0);
        const struct seen second = read_all(true, &lost);
        assert_int_equal(second.count, 1);
        assert_int_equal(second.last, 20);
        assert_int_equal(lost, 1);
    }
}

/* The process is killed for real, in the middle of it all. */
static void test_killed_process(void **state)
{
    (void)state;
    need_rings();
    for (unsigned round = 0; round < 20; round++) {
        const pid_t child = fork();
        if (child == 0)
            for (uint64_t number = 0;; number++)
                put(number, stack + number % STACK_WORDS);
        usleep(500 * round);
        const struct seen before = read_all(false, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        const struct seen after = read_all(true, NULL);
        assert_true(after.count == 0 || after.last >= before.last || before.count == 0);
        assert_int_equal(reader.at, ring.header->head);
        ring.header->lost = reader.lost = 0;
    }
}

#define WRITERS 4u
#define PER_WRITER 20000u

static void *write_many(void *context)
{
    uint64_t *succeeded = context;
    for (uint64_t number = 0; number < PER_WRITER; number++)
        if (put(number, stack + number * 61 % STACK_WORDS))
            *succeeded += 1;
    return NULL;
}

static void test_many_writers(void **state)
{
    pthread_t threads[WRITERS];
    uint64_t succeeded[WRITERS] = {0}, found = 0, lost = 0, put_count = 0, more;
    (void)state;
    need_rings();
    for (unsigned at = 0; at < WRITERS; at++)
        assert_int_equal(pthread_create(&threads[at], NULL, write_many, &succeeded[at]), 0);
    for (unsigned at = 0; at < WRITERS; at++) {
        while (pthread_tryjoin_np(threads[at], NULL) == EBUSY) {
            found += read_all(false, &more).count;
            lost += more;
        }
        put_count += succeeded[at];
    }
    found += read_all(true, &more).count;
    lost += more;
    assert_int_equal(found, put_count);
    assert_int_equal(found + lost, WRITERS * PER_WRITER);
    assert_true(found > 0);
}

/* ----------------------------------------------------------------------------------------------------- the copy */

static void take_length(void *context, const struct hp_ring_record *record)
{
    *(uint32_t *)context = record->head->stack_bytes;
}

static uint32_t copied_from(uintptr_t sp, const struct hp_stack *own)
{
    const struct hp_stack_registers registers = registers_at((const void *)sp);
    uint32_t bytes = UINT32_MAX;
    assert_true(hp_stack_ring_put(&ring, &(struct hp_stack_note){.kind = HP_STACK_CPU}, &registers, own));
    hp_ring_reader_read(&reader, false, take_length, &bytes);
    return bytes;
}

/* Not under an emulator. */
static bool kernel_copies(void)
{
    char from = 1, to = 0;
    const struct iovec source = {&from, 1}, target = {&to, 1};
    return process_vm_readv(getpid(), &target, 1, &source, 1, 0) == 1;
}

/* The copy ends where nothing is mapped, whatever size is given; from an invalid address nothing is copied. */
static void test_the_copy_does_not_fault(void **state)
{
    const struct hp_stack none = {0, 0};
    (void)state;
    need_rings();
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
    const struct hp_stack wrong = {(uintptr_t)memory, (uintptr_t)memory + 2 * page};
    if (kernel_copies())
        assert_int_equal(copied_from((uintptr_t)memory + page - 512, &wrong), 512);
    assert_int_equal(copied_from((uintptr_t)memory + page - 512, &none), 512);
    assert_int_equal(copied_from((uintptr_t)memory + page, &none), 0);
    assert_int_equal(copied_from(16, &none), 0);
    assert_int_equal(copied_from((uintptr_t)stack, &none) >= sizeof stack, kernel_copies() || sizeof stack <= 4096);
    munmap(memory, 2 * page);
}

/* As in some containers. False: it cannot be had here. */
static bool forbid_reading_memory(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Then as much as is known to be there: all of the thread's own stack, and of another the rest of a page. */
static void test_the_copy_without_the_kernel(void **state)
{
    const struct hp_stack none = {0, 0};
    int status;
    (void)state;
    need_rings();
    const pid_t child = fork();
    if (child == 0) {
        if (!forbid_reading_memory())
            _exit(77);
        const bool is_right = copied_from((uintptr_t)stack, &whole) == sizeof stack &&
                              copied_from((uintptr_t)(stack + 2), &none) == 4096 - 2 * sizeof *stack &&
                              copied_from((uintptr_t)stack + 4, &none) == 0 && copied_from(16, &none) == 0;
        _exit(is_right ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

static struct hp_stack_registers caught;
static uintptr_t caught_near;

static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    hp_stack_registers_of(context, &caught);
}

static void test_registers(void **state)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    struct hp_stack_registers here = {.known = 0};
    (void)state;
    need_rings();
    caught_near = (uintptr_t)__builtin_frame_address(0);
    action.sa_sigaction = on_signal;
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_DFL);
    hp_stack_registers_here(&here);
    const struct hp_stack_registers *both[] = {&caught, &here};
    for (unsigned at = 0; at < 2; at++) {
        const uint64_t needed = UINT64_C(1) << HP_STACK_SP | UINT64_C(1) << HP_STACK_PC;
        assert_int_equal(both[at]->known & needed, needed);
        assert_in_range(both[at]->value[HP_STACK_SP], caught_near - 65536, caught_near + 65536);
    }
    assert_in_range(here.value[HP_STACK_PC], (uintptr_t)test_registers, (uintptr_t)test_registers + 65536);
}

/* ------------------------------------------------------------------------------------------------------ trouble */

static void test_no_room_on_disk(void **state)
{
    struct hp_stack_ring other;
    struct rlimit before, small = {4096, RLIM_INFINITY};
    char second[220];
    (void)state;
    need_rings();
    snprintf(second, sizeof second, "%s.second", path);
    assert_false(hp_stack_ring_make(
        &other, &(struct hp_stack_ring_plan){
                    .path = path, .capacity = CAPACITY, .pid = PID, .period_ns = PERIOD})); /* it is there */
    assert_false(hp_stack_ring_make(
        &other,
        &(struct hp_stack_ring_plan){.path = second, .capacity = CAPACITY + 1, .pid = PID, .period_ns = PERIOD}));
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    assert_false(hp_stack_ring_make(
        &other,
        &(struct hp_stack_ring_plan){.path = second, .capacity = CAPACITY, .pid = PID, .period_ns = PERIOD}));
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_not_equal(access(second, F_OK), 0);
}

static void count(void *context, const struct hp_ring_record *record)
{
    const unsigned char *last = (const unsigned char *)record->stack + record->head->stack_bytes;
    *(uint64_t *)context += record->head->stack_bytes > 0 ? last[-1] : 1; /* all of it can be read */
}

/* Whatever is in the file. */
static void test_random_contents(void **state)
{
    uint64_t sum = 0;
    (void)state;
    need_rings();
    srand(1);
    for (unsigned round = 0; round < 300; round++) {
        for (unsigned more = 0; more < 20; more++)
            put(more, stack + more);
        for (unsigned wrong = 0; wrong < 30; wrong++) {
            const uint64_t place = reader.at + (unsigned)rand() % 8192u;
            ring.records[place & (CAPACITY - 1)] = (unsigned char)rand();
        }
        if (round % 5 == 0)
            ring.header->head += (unsigned)rand() % 512u * (round % 2 ? 16u : 1u);
        hp_ring_reader_read(&reader, round % 3 == 0, count, &sum);
        ring.header->head = (ring.header->head + 15) & ~UINT64_C(15); /* writers never leave it elsewhere */
        if (round % 10 == 9)                                          /* it may have come out of step for good */
            reader.at = ring.header->tail = ring.header->head = (ring.header->head + 15) & ~UINT64_C(15);
    }
    assert_true(sum > 0);
}

static void test_truncated_file(void **state)
{
    (void)state;
    need_rings();
    assert_true(put(1, stack));
    assert_int_equal(truncate(path, HP_STACK_RING_HEADER_BYTES), 0);
    assert_int_equal(read_all(true, NULL).count, 0);
    assert_int_equal(truncate(path, 10), 0);
    assert_int_equal(read_all(true, NULL).count, 0);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 10); /* and nothing is written there */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_header, begin, end),
        cmocka_unit_test_setup_teardown(test_records_are_read_back, begin, end),
        cmocka_unit_test_setup_teardown(test_records_wrap_around, begin, end),
        cmocka_unit_test_setup_teardown(test_full, begin, end),
        cmocka_unit_test_setup_teardown(test_unpublished_record_of_a_killed_writer, begin, end),
        cmocka_unit_test_setup_teardown(test_killed_process, begin, end),
        cmocka_unit_test_setup_teardown(test_many_writers, begin, end),
        cmocka_unit_test_setup_teardown(test_the_copy_does_not_fault, begin, end),
        cmocka_unit_test_setup_teardown(test_the_copy_without_the_kernel, begin, end),
        cmocka_unit_test_setup_teardown(test_registers, begin, end),
        cmocka_unit_test_setup_teardown(test_no_room_on_disk, begin, end),
        cmocka_unit_test_setup_teardown(test_random_contents, begin, end),
        cmocka_unit_test_setup_teardown(test_truncated_file, begin, end),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
