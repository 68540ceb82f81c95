/* Lends memory to processes of a run. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* memfd_create, struct ucred */
#include "lender.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "growing_array.h"
#include "layout.h"
#include "process.h"
#include "process_table.h"
#include "quiet_thread.h"
#include "ring_reader.h"
#include "session_dirs.h"
#include "session_file.h"
#include "stack_ring.h"

#define MOST_PEERS 16u /* connections at a time; the oldest makes room */
#define PATIENCE_NS UINT64_C(100000000)
#define BACKLOG 64
#define WINDOW_NS UINT64_C(50000000) /* in each of them, at most so many requests: nobody keeps us busy */
#define MOST_IN_WINDOW 200u
#define MOST_LOANS 1024u    /* at a time */
#define MOST_OF_PROCESS 32u /* ever; each program that it executes takes up to three */
#define MOST_SESSIONS 1000u /* of one process */
#define SESSION_BYTES (UINT64_C(64) << 20)
#define MOST_RING_BYTES (UINT64_C(8) << 20)
#define HURRY (-10) /* nice value */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct loan {
    int fd;
    enum hp_loan_kind kind;
    uint64_t bytes;
    char name[sizeof((struct hp_loan *)0)->name];
};

struct borrower {
    uint32_t pid;
    uint64_t start;
    uint32_t loans;
    bool is_refused;
};

struct peer {
    int fd;
    uint64_t since_ns;
};

