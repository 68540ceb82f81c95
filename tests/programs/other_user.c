/*
 * A program that gives up its user or its root directory, and then allocates a known number of blocks of a known
 * size. It knows nothing of hotpath.
 *
 *     other_user setuid|fork|exec|late BLOCKS        as user nobody: itself, in a forked child, in another program;
 *                                                    late: it allocates before, too
 *     other_user raw BLOCKS                          as exec, but the user is changed by syscall(2)
 *     other_user shell BLOCKS                        as user nobody, and executes shells
 *     other_user chroot BLOCKS DIRECTORY             in a forked child with another root
 *     other_user space BLOCKS                        keeps the blocks; prints the most addresses it had, in KB
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#define BLOCK_BYTES 4096
#define NOBODY 65534

__attribute__((noinline)) static void allocate_as_before(int blocks)
{
    for (int at = 0; at < blocks; at++) {
        void *volatile block = calloc(1, BLOCK_BYTES);
        free(block);
    }
}

__attribute__((noinline)) static void allocate_as_other(int blocks)
{
    for (int at = 0; at < blocks; at++) {
        void *volatile block = malloc(BLOCK_BYTES);
        free(block);
    }
}

static int in_child(int blocks)
{
    int status = 1;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        allocate_as_other(blocks);
        exit(0);
    }
    return waitpid(child, &status, 0) == child ? status : 1;
}

static void give_up_user(void)
{
    if (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0) {
        perror("setuid");
        exit(3);
    }
}

static void give_up_user_by_number(void)
{
    if (syscall(SYS_setgroups, 0, NULL) != 0 || syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY) != 0 ||
        syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY) != 0) {
        perror("setresuid");
        exit(3);
    }
}

static int keep_blocks(int blocks)
{
    char line[100];
    for (int at = 0; at < blocks; at++) {
        char *volatile block = malloc(BLOCK_BYTES);
        if (block == NULL)
            return 4;
        *block = 1;
    }
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "VmPeak:", 7) == 0)
            printf("%ld\n", strtol(line + 7, NULL, 10));
    return status == NULL;
}

static int execute_shells(void)
{
    wordexp_t words;
    if (wordexp("$(echo a word)", &words, WRDE_SHOWERR) != 0 || words.we_wordc != 2)
        return 1;
    FILE *output = popen("echo popen", "r");
    char text[8] = "";
    if (output == NULL || fgets(text, sizeof text, output) == NULL || pclose(output) != 0)
        return 1;
    return strcmp(text, "popen\n") != 0 || system("true") != 0;
}

int main(int count, char **words)
{
    const char *way = count > 2 ? words[1] : "";
    const int blocks = count > 2 ? atoi(words[2]) : 0;
    int status = 0;
    if (strcmp(way, "late") == 0)
        allocate_as_before(blocks);
    if (strcmp(way, "chroot") == 0) {
        if (count < 4 || chroot(words[3]) != 0 || chdir("/") != 0)
            return 3;
        status = in_child(blocks);
    } else if (strcmp(way, "space") == 0) {
        return keep_blocks(blocks);
    } else if (strcmp(way, "raw") == 0) {
        give_up_user_by_number();
    } else if (strcmp(way, "plain") == 0) {
        clearenv(); /* what begins late must know from before where it belongs */
    } else {
        give_up_user();
    }
    if (strcmp(way, "shell") == 0)
        status = execute_shells();
    if (strcmp(way, "fork") == 0)
        status = in_child(blocks);
    else if (strcmp(way, "exec") == 0 || strcmp(way, "raw") == 0)
        return execl(words[0], words[0], "plain", words[2], (char *)NULL);
    else if (strcmp(way, "chroot") != 0)
        allocate_as_other(blocks);
    printf("%s: user %d\n", way, (int)getuid());
    return status;
}
