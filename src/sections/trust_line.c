/* How far a report can be trusted, in words. SPDX-License-Identifier: MIT */
#include "trust_line.h"

#include <string.h>

#include "cpu_profile.h"
#include "files.h"
#include "function_profile.h"
#include "units.h"

const struct hp_loss_words hp_loss_words[] = {
    [HP_LOSS_ZONES] = {"zones", "zone was not recorded: its thread could have no record",
                       "zones were not recorded: their threads could have no record"},
    [HP_LOSS_NODES] = {"nodes", "path of calls found no space in the call tree: its calls are under <other>",
                       "paths of calls found no space in the call tree: their calls are under <other>"},
    [HP_LOSS_BUCKETS] = {"buckets", "duration is in no percentile: no space for it",
                         "durations are in no percentile: no space for them"},
    [HP_LOSS_SITES] = {"sites", "site was not recorded: no space for it",
                       "sites were not recorded: no space for them"},
    [HP_LOSS_ABANDONED] = {"abandoned", "zone was left by longjmp or the like: timed up to its last sign",
                           "zones were left by longjmp or the like: timed up to their last sign"},
    [HP_LOSS_FOREIGN] = {"foreign", "zone was closed on another thread: not timed",
                         "zones were closed on another thread: not timed"},
    [HP_LOSS_DEPTH] = {"depth", "zone was nested too deep: not recorded",
                       "zones were nested too deep: not recorded"},
    [HP_LOSS_CLOCK] = {"clock", "duration was below zero: counted as zero",
                       "durations were below zero: counted as zero"},
    [HP_LOSS_CHILDREN] = {"children", "forked child could not write a session file",
                          "forked children could not write a session file"},
    [HP_LOSS_CALLS] = {"calls", "call was not kept: no space for it", "calls were not kept: no space for them"},
    [HP_LOSS_ALLOCS] = {"allocations", "call has its allocations in no row: no space for them",
                        "calls have their allocations in no row: no space for them"},
    [HP_LOSS_SAMPLES] = {"samples", "sample of processor time was counted as outside: no space for its zone",
                         "samples of processor time were counted as outside: no space for their zones"},
    [HP_LOSS_STACKS] = {"stacks",
                        "thread was not sampled: a small stack, and an alternate one of the program's own",
                        "threads were not sampled: small stacks, and alternate ones of the program's own"},
    [HP_LOSS_ENDED] = {"ended", "zone was not recorded: its thread had ended, but for its last destructors",
                       "zones were not recorded: their threads had ended, but for their last destructors"},
    [HP_LOSS_SEALED] = {"sealed", "zone was not recorded: its thread came when no more system calls could be made",
                        "zones were not recorded: their threads came when no more system calls could be made"},
    [HP_LOSS_PROCESSES] = {"processes", "process could not be followed, only seen from outside",
                           "processes could not be followed, only seen from outside"},
    [HP_LOSS_LANES] = {"lanes", "switch found its lane on another thread, ended, or without space: not followed",
                       "switches found their lanes on another thread, ended, or without space: not followed"},
    [HP_LOSS_VALUES] = {"values", "update of a value or another object was not counted: no space for it",
                        "updates of values and other objects were not counted: no space for them"},
};

const size_t hp_loss_count = sizeof hp_loss_words / sizeof hp_loss_words[0];

const char *hp_trust_refusal(const struct hp_trust *trust)
{
    switch (trust->refusal) {
    case HP_REFUSAL_CAPACITY:
        return "the session is as large as it may become";
    case HP_REFUSAL_ADDRESSES:
        return "a limit of the process, or a neighbour in its memory, kept the session from growing";
    case HP_REFUSAL_SPACE:
        return "the file system had no space for the session to grow";
    case HP_REFUSAL_FILE:
        return "the file of the session could not be opened again to grow";
    default:
        return NULL;
    }
}

const char *hp_trust_storage(const struct hp_trust *trust)
{
    switch (trust->storage) {
    case HP_STORAGE_MEMORY:
        return "kept in memory, since no folder had space";
    case HP_STORAGE_NO_FOLDER:
        return "kept in memory, since a folder for sessions belongs to somebody else or can be written by others";
    default:
        return NULL;
    }
}

