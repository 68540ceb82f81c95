/*
 * A program without hotpath that is mostly in the kernel, for times that it knows by its thread's CPU clock, in
 * nanoseconds.
 *     kernel_time faults MS   touches new memory; `kernel`: what that takes longer than to touch it again
 *     kernel_time bytes MS    writes single bytes into a file; `all` is what that took, most of it in the kernel
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "computing.h"

#define MEMORY (UINT64_C(32) << 20)
#define PAGE 4096u
#define WRITES 5000u

static uint64_t all_ns, kernel_ns;

static APART void touch(volatile char *memory)
{
    for (uint64_t at = 0; at < MEMORY; at += PAGE)
        memory[at] = 1;
}

static void take_faults(void)
{
    char *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(1);
    madvise(memory, MEMORY, MADV_NOHUGEPAGE);
    const uint64_t from = used_ns();
    touch(memory);
    const uint64_t first = used_ns();
    touch(memory);
    const uint64_t again = used_ns();
    all_ns += again - from;
    kernel_ns += first - from - (again - first);
    munmap(memory, MEMORY);
}

static APART void write_bytes(int file)
{
    for (unsigned at = 0; at < WRITES; at++)
        if (pwrite(file, "x", 1, at) != 1)
            exit(1);
}

static void write_slowly(int file)
{
    const uint64_t from = used_ns();
    write_bytes(file);
    all_ns += used_ns() - from;
}

int main(int argc, char **argv)
{
    const bool is_faults = argc > 2 && strcmp(argv[1], "faults") == 0;
    const uint64_t until = used_ns() + (argc > 2 ? strtoull(argv[2], NULL, 10) : 0) * 1000000u;
    char path[] = "/tmp/kernel_time-XXXXXX";
    const int file = mkstemp(path);
    if (file < 0 || unlink(path) != 0)
        return 1;
    while (used_ns() < until) {
        if (is_faults)
            take_faults();
        else
            write_slowly(file);
    }
    close(file);
    printf("all %" PRIu64 "\nkernel %" PRIu64 "\n", all_ns, kernel_ns);
    return 0;
}
