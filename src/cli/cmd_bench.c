/*
 * hotpath bench: runs a command many times, or two and more in turns, and judges the difference.
 *
 * Each run is one of `hotpath run`, in a folder of ours; its report is read and the folder emptied, so that a
 * benchmark takes no more room than a run. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "bench_run.h"
#include "clock.h"
#include "command.h"
#include "compared_runs.h"
#include "comparison.h"
#include "diff_output.h"
#include "layout.h"
#include "process.h"
#include "report_output.h"
#include "run_facts.h"
#include "run_folder.h"
#include "session_dirs.h"
#include "sessions.h"
#include "text.h"
#include "units.h"

#define USUAL_PAIRS 10u
#define COUNTED_PAIRS 2u /* of instructions: the second shows which rows differ from run to run */
#define MOST_USUAL_PAIRS 50u
#define LEAST_TOTAL_NS UINT64_C(5000000000) /* of all runs, unless the user says how many */
#define USUAL_LIMIT_MS UINT64_C(600000)     /* of one run */
#define LINE_NS UINT64_C(20000000000)       /* between lines of progress, if they stay */
#define MOST_SIDES (1 + HP_MAX_REPEATED)
#define MOST_FLAGS 64u

struct side {
    const char *text; /* as the user wrote it */
    char **command;
    char *words;       /* in which `command` points; NULL: it is the user's */
    char folder[4096]; /* where its reports are saved; "": nowhere */
    struct hp_compared_runs runs;
};

struct bench {
    const struct hp_arguments *arguments;
    struct side sides[MOST_SIDES]; /* the command itself first, then those it is compared with */
    size_t side_count;
    char text[4096]; /* of the command itself */
    char *recording[MOST_FLAGS + 1];
    size_t recording_count;
    size_t pairs, done; /* 0 pairs: -n auto */
    bool are_chosen;    /* by the user */
    bool is_counted;    /* instructions are, and not time */
    bool ignores_failure;
    uint64_t limit_ms;
    char folder[1000]; /* ours, for the runs */
    uint64_t random;
    uint64_t start_ns, shown_ns, spent_ns; /* of the runs: `spent_ns` without reading them */
    size_t run_count;                      /* with the warm-up */
    bool is_live;                          /* progress is one line that changes */
};

static bool is_alone(const struct bench *bench) { return bench->side_count == 1; }

/* -------------------------------------------------------------------------------------------------- the command */

/* Splits a text into words as a shell does, without its other features. False: a quote has no end. */
static bool split_words(char *text, char **words, size_t *count)
{
    char *to = text;
    *count = 0;
    for (char *at = text; *at != '\0';) {
        if (strchr(" \t\n", *at) != NULL) {
            at++;
            continue;
        }
        char quote = 0;
        words[(*count)++] = to;
        for (; *at != '\0' && (quote != 0 || strchr(" \t\n", *at) == NULL); at++) {
            if (quote == 0 && (*at == '"' || *at == '\''))
                quote = *at;
            else if (*at == quote)
                quote = 0;
            else if (*at == '\\' && at[1] != '\0' && quote != '\'')
                *to++ = *++at;
            else
                *to++ = *at;
        }
        if (quote != 0)
            return false;
        const bool is_last = *at == '\0';
        *to++ = '\0'; /* never beyond `at`: the blank, or the end */
        at += !is_last;
    }
    words[*count] = NULL;
    return true;
}

static int add_other(struct bench *bench, const char *text)
{
    struct side *side = &bench->sides[bench->side_count];
    size_t count = 0;
    side->text = text;
    side->words = strdup(text);
    side->command = calloc(strlen(text) / 2 + 2, sizeof *side->command);
    bench->side_count++;
    if (side->words == NULL || side->command == NULL)
        return hp_fail("not enough memory for the commands"), EXIT_UNJUDGED;
    if (!split_words(side->words, side->command, &count))
        return hp_misuse(bench->arguments->command, "--against '%s': a quote has no end", text);
    if (count == 0)
        return hp_misuse(bench->arguments->command, "--against is empty: a command is missing");
    return EXIT_DONE;
}

