/*
 * Memory lent to processes of a run: who gets it, what they can do with it, and that nobody who asks can hurt the
 * lender. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "files.h"
#include "layout.h"
#include "lender.h"
#include "process.h"
#include "process_table.h"
#include "scratch_folder.h"
#include "session_file.h"
#include "stack_ring.h"

#define SESSION_BYTES (UINT64_C(1) << 20)
#define RING_BYTES HP_STACK_RING_LEAST
#define MOST_OF_PROCESS 32

static char name[HP_LENDER_NAME];

/* Shared with the processes that ask. */
static struct shared {
    bool has_strangers;                           /* no process is one of the run */
    char name[sizeof((struct hp_loan *)0)->name]; /* that one of them was told */
} * shared;

bool hp_process_table_has(uint32_t pid)
{
    return pid > 1 && !__atomic_load_n(&shared->has_strangers, __ATOMIC_RELAXED);
}

static int begin(void **state)
{
    (void)state;
    memset(shared, 0, sizeof *shared);
    hp_lender_name(name);
    hp_lender_begin(scratch_folder, name, SESSION_BYTES);
    return 0;
}

static int end(void **state)
{
    (void)state;
    hp_lender_end();
    return 0;
}

static int begin_all(void **state)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED || make_scratch_folder(state);
}

