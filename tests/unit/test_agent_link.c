/* Messages of readers that want to harm the agent. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent_link.h"

/* The descriptor that the next thing opened would get: it is another one if something was left open. */
static int next_fd(void)
{
    const int fd = dup(0);
    assert_true(fd >= 0 && close(fd) == 0);
    return fd;
}

static void send_fds(int end, const void *bytes, size_t length, size_t count)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } space = {.bytes = {0}};
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
    struct msghdr whole = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = space.bytes};
    whole.msg_controllen = CMSG_SPACE(count * sizeof(int)); /* fds of 0: our own input */
    struct cmsghdr *head = CMSG_FIRSTHDR(&whole);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    assert_int_equal(sendmsg(end, &whole, 0), length);
}

static void no_descriptor_is_left_open(void **state)
{
    int ends[2], fd;
    struct hp_agent_message got;
    const struct hp_agent_message message = {.kind = HP_AGENT_PROFILE};
    (void)state;
    assert_true(hp_agent_link_open(ends));
    const int next = next_fd();
    send_fds(ends[0], &message, sizeof message, 1);
    assert_int_equal(hp_agent_link_receive(ends[1], &got, &fd), HP_AGENT_RECEIVED);
    assert_true(fd == next && close(fd) == 0);
    /* More of them than belong to a message, also of such that there is room for; and none that is one. */
    for (size_t count = 2; count <= 8; count++) {
        send_fds(ends[0], &message, sizeof message, count);
        hp_agent_link_receive(ends[1], &got, &fd);
        if (fd >= 0)
            close(fd);
        assert_int_equal(next_fd(), next);
    }
    for (size_t length = 0; length < 2; length++)
        for (size_t count = 1; count <= 2; count++) {
            send_fds(ends[0], &message, length, count);
            assert_int_equal(hp_agent_link_receive(ends[1], &got, &fd), HP_AGENT_GONE);
            assert_int_equal(fd, -1);
            assert_int_equal(next_fd(), next);
        }
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_descriptor_is_left_open)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
