/*
 * A loop that reports its waits by macros: on condition variables, say, which cannot be detected.
 * SPDX-License-Identifier: MIT
 */
#include <hotpath.h>

#include <poll.h>

#include "loop_truth.h"

static int wait_for(int file)
{
    struct pollfd one = {.fd = file, .events = POLLIN};
    HOTPATH_LOOP_WAIT("main loop");
    return poll(&one, 1, -1);
}

int main(void)
{
    HOTPATH_MAIN();
    struct truth truth = {0};
    truth_begin(&truth);
    for (int run = 0; run < 2; run++) {
        do
            wait_for(truth.file);
        while (truth_callback(&truth));
        HOTPATH_LOOP_END("main loop");
        truth_pause();
    }
    truth_tell(&truth);
    return 0;
}