static int read_sides(struct bench *bench)
{
    const struct hp_arguments *arguments = bench->arguments;
    struct hp_text text;
    hp_text_init(&text, bench->text, sizeof bench->text);
    for (int at = 0; at < arguments->operand_count; at++) {
        hp_text_string(&text, at > 0 ? " " : "");
        hp_text_string(&text, arguments->operands[at]);
    }
    bench->sides[0] = (struct side){.text = hp_text_end(&text), .command = arguments->operands};
    bench->side_count = 1;
    for (size_t at = 0; at < arguments->repeated_count; at++) {
        const int status = add_other(bench, arguments->repeated[at]);
        if (status != EXIT_DONE)
            return status;
    }
    return EXIT_DONE;
}

/* False: not enough memory, or too many. */
static bool add_recording(struct bench *bench, const char *word)
{
    char *copy = bench->recording_count < MOST_FLAGS ? strdup(word) : NULL;
    if (copy != NULL)
        bench->recording[bench->recording_count++] = copy;
    else
        hp_fail("not enough memory for the commands");
    return copy != NULL;
}

/* Flags about recording go to `hotpath run`. --instructions, as the last, is stronger than --clock. */
static int read_recording(struct bench *bench)
{
    const struct hp_arguments *arguments = bench->arguments;
    for (size_t at = 0; at < hp_option_count && at < HP_MAX_OPTIONS; at++) {
        const struct hp_option *option = &hp_options[at];
        const char *value = arguments->options[at];
        char word[400];
        if (value == NULL || !(option->scope & HP_SCOPE_RECORD) ||
            strcmp(option->variable, "HOTPATH_SHUTDOWN_MS") == 0)
            continue;
        if (option->type == HP_OPTION_FLAG)
            snprintf(word, sizeof word, "--%s", option->flag);
        else if (snprintf(word, sizeof word, "--%s=%s", option->flag, value) >= (int)sizeof word)
            return hp_misuse(arguments->command, "--%s is too long", option->flag);
        if (!add_recording(bench, word))
            return EXIT_UNJUDGED;
    }
    /* Functions are compared by their own instructions. */
    if (hp_arguments_flag(arguments, "instructions") != NULL &&
        (!add_recording(bench, "--clock=instructions:qemu") || !add_recording(bench, "--no-stacks")))
        return EXIT_UNJUDGED;
    return EXIT_DONE;
}

static int read_pairs(struct bench *bench)
{
    const char *text = hp_arguments_flag(bench->arguments, "pairs");
    uint64_t count = bench->is_counted ? COUNTED_PAIRS : USUAL_PAIRS;
    bench->are_chosen = text != NULL;
    if (text != NULL && strcmp(text, "auto") == 0)
        count = 0;
    else if (text != NULL && (!hp_number_unsigned(text, strlen(text), HP_JUDGE_MOST_PAIRS, &count) || count == 0))
        return hp_misuse(bench->arguments->command, "-n '%s' is not a number from 1 to %u, or auto", text,
                         HP_JUDGE_MOST_PAIRS);
    bench->pairs = (size_t)count;
    return EXIT_DONE;
}

/* ------------------------------------------------------------------------------------------------------ folders */

/* Where reports of a side go: in a benchmark of one command, the folder itself. What is there is not mixed in. */
static int make_save_folder(struct bench *bench, size_t number)
{
    const char *save = hp_arguments_flag(bench->arguments, "save");
    struct side *side = &bench->sides[number];
    char name[40] = "/now", path[sizeof side->folder + 8];
    if (number > 0)
        snprintf(name, sizeof name, number > 1 ? "/before-%zu" : "/before", number);
    if (snprintf(side->folder, sizeof side->folder, "%s%s", save, is_alone(bench) ? "" : name) >=
        (int)sizeof side->folder - 20)
        return hp_fail("the path of --save is too long"), EXIT_UNJUDGED;
    snprintf(path, sizeof path, "%s/1.json", side->folder);
    if (access(path, F_OK) == 0)
        return hp_fail("'%s' has reports already; remove it, or save to another folder", side->folder),
               EXIT_UNJUDGED;
    FILE *probe = hp_output_open(path); /* it makes the folders, and says now what would fail later */
    if (probe == NULL)
        return EXIT_UNJUDGED;
    fclose(probe);
    unlink(path);
    return EXIT_DONE;
}

