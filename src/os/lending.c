/* Borrows memory from `hotpath run`. SPDX-License-Identifier: MIT */
#include "lending.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "raw_call.h"

_Static_assert(sizeof(struct hp_loan_request) == 32 && sizeof(struct hp_loan) == 64, "no gaps");

#define PATIENCE_NS UINT64_C(200000000) /* an answer takes 0.1 ms, unless the machine is very busy */
#define PAUSE_NS 2000000L               /* while the lender is busy */

/* Written before there are other threads, then read only; `deaf` by any thread. */
static struct {
    char name[HP_LENDER_NAME];
    uint64_t confinement; /* of the lender: hp_task_confinement */
    uint32_t deaf;        /* atomic: the process whose lender did not answer */
} lender;

/* --------------------------------------------------------------------------------------------------- sandboxes */

/* Searches a text that arrives in pieces for the lines "Seccomp:", with the mode, and "Seccomp_filters:". */
struct search {
    uint64_t mode, filters;
    uint64_t *value; /* of the line that has been found */
    uint32_t matched;
};

static void search_byte(struct search *search, char byte)
{
    static const char name[] = "\nSeccomp";
    if (search->value != NULL && byte == '_')
        search->value = &search->filters;
    if (search->value != NULL && byte >= '0' && byte <= '9')
        *search->value = *search->value * 10 + (uint64_t)(byte - '0');
    search->matched = byte == name[search->matched] ? search->matched + 1 : byte == name[0];
    if (search->matched == sizeof name - 1) {
        search->value = &search->mode;
        search->matched = 0;
    } else if (byte == '\n') {
        search->value = NULL;
    }
}

/* Inlined, so that a borrower in a signal handler takes little stack. */
static inline __attribute__((always_inline)) uint64_t confinement(void)
{
    char bytes[128];
    struct search search = {0, 0, NULL, 0};
    const long fd = hp_raw(SYS_openat, AT_FDCWD, "/proc/thread-self/status", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    for (long got; (got = hp_raw(SYS_read, fd, bytes, sizeof bytes)) > 0;)
        for (long at = 0; at < got; at++)
            search_byte(&search, bytes[at]);
    hp_raw(SYS_close, fd);
    return (search.mode != 0) + search.filters;
}

uint64_t hp_confinement(void) { return confinement(); }
bool hp_is_confined_in_run(void) { return confinement() > lender.confinement; }

/* ------------------------------------------------------------------------------------------------------ asking */

uint32_t hp_lender_address(struct hp_lender_address *address, const char *name)
{
    uint32_t length = 0;
    address->family = AF_UNIX;
    address->name[0] = '\0';
    for (; name[length] != '\0' && length < HP_LENDER_NAME; length++)
        *(volatile char *)&address->name[1 + length] = name[length]; /* not by memcpy, which is the C library's */
    return (uint32_t)offsetof(struct hp_lender_address, name) + 1 + length;
}

void hp_borrow_from(const char *name, uint64_t around)
{
    uint32_t length = 0;
    while (name != NULL && name[length] != '\0' && length < HP_LENDER_NAME)
        length++;
    const bool is_usable = length > 0 && length < HP_LENDER_NAME;
    for (uint32_t at = 0; is_usable && at <= length; at++)
        *(volatile char *)&lender.name[at] = name[at];
    if (!is_usable)
        lender.name[0] = '\0';
    lender.confinement = around;
}

static void pause_for(long ns)
{
    struct {
        long seconds, nanoseconds;
    } span = {0, ns};
#ifdef SYS_nanosleep
    hp_raw(SYS_nanosleep, &span, NULL);
#else
    (void)span;
#endif
}

/* If its queue is full, the lender is asked again. */
static long connect_to_lender(long fd, uint64_t until)
{
    struct hp_lender_address address;
    const uint32_t length = hp_lender_address(&address, lender.name);
    long result;
    while (((result = hp_raw(SYS_connect, fd, &address, length)) == -EAGAIN || result == -EINTR) &&
           hp_raw_clock(CLOCK_MONOTONIC) < until)
        pause_for(PAUSE_NS);
    return result;
}

static bool has_answer(long fd, uint64_t until)
{
    struct pollfd wait = {.fd = (int)fd, .events = POLLIN, .revents = 0};
    for (uint64_t now; (now = hp_raw_clock(CLOCK_MONOTONIC)) < until;) {
        const struct {
            long seconds, nanoseconds;
        } left = {0, (long)(until - now)};
#ifdef SYS_ppoll
        if (hp_raw(SYS_ppoll, &wait, 1, &left, NULL, sizeof(uint64_t)) > 0)
            return true;
#else
        (void)left, (void)wait;
        return false;
#endif
    }
    return false;
}

/* Room for one descriptor. */
union passed {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static long take_answer(long fd, struct hp_loan *loan)
{
    union passed passed;
    struct iovec piece = {loan, sizeof *loan};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &passed, .msg_controllen = sizeof passed};
    const long length = hp_raw(SYS_recvmsg, fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *header = &passed.header;
    const bool has_descriptor = length >= 0 && message.msg_controllen >= CMSG_LEN(sizeof(int)) &&
                                header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS;
    const long got = has_descriptor ? *(const int *)(const void *)CMSG_DATA(header) : -1;
    const bool is_sound = length == (long)sizeof *loan && loan->magic == HP_LOAN_MAGIC;
    if (is_sound && loan->error == 0 && got >= 0)
        return got;
    if (got >= 0)
        hp_raw(SYS_close, got);
    return is_sound && loan->error > 0 ? -(long)loan->error : -EPROTO;
}

static long ask(long fd, const struct hp_loan_request *request, struct hp_loan *loan)
{
    const uint64_t until = hp_raw_clock(CLOCK_MONOTONIC) + PATIENCE_NS;
    struct hp_loan_request packet = *request;
    packet.magic = HP_LOAN_MAGIC;
    long result = connect_to_lender(fd, until);
    if (result == 0)
        result = hp_raw(SYS_sendto, fd, &packet, sizeof packet, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0);
    if (result < 0)
        return result;
    return has_answer(fd, until) ? take_answer(fd, loan) : -ETIMEDOUT;
}

int hp_borrow(const struct hp_loan_request *request, struct hp_loan *ret_loan)
{
    const uint32_t pid = (uint32_t)hp_raw(SYS_getpid, 0);
    if (lender.name[0] == '\0' || __atomic_load_n(&lender.deaf, __ATOMIC_RELAXED) == pid)
        return -ENOENT;
    if (confinement() > lender.confinement)
        return -EPERM;
    const long fd = hp_raw(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return (int)fd;
    const long result = ask(fd, request, ret_loan);
    hp_raw(SYS_close, fd);
    if (result < 0)
        __atomic_store_n(&lender.deaf, pid, __ATOMIC_RELAXED);
    return (int)result;
}
