/*
 * Zones without a session.
 *     zone          one is met
 *     key           one with a key
 *     none          none is met
 *     late          one is met before a session begins, which writes nothing
 *     off           the program wants no session, and says so
 *     child         only a forked child meets one
 *     parent        the parent does, and a forked child ends like it
 *     plugin PATH   one of a plugin is met, and then one of the program
 *     reused PATH   that file is what was stderr
 *     shut-in       one is met, and then to ask about a file or about the process is death
 */
#include "support.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void meet(void) { HOTPATH_MEASURE(); }

static void meet_key(const char *key) { HOTPATH_BLOCK_KEY("key", key); }

static void record_nothing(const char *what)
{
    struct hotpath_options options = {.size = sizeof options, .record = what, .format = "none"};
    hotpath_start(&options);
    hotpath_stop();
}

static void meet_in_plugin(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    MUST(plugin != NULL);
    union {
        void *object;
        int (*function)(int n);
    } work = {dlsym(plugin, "plugin_work")};
    MUST(work.object != NULL);
    work.function(1);
}

static void be_child(void)
{
    const pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        meet();
        exit(0);
    }
    MUST(waitpid(child, NULL, 0) == child);
}

static void reuse_stderr(const char *path)
{
    MUST(close(2) == 0);
    MUST(open(path, O_CREAT | O_WRONLY, 0600) == 2);
}

#ifdef SYS_newfstatat
#define STATUS_CALL SYS_newfstatat
#else
#define STATUS_CALL SYS_fstatat64
#endif

static void sandboxed(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the number of the system call */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, STATUS_CALL, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fstat, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(int argc, char **argv)
{
    if (is_case(argc, argv, "key"))
        meet_key("a");
    if (is_case(argc, argv, "off"))
        record_nothing("0");
    if (is_case(argc, argv, "plugin"))
        meet_in_plugin(argv[2]);
    if (is_case(argc, argv, "reused"))
        reuse_stderr(argv[2]);
    if (!is_case(argc, argv, "key") && !is_case(argc, argv, "none") && !is_case(argc, argv, "child"))
        meet();
    if (is_case(argc, argv, "late"))
        record_nothing("timing");
    if (is_case(argc, argv, "child") || is_case(argc, argv, "parent"))
        be_child();
    if (is_case(argc, argv, "shut-in"))
        sandboxed();
    return 42;
}
