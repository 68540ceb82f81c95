/*
 * hotpath run: runs a program with all its processes and prints one report when it ends.
 *
 * Every run has its own folder. All processes of the program write their sessions there, so each is found no matter
 * which process is its parent. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arguments.h"
#include "backfill.h"
#include "clock.h"
#include "collector.h"
#include "command.h"
#include "cpu.h"
#include "cpu_counter.h"
#include "debug_servers.h"
#include "instruction_clock.h"
#include "instruction_engine.h"
#include "launch.h"
#include "lender.h"
#include "live_stacks.h"
#include "process.h"
#include "process_table.h"
#include "program_file.h"
#include "report_output.h"
#include "run_console.h"
#include "run_facts.h"
#include "run_folder.h"
#include "run_observer.h"
#include "sessions.h"
#include "source_facts.h"
#include "stack_ring.h"
#include "text.h"

/* What is known only when the program is observed, just before it begins. */
struct agreed {
    bool has_timers; /* stacks are sampled inside the program */
    bool defers;     /* processes begin their sessions late */
    bool has_stacks; /* stacks are sampled, here or there */
};

struct run {
    const struct hp_arguments *arguments;
    struct hp_settings settings;
    char folder[HP_RUN_FOLDER];   /* "": none could be created */
    int folder_error;             /* why */
    char alloc_library[PATH_MAX]; /* library to preload; "": none */
    bool is_preloaded;            /* the program can load it, or pass it on to its children */
    bool has_zones;               /* the program has measured functions */
    struct agreed *agreed;        /* shared with the child that becomes the program; NULL: no memory */
    struct hp_clock_pair began;
    char lender[HP_LENDER_NAME];          /* the name of its socket */
    struct sigaction on_file_limit;       /* SIGXFSZ, as the program is to have it */
    struct hp_instruction_engine *engine; /* QEMU, with --clock instructions; NULL: it does not count */
    bool is_by_cpu;                       /* the CPU counts instructions */
};

/* ---------------------------------------------------------------------------------------------- folder */

static void make_folder(struct run *run)
{
    run->folder_error = hp_run_folder_make(&run->settings, run->folder) ? 0 : errno;
}

static void explain_no_folder(const struct run *run)
{
    hp_fail("nothing was recorded: no directory for sessions can be used (%s); give one with --dir",
            strerror(run->folder_error));
}

/* --------------------------------------------------------------------------------------------- program */

/* No flag says what to record, and HOTPATH is unset or 0: then we choose, since a run should record something. */
static bool is_left_to_us(const struct run *run)
{
    return hp_arguments_option(run->arguments, "HOTPATH") == NULL &&
           (run->settings.record.is_off || !run->settings.record.is_set);
}

/* Everything is seen from outside; the program runs as without us. */
static bool is_safe(const struct run *run) { return hp_arguments_flag(run->arguments, "safe") != NULL; }

/* Nothing else is worth measuring then, and no signal of a sampler may come. */
static bool counts_instructions(const struct run *run) { return run->engine != NULL || run->is_by_cpu; }

/* Needs the sessions of the run: they count the allocations. */
static bool wants_alloc_stacks(const struct run *run)
{
    return !is_safe(run) && !counts_instructions(run) && hp_arguments_flag(run->arguments, "no-stacks") == NULL &&
           hp_arguments_flag(run->arguments, "no-alloc-stacks") == NULL && run->settings.record.alloc_stacks > 0;
}

static void choose_recording(const struct run *run)
{
    if (hp_arguments_flag(run->arguments, "no-cpu") != NULL || counts_instructions(run))
        setenv("HOTPATH_CPU", "0", 1);
    if (!wants_alloc_stacks(run))
        setenv("HOTPATH_ALLOC_STACKS", "0", 1);
    if (!is_left_to_us(run))
        return;
    setenv("HOTPATH", "1", 1);
    if (getenv("HOTPATH_CPU") == NULL)
        setenv("HOTPATH_CPU", "1", 1);
}

static bool wants_children(const struct run *run)
{
    return hp_arguments_flag(run->arguments, "no-children") == NULL;
}

/*
 * Programs with measured functions are sampled from inside, where each sample knows its zone. Sampling both ways
 * would cost twice as much.
 */