static int make_folders(struct bench *bench)
{
    char place[900];
    const struct hp_record_settings *record = &bench->sides[0].runs.settings.record;
    for (size_t at = 0; hp_arguments_flag(bench->arguments, "save") != NULL && at < bench->side_count; at++) {
        const int status = make_save_folder(bench, at);
        if (status != EXIT_DONE)
            return status;
    }
    for (unsigned n = 0; hp_session_dir(record, n, place, sizeof place); n++) {
        if (!hp_session_dir_is_usable(place))
            continue;
        char *whole = realpath(place, NULL);
        snprintf(bench->folder, sizeof bench->folder, "%.900s/bench-%u", whole != NULL ? whole : place,
                 (unsigned)getpid());
        free(whole);
        if (mkdir(bench->folder, 0700) == 0)
            return EXIT_DONE;
    }
    hp_fail("no directory for sessions can be used (%s); give one with --dir", strerror(errno));
    bench->folder[0] = '\0';
    return EXIT_UNJUDGED;
}

static void remove_folder(const struct bench *bench)
{
    char path[1100];
    if (bench->folder[0] == '\0')
        return;
    snprintf(path, sizeof path, "%s/output", bench->folder);
    unlink(path);
    rmdir(bench->folder);
}

/* ----------------------------------------------------------------------------------------------------- progress */

static void clear_progress(const struct bench *bench)
{
    if (bench->is_live)
        fprintf(stderr, "\r\033[K");
}

static uint64_t rest_ns(const struct bench *bench)
{
    const uint64_t usual = bench->run_count > 0 ? bench->spent_ns / bench->run_count : 0;
    const uint64_t spent = hp_clock_monotonic_ns() - bench->start_ns;
    if (bench->pairs > 0)
        return usual * (bench->pairs - bench->done) * bench->side_count;
    return spent < HP_JUDGE_MOST_NS ? HP_JUDGE_MOST_NS - spent : 0;
}

static void show_progress(struct bench *bench)
{
    const uint64_t now = hp_clock_monotonic_ns();
    const char *what = is_alone(bench) ? "run" : "pair";
    char count[64];
    if (!bench->is_live && now - bench->shown_ns < LINE_NS)
        return;
    bench->shown_ns = now;
    snprintf(count, sizeof count, bench->pairs > 0 ? "%zu of %zu" : "%zu", bench->done + 1, bench->pairs);
    clear_progress(bench);
    fprintf(stderr, "%s %s, %s%u s remain%s", what, count, bench->pairs > 0 ? "" : "at most ",
            (unsigned)((rest_ns(bench) + 999999999) / 1000000000), bench->is_live ? "" : "\n");
    fflush(stderr);
}

/* ---------------------------------------------------------------------------------------------------- one run */

static bool has_failed(const struct bench *bench, const struct hp_bench_run *run)
{
    return run->is_late || !WIFEXITED(run->status) || WEXITSTATUS(run->status) == 126 ||
           WEXITSTATUS(run->status) == 127 || (WEXITSTATUS(run->status) != 0 && !bench->ignores_failure);
}

static void explain_failure(const struct bench *bench, const struct side *side, const struct hp_bench_run *run,
                            bool is_warm_up)
{
    const int status = WEXITSTATUS(run->status);
    char which[32] = "the warm-up";
    if (!is_warm_up)
        snprintf(which, sizeof which, "run %zu", side->runs.count + 1);
    clear_progress(bench);
    if (run->is_late)
        hp_fail("'%s' did not end within %s (%s); --timeout sets another limit", side->text,
                hp_ns_text((double)run->limit_ns).bytes, which);
    else if (WIFSIGNALED(run->status))
        hp_fail("'%s' was ended by signal %d (%s) in %s", side->text, WTERMSIG(run->status),
                strsignal(WTERMSIG(run->status)), which);
    else
        hp_fail("'%s' failed with exit status %d in %s%s", side->text, status, which,
                status < 126 ? "; --ignore-failure compares such runs" : "");
    hp_bench_show_output(run);
}

