/*
 * A process and its session are matched by pid and time: the session begins while its program runs. Where the
 * table is not exact, programs are also told apart by their files; so are processes of another pid namespace,
 * whose sessions have another pid. SPDX-License-Identifier: MIT
 */
#include "backfill.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arith.h"
#include "clock.h"
#include "files.h"
#include "growing_array.h"
#include "options.h"
#include "process.h"
#include "program_file.h"
#include "session_dirs.h"
#include "task_events.h"
#include "text.h"

/* ---------------------------------------------------------------------------------------------------- load cost */

/*
 * What loading our library costs a process: the work of the kernel and of the dynamic linker, which no process can
 * measure in itself.
 *
 * Compares short processes with and without the library. A child starts them: it needs the environment of a run,
 * and ours stays as it is.
 */

#define PAIRS 4u
#define NEVER_NS UINT64_MAX

extern char **environ;

/* The CPU time of a shell that does nothing. */
static uint64_t run_short(void)
{
    char *const words[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){":"}, NULL};
    struct rusage used;
    pid_t pid;
    int status;
    if (posix_spawn(&pid, "/bin/sh", NULL, NULL, words, environ) != 0)
        return NEVER_NS;
    while (wait4(pid, &status, 0, &used) < 0)
        if (errno != EINTR)
            return NEVER_NS;
    return status == 0 ? hp_timeval_ns(&used.ru_utime) + hp_timeval_ns(&used.ru_stime) : NEVER_NS;
}

/* As processes of a run have it, except that no session can begin: the run is over. */
static void set_environment(const char *library)
{
    setenv("HOTPATH", "1", 1);
    setenv("HOTPATH_RUN", "1", 1);
    setenv("HOTPATH_DIR", "/nonexistent.run", 1);
    setenv(HP_RUN_PROGRAM, "1", 1);
    hp_alloc_library_preload(library, true);
}

/* The shortest are those that nothing disturbed. 0: unknown. */
static uint64_t compare(const char *library)
{
    uint64_t least[2] = {NEVER_NS, NEVER_NS};
    set_environment(library);
    const char *with = getenv("LD_PRELOAD");
    char *const value = with != NULL ? strdup(with) : NULL;
    for (unsigned at = 0; value != NULL && at < 2 * PAIRS; at++) {
        const bool is_loaded = at % 2 != 0;
        if (is_loaded)
            setenv("LD_PRELOAD", value, 1);
        else
            unsetenv("LD_PRELOAD");
        const uint64_t ns = run_short();
        if (ns < least[is_loaded])
            least[is_loaded] = ns;
    }
    free(value);
    return least[1] != NEVER_NS && least[1] > least[0] ? least[1] - least[0] : 0;
}

/*
 * CPU time in nanoseconds by which a short process takes longer if it loads the library as processes of a run do.
 * Runs a few of them. 0: unknown.
 */
static uint64_t load_cost_ns(const char *library)
{
    int ends[2];
    uint64_t ns = 0;
    if (library[0] == '\0' || pipe(ends) != 0)
        return 0;
    const pid_t pid = fork();
    if (pid == 0) {
        ns = compare(library);
        _exit(write(ends[1], &ns, sizeof ns) == (ssize_t)sizeof ns ? 0 : 1);
    }
    close(ends[1]);
    const bool is_read = pid > 0 && read(ends[0], &ns, sizeof ns) == (ssize_t)sizeof ns;
    close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return is_read ? ns : 0;
}

/* ------------------------------------------------------------------------------------------------------ outside */

#define MANY_BRIEF 100u /* processes */
#define MOST_ROWS 64u   /* rows of processes without a session; further ones are summed by program */
/* Lag of /proc, and the longest life of a process taken to have run nothing of its own. */
#define SLACK_NS UINT64_C(20000000)

