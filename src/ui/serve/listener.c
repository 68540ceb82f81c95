/* The socket that a server listens on. SPDX-License-Identifier: MIT */
#include "listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAITING 64 /* backlog of connections */

union place {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

static bool read_address(const char *address, uint16_t port, union place *ret_place, socklen_t *ret_size)
{
    memset(ret_place, 0, sizeof *ret_place);
    if (strcmp(address, "localhost") == 0)
        address = "127.0.0.1";
    if (inet_pton(AF_INET, address, &ret_place->four.sin_addr) == 1) {
        ret_place->four.sin_family = AF_INET;
        ret_place->four.sin_port = htons(port);
        *ret_size = sizeof ret_place->four;
        return true;
    }
    ret_place->six.sin6_family = AF_INET6;
    ret_place->six.sin6_port = htons(port);
    *ret_size = sizeof ret_place->six;
    return inet_pton(AF_INET6, address, &ret_place->six.sin6_addr) == 1;
}

/* -1: errno says why. */
static int listen_at(const union place *place, socklen_t size)
{
    const int on = 1;
    const int fd = socket(place->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, &place->any, size) == 0 && listen(fd, WAITING) == 0)
        return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* A server on the wildcard address is reached from here by the loopback address. */
static void describe(struct hp_listener *listener, union place *place)
{
    char number[INET6_ADDRSTRLEN] = "";
    socklen_t size = sizeof *place;
    getsockname(listener->fd, &place->any, &size);
    listener->is_v6 = place->any.sa_family == AF_INET6;
    if (listener->is_v6) {
        listener->is_loopback = IN6_IS_ADDR_LOOPBACK(&place->six.sin6_addr);
        if (IN6_IS_ADDR_UNSPECIFIED(&place->six.sin6_addr))
            place->six.sin6_addr = in6addr_loopback;
        inet_ntop(AF_INET6, &place->six.sin6_addr, number, sizeof number);
        snprintf(listener->host, sizeof listener->host, "[%s]:%u", number, (unsigned)ntohs(place->six.sin6_port));
        return;
    }
    listener->is_loopback = ntohl(place->four.sin_addr.s_addr) >> 24 == 127;
    if (place->four.sin_addr.s_addr == htonl(INADDR_ANY))
        place->four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    inet_ntop(AF_INET, &place->four.sin_addr, number, sizeof number);
    snprintf(listener->host, sizeof listener->host, "%s:%u", number, (unsigned)ntohs(place->four.sin_port));
}

bool hp_listener_open(struct hp_listener *listener, const char *address, uint16_t port, bool is_any_port_fine,
                      char *problem, size_t size)
{
    union place place;
    socklen_t length;
    *listener = (struct hp_listener){.fd = -1};
    if (!read_address(address, port, &place, &length)) {
        snprintf(problem, size, "'%s' is not an address such as 127.0.0.1 or ::1", address);
        return false;
    }
    listener->fd = listen_at(&place, length);
    if (listener->fd < 0 && errno == EADDRINUSE && is_any_port_fine && read_address(address, 0, &place, &length))
        listener->fd = listen_at(&place, length);
    if (listener->fd < 0) {
        snprintf(problem, size, "cannot listen on %s, port %u: %s", address, (unsigned)port,
                 errno == EADDRINUSE      ? "the port is in use; choose another with --port"
                 : errno == EADDRNOTAVAIL ? "this machine does not have that address"
                 : errno == EACCES        ? "ports below 1024 need privileges; choose another with --port"
                                          : strerror(errno));
        return false;
    }
    describe(listener, &place);
    return true;
}
