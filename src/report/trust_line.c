/* How far a report can be trusted, in words. SPDX-License-Identifier: MIT */
#include "trust_line.h"

#include <inttypes.h>
#include <string.h>

#include "cost.h"
#include "cpu_profile.h"
#include "files.h"
#include "function_profile.h"
#include "name_marks.h"
#include "units.h"
#include "utf8.h"

const struct hp_loss_words hp_loss_words[] = {
    [HP_LOSS_ZONES] = {"zones", "zone was not recorded: no space for its thread, or another process uses it, too",
                       "zones were not recorded: no space for their threads, or other processes use them, too"},
    [HP_LOSS_NODES] = {"nodes", "call path did not fit into the call tree: its calls are under <other>",
                       "call paths did not fit into the call tree: their calls are under <other>"},
    [HP_LOSS_BUCKETS] = {"buckets", "duration is missing in percentiles: no space for it",
                         "durations are missing in percentiles: no space for them"},
    [HP_LOSS_SITES] = {"sites", "site was not recorded: no space for it",
                       "sites were not recorded: no space for them"},
    [HP_LOSS_ABANDONED] = {"abandoned", "zone was left by longjmp or similar: timed up to its last recorded time",
                           "zones were left by longjmp or similar: timed up to their last recorded time"},
    [HP_LOSS_FOREIGN] = {"foreign", "zone was closed on another thread: not timed",
                         "zones were closed on another thread: not timed"},
    [HP_LOSS_DEPTH] = {"depth", "zone was nested too deeply: not recorded",
                       "zones were nested too deeply: not recorded"},
    [HP_LOSS_CLOCK] = {"clock", "duration was negative: counted as zero",
                       "durations were negative: counted as zero"},
    [HP_LOSS_CHILDREN] = {"children", "forked child could not write a session file",
                          "forked children could not write a session file"},
    [HP_LOSS_CALLS] = {"calls", "call was not kept: no space for it", "calls were not kept: no space for them"},
    [HP_LOSS_ALLOCS] = {"allocations", "call is missing in the allocation table: no space for it",
                        "calls are missing in the allocation table: no space for them"},
    [HP_LOSS_SAMPLES] = {"samples", "CPU sample was counted as <outside>: no space for its zone",
                         "CPU samples were counted as <outside>: no space for their zones"},
    [HP_LOSS_STACKS] =
        {"stacks", "thread was not sampled: its stack is small, and it has its own alternate signal stack",
         "threads were not sampled: their stacks are small, and they have their own alternate signal stacks"},
    [HP_LOSS_ENDED] = {"ended", "zone was not recorded: it was in the last destructors of its thread",
                       "zones were not recorded: they were in the last destructors of their threads"},
    [HP_LOSS_SEALED] = {"sealed", "zone was not recorded: its thread started after system calls were forbidden",
                        "zones were not recorded: their threads started after system calls were forbidden"},
    [HP_LOSS_PROCESSES] = {"processes", "process could not be followed, only observed from outside",
                           "processes could not be followed, only observed from outside"},
    [HP_LOSS_LANES] = {"lanes",
                       "lane switch was ignored: the lane was on another thread, had ended, or had no space",
                       "lane switches were ignored: the lanes were on other threads, had ended, or had no space"},
    [HP_LOSS_VALUES] = {"values", "update of a value or another object was not counted: no space for it",
                        "updates of values and other objects were not counted: no space for them"},
    [HP_LOSS_CLOSED] = {"closed",
                        "function of a closed library may have calls of another one that was loaded in its place",
                        "functions of closed libraries may have calls of others that were loaded in their place"},
};

const size_t hp_loss_count = sizeof hp_loss_words / sizeof hp_loss_words[0];

const char *hp_trust_refusal(const struct hp_trust *trust)
{
    switch (trust->refusal) {
    case HP_REFUSAL_CAPACITY:
        return "the session has reached its size limit";
    case HP_REFUSAL_ADDRESSES:
        return "the session could not grow: a limit of the process, or memory in use next to it";
    case HP_REFUSAL_SPACE:
        return "the session could not grow: no space in the file system";
    case HP_REFUSAL_FILE:
        return "the session could not grow: its file could not be reopened";
    default:
        return NULL;
    }
}

const char *hp_trust_storage(const struct hp_trust *trust)
{
    switch (trust->storage) {
    case HP_STORAGE_MEMORY:
        return "kept in memory, because no directory had space";
    case HP_STORAGE_NO_FOLDER:
        return "kept in memory, because a directory for sessions belongs to another user or is writable by others";
    default:
        return NULL;
    }
}

