/*
 * Event loops: HOTPATH_LOOP_WAIT, and loops that the library preloaded by `hotpath run` detects in unmodified
 * programs.
 *
 * A turn is what a thread does from the end of a wait to the next wait of the same loop; until then it notices no
 * new event. An event at a random time falls into a turn in proportion to the turn's length, and waits half of it
 * on average. So the sum of the squares of turns gives the mean waiting time of events; it is kept here without
 * loss. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "arith.h"
#include "guards.h"
#include "hook_entries.h"
#include "images.h"
#include "instances.h"
#include "no_session.h"
#include "object_layout.h"
#include "path_threads.h"
#include "runtime.h"
#include "text.h"
#include "thread_context.h"
#include "threads.h"
#include "tree.h"
#include "zone_stack.h"

static const struct hp_kind_type loop_kind = {
    .name = "loop",
    .title = "Loop",
    .flags = HP_KIND_OWN_TABLE | HP_KIND_BY_NAME,
    .goes_on = true, /* only to end what began before: see next_state */
    .counters = {[HP_LOOP_TURNS] = {"turns", "Turns", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [HP_LOOP_EVENTS] = {"events", "Events", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [HP_LOOP_WAITS] = {"waits", "Waits", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [HP_LOOP_BUSY] = {"busy_ns", "Busy", HOTPATH_UNIT_NS, HP_MERGE_SUM},
                 [HP_LOOP_WAITED] = {"waited_ns", "Waited", HOTPATH_UNIT_NS, HP_MERGE_SUM},
                 [HP_LOOP_LONGEST] = {"longest_ns", "Longest", HOTPATH_UNIT_NS, HP_MERGE_MOST},
                 [HP_LOOP_LONGEST_SINCE] = {"longest_since", "Longest At", HOTPATH_UNIT_NS, HP_MERGE_NONE},
                 [HP_LOOP_SQUARES_LOW] = {"squares_low", "Squares", HOTPATH_UNIT_NUMBER, HP_MERGE_NONE},
                 [HP_LOOP_SQUARES_HIGH] = {"squares_high", "Squares", HOTPATH_UNIT_NUMBER, HP_MERGE_NONE},
                 [HP_LOOP_LONGEST_INSIDE] = {"longest_inside", "Callback", HOTPATH_UNIT_NS, HP_MERGE_NONE}},
    .histograms = {[HP_LOOP_TURN_TICKS] = {"turn", "Turn", HOTPATH_UNIT_NS, HP_MERGE_SUM}},
};

/* ------------------------------------------------------------------------------------- the callback of a turn */

/*
 * Which callback a turn of an event loop was spent in.
 *
 * Zones tell, by what their nodes of the call tree have gained. Callbacks are the outermost zones of a turn: nodes
 * directly below those that were open when it began, or that are open when it ends. Their totals at the last check
 * are kept per thread. Checking every turn would cost more than everything else, so ending turns are checked eight
 * times per millisecond, and whenever one is the longest so far. Then what does not belong to the turn is short
 * compared with it, or is seen not to be.
 *
 * Zones that were open when the turn began were open during the wait, too, and do not count.
 */

/* The zone that took most of a turn. */
struct callback {
    uint32_t node; /* 0: unknown */
    uint64_t ticks;
};

#define LOOKS_PER_MS 8u
#define WORTH 64u       /* at most 1/WORTH of the time is spent on that */
#define MOST_NODES 128u /* nodes to check */
#define DEEPEST 32u     /* nesting depth of open zones */
#define OTHERS 16u      /* at most 1/OTHERS of the turn may be time of other turns */

struct sum {
    uint32_t node;
    uint64_t total;
};

struct table {
    uint32_t epoch; /* session it belongs to */
    uint32_t count;
    bool is_full; /* there were more nodes than fit */
    struct sum sums[MOST_NODES];
};

/* The open nodes. */
struct path {
    uint32_t nodes[2 * DEEPEST];
    uint32_t count;
};

struct hp_turn_sums {
    uint32_t latest; /* index of the table of the last check; the other is for the next */
    struct table tables[2];
    struct path path; /* of this check; here, since the program's stack may be small */
};

static bool is_on(const struct path *path, uint32_t node)
{
    for (uint32_t at = 0; at < path->count; at++)
        if (path->nodes[at] == node)
            return true;
    return false;
}

static void add_path(const struct hp_thread_context *context, struct path *path, uint32_t node)
{
    for (uint32_t steps = 0; node != 0 && steps < DEEPEST; steps++, node = hp_node_at(context, node)->parent)
        if (!is_on(path, node))
            path->nodes[path->count++] = node;
}

/* A node's total at the last check. False: unknown. A node that did not exist then had zero. */
static bool had(const struct table *before, uint32_t hint, uint32_t node, uint64_t *ret_total)
{
    *ret_total = 0;
    if (hint < before->count && before->sums[hint].node == node) {
        *ret_total = before->sums[hint].total;
        return true;
    }
    for (uint32_t at = 0; at < before->count; at++)
        if (before->sums[at].node == node) {
            *ret_total = before->sums[at].total;
            return true;
        }
    return !before->is_full;
}

static void look_at(const struct hp_thread_context *context, const struct table *before, uint32_t node,
                    struct table *after, struct callback *most)
{
    const struct hotpath_node_ *its = hp_node_at(context, node);
    const uint64_t total = its->total - its->nested;
    uint64_t then;
    if (had(before, after->count, node, &then) && total - then > most->ticks)
        *most = (struct callback){node, total - then};
    if (after->count == MOST_NODES)
        after->is_full = true;
    else
        after->sums[after->count++] = (struct sum){node, total};
}

static __attribute__((noinline)) struct callback look(const struct hp_thread_context *context, uint32_t began_at,
                                                      struct hp_turn_sums *sums)
{
    const struct table *before = &sums->tables[sums->latest];
    struct table *after = &sums->tables[1 - sums->latest];
    struct callback most = {0};
    struct path *path = &sums->path;
    path->count = 0;
    after->epoch = context->hot.epoch;
    after->count = 0;
    after->is_full = false;
    add_path(context, path, context->hot.top->node);
    add_path(context, path, began_at);
    for (uint32_t at = 0; at < path->count; at++)
        for (uint32_t node = hp_node_at(context, path->nodes[at])->first_child; node != 0 && !after->is_full;
             node = hp_node_at(context, node)->next_sibling)
            if (!is_on(path, node))
                look_at(context, before, node, after, &most);
    sums->latest = 1 - sums->latest;
    return before->epoch == context->hot.epoch ? most : (struct callback){0};
}

/*
 * At the end of a turn with this duration that began at this node (0: none): finds its callback, and saves the
 * totals for the next one.
 */
static __attribute__((noinline)) struct callback look_for_callback(struct hp_thread_context *context,
                                                                   uint32_t began_at, uint64_t turn, uint64_t now)
{
    if (context->turn_sums == NULL)
        context->turn_sums = hp_more_memory(sizeof(struct hp_turn_sums));
    if (context->turn_sums == NULL)
        return (struct callback){0};
    struct callback callback = look(context, began_at, context->turn_sums);
    context->turn_look = now + hp_ticks_per_ms(context) / LOOKS_PER_MS + WORTH * (hp_now() - now);
    if (callback.ticks > turn + turn / OTHERS)
        return (struct callback){0};
    callback.ticks = callback.ticks < turn ? callback.ticks : turn;
    return callback;
}

/* Whether the last check is so long ago that the gains since would not describe a single turn. */
static inline bool look_is_due(const struct hp_thread_context *context, uint64_t now)
{
    return now > context->turn_look;
}

/* ------------------------------------------------------------------------------------------------- counting */

static inline uint64_t since(const struct hp_part *part, uint64_t now) { return hp_less(now, part->last); }

static inline void add_to_squares(struct hp_part *part, uint64_t low, uint64_t high)
{
    uint64_t sum;
    high += __builtin_add_overflow(part->count[HP_LOOP_SQUARES_LOW], low, &sum);
    HOTPATH_PUT_(part->count[HP_LOOP_SQUARES_LOW], sum);
    if (high != 0)
        HOTPATH_ADD_(part->count[HP_LOOP_SQUARES_HIGH], high);
}

/* (a * 2^32 + b)^2 in halves, since not all machines have 128-bit integers. */
static inline void add_square(struct hp_part *part, uint64_t turn)
{
    const uint64_t high = turn >> 32, low = turn & UINT32_MAX;
    add_to_squares(part, low * low, 0);
    if (__builtin_expect(high != 0, 0)) {
        const uint64_t middle = high * low; /* times 2^33 */
        add_to_squares(part, middle << 33, (middle >> 31) + high * high);
    }
}

static inline void add_turn(struct hp_part *part, uint64_t now, uint64_t turn, const struct callback *callback)
{
    HOTPATH_ADD_(part->count[HP_LOOP_TURNS], 1);
    HOTPATH_ADD_(part->count[HP_LOOP_BUSY], turn);
    add_square(part, turn);
    if (turn > part->count[HP_LOOP_LONGEST]) {
        HOTPATH_PUT_(part->count[HP_LOOP_LONGEST], turn);
        HOTPATH_PUT_(part->count[HP_LOOP_LONGEST_SINCE], now - turn);
        HOTPATH_PUT_(part->count[HP_LOOP_LONGEST_INSIDE], callback->ticks);
        HOTPATH_PUT_(part->node, callback->node);
    }
}

static inline void enter(struct hp_part *part, enum hp_loop_state state, uint64_t now)
{
    hp_part_meet(part, now);
    HOTPATH_PUT_(part->flags, state);
    HOTPATH_PUT_(part->last, now);
}

/* Ends a turn, if there is one: a wait that was left by a jump is not counted. */
static void leave_turn(const struct hp_object_use *use, enum hp_loop_state next)
{
    struct hp_part *part = use->part;
    const uint64_t now = use->now, turn = since(part, now);
    const bool is_turn = part->flags == HP_LOOP_TURNING;
    struct callback callback = {0};
    if (__builtin_expect((is_turn && turn > part->count[HP_LOOP_LONGEST]) || look_is_due(use->context, now), 0))
        callback = look_for_callback(use->context, (uint32_t)part->own, turn, now);
    const uint32_t sequence = hp_part_change(part);
    if (is_turn)
        add_turn(part, now, turn, &callback);
    enter(part, next, now);
    hp_part_changed(part, sequence);
    if (is_turn)
        hp_object_distribute(use, HP_LOOP_TURN_TICKS, (double)(int64_t)turn);
}

/* While recording is paused, the turn or wait that began before ends, and none begins. */
static inline enum hp_loop_state next_state(const struct hp_object_use *use, enum hp_loop_state next)
{
    return HOTPATH_LIKELY_(!hp_object_is_paused(use)) ? next : HP_LOOP_OUT;
}

static inline void leave_wait(const struct hp_object_use *use, uint64_t events)
{
    struct hp_part *part = use->part;
    const uint64_t now = use->now;
    part->own = use->context->hot.top->node; /* where the turn begins */
    const uint32_t sequence = hp_part_change(part);
    if (part->flags == HP_LOOP_WAITING) {
        HOTPATH_ADD_(part->count[HP_LOOP_WAITS], 1);
        HOTPATH_ADD_(part->count[HP_LOOP_WAITED], since(part, now));
        HOTPATH_ADD_(part->count[HP_LOOP_EVENTS], events);
    }
    enter(part, next_state(use, HP_LOOP_TURNING), now);
    hp_part_changed(part, sequence);
}

/* ------------------------------------------------------------------------------------- entry points of macros */

/*
 * A wait inside a wait is not another loop: a wait that the program reports is often detected as well, one wait
 * function may call another, and a handler may interrupt both. The stack address tells whether it is inside, since
 * a jump may have left the outer wait.
 */
void hotpath_v1_loop_wait(struct hotpath_loop_wait_ *ret_wait, struct hotpath_site *site)
{
    struct hp_object_use use;
    if (!hp_object_begin(site, &loop_kind, &use))
        return;
    const enum hp_loop_state next = next_state(&use, HP_LOOP_WAITING);
    leave_turn(&use, next);
    if (HOTPATH_LIKELY_(next == HP_LOOP_WAITING)) {
        *ret_wait = (struct hotpath_loop_wait_){site, use.now};
        hp_guard_open(ret_wait, use.now);
        use.context->loop_wait = HP_STACK_PLACE();
    }
    hp_object_end(&use);
}

void hotpath_v1_loop_waited(const struct hotpath_loop_wait_ *wait)
{
    struct hp_object_use use;
    if (!hp_guard_close(wait, wait->since) || !hp_object_begin(wait->site, &loop_kind, &use))
        return;
    use.context->loop_wait = 0;
    leave_wait(&use, 0);
    if (hp_paths_are_on())
        hp_path_arrive(use.context, use.now);
    hp_object_end(&use);
}

/* ----------------------------------------------------------------------- entry points of the preloaded library */

/* Only while recording: a detected loop must not count as an unrecorded zone (no_session.c). */
static inline bool begin(struct hotpath_site *site, const void *loop, struct hp_instance_use *ret_use)
{
    return hp_has_session() && hp_instance_begin(site, &loop_kind, loop, ret_use);
}

static __attribute__((noinline)) bool begin_new(struct hotpath_loop_ *loop, struct hp_object_use *ret_use)
{
    struct hp_instance_use use;
    if (!begin(loop->site, loop->loop, &use))
        return false;
    *ret_use = (struct hp_object_use){use.class_.context, use.part, use.class_.now};
    loop->context = ret_use->context;
    loop->epoch = ret_use->context->hot.epoch;
    loop->part = (uint32_t)((const char *)use.part - ret_use->context->hot.base);
    return true;
}

/*
 * The part that the thread used last: parts stay valid as long as the session, and instances of loops do not end.
 */
static inline bool begin_again(struct hotpath_loop_ *loop, struct hp_object_use *ret_use)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    if (HOTPATH_LIKELY_(context == loop->context && !hp_context_is_held(&context->hot))) {
        hp_context_hold(&context->hot);
        if (HOTPATH_LIKELY_(hp_context_has_session(&context->hot) && context->hot.epoch == loop->epoch)) {
            const uint64_t now = hp_object_now();
            *ret_use =
                (struct hp_object_use){context, (struct hp_part *)(void *)(context->hot.base + loop->part), now};
            return true;
        }
        hp_context_let_go(&context->hot);
    }
    return begin_new(loop, ret_use);
}

int hotpath_v1_loop_waits(struct hotpath_loop_ *loop)
{
    struct hp_object_use use;
    if (!begin_again(loop, &use)) {
        loop->is_missed = 1;
        return 0;
    }
    if (__builtin_expect(loop->is_missed != 0,
                         0)) { /* recording was off for a while: what began before is not a turn */
        HOTPATH_PUT_(use.part->flags, HP_LOOP_OUT);
        loop->is_missed = 0;
    }
    const bool is_inside = HP_STACK_PLACE() < use.context->loop_wait;
    const enum hp_loop_state next = next_state(&use, HP_LOOP_WAITING);
    if (!is_inside) {
        use.context->loop_wait = next == HP_LOOP_WAITING ? HP_STACK_PLACE() : 0;
        leave_turn(&use, next);
    }
    hp_object_end(&use);
    return !is_inside && next == HP_LOOP_WAITING;
}

void hotpath_v1_loop_woke(struct hotpath_loop_ *loop, uint64_t events)
{
    struct hp_object_use use;
    if (!begin_again(loop, &use))
        return;
    use.context->loop_wait = 0;
    leave_wait(&use, events);
    if (events > 0 && hp_paths_are_on())
        hp_path_arrive(use.context, use.now);
    hp_object_end(&use);
}

/* --- when loops begin and end */

void hotpath_v1_loop_begin(struct hotpath_site *site, const void *loop)
{
    struct hp_instance_use use;
    if (!begin(site, loop, &use))
        return;
    use.part->own = use.class_.context->hot.top->node;
    const uint32_t sequence = hp_part_change(use.part);
    enter(use.part, next_state(&use.class_, HP_LOOP_TURNING), use.class_.now);
    hp_part_changed(use.part, sequence);
    hp_object_end(&use.class_);
}

void hotpath_v1_loop_end(struct hotpath_site *site, const void *loop)
{
    struct hp_instance_use use;
    if (!begin(site, loop, &use))
        return;
    leave_turn(&(struct hp_object_use){use.class_.context, use.part, use.class_.now}, HP_LOOP_OUT);
    hp_object_end(&use.class_);
}

/* ---------------------------------------------------------------------------------------------- places of waits */

/*
 * Places in code that wait in an event loop: "epoll_wait in main". The preloaded library knows the return address
 * of a wait. Its name is looked up once, in the files of the program and its libraries, and kept for the life of
 * the process. Later lookups are fast: the table only grows, under the lock, and an entry is valid once its address
 * is set.
 */

#define PLACES 256u /* a power of two; further places are not recorded */
#define LONGEST_NAME 128u
#define GONE 1u /* its library was closed */

struct place {
    uintptr_t caller; /* atomic; 0: free; GONE */
    const char *wait;
    struct hotpath_site site;
    char name[LONGEST_NAME], image[LONGEST_NAME / 2];
};
static struct place *places; /* atomic; NULL until the first place */

static size_t first_place(uintptr_t caller) { return (size_t)((caller * UINT64_C(0x9e3779b97f4a7c15)) >> 56); }

static struct place *find(uintptr_t caller, const char *wait)
{
    struct place *const all = __atomic_load_n(&places, __ATOMIC_ACQUIRE);
    size_t at = first_place(caller);
    for (size_t steps = 0; all != NULL && steps < PLACES; steps++, at = (at + 1) & (PLACES - 1)) {
        const uintptr_t there = __atomic_load_n(&all[at].caller, __ATOMIC_ACQUIRE); /* pairs with add */
        if (there == 0 || (there == caller && all[at].wait == wait))
            return &all[at];
    }
    return NULL;
}

/* ---------------------------------------------------------------------------------------- names, under the lock */

static void put_offset(struct hp_text *text, uint64_t offset)
{
    unsigned digits = 1;
    while (digits < 8 && offset >> (4 * digits) != 0)
        digits++;
    hp_text_string(text, "+0x");
    hp_text_hex(text, (uint32_t)offset, digits);
}

/*
 * What users call an image: its file without folders, or the link to that file by which the program was started.
 * The path that a program was started by may not be its file's at all: that of a script is not.
 */
static const char *name_of_image(const char *path)
{
    static char link[512];
    struct stat of_file, of_link;
    struct hp_text text;
    const char *name = hp_text_base_name(path);
    const char *start = (const char *)getauxval(AT_EXECFN); /* NOLINT(performance-no-int-to-ptr) */
    if (start == NULL || strcmp(hp_text_base_name(start), name) == 0)
        return name;
    hp_text_init(&text, link, sizeof link);
    hp_text_bytes(&text, path, (size_t)(name - path));
    hp_text_string(&text, hp_text_base_name(start));
    const bool is_link = stat(path, &of_file) == 0 && stat(hp_text_end(&text), &of_link) == 0 &&
                         of_file.st_ino == of_link.st_ino && of_file.st_dev == of_link.st_dev;
    return is_link ? hp_text_base_name(link) : name;
}

/* Reads a file, which is not possible if system calls may be fatal. */
static void put_function(struct hp_text *text, struct place *place, uintptr_t caller)
{
    struct hp_symbol symbol;
    const char *path = "";
    uint64_t offset = 0;
    struct hp_text image;
    if (hp_is_sealed())
        return;
    const bool has_name = hp_symbol_find(caller - 1, &symbol);
    const bool has_image = hp_symbol_image(caller - 1, &path, &offset);
    hp_text_init(&image, place->image, sizeof place->image);
    hp_text_string(&image, has_image ? name_of_image(path) : "");
    hp_text_end(&image);
    if (!has_name && !has_image)
        return;
    hp_text_string(text, " in ");
    hp_text_string(text, has_name ? symbol.name : place->image);
    if (!has_name)
        put_offset(text, offset);
}

static void fill(struct place *place, uintptr_t caller, const char *wait)
{
    struct hp_text text;
    hp_text_init(&text, place->name, sizeof place->name);
    hp_text_string(&text, wait);
    put_function(&text, place, caller);
    hp_text_end(&text);
    place->wait = wait;
    place->site = (struct hotpath_site){.id = HOTPATH_ID_NEW_,
                                        .kind = HOTPATH_KIND_OBJECT_,
                                        .name = place->name,
                                        .function = wait,
                                        .file = place->image};
}

/* A place that is free again, where a search for this caller passes; or else `otherwise`. */
static struct place *free_again(uintptr_t caller, struct place *otherwise)
{
    size_t at = first_place(caller);
    for (size_t steps = 0; steps < PLACES && places[at].caller != 0; steps++, at = (at + 1) & (PLACES - 1))
        if (places[at].caller == GONE)
            return &places[at];
    return otherwise;
}

static struct place *add(uintptr_t caller, const char *wait)
{
    if (places == NULL)
        __atomic_store_n(&places, hp_more_memory(PLACES * sizeof *places), __ATOMIC_RELEASE);
    if (places == NULL)
        return NULL;
    struct place *place = find(caller, wait);
    if (place == NULL || place->caller == 0)
        place = free_again(caller, place);
    if (place != NULL && place->caller <= GONE) {
        fill(place, caller, wait);
        __atomic_store_n(&place->caller, caller, __ATOMIC_RELEASE);
    }
    return place;
}

struct search {
    uintptr_t caller;
    const char *wait;
    struct place *place; /* the result */
};

static void add_locked(void *context)
{
    struct search *search = context;
    struct hp_signals held;
    if (!hp_thread_is_ours() || !hp_lock(&held))
        return;
    search->place = add(search->caller, search->wait);
    hp_unlock(&held);
}

static __attribute__((noinline)) struct place *find_slowly(uintptr_t caller, const char *wait)
{
    const int saved = errno;
    struct search search = {.caller = caller, .wait = wait};
    if (hp_has_session() && hp_page() != NULL)
        hp_aside(add_locked, &search);
    errno = saved;
    return search.place;
}

struct hotpath_site *hotpath_v1_loop_site(const char *wait, const void *caller)
{
    struct place *place = find((uintptr_t)caller, wait);
    if (__builtin_expect(place == NULL || __atomic_load_n(&place->caller, __ATOMIC_ACQUIRE) == 0, 0))
        place = find_slowly((uintptr_t)caller, wait);
    return place != NULL ? &place->site : NULL;
}

/* ------------------------------------------------------------------------------------ libraries that are closed */

/* Another library may be loaded in its place. */
static void forget_places(void)
{
    static struct hp_image_ranges loaded;
    if (places == NULL)
        return;
    hp_images_list(&loaded);
    for (size_t at = 0; at < PLACES; at++)
        if (places[at].caller > GONE && !hp_images_have(&loaded, places[at].caller))
            __atomic_store_n(&places[at].caller, GONE, __ATOMIC_RELAXED);
}

static void forget_all(void *unused)
{
    struct hp_signals held;
    (void)unused;
    if (hp_is_forked_child() || !hp_lock(&held))
        return;
    hp_functions_forget_gone();
    forget_places();
    hp_unlock(&held);
}

void hotpath_v1_closed(void)
{
    const int saved = errno;
    if (hp_page() != NULL)
        hp_aside(forget_all, NULL);
    errno = saved;
}
