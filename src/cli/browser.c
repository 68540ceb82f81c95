/* Starts the web browser. SPDX-License-Identifier: MIT */
#include "browser.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program_file.h"

/* $BROWSER is a list of programs; takes the first that exists. */
static bool choose(char *program, size_t size)
{
    const char *list = getenv("BROWSER");
    while (list != NULL && *list != '\0') {
        const size_t length = strcspn(list, ":");
        if (length > 0 && length < size) {
            memcpy(program, list, length);
            program[length] = '\0';
            if (strchr(program, '/') != NULL ? access(program, X_OK) == 0 : hp_is_in_path(program))
                return true;
        }
        list += length;
        list += *list == ':';
    }
    memcpy(program, "xdg-open", sizeof "xdg-open");
    return hp_is_in_path(program);
}

/*
 * The browser may run as long as it likes and print what it likes. A double fork keeps it from becoming our zombie.
 */
bool hp_browser_open(const char *what)
{
    char program[1024];
    if (!choose(program, sizeof program))
        return false;
    const pid_t pid = fork();
    if (pid > 0)
        waitpid(pid, NULL, 0);
    if (pid != 0)
        return pid > 0;
    if (fork() != 0)
        _exit(0);
    const int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; nothing >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(nothing, fd);
    setsid();
    execlp(program, program, what, (char *)NULL);
    _exit(127);
}
