/* Opening and closing of sessions. SPDX-License-Identifier: MIT */
#include "lifecycle.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "allocations.h"
#include "arith.h"
#include "cpu.h"
#include "cpu_counter.h"
#include "hook_entries.h"
#include "instruction_clock.h"
#include "no_session.h"
#include "objects.h"
#include "path_threads.h"
#include "process.h"
#include "raw_call.h"
#include "runtime.h"
#include "sampler.h"
#include "session_dirs.h"
#include "sites.h"
#include "thread_context.h"
#include "threads.h"
#include "zone_stack.h"

/* -------------------------------------------------------------------------------------------------- calibration */

/*
 * The cost of measuring on this machine.
 *
 * Measures the cost of measuring on this machine, when a session starts.
 */

#define PASSES 64u
#define ROUNDS 9
#define QUICK_ROUNDS 3

/* A tiny session, private to the measurement. Offsets are relative to its start. */
struct miniature {
    unsigned char unused[HOTPATH_GATE_];
    uint32_t gate;
    uint32_t also_unused[3];
    struct hotpath_node_ root, node;
    struct hotpath_stat_ stat;
    uint64_t octave[256];
    struct hotpath_frame_ frames[4];
    struct hotpath_slot_ slots[4];
    struct hp_alloc_thread alloc;
    struct hp_thread_context context;
    struct hotpath_site site;
    uint64_t chain;
    int rounds; /* at most ROUNDS */
};

#define OFFSET(member) ((uint32_t)offsetof(struct miniature, member))
_Static_assert(OFFSET(stat) % 64 == 0, "flags stand beside offsets of stats");

static void build(struct miniature *mini)
{
    memset(mini, 0, sizeof *mini);
    for (uint32_t octave = 0; octave < HOTPATH_OCTAVES_; octave++)
        mini->stat.octaves[octave] = OFFSET(octave); /* any place will do */
    mini->frames[0].zone = UINT64_MAX;
    mini->frames[0].node = OFFSET(root);
    mini->frames[0].stat = HOTPATH_ALLOCATES_;
    mini->gate = 1;
    mini->context.alloc = &mini->alloc;
    mini->context.hot = (struct hotpath_context_){.id_limit = HOTPATH_IDS_,
                                                  .epoch = 1,
                                                  .top = mini->frames,
                                                  .last = mini->frames + 3,
                                                  .slots = mini->slots,
                                                  .base = (char *)mini,
                                                  .mask = 3 * sizeof(struct hotpath_slot_)};
}

/*
 * Files the first child of the root under its usual key, or under the key of sampled sites, none of whose calls is
 * timed here.
 */
static void choose_key(struct miniature *mini, bool is_timed)
{
    struct hotpath_slot_ *slot = hotpath_slot_of_(&mini->context.hot, OFFSET(root), 0);
    slot->key = (uint64_t)OFFSET(root) << 32 | (is_timed ? 0 : HOTPATH_SAMPLED_KEY_);
    slot->node = OFFSET(node);
    slot->stat = OFFSET(stat) | (is_timed ? 0 : HOTPATH_UNTIMED_);
    mini->stat.period = mini->stat.countdown = UINT32_MAX;
    mini->node.calls = mini->node.total = 0;
}

/* --------------------------------------------------------------------------------------------- what is measured */

static void try_zones(struct miniature *mini)
{
    for (uint32_t pass = 0; pass < PASSES; pass++) {
        struct hotpath_zone zone = {hotpath_open_(&zone, &mini->site)};
        hotpath_close_(&zone);
    }
}

/*
 * Each step depends on the one before, so a CPU has time for other things meanwhile. Longer than a zone, and
 * without a loop: the CPU would have to learn when it ends.
 */
#define STEP (x ^= x << 13, x ^= x >> 7, x ^= x << 17)
#define STEPS (STEP, STEP, STEP, STEP, STEP, STEP, STEP, STEP)

static uint64_t compute(uint64_t x)
{
    STEPS;
    STEPS;
    STEPS;
    return x;
}

static void try_zones_with_work(struct miniature *mini)
{
    for (uint32_t pass = 0; pass < PASSES; pass++) {
        struct hotpath_zone zone = {hotpath_open_(&zone, &mini->site)};
        mini->chain = compute(mini->chain);
        hotpath_close_(&zone);
    }
}

static void try_work(struct miniature *mini)
{
    for (uint32_t pass = 0; pass < PASSES; pass++)
        mini->chain = compute(mini->chain);
}