static struct {
    struct hp_quiet_thread thread;
    int listener, folder;
    uint64_t most_bytes, began;    /* our own start time */
    struct peer peers[MOST_PEERS]; /* oldest first */
    size_t peer_count;
    uint64_t window_ns;
    unsigned in_window;
    pthread_mutex_t lock; /* for what follows */
    struct loan loans[MOST_LOANS];
    size_t loan_count, most_loans;
    struct borrower *borrowers;
    size_t borrower_count, borrower_room;
} lender = {.listener = -1, .folder = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

/* ------------------------------------------------------------------------------------------------------- loans */

static void end_loan(size_t at)
{
    close(lender.loans[at].fd);
    lender.loans[at] = lender.loans[--lender.loan_count];
}

/* Readers of rings remove the links of those they have finished with. */
static void end_unread_rings(void)
{
    struct stat status;
    for (size_t at = lender.loan_count; at-- > 0;)
        if (lender.loans[at].kind != HP_LOAN_SESSION &&
            fstatat(lender.folder, lender.loans[at].name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            end_loan(at);
}

/* The link appears when all is in place. It is touched, since readers of rings wait for changed attributes. */
static bool link_to(const struct loan *loan)
{
    char target[64];
    snprintf(target, sizeof target, "/proc/%u/fd/%d", (unsigned)getpid(), loan->fd);
    return symlinkat(target, lender.folder, loan->name) == 0 &&
           utimensat(lender.folder, loan->name, NULL, AT_SYMLINK_NOFOLLOW) == 0;
}

static int make_memory(const struct loan *loan, const struct hp_stack_ring_header *header)
{
    const int fd = memfd_create(loan->name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    errno = EFBIG;
    if (hp_file_size_is_allowed(loan->bytes) && ftruncate(fd, (off_t)loan->bytes) == 0 &&
        (header == NULL || pwrite(fd, header, sizeof *header, 0) == (ssize_t)sizeof *header) &&
        fcntl(fd, F_ADD_SEALS, SEALS) == 0 && fchmod(fd, 0600) == 0)
        return fd;
    const int error = errno;
    close(fd);
    return -error;
}

/* Takes over nothing if it fails: 0, or the error. */
static int add_loan(struct loan *loan, const struct hp_stack_ring_header *header)
{
    if (lender.loan_count >= lender.most_loans)
        end_unread_rings();
    if (lender.loan_count >= lender.most_loans)
        return EMFILE;
    loan->fd = make_memory(loan, header);
    if (loan->fd < 0)
        return -loan->fd;
    if (!link_to(loan)) {
        const int error = errno;
        close(loan->fd);
        return error;
    }
    lender.loans[lender.loan_count++] = *loan;
    return 0;
}

/* ---------------------------------------------------------------------------------------------------- borrowers */

static uint32_t effective_user(uint32_t pid)
{
    char text[2048];
    const char *at = hp_task_read(pid, 0, "status", text, sizeof text) ? strstr(text, "\nUid:") : NULL;
    if (at == NULL)
        return UINT32_MAX;
    at += strlen("\nUid:");
    hp_task_number(&at); /* the real one */
    return (uint32_t)hp_task_number(&at);
}

static struct borrower *borrower_of(uint32_t pid, uint64_t start)
{
    for (size_t at = lender.borrower_count; at-- > 0;)
        if (lender.borrowers[at].pid == pid && lender.borrowers[at].start == start)
            return &lender.borrowers[at];
    if (!HP_MAKE_ROOM(lender.borrowers, lender.borrower_count + 1, lender.borrower_room))
        return NULL;
    lender.borrowers[lender.borrower_count] = (struct borrower){.pid = pid, .start = start};
    return &lender.borrowers[lender.borrower_count++];
}

/*
 * The kernel says who has connected. Its number may have been given to another process since: then its start or its
 * user differs, or its process is none of the run's. 0: not of the run.
 */
static uint64_t start_of_member(const struct ucred *who)
{
    const uint32_t pid = (uint32_t)who->pid;
    const uint64_t start = who->pid > 1 ? hp_process_start_time(pid) : 0;
    const bool is_member = start >= lender.began && start != 0 && effective_user(pid) == who->uid &&
                           hp_process_table_has(pid) && hp_process_start_time(pid) == start;
    return is_member ? start : 0;
}

/* ----------------------------------------------------------------------------------------------------- requests */

static bool is_free(const char *name)
{
    struct stat status;
    return fstatat(lender.folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

static int lend_session(const struct borrower *borrower, const struct hp_loan_request *request, struct loan *loan,
                        uint32_t *ret_number)
{
    for (uint32_t number = 0; number < MOST_SESSIONS; number++) {
        snprintf(loan->name, sizeof loan->name, "%u-%llu-%u%s", (unsigned)borrower->pid,
                 (unsigned long long)borrower->start, (unsigned)number, HP_SESSION_SUFFIX);
        if (!is_free(loan->name))
            continue;
        const uint64_t most = lender.most_bytes;
        loan->bytes = (request->bytes != 0 && request->bytes < most ? request->bytes : most) & ~UINT64_C(65535);
        *ret_number = number;
        return loan->bytes < HP_MIN_BYTES ? EINVAL : add_loan(loan, NULL);
    }
    return EEXIST;
}

static int lend_ring(const struct borrower *borrower, const struct hp_loan_request *request, struct loan *loan)
{
    const struct hp_stack_ring_header header = {.magic = HP_STACK_RING_MAGIC,
                                                .capacity = request->bytes,
                                                .pid = borrower->pid,
                                                .record_header_bytes = sizeof(struct hp_stack_record),
                                                .period_ns = request->period_ns};
    if (!hp_stack_ring_is_possible(request->bytes) || request->bytes > MOST_RING_BYTES ||
        request->session >= MOST_SESSIONS)
        return EINVAL;
    if (loan->kind == HP_LOAN_PROCESS_RING)
        snprintf(loan->name, sizeof loan->name, "%u-%llu%s", (unsigned)borrower->pid,
                 (unsigned long long)hp_clock_monotonic_ns(), HP_STACK_RING_SUFFIX);
    else
        snprintf(loan->name, sizeof loan->name, "%u-%llu-%u%s%s", (unsigned)borrower->pid,
                 (unsigned long long)borrower->start, (unsigned)request->session, HP_SESSION_SUFFIX,
                 loan->kind == HP_LOAN_HEAP_RING ? HP_HEAP_RING_SUFFIX : HP_STACK_RING_SUFFIX);
    loan->bytes = HP_STACK_RING_HEADER_BYTES + request->bytes;
    return add_loan(loan, &header);
}

static int lend(struct borrower *borrower, const struct hp_loan_request *request, struct loan *loan,
                uint32_t *ret_number)
{
    if (request->magic != HP_LOAN_MAGIC || request->kind >= HP_LOAN_KINDS)
        return EINVAL;
    if (borrower->loans == MOST_OF_PROCESS)
        return EDQUOT;
    borrower->loans++;
    loan->kind = request->kind;
    return loan->kind == HP_LOAN_SESSION ? lend_session(borrower, request, loan, ret_number)
                                         : lend_ring(borrower, request, loan);
}

/* Never waits: a peer that does not read gets nothing. */
static bool send_answer(int peer, const struct hp_loan *answer, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } passed;
    struct hp_loan copy = *answer;
    struct iovec piece = {&copy, sizeof copy};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    memset(&passed, 0, sizeof passed);
    if (fd >= 0) {
        message.msg_control = &passed;
        message.msg_controllen = sizeof passed;
        passed.header.cmsg_len = CMSG_LEN(sizeof fd);
        passed.header.cmsg_level = SOL_SOCKET;
        passed.header.cmsg_type = SCM_RIGHTS;
        memcpy(CMSG_DATA(&passed.header), &fd, sizeof fd);
    }
    return sendmsg(peer, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof copy;
}

/* Under the lock. */
static void answer_member(int peer, const struct ucred *who, uint64_t start, const struct hp_loan_request *request)
{
    struct borrower *borrower = borrower_of((uint32_t)who->pid, start);
    struct loan loan = {.fd = -1};
    uint32_t number = 0;
    const int error = borrower != NULL ? lend(borrower, request, &loan, &number) : ENOMEM;
    struct hp_loan answer = {.magic = HP_LOAN_MAGIC, .error = error, .bytes = loan.bytes, .number = number};
    memcpy(answer.name, loan.name, sizeof answer.name);
    const bool is_sent = send_answer(peer, &answer, error == 0 ? loan.fd : -1);
    if (borrower != NULL && (error != 0 || !is_sent))
        borrower->is_refused = true;
    if ((error != 0 || !is_sent) && request->kind == HP_LOAN_PROCESS_RING) /* the others are noted in its session */
        hp_failed_ring_count(HP_RING_OF_SAMPLES, (uint32_t)who->pid, error != 0 ? error : EAGAIN);
    if (error == 0 && !is_sent) {
        unlinkat(lender.folder, loan.name, 0);
        end_loan(lender.loan_count - 1); /* the one just added */
    }
}

static void answer(int peer, const struct hp_loan_request *request)
{
    struct ucred who;
    socklen_t length = sizeof who;
    if (getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0)
        return;
    const uint64_t start = start_of_member(&who);
    if (start == 0) {
        send_answer(peer, &(struct hp_loan){.magic = HP_LOAN_MAGIC, .error = EACCES}, -1);
        return;
    }
    pthread_mutex_lock(&lender.lock);
    answer_member(peer, &who, start, request);
    pthread_mutex_unlock(&lender.lock);
}

/* ------------------------------------------------------------------------------------------------------- peers */

static void drop_peer(size_t at)
{
    close(lender.peers[at].fd);
    memmove(&lender.peers[at], &lender.peers[at + 1], (--lender.peer_count - at) * sizeof lender.peers[0]);
}

/* True: it is done with. Descriptors that it sends are not received. */
static bool hear(const struct peer *peer)
{
    struct hp_loan_request request;
    const ssize_t length = recv(peer->fd, &request, sizeof request, MSG_DONTWAIT | MSG_TRUNC);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return hp_clock_monotonic_ns() - peer->since_ns > PATIENCE_NS;
    if (length == (ssize_t)sizeof request)
        answer(peer->fd, &request);
    return true;
}

static bool is_to_rest(uint64_t now)
{
    if (now - lender.window_ns >= WINDOW_NS) {
        lender.window_ns = now;
        lender.in_window = 0;
    }
    return lender.in_window >= MOST_IN_WINDOW;
}

static void accept_peer(void)
{
    const int fd = accept4(lender.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    if (lender.peer_count == MOST_PEERS)
        drop_peer(0);
    lender.peers[lender.peer_count++] = (struct peer){.fd = fd, .since_ns = hp_clock_monotonic_ns()};
    lender.in_window++;
    if (hear(&lender.peers[lender.peer_count - 1])) /* usually it has asked already */
        drop_peer(lender.peer_count - 1);
}

#define FIXED_FILES 2u /* the wake-up of the thread, and the listener */

static void *serve(void *unused)
{
    struct pollfd files[FIXED_FILES + MOST_PEERS];
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), HURRY); /* a process waits for us; only root may */
    while (!hp_quiet_thread_is_over(&lender.thread)) {
        const bool rests = is_to_rest(hp_clock_monotonic_ns());
        files[0] = (struct pollfd){.fd = lender.thread.wake, .events = POLLIN};
        files[1] = (struct pollfd){.fd = rests ? -1 : lender.listener, .events = POLLIN};
        for (size_t at = 0; at < lender.peer_count; at++)
            files[FIXED_FILES + at] = (struct pollfd){.fd = lender.peers[at].fd, .events = POLLIN};
        poll(files, FIXED_FILES + lender.peer_count, rests || lender.peer_count > 0 ? 20 : 1000);
        for (size_t at = lender.peer_count; at-- > 0;)
            if (hear(&lender.peers[at]))
                drop_peer(at);
        if (files[1].revents & POLLIN)
            accept_peer();
    }
    return unused;
}

/* --------------------------------------------------------------------------------------------------- beginning */

void hp_lender_name(char name[HP_LENDER_NAME])
{
    uint64_t random[2];
    if (getrandom(random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
        random[0] = hp_clock_monotonic_ns(), random[1] = (uint64_t)getpid();
    snprintf(name, HP_LENDER_NAME, "hotpath-%016llx%016llx", (unsigned long long)random[0],
             (unsigned long long)random[1]);
}

static bool begin_to_listen(const char *name)
{
    struct hp_lender_address address;
    const socklen_t length = hp_lender_address(&address, name);
    lender.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return lender.listener >= 0 &&
           bind(lender.listener, (const struct sockaddr *)(const void *)&address, length) == 0 &&
           listen(lender.listener, BACKLOG) == 0;
}

/* Half of our descriptors are for others. */
static size_t most_loans(void)
{
    struct rlimit limit;
    const size_t most = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (size_t)limit.rlim_cur / 2 : 0;
    return most < MOST_LOANS ? most : MOST_LOANS;
}

static void close_all(void)
{
    if (lender.listener >= 0)
        close(lender.listener);
    if (lender.folder >= 0)
        close(lender.folder);
    lender.listener = lender.folder = -1;
}

void hp_lender_begin(const char *folder, const char *name, uint64_t most_bytes)
{
    lender.most_bytes = most_bytes != 0 ? most_bytes : SESSION_BYTES;
    lender.most_loans = most_loans();
    lender.began = hp_process_start_time(0);
    lender.folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lender.folder < 0 || !begin_to_listen(name) || !hp_quiet_thread_start(&lender.thread, serve))
        close_all();
}

/* -------------------------------------------------------------------------------------------------------- files */

#define DRAFT "lent.draft"

/* As long as the process lives it may change anything: each number is used as it was read once. */
static bool copy_bytes(int from, int to, uint64_t bytes, const struct hp_header *header)
{
    char buffer[65536];
    for (uint64_t at = 0; at < bytes;) {
        const size_t wanted = bytes - at < sizeof buffer ? (size_t)(bytes - at) : sizeof buffer;
        const ssize_t got = pread(from, buffer, wanted, (off_t)at);
        if (got <= 0)
            return false;
        if (at == 0)
            memcpy(buffer, header, sizeof *header); /* a whole one: memory is never shorter */
        if (!hp_file_write(to, buffer, (size_t)got))
            return false;
        at += (uint64_t)got;
    }
    return true;
}

/* True: its process goes on without readers, so the session ends here. */
static bool cut_off(const struct loan *loan, struct hp_header *header)
{
    const enum hp_counter counter = hp_clock_counter();
    if (header->state != HP_STATE_LIVE ||
        hp_process_life(header->pid, header->process_start, header->pid_namespace) != HP_LIFE_LIVE ||
        !hp_session_is_in_memory(header->pid, loan->name))
        return false;
    header->state = HP_STATE_FINISHED;
    if (header->clock_kind == hp_clock_kind_of(counter))
        hp_clock_pair(counter, &header->clock_latest.ticks, &header->clock_latest.ns);
    return true;
}

static bool write_draft(const struct loan *loan, const struct hp_header *header)
{
    const uint64_t used = header->used < loan->bytes ? header->used : loan->bytes;
    const int fd = openat(lender.folder, DRAFT, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    const bool is_written = copy_bytes(loan->fd, fd, used > HP_HEADER_BYTES ? used : HP_HEADER_BYTES, header);
    close(fd);
    return is_written;
}

/*
 * Under the lock. If there is no space for the file, the link stays: it can be read as long as we live. True: the
 * process goes on.
 */
static bool settle(size_t at, bool is_end)
{
    const struct loan *loan = &lender.loans[at];
    struct hp_header header;
    const bool is_session = pread(loan->fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                            memcmp(header.magic, HP_MAGIC, sizeof header.magic) == 0;
    if (!is_session) {
        unlinkat(lender.folder, loan->name, 0);
        end_loan(at);
        return false;
    }
    const bool is_cut_off = is_end && cut_off(loan, &header);
    if (write_draft(loan, &header) && renameat(lender.folder, DRAFT, lender.folder, loan->name) == 0)
        end_loan(at);
    else
        unlinkat(lender.folder, DRAFT, 0);
    return is_cut_off;
}

void hp_lender_settle(const char *session)
{
    pthread_mutex_lock(&lender.lock);
    for (size_t at = lender.loan_count; at-- > 0;)
        if (lender.loans[at].kind == HP_LOAN_SESSION && strcmp(lender.loans[at].name, session) == 0)
            settle(at, false);
    pthread_mutex_unlock(&lender.lock);
}

struct hp_lender_sums hp_lender_end(void)
{
    struct hp_lender_sums sums = {0, 0};
    if (lender.folder < 0)
        return sums;
    hp_quiet_thread_stop(&lender.thread);
    while (lender.peer_count > 0)
        drop_peer(lender.peer_count - 1);
    for (size_t at = lender.loan_count; at-- > 0;)
        if (lender.loans[at].kind == HP_LOAN_SESSION)
            sums.cut_off += settle(at, true);
        else
            unlinkat(lender.folder, lender.loans[at].name, 0);
    for (size_t at = 0; at < lender.borrower_count; at++)
        sums.refused += lender.borrowers[at].is_refused;
    free(lender.borrowers);
    lender.borrowers = NULL;
    lender.borrower_count = lender.borrower_room = 0;
    close_all();
    return sums;
}