const char *hp_trust_sandbox(const struct hp_trust *trust)
{
    return trust->is_sandboxed ? "a process shut itself in a sandbox: it was not sampled from then on, and what "
                                 "needed space was lost"
                               : NULL;
}

void hp_trust_put_cut_off(const struct hp_run *run, struct hp_text *text)
{
    if (run->count == 1) {
        hp_text_string(text, "the file is cut off");
        return;
    }
    hp_text_u64(text, run->cut_off);
    hp_text_string(text, " of ");
    hp_text_u64(text, run->count);
    hp_text_string(text, run->cut_off == 1 ? " files is cut off" : " files are cut off");
}

static void put_clock(const struct hp_trust *trust, struct hp_text *text)
{
    hp_text_string(text, "clock ");
    hp_text_string(text, trust->clock);
    if (strcmp(trust->clock, "monotonic") == 0)
        return; /* it counts nanoseconds: a rate would say nothing */
    if (trust->clock_hz > 0) {
        hp_text_string(text, " at ");
        hp_units_hz(text, trust->clock_hz);
    } else {
        hp_text_string(text, " at an unknown rate: its ticks are shown as nanoseconds");
    }
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
        hp_text_fixed(text, trust->least_percent, 1);
        hp_text_string(text, " to ");
    }
    hp_text_fixed(text, trust->share_percent, 1);
}

static void put_cost(const struct hp_trust *trust, struct hp_text *text)
{
    if (!(trust->zone_cost_ns > 0)) {
        hp_text_string(text, "; what one zone costs is not known");
        return;
    }
    hp_text_string(text, "; one zone costs ");
    hp_text_fixed(text, trust->zone_cost_ns, trust->zone_cost_ns < 100 ? 1 : 0);
    hp_text_string(text, " ns; measuring took ");
    put_share(trust, text);
    hp_text_string(text, " % of the run");
}

/* "; processor time by stacks, 477 samples by perf": if nothing is measured, and no thread samples itself. */
static bool put_stacks(const struct hp_trust *trust, struct hp_text *text)
{
    const struct hp_function_profile *functions = trust->functions;
    if (functions == NULL || functions->samples == 0 || (trust->cpu != NULL && trust->cpu->total.samples > 0))
        return false;
    hp_text_string(text, "; processor time by stacks, ");
    hp_text_u64(text, functions->samples);
    hp_text_string(text, functions->samples == 1 ? " sample" : " samples");
    hp_text_string(text, functions->source == HP_STACKS_BY_TIMERS    ? " by timers in the program"
                         : functions->source == HP_STACKS_BY_PROGRAM ? " in the program"
                                                                     : " by perf");
    return true;
}

/* If programs with zones were sampled, too, but from outside, where zones are unknown. */
static void put_zoneless(const struct hp_trust *trust, struct hp_text *text)
{
    const struct hp_function_profile *functions = trust->functions;
    if (functions != NULL && functions->samples > 0 && functions->source == HP_STACKS_BY_PERF &&
        trust->cpu != NULL && trust->cpu->total.samples > 0)
        hp_text_string(text, "; stacks are by perf, which knows no zones (--zone-stacks has them)");
}

/* "; processor time by perf and timers, 991 of 997 samples a second" */
static void put_cpu(const struct hp_trust *trust, struct hp_text *text)
{
    if (put_stacks(trust, text))
        return;
    if (trust->cpu == NULL || !hp_cpu_is_sampled(trust->cpu))
        return;
    const char *advice = hp_cpu_advice(trust->cpu->refusal);
    hp_text_string(text, "; processor time by ");
    hp_text_string(text, hp_cpu_engine_name(trust->cpu));
    hp_text_string(text, ", ");
    hp_text_u64(text, hp_units_round(hp_cpu_achieved_rate(trust->cpu)));
    if (trust->cpu->rate > 0) {
        hp_text_string(text, " of ");
        hp_text_u64(text, trust->cpu->rate);
    }
    hp_text_string(text, " samples a second");
    if (advice != NULL) {
        hp_text_string(text, " (perf, which samples finer, was refused; it takes: ");
        hp_text_string(text, advice);
        hp_text_char(text, ')');
    }
}

