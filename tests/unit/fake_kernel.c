/* A fake kernel for tests. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* nftw's flags, vsnprintf */
#include "fake_kernel.h"

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "process.h"

uint64_t fake_ns;
static char root[] = "/tmp/hotpath-proc-XXXXXX";

/* The linker redirects all callers to these (--wrap). */
__typeof__(hp_clock_monotonic_ns) __wrap_hp_clock_monotonic_ns;
__typeof__(hp_clock_boot_ns) __wrap_hp_clock_boot_ns;
uint64_t __wrap_hp_clock_monotonic_ns(void) { return fake_ns; }
uint64_t __wrap_hp_clock_boot_ns(void) { return fake_ns; }

static void must(int is_done, const char *what)
{
    if (is_done)
        return;
    perror(what);
    abort();
}

void fake_kernel_begin(void)
{
    fake_ns = 1000 * MS;
    strcpy(root + sizeof root - 7, "XXXXXX");
    must(mkdtemp(root) != NULL, root);
    hp_task_root = root;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_all(const char *path) { nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

void fake_kernel_end(void)
{
    remove_all(root);
    hp_task_root = "/proc";
}

static void make_folders(char *path)
{
    for (char *slash = path + sizeof root; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        must(mkdir(path, 0700) == 0 || errno == EEXIST, path);
        *slash = '/';
    }
}

static char *whole(const char *path)
{
    static char text[256];
    snprintf(text, sizeof text, "%s/%s", root, path);
    make_folders(text);
    return text;
}

void fake_file(const char *path, const char *text, ...)
{
    const char *name = whole(path);
    va_list values;
    unlink(name); /* to cut a file off and write it anew has some file systems wait for the disk */
    FILE *file = fopen(name, "we");
    must(file != NULL, name);
    va_start(values, text);
    must(vfprintf(file, text, values) >= 0, name);
    va_end(values);
    must(fclose(file) == 0, name);
}

void fake_link(const char *path, const char *target)
{
    const char *name = whole(path);
    unlink(name);
    must(symlink(target, name) == 0, name);
}

void fake_remove(const char *path) { remove_all(whole(path)); }

void fake_stat(const char *folder, char state, uint64_t start)
{
    char path[128];
    snprintf(path, sizeof path, "%s/stat", folder);
    fake_file(path, "1 (a b) c) %c 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0\n", state,
              (unsigned long long)start);
}
