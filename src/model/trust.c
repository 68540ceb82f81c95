/* How far a report can be trusted. SPDX-License-Identifier: MIT */
#include "trust.h"

#include "alloc_profile.h"
#include "arena.h"
#include "cost.h"
#include "text.h"

const char *hp_trust_clock_name(uint32_t kind)
{
    switch (kind) {
    case HP_CLOCK_MONOTONIC:
        return "monotonic";
    case HP_CLOCK_TSC:
        return "tsc";
    case HP_CLOCK_CNTVCT:
        return "cntvct";
    case HP_CLOCK_RDTIME:
        return "rdtime";
    case HP_CLOCK_INSTRUCTIONS:
        return "instructions";
    default:
        return "unknown";
    }
}

/*
 * "instructions (qemu 7.2.22, cpu max,-erms, glibc 2.36)", "instructions (pmu, AMD EPYC 7763 ...)": runs of another
 * engine do not count the same.
 */
static const char *clock_of(struct hp_arena *arena, const struct hp_snapshot *session)
{
    const char *name = hp_trust_clock_name(session->header.clock_kind);
    const char *engine = session->header.engine != 0 ? hp_snapshot_text(session, session->header.engine) : "";
    char bytes[256];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, "%s (%s)", name, engine);
    const char *whole = engine[0] != '\0' ? hp_arena_copy(arena, bytes, text.length) : NULL;
    return whole != NULL ? whole : name;
}

static uint32_t higher(uint32_t a, uint32_t b) { return a > b ? a : b; }

static void find_unclosed(const struct hp_snapshot *session, struct hp_trust *trust)
{
    struct hp_site site;
    if (trust->unclosed != NULL || session->header.unclosed == 0 ||
        !hp_snapshot_site(session, session->header.unclosed - 1, &site))
        return;
    trust->unclosed = hp_snapshot_text(session, site.name);
    trust->unclosed_at = (struct hp_location){.file = hp_snapshot_text(session, site.file), .line = site.line};
    trust->is_unclosed_block = (site.kind & ~HOTPATH_KIND_CXX_) == HOTPATH_KIND_BLOCK_;
}

static bool is_unpassed(const struct hp_snapshot *session)
{
    return (session->header.features & HP_FEATURE_UNPASSED) != 0;
}

/* Processes of a run leave out the same functions: their sum would count one several times. */
static void find_left_out(const struct hp_header *header, struct hp_trust *trust)
{
    if (header->left_out <= trust->left_out)
        return;
    trust->left_out = header->left_out;
    trust->left_out_by = header->skip == 0     ? "HOTPATH_FILTER"
                         : header->filter == 0 ? "HOTPATH_SKIP"
                                               : "HOTPATH_FILTER and HOTPATH_SKIP";
}

void hp_trust_of_run(struct hp_arena *arena, const struct hp_profile *profile, const struct hp_cpu *cpu,
                     const struct hp_function_profile *functions, struct hp_trust *ret_trust)
{
    const struct hp_run *run = profile->run;
    const struct hp_cost cost = hp_cost_of(arena, profile, functions);
    *ret_trust = (struct hp_trust){
        .zone_cost_ns = run->zone_cost_ns,
        .zone_inner_ns = run->zone_inner_ns,
        .share_percent = 100 * cost.most,
        .least_percent = 100 * cost.least,
        .is_of_cpu = cost.is_of_cpu,
        .cost_ns = cost.cpu_ns,
        .clock = clock_of(arena, run->sessions[0]),
        .clock_hz = run->is_rate_known && !hp_run_counts_instructions(run) ? 1e9 / run->ns_per_tick : 0,
        .is_by_cpu = hp_run_is_counted_by_cpu(run),
        .shares_counter = hp_run_has_feature(run, HP_FEATURE_SHARED_COUNTER),
        .lacks_counter = hp_run_has_feature(run, HP_FEATURE_MISSING_COUNTER),
        .cpu = cpu,
        .functions = functions,
        .uncounted = hp_allocs_unknown(run),
        .unpassed = hp_run_count_processes(run, is_unpassed),
        .is_sandboxed = hp_run_has_feature(run, HP_FEATURE_SANDBOXED),
    };
    for (size_t at = 0; at < run->count; at++) {
        const struct hp_header *header = &run->sessions[at]->header;
        for (size_t loss = 0; loss < HP_LOSSES; loss++)
            ret_trust->lost[loss] += header->losses[loss];
        ret_trust->has_threads = ret_trust->has_threads || header->threads_seen > 1;
        ret_trust->brief += header->brief > 0 ? header->processes : 0;
        find_unclosed(run->sessions[at], ret_trust);
        find_left_out(header, ret_trust);
        ret_trust->storage = higher(ret_trust->storage, header->storage);
        ret_trust->refusal = higher(ret_trust->refusal, header->refusal);
    }
}
