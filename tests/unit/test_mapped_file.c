/*
 * A mapped file that becomes shorter, on machines with pages of any size. Larger ones are played: the kernel would
 * refuse to map at an address that is not a multiple of them. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sanitizer.h"
#include "session_file.h"

#define FILE_BYTES ((size_t)1 << 20)

static size_t page_bytes;

/* The linker has the reader call these (--wrap). A 64-bit off_t makes glibc call mmap by another name. */
#ifdef __GLIBC__
#define __real_mmap __real_mmap64
#define __wrap_mmap __wrap_mmap64
#endif
__typeof__(mmap) __real_mmap, __wrap_mmap;
__typeof__(sysconf) __real_sysconf, __wrap_sysconf;

/* Begins at a multiple of the largest page, too. */
static HP_NOT_SANITIZED void *map_whole(size_t size, int protection, int flags, int fd)
{
    const size_t largest = 65536;
    char *room = __real_mmap(NULL, size + largest, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return __real_mmap(room + largest - (uintptr_t)room % largest, size, protection, flags | MAP_FIXED, fd, 0);
}

HP_NOT_SANITIZED void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (page_bytes == 0)
        return __real_mmap(address, size, protection, flags, fd, offset);
    if (!(flags & MAP_FIXED))
        return map_whole(size, protection, flags, fd);
    if ((uintptr_t)address % page_bytes == 0)
        return __real_mmap(address, size, protection, flags, fd, offset);
    errno = EINVAL;
    return MAP_FAILED;
}

HP_NOT_SANITIZED long __wrap_sysconf(int name)
{
    return name == _SC_PAGESIZE && page_bytes != 0 ? (long)page_bytes : __real_sysconf(name);
}

/*
 * On a bus error, qemu gives 32-bit programs the address in its own process, which is some distance away. On a real
 * machine the distance is 0.
 */
static volatile uintptr_t missing, distance; /* set and read around a fault */
static void (*reader_handler)(int number, siginfo_t *info, void *context);

static HP_NOT_SANITIZED void learn_distance(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    distance = (uintptr_t)info->si_addr - missing;
    __real_mmap((void *)missing, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static HP_NOT_SANITIZED void pass_on(int number, siginfo_t *info, void *context)
{
    info->si_addr = (char *)info->si_addr - distance;
    reader_handler(number, info, context);
}

/* Reads a byte of an empty file. */
static void find_distance(int fd)
{
    const struct sigaction learning = {.sa_sigaction = learn_distance, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &learning, NULL);
    missing = (uintptr_t)__real_mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
    (void)*(const volatile char *)missing;
}

static void correct_addresses(void)
{
    struct sigaction action;
    sigaction(SIGBUS, NULL, &action);
    reader_handler = action.sa_sigaction;
    action.sa_sigaction = pass_on;
    sigaction(SIGBUS, &action, NULL);
}

static void read_all(size_t page)
{
    char path[] = "/tmp/hotpath-unit-XXXXXX", bytes[4096] = {1, 2, 3};
    const int fd = mkstemp(path);
    unlink(path);
    find_distance(fd);
    for (size_t at = 0; at < FILE_BYTES / sizeof bytes; at++)
        if (write(fd, bytes, sizeof bytes) != (ssize_t)sizeof bytes)
            _exit(2);
    page_bytes = page;
    const volatile char *mapped = hp_mapped_file_open(fd, FILE_BYTES - 100);
    correct_addresses();
    if (mapped == NULL || mapped[FILE_BYTES - sizeof bytes + 2] != 3 || ftruncate(fd, 65536) != 0)
        _exit(3);
    /* Somewhere in a page, and the last byte. */
    if (mapped[65536 + 3 * sizeof bytes + 2] != 0 || mapped[FILE_BYTES - 101] != 0 || mapped[2] != 3)
        _exit(4);
    hp_mapped_file_close((void *)(uintptr_t)mapped, FILE_BYTES - 100);
    _exit(0);
}

static void check(size_t page)
{
    int status;
    const pid_t child = fork();
    if (child == 0)
        read_all(page);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void what_is_gone_reads_as_zero(void **state)
{
    (void)state;
    for (size_t page = (size_t)__real_sysconf(_SC_PAGESIZE); page <= 65536; page *= 2)
        check(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_gone_reads_as_zero)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