static bool wants_zones(const struct run *run)
{
    return !is_safe(run) && hp_arguments_flag(run->arguments, "stacks") == NULL &&
           (run->has_zones || hp_arguments_flag(run->arguments, "zone-stacks") != NULL);
}

/* From inside only with our library preloaded: without it nothing tells us of a sandbox in time. */
static bool wants_stacks(const struct run *run)
{
    return !counts_instructions(run) && hp_arguments_flag(run->arguments, "no-stacks") == NULL &&
           hp_arguments_flag(run->arguments, "no-cpu") == NULL && (run->is_preloaded || !wants_zones(run));
}

static bool wants_allocations(const struct run *run)
{
    return !is_safe(run) && run->folder[0] != '\0' && hp_arguments_flag(run->arguments, "no-preload") == NULL &&
           (is_left_to_us(run) || (run->settings.record.kinds & HP_RECORD_ALLOC) || run->settings.record.locks ||
            run->settings.record.io);
}

/* Without the library the program is run all the same. */
static void find_alloc_library(struct run *run)
{
    const char *given = hp_arguments_flag(run->arguments, "alloc-library"), *program = run->arguments->operands[0];
    if (!wants_allocations(run))
        return;
    if (!hp_alloc_library_find(given, run->settings.record.locks, run->settings.record.io, run->alloc_library,
                               sizeof run->alloc_library)) {
        run->alloc_library[0] = '\0';
        hp_fail("allocations of '%s' are not counted, unless it is linked with hotpath_alloc: %s was not found; "
                "give its path with --alloc-library",
                program, given != NULL ? given : "the library for that");
        return;
    }
    char problem[PATH_MAX + 100];
    const bool is_trusted = hp_alloc_library_is_trusted(run->alloc_library, problem, sizeof problem);
    const char *obstacle = is_trusted ? hp_program_obstacle(run->alloc_library, program) : problem;
    run->is_preloaded = obstacle == NULL || (wants_children(run) && hp_program_may_pass(obstacle));
    if (!is_trusted || (!run->is_preloaded && obstacle[0] == '\0'))
        run->alloc_library[0] = '\0';
    if (obstacle != NULL && obstacle[0] != '\0')
        hp_fail("allocations of '%s' are not counted: %s", program, obstacle);
    const char *of_locks = run->settings.record.locks ? hp_program_lock_obstacle(obstacle, program) : NULL;
    if (of_locks != NULL)
        hp_fail("locks of '%s' are not counted: %s", program, of_locks);
}

/* Why QEMU cannot count; "": it can. */
static void find_emulation(struct run *run, char *problem, size_t size)
{
    static struct hp_instruction_engine engine;
    const char *obstacle = run->alloc_library[0] == '\0'
                               ? "no library of hotpath is in it, and none can be preloaded"
                               : hp_program_obstacle(run->alloc_library, run->arguments->operands[0]);
    engine.has_callers = hp_arguments_flag(run->arguments, "no-stacks") == NULL;
    if (!run->has_zones && obstacle != NULL && obstacle[0] != '\0')
        snprintf(problem, size, "%s", obstacle);
    else if (hp_instruction_engine_find(&engine, run->arguments->operands, run->alloc_library, run->folder, problem,
                                        size)) {
        run->engine = &engine;
        problem[0] = '\0';
    }
}

/* The CPU counts for measured functions only: in place of QEMU if there are some, or if it is asked to. */
static void find_cpu_counter(struct run *run, char *problem, size_t size)
{
    char other[300];
    const bool is_asked = run->settings.record.clock == HP_CLOCK_OF_CPU_INSTRUCTIONS;
    const char *program = run->arguments->operands[0];
    hp_cpu_counter_explain(other, sizeof other);
    run->is_by_cpu = other[0] == '\0' && (is_asked || run->has_zones);
    if (is_asked)
        snprintf(problem, size, "%s", other);
    else if (run->is_by_cpu)
        hp_fail("instructions of '%s' are counted by the CPU: %s", program, problem);
}

