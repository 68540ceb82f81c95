/*
 * A fake kernel: clocks and files about processes that the test sets. For the tests listed in CMakeLists.txt, where
 * the linker replaces the real clocks by these. SPDX-License-Identifier: MIT
 */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H

#include <stdint.h>

#define MS UINT64_C(1000000)

/* CLOCK_MONOTONIC, and CLOCK_BOOTTIME as well. */
extern uint64_t fake_ns;

/* An empty /proc. */
void fake_kernel_begin(void);
void fake_kernel_end(void);

/*
 * Makes a file there, with all folders on the way to it, or a symbolic link; replaces an existing one. `text` is a
 * format of printf.
 */
void fake_file(const char *path, const char *text, ...) __attribute__((format(printf, 2, 3)));
void fake_link(const char *path, const char *target);
/* Removes a file, or a folder with all that is in it. */
void fake_remove(const char *path);

/* The file "stat" of a process or thread, as its folder: its state, and when it began in hundredths of a second. */
void fake_stat(const char *folder, char state, uint64_t start);

#endif