/* In a process of its own. Its exit status is that of `act`. */
static int in_child(int (*act)(void))
{
    int status;
    const pid_t pid = fork();
    if (pid == 0) {
        hp_borrow_from(name, 100);
        _exit(act());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int borrow(enum hp_loan_kind kind, uint64_t bytes, struct hp_loan *ret_loan)
{
    return hp_borrow(&(struct hp_loan_request){.kind = kind, .bytes = bytes, .period_ns = 7}, ret_loan);
}

static int connect_plainly(void)
{
    struct hp_lender_address address;
    const socklen_t length = hp_lender_address(&address, name);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return fd >= 0 && connect(fd, (const struct sockaddr *)(const void *)&address, length) == 0 ? fd : -1;
}

static void count_name(const char *found, void *count) { *(unsigned *)count += found[0] != '.'; }

static unsigned names_in_folder(void)
{
    unsigned count = 0;
    hp_file_each(scratch_folder, count_name, &count);
    return count;
}

static unsigned descriptors(void)
{
    unsigned count = 0;
    hp_file_each("/proc/self/fd", count_name, &count);
    return count;
}

/* The lender closes a connection a moment after its peer has gone. */
static unsigned descriptors_after(unsigned expected)
{
    for (int tries = 0; tries < 5000 && descriptors() > expected; tries++)
        usleep(1000);
    return descriptors();
}

/* ------------------------------------------------------------------------------------------------ what is lent */

static int is_fixed_memory(void)
{
    struct hp_loan loan;
    struct stat status;
    const int fd = borrow(HP_LOAN_SESSION, 0, &loan);
    if (fd < 0 || !(fcntl(fd, F_GETFD) & FD_CLOEXEC) || fstat(fd, &status) != 0)
        return 1;
    if (loan.bytes != SESSION_BYTES || status.st_size != (off_t)SESSION_BYTES || status.st_blocks != 0)
        return 2;
    if (ftruncate(fd, 4096) == 0 || ftruncate(fd, SESSION_BYTES + 4096) == 0 ||
        fallocate(fd, 0, SESSION_BYTES, 4096) == 0 || pwrite(fd, "x", 1, SESSION_BYTES) == 1)
        return 3;
    char *bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        return 4;
    struct hp_header header = {.used = HP_HEADER_BYTES + 100, .state = HP_STATE_FINISHED};
    memcpy(header.magic, HP_MAGIC, sizeof header.magic);
    memcpy(bytes, &header, sizeof header);
    memcpy(shared->name, loan.name, sizeof loan.name);
    return loan.number == 0 ? 0 : 5;
}

static void memory_of_fixed_length_becomes_a_file(void **state)
{
    char path[200];
    struct stat status;
    (void)state;
    const unsigned before = descriptors();
    assert_int_equal(in_child(is_fixed_memory), 0);
    snprintf(path, sizeof path, "%s/%s", scratch_folder, shared->name);
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    struct hp_lender_sums sums = hp_lender_end();
    assert_int_equal(sums.refused, 0);
    assert_int_equal(sums.cut_off, 0);
    assert_int_equal(names_in_folder(), 1);
    assert_true(descriptors() < before); /* the listener and the folder are closed, too */
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISREG(status.st_mode));
    assert_int_equal(status.st_size, HP_HEADER_BYTES + 100);
    assert_int_equal(unlink(path), 0);
}

static int tells_its_name(void)
{
    struct hp_loan loan;
    if (borrow(HP_LOAN_SESSION, 0, &loan) < 0)
        return 1;
    memcpy(shared->name, loan.name, sizeof loan.name);
    return 0;
}

static void readers_find_it_under_its_name(void **state)
{
    char path[200];
    (void)state;
    assert_int_equal(in_child(tells_its_name), 0);
    snprintf(path, sizeof path, "%s/%s", scratch_folder, shared->name);
    const int fd = hp_session_file_descriptor(AT_FDCWD, path, O_RDWR);
    assert_true(fd >= 0);
    assert_true(fcntl(fd, F_GET_SEALS) & F_SEAL_GROW);
    close(fd);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/proc/self/fd/0", path), 0); /* other links are not followed */
    assert_int_equal(hp_session_file_descriptor(AT_FDCWD, path, O_RDWR), -1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(hp_session_file_descriptor(AT_FDCWD, path, O_RDONLY), -1);
    assert_int_equal(errno, ELOOP);
    unlink(path);
}

static int has_ready_ring(void)
{
    struct hp_loan loan;
    struct hp_stack_ring_header header;
    const int fd = borrow(HP_LOAN_HEAP_RING, RING_BYTES, &loan);
    if (fd < 0 || pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return 1;
    return header.magic == HP_STACK_RING_MAGIC && header.pid == (uint32_t)getpid() && header.period_ns == 7 &&
                   header.capacity == RING_BYTES && loan.bytes == HP_STACK_RING_HEADER_BYTES + RING_BYTES
               ? 0
               : 2;
}

static void rings_are_ready(void **state)
{
    (void)state;
    assert_int_equal(in_child(has_ready_ring), 0);
    assert_int_equal(names_in_folder(), 1);
    hp_lender_end();
    assert_int_equal(names_in_folder(), 0);
}

/* ---------------------------------------------------------------------------------------------------- who asks */

static int is_refused(void)
{
    struct hp_loan loan;
    return borrow(HP_LOAN_SESSION, 0, &loan) == -EACCES ? 0 : 1;
}

static void strangers_get_nothing(void **state)
{
    (void)state;
    __atomic_store_n(&shared->has_strangers, true, __ATOMIC_RELAXED);
    assert_int_equal(in_child(is_refused), 0);
    assert_int_equal(names_in_folder(), 0);
}

static int asks_for_too_much(void)
{
    struct hp_loan loan;
    for (int at = 0; at < MOST_OF_PROCESS; at++) {
        const int fd = borrow(HP_LOAN_SESSION, 0, &loan);
        if (fd < 0 || loan.number != (uint32_t)at)
            return 1;
        close(fd);
    }
    return borrow(HP_LOAN_SESSION, 0, &loan) == -EDQUOT && borrow(HP_LOAN_SESSION, 0, &loan) == -ENOENT ? 0 : 2;
}

static void loans_of_a_process_are_limited(void **state)
{
    (void)state;
    assert_int_equal(in_child(asks_for_too_much), 0);
    assert_int_equal(hp_lender_end().refused, 1);
    assert_int_equal(names_in_folder(), 0); /* none of them became a session */
}

static int asks_nonsense(void)
{
    static const uint64_t sizes[] = {1, RING_BYTES + 1, UINT64_C(1) << 40, UINT64_MAX, 0};
    struct hp_loan answer;
    char bytes[256];
    memset(bytes, 0xa5, sizeof bytes);
    for (size_t length = 0; length <= sizeof bytes; length += 8) { /* packets of every length, without sense */
        const int fd = connect_plainly();
        if (fd < 0 || send(fd, bytes, length, MSG_NOSIGNAL) != (ssize_t)length)
            return 1;
        if (length > 0 && length != sizeof(struct hp_loan_request) && recv(fd, &answer, sizeof answer, 0) > 0)
            return 2;
        close(fd);
    }
    for (size_t at = 0; at < sizeof sizes / sizeof sizes[0]; at++) {
        const struct hp_loan_request request = {
            .magic = HP_LOAN_MAGIC, .kind = HP_LOAN_PROCESS_RING, .bytes = sizes[at]};
        const int fd = connect_plainly();
        send(fd, &request, sizeof request, MSG_NOSIGNAL);
        if (recv(fd, &answer, sizeof answer, 0) != (ssize_t)sizeof answer || answer.error != EINVAL)
            return 3;
        close(fd);
    }
    return 0;
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    const unsigned before = descriptors();
    assert_int_equal(in_child(asks_nonsense), 0);
    assert_int_equal(names_in_folder(), 0);
    assert_int_equal(in_child(has_ready_ring), 0); /* it still works */
    assert_int_equal(descriptors_after(before + 1), before + 1);
    hp_lender_end();
}

/* Connections that say nothing, and one that never reads, are open meanwhile. */
static int gets_memory_in_a_crowd(void)
{
    const struct hp_loan_request request = {.magic = HP_LOAN_MAGIC, .kind = HP_LOAN_HEAP_RING, .bytes = RING_BYTES};
    for (int at = 0; at < 100; at++)
        if (connect_plainly() < 0)
            return 1;
    const int deaf = connect_plainly();
    send(deaf, &request, sizeof request, MSG_NOSIGNAL);
    struct hp_loan loan;
    return borrow(HP_LOAN_SESSION, 0, &loan) >= 0 ? 0 : 2;
}

static void silent_peers_do_not_block_others(void **state)
{
    (void)state;
    assert_int_equal(in_child(gets_memory_in_a_crowd), 0);
    hp_lender_end();
}

static int sends_descriptors(void)
{
    const struct hp_loan_request request = {.magic = HP_LOAN_MAGIC, .kind = 99};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } passed = {.bytes = {0}};
    for (int at = 0; at < 50; at++) {
        struct iovec piece = {(void *)(uintptr_t)&request, sizeof request};
        struct msghdr message = {
            .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &passed, .msg_controllen = sizeof passed};
        const int fd = connect_plainly(), zero = 0;
        struct hp_loan answer;
        passed.header =
            (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof zero), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&passed.header), &zero, sizeof zero);
        if (fd < 0 || sendmsg(fd, &message, MSG_NOSIGNAL) < 0 || recv(fd, &answer, sizeof answer, 0) <= 0)
            return 1;
        close(fd);
    }
    return 0;
}

