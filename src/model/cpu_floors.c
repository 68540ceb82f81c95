/* Keeps CPU time that was already credited. SPDX-License-Identifier: MIT */
#include "cpu_floors.h"

#include "arena.h"
#include "arith.h"
#include "floors.h"

/* A number in this reading and in the previous one. */
struct credit {
    uint64_t *now;
    uint64_t *before;
};

struct credits {
    struct credit *all;
    size_t count;
};

static void add_credits(struct credits *credits, struct hp_cpu_sums *now, struct hp_cpu_sums *before)
{
    credits->all[credits->count++] = (struct credit){&now->user_ns, &before->user_ns};
    credits->all[credits->count++] = (struct credit){&now->kernel_ns, &before->kernel_ns};
    hp_floor(&now->samples, &before->samples);
}

/* All increases are scaled by the same factor to the time that is available. */
static void level(const struct credits *credits)
{
    uint64_t now = 0, before = 0, more = 0;
    for (size_t at = 0; at < credits->count; at++) {
        now += *credits->all[at].now;
        before += *credits->all[at].before;
        more += hp_less(*credits->all[at].now, *credits->all[at].before);
    }
    const double part = more > 0 ? (double)hp_less(now, before) / (double)more : 0;
    for (size_t at = 0; at < credits->count; at++) {
        const struct credit *credit = &credits->all[at];
        const uint64_t wanted = hp_less(*credit->now, *credit->before);
        *credit->before += hp_reduced(wanted, part);
        *credit->now = *credit->before;
    }
}

static void raise_to(uint64_t *to, uint64_t least)
{
    if (*to < least)
        *to = least;
}

/* Including inner zones, a site has at least its own time. */
static void keep_all(struct hp_site_cpu *now, struct hp_site_cpu *before)
{
    raise_to(&now->all.user_ns, now->own.user_ns);
    raise_to(&now->all.kernel_ns, now->own.kernel_ns);
    hp_floor(&now->all.user_ns, &before->all.user_ns);
    hp_floor(&now->all.kernel_ns, &before->all.kernel_ns);
    hp_floor(&now->all.samples, &before->all.samples);
}

static void add_up(struct hp_cpu *cpu, const struct credits *credits)
{
    cpu->total.user_ns = cpu->startup.user_ns;
    cpu->total.kernel_ns = cpu->startup.kernel_ns;
    for (size_t at = 0; at < credits->count; at += 2) {
        cpu->total.user_ns += *credits->all[at].now;
        cpu->total.kernel_ns += *credits->all[at + 1].now;
    }
}

/* Each path by itself: together they may slightly exceed their function. */
static bool keep_nodes(const struct hp_cpu *cpu, const struct hp_profile *profile)
{
    for (size_t at = 0; at < profile->node_count; at++) {
        const uint64_t key = hp_floors_mix(HP_FLOOR_CPU_PATH, profile->nodes[at]->key);
        struct hp_cpu_sums *now = &cpu->nodes[at],
                           *before = hp_floors_find(profile->run->floors, key, sizeof *before);
        if (before == NULL)
            return false;
        hp_floor(&now->user_ns, &before->user_ns);
        hp_floor(&now->kernel_ns, &before->kernel_ns);
        hp_floor(&now->samples, &before->samples);
    }
    return true;
}

bool hp_cpu_keep(struct hp_cpu *cpu, struct hp_arena *arena, const struct hp_profile *profile)
{
    struct hp_floors *floors = profile->run->floors;
    struct credits credits = {.all =
                                  hp_arena_take_array(arena, 2 * (profile->site_count + 1), sizeof *credits.all)};
    struct hp_site_cpu **before = hp_arena_take_array(arena, profile->site_count + 1, sizeof(void *));
    const uint64_t by_thread = profile->forest.is_by_thread;
    struct hp_cpu_sums *outside =
        hp_floors_find(floors, hp_floors_mix(HP_FLOOR_CPU_OUTSIDE, by_thread), sizeof *outside);
    if (credits.all == NULL || before == NULL || outside == NULL)
        return false;
    for (size_t at = 0; at < profile->site_count; at++) {
        before[at] = hp_floors_find(floors, hp_site_key(HP_FLOOR_CPU, profile->sites[at]), sizeof **before);
        if (before[at] == NULL)
            return false;
        add_credits(&credits, &cpu->sites[at].own, &before[at]->own);
    }
    add_credits(&credits, &cpu->outside, outside);
    level(&credits);
    for (size_t at = 0; at < profile->site_count; at++)
        keep_all(&cpu->sites[at], before[at]);
    add_up(cpu, &credits);
    return keep_nodes(cpu, profile);
}
