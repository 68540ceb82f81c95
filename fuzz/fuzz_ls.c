/*
 * `hotpath ls` and `hotpath clean` in a folder with arbitrary files under arbitrary names: modified sessions, other
 * bytes, runs, links, pipes, folders. The output must be harmless to a terminal and fit, JSON must be valid, and
 * nothing outside may be removed. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arguments.h"
#include "check.h"
#include "command.h"
#include "process.h"
#include "shapes.h"

#define MOST_ENTRIES 6u

static struct fuzz_input input;
static char base[64];   /* holds the folder and a file outside it */
static char folder[80]; /* of the sessions */
static char outside[80];
static uint32_t columns;

/* Replaces the program's own: a terminal of the input's width, and no lines on stderr. */
struct hp_terminal __wrap_hp_terminal_of(int fd);
struct hp_terminal __wrap_hp_terminal_of(int fd)
{
    (void)fd;
    return (struct hp_terminal){.columns = columns};
}

int __wrap_hp_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int __wrap_hp_fail(const char *format, ...)
{
    char line[4096];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    return EXIT_FAILED;
}

/* ------------------------------------------------------------------------------------------- the folder */

static void remove_all(int parent, const char *name)
{
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
    for (const struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_all(fd, entry->d_name);
    if (listing != NULL)
        closedir(listing);
    unlinkat(parent, name, fd >= 0 ? AT_REMOVEDIR : 0);
}

static void remove_base(void) { remove_all(AT_FDCWD, base); }

static void make_base(void)
{
    strcpy(base, access("/dev/shm", W_OK) == 0 ? "/dev/shm/hotpath-fuzz-XXXXXX" : "/tmp/hotpath-fuzz-XXXXXX");
    REQUIRE(mkdtemp(base) != NULL);
    atexit(remove_base);
    snprintf(folder, sizeof folder, "%s/sessions", base);
    snprintf(outside, sizeof outside, "%s/outside.hotpath", base);
    const int fd = open(outside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && close(fd) == 0);
    REQUIRE(setenv("HOTPATH_DIR", folder, 1) == 0);
}

/* ---------------------------------------------------------------------------------- contents of the folder */

static void write_file(int parent, const char *name, const void *bytes, size_t size)
{
    const int fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    REQUIRE(write(fd, bytes, size) == (ssize_t)size);
    if (fuzz_byte(&input) == 1)
        REQUIRE(ftruncate(fd, (off_t)1 << 30) == 0);
    close(fd);
}

/* As if a process of this machine had written it, perhaps this one. */
static void bring_home(struct fuzz_session *session)
{
    struct hp_header header;
    memcpy(&header, session->bytes, sizeof header);
    hp_process_boot_id(header.boot_id);
    header.state = HP_STATE_LIVE;
    if (fuzz_byte(&input) & 1)
        header.pid = (uint32_t)getpid();
    memcpy(session->bytes, &header, sizeof header);
}

static void write_session(int parent, const char *name)
{
    struct fuzz_session session = fuzz_session_take(&input);
    char *command = (char *)session.bytes + HP_HEADER_BYTES + 4; /* the first text of each */
    if (fuzz_byte(&input) & 1)
        bring_home(&session);
    fuzz_bytes(&input, command, fuzz_byte(&input) % 14);
    write_file(parent, name, session.bytes, session.size);
    fuzz_session_free(&session);
}

static void write_bytes(int parent, const char *name)
{
    char bytes[256];
    const size_t size = fuzz_bytes(&input, bytes, fuzz_byte(&input));
    write_file(parent, name, bytes, size);
}

/* Any valid file name, mostly with a suffix of hotpath. */
static void take_name(char name[256], bool is_run)
{
    fuzz_text(&input, name, 240);
    for (char *at = name; *at != '\0'; at++)
        if (*at == '/')
            *at = '_';
    if (name[0] == '\0')
        strcpy(name, "x");
    const uint8_t suffix = fuzz_byte(&input);
    strcat(name, suffix == 255 ? "" : is_run != (suffix == 254) ? ".run" : ".hotpath");
}

static void make_entry(int parent, bool may_nest);

static void make_run(int parent, const char *name)
{
    if (mkdirat(parent, name, fuzz_byte(&input) == 1 ? 0777 : 0700) != 0)
        return;
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    REQUIRE(fd >= 0);
    for (unsigned left = fuzz_byte(&input) % 4; left > 0; left--)
        make_entry(fd, false);
    close(fd);
}

static void make_entry(int parent, bool may_nest)
{
    char name[256];
    const uint8_t kind = fuzz_byte(&input) % 8;
    take_name(name, kind == 2);
    switch (kind) {
    case 1:
        write_bytes(parent, name);
        break;
    case 2:
        if (may_nest)
            make_run(parent, name);
        break;
    case 3:
        (void)!symlinkat(fuzz_byte(&input) & 1 ? outside : base, parent, name);
        break;
    case 4:
        (void)!mkfifoat(parent, name, 0600);
        break;
    case 5:
        (void)!mkdirat(parent, name, 0700);
        break;
    default:
        write_session(parent, name);
    }
}

/* At least one session is valid. */
static void write_good(int parent)
{
    struct fuzz_input none = {NULL, 0};
    struct fuzz_session session = fuzz_session_take(&none);
    write_file(parent, "good.hotpath", session.bytes, session.size);
    fuzz_session_free(&session);
}

static void fill_folder(void)
{
    REQUIRE(mkdir(folder, 0700) == 0);
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    write_good(fd);
    for (unsigned left = 1 + fuzz_byte(&input) % MOST_ENTRIES; left > 0; left--)
        make_entry(fd, true);
    close(fd);
}

/* --------------------------------------------------------------------------------------------- commands */

/* The output of a command. */
static void run(const struct hp_command *command, const char *flag, struct fuzz_output *output)
{
    static int file = -1;
    char name[] = "command", argument[16], bytes[4096];
    char *argv[] = {name, argument, NULL};
    struct hp_arguments arguments;
    strcpy(argument, flag);
    if (file < 0)
        file = memfd_create("fuzz_ls", MFD_CLOEXEC);
    REQUIRE(file >= 0 && ftruncate(file, 0) == 0 && lseek(file, 0, SEEK_SET) == 0 && fflush(stdout) == 0);
    const int standard_output = dup(1);
    REQUIRE(standard_output >= 0 && dup2(file, 1) == 1);
    REQUIRE(hp_arguments_read(&arguments, command, flag[0] != '\0' ? 2 : 1, argv) < 0);
    const int status = command->run(&arguments);
    REQUIRE(status == EXIT_DONE || status == EXIT_FAILED);
    REQUIRE(fflush(stdout) == 0 && dup2(standard_output, 1) == 1 && close(standard_output) == 0);
    output->length = 0;
    for (ssize_t got, at = 0; (got = pread(file, bytes, sizeof bytes, at)) > 0; at += got)
        fuzz_collect(output, bytes, (size_t)got);
}

static void require_harmless_lines(const struct fuzz_output *text)
{
    for (size_t at = 0; at < text->length;) {
        const char *const line = text->bytes + at, *const end = memchr(line, '\n', text->length - at);
        REQUIRE(end != NULL);
        const size_t taken = fuzz_require_harmless(line, (size_t)(end - line));
        REQUIRE(columns == 0 || taken <= columns);
        at = (size_t)(end - text->bytes) + 1;
    }
}

static void check_commands(uint8_t how)
{
    static struct fuzz_output output;
    struct stat status;
    run(&hp_command_ls, how & 1 ? "--all" : "", &output);
    require_harmless_lines(&output);
    run(&hp_command_ls, "--json", &output);
    fuzz_require_json(&output);
    REQUIRE(memmem(output.bytes, output.length, "/good.hotpath\"", 14) != NULL);
    if (how & 2)
        run(&hp_command_clean, how & 4 ? "--elsewhere" : "", &output);
    REQUIRE(lstat(outside, &status) == 0 && S_ISREG(status.st_mode));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (base[0] == '\0')
        make_base();
    input = (struct fuzz_input){bytes, size};
    const uint8_t how = fuzz_byte(&input);
    columns = (uint32_t)fuzz_number(&input, 2) % 300;
    fill_folder();
    check_commands(how);
    remove_all(AT_FDCWD, folder);
    return 0;
}