/* A session that a process left. */
struct left {
    uint32_t pid;    /* in our namespace; 0: the process is unknown */
    bool is_foreign; /* still to be matched: in its own namespace the process has another pid */
    uint32_t features;
    uint32_t state;
    uint64_t began_ns, latest_ns;
    uint64_t cpu_start_ns, cpu_latest_ns;
    uint64_t unwritten; /* forked children without a session: counted as lost, by number only */
    char name[64];      /* of the file */
    char executable[256];
};

/* Programs of the same file that left no session for the same reason. */
struct unrecorded {
    const char *reason;
    const struct hp_executed *image;
    const struct hp_process *process;
    uint64_t began_ns, ended_ns, cpu_ns;
    uint32_t count;
    uint32_t processes; /* that count here: they left nothing, and this is what is said of them */
    uint32_t lost;      /* processes that could not be followed, each counted once */
};

static struct {
    const struct hp_backfill *given;
    int folder;
    struct left *left;
    size_t left_count, left_capacity;
    struct unrecorded unrecorded[MOST_ROWS * 2];
    size_t unrecorded_count;
    struct hp_clock_pair now;
    uint32_t clock_kind, pid_namespace;
    uint64_t loading_ns; /* in a process */
    char *judged;        /* the file inspected last, and the result */
    const char *judgement;
} work;

/* ------------------------------------------------------------------------------------------------- sessions */

static void read_executable(int fd, const struct hp_header *header, struct left *left)
{
    uint32_t length = 0;
    if (header->executable < HP_HEADER_BYTES ||
        pread(fd, &length, sizeof length, (off_t)header->executable) != sizeof length)
        return;
    const size_t room = sizeof left->executable - 1;
    const ssize_t got = pread(fd, left->executable, length < room ? length : room,
                              (off_t)header->executable + (off_t)sizeof length);
    left->executable[got > 0 ? got : 0] = '\0';
}

static void visit(const char *name, void *context)
{
    struct hp_header header;
    (void)context;
    const int fd = hp_text_has_suffix(name, HP_SESSION_SUFFIX) && strlen(name) < sizeof work.left->name
                       ? hp_regular_open(work.folder, name, O_RDONLY | O_NOFOLLOW)
                       : -1;
    if (fd < 0)
        return;
    if (pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        memcmp(header.magic, HP_MAGIC, sizeof header.magic) == 0 && header.version == HP_LAYOUT_VERSION) {
        if (!HP_MAKE_ROOM(work.left, work.left_count + 1, work.left_capacity)) {
            close(fd);
            return;
        }
        struct left *left = &work.left[work.left_count++];
        *left = (struct left){.pid = header.pid,
                              .is_foreign = header.pid_namespace != 0 && header.pid_namespace != work.pid_namespace,
                              .features = header.features,
                              .state = header.state,
                              .began_ns = header.clock_start.ns,
                              .latest_ns = header.clock_latest.ns,
                              .cpu_start_ns = header.cpu_start_ns,
                              .cpu_latest_ns = header.cpu_latest_ns,
                              .unwritten = header.losses[HP_LOSS_CHILDREN]};
        memcpy(left->name, name, strlen(name) + 1);
        read_executable(fd, &header, left);
    }
    close(fd);
}

static int by_process(const void *a, const void *b)
{
    const struct left *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return x->began_ns < y->began_ns ? -1 : x->began_ns > y->began_ns;
}

