/* Which process has the other end of a pipe or socket: of real ones, between processes of the test. SPDX-License-
 * Identifier: MIT */
#define _GNU_SOURCE 1 /* pipe2 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "other_end.h"
#include "wait_cause.h"

static struct hp_other_ends ends;
static uint32_t pids[3];
static uint32_t self;

static int set_up(void **state)
{
    (void)state;
    memset(&ends, 0, sizeof ends);
    self = (uint32_t)getpid();
    pids[0] = self;
    ends.pids = pids;
    ends.count = 1;
    ends.most_searched = sizeof pids / sizeof pids[0];
    ends.generation = 1;
    return 0;
}

/* A child that keeps one descriptor and closes another, and waits for its end. */
static uint32_t keep(int kept, int closed)
{
    int is_ready[2];
    char byte;
    (void)kept;
    assert_int_equal(pipe2(is_ready, O_CLOEXEC), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(closed);
        close(is_ready[0]);
        if (write(is_ready[1], "x", 1) == 1)
            pause();
        _exit(0);
    }
    assert_int_equal(read(is_ready[0], &byte, 1), 1);
    close(is_ready[0]);
    close(is_ready[1]);
    memmove(pids + 1, pids, sizeof pids - sizeof pids[0]);
    pids[0] = (uint32_t)child;
    ends.count++;
    ends.generation++;
    return (uint32_t)child;
}

static void end(uint32_t child)
{
    int status;
    kill((pid_t)child, SIGKILL);
    assert_int_equal(waitpid((pid_t)child, &status, 0), (pid_t)child);
    memmove(pids, pids + 1, sizeof pids - sizeof pids[0]);
    ends.count--;
}

/* As the observer asks, by the name of a socket. */
static uint32_t other_end(int fd)
{
    char name[HP_SOCKET_NAME] = "";
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
        hp_socket_name(self, status.st_ino, name);
    return hp_other_end(&ends, self, (uint32_t)fd, name);
}

/* Both ends are here: between threads of the process. */
static void pipe_within_the_process(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(other_end(fds[0]), self);
    assert_int_equal(other_end(fds[1]), self);
    close(fds[0]);
    ends.generation++;
    assert_int_equal(other_end(fds[1]), 0);
    close(fds[1]);
    assert_int_equal(other_end(fds[1]), 0);
}

/* Who holds the same end is not the other one. */
static void pipe_to_another_process(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    const uint32_t reader = keep(fds[0], fds[1]);
    close(fds[0]);
    assert_int_equal(other_end(fds[1]), reader);
    const uint32_t writer = keep(fds[1], -1);
    assert_int_equal(other_end(fds[1]), reader);
    end(writer);
    end(reader);
    close(fds[1]);
}

/* The cached process is gone: the end is looked for again. */
static void another_process_takes_over(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    const uint32_t first = keep(fds[0], fds[1]);
    assert_int_equal(other_end(fds[1]), first);
    end(first);
    const uint32_t second = keep(fds[0], fds[1]);
    close(fds[0]);
    assert_int_equal(other_end(fds[1]), second);
    end(second);
    ends.generation++;
    assert_int_equal(other_end(fds[1]), 0);
    close(fds[1]);
}

static void unix_socket(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    const uint32_t child = keep(fds[1], fds[0]);
    close(fds[1]);
    const uint32_t found = other_end(fds[0]);
    end(child);
    close(fds[0]);
    if (found == 0)
        skip(); /* a kernel without UNIX_DIAG */
    assert_int_equal(found, child);
}

static void tcp_on_this_machine(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)(void *)&address, length), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)(void *)&address, &length), 0);
    assert_int_equal(connect(client, (struct sockaddr *)(void *)&address, length), 0);
    const int server = accept(listener, NULL, NULL);
    const uint32_t child = keep(server, client);
    close(server);
    assert_int_equal(other_end(client), child);
    assert_int_equal(other_end(listener), 0);
    end(child);
    close(client);
    close(listener);
}

static void named_pipe(void **state)
{
    (void)state;
    char path[] = "/tmp/hotpath-fifo-XXXXXX";
    assert_non_null(mkdtemp(path));
    char name[64];
    snprintf(name, sizeof name, "%s/fifo", path);
    assert_int_equal(mkfifo(name, 0600), 0);
    const int both = open(name, O_RDWR | O_CLOEXEC), writer = open(name, O_WRONLY | O_CLOEXEC);
    const int reader = open(name, O_RDONLY | O_CLOEXEC);
    const uint32_t child = keep(reader, writer);
    close(reader);
    close(both);
    assert_int_equal(other_end(writer), child);
    end(child);
    close(writer);
    unlink(name);
    rmdir(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(pipe_within_the_process, set_up),
        cmocka_unit_test_setup(pipe_to_another_process, set_up),
        cmocka_unit_test_setup(another_process_takes_over, set_up),
        cmocka_unit_test_setup(unix_socket, set_up),
        cmocka_unit_test_setup(tcp_on_this_machine, set_up),
        cmocka_unit_test_setup(named_pipe, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
