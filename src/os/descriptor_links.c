/* What descriptors lead to. SPDX-License-Identifier: MIT */
#include "descriptor_links.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#if __has_include(<linux/unix_diag.h>)
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#define HAS_DIAG 1
#endif

#include "raw_call.h"
#include "text.h"

const char *hp_descriptor_path(char path[HP_TASK_PATH], uint32_t pid, uint32_t descriptor)
{
    char name[16];
    struct hp_text text;
    hp_text_init(&text, name, sizeof name);
    hp_text_string(&text, "fd/");
    hp_text_u64(&text, descriptor);
    return hp_task_path(path, pid, 0, hp_text_end(&text));
}

size_t hp_descriptor_link(uint32_t pid, uint32_t descriptor, char *target, size_t size)
{
    char path[HP_TASK_PATH];
    const ssize_t length = readlink(hp_descriptor_path(path, pid, descriptor), target, size - 1);
    target[length > 0 ? length : 0] = '\0';
    return length > 0 ? (size_t)length : 0;
}

uint64_t hp_descriptor_socket(const char *target)
{
    static const char before[] = "socket:[";
    const char *number = target + sizeof before - 1;
    return hp_text_begins(target, before) ? hp_task_number(&number) : 0;
}

#ifdef HAS_DIAG

struct question {
    struct nlmsghdr header;
    struct unix_diag_req body;
};

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

/* A kernel built without sock_diag gives no answer. It is ready when the question has been sent. */
uint64_t hp_unix_socket_peer(uint64_t inode)
{
    const struct question question = {
        .header = {.nlmsg_len = sizeof question, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .body = {.sdiag_family = AF_UNIX,
                 .udiag_states = UINT32_MAX,
                 .udiag_ino = (uint32_t)inode,
                 .udiag_show = UDIAG_SHOW_PEER,
                 .udiag_cookie = {UINT32_MAX, UINT32_MAX}}};
    union {
        struct nlmsghdr header;
        char bytes[512];
    } answer;
    const int kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (kernel < 0)
        return 0;
    const bool is_asked = hp_sys_write(kernel, &question, sizeof question) == (ssize_t)sizeof question;
    const long length =
        is_asked ? hp_raw(SYS_recvfrom, kernel, answer.bytes, sizeof answer.bytes, MSG_DONTWAIT, 0, 0) : -1;
    hp_sys_close(kernel);
    return peer_in(&answer.header, length);
}

#else

uint64_t hp_unix_socket_peer(uint64_t inode)
{
    (void)inode;
    return 0;
}

#endif
