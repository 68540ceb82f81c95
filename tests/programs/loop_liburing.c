/*
 * A loop over io_uring, which waits by the liburing function named by the argument. Each round submits a timeout of
 * a millisecond, so that there is something to wait for. SPDX-License-Identifier: MIT
 */
#include <liburing.h>
#include <stdlib.h>
#include <string.h>

#include "loop_truth.h"

static struct __kernel_timespec moment = {.tv_nsec = 1000000}, second = {.tv_sec = 1};

static inline __attribute__((always_inline)) int wait_by(struct io_uring *ring, struct io_uring_cqe **completion,
                                                         const char *function)
{
    if (strcmp(function, "io_uring_wait_cqes") == 0)
        return io_uring_wait_cqes(ring, completion, 1, &second, NULL);
    if (strcmp(function, "io_uring_wait_cqe_timeout") == 0)
        return io_uring_wait_cqe_timeout(ring, completion, &second);
    if (strcmp(function, "io_uring_submit_and_wait_timeout") == 0)
        return io_uring_submit_and_wait_timeout(ring, completion, 1, &second, NULL);
    if (strcmp(function, "io_uring_submit_and_wait") == 0) {
        io_uring_submit_and_wait(ring, 1);
        return io_uring_peek_cqe(ring, completion); /* is no wait */
    }
    return io_uring_wait_cqe(ring, completion);
}

/* Has a frame, which is where the loop waits. */
static __attribute__((noinline)) int wait_for_one(struct io_uring *ring, struct io_uring_cqe **completion,
                                                  const char *function)
{
    const int result = wait_by(ring, completion, function);
    __asm__ volatile("" : : : "memory");
    return result;
}

static bool go_round(struct io_uring *ring, struct truth *truth, const char *function)
{
    struct io_uring_cqe *completion;
    io_uring_prep_timeout(io_uring_get_sqe(ring), &moment, 0, 0);
    if (strstr(function, "submit") == NULL)
        io_uring_submit(ring);
    if (wait_for_one(ring, &completion, function) < 0)
        return false;
    io_uring_cqe_seen(ring, completion);
    return truth_callback(truth);
}

int main(int count, char **arguments)
{
    struct truth truth = {0};
    struct io_uring ring;
    const char *function = count > 1 ? arguments[1] : "io_uring_wait_cqe";
    if (io_uring_queue_init(8, &ring, 0) < 0) {
        puts("none 1"); /* the kernel has no such thing, or does not allow it */
        return 0;
    }
    truth_begin(&truth);
    while (go_round(&ring, &truth, function))
        ;
    io_uring_queue_exit(&ring);
    truth_tell(&truth);
    return 0;
}
