/*
 * Names of the kernel's files about processes and their threads, in /proc, and the numbers in them. A tid of 0
 * stands for the process itself, a pid of 0 for our own. No heap, no stdio. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_TASK_PATH_H
#define HP_OS_TASK_PATH_H

#include <stdbool.h>
#include <stdint.h>

#define HP_TASK_PATH 96u

/* "/proc". Tests set another directory. */
extern const char *hp_task_root;

/* "/proc/PID/task/TID/name", or "/proc/PID/name". */
const char *hp_task_path(char path[HP_TASK_PATH], uint32_t pid, uint32_t tid, const char *name);

/* The number at `*at`, after blanks; moves `*at` behind it. The other one reads hex, with or without 0x. */
uint64_t hp_task_number(const char **at);
uint64_t hp_task_hex(const char **at);

/* The same without blanks. False: there is no digit. */
bool hp_task_digits(const char **at, unsigned base, uint64_t *ret_number);

#endif