/* Without one the program is run all the same. */
static void find_engine(struct run *run)
{
    const uint32_t clock = run->settings.record.clock;
    char problem[PATH_MAX] = "";
    if (clock == HP_CLOCK_OF_TIME)
        return;
    if (is_safe(run))
        snprintf(problem, sizeof problem, "--safe loads nothing into the program");
    else if (clock != HP_CLOCK_OF_CPU_INSTRUCTIONS)
        find_emulation(run, problem, sizeof problem);
    if (!is_safe(run) && run->engine == NULL && clock != HP_CLOCK_OF_QEMU_INSTRUCTIONS)
        find_cpu_counter(run, problem, sizeof problem);
    if (!counts_instructions(run))
        hp_fail("instructions of '%s' are not counted, but its time: %s", run->arguments->operands[0], problem);
    else if (run->settings.record.locks || run->settings.record.io || run->settings.record.path) {
        hp_fail("waiting takes no instructions: --locks, --io and --path do nothing with this clock");
        run->settings.record.locks = run->settings.record.io = run->settings.record.path = false;
    }
}

/* With @FILE items already replaced by the files: processes of the program may be in other folders. */
static void pass_list(const char *variable, const char *list)
{
    if (list[0] != '\0')
        setenv(variable, list, 1);
}

/* In the form that hooks know. */
static void pass_flag(const char *variable, bool is_set)
{
    if (is_set)
        setenv(variable, "1", 1);
    else
        unsetenv(variable);
}

/* Flags about recording are passed on to the program in its environment. */
static void pass_options(const struct run *run)
{
    for (size_t at = 0; at < hp_option_count && at < HP_MAX_OPTIONS; at++)
        if (run->arguments->options[at] != NULL && (hp_options[at].scope & HP_SCOPE_RECORD))
            setenv(hp_options[at].variable, run->arguments->options[at], 1);
    if (counts_instructions(run))
        unsetenv("HOTPATH_PATH");
    pass_flag("HOTPATH_LOCKS", run->settings.record.locks);
    pass_flag("HOTPATH_IO", run->settings.record.io);
    pass_flag("HOTPATH_LOCK_HOLDS", run->settings.record.locks && run->settings.record.lock_holds);
    pass_list("HOTPATH_FILTER", run->settings.record.filter);
    pass_list("HOTPATH_SKIP", run->settings.record.skip);
}

/* Tells programs which sandbox we are in, so that they can detect one of their own. */
static void hand_down_confinement(void)
{
    char text[32];
    const uint64_t ours = hp_task_confinement(0);
    snprintf(text, sizeof text, "%" PRIu64, ours);
    if (ours != 0)
        setenv(HP_RUN_CONFINEMENT, text, 1);
    else
        unsetenv(HP_RUN_CONFINEMENT);
}

/* Names our standard streams: a pipe that leads out of the run is not one of its channels. */
static void pass_streams(const struct run *run)
{
    const bool is_off = hp_arguments_flag(run->arguments, "no-channels") != NULL;
    char text[128] = "";
    if (is_off)
        snprintf(text, sizeof text, "off");
    for (int number = 0; number <= 2 && !is_off; number++) {
        struct stat file;
        const size_t length = strlen(text);
        if (fstat(number, &file) == 0 && (S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode)))
            snprintf(text + length, sizeof text - length, "%" PRIu64 ",", (uint64_t)file.st_ino);
    }
    setenv(HP_RUN_STREAMS, text, 1);
}

/* Programs sample their own stacks where the kernel does not let us do it. */
static void pass_stack_period(const struct run *run)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, hp_stack_period_ns(&run->settings));
    if (run->agreed != NULL && run->agreed->has_timers)
        setenv(HP_RUN_STACK_PERIOD, text, 1);
    else
        unsetenv(HP_RUN_STACK_PERIOD);
}

/* In the child that becomes the program. */
static void pass_program(const struct run *run)
{
    char text[32];
    snprintf(text, sizeof text, "%ld", (long)getpid());
    if (run->agreed != NULL && run->agreed->defers)
        setenv(HP_RUN_PROGRAM, text, 1);
    else
        unsetenv(HP_RUN_PROGRAM);
}

/* Under its name; options are already passed on. */
static void pass_clock(const struct run *run)
{
    if (run->engine != NULL)
        hp_instruction_engine_prepare(run->engine);
    if (counts_instructions(run))
        setenv("HOTPATH_CLOCK", run->is_by_cpu ? HP_CLOCK_BY_CPU : HP_CLOCK_BY_QEMU, 1);
    else
        unsetenv("HOTPATH_CLOCK");
}