static void try_functions(struct miniature *mini) { hp_functions_rehearse(&mini->site, PASSES); }

/* Called as from malloc and free, which are in another library. */
static void try_allocations(struct miniature *mini)
{
    __typeof__(hotpath_v1_allocated) *volatile allocated = hotpath_v1_allocated;
    __typeof__(hotpath_v1_freed) *volatile freed = hotpath_v1_freed;
    const uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
    for (uint32_t pass = 0; pass < PASSES; pass++) {
        allocated(mini, 1, 1, stack);
        freed(mini, 1, stack);
    }
}

/* ---------------------------------------------------------------------------------------------------- measuring */

typedef void try_things(struct miniature *mini);

struct taken {
    uint64_t ns, ticks;
    uint64_t inside; /* ticks that the zones themselves recorded */
};

static struct taken take_once(struct miniature *mini, try_things *things, bool is_timed)
{
    choose_key(mini, is_timed);
    const uint64_t from_ns = hp_clock_monotonic_ns();
    const uint64_t from = hotpath_ticks_();
    things(mini);
    const uint64_t ticks = hotpath_ticks_() - from;
    return (struct taken){hp_clock_monotonic_ns() - from_ns, ticks, mini->node.total};
}

/*
 * The median of a few rounds, so that a page fault or a preempted round does not inflate the cost. The minimum
 * would be the cost on an otherwise idle core, which is not how programs run.
 */