const char *hp_trust_sandbox(const struct hp_trust *trust)
{
    return trust->is_sandboxed ? "a process entered a sandbox: it was not sampled from then on, and records that "
                                 "needed more space were lost"
                               : NULL;
}

void hp_trust_put_cut_off(const struct hp_run *run, struct hp_text *text)
{
    if (run->count == 1) {
        hp_text_string(text, "the session file is truncated");
        return;
    }
    hp_text_format(text, "%zu of %zu%s", run->cut_off, run->count,
                   run->cut_off == 1 ? " session files is truncated" : " session files are truncated");
}

static void put_clock(const struct hp_trust *trust, struct hp_text *text)
{
    hp_text_format(text, "clock %s", trust->clock);
    if (strcmp(trust->clock, "monotonic") == 0 || hp_text_begins(trust->clock, "instructions"))
        return; /* it counts nanoseconds, or no time: a rate would say nothing */
    if (trust->clock_hz > 0) {
        hp_text_string(text, " at ");
        hp_units_hz(text, trust->clock_hz);
    } else {
        hp_text_string(text, " at an unknown rate: its ticks are shown as nanoseconds");
    }
}

/* Above this, shares of functions are those of measuring as much as of the program. */
#define DISTORTING_PERCENT 25.0
#define DISTORTING_NS 1e6   /* and a run of a millisecond has no picture */
#define DISTORTING_PART 0.1 /* nor is one distorted that hardly computes: where it waits is not changed */

static void put_part(struct hp_text *text, double part, double whole)
{
    hp_text_format(text, "%.0f %%", part > 0 && whole > 0 ? 100 * part / whole : 0);
}

static double positive(double value) { return value > 0 ? value : 0; }

void hp_trust_put_distortion(const struct hp_trust *trust, const struct hp_profile *profile,
                             const struct hp_site_sums *site, double own_ns, double whole_ns, struct hp_text *text)
{
    if (trust->least_percent <= DISTORTING_PERCENT || trust->cost_ns < DISTORTING_NS ||
        trust->cost_ns < DISTORTING_PART * whole_ns)
        return;
    hp_text_string(text, "Measuring distorts the picture: it took about ");
    put_part(text, trust->share_percent, 100);
    hp_text_string(text, trust->is_of_cpu ? " of the CPU time. " : " of the run. ");
    if (site == NULL || whole_ns <= trust->cost_ns)
        return;
    /* Costs are estimates: neither the function nor the rest can have less than no time without them. */
    const double cost_ns = hp_cost_in_own_time(profile, site);
    const double alone_ns = positive(own_ns - cost_ns);
    const double others_ns = positive(whole_ns - own_ns - positive(trust->cost_ns - cost_ns));
    hp_name_put_marked(text, site->name);
    hp_text_string(text, " has ");
    put_part(text, own_ns, whole_ns);
    hp_text_string(text, " of the time measured, about ");
    put_part(text, alone_ns, alone_ns + others_ns);
    hp_text_string(text, " alone. ");
}

/* Two numbers closer than this are printed as one. */
#define NEAR_TIMES 1.3
#define LITTLE_PERCENT 0.1

/* "about 3.1", or "about 0.4 to 3.1" */
static void put_share(const struct hp_trust *trust, struct hp_text *text)
{
    const bool is_range = trust->least_percent * NEAR_TIMES < trust->share_percent;
    if (trust->share_percent < LITTLE_PERCENT) {
        hp_text_string(text, "less than 0.1");
        return;
    }
    hp_text_string(text, is_range && trust->least_percent < LITTLE_PERCENT ? "at most about " : "about ");
    if (is_range && trust->least_percent >= LITTLE_PERCENT) {
        hp_text_format(text, "%.1f to ", trust->least_percent);
    }
    hp_text_fixed(text, trust->share_percent, 1);
}

/* Not tried on a machine that has it. */
static void put_cpu_counter(const struct hp_trust *trust, struct hp_text *text)
{
    hp_text_string(text,
                   "; counted by the CPU, which was not tested by the authors: interrupts and page faults add "
                   "some; those of hotpath are included");
    if (trust->zone_cost_ns > 0)
        hp_text_format(text, ", about %.0f for a zone, %.0f of them in its own number", trust->zone_cost_ns,
                       trust->zone_inner_ns);
    if (trust->shares_counter)
        hp_text_string(text,
                       "; not exact: others used the counter, too, and what was executed meanwhile is missing");
    if (trust->lacks_counter)
        hp_text_string(text,
                       "; a thread has no counter, and its durations are 0: the kernel refused it, there was no "
                       "room for a descriptor, or the program closed it");
}