static void pass_everything(const struct run *run)
{
    choose_recording(run);
    pass_options(run);
    if (run->is_preloaded)
        hp_alloc_library_preload(run->alloc_library, wants_children(run));
    unsetenv("HOTPATH_SHUTDOWN_MS"); /* the runner enforces it */
    setenv("HOTPATH_RUN", "1", 1);
    hand_down_confinement();
    setenv("HOTPATH_DIR", run->folder, 1);
    setenv(HP_RUN_LENDER, run->lender, 1);
    pass_stack_period(run);
    pass_program(run);
    pass_streams(run);
}

static void prepare(const void *context)
{
    const struct run *run = context;
    sigaction(SIGXFSZ, &run->on_file_limit, NULL);
    if (!is_safe(run) && run->folder[0] != '\0')
        pass_everything(run);
    pass_clock(run);
}

/* The folder where processes may put their stack rings; NULL: no library of ours is in them that could. */
static const char *folder_of_rings(const struct run *run)
{
    const bool may_call = !run->settings.record.reserve; /* make system calls while the program runs */
    return run->is_preloaded && run->agreed != NULL && may_call ? run->folder : NULL;
}

/*
 * Whether processes may begin their sessions late. Those that end before must be known otherwise; samples from
 * inside begin with the session; and the timer that makes a session begin must not interrupt system calls.
 */
static bool may_defer(const struct run *run)
{
    return run->is_preloaded && !counts_instructions(run) && !run->agreed->has_timers &&
           !run->settings.record.reserve && hp_process_table_is_exact() && hp_cpu_timers_are_harmless();
}

/* Observes the program from outside, without its help. */
static void watch(const void *context, pid_t pid)
{
    const struct run *run = context;
    const bool has_waits = !counts_instructions(run) && hp_arguments_flag(run->arguments, "no-waits") == NULL;
    hp_inherited_let_go(run->settings.output.output_path);
    if (run->folder[0] == '\0')
        return;
    hp_process_table_begin((uint32_t)pid);
    if (!is_safe(run))
        hp_lender_begin(run->folder, run->lender, run->settings.record.max_bytes);
    const bool has_heap = wants_alloc_stacks(run), takes_stacks = wants_stacks(run);
    if (has_heap)
        hp_collector_want_heap(run->folder);
    if (takes_stacks || has_heap)
        hp_live_stacks_begin(run->folder, 0);
    if (run->settings.record.path)
        hp_collector_follow_paths();
    const bool has_collector =
        (takes_stacks || has_heap) &&
        hp_collector_begin((uint32_t)pid, takes_stacks ? hp_stack_period_ns(&run->settings) : 0,
                           folder_of_rings(run), wants_zones(run));
    const bool has_stacks = takes_stacks && has_collector;
    if (run->agreed != NULL) {
        run->agreed->has_stacks = has_stacks;
        run->agreed->has_timers = has_stacks && hp_stacks_are_from_inside(hp_collector_source());
        run->agreed->defers = may_defer(run);
    }
    hp_run_observer_start(run->folder,
                          &(struct hp_run_observer_settings){.has_waits = has_waits,
                                                             .has_stacks = has_stacks,
                                                             .has_locks = run->settings.record.locks,
                                                             .follows_paths = run->settings.record.path});
}

/* ---------------------------------------------------------------------------------------------- report */

static void explain_nothing(const struct run *run)
{
    if (is_safe(run)) {
        hp_fail("nothing was recorded: --safe needs perf, and the kernel refuses it or the program was too short; "
                "'hotpath doctor' says how to allow it");
        return;
    }
    hp_fail(
        "nothing was recorded: no process of '%s' left a session. Compile the program with -DHOTPATH and link it "
        "with -lhotpath to measure its functions; see hotpath-run(1)",
        run->arguments->operands[0]);
}

