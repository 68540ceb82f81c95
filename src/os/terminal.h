/* Terminal detection: tty, width, colour. SPDX-License-Identifier: MIT */
#ifndef HP_OS_TERMINAL_H
#define HP_OS_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

struct hp_terminal {
    uint32_t columns; /* 0: not a terminal, or of unknown width */
    bool has_color;
};

struct hp_terminal hp_terminal_of(int fd);

#endif
