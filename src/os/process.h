/*
 * Facts about this process, this thread, its terminal and this machine; and the kernel's files about any process,
 * its threads and its memory. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_PROCESS_H
#define HP_OS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "task_path.h"

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
void hp_process_cpu(char *text, size_t size); /* "AMD EPYC 7763 64-Core Processor": the first */

void hp_process_boot_id(unsigned char id[16]);
uint32_t hp_process_cores(void);

/* The name of the calling thread as the kernel knows it. */
void hp_process_thread_name(char name[16]);

/* An environment variable, or NULL. Reads the environment in place: no lock, no allocation. */
const char *hp_environment(const char *name);
char *const *hp_environment_all(void);

/*
 * Whether the process runs under valgrind, whose malloc replaces the C library's and looks like it, and whose tools
 * do not know atomics. Answered once: programs may change their environment later.
 */
bool hp_process_has_valgrind(void);

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

/* ------------------------------------------------------------------------------------------ files of the kernel */

/* Those about the threads of a process and its memory (task_path.h). */

/* The command line of a process, or as one of its threads has it, as hp_process_command; returns its length. */
size_t hp_process_command_of(uint32_t pid, uint32_t tid, char *text, size_t size);
/* The beginning of such a file, with a zero at the end. */
bool hp_task_read(uint32_t pid, uint32_t tid, const char *name, char *text, size_t size);

/*
 * The letter of its state ('X': it is gone; if the first thread of a process has ended, that of another live one),
 * and its start time in clock ticks since boot (0: unknown).
 */
char hp_task_state(uint32_t pid, uint32_t tid, uint64_t *ret_start);

/* The kernel's counters of a thread, in units of 1/100 s. */
struct hp_task_account {
    char name[16]; /* zero-terminated */
    char state;
    uint64_t user, kernel;
};

/* False: it is gone. */
bool hp_task_account(uint32_t pid, uint32_t tid, struct hp_task_account *ret_account);

/*
 * How often a thread gave up its CPU voluntarily, which it does to wait, and how often it was preempted. False:
 * unknown.
 */
bool hp_task_all_switches(uint32_t pid, uint32_t tid, uint64_t *ret_voluntary, uint64_t *ret_involuntary);

/* The process that started it, or has taken it over; 0: unknown. */
uint32_t hp_task_parent(uint32_t pid);

/* Resident memory of the process in bytes, and its peak. 0: unknown. */
uint64_t hp_task_resident(uint32_t pid);
uint64_t hp_task_resident_peak(uint32_t pid);

/* How often it gave up its CPU voluntarily, which it does to wait; UINT64_MAX: unknown. */
uint64_t hp_task_switches(uint32_t pid, uint32_t tid);

/* How restricted it is by seccomp, as a number that only grows: whether there is a filter, and how many. */
uint64_t hp_task_confinement(uint32_t pid);

/* Which program the process runs, as a number that changes with exec. 0: unknown. */
uint64_t hp_task_executable(uint32_t pid);

/*
 * If the first thread of a process has ended, most of its files are empty or unreadable: returns a thread to read
 * instead. 0: the first one lives, or all have ended.
 */
uint32_t hp_task_spokesman(uint32_t pid);

/* A line of /proc/PID/maps. May be read in a signal handler. */
struct hp_map_line {
    uint64_t start, end; /* addresses */
    bool is_code;
    uint64_t offset; /* in the file */
    uint64_t inode;
};

/* Up to a newline or the end of the text. False: no such line, or its path is too long. */
bool hp_map_line_read(const char *text, struct hp_map_line *ret_line, char *path, size_t size);

#endif
