/* What an agent may run. SPDX-License-Identifier: MIT */
#include "allowed_runs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

/* ----------------------------------------------------------------------------------------------------- programs */

/* "python3.11-dbg", "bash-static", "ld-linux-x86-64.so.2": the name itself, or what begins with it. */
static bool is_variant_of(const char *name, const char *wrapper)
{
    const size_t length = strlen(wrapper);
    return strncmp(name, wrapper, length) == 0 && strchr("0123456789.-", name[length]) != NULL;
}

bool hp_is_wrapper(const char *path)
{
    static const char *const names[] = {
        "sh",      "bash",    "dash",     "ash",      "rbash",       "zsh",          "ksh",     "mksh",
        "fish",    "csh",     "tcsh",     "busybox",  "toybox",      "env",          "sudo",    "doas",
        "su",      "runuser", "pkexec",   "nice",     "ionice",      "chrt",         "taskset", "nohup",
        "setsid",  "timeout", "stdbuf",   "xargs",    "find",        "parallel",     "strace",  "ltrace",
        "gdb",     "lldb",    "perf",     "valgrind", "time",        "chroot",       "unshare", "nsenter",
        "setpriv", "capsh",   "script",   "watch",    "flock",       "systemd-run",  "docker",  "podman",
        "ssh",     "make",    "gmake",    "ninja",    "python",      "pypy",         "perl",    "ruby",
        "node",    "nodejs",  "deno",     "bun",      "php",         "lua",          "luajit",  "tclsh",
        "wish",    "expect",  "awk",      "gawk",     "mawk",        "nawk",         "sed",     "java",
        "guile",   "julia",   "Rscript",  "R",        "m",           "vi",           "vim",     "vim.basic",
        "emacs",   "ed",      "git",      "hotpath",  "qemu-x86_64", "qemu-aarch64", "ld",      "start-stop-daemon",
        "less",    "man",     "tar",      "rsync",    "cc",          "gcc",          "clang",   "screen",
        "tmux",    "octave",  "erl",      "g++",      "clang++",     "c++",          "bwrap",   "fakeroot",
        "numactl", "prlimit", "xvfb-run", "cmake",    "ctest",       "npm",          "npx",     "cargo",
        "go",      "pytest",  "sqlite",
    };
    const char *name = hp_text_base_name(path);
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++)
        if (is_variant_of(name, names[at]))
            return true;
    return false;
}

static bool is_program(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

/* The file that a word means, by PATH if it has no slash, with links followed. False: there is none. */
static bool resolve(const char *word, char *path)
{
    char tried[PATH_MAX];
    const char *folders = getenv("PATH");
    if (strchr(word, '/') != NULL)
        return realpath(word, path) != NULL && is_program(path);
    for (const char *at = folders != NULL ? folders : "", *end; *at != '\0'; at = end + (*end == ':')) {
        end = at + strcspn(at, ":");
        const int length = snprintf(tried, sizeof tried, "%.*s/%s", (int)(end - at), at, word);
        if (at[0] == '/' && length < (int)sizeof tried && is_program(tried))
            return realpath(tried, path) != NULL;
    }
    return false;
}

/* ----------------------------------------------------------------------------------------------------- prefixes */

bool hp_allowed_runs_add(struct hp_allowed_runs *runs, const char *prefix, char *problem, size_t size)
{
    char path[PATH_MAX];
    if (runs->count == HP_ALLOWED_RUNS_MOST || strlen(prefix) >= HP_ALLOWED_BYTES) {
        snprintf(problem, size, "there are too many of them, or it is too long");
        return false;
    }
    struct hp_allowed_run *run = &runs->all[runs->count];
    memset(run, 0, sizeof *run);
    memcpy(run->text, prefix, strlen(prefix) + 1);
    for (char *rest = run->text, *word; (word = strsep(&rest, " \t")) != NULL;) {
        if (word[0] == '\0')
            continue;
        if (run->count == HP_ALLOWED_WORDS_MOST) {
            snprintf(problem, size, "it has more than %u words", HP_ALLOWED_WORDS_MOST);
            return false;
        }
        run->words[run->count++] = word;
    }
    if (run->count == 0 || !resolve(run->words[0], path) || strlen(path) >= sizeof run->path) {
        snprintf(problem, size, "there is no such program");
        return false;
    }
    memcpy(run->path, path, strlen(path) + 1);
    run->is_whole = hp_is_wrapper(path) || hp_is_wrapper(run->words[0]);
    runs->count++;
    return true;
}

static bool is_allowed(const struct hp_allowed_run *run, const char *path, char *const *argv, size_t count)
{
    if (strcmp(run->path, path) != 0 || count < run->count || (run->is_whole && count != run->count))
        return false;
    for (size_t at = 1; at < run->count; at++)
        if (strcmp(run->words[at], argv[at]) != 0)
            return false;
    return true;
}

static void list_allowed(const struct hp_allowed_runs *runs, char *problem, size_t size)
{
    struct hp_text text;
    hp_text_init(&text, problem, size);
    hp_text_string(&text, "this program is not allowed; allowed are:");
    for (size_t at = 0; at < runs->count; at++) {
        hp_text_string(&text, at > 0 ? "; " : " ");
        for (size_t word = 0; word < runs->all[at].count; word++) {
            hp_text_format(&text, "%s%s", word > 0 ? " " : "", runs->all[at].words[word]);
        }
        hp_text_string(&text, runs->all[at].is_whole ? " (exactly)" : " ...");
    }
    hp_text_end(&text);
}

const char *hp_allowed_runs_find(const struct hp_allowed_runs *runs, char *const *argv, size_t count, char *problem,
                                 size_t size)
{
    char path[PATH_MAX];
    if (count > 0 && resolve(argv[0], path))
        for (size_t at = 0; at < runs->count; at++)
            if (is_allowed(&runs->all[at], path, argv, count))
                return runs->all[at].path;
    list_allowed(runs, problem, size);
    return NULL;
}
