/*
 * Asks the kernel by sock_diag, as ss(8) does, without privileges; a kernel built without it gives no answer. The
 * answer is ready when the request has been sent, so nothing waits. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "socket_peer.h"

#if __has_include(<linux/unix_diag.h>)
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "raw_call.h"
#include "sys.h"

struct question {
    struct nlmsghdr context;
    struct unix_diag_req body;
};

/* 0: it has no peer, or there is no such socket. */
static uint64_t peer_in(const struct nlmsghdr *answer, long length)
{
    const char *const bytes = (const char *)answer;
    if (length < (long)NLMSG_SPACE(sizeof(struct unix_diag_msg)) || answer->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        (long)answer->nlmsg_len > length)
        return 0;
    const struct nlattr *item;
    for (size_t at = NLMSG_SPACE(sizeof(struct unix_diag_msg)); at + sizeof *item <= answer->nlmsg_len;
         at += (item->nla_len + 3u) & ~3u) {
        uint32_t inode;
        item = (const void *)(bytes + at);
        if (item->nla_len < sizeof *item || item->nla_len > answer->nlmsg_len - at)
            return 0;
        if (item->nla_type == UNIX_DIAG_PEER && item->nla_len >= sizeof *item + sizeof inode) {
            memcpy(&inode, item + 1, sizeof inode);
            return inode;
        }
    }
    return 0;
}

uint64_t hp_socket_peer(uint64_t inode)
{
    const struct question question = {
        .context = {.nlmsg_len = sizeof question, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .body = {.sdiag_family = AF_UNIX,
                 .udiag_states = UINT32_MAX,
                 .udiag_ino = (uint32_t)inode,
                 .udiag_show = UDIAG_SHOW_PEER,
                 .udiag_cookie = {UINT32_MAX, UINT32_MAX}}};
    union {
        struct nlmsghdr context;
        char bytes[512];
    } answer;
    const int kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (kernel < 0)
        return 0;
    const bool is_asked = hp_sys_write(kernel, &question, sizeof question) == (ssize_t)sizeof question;
    const long length =
        is_asked ? hp_raw(SYS_recvfrom, kernel, answer.bytes, sizeof answer.bytes, MSG_DONTWAIT, 0, 0) : -1;
    hp_sys_close(kernel);
    return peer_in(&answer.context, length);
}

#else

uint64_t hp_socket_peer(uint64_t inode)
{
    (void)inode;
    return 0;
}

#endif
