/* Facts about this process, this thread, its terminal and this machine. SPDX-License-Identifier: MIT */
#ifndef HP_OS_PROCESS_H
#define HP_OS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"

/* The kernel's start time of a process (clock ticks since boot); 0: no such process, or no /proc. */
uint64_t hp_process_start_time(uint32_t pid);

bool hp_process_exists(uint32_t pid);

/*
 * Whether the process that was started at that time, in that pid namespace, still exists. Unknown from another
 * namespace, or without its start time.
 */
enum hp_life { HP_LIFE_OVER, HP_LIFE_LIVE, HP_LIFE_UNKNOWN };
enum hp_life hp_process_life(uint32_t pid, uint64_t start, uint32_t pid_namespace);

/* Whether this process has such a thread. */
bool hp_process_has_thread(uint32_t thread_id);

/* The pid namespace of this process, as a number; 0: unknown. */
uint32_t hp_process_namespace(void);

/* True in a program with more privileges than its caller (setuid and the like). */
bool hp_process_is_privileged(void);

/* The command line, arguments separated by spaces; the executable's path; both cut to `size`, ended by a zero. */
void hp_process_command(char *text, size_t size);
void hp_process_executable(char *text, size_t size);

/* "name", and "Linux 6.1.0 x86_64". */
void hp_process_host(char *text, size_t size);
void hp_process_system(char *text, size_t size);

void hp_process_boot_id(unsigned char id[16]);
uint32_t hp_process_cores(void);

/* The name of the calling thread as the kernel knows it. */
void hp_process_thread_name(char name[16]);

/* An environment variable, or NULL. Reads the environment in place: no lock, no allocation. */
const char *hp_environment(const char *name);
char *const *hp_environment_all(void);

/*
 * Which counter is reliable on this machine: the CPU's if it exists, has a constant rate, agrees between cores and
 * may be read.
 */
enum hp_counter hp_clock_counter(void);

/* Terminal detection: tty, width, colour. */
struct hp_terminal {
    uint32_t columns; /* 0: not a terminal, or of unknown width */
    bool has_color;
};

struct hp_terminal hp_terminal_of(int fd);

#endif
