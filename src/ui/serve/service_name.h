/*
 * The service that a process belongs to, as the system names it: its unit of systemd, or its container, if that has
 * a name and not only a number. SPDX-License-Identifier: MIT
 */
#ifndef HP_SERVE_SERVICE_NAME_H
#define HP_SERVE_SERVICE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Of a process of this pid namespace. False: it has none, or the same as this process; then it says nothing about
 * the program: it is a shell's, or that of a runner of tests.
 */
bool hp_service_name_of(uint32_t pid, char *ret_name, size_t size);

/* By the file "cgroup" of a process. False: it names none. */
bool hp_service_name_in(const char *cgroups, char *ret_name, size_t size);

#endif
