/* Decides what kind of bottleneck a function is. SPDX-License-Identifier: MIT */
#include "verdict.h"

const char *hp_verdict_name(enum hp_verdict verdict)
{
    static const char *const names[HP_VERDICTS] = {
        [HP_VERDICT_CPU_BOUND] = "cpu-bound",
        [HP_VERDICT_WAITING] = "waiting",
        [HP_VERDICT_ALLOCATION_HEAVY] = "allocation-heavy",
        [HP_VERDICT_STARVED] = "starved",
        [HP_VERDICT_IDLE] = "idle",
        [HP_VERDICT_MIXED] = "mixed",
        [HP_VERDICT_TOO_SHORT] = "too-short",
        [HP_VERDICT_UNKNOWN] = "unknown",
    };
    return names[verdict];
}

static double least(double a, double b) { return a < b ? a : b; }

/* If enough of the waiting was seen to name a cause, the unseen rest is taken to be the same. */
static double idle_part(const struct hp_evidence *evidence, const struct hp_judgement *judgement)
{
    const bool is_seen =
        evidence->waited_ns >= HP_VERDICT_CAUSE_PART * judgement->waiting_ns && evidence->waited_ns > 0;
    return is_seen ? judgement->waiting_ns * evidence->idle_ns / evidence->waited_ns : evidence->idle_ns;
}

static bool is_estimate(const struct hp_evidence *evidence)
{
    return evidence->is_wall_scaled && evidence->has_cpu;
}

/*
 * CPU time and waiting add up to the whole, unless the whole is an estimate: then each is what was found. CPU time
 * comes from clocks, so it takes precedence over the wait samples; these only say what the waiting was for, and are
 * scaled down if they claim more waiting than there was.
 */
static void split_time(const struct hp_evidence *evidence, struct hp_judgement *judgement)
{
    const double rest_ns = evidence->wall_ns - least(evidence->cpu_ns, evidence->wall_ns);
    judgement->knows_waiting = evidence->has_waits || (evidence->has_cpu && !evidence->is_wall_scaled);
    judgement->waited_scale = 1;
    if (evidence->has_cpu && !evidence->is_wall_scaled)
        judgement->waiting_ns = rest_ns;
    else if (evidence->has_waits)
        judgement->waiting_ns = least(evidence->waited_ns, evidence->has_cpu ? rest_ns : evidence->wall_ns);
    if (is_estimate(evidence))
        judgement->busy_ns = evidence->wall_ns - rest_ns;
    else if (judgement->knows_waiting)
        judgement->busy_ns = evidence->wall_ns - judgement->waiting_ns;
    if (!judgement->knows_waiting)
        return;
    if (evidence->has_waits && evidence->waited_ns > judgement->waiting_ns)
        judgement->waited_scale = judgement->waiting_ns / evidence->waited_ns;
    judgement->queue_ns = least(evidence->queue_ns * judgement->waited_scale, judgement->waiting_ns);
    judgement->idle_ns = idle_part(evidence, judgement);
}

/* Lower bound of the time for allocations, as a part of `ns`. */
static double alloc_part(const struct hp_evidence *evidence, double ns)
{
    return evidence->has_allocs && ns > 0 ? least(evidence->alloc_count * HP_VERDICT_PAIR_NS / ns, 1) : 0;
}

/* Allocations are counted, not sampled: they are known even if nothing else is. */
static enum hp_verdict judge_by_counts(const struct hp_judgement *judgement, enum hp_verdict otherwise)
{
    return judgement->alloc_part >= HP_VERDICT_ALLOC_PART ? HP_VERDICT_ALLOCATION_HEAVY : otherwise;
}

/* Waiting that samples did not see counts neither for nor against the run queue, unless there were none. */
static enum hp_verdict judge_by_times(const struct hp_judgement *judgement, const struct hp_evidence *evidence)
{
    const double wall_ns = evidence->wall_ns;
    const double seen_ns =
        evidence->has_waits ? evidence->waited_ns * judgement->waited_scale : judgement->waiting_ns;
    if (judgement->busy_ns + judgement->waiting_ns < HP_VERDICT_FOUND_PART * wall_ns)
        return judge_by_counts(judgement, HP_VERDICT_UNKNOWN);
    if (judgement->queue_ns >= HP_VERDICT_STARVED_PART * wall_ns &&
        judgement->queue_ns >= HP_VERDICT_QUEUE_PART * seen_ns)
        return HP_VERDICT_STARVED;
    if (judgement->idle_ns >= HP_VERDICT_IDLE_PART * wall_ns)
        return HP_VERDICT_IDLE;
    if (judgement->waiting_ns >= HP_VERDICT_WAITING_PART * wall_ns)
        return HP_VERDICT_WAITING;
    return judge_by_counts(judgement, judgement->busy_ns >= HP_VERDICT_BUSY_PART * wall_ns ? HP_VERDICT_CPU_BOUND
                                                                                           : HP_VERDICT_MIXED);
}

void hp_judge(const struct hp_evidence *evidence, struct hp_judgement *ret_judgement)
{
    const bool is_short = evidence->wall_ns <= 0 || evidence->samples_due < HP_VERDICT_LEAST_SAMPLES;
    *ret_judgement = (struct hp_judgement){0};
    split_time(evidence, ret_judgement);
    const bool is_split = (ret_judgement->knows_waiting || is_estimate(evidence)) && !is_short;
    ret_judgement->alloc_part = alloc_part(evidence, is_split ? ret_judgement->busy_ns : evidence->wall_ns);
    ret_judgement->verdict =
        is_split ? judge_by_times(ret_judgement, evidence)
                 : judge_by_counts(ret_judgement,
                                   ret_judgement->knows_waiting ? HP_VERDICT_TOO_SHORT : HP_VERDICT_UNKNOWN);
}
