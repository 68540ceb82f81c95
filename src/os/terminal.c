/* Terminal detection: tty, width, colour. SPDX-License-Identifier: MIT */
#include "terminal.h"

#include <string.h>
#include <sys/ioctl.h>

#include "process.h"

struct hp_terminal hp_terminal_of(int fd)
{
    struct winsize size;
    const char *kind = hp_environment("TERM");
    memset(&size, 0, sizeof size);
    const bool is_terminal = ioctl(fd, TIOCGWINSZ, &size) == 0;
    return (struct hp_terminal){.columns = size.ws_col,
                                .has_color = is_terminal && (kind == NULL || strcmp(kind, "dumb") != 0)};
}