/* Processes are found in /proc then, and their CPU time, but no function. */
static void name_refusal(const struct run *run, enum hp_stack_source source)
{
    const bool has_stacks = run->agreed != NULL && run->agreed->has_stacks;
    if (!wants_stacks(run) || source != HP_STACKS_BY_NOBODY)
        return;
    if (is_safe(run))
        hp_fail(
            "no functions were found: --safe needs perf, and the kernel refuses it; 'hotpath doctor' says how to "
            "allow it");
    else if (has_stacks && !run->is_preloaded)
        hp_fail("no functions were found: the kernel refuses perf, and the program has no library of hotpath that "
                "could "
                "take samples; 'hotpath doctor' says how to allow perf");
}

/* Daemons and other processes that outlive the program go on recording. */
static void name_survivors(const struct run *run, const struct hp_sessions *sessions)
{
    const size_t alive = hp_sessions_alive(sessions);
    if (alive > 0)
        hp_fail("%zu process%s still running; to see the results later: hotpath report %s", alive,
                alive == 1 ? " is" : "es are", run->folder);
}

static void name_cut_off(const struct hp_lender_sums *lent)
{
    if (lent->cut_off > 0)
        hp_fail("%zu process%s, but another user's: what they do from now on is not recorded", lent->cut_off,
                lent->cut_off == 1 ? " is still running" : "es are still running");
}

/* If the output file cannot be written, the report goes to the stream. */
static void show(struct run *run, const struct hp_sessions *sessions)
{
    if (hp_show(sessions, &run->settings, stderr, false) == EXIT_DONE ||
        run->settings.output.output_path[0] == '\0')
        return;
    run->settings.output.output_path[0] = '\0';
    hp_show(sessions, &run->settings, stderr, false);
}

