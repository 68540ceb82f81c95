/*
 * One copy of a library with an event loop (LIBRARY), a plugin that uses it (PLUGIN), or both in one: a plugin with
 * its own copy. COPY is its name. SPDX-License-Identifier: MIT
 */
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* As objects of such libraries, it points to code of its library. */
struct loop {
    const char *name;
    int (*step)(void);
};

struct loop *new_loop(void);
int uv_run(void *loop, int mode);
int io_uring_wait_cqes(void *ring, void **completion, unsigned count, void *timeout, sigset_t *mask);
int run_it(void);
int wait_for_it(void);

#ifdef LIBRARY
static int wait_a_little(void) { return poll(NULL, 0, 0); }

struct loop *new_loop(void)
{
    struct loop *loop = malloc(sizeof *loop);
    *loop = (struct loop){COPY, wait_a_little};
    return loop;
}

int uv_run(void *loop, int mode)
{
    const struct loop *its = loop;
    printf("uv_run of %s, loop of %s\n", COPY, its->name);
    for (int turn = 0; turn < 3; turn++)
        its->step();
    return mode;
}

int io_uring_wait_cqes(void *ring, void **completion, unsigned count, void *timeout, sigset_t *mask)
{
    (void)completion, (void)timeout, (void)mask;
    printf("io_uring_wait_cqes of %s, ring of %s\n", COPY, ((const struct loop *)ring)->name);
    for (unsigned turn = 0; turn < 3; turn++)
        poll(NULL, 0, 0);
    return (int)count;
}
#endif

/* With optimisation these are jumps, so the return address is in the program. */
#ifdef PLUGIN
static struct loop *the_loop(void)
{
    static struct loop *loop;
    if (loop == NULL)
        loop = new_loop();
    return loop;
}

int run_it(void) { return uv_run(the_loop(), 17); }
int wait_for_it(void) { return io_uring_wait_cqes(the_loop(), NULL, 1, NULL, NULL); }
#endif