static void put_cost(const struct hp_trust *trust, struct hp_text *text)
{
    if (trust->is_by_cpu) {
        put_cpu_counter(trust, text);
        return;
    }
    if (hp_text_begins(trust->clock, "instructions")) {
        hp_text_string(text, "; those of hotpath are not counted; functions that read the environment differ if "
                             "it does");
        if (trust->has_threads)
            hp_text_string(text, "; functions that wait for other threads, such as main, can differ between runs");
        return;
    }
    if (!(trust->zone_cost_ns > 0)) {
        hp_text_string(text, "; zone cost unknown");
        return;
    }
    hp_text_string(text, "; one zone costs ");
    hp_text_fixed(text, trust->zone_cost_ns, trust->zone_cost_ns < 100 ? 1 : 0);
    hp_text_string(text, " ns; measuring took ");
    put_share(trust, text);
    hp_text_string(text, trust->is_of_cpu ? " % of the CPU time" : " % of the run");
}

/* "; CPU time from stacks, 477 samples by perf": if nothing is measured, and no thread samples itself. */
static bool put_stacks(const struct hp_trust *trust, struct hp_text *text)
{
    const struct hp_function_profile *functions = trust->functions;
    if (functions == NULL || functions->counts.samples == 0 ||
        (trust->cpu != NULL && trust->cpu->total.samples > 0))
        return false;
    hp_text_format(text, "; CPU time from stacks, %" PRIu64 "%s%s", functions->counts.samples,
                   functions->counts.samples == 1 ? " sample" : " samples",
                   functions->counts.source == HP_STACKS_BY_TIMERS    ? " by timers in the program"
                   : functions->counts.source == HP_STACKS_BY_PROGRAM ? " in the program"
                                                                      : " by perf");
    return true;
}

/* If programs with zones were sampled, too, but from outside, where zones are unknown. */
static void put_zoneless(const struct hp_trust *trust, struct hp_text *text)
{
    const struct hp_function_profile *functions = trust->functions;
    if (functions != NULL && functions->counts.samples > 0 && functions->counts.source == HP_STACKS_BY_PERF &&
        trust->cpu != NULL && trust->cpu->total.samples > 0)
        hp_text_string(text, "; stacks are sampled by perf, without zones (--zone-stacks adds them)");
}

/* "; CPU time by perf and timers, 991 of 997 samples per second" */
static void put_cpu(const struct hp_trust *trust, struct hp_text *text)
{
    if (hp_text_begins(trust->clock, "instructions") || put_stacks(trust, text))
        return;
    if (trust->cpu == NULL || !hp_cpu_is_sampled(trust->cpu))
        return;
    const char *advice = hp_cpu_advice(trust->cpu->refusal);
    hp_text_format(text, "; CPU time by %s, %" PRIu64, hp_cpu_engine_name(trust->cpu),
                   hp_units_round(hp_cpu_achieved_rate(trust->cpu)));
    if (trust->cpu->rate > 0) {
        hp_text_format(text, " of %u", trust->cpu->rate);
    }
    hp_text_string(text, " samples per second");
    if (advice != NULL) {
        hp_text_format(text, " (perf is more precise, but the kernel refused it; to allow it: %s)", advice);
    }
}

static void put_sentence(struct hp_text *text, const char *sentence)
{
    if (sentence == NULL)
        return;
    hp_text_format(text, "; %s", sentence);
}

/* "; allocations of 1 process were not counted" */
static void put_processes(struct hp_text *text, const char *what, size_t count, const char *fate)
{
    if (count == 0)
        return;
    hp_text_format(text, "%s%zu%s%s", what, count, count == 1 ? " process" : " processes", fate);
}

/* "; 3 stack samples were lost: ..." */
static bool put_lost_of(struct hp_text *text, uint64_t count, const char *one, const char *many)
{
    if (count == 0)
        return false;
    hp_text_format(text, "; %" PRIu64 " %s", count, count == 1 ? one : many);
    return true;
}

/* "; stacks of 3 processes could not be recorded: no space left" */
static bool put_failed_rings(struct hp_text *text, const char *what, uint32_t processes, int32_t error)
{
    put_processes(text, what, processes, " could not be recorded: ");
    if (processes > 0)
        hp_text_string(text, hp_file_error(error));
    return processes > 0;
}