static struct taken take_median(struct miniature *mini, try_things *things, bool is_timed)
{
    struct taken sorted[ROUNDS];
    for (int round = 0; round < mini->rounds; round++) {
        const struct taken taken = take_once(mini, things, is_timed);
        int at = round;
        for (; at > 0 && sorted[at - 1].ns > taken.ns; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = taken;
    }
    return sorted[mini->rounds / 2];
}

static uint64_t median_ps(struct miniature *mini, try_things *things, bool is_timed)
{
    return take_median(mini, things, is_timed).ns * 1000 / PASSES;
}

/* In twentieths. What a disturbed round says is more. */
#define MOST_HIDDEN 11u

/* By how much a zone is cheaper around work that leaves the CPU time for it. No zone is free. */
static uint64_t hidden_ps(struct miniature *mini, uint64_t zone_ps)
{
    mini->chain = 1;
    const uint64_t both = median_ps(mini, try_zones_with_work, true), work = median_ps(mini, try_work, true);
    const uint64_t hidden = hp_less(zone_ps, hp_less(both, work));
    return hidden < zone_ps / 20 * MOST_HIDDEN ? hidden : zone_ps / 20 * MOST_HIDDEN;
}

/* Zones that cannot use the time stamp counter read the slower clock twice each. */
static uint64_t extra_clock_ps(void)
{
    if (hp_runtime->counter != HP_COUNTER_NONE)
        return 0;
    const uint64_t from = hp_clock_monotonic_ns();
    for (int reads = 0; reads < 100; reads++)
        hp_clock_monotonic_ns();
    return (hp_clock_monotonic_ns() - from) * 1000 / 100;
}

static struct hp_zone_cost zone_cost(struct miniature *mini)
{
    const struct taken median = take_median(mini, try_zones, true);
    const uint64_t extra_ps = extra_clock_ps();
    const double ns_per_tick = median.ticks > 0 ? (double)median.ns / (double)median.ticks : 0;
    return (struct hp_zone_cost){
        .ps = median.ns * 1000 / PASSES + 2 * extra_ps,
        .inner_ps = (uint64_t)((double)median.inside * ns_per_tick * 1000 / PASSES) + extra_ps,
        .ticks = median.ticks / PASSES,
        .inner_ticks = median.inside / PASSES,
        .hidden_ps = hidden_ps(mini, median.ns * 1000 / PASSES),
        .counted_ps = median_ps(mini, try_zones, false),
        .function_ps = median_ps(mini, try_functions, true) + 2 * extra_ps,
        .function_counted_ps = median_ps(mini, try_functions, false),
        .alloc_ps = median_ps(mini, try_allocations, true),
    };
}

/*
 * The same if the CPU counts instructions: those of a zone, in thousandths where there are picoseconds else. It
 * takes the slow path, as all do then.
 */
static struct hp_zone_cost counted_cost(struct miniature *mini)
{
    uint64_t least = UINT64_MAX, inside = 0;
    mini->gate |= HP_GATE_OUT_OF_LINE;
    mini->node.stat = OFFSET(stat);
    for (int round = 0; round < mini->rounds; round++) {
        choose_key(mini, true);
        const uint64_t from = hp_instruction_clock_read();
        try_zones(mini);
        const uint64_t all = hp_instruction_clock_read() - from;
        if (all < least)
            least = all, inside = mini->node.total;
    }
    return (struct hp_zone_cost){.ps = least * 1000 / PASSES,
                                 .inner_ps = inside * 1000 / PASSES,
                                 .ticks = least / PASSES,
                                 .inner_ticks = inside / PASSES};
}

/* Measures the cost of a zone and the other costs; quickly if there may never be a zone. Signals are blocked. */
static struct hp_zone_cost zones_calibrate(bool is_quick)
{
    struct miniature mini;
    struct hotpath_context_ *before = hotpath_v1_context;
    build(&mini);
    mini.rounds = is_quick ? QUICK_ROUNDS : ROUNDS;
    hotpath_v1_context = &mini.context.hot;
    const struct hp_zone_cost cost = hp_cpu_counter_is_on() ? counted_cost(&mini) : zone_cost(&mini);
    hotpath_v1_context = before;
    return cost;
}

/* ------------------------------------------------------------------------------------------------------ opening */

#ifdef __clang__
#define HP_COMPILER __VERSION__
#else
#define HP_COMPILER "gcc " __VERSION__
#endif

typedef void describe(char *text, size_t size);

static uint32_t described(struct hp_store *store, describe *fact)
{
    char text[1024];
    fact(text, sizeof text);
    return hp_store_text(store, text);
}

/* What counts instructions, and the C library, which chooses its functions by the CPU. */
static void describe_engine(char *text, size_t size)
{
    char cpu[100];
    const char *engine = hp_environment(HP_RUN_ENGINE);
    size_t length = engine != NULL ? strlen(engine) : 0;
    struct hp_text line;
    while (length > 0 && engine[length - 1] == ' ')
        length--;
    hp_text_init(&line, text, size);
    if (hp_cpu_counter_is_on()) {
        hp_process_cpu(cpu, sizeof cpu);
        hp_text_format(&line, HP_ENGINE_IS_CPU "%s", cpu);
    } else {
        hp_text_bytes(&line, engine, length);
    }
#ifdef __GLIBC__
    hp_text_string(&line, ", glibc ");
    hp_text_string(&line, gnu_get_libc_version());
#else
    hp_text_string(&line, ", another C library");
#endif
    hp_text_end(&line);
}

static enum hp_storage storage_of(const struct hp_store *store)
{
    if (!store->is_memory)
        return HP_STORAGE_FILE;
    return store->is_foreign ? HP_STORAGE_NO_FOLDER : HP_STORAGE_MEMORY;
}

static void fill_header(struct hp_session *session)
{
    struct hp_store *store = &session->store;
    struct hp_header *header = hp_store_header(store);
    header->features = HP_FEATURE_TIMING |
                       (__atomic_load_n(&hp_runtime->alloc_is_watched, __ATOMIC_RELAXED) ? HP_FEATURE_COUNTED : 0);
    header->state = HP_STATE_LIVE;
    header->storage = storage_of(store);
    header->pid = hp_sys_process_id();
    header->parent_pid = (uint32_t)getppid();
    header->process_start = hp_process_start_time(0);
    header->pid_namespace = hp_process_namespace();
    header->exec_count = store->number;
    header->main_site = HOTPATH_ID_NEW_;
    header->wall_start_ns = hp_clock_wall_ns();
    hp_process_boot_id(header->boot_id);
    header->clock_kind = hp_clock_kind_of(hp_runtime->counter);
    header->cores = hp_process_cores();
    header->command = described(store, hp_process_command);
    header->executable = described(store, hp_process_executable);
    header->host = described(store, hp_process_host);
    header->system = described(store, hp_process_system);
    if (hp_runtime->counter == HP_COUNTER_INSTRUCTIONS)
        header->engine = described(store, describe_engine);
    header->label = hp_store_text(store, session->settings.record.label);
    header->metadata = hp_store_text(store, session->settings.record.metadata);
    header->time_period = session->settings.record.time_period;
    header->filter = hp_store_text(store, session->settings.record.filter);
    header->skip = hp_store_text(store, session->settings.record.skip);
    header->library = hp_store_text(store, "hotpath " HOTPATH_VERSION ", " HP_COMPILER);
}

struct hp_session *hp_session_prepare(const struct hp_settings *settings)
{
    struct hp_session *session = hp_session_make(settings);
    if (session != NULL)
        fill_header(session);
    return session;
}

/* Readers may be active. */
static void note_zone_cost(struct hp_header *header)
{
    const struct hp_zone_cost *cost = &hp_runtime->zone_cost;
    __atomic_store_n(&header->zone_cost_ps, cost->ps, __ATOMIC_RELAXED);
    __atomic_store_n(&header->zone_inner_ps, cost->inner_ps, __ATOMIC_RELAXED);
    __atomic_store_n(&header->hidden_cost_ps, cost->hidden_ps, __ATOMIC_RELAXED);
    __atomic_store_n(&header->counted_cost_ps, cost->counted_ps, __ATOMIC_RELAXED);
    __atomic_store_n(&header->function_cost_ps, cost->function_ps, __ATOMIC_RELAXED);
    __atomic_store_n(&header->function_counted_ps, cost->function_counted_ps, __ATOMIC_RELAXED);
    __atomic_store_n(&header->alloc_cost_ps, cost->alloc_ps, __ATOMIC_RELAXED);
}

/* Word by word: recording threads read some of it. */
static void set_zone_cost(const struct hp_zone_cost *cost)
{
    const uint64_t *from = (const uint64_t *)(const void *)cost;
    uint64_t *to = (uint64_t *)(void *)&hp_runtime->zone_cost;
    for (size_t at = 0; at < sizeof *cost / sizeof *to; at++)
        HOTPATH_PUT_(to[at], from[at]);
}

void hp_zone_cost_measure(bool is_quick)
{
    struct hp_signals held;
    const uint32_t wanted = is_quick ? 1 : 2;
    const bool are_left_out = hp_runtime->counter == HP_COUNTER_INSTRUCTIONS && !hp_cpu_counter_is_on();
    if (are_left_out || /* by QEMU */
        __atomic_load_n(&hp_runtime->calibrated, __ATOMIC_RELAXED) >= wanted ||
        __atomic_exchange_n(&hp_runtime->calibrated, wanted, __ATOMIC_RELAXED) >= wanted)
        return;
    hp_signals_hold(&held);
    const struct hp_zone_cost cost = zones_calibrate(is_quick);
    hp_signals_release(&held);
    if (!hp_lock(&held))
        return;
    set_zone_cost(&cost);
    if (hp_is_active())
        note_zone_cost(hp_store_header(hp_runtime->store));
    hp_unlock(&held);
}

/*
 * Allocates everything that recording may need from the kernel besides the store, so that it makes no system call
 * later.
 */
static void reserve_everything(void)
{
    hp_sites_reserve();
    hp_objects_reserve();
    hp_thread_reserve();
    hp_seal(true);
}

void hp_session_use_settings(const struct hp_settings *settings)
{
    struct hp_live_settings *live_settings = &hp_runtime->live_settings;
    const bool is_of_time = hp_runtime->counter != HP_COUNTER_INSTRUCTIONS; /* else measuring costs nothing */
    hp_settings_copy(&hp_runtime->settings, settings);
    HOTPATH_PUT_(live_settings->record, settings->record.kinds);
    HOTPATH_PUT_(live_settings->time_period, settings->record.time_period);
    HOTPATH_PUT_(live_settings->measuring_bound, is_of_time ? settings->record.measuring_bound : 0);
    HOTPATH_PUT_(live_settings->logs_limit, settings->record.logs_limit);
    HOTPATH_PUT_(live_settings->reserve, settings->record.reserve);
    HOTPATH_PUT_(live_settings->alloc_stacks, settings->record.is_run ? settings->record.alloc_stacks : 0);
    HOTPATH_PUT_(live_settings->path,
                 settings->record.path && !settings->record.reserve && !hp_process_has_valgrind());
}

/* Tells zones and malloc whether anything is recorded. */
static void switch_off(bool is_off)
{
    hp_skip_zones(is_off);
    hp_allocations_switch();
}

void hp_session_open(struct hp_session *session)
{
    struct hp_header *header = hp_store_header(&session->store);
    hp_seal(false);
    __atomic_store_n(&hp_runtime->epoch, hp_epoch() + 1, __ATOMIC_RELAXED);
    hp_runtime->store = &session->store;
    note_zone_cost(header);
    hp_clock_pair(hp_runtime->counter, &header->clock_start.ticks, &header->clock_start.ns);
    header->clock_latest = header->clock_start;
    hp_wait_thread_begin();
    hp_paths_begin(hp_runtime->store);
    hp_sites_begin();
    hp_sampler_begin();
    hp_deferral_backdate(header);
    if (hp_runtime->settings.record.reserve)
        hp_store_reserve_all(hp_runtime->store);
    header->gate = hp_epoch() | (hp_counter_is_inline(hp_runtime->counter) ? 0 : HP_GATE_OUT_OF_LINE);
    /* The magic makes the file a session. Release: a reader that sees the magic sees the rest. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(header->magic, HP_MAGIC, sizeof header->magic);
    hp_session_link(session); /* everything is filled in: from now on anyone may hold it */
    __atomic_store_n(&hp_runtime->gate, hp_epoch(), __ATOMIC_RELEASE);
    switch_off(false);
    if (hp_runtime->settings.record.reserve)
        reserve_everything();
}

bool hp_is_of_past_run(const struct hp_record_settings *settings)
{
    return settings->is_run && hp_session_dir_is_of_past_run(settings->dir);
}

/* A forked child has its parent's state, but none of its threads. Under the lock. */
static void forget_parent(void)
{
    hp_page()->is_ours = 1;
    hp_page()->pid = hp_sys_process_id();
    __atomic_store_n(&hp_runtime->is_child, true, __ATOMIC_RELAXED);
    hp_runtime->owner = NULL;
    hotpath_v1_context = &hp_no_context;
}

static void stay_closed(void)
{
    hp_runtime->gate = 0;
    switch_off(true);
}

/* In another root directory /proc may be missing, where this is read. */
static void inherit_boot(struct hp_session *session, const struct hp_session *parent)
{
    static const unsigned char unknown[sizeof((struct hp_header *)0)->boot_id];
    struct hp_header *header = hp_store_header(&session->store);
    if (memcmp(header->boot_id, unknown, sizeof unknown) == 0)
        memcpy(header->boot_id, hp_store_header(&parent->store)->boot_id, sizeof unknown);
}

bool hp_session_begin_child(void)
{
    const uint64_t began_ns = hp_clock_thread_ns();
    struct hp_session *parent = hp_runtime->session;
    forget_parent();
    if (!hp_is_active() || parent == NULL)
        return false;
    const bool is_wanted = !hp_is_of_past_run(&hp_runtime->settings.record);
    struct hp_session *session = is_wanted ? hp_session_prepare(&hp_runtime->settings) : NULL;
    /* Neither a file nor memory of `hotpath run`: then no reader sees it. */
    if (is_wanted && (session == NULL || (session->store.is_memory && !parent->store.is_memory)))
        hp_store_lose(&parent->store, HP_LOSS_CHILDREN, 1);
    if (session != NULL)
        inherit_boot(session, parent);
    hp_sessions_forget(session);
    hp_runtime->used_before_ns = began_ns;
    if (session != NULL)
        hp_session_open(session);
    else
        stay_closed();
    if (session != NULL)
        HOTPATH_PUT_(hp_store_header(&session->store)->session_ns, hp_clock_thread_ns() - began_ns);
    hp_runtime->has_to_prune = session != NULL;
    return session != NULL;
}

void hp_session_leave_parents(void)
{
    forget_parent();
    stay_closed();
    hp_sessions_forget(NULL);
}

/* What the process used, so that readers can relate the cost of measuring to it. */
static void note_use(struct hp_header *header)
{
    const struct hp_cpu_time used = hp_cpu_of_process();
    const bool is_sampled = header->cpu_engine != HP_CPU_NONE;
    HOTPATH_PUT_(header->used_ns, hp_less(used.ns, is_sampled ? header->cpu_start_ns : hp_runtime->used_before_ns));
    HOTPATH_PUT_(header->preempted, hp_less(used.switches, used.waits));
    HOTPATH_PUT_(header->switches, used.switches);
}

void hp_session_close(void)
{
    struct hp_header *header = hp_store_header(hp_runtime->store);
    const bool may_call = !hp_header_is_sandboxed(header) && !hp_thread_is_blind();
    const uint64_t began_ns = may_call ? hp_clock_thread_ns() : 0;
    hp_sampler_end();
    hp_functions_end_session();
    hp_life_end_present();
    hp_session_touch(hp_runtime->store);
    hp_session_note_doubts(hp_runtime->store);
    __atomic_store_n(&hp_runtime->gate, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&header->gate, 0, __ATOMIC_RELAXED);
    switch_off(true);
    if (may_call) {
        note_use(header);
        HOTPATH_ADD_(header->session_ns, hp_clock_thread_ns() - began_ns);
    }
    __atomic_store_n(&header->state, HP_STATE_FINISHED, __ATOMIC_RELEASE);
    hp_runtime->owner = NULL;
    hp_seal(false);
}