/* The first session of a process, by binary search: the table is sorted by pid. */
static size_t first_of(uint32_t pid)
{
    size_t from = 0, to = work.left != NULL ? work.left_count : 0;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (work.left[middle].pid < pid)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Iterates over the sessions of a process: the first one after NULL, and NULL after the last. */
static struct left *next_of(uint32_t pid, const struct left *last)
{
    const size_t at = last != NULL ? (size_t)(last - work.left) + 1 : first_of(pid);
    return work.left != NULL && at < work.left_count && work.left[at].pid == pid ? &work.left[at] : NULL;
}

/* ----------------------------------------------------------------------------------------------------- images */

static uint64_t end_of(const struct hp_process *process, size_t image)
{
    if (image + 1 < process->image_count)
        return process->images[image + 1].began_ns;
    return process->ended_ns != 0 ? process->ended_ns : UINT64_MAX;
}

static bool has_any(const struct hp_process *process)
{
    for (const struct left *left = NULL; (left = next_of(process->pid, left)) != NULL;)
        if (left->began_ns >= process->began_ns && left->began_ns <= end_of(process, process->image_count - 1))
            return true;
    return false;
}

static bool is_within(const struct left *left, const struct hp_process *process, size_t image)
{
    const uint64_t slack = work.given->table->is_exact ? 0 : SLACK_NS;
    return left->began_ns + slack >= process->images[image].began_ns && left->began_ns <= end_of(process, image);
}

static bool is_program(const struct left *left, const struct hp_executed *image)
{
    return image->file != NULL && strcmp(left->executable, image->file) == 0;
}

static bool is_program_of(const struct left *left, const struct hp_process *process)
{
    for (size_t image = 0; image < process->image_count; image++)
        if (is_program(left, &process->images[image]))
            return true;
    return false;
}

/* If a process was read in /proc before an exec but not after it, its session tells the last program. */
static struct left *session_of_unread(const struct hp_process *process, size_t image)
{
    struct left *left = image + 1 == process->image_count ? next_of(process->pid, NULL) : NULL;
    while (left != NULL && (!is_within(left, process, image) || is_program_of(left, process)))
        left = next_of(process->pid, left);
    return left;
}

/*
 * The session of one of its programs; NULL: it left none. Without kernel events, programs were read from /proc, and
 * one that executed another at once was not.
 */
static struct left *session_of(const struct hp_process *process, size_t image)
{
    const bool is_exact = work.given->table->is_exact;
    struct left *left = next_of(process->pid, NULL);
    while (left != NULL &&
           !(is_exact ? is_within(left, process, image) : is_program(left, &process->images[image])))
        left = next_of(process->pid, left);
    return left != NULL || is_exact ? left : session_of_unread(process, image);
}

static bool is_taken(const struct hp_process *process, size_t image)
{
    for (size_t at = 0; at < work.left_count; at++) {
        const struct left *left = &work.left[at];
        if (!left->is_foreign && left->pid == process->pid && is_within(left, process, image))
            return true;
    }
    return false;
}

static bool is_of_image(const struct left *left, const struct hp_process *process, size_t image)
{
    return is_within(left, process, image) && is_program(left, &process->images[image]) &&
           !is_taken(process, image);
}

/* The process that began this program last before the session. */
static uint32_t pid_of(const struct left *left)
{
    uint64_t latest_ns = 0;
    uint32_t pid = 0;
    for (size_t at = 0; at < work.given->table->count; at++) {
        const struct hp_process *process = &work.given->table->all[at];
        for (size_t image = 0; image < process->image_count; image++)
            if (process->images[image].began_ns >= latest_ns && is_of_image(left, process, image)) {
                latest_ns = process->images[image].began_ns;
                pid = process->pid;
            }
    }
    return pid;
}

static int latest_first(const void *a, const void *b)
{
    const struct left *x = a, *y = b;
    return x->began_ns > y->began_ns ? -1 : x->began_ns < y->began_ns;
}

/* In reverse order, so that of two that began at the same time each finds its own. */
static void find_foreigners(void)
{
    qsort(work.left, work.left_count, sizeof *work.left, latest_first);
    for (size_t at = 0; at < work.left_count; at++)
        if (work.left[at].is_foreign) {
            work.left[at].pid = pid_of(&work.left[at]);
            work.left[at].is_foreign = false;
        }
}

/* Whether its parent has counted it as lost; each such loss is matched with one child. */
static bool is_counted_by_parent(const struct hp_process *process)
{
    for (struct left *left = NULL; (left = next_of(process->parent, left)) != NULL;)
        if (left->unwritten > 0 && left->began_ns <= process->began_ns) {
            left->unwritten--;
            return true;
        }
    return false;
}

/* ------------------------------------------------------------------------------------------------------ ends */

static uint64_t ticks_at(uint64_t ns)
{
    const struct hp_clock_pair *from = &work.given->began, *to = &work.now;
    if (to->ns <= from->ns)
        return from->ticks;
    const double rate = (double)(to->ticks - from->ticks) / (double)(to->ns - from->ns);
    return ns >= from->ns ? from->ticks + (uint64_t)((double)(ns - from->ns) * rate)
                          : from->ticks - (uint64_t)((double)(from->ns - ns) * rate);
}

static void write_field(int fd, size_t offset, const void *from, size_t bytes)
{
    (void)!pwrite(fd, from, bytes, (off_t)offset);
}

#define FIELD(member) offsetof(struct hp_header, member), &header.member, sizeof header.member

/* The last probe may have found what the process executed next. */
static void end_waits(int fd, const struct hp_header *header, uint64_t end_ns)
{
    const uint64_t at = header->waits + offsetof(struct hp_waits, latest_ns);
    uint64_t latest_ns;
    if (header->waits >= HP_HEADER_BYTES && header->waits % 8 == 0 &&
        pread(fd, &latest_ns, sizeof latest_ns, (off_t)at) == (ssize_t)sizeof latest_ns && latest_ns > end_ns)
        write_field(fd, at, &end_ns, sizeof end_ns);
}

/* The process has ended or left this session, so nothing else writes to it. */
static void end_session(const struct left *left, uint64_t end_ns, uint64_t cpu_ns)
{
    struct hp_header header;
    const int fd = hp_regular_open(work.folder, left->name, O_RDWR | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header && header.state == HP_STATE_LIVE &&
        header.clock_kind == work.clock_kind && header.clock_latest.ns < end_ns) {
        header.clock_latest = (struct hp_clock_pair){ticks_at(end_ns), end_ns};
        write_field(fd, FIELD(clock_latest));
        if ((header.features & HP_FEATURE_CPU) && cpu_ns > header.cpu_latest_ns) {
            header.cpu_latest_ns = cpu_ns;
            write_field(fd, FIELD(cpu_latest_ns));
        }
        if (work.given->table->is_exact)
            end_waits(fd, &header, end_ns);
    }
    close(fd);
}

/* CPU time of a program that left a session, as long as it is not known when it began. */
struct whole {
    const struct left *left; /* NULL: none */
    uint64_t cpu_end;
};

/* By then the process had used `cpu_begin`. Also of sessions that their process has finished: it went on after. */
static void end_whole(struct whole *whole, uint64_t cpu_begin)
{
    const struct hp_header header = {.whole_cpu_ns = hp_less(whole->cpu_end, cpu_begin)};
    const int fd = whole->left != NULL && header.whole_cpu_ns > 0
                       ? hp_regular_open(work.folder, whole->left->name, O_RDWR | O_NOFOLLOW)
                       : -1;
    whole->left = NULL;
    if (fd < 0)
        return;
    write_field(fd, FIELD(whole_cpu_ns));
    close(fd);
}

/* ---------------------------------------------------------------------------------------------------- reasons */

#define UNWRITTEN                                                                                                  \
    "it could not write a session file: another root directory or user than its parent, or no space left"
#define UNFORKED "it was not created by fork, or its parent could not be followed"
#define UNLOADED "hotpath was not loaded into it; only its stacks are known"
#define BRIEF "it ended before it did anything that is recorded"
#define UNKNOWN                                                                                                    \
    "it did not inherit hotpath's environment variables, or could not read its library or write a session"

#define COUNTED_OUTSIDE                                                                                            \
    "no library of hotpath is in it: its instructions are in the table of functions, and in no other number"
#define UNCOUNTED "its instructions are not counted"

static bool is_emulated(const struct hp_executed *image)
{
    return work.given->emulator != NULL && image->file != NULL && strcmp(image->file, work.given->emulator) == 0;
}

/* The program's own words of the emulator's command: "... -0 NAME PATH WORDS". False: unknown. */
static bool leave_emulator(const char *command, char *to, size_t size)
{
    const char *name = command != NULL ? strstr(command, " -0 ") : NULL;
    const char *path = name != NULL ? strchr(name + strlen(" -0 "), ' ') : NULL;
    if (path != NULL)
        snprintf(to, size, "%s", path + 1);
    return path != NULL;
}

static const char *counted_reason(const struct hp_executed *image)
{
    return is_emulated(image) ? COUNTED_OUTSIDE : UNCOUNTED;
}

static const char *reason_of(const struct hp_process *process, size_t at)
{
    const struct hp_executed *image = &process->images[at];
    if (work.given->library[0] == '\0')
        return UNLOADED;
    if (process->is_hidden && at + 1 == process->image_count)
        return "it runs with privileges that you do not have";
    if (work.given->counts_instructions)
        return counted_reason(image);
    if (image->file == NULL)
        return UNKNOWN;
    if (work.judged == NULL || strcmp(work.judged, image->file) != 0) {
        const char *obstacle = hp_program_obstacle(work.given->library, image->file);
        free(work.judged);
        work.judged = strdup(image->file);
        work.judgement = obstacle != NULL && obstacle[0] != '\0' ? obstacle : UNKNOWN;
    }
    return work.judgement;
}

/*
 * Whether its session was still to begin (src/record/core/no_session.h): it had used little, by its own clock or by
 * its share of what is known for all. It may have slept for long.
 */
static bool is_brief(const struct hp_process *process, uint64_t cpu_begin, uint64_t cpu_end)
{
    return work.given->defers && (cpu_end < cpu_begin + SLACK_NS || process->seen_cpu_ns < cpu_begin + SLACK_NS);
}

static bool is_same(const struct unrecorded *unrecorded, const struct hp_executed *image, const char *reason)
{
    const char *file = unrecorded->image->file;
    return unrecorded->reason == reason && strcmp(unrecorded->image->name, image->name) == 0 &&
           (file == NULL ? image->file == NULL : image->file != NULL && strcmp(file, image->file) == 0);
}

/* Brief ones are summed at once. The last place collects everything beyond the limit. */
static struct unrecorded *place_for(const struct hp_executed *image, const char *reason)
{
    const size_t most = sizeof work.unrecorded / sizeof work.unrecorded[0];
    const bool is_summed = work.unrecorded_count >= MOST_ROWS || strcmp(reason, BRIEF) == 0;
    for (size_t at = 0; is_summed && at < work.unrecorded_count; at++)
        if (is_same(&work.unrecorded[at], image, reason))
            return &work.unrecorded[at];
    return work.unrecorded_count < most ? &work.unrecorded[work.unrecorded_count++] : &work.unrecorded[most - 1];
}

static struct unrecorded *add_unrecorded(const struct hp_process *process, size_t at, uint64_t cpu_ns,
                                         const char *reason)
{
    const struct hp_executed *image = &process->images[at];
    struct unrecorded *unrecorded = place_for(image, reason);
    const uint64_t end = end_of(process, at), ended = end != UINT64_MAX ? end : work.now.ns;
    if (unrecorded->count++ == 0) {
        unrecorded->reason = reason;
        unrecorded->image = image;
        unrecorded->process = process;
        unrecorded->began_ns = image->began_ns;
    }
    unrecorded->cpu_ns += cpu_ns;
    unrecorded->ended_ns = ended > unrecorded->ended_ns ? ended : unrecorded->ended_ns;
    return unrecorded;
}

/*
 * Between fork and exec a process runs nothing of its own; and one that ends at once did not find the program to
 * execute.
 */
static bool is_worth_a_word(const struct hp_process *process, size_t at)
{
    const bool is_forked = process->image_count == 1 && process != work.given->table->all;
    if (work.given->library[0] == '\0') /* processes were not to be followed */
        return work.given->has_stacks && (at > 0 || is_forked);
    if (at > 0)
        return true;
    const uint64_t end = end_of(process, 0) < work.now.ns ? end_of(process, 0) : work.now.ns;
    if (work.given->defers)
        return is_forked;
    return is_forked && (process->cpu_ns > SLACK_NS / 20 || end > process->began_ns + SLACK_NS);
}

/*
 * From the last program back to the first: each used what the process had used when the next one began, less what
 * it had used before. The first also has the CPU time of the fork before it. The process counts once, whatever it
 * executed: in the last program that could not be followed, or else in the last one that was too brief.
 */
static void settle(const struct hp_process *process)
{
    uint64_t cpu_end = process->cpu_ns;
    struct unrecorded *lost = NULL, *brief = NULL, *first = NULL;
    struct whole whole = {.left = NULL};
    bool is_known = false; /* as lost, to its parent */
    for (size_t at = process->image_count; at-- > 0;) {
        const struct left *left = session_of(process, at);
        const struct left *before = at > 0 ? session_of(process, at - 1) : NULL;
        const uint64_t end = end_of(process, at);
        if (left != NULL) {
            end_whole(&whole, cpu_end);
            if (end != UINT64_MAX) {
                end_session(left, end, cpu_end);
                whole = (struct whole){.left = left, .cpu_end = cpu_end};
            }
            first = NULL;
            cpu_end = left->cpu_start_ns;
            continue;
        }
        const bool is_counted = at == 0 && is_counted_by_parent(process);
        if (!is_counted && !is_worth_a_word(process, at))
            continue;
        const uint64_t cpu_begin = before != NULL && before->cpu_latest_ns <= cpu_end ? before->cpu_latest_ns : 0;
        const bool is_unloaded = at > 0 || work.given->library[0] == '\0';
        const char *reason = is_unloaded ? reason_of(process, at) : is_counted ? UNWRITTEN : UNFORKED;
        if (is_brief(process, cpu_begin, cpu_end) &&
            (strcmp(reason, UNKNOWN) == 0 || strcmp(reason, UNFORKED) == 0))
            reason = BRIEF;
        struct unrecorded *unrecorded = add_unrecorded(process, at, cpu_end - cpu_begin, reason);
        end_whole(&whole, cpu_end);
        first = unrecorded;
        struct unrecorded **last = strcmp(reason, BRIEF) == 0 ? &brief : &lost;
        *last = *last != NULL ? *last : unrecorded;
        is_known |= is_counted;
        cpu_end = cpu_begin;
    }
    end_whole(&whole, 0);
    if (first != NULL)
        first->cpu_ns += cpu_end;
    struct unrecorded *home = lost != NULL ? lost : brief;
    if (home != NULL && !has_any(process))
        home->processes++;
    if (lost != NULL && !is_known)
        lost->lost++;
}

/* ------------------------------------------------------------------------------------------------------ unseen */

#define UNSEEN "they ended before they were seen; the kernel reports such processes only if perf is allowed"
#define MISSED "too many were started at once"

/* The CPU time of a process at the last reading. */
static uint64_t known_of(const struct left *left, size_t count)
{
    uint64_t known = 0;
    for (size_t at = 0; at < count; at++)
        known = left[at].cpu_latest_ns > known ? left[at].cpu_latest_ns : known;
    const struct hp_process *process = hp_process_table_find(left->pid);
    return process != NULL && process->cpu_ns > known ? process->cpu_ns : known;
}

static uint64_t known_of_all(void)
{
    uint64_t known = 0;
    for (size_t at = 0, next; at < work.left_count; at = next) {
        for (next = at + 1; next < work.left_count && work.left[next].pid == work.left[at].pid; next++)
            ;
        known += known_of(&work.left[at], next - at);
    }
    for (size_t at = 0; at < work.unrecorded_count; at++)
        known += work.unrecorded[at].cpu_ns;
    return known;
}

/*
 * The kernel adds the CPU time of reaped children to ours. If that is much more than the known processes used, some
 * were not seen.
 */
static void look_for_unseen(void)
{
    static struct hp_executed program = {.name = "(others)"};
    static struct hp_process others = {.images = &program, .image_count = 1};
    const struct hp_process_table *table = work.given->table;
    if (work.given->library[0] == '\0' || table->count == 0 ||
        (table->is_exact && !table->has_missed && !table->may_have_missed))
        return;
    const uint64_t all = hp_used_by_children(), known = known_of_all();
    if (!table->has_missed && all < known + known / 10 + SLACK_NS)
        return;
    others.pid = others.parent = table->all[0].pid;
    program.began_ns = others.began_ns = work.given->began.ns;
    others.ended_ns = work.now.ns;
    add_unrecorded(&others, 0, all > known ? all - known : 0,
                   table->has_missed || table->may_have_missed ? MISSED : UNSEEN)
        ->lost++;
}

/* --------------------------------------------------------------------------------- processes without a session */

struct file {
    struct hp_header header;
    char texts[6 * 1100];
};

static uint32_t put_text(struct file *file, const char *text)
{
    const uint32_t length = (uint32_t)strnlen(text, 1023), offset = (uint32_t)(file->header.used + 7) & ~7u;
    if (length == 0 || offset + sizeof length + length + 1 > sizeof *file)
        return 0;
    memcpy((char *)file + offset, &length, sizeof length);
    memcpy((char *)file + offset + sizeof length, text, length);
    file->header.used = offset + sizeof length + length + 1;
    return offset;
}

static void name_program(struct file *file, const struct unrecorded *unrecorded)
{
    char program[1024];
    const struct hp_executed *image = unrecorded->image;
    struct hp_header *header = &file->header;
    if (is_emulated(image) && leave_emulator(image->command, program, sizeof program)) {
        header->command = put_text(file, program);
        program[strcspn(program, " ")] = '\0';
        header->executable = put_text(file, program);
        return;
    }
    const char *file_name = image->file != NULL ? image->file : image->name;
    header->command = put_text(file, unrecorded->count > 1    ? file_name
                                     : image->command != NULL ? image->command
                                                              : file_name);
    header->executable = put_text(file, image->file != NULL ? image->file : "");
}

static void describe(struct file *file, const struct unrecorded *unrecorded)
{
    char text[1024];
    struct hp_header *header = &file->header;
    name_program(file, unrecorded);
    hp_process_host(text, sizeof text);
    header->host = put_text(file, text);
    hp_process_system(text, sizeof text);
    header->system = put_text(file, text);
    header->library = put_text(file, "hotpath " HOTPATH_VERSION);
    header->outside = put_text(file, unrecorded->reason);
}

static bool stands_for_brief(const struct unrecorded *unrecorded) { return strcmp(unrecorded->reason, BRIEF) == 0; }

/* Where instructions are counted there are none from outside, and CPU time is that of the emulator. */
static void fill_times(struct hp_header *header, const struct unrecorded *unrecorded)
{
    if (work.given->counts_instructions) {
        header->clock_kind = HP_CLOCK_INSTRUCTIONS;
        header->clock_start = (struct hp_clock_pair){0, unrecorded->began_ns};
        header->clock_latest = (struct hp_clock_pair){0, unrecorded->ended_ns};
        return;
    }
    header->features = HP_FEATURE_CPU;
    header->clock_kind = work.clock_kind;
    header->clock_start = (struct hp_clock_pair){ticks_at(unrecorded->began_ns), unrecorded->began_ns};
    header->clock_latest = (struct hp_clock_pair){ticks_at(unrecorded->ended_ns), unrecorded->ended_ns};
    header->cpu_latest_ns = unrecorded->cpu_ns;
}

static void fill(struct file *file, const struct unrecorded *unrecorded)
{
    struct hp_header *header = &file->header;
    memcpy(header->magic, HP_MAGIC, sizeof header->magic);
    header->byte_order = HP_BYTE_ORDER;
    header->version = HP_LAYOUT_VERSION;
    header->header_bytes = HP_HEADER_BYTES;
    header->used = HP_HEADER_BYTES;
    header->state = HP_STATE_FINISHED;
    header->pid = unrecorded->process->pid;
    header->parent_pid = unrecorded->process->parent;
    header->exec_count = (uint32_t)(unrecorded->image - unrecorded->process->images);
    header->main_site = HOTPATH_ID_NEW_;
    header->wall_start_ns = hp_clock_wall_ns() - (work.now.ns - unrecorded->began_ns);
    hp_process_boot_id(header->boot_id);
    header->pid_namespace = hp_process_namespace();
    header->cores = hp_process_cores();
    fill_times(header, unrecorded);
    header->processes = unrecorded->processes;
    header->loading_ns = work.loading_ns;
    if (stands_for_brief(unrecorded))
        header->brief = unrecorded->count;
    else
        header->losses[HP_LOSS_PROCESSES] = unrecorded->lost;
    describe(file, unrecorded);
    header->capacity = header->backed = sizeof *file;
}

static void write_unrecorded(const struct unrecorded *unrecorded, size_t number)
{
    static struct file file;
    char name[64];
    memset(&file, 0, sizeof file);
    fill(&file, unrecorded);
    snprintf(name, sizeof name, "%u-0-%zu%s", (unsigned)unrecorded->process->pid, 10000 + number,
             HP_SESSION_SUFFIX);
    const int fd = openat(work.folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    hp_file_write(fd, (const char *)&file, sizeof file);
    close(fd);
}

/* Measuring takes as long as some ten processes. */
static void measure_loading(void)
{
    uint32_t brief = 0;
    for (size_t at = 0; at < work.unrecorded_count; at++)
        brief += stands_for_brief(&work.unrecorded[at]) ? work.unrecorded[at].count : 0;
    work.loading_ns = brief >= MANY_BRIEF ? load_cost_ns(work.given->library) : 0;
}

/* The clock of a session that was not finished may be older than the time of its last sign of life. */
static void learn(const struct left *left)
{
    if (left->pid != 0)
        hp_process_table_learn(left->pid, left->state == HP_STATE_FINISHED ? left->latest_ns : left->began_ns,
                               left->cpu_latest_ns);
}

void hp_backfill_add(const struct hp_backfill *outside)
{
    const enum hp_counter counter = hp_clock_counter();
    work.given = outside;
    work.folder = open(outside->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (work.folder < 0)
        return;
    work.clock_kind = hp_clock_kind_of(counter);
    work.pid_namespace = hp_process_namespace();
    hp_clock_pair(counter, &work.now.ticks, &work.now.ns);
    hp_file_each(outside->folder, visit, NULL);
    if (work.left_count > 0) {
        find_foreigners();
        qsort(work.left, work.left_count, sizeof *work.left, by_process);
    }
    for (size_t at = 0; at < work.left_count; at++)
        learn(&work.left[at]);
    hp_process_table_share_out();
    for (size_t at = 0; at < outside->table->count; at++)
        settle(&outside->table->all[at]);
    look_for_unseen();
    measure_loading();
    for (size_t at = 0; at < work.unrecorded_count; at++)
        write_unrecorded(&work.unrecorded[at], at);
    free(work.left);
    free(work.judged);
    close(work.folder);
}