/* Prints a path as the shell reads it: quoted if it has unusual characters. */
static void put_path(struct hp_text *text, const char *path)
{
    static const char usual[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%";
    if (path[strspn(path, usual)] == '\0') {
        hp_text_string(text, path);
        return;
    }
    hp_text_char(text, '\'');
    for (; *path != '\0'; path++)
        if (*path == '\'')
            hp_text_string(text, "'\\''");
        else
            hp_text_char(text, *path);
    hp_text_char(text, '\'');
}

/* Only with a report for people, where they see it. */
static void name_flame(const struct run *run)
{
    char bytes[5000];
    struct hp_text text;
    if (run->settings.output.format != HP_FORMAT_TABLE || run->settings.output.output_path[0] != '\0')
        return;
    hp_text_init(&text, bytes, sizeof bytes);
    put_path(&text, run->folder);
    fprintf(stderr, "Flame graph: hotpath open --view flame %s\n", hp_text_end(&text));
}

/*
 * Keeps only the sessions of the program itself, if so wished. The files of the others stay: they may still be
 * recording.
 */
static void leave_children_out(const struct run *run, struct hp_sessions *sessions, pid_t program)
{
    size_t count = 0;
    for (size_t at = 0; at < sessions->count; at++)
        if (wants_children(run) || sessions->all[at].pid == (uint32_t)program)
            sessions->all[count++] = sessions->all[at];
    sessions->count = count;
}

static bool has_sessions(const struct run *run)
{
    struct hp_sessions sessions = {0};
    const bool has = hp_sessions_in(&sessions, run->folder) && sessions.count > 0;
    hp_sessions_free(&sessions);
    return has;
}

/* A program into which nothing was loaded is there even if it was too short for a sample. */
static void add_from_outside(const struct run *run)
{
    const bool has_stacks = run->agreed != NULL && run->agreed->has_stacks;
    const struct hp_backfill backfill = {.folder = run->folder,
                                         .table = hp_process_table_end(),
                                         .library = run->alloc_library,
                                         .began = run->began,
                                         .counts_instructions = counts_instructions(run),
                                         .emulator = run->engine != NULL ? run->engine->emulator : NULL,
                                         .defers = run->agreed != NULL && run->agreed->defers,
                                         .has_stacks =
                                             has_stacks && run->alloc_library[0] == '\0' && !has_sessions(run)};
    hp_backfill_add(&backfill);
}

static void report(struct run *run, pid_t program)
{
    struct hp_sessions sessions = {0};
    if (run->folder[0] == '\0') {
        explain_no_folder(run);
        return;
    }
    if (access(run->folder, F_OK) != 0) {
        hp_fail("cannot report: the directory of the run, '%s', was removed (%s)", run->folder, strerror(errno));
        return;
    }
    const enum hp_stack_source source = hp_collector_source(); /* the collector forgets it */
    const bool has_stacks =
        run->engine != NULL ? hp_run_folder_keep_counts(run->folder) : hp_run_folder_keep_stacks(run->folder, 0);
    const bool is_explained = !has_stacks && errno != 0;
    const struct hp_lender_sums lent = hp_lender_end(); /* what is read below is in files */
    add_from_outside(run);
    if (!hp_sessions_in(&sessions, run->folder))
        return;
    leave_children_out(run, &sessions, program);
    if (sessions.count == 0) {
        if (!is_explained)
            explain_nothing(run);
        hp_run_remove(run->folder);
    } else {
        if (run->settings.output.format != HP_FORMAT_NONE)
            show(run, &sessions);
        if (run->settings.output.format != HP_FORMAT_TABLE || run->settings.output.output_path[0] != '\0')
            hp_run_folder_name_natives(run->folder);
        name_refusal(run, source);
        name_survivors(run, &sessions);
        name_cut_off(&lent);
        if (has_stacks && !counts_instructions(run))
            name_flame(run);
    }
    hp_sessions_free(&sessions);
}

/* --------------------------------------------------------------------------------------------- command */

/* There is no second process for us, so we become the program. */
static void become_program(const struct hp_launch *launch, const struct run *run)
{
    hp_fail("'%s' runs without hotpath: there can be no more processes (%s)", launch->argv[0],
            strerror(launch->error));
    sigaction(SIGXFSZ, &run->on_file_limit, NULL);
    execvp(launch->argv[0], launch->argv);
}

static int refuse(struct hp_launch *launch, struct run *run)
{
    if (run->folder[0] != '\0')
        hp_run_folder_drop(run->folder);
    if (launch->pid < 0) {
        become_program(launch, run);
        launch->error = errno;
    }
    char interpreter[PATH_MAX];
    if (launch->error == ENOENT && hp_program_lacks_interpreter(launch->argv[0], interpreter, sizeof interpreter))
        hp_fail("cannot run '%s': its interpreter '%s' does not exist", launch->argv[0], interpreter);
    else
        hp_fail("cannot run '%s': %s", launch->argv[0], strerror(launch->error));
    return launch->error == ENOENT ? 127 : 126;
}

/* NULL: no memory. */
static struct agreed *share_agreed(void)
{
    struct agreed *agreed = mmap(NULL, sizeof *agreed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return agreed != MAP_FAILED ? agreed : NULL;
}

/* Before the program starts: readers of a live run see it, and the program may change the sources. */
static void write_source(const char *folder)
{
    char facts[HP_RUN_SOURCE];
    hp_source_facts_find(facts, sizeof facts);
    hp_run_source_write(folder, facts);
}

static int execute(struct run *run)
{
    struct hp_launch launch = {.timeout_ms = run->settings.record.shutdown_ms,
                               .prepare = prepare,
                               .context = run,
                               .is_starting = watch,
                               .is_stopping = hp_run_observer_sample_now};
    if (run->folder[0] == '\0')
        make_folder(run);
    if (run->folder[0] != '\0')
        write_source(run->folder);
    find_alloc_library(run);
    run->has_zones = hp_program_has_zones(run->arguments->operands[0]);
    find_engine(run);
    launch.argv = run->engine != NULL ? run->engine->command : run->arguments->operands;
    run->agreed = share_agreed();
    hp_lender_name(run->lender);
    if (wants_stacks(run))
        hp_stack_cost_say(&run->settings);
    hp_clock_pair(hp_clock_counter(), &run->began.ticks, &run->began.ns);
    const bool is_started = hp_launch(&launch);
    hp_run_observer_end();
    if (!is_started)
        return refuse(&launch, run);
    signal(SIGTTOU, SIG_IGN); /* the program may have left the terminal to another process group */
    signal(SIGPIPE, SIG_IGN); /* if our output has no reader, the exit status must stay the program's */
    if (launch.is_asked_to_end)
        hp_fail("'%s' was ended after %u ms (--timeout)", launch.argv[0],
                (unsigned)run->settings.record.shutdown_ms);
    if (run->folder[0] != '\0')
        hp_run_ending_write(run->folder, launch.status);
    report(run, launch.pid);
    if (run->folder[0] != '\0')
        hp_runs_forget(run->folder, run->settings.record.keep > 0 ? run->settings.record.keep - 1 : 0);
    hp_launch_end_like(launch.status);
}

static int execute_beside_console(void *run) { return execute(run); }

static int watch_on_console(struct run *run)
{
    make_folder(run);
    if (run->folder[0] == '\0') {
        explain_no_folder(run);
        return EXIT_FAILED;
    }
    const bool ends_with_console = hp_arguments_flag(run->arguments, "end-with-console") != NULL;
    const int status =
        hp_run_with_console(run->folder, &run->settings, ends_with_console, execute_beside_console, run);
    hp_run_folder_drop(run->folder); /* nothing was run */
    return status;
}

/* A limit on the size of files (RLIMIT_FSIZE) costs us files, but not our life. */
static void survive_file_limit(struct run *run)
{
    struct sigaction ignore;
    memset(&ignore, 0, sizeof ignore);
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGXFSZ, &ignore, &run->on_file_limit);
}

static int start(const struct hp_arguments *arguments)
{
    static struct run run;
    run.arguments = arguments;
    if (arguments->operand_count == 0)
        return hp_misuse(arguments->command, "missing program");
    survive_file_limit(&run);
    hp_arguments_settle(arguments, &run.settings);
    hp_debug_servers_allow(&run.settings);
    return hp_arguments_flag(arguments, "console") != NULL ? watch_on_console(&run) : execute(&run);
}

static const struct hp_flag flags[] = {
    {"console", 0, NULL,
     "Show the program in the console while it runs. Its output is printed when you leave the console, "
     "the report when the program ends."},
    {"end-with-console", 0, NULL, "With --console: end the program, by SIGTERM, when you leave the console."},
    {"verbose", 'v', NULL, "Show all sections that have data, with all notes, instead of the short report."},
    {"tree", 't', NULL, "Also show the call tree."},
    {"cold", 0, NULL, "Also show compiler-instrumented functions that were never called."},
    {"safe", 0, NULL,
     "Observe from outside only: load nothing into the program and change nothing in its environment. Shows "
     "CPU time by function and by process, if the kernel allows perf."},
    {"no-preload", 0, NULL, "Do not preload the library that counts allocations and finds channels and loops."},
    {"no-children", 0, NULL, "Report only on the program itself, not on processes that it starts."},
    {"no-cpu", 0, NULL, "Do not sample CPU time."},
    {"stacks", 0, NULL,
     "Let the kernel sample all stacks, even in programs with measured functions. Such stacks do not show the "
     "measured function they were in."},
    {"zone-stacks", 0, NULL,
     "Let every program sample its own stacks. Stacks then show the measured function they were in, even if the "
     "program was started by a shell."},
    {"no-stacks", 0, NULL, "Do not sample stacks, nor follow calls where instructions are counted."},
    {"no-alloc-stacks", 0, NULL, "Do not sample stacks of allocations."},
    {"no-waits", 0, NULL, "Do not record what threads wait for."},
    {"no-channels", 0, NULL,
     "Do not detect pipes, sockets and queues; count only channels that the program records itself."},
    {"alloc-library", 0, "PATH",
     "Path of libhotpath_preload.so, with --locks or --io of libhotpath_locks.so, libhotpath_io.so or "
     "libhotpath_locks_io.so, if it is not installed with "
     "hotpath."},
};

const struct hp_command hp_command_run = {
    .name = "run",
    .group = HP_GROUP_RECORD,
    .operands = "[--] PROGRAM [ARGUMENTS]",
    .operand = HP_OPERAND_PROGRAM,
    .summary = "Runs a program and prints a report when it ends.",
    .details = "The program keeps its input, output, signals and terminal. There is a report even if\n"
               "the program is killed. It goes to standard error, or to the file given by --output,\n"
               "and covers all processes that the program starts, unless --no-children is given. The\n"
               "exit status is that of the program, 127 if it was not found, or 126 if it could not be\n"
               "run. Options override the environment.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_RECORD | HP_SCOPE_SHOW | HP_SCOPE_OUTPUT | HP_SCOPE_FOLDER | HP_SCOPE_NAMES,
    .stops_at_operand = true,
    .run = start,
};
