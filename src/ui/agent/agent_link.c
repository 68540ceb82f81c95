/* How the agent and its readers talk. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* memfd_create, seals */
#include "agent_link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

bool hp_agent_link_open(int ret_ends[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ret_ends) == 0;
}

union space_of_fd {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

bool hp_agent_link_send(int end, const struct hp_agent_message *message, int fd)
{
    union space_of_fd space = {.bytes = {0}};
    struct iovec part = {.iov_base = (void *)(uintptr_t)message, .iov_len = sizeof *message};
    struct msghdr whole = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        whole.msg_control = space.bytes;
        whole.msg_controllen = sizeof space.bytes;
        struct cmsghdr *head = CMSG_FIRSTHDR(&whole);
        *head =
            (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd)};
        memcpy(CMSG_DATA(head), &fd, sizeof fd);
    }
    return sendmsg(end, &whole, MSG_NOSIGNAL) == (ssize_t)sizeof *message;
}

/* The space that has to be there for one descriptor has room for two on most machines. */
#define FDS_MOST ((sizeof(union space_of_fd) - CMSG_LEN(0)) / sizeof(int))

/* False: there are several. Those were closed, or who sends them could use up all that we may have. */
static bool take_fd(struct msghdr *whole, int *ret_fd)
{
    int fds[FDS_MOST];
    const struct cmsghdr *head = CMSG_FIRSTHDR(whole);
    *ret_fd = -1;
    if (head == NULL || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
        return true;
    const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof fds[0];
    memcpy(fds, CMSG_DATA(head), count * sizeof fds[0]);
    if (count == 1)
        *ret_fd = fds[0];
    for (size_t at = 0; at < count && count > 1; at++)
        close(fds[at]);
    return count <= 1;
}

static bool is_text(const char *text, size_t size) { return memchr(text, '\0', size) != NULL; }

enum hp_agent_received hp_agent_link_receive(int end, struct hp_agent_message *ret_message, int *ret_fd)
{
    union space_of_fd space = {.bytes = {0}};
    struct iovec part = {.iov_base = ret_message, .iov_len = sizeof *ret_message};
    struct msghdr whole = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = space.bytes, .msg_controllen = sizeof space.bytes};
    *ret_fd = -1;
    const ssize_t length = recvmsg(end, &whole, MSG_CMSG_CLOEXEC);
    if (length < 0)
        return errno == EAGAIN || errno == EINTR ? HP_AGENT_NOTHING : HP_AGENT_GONE;
    /* Also with a message of no bytes, as the end is: a descriptor can come with it. */
    if (take_fd(&whole, ret_fd) && length == (ssize_t)sizeof *ret_message && (whole.msg_flags & MSG_TRUNC) == 0 &&
        is_text(ret_message->service, sizeof ret_message->service) &&
        is_text(ret_message->seconds, sizeof ret_message->seconds) && ret_message->route < HP_ROUTES)
        return HP_AGENT_RECEIVED;
    if (*ret_fd >= 0)
        close(*ret_fd);
    *ret_fd = -1;
    return HP_AGENT_GONE;
}

/* ------------------------------------------------------------------------------------------------------- memory */

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static bool write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(fd, bytes, length);
        if (written <= 0)
            return false;
        bytes += written;
        length -= (size_t)written;
    }
    return true;
}

int hp_agent_memory_make(const void *bytes, size_t length)
{
    const int fd = memfd_create("hotpath agent", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && write_all(fd, bytes, length) && fcntl(fd, F_ADD_SEALS, SEALS) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Only memory has seals; so it is no file of a system that could keep us waiting, and stays as long as it is. */
bool hp_agent_memory_open(struct hp_agent_memory *memory, int fd)
{
    struct stat status;
    const int seals = fd >= 0 ? fcntl(fd, F_GET_SEALS) : -1;
    *memory = (struct hp_agent_memory){0};
    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &status) != 0 || status.st_size <= 0 ||
        (uint64_t)status.st_size > HP_AGENT_MEMORY_MOST)
        return false;
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return false;
    *memory = (struct hp_agent_memory){bytes, (size_t)status.st_size};
    return true;
}

void hp_agent_memory_close(struct hp_agent_memory *memory)
{
    if (memory->bytes != NULL)
        munmap((void *)(uintptr_t)memory->bytes, memory->length);
    *memory = (struct hp_agent_memory){0};
}
