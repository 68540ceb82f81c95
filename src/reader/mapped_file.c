/* Files mapped to look at. SPDX-License-Identifier: MIT */
#include "mapped_file.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_FILES 64u

static uintptr_t page_bytes; /* set before the handler can run, which then need not ask */
static struct {
    uintptr_t from, to;
} files[MOST_FILES];

/* From the page that is missing to the end, since what is behind it is missing, too. */
static bool fill_up(uintptr_t missing)
{
    for (size_t at = 0; at < MOST_FILES; at++)
        if (missing >= files[at].from && missing < files[at].to) {
            const uintptr_t page = missing & ~(page_bytes - 1);
            return mmap((void *)page, files[at].to - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                        0) != MAP_FAILED;
        }
    return false;
}

/* Somebody else's fault ends the program, as it would without us. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (!fill_up((uintptr_t)info->si_addr))
        signal(number, SIG_DFL);
}

static void be_ready(void)
{
    static bool is_ready;
    struct sigaction action;
    if (is_ready)
        return;
    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    is_ready = sigaction(SIGBUS, &action, NULL) == 0;
}

void *hp_mapped_file_open(int fd, size_t size)
{
    size_t at = 0;
    while (at < MOST_FILES && files[at].to != 0)
        at++;
    void *bytes = at < MOST_FILES ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (bytes == MAP_FAILED)
        return NULL;
    be_ready();
    files[at].from = (uintptr_t)bytes;
    files[at].to = (uintptr_t)bytes + ((size + page_bytes - 1) & ~(page_bytes - 1));
    return bytes;
}

void hp_mapped_file_close(void *bytes, size_t size)
{
    for (size_t at = 0; at < MOST_FILES; at++)
        if (bytes != NULL && files[at].from == (uintptr_t)bytes)
            files[at].from = files[at].to = 0;
    if (bytes != NULL)
        munmap(bytes, size);
}