static void descriptors_of_others_are_not_kept(void **state)
{
    (void)state;
    const unsigned before = descriptors();
    assert_int_equal(in_child(sends_descriptors), 0);
    assert_int_equal(descriptors_after(before), before);
}

/* --------------------------------------------------------------------------------------------------- no lender */

static int is_told_at_once(void)
{
    struct hp_loan loan;
    return borrow(HP_LOAN_SESSION, 0, &loan) == -ECONNREFUSED && borrow(HP_LOAN_SESSION, 0, &loan) == -ENOENT ? 0
                                                                                                              : 1;
}

static void a_lender_that_is_gone(void **state)
{
    (void)state;
    hp_lender_end();
    assert_int_equal(in_child(is_told_at_once), 0);
}

static int waits_not_for_long(void)
{
    struct hp_loan loan;
    const uint64_t before = hp_clock_monotonic_ns();
    const int result = borrow(HP_LOAN_SESSION, 0, &loan);
    return result == -ETIMEDOUT && hp_clock_monotonic_ns() - before < UINT64_C(2000000000) ? 0 : 1;
}

/* Nobody accepts. */
static void a_lender_that_does_not_answer(void **state)
{
    struct hp_lender_address address;
    (void)state;
    hp_lender_end();
    const socklen_t length = hp_lender_address(&address, name);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)(const void *)&address, length), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(in_child(waits_not_for_long), 0);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(memory_of_fixed_length_becomes_a_file, begin, end),
        cmocka_unit_test_setup_teardown(readers_find_it_under_its_name, begin, end),
        cmocka_unit_test_setup_teardown(rings_are_ready, begin, end),
        cmocka_unit_test_setup_teardown(strangers_get_nothing, begin, end),
        cmocka_unit_test_setup_teardown(loans_of_a_process_are_limited, begin, end),
        cmocka_unit_test_setup_teardown(nonsense_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(silent_peers_do_not_block_others, begin, end),
        cmocka_unit_test_setup_teardown(descriptors_of_others_are_not_kept, begin, end),
        cmocka_unit_test_setup_teardown(a_lender_that_is_gone, begin, end),
        cmocka_unit_test_setup_teardown(a_lender_that_does_not_answer, begin, end),
    };
    return cmocka_run_group_tests(tests, begin_all, remove_scratch_folder);
}
