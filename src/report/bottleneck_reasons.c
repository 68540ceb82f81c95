/* Explains the verdict of a function in a sentence. SPDX-License-Identifier: MIT */
#include "bottleneck.h"

#include <inttypes.h>
#include <string.h>

#include "units.h"
#include "utf8.h"

#define SECOND 1e9

/* Numbers of samples below this are printed, so that shares are not taken for exact. */
#define FEW 100u

void hp_bottleneck_put_name(struct hp_text *line, const struct hp_site_sums *site)
{
    hp_utf8_put_safe(line, site->name, strlen(site->name));
}

/* "97 %" */
void hp_bottleneck_put_share(struct hp_text *line, double part) { hp_text_format(line, "%.0f %%", 100 * part); }

/* "busy for 3.10 s of its 3.20 s" */
static void put_of_own(struct hp_text *line, const char *what, double ns, const struct hp_bottleneck *entry)
{
    hp_text_string(line, what);
    hp_units_ns(line, ns);
    hp_text_string(line, " of its ");
    hp_units_ns(line, entry->wall_ns);
}

/* ", 97 % of that in user mode": the larger mode. */
static void put_mode(struct hp_text *line, const struct hp_bottleneck *entry)
{
    if (entry->cpu == NULL || hp_cpu_ns(entry->cpu) == 0)
        return;
    const double user = hp_part_of((double)entry->cpu->user_ns, (double)hp_cpu_ns(entry->cpu));
    hp_text_string(line, ", ");
    hp_bottleneck_put_share(line, user >= 0.5 ? user : 1 - user);
    hp_text_string(line, user >= 0.5 ? " of that in user mode" : " of that in kernel mode");
}

/* If there are few, prints the number of samples. */
static void put_few(struct hp_text *line, uint64_t count, const char *one, const char *more)
{
    if (count >= FEW || count == 0)
        return;
    hp_text_format(line, " (%" PRIu64 "%s)", count, count == 1 ? one : more);
}

/* ": 2.03 s for sleep" */
static void put_cause(struct hp_text *line, const struct hp_bottleneck *entry)
{
    if (!entry->evidence.has_waits) {
        hp_text_string(line, "; cause unknown: use 'hotpath run'");
        return;
    }
    if (entry->cause == NULL) {
        hp_text_string(line, "; cause unknown");
        return;
    }
    hp_text_string(line, entry->is_named ? ", " : "; the cause is known for only ");
    hp_units_ns(line, entry->cause_ns);
    hp_text_format(line, "%s%s", entry->is_named ? " of that for " : " of that: ", entry->cause);
    put_few(line, entry->probes, " sample", " samples");
}

static void put_allocs(struct hp_text *line, const struct hp_bottleneck *entry)
{
    const struct hp_judgement *judgement = &entry->judgement;
    const bool is_of_busy = judgement->knows_waiting && hp_bottleneck_is_long_enough(entry);
    hp_text_format(line, "%" PRIu64 " allocations, ", entry->allocs.own_count);
    hp_units_bytes(line, entry->allocs.own_bytes);
    hp_text_string(line, ", taking ");
    if (judgement->alloc_part < 0.95)
        hp_bottleneck_put_share(line, judgement->alloc_part);
    else
        hp_text_string(line, "nearly all");
    hp_text_string(line, is_of_busy ? " of the " : " of its ");
    hp_units_ns(line, is_of_busy ? judgement->busy_ns : entry->wall_ns);
    hp_text_string(line, is_of_busy ? " that it is busy" : "");
}

/* Both were sampled, and little of either was found: the time itself is in doubt. */
bool hp_bottleneck_is_guessed(const struct hp_bottleneck *entry)
{
    return entry->judgement.verdict == HP_VERDICT_UNKNOWN && entry->evidence.is_wall_scaled &&
           entry->evidence.has_cpu;
}

static void put_found(struct hp_text *line, const struct hp_judgement *judgement)
{
    hp_text_string(line, " are extrapolated from the timed calls; samples found it busy for ");
    hp_units_ns(line, judgement->busy_ns);
    if (!judgement->knows_waiting)
        return;
    hp_text_string(line, ", waiting for ");
    hp_units_ns(line, judgement->waiting_ns);
}

void hp_bottleneck_put_reason(struct hp_text *line, const struct hp_bottleneck *entry)
{
    const struct hp_judgement *judgement = &entry->judgement;
    switch (judgement->verdict) {
    case HP_VERDICT_CPU_BOUND:
        put_of_own(line, entry->evidence.has_cpu ? "busy for " : "not seen waiting for ", judgement->busy_ns,
                   entry);
        put_mode(line, entry);
        if (entry->cpu != NULL)
            put_few(line, entry->cpu->samples, " sample", " samples");
        break;
    case HP_VERDICT_WAITING:
        put_of_own(line, "waiting for ", judgement->waiting_ns, entry);
        put_cause(line, entry);
        break;
    case HP_VERDICT_IDLE:
        put_of_own(line, "idle for ", judgement->idle_ns, entry);
        put_cause(line, entry);
        break;
    case HP_VERDICT_ALLOCATION_HEAVY:
        put_allocs(line, entry);
        break;
    case HP_VERDICT_STARVED:
        put_of_own(line, "ready to run, but without a CPU, for ", judgement->queue_ns, entry);
        hp_text_string(line, "; busy for ");
        hp_units_ns(line, judgement->busy_ns);
        break;
    case HP_VERDICT_MIXED:
        put_of_own(line, "busy for ", judgement->busy_ns, entry);
        hp_text_string(line, ", waiting for ");
        hp_units_ns(line, judgement->waiting_ns);
        put_cause(line, entry);
        break;
    case HP_VERDICT_TOO_SHORT:
        hp_text_string(line, "its ");
        hp_units_ns(line, entry->wall_ns);
        hp_text_format(line, " are too short for a verdict at %.0f samples per second",
                       hp_part_of(entry->evidence.samples_due, entry->wall_ns / SECOND));
        break;
    case HP_VERDICT_UNKNOWN:
    case HP_VERDICTS:
        hp_text_string(line, "its ");
        hp_units_ns(line, entry->wall_ns);
        if (hp_bottleneck_is_guessed(entry))
            put_found(line, judgement);
        else
            hp_text_string(line, " may be CPU time or waiting: use HOTPATH_CPU=1 or 'hotpath run' to find out");
        break;
    }
}
