/*
 * The kernel's files about the threads of a process, in /proc. A tid of 0 stands for the process itself, a pid of 0 for our own. No heap, no stdio.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_TASK_FILES_H
#define HP_OS_TASK_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_TASK_PATH 96u

/* "/proc". Tests have a folder of their own. */
extern const char *hp_task_root;

/* "/proc/PID/task/TID/name", or "/proc/PID/name". */
const char *hp_task_path(char path[HP_TASK_PATH], uint32_t pid, uint32_t tid, const char *name);

/* The beginning of such a file, ended by a zero. */
bool hp_task_read(uint32_t pid, uint32_t tid, const char *name, char *text, size_t size);

/* The number that a text goes on with, after blanks; `at` moves behind it. The other one of base 16, with or without 0x. */
uint64_t hp_task_number(const char **at);
uint64_t hp_task_hex(const char **at);

/*
 * The letter of its state ('X': it is gone; of a process whose first thread has ended that of another one, if one lives), and when it began, in the kernel's steps since boot (0: not known).
 */
char hp_task_state(uint32_t pid, uint32_t tid, uint64_t *ret_start);

/* What the kernel has counted of a thread, in its steps of a hundredth of a second. */
struct hp_task_account {
    char name[16]; /* ends in a zero */
    char state;
    uint64_t user, kernel;
};

/* False: it is gone. */
bool hp_task_account(uint32_t pid, uint32_t tid, struct hp_task_account *ret_account);

/* How often a thread gave its processor away, which it does when it waits, and how often it was taken from it. False: cannot be told. */
bool hp_task_all_switches(uint32_t pid, uint32_t tid, uint64_t *ret_voluntary, uint64_t *ret_involuntary);

/* What of the process is in memory, in bytes, and the most that ever was. 0: cannot be told. */
uint64_t hp_task_resident(uint32_t pid);
uint64_t hp_task_resident_peak(uint32_t pid);

/* How often it gave its processor away, which it does when it waits; UINT64_MAX: cannot be told. */
uint64_t hp_task_switches(uint32_t pid, uint32_t tid);

/* How much the kernel forbids it (seccomp), as a number that grows: whether there is anything, and how many filters. */
uint64_t hp_task_confinement(uint32_t pid);

/* Which program the process runs, as a number, so that the next one is noticed. 0: cannot be told. */
uint64_t hp_task_executable(uint32_t pid);

/*
 * Of a process whose first thread has ended most files are empty or cannot be read: a thread that can be asked in its place. 0: the first
 * one lives, or all have ended.
 */
uint32_t hp_task_spokesman(uint32_t pid);

#endif
