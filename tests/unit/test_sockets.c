/* Names of sockets: of real ones, which this process opens. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "wait_cause.h"

#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78
#endif

static char name[HP_SOCKET_NAME], expected[128];

static void assert_named(int fd)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    memset(name, 'x', sizeof name);
    assert_true(hp_socket_name((uint32_t)getpid(), status.st_ino, name));
    assert_string_equal(name, expected);
}

/*
 * Bound to the address, at a port of the kernel's choice, which is returned. -1: this machine has no such
 * addresses.
 */
static int bind_to(int family, int type, const char *address, unsigned *ret_port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr *to = family == AF_INET ? (struct sockaddr *)(void *)&four : (struct sockaddr *)(void *)&six;
    socklen_t length = family == AF_INET ? sizeof four : sizeof six;
    const int fd = socket(family, type | SOCK_CLOEXEC, 0), yes = 1;
    if (fd < 0)
        return -1;
    assert_int_equal(
        inet_pton(family, address, family == AF_INET ? (void *)&four.sin_addr : (void *)&six.sin6_addr), 1);
    if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &yes, sizeof yes) != 0) {
        close(fd);
        return -1;
    }
    if (bind(fd, to, length) != 0) {
        close(fd);
        return -1;
    }
    assert_int_equal(getsockname(fd, to, &length), 0);
    *ret_port = ntohs(family == AF_INET ? four.sin_port : six.sin6_port);
    return fd;
}

/* One that listens, and one that is connected to it. */
static void check_stream(int family, const char *address, const char *shown)
{
    struct sockaddr_storage to;
    socklen_t length = sizeof to;
    unsigned port;
    const int listener = bind_to(family, SOCK_STREAM, address, &port);
    if (listener < 0)
        skip();
    const int client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)(void *)&to, &length), 0);
    assert_int_equal(connect(client, (struct sockaddr *)(void *)&to, length), 0);
    snprintf(expected, sizeof expected, "tcp at %s:%u", shown, port);
    assert_named(listener);
    snprintf(expected, sizeof expected, "tcp %s:%u", shown, port);
    assert_named(client);
    close(client);
    close(listener);
}

static void tcp(void **state)
{
    (void)state;
    check_stream(AF_INET, "127.0.0.1", "127.0.0.1");
}

static void tcp_of_version_6(void **state)
{
    (void)state;
    check_stream(AF_INET6, "::1", "[::1]");
}

/* As programs have it that listen for both with one socket. */
static void version_4_inside_6(void **state)
{
    (void)state;
    check_stream(AF_INET6, "::ffff:127.0.0.1", "127.0.0.1");
}

static void udp_without_a_peer(void **state)
{
    unsigned port;
    (void)state;
    const int fd = bind_to(AF_INET, SOCK_DGRAM, "127.0.0.1", &port);
    snprintf(expected, sizeof expected, "udp at 127.0.0.1:%u", port);
    assert_named(fd);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(0x7f000002)};
    assert_int_equal(connect(fd, (struct sockaddr *)(void *)&to, sizeof to), 0);
    snprintf(expected, sizeof expected, "udp 127.0.0.2:53");
    assert_named(fd);
    close(fd);
}

static void long_addresses_end_with_their_port(void **state)
{
    static const struct {
        const char *address, *shown;
    } cases[] = {{"2001:db8:1111:2222:3333:4444:5555:6666", "[..3333:4444:5555:6666]"},
                 {"2001:db8::3333:4444:5555", "[2001:db8::3333:4444:5555]"}};
    (void)state;
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        unsigned port;
        const int fd = bind_to(AF_INET6, SOCK_DGRAM, cases[at].address, &port);
        if (fd < 0)
            skip();
        snprintf(expected, sizeof expected, "udp at %s:%u", cases[at].shown, port);
        assert_named(fd);
        close(fd);
    }
}

static void unix_path(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)state;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/hotpath-test-%d", (int)getpid());
    snprintf(expected, sizeof expected, "unix socket");
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_named(pair[0]);
    assert_int_equal(bind(fd, (struct sockaddr *)(void *)&address, sizeof address), 0);
    snprintf(expected, sizeof expected, "unix %s", address.sun_path);
    assert_named(fd);
    unlink(address.sun_path);
    close(fd);
    close(pair[0]);
    close(pair[1]);
}

static void unknown(void **state)
{
    (void)state;
    assert_false(hp_socket_name((uint32_t)getpid(), 1, name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tcp),
                                       cmocka_unit_test(tcp_of_version_6),
                                       cmocka_unit_test(version_4_inside_6),
                                       cmocka_unit_test(udp_without_a_peer),
                                       cmocka_unit_test(long_addresses_end_with_their_port),
                                       cmocka_unit_test(unix_path),
                                       cmocka_unit_test(unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