static void put_sentence(struct hp_text *text, const char *sentence)
{
    if (sentence == NULL)
        return;
    hp_text_string(text, "; ");
    hp_text_string(text, sentence);
}

/* "; what 1 process allocated was not counted" */
static void put_uncounted(const struct hp_trust *trust, struct hp_text *text)
{
    if (trust->uncounted == 0)
        return;
    hp_text_string(text, "; what ");
    hp_text_u64(text, trust->uncounted);
    hp_text_string(text, trust->uncounted == 1 ? " process" : " processes");
    hp_text_string(text, " allocated was not counted");
}

/* "; 3 samples of stacks were lost: ..." */
static bool put_lost_of(struct hp_text *text, uint64_t count, const char *one, const char *many)
{
    if (count == 0)
        return false;
    hp_text_string(text, "; ");
    hp_text_u64(text, count);
    hp_text_char(text, ' ');
    hp_text_string(text, count == 1 ? one : many);
    return true;
}

/* "; stacks of 3 processes could not be recorded: no space left" */
static bool put_unmade(struct hp_text *text, const char *what, uint32_t processes, int32_t error)
{
    if (processes == 0)
        return false;
    hp_text_string(text, what);
    hp_text_u64(text, processes);
    hp_text_string(text, processes == 1 ? " process" : " processes");
    hp_text_string(text, " could not be recorded: ");
    hp_text_string(text, hp_file_error(error));
    return true;
}

/* What hotpath itself could not keep or parse; no session knows of it. */
static bool put_lost_stacks(const struct hp_trust *trust, struct hp_text *text)
{
    const struct hp_function_profile *functions = trust->functions;
    if (functions == NULL)
        return false;
    const bool has_lost =
        put_lost_of(text, functions->lost, "sample of a stack was lost: no space for it, or its process had ended",
                    "samples of stacks were lost: no space for them, or their processes had ended");
    const bool has_lost_allocs =
        put_lost_of(text, functions->allocs_lost, "sampled allocation was lost: no space for it",
                    "sampled allocations were lost: no space for them");
    const struct hp_unmade *unmade = &functions->unmade;
    const bool has_unmade = put_unmade(text, "; stacks of ", unmade->samples, unmade->error);
    return put_unmade(text, "; stacks of allocations of ", unmade->heaps, unmade->error) || has_unmade ||
           has_lost_allocs || has_lost;
}

static void put_lost(const struct hp_trust *trust, struct hp_text *text)
{
    bool has_lost = false;
    uint64_t unknown = 0;
    for (size_t at = 0; at < HP_LOSSES; at++) {
        const uint64_t count = trust->lost[at];
        if (at >= hp_loss_count)
            unknown += count;
        if (at < hp_loss_count)
            has_lost |= put_lost_of(text, count, hp_loss_words[at].one, hp_loss_words[at].many);
    }
    if (has_lost)
        put_sentence(text, hp_trust_refusal(trust));
    has_lost |= put_lost_stacks(trust, text);
    put_sentence(text, hp_trust_sandbox(trust));
    put_uncounted(trust, text);
    if (unknown > 0) {
        hp_text_string(text, "; ");
        hp_text_u64(text, unknown);
        hp_text_string(text, " losses of a kind that this hotpath does not know");
    } else if (!has_lost && !trust->is_sandboxed && trust->uncounted == 0) {
        hp_text_string(text, "; nothing was lost");
    }
}

void hp_trust_put(const struct hp_trust *trust, struct hp_text *text)
{
    put_clock(trust, text);
    put_cost(trust, text);
    put_cpu(trust, text);
    put_zoneless(trust, text);
    if (trust->storage == HP_STORAGE_NO_FOLDER)
        put_sentence(text, hp_trust_storage(trust));
    put_lost(trust, text);
}