/* Reads the report of a run, and keeps it if that is wanted. */
static bool take(struct side *side, const struct hp_bench_run *run, bool is_warm_up)
{
    char path[sizeof side->folder + 40], *name = (char *)(uintptr_t)run->path;
    bool is_taken;
    if (side->folder[0] != '\0' && !is_warm_up) {
        snprintf(path, sizeof path, "%s/%zu.json", side->folder, side->runs.count + 1);
        is_taken =
            hp_compared_runs_write(&side->runs, run->path, path) && hp_compared_runs_add_report(&side->runs, path);
        if (!is_taken)
            unlink(path); /* part of a report would make all the others unreadable */
    } else {
        is_taken = hp_compared_runs_add(&side->runs, &name, 1);
    }
    if (is_taken)
        side->runs.all[side->runs.count - 1].path = side->text;
    return is_taken;
}

/* Where QEMU cannot, `hotpath run` measures time, or lets the CPU count, and says why. */
static bool has_counted(struct bench *bench, const struct side *side, const struct hp_bench_run *run)
{
    const char *clock = side->runs.all[side->runs.count - 1].clock;
    const bool has =
        hp_text_begins(clock, "instructions") && !hp_text_begins(clock, "instructions (" HP_ENGINE_IS_CPU);
    if (!has) {
        clear_progress(bench);
        hp_fail("the instructions of '%s' were not counted", side->text);
        hp_bench_show_output(run);
    }
    return has;
}

/* A warm-up is run alike and forgotten, but for what it says of the size of things. */
static bool run_side(struct bench *bench, size_t number, bool is_warm_up)
{
    struct side *side = &bench->sides[number];
    struct hp_bench_run run = {.command = side->command,
                               .recording = bench->recording,
                               .folder = bench->folder,
                               .limit_ns = bench->limit_ms * 1000000};
    bool is_done = hp_bench_run(&run);
    if (is_done && has_failed(bench, &run)) {
        explain_failure(bench, side, &run, is_warm_up);
        is_done = false;
    } else if (is_done && run.path[0] == '\0') {
        clear_progress(bench);
        hp_fail("nothing was recorded of '%s'", side->text);
        hp_bench_show_output(&run);
        is_done = false;
    }
    if (number > 0 && run.path[0] != '\0') /* the sources here are those of the command itself */
        hp_run_source_forget(run.path);
    if (is_done && (!is_warm_up || number == 0))
        is_done = take(side, &run, is_warm_up) && (!bench->is_counted || has_counted(bench, side, &run));
    if (run.path[0] != '\0')
        hp_run_remove(run.path);
    bench->spent_ns += run.took_ns;
    bench->run_count++;
    return is_done;
}

