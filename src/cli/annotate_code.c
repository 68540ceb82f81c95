/* Disassembles a function with objdump. SPDX-License-Identifier: MIT */
#include "annotate_code.h"

#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "code_range.h"
#include "command.h"

extern char **environ;

/* "  401136:\tpush   %rbp" */
static bool add_instruction(struct hp_annotated *text, char *line)
{
    char *end;
    const uint64_t address = strtoull(line, &end, 16);
    if (end == line || end[0] != ':' || end[1] != '\t')
        return true;
    return hp_annotated_add(text, end + 2, address);
}

static bool add_instructions(struct hp_annotated *text)
{
    char *rest = text->bytes;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (!add_instruction(text, line))
            return false;
    return true;
}

/* Returns the read end of objdump's output; -1: see errno. */
static int start_objdump(const char *path, const struct hp_code_range *range, pid_t *ret_pid)
{
    char from[48], to[48];
    const char *const argv[] = {"objdump", "-dwC", "--no-show-raw-insn", from, to, path, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], problem;
    snprintf(from, sizeof from, "--start-address=0x%" PRIx64, range->start);
    snprintf(to, sizeof to, "--stop-address=0x%" PRIx64, range->end);
    if (pipe(ends) != 0)
        return -1;
    problem = posix_spawn_file_actions_init(&actions);
    if (problem == 0) {
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addclose(&actions, ends[0]);
        posix_spawn_file_actions_addclose(&actions, ends[1]);
        problem = posix_spawnp(ret_pid, argv[0], &actions, NULL, (char **)(uintptr_t)argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (problem != 0)
        close(ends[0]);
    errno = problem;
    return problem == 0 ? ends[0] : -1;
}

static bool fail_to_start(void)
{
    if (errno == ENOENT)
        hp_fail("objdump is not installed; showing instructions requires it (package binutils)");
    else
        hp_fail("cannot run objdump: %s", strerror(errno));
    return false;
}

static bool disassemble(const char *path, const struct hp_code_range *range, struct hp_annotated *ret_text)
{
    pid_t pid;
    int status = 0;
    const int fd = start_objdump(path, range, &pid);
    if (fd < 0)
        return fail_to_start();
    ret_text->bytes = hp_annotated_read(fd);
    close(fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (ret_text->bytes == NULL || !add_instructions(ret_text)) {
        hp_fail("not enough memory for the instructions in '%s'", path);
        return false;
    }
    if (ret_text->count == 0)
        hp_fail("objdump finds no code at 0x%" PRIx64 " of '%s'", range->start, path);
    return ret_text->count > 0;
}

bool hp_annotate_code(const struct hp_named_image *image, uint64_t place, struct hp_annotated *ret_text)
{
    struct hp_code_range range;
    switch (hp_code_range_find(image->path, image->build_id, place, &range)) {
    case HP_CODE_NO_FILE:
        hp_fail("cannot read '%s': %s", image->path, strerror(errno));
        return false;
    case HP_CODE_OTHER_FILE:
        hp_fail("'%s' has been replaced since the run; its instructions no longer match", image->path);
        return false;
    case HP_CODE_FOUND:
        break;
    }
    return disassemble(image->path, &range, ret_text);
}
