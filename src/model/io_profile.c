/* Numbers of I/O that are computed from others. SPDX-License-Identifier: MIT */
#include "io_profile.h"

#include <errno.h>

#include "durations.h"

/* Sizes are often powers of two, with which a step begins. */
double hp_io_median_size(const struct hp_io_sums *sums)
{
    return hp_step_from(hp_steps_find(sums->sizes, HP_IO_SIZES, 0.5), HP_IO_SIZE_BITS);
}

double hp_io_percentile(const struct hp_io_sums *sums, double percentile)
{
    if (percentile >= 100)
        return sums->longest_ns;
    const uint32_t step = hp_steps_find(sums->times, HP_IO_TIMES, percentile / 100);
    const double ns = hp_step_middle(step, HP_IO_TIME_BITS) * sums->tick_ns;
    return ns < sums->longest_ns ? ns : sums->longest_ns;
}

const char *hp_io_kind_name(uint32_t kind)
{
    static const char *const names[HP_IO_KINDS] = {
        [HP_IO_FILE] = "file",     [HP_IO_PIPE] = "pipe",    [HP_IO_SOCKET] = "socket", [HP_IO_PEER] = "peer",
        [HP_IO_DEVICE] = "device", [HP_IO_HOST] = "host",    [HP_IO_LABEL] = "label",   [HP_IO_TOLD] = "label",
        [HP_IO_OTHER] = "other",   [HP_IO_OTHERS] = "others"};
    return kind < HP_IO_KINDS && names[kind] != NULL ? names[kind] : "other";
}

const char *hp_io_error_name(int number)
{
    /* clang-format off */
#define NAMED(number) {number, #number}
    static const struct {
        int number;
        const char *name;
    } names[] = {
        NAMED(EPERM), NAMED(ENOENT), NAMED(EINTR), NAMED(EIO), NAMED(ENXIO), NAMED(EBADF), NAMED(EACCES),
        NAMED(EFAULT), NAMED(EBUSY), NAMED(EEXIST), NAMED(EXDEV), NAMED(ENODEV), NAMED(ENOTDIR), NAMED(EISDIR),
        NAMED(EINVAL), NAMED(ENFILE), NAMED(EMFILE), NAMED(ENOTTY), NAMED(EFBIG), NAMED(ENOSPC), NAMED(ESPIPE),
        NAMED(EROFS), NAMED(EMLINK), NAMED(EPIPE), NAMED(ENAMETOOLONG), NAMED(ENOSYS), NAMED(ELOOP),
        NAMED(EOVERFLOW), NAMED(ENOTSOCK), NAMED(EMSGSIZE), NAMED(EOPNOTSUPP), NAMED(EADDRINUSE),
        NAMED(EADDRNOTAVAIL), NAMED(ENETDOWN), NAMED(ENETUNREACH), NAMED(ECONNABORTED), NAMED(ECONNRESET),
        NAMED(ENOBUFS), NAMED(EISCONN), NAMED(ENOTCONN), NAMED(ETIMEDOUT), NAMED(ECONNREFUSED),
        NAMED(EHOSTUNREACH), NAMED(EALREADY), NAMED(EDQUOT), NAMED(ECANCELED),
    };
    /* clang-format on */
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++)
        if (names[at].number == number)
            return names[at].name;
    return NULL;
}