/* splitmix64 */
static uint64_t next_random(struct bench *bench)
{
    uint64_t z = bench->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* All sides once, in random order: what comes first may find another machine. */
static bool run_round(struct bench *bench, bool is_warm_up)
{
    size_t order[MOST_SIDES];
    for (size_t at = 0; at < bench->side_count; at++) {
        const size_t other = (size_t)(next_random(bench) % (at + 1));
        order[at] = order[other];
        order[other] = at;
    }
    for (size_t at = 0; at < bench->side_count; at++)
        if (!run_side(bench, order[at], is_warm_up))
            return false;
    return true;
}

/* ------------------------------------------------------------------------------------------------ comparing */

/*
 * The runs of two sides, which may be the same: then it tells how much the runs scatter. Only complete pairs: the
 * last one may have been interrupted.
 */
static bool join(const struct bench *bench, size_t other, struct hp_comparison *ret_comparison)
{
    const size_t count = bench->done > 0 ? bench->done : 1;
    return hp_compared_runs_join(ret_comparison, bench->sides[other].runs.all, count, bench->sides[0].runs.all,
                                 count);
}

static bool compare(struct bench *bench, size_t other, struct hp_comparison *comparison)
{
    if (!join(bench, other, comparison))
        return false;
    comparison->pairs = bench->done;
    if (hp_comparison_make(comparison))
        return true;
    hp_fail("not enough memory for the comparison");
    return false;
}

static void free_comparison(struct hp_comparison *comparison)
{
    hp_comparison_free(comparison);
    free(comparison->runs);
}

/* The runs of a side are alike, and so are the sides. */
static bool are_comparable(struct bench *bench, size_t other)
{
    char refusal[1200];
    struct hp_comparison both;
    if (!join(bench, other, &both))
        return false;
    const bool are = hp_comparison_refusal(&both, false, refusal, sizeof refusal) == NULL;
    if (!are)
        hp_fail("%s", refusal);
    free(both.runs);
    return are;
}

/* --------------------------------------------------------------------------------------------- before it starts */

static size_t planned(const struct bench *bench) { return bench->pairs > 0 ? bench->pairs : USUAL_PAIRS; }

/* At best: what the counters of calls, or the number of samples, allow on a quiet machine. */
static void say_what_can_show(struct bench *bench)
{
    struct hp_comparison comparison;
    const size_t pairs = planned(bench);
    const char *what = is_alone(bench) ? "run" : "pair";
    if (!compare(bench, 0, &comparison))
        return;
    const struct hp_compared_function *largest = &comparison.functions[comparison.largest];
    double samples = 0;
    if (comparison.row_count == 0) {
        fprintf(stderr,
                "no function of 1 %% of the time was found: only the total and exact numbers are compared\n");
    } else if (!comparison.is_sampled) {
        const double least = hp_judge_foreseen_timed(largest->judged.grain, comparison.row_count, pairs);
        fprintf(stderr, "%zu %ss can show %.1f %% in %s (%.0f %% of the time), more if the machine is busy\n",
                pairs, what, fmax(hp_percent_of_change(least), 100 * HP_JUDGE_LEAST_CHANGE), largest->name,
                100 * largest->judged.share);
    } else if (hp_comparison_value(&comparison, comparison.largest, HP_METRIC_SAMPLES, true, &samples)) {
        const double least = hp_judge_foreseen_sampled(samples, pairs);
        fprintf(
            stderr,
            "%zu %ss can show %.0f %% at best in %s (%.0f %% of the time, %.0f samples a run); for 5 %% measure "
            "the function, or use -n %.0f\n",
            pairs, what, hp_percent_of_change(least), largest->name, 100 * largest->judged.share, samples,
            ceil(hp_judge_pairs_for(0.05, samples)));
    }
    free_comparison(&comparison);
}

static void choose_pairs(struct bench *bench)
{
    if (bench->are_chosen)
        return;
    const uint64_t round = bench->spent_ns > 0 ? bench->spent_ns : 1;
    const uint64_t needed = (LEAST_TOTAL_NS + round - 1) / round;
    if (needed > bench->pairs)
        bench->pairs = (size_t)(needed < MOST_USUAL_PAIRS ? needed : MOST_USUAL_PAIRS);
}

static void say_plan(struct bench *bench)
{
    char count[32] = "as many";
    if (bench->pairs > 0)
        snprintf(count, sizeof count, "%zu", bench->pairs);
    fprintf(stderr, "%s %s, %s a run, %s%u s in all\n", count, is_alone(bench) ? "runs" : "pairs of runs",
            hp_ns_text((double)(bench->spent_ns / bench->run_count)).bytes,
            bench->pairs > 0 ? "about " : "at most ", (unsigned)((rest_ns(bench) + 999999999) / 1000000000));
    if (bench->are_chosen && bench->pairs > 0 && bench->pairs < HP_JUDGE_LEAST_RUNS)
        fprintf(stderr, "time is judged from %u on\n", HP_JUDGE_LEAST_RUNS);
    else
        say_what_can_show(bench);
}

static bool warm_up(struct bench *bench)
{
    bench->start_ns = bench->shown_ns = hp_clock_monotonic_ns();
    if (bench->is_counted)
        return true; /* the first run counts as the others do */
    if (bench->is_live)
        fprintf(stderr, "warm-up");
    if (!run_round(bench, true))
        return false;
    clear_progress(bench);
    choose_pairs(bench);
    say_plan(bench);
    hp_measured_run_free(&bench->sides[0].runs.all[0]);
    bench->sides[0].runs.count = 0;
    return true;
}

/* ------------------------------------------------------------------------------------------------------- all */

/* The widest interval of the total of all comparisons. */
static double width_of_total(struct bench *bench)
{
    double widest = 0;
    for (size_t other = is_alone(bench) ? 0 : 1; other < bench->side_count; other++) {
        struct hp_comparison comparison;
        if (!compare(bench, other, &comparison))
            return 0; /* more runs would not find the memory */
        widest = fmax(widest, comparison.total.high - comparison.total.low);
        free_comparison(&comparison);
    }
    return widest;
}

static bool is_enough(struct bench *bench)
{
    if (bench->pairs > 0)
        return bench->done >= bench->pairs;
    return bench->done > 0 &&
           hp_judge_has_enough(bench->done, hp_clock_monotonic_ns() - bench->start_ns, width_of_total(bench));
}

/* False: a run failed, and nothing is to be said. What the user interrupts is told as far as it went. */
static bool run_all(struct bench *bench)
{
    while (!is_enough(bench)) {
        show_progress(bench);
        if (!run_round(bench, false)) {
            clear_progress(bench);
            return hp_bench_interruption() != 0;
        }
        bench->done++;
        if (bench->done == 1)
            for (size_t other = 1; other < bench->side_count; other++)
                if (!are_comparable(bench, other)) /* before all the others are run */
                    return false;
    }
    clear_progress(bench);
    return true;
}

static hp_diff_put *writer_of(const struct bench *bench)
{
    hp_diff_put *put = hp_diff_put_of(hp_arguments_flag(bench->arguments, "format"));
    return put == hp_diff_put_text && is_alone(bench) ? hp_diff_put_scatter : put;
}

static bool put_all(void *context, struct hp_text *text)
{
    struct bench *bench = context;
    for (size_t other = is_alone(bench) ? 0 : 1; other < bench->side_count; other++) {
        struct hp_comparison comparison;
        if (!compare(bench, other, &comparison))
            return false;
        writer_of(bench)(&comparison, text);
        free_comparison(&comparison);
    }
    return true;
}

static int conclude(struct bench *bench)
{
    const char *path = hp_arguments_flag(bench->arguments, "output");
    return hp_output_put_to(path, "the comparison", put_all, bench) ? EXIT_DONE : EXIT_UNJUDGED;
}

static void say_where(const struct bench *bench)
{
    if (bench->sides[0].folder[0] == '\0' || bench->done == 0)
        return;
    if (is_alone(bench))
        fprintf(stderr, "saved; to compare later runs with these: hotpath diff RUNS --against %s\n",
                bench->sides[0].folder);
    for (size_t other = 1; other < bench->side_count; other++)
        fprintf(stderr, "saved; to compare them again: hotpath diff %s --against %s\n", bench->sides[0].folder,
                bench->sides[other].folder);
}

static int measure(struct bench *bench)
{
    hp_bench_hold_signals();
    hp_stack_cost_say(&bench->sides[0].runs.settings);
    const bool is_done = warm_up(bench) && run_all(bench);
    const int signal = hp_bench_interruption();
    clear_progress(bench);
    if (signal != 0)
        fprintf(stderr, "interrupted after %zu %s\n", bench->done, is_alone(bench) ? "runs" : "pairs");
    int status = EXIT_UNJUDGED;
    if (bench->done > 0 && (is_done || signal != 0))
        status = conclude(bench);
    say_where(bench);
    return signal != 0 ? 128 + signal : status;
}

static int prepare(struct bench *bench)
{
    const struct hp_arguments *arguments = bench->arguments;
    int status;
    if (arguments->operand_count == 0)
        return hp_misuse(arguments->command, "missing command");
    if ((status = read_sides(bench)) != EXIT_DONE || (status = read_recording(bench)) != EXIT_DONE)
        return status;
    for (size_t at = 0; at < bench->side_count; at++)
        hp_compared_runs_begin(&bench->sides[at].runs, arguments);
    const uint32_t clock = bench->sides[0].runs.settings.record.clock;
    bench->is_counted = hp_arguments_flag(arguments, "instructions") != NULL || clock != HP_CLOCK_OF_TIME;
    if (clock == HP_CLOCK_OF_CPU_INSTRUCTIONS)
        return hp_misuse(arguments->command, "the counts of a CPU differ from run to run: use --instructions, by "
                                             "which QEMU counts, or hotpath check");
    if ((status = read_pairs(bench)) != EXIT_DONE)
        return status;
    const char *format = hp_arguments_flag(arguments, "format");
    if (writer_of(bench) == NULL)
        return hp_misuse(arguments->command, "--format '%s' is not text, json or markdown", format);
    if (is_alone(bench) && format != NULL && strcmp(format, "text") != 0)
        return hp_misuse(arguments->command, "--format %s requires --against; --save keeps the reports in JSON",
                         format);
    const uint32_t limit_ms = bench->sides[0].runs.settings.record.shutdown_ms;
    bench->limit_ms = limit_ms > 0 ? limit_ms : USUAL_LIMIT_MS;
    bench->ignores_failure = hp_arguments_flag(arguments, "ignore-failure") != NULL;
    bench->is_live = isatty(STDERR_FILENO) == 1;
    if (getrandom(&bench->random, sizeof bench->random, GRND_NONBLOCK) != (ssize_t)sizeof bench->random)
        bench->random = hp_clock_monotonic_ns();
    return make_folders(bench);
}

static int run(const struct hp_arguments *arguments)
{
    static struct bench bench;
    bench.arguments = arguments;
    int status = prepare(&bench);
    if (status == EXIT_DONE)
        status = measure(&bench);
    remove_folder(&bench);
    for (size_t at = 0; at < bench.side_count; at++) {
        hp_compared_runs_free(&bench.sides[at].runs);
        if (bench.sides[at].words != NULL)
            free(bench.sides[at].command);
        free(bench.sides[at].words);
    }
    for (size_t at = 0; at < bench.recording_count; at++)
        free(bench.recording[at]);
    return status;
}

static const struct hp_flag flags[] = {
    {"pairs", 'n', "PAIRS|auto",
     "Number of pairs, or of runs of one command (default: 10, more if that takes less than 5 seconds; 2 of "
     "instructions). auto goes on until the total is known within 1 %, for three minutes at most."},
    {"against", 0, "COMMAND",
     "The command to compare with, as one argument: its words are split as by a shell, nothing else is done. May "
     "be given several times."},
    {"save", 0, "DIR",
     "Keep the reports of all runs in JSON, for 'hotpath diff' and 'hotpath check': in DIR, or with --against in "
     "DIR/now and DIR/before."},
    {"instructions", 0, NULL,
     "Count instructions (--clock instructions): two pairs, or -n 1, show a change of 1 %, on a busy machine, "
     "too."},
    {"ignore-failure", 'i', NULL, "Accept exit statuses other than 0."},
    {"format", 'f', "text|json|markdown",
     "What to write: lines for people (default), JSON, or a table in Markdown."},
    {"output", 'o', "PATH", "Output file (default: standard output)."},
};

const struct hp_command hp_command_bench = {
    .name = "bench",
    .group = HP_GROUP_LOOK,
    .operands = "[--against COMMAND] [--] PROGRAM [ARGUMENTS]",
    .operand = HP_OPERAND_PROGRAM,
    .summary = "Runs commands in turns and says which functions differ.",
    .details = "PROGRAM is compared with the command of --against: each pair of runs is in random order,\n"
               "and the first pair is not counted. Without --against the runs of PROGRAM are recorded\n"
               "and their scatter is told. The output of the commands is not shown. Ctrl-C ends the\n"
               "benchmark and reports the pairs that are complete. The exit status is 0 if there is a\n"
               "result, 2 if a command failed or did not end, or if the runs cannot be compared. Options\n"
               "about recording are those of 'hotpath run'; --timeout is for each run (default: ten\n"
               "minutes).\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_RECORD | HP_SCOPE_FOLDER,
    .stops_at_operand = true,
    .repeatable = {"against"},
    .run = run,
};