/* What hotpath itself could not keep or parse; no session knows of it. */
static bool put_lost_stacks(const struct hp_trust *trust, struct hp_text *text)
{
    const struct hp_function_profile *functions = trust->functions;
    if (functions == NULL)
        return false;
    const bool has_lost = put_lost_of(text, functions->counts.lost,
                                      "stack sample was lost: no space for it, or its process had ended",
                                      "stack samples were lost: no space for them, or their processes had ended");
    const bool has_refused = put_lost_of(text, functions->counts.refused,
                                         "thread was not sampled: it has its own alternate signal stack",
                                         "threads were not sampled: they have their own alternate signal stacks");
    const bool has_lost_allocs =
        put_lost_of(text, functions->counts.allocs_lost, "allocation sample was lost: no space for it",
                    "allocation samples were lost: no space for them");
    const struct hp_failed *failed = &functions->counts.failed;
    const bool has_failed_rings = put_failed_rings(text, "; stacks of ", failed->samples, failed->error);
    return put_failed_rings(text, "; allocation stacks of ", failed->heaps, failed->error) || has_failed_rings ||
           has_lost_allocs || has_refused || has_lost;
}

/* "; the first was phase (main.c:7): is its HOTPATH_END missing?" */
static void put_unclosed(const struct hp_trust *trust, struct hp_text *text)
{
    if (trust->unclosed == NULL)
        return;
    hp_text_string(text, "; the first was ");
    hp_utf8_put_safe(text, trust->unclosed, strlen(trust->unclosed));
    if (trust->unclosed_at.file != NULL && trust->unclosed_at.file[0] != '\0') {
        hp_text_string(text, " (");
        hp_utf8_put_safe(text, trust->unclosed_at.file, strlen(trust->unclosed_at.file));
        hp_text_format(text, ":%u)", trust->unclosed_at.line);
    }
    if (trust->is_unclosed_block)
        hp_text_string(text, ": is its HOTPATH_END missing?");
}

static void put_lost(const struct hp_trust *trust, struct hp_text *text)
{
    bool has_lost = false;
    uint64_t unknown = 0;
    put_lost_of(text, trust->brief, "brief process was only counted", "brief processes were only counted");
    for (size_t at = 0; at < HP_LOSSES; at++) {
        const uint64_t count = trust->lost[at];
        if (at >= hp_loss_count)
            unknown += count;
        if (at < hp_loss_count)
            has_lost |= put_lost_of(text, count, hp_loss_words[at].one, hp_loss_words[at].many);
        if (at == HP_LOSS_ABANDONED && count > 0)
            put_unclosed(trust, text);
    }
    if (has_lost)
        put_sentence(text, hp_trust_refusal(trust));
    has_lost |= put_lost_stacks(trust, text);
    put_sentence(text, hp_trust_sandbox(trust));
    put_processes(text, "; allocations of ", trust->uncounted, " were not counted");
    put_processes(text, "; stacks of ", trust->unpassed,
                  " could not be recorded: out of reach of 'hotpath run', which was started by another user");
    if (unknown > 0) {
        hp_text_format(text, "; %" PRIu64 " other losses, unknown to this version of hotpath", unknown);
    } else if (!has_lost && !trust->is_sandboxed && trust->uncounted == 0 && trust->unpassed == 0) {
        hp_text_string(text, trust->brief > 0 ? "; nothing else was lost" : "; nothing was lost");
    }
}

/* "; HOTPATH_SKIP left out 3 functions": not lost, but not in the table either. */
static void put_left_out(const struct hp_trust *trust, struct hp_text *text)
{
    if (trust->left_out > 0)
        hp_text_format(text, "; %s left out %" PRIu64 "%s", trust->left_out_by, trust->left_out,
                       trust->left_out == 1 ? " function" : " functions");
}

/* Waits that nothing counted, beside locks that were. */
static void put_unseen_locks(const struct hp_trust *trust, struct hp_text *text)
{
    if (trust->unseen_locks_ns > 0)
        hp_text_format(text, "; threads waited %s, by samples, for locks that are not seen",
                       hp_ns_text((double)trust->unseen_locks_ns).bytes);
}

void hp_trust_put(const struct hp_trust *trust, struct hp_text *text)
{
    put_clock(trust, text);
    put_cost(trust, text);
    put_cpu(trust, text);
    put_zoneless(trust, text);
    if (trust->storage == HP_STORAGE_NO_FOLDER)
        put_sentence(text, hp_trust_storage(trust));
    put_left_out(trust, text);
    put_unseen_locks(trust, text);
    put_lost(trust, text);
}
