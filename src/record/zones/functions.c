/*
 * Measuring every function: the hooks that gcc and clang call with -finstrument-functions.
 *
 * A function is identified by its address. Its first call looks up its name and makes a site; from then on a table
 * maps the address to the site's id, without a lock: entries are written before they are linked and do not change
 * while their library is loaded, and a table that became too small is left to threads still reading it.
 * HOTPATH_FILTER and HOTPATH_SKIP decide once per function, as for any site.
 *
 * The function contains no guard, so an address on its stack stands for one: the byte below its frame. Inlined
 * functions share the frame of their caller and get the bytes below. On exit the innermost zone must belong to this
 * function; zones that longjmp left above it are closed as usual.
 *
 * In a fully instrumented program most calls are of functions too small to be timed. These get the shortest path;
 * everything else is in separate functions that are tail-called, so the hooks save no registers. The frame of a
 * call that is only counted does not need its `start`; it holds the function's address instead, so that the exit
 * hook need not look up the site.
 *
 * SPDX-License-Identifier: MIT
 */
#include "zone_stack.h"

#include <errno.h>
#include <string.h>

#include "holding.h"
#include "images.h"
#include "no_session.h"
#include "sites.h"
#include "text.h"
#include "thread_context.h"
#include "threads.h"
#include "tree.h"

#define FIRST_ENTRIES 4096u
#define INLINED_REACH 64u /* inlined functions in one frame that can be told apart */

struct entry {
    uintptr_t function; /* 0: free; GONE */
    uint64_t id;        /* of its site, or HOTPATH_ID_EXCLUDED_; full width, which suits the hook */
};

#define GONE 1u /* its library was closed; searches continue behind it */

/*
 * Address of the entries, which are page-aligned, with the hash shift in the low bits: one word, so that a hook
 * gets both with its first load. 0: no table yet.
 */
typedef uintptr_t table_word;
#define SHIFT_BITS 63u

static table_word table;   /* atomic */
static size_t entry_count; /* places that are not free; under the lock */

/* ----------------------------------------------------------------------------------------------- table */

static inline struct entry *entries_of(table_word in) { return (struct entry *)(in & ~(table_word)SHIFT_BITS); }

static inline size_t last_place(table_word in) { return (size_t)(UINT64_MAX >> (in & SHIFT_BITS)); }

static inline size_t place_of(table_word in, uintptr_t function)
{
    return (size_t)(((uint64_t)function * UINT64_C(0x9e3779b97f4a7c15)) >> (in & SHIFT_BITS));
}

/* The common case is inlined into the hook, even if it is needed elsewhere, too. */
#define WITHIN static inline __attribute__((always_inline))
/* Rare cases are out of line and tail-called, so that the fast path saves no registers for them. */
#define APART static __attribute__((noinline))

WITHIN bool is_of(const struct entry *entry, uintptr_t function)
{
    /* Acquire pairs with the release in add_entry: a reader that sees the function sees its site. */
    return __atomic_load_n(&entry->function, __ATOMIC_ACQUIRE) == function;
}

/* The site id of a function; HOTPATH_ID_NEW_ if it has none yet. */
WITHIN uint32_t look_up(table_word in, uintptr_t function)
{
    if (in == 0)
        return HOTPATH_ID_NEW_;
    for (size_t place = place_of(in, function);; place = (place + 1) & last_place(in)) {
        const struct entry *entry = &entries_of(in)[place];
        if (is_of(entry, function))
            return (uint32_t)entry->id;
        if (is_of(entry, 0))
            return HOTPATH_ID_NEW_;
    }
}

static uint32_t find_id(table_word in, uintptr_t function) { return look_up(in, function); }

static inline table_word table_at(const table_word *in) { return __atomic_load_n(in, __ATOMIC_ACQUIRE); }

/* Adds a function that is not in the table. True: in a place that was free. */
static bool add_entry(table_word to, uintptr_t function, uint32_t id)
{
    size_t place = place_of(to, function);
    while (entries_of(to)[place].function > GONE)
        place = (place + 1) & last_place(to);
    const bool was_free = entries_of(to)[place].function == 0;
    entries_of(to)[place].id = id;
    __atomic_store_n(&entries_of(to)[place].function, function, __ATOMIC_RELEASE);
    return was_free;
}

/* A table with room for one more entry; 0 if out of memory. */
static table_word roomy_table(void)
{
    const size_t size = table != 0 ? last_place(table) + 1 : 0;
    if (entry_count * 2 < size)
        return table;
    const size_t bigger = size > 0 ? size * 4 : FIRST_ENTRIES;
    struct entry *entries = hp_more_memory(bigger * sizeof *entries);
    if (entries == NULL)
        return 0;
    const table_word next = (table_word)entries | (table_word)__builtin_clzll(bigger - 1);
    entry_count = 0;
    for (size_t at = 0; at < size; at++)
        if (entries_of(table)[at].function > GONE)
            entry_count += add_entry(next, entries_of(table)[at].function, (uint32_t)entries_of(table)[at].id);
    __atomic_store_n(&table, next, __ATOMIC_RELEASE);
    return next;
}

/* ------------------------------------------------------------------------------------ libraries that are closed */

/* Both under the lock. */
static uint64_t unloaded; /* images that were unloaded when functions were last forgotten */
static uint32_t doubtful; /* functions forgotten late: another library may have been there, and counted as them */

/* Forgets functions whose library is gone. Returns how many. */
static uint32_t forget_gone(void)
{
    static struct hp_image_ranges loaded;
    const uint64_t now = hp_images_unloaded();
    uint32_t count = 0;
    if (now == unloaded)
        return 0;
    unloaded = now;
    hp_images_list(&loaded);
    hp_symbols_forget(&loaded);
    for (size_t at = 0; table != 0 && at <= last_place(table); at++) {
        struct entry *entry = &entries_of(table)[at];
        if (entry->function <= GONE || hp_images_have(&loaded, entry->function))
            continue;
        __atomic_store_n(&entry->function, GONE, __ATOMIC_RELAXED);
        count++;
    }
    return count;
}

void hp_functions_forget_gone(void) { forget_gone(); }

void hp_functions_end_session(void)
{
    doubtful += forget_gone();
    if (doubtful != 0)
        hp_store_lose(hp_runtime->store, HP_LOSS_CLOSED, doubtful);
    doubtful = 0;
}

/* ----------------------------------------------------------------------------------------------- sites */

/* A function without a name is identified by its file and its offset there. Returns the path of that file. */
static const char *name_by_place(uintptr_t function, char *name, size_t size)
{
    const char *path = "?";
    uint64_t offset = function;
    struct hp_text text;
    hp_symbol_image(function, &path, &offset);
    hp_text_init(&text, name, size);
    hp_text_string(&text, hp_text_base_name(path));
    hp_text_string(&text, "+0x");
    unsigned digits = 1;
    while (digits < 8 && offset >> (4 * digits) != 0)
        digits++;
    hp_text_hex(&text, (uint32_t)offset, digits);
    hp_text_end(&text);
    return path;
}

/* Without HOTPATH_MAIN, the function named main is the 100 % row. Under the lock. */
static void suggest_main(uint32_t site)
{
    struct hp_header *header = hp_store_header(hp_runtime->store);
    if (site < HOTPATH_IDS_ && header->main_site == HOTPATH_ID_NEW_)
        __atomic_store_n(&header->main_site, site, __ATOMIC_RELAXED);
}

/* Names are copied when the site gets its id, so these strings may be temporary. */
static uint32_t make_site(uintptr_t function)
{
    static char name[256]; /* under the lock; not on the stack, since handlers have small ones */
    struct hp_symbol symbol = {.name = name, .file = ""};
    if (!hp_symbol_find(function, &symbol))
        symbol.image = name_by_place(function, name, sizeof name);
    struct hotpath_site site = {.id = HOTPATH_ID_NEW_,
                                .kind = HOTPATH_KIND_FUNCTION_,
                                .name = symbol.name,
                                .function = symbol.name,
                                .file = symbol.file};
    hp_site_register(&site, &symbol);
    if (strcmp(symbol.name, "main") == 0)
        suggest_main(site.id);
    return site.id;
}

/* HOTPATH_ID_NEW_ on failure. */
static uint32_t add_site(uintptr_t function)
{
    const int saved = errno;
    struct hp_signals held;
    uint32_t id = HOTPATH_ID_NEW_;
    hp_unrecorded_meet(NULL);
    if (hp_page() == NULL || !hp_thread_is_ours() || !hp_lock(&held)) {
        errno = saved;
        return id;
    }
    doubtful += forget_gone();
    const table_word present = hp_runtime->gate != 0 ? roomy_table() : 0;
    if (present != 0 && (id = find_id(present, function)) == HOTPATH_ID_NEW_) {
        if (entry_count == 0)
            hp_instruction_clock_forgo_callers();
        id = make_site(function);
        entry_count += add_entry(present, function, id);
    }
    if (id == HOTPATH_ID_NEW_ && hp_runtime->gate != 0)
        hp_store_lose(hp_runtime->store, HP_LOSS_SITES, 1);
    hp_unlock(&held);
    errno = saved;
    return id;
}

/* ------------------------------------------------------------------------------------------- entry hook */

#define HOOK __attribute__((visibility("default"), no_instrument_function))
/* The byte below the function's frame, so that everything it calls is further down. */
#define HOOK_PLACE() ((uintptr_t)__builtin_dwarf_cfa() - 1)
HOOK void __cyg_profile_func_enter(void *function, void *caller);
HOOK void __cyg_profile_func_exit(void *function, void *caller);

/*
 * The stack address that stands for this call. An inlined function, even one inlined into itself, is called from
 * the same frame as its caller: a hook less than INLINED_REACH above the innermost zone is inside that zone and
 * gets the byte below it. So does a call after one that longjmp left; it appears to be inside until there are too
 * many. Guards are at multiples of 4, these addresses are not.
 */
WITHIN uintptr_t place_below(const struct hotpath_frame_ *innermost, uintptr_t place_of_hook)
{
    const uintptr_t zone = (uintptr_t)innermost->zone;
    if (__builtin_expect(place_of_hook - zone < INLINED_REACH, 0))
        return zone - 1 - (zone % 4 == 1);
    return place_of_hook;
}

/* The same for other files. */
static uintptr_t stack_place(struct hotpath_context_ *context, uintptr_t place_of_hook)
{
    uintptr_t place = place_of_hook;
    if (hp_context_is_held(context))
        return place;
    /* The innermost zone is in the session, which another thread may end and restart, so hold the context. */
    hp_context_hold(context);
    if (hp_context_is_recording(context))
        place = place_below(context->top, place_of_hook);
    hp_context_let_go(context);
    return place;
}

/* All cases that the hook does not handle. */
APART void enter_otherwise(uint32_t id, uintptr_t place_of_hook)
{
    struct hotpath_site site = {.id = id};
    struct hotpath_zone *zone = (struct hotpath_zone *)stack_place(hotpath_v1_context, place_of_hook);
    if (id != HOTPATH_ID_EXCLUDED_ && hotpath_v1_enter(zone, &site) == HOTPATH_SKIPPED_)
        hp_zone_skip();
}

/* The gate is not that of the running session, or the clock is not read in line. The context is held. */
APART void enter_off_line(struct hotpath_context_ *context, uint64_t id, uintptr_t place_of_hook)
{
    const bool is_open = hp_zone_is_off_line(context) &&
                         hp_zone_open_off_line(context, (uint32_t)id, place_below(context->top, place_of_hook));
    hp_context_let_go(context);
    if (!is_open)
        enter_otherwise((uint32_t)id, place_of_hook);
}

/*
 * Opens the zone of a call that is only counted, and releases the context. False: the call may be timed, or it
 * recurses; nothing was done.
 */
WITHIN bool count_in(struct hotpath_context_ *context, struct hotpath_frame_ *around,
                     const struct hotpath_slot_ *slot, uintptr_t place, uintptr_t function)
{
    const uint32_t flags = slot->stat;
    struct hotpath_stat_ *stat = (struct hotpath_stat_ *)(void *)(context->base + (flags & ~HOTPATH_FLAGS_));
    const uint32_t left = stat->countdown - 1;
    if (__builtin_expect(left == 0 || flags & HOTPATH_RECURSIVE_, 0))
        return false;
    hotpath_push_untimed_(context, around + 1, slot, place);
    HOTPATH_PUT_(around[1].start, function);
    HOTPATH_PUT_(stat->countdown, left);
    hp_context_let_go(context);
    return true;
}

/* The context is held; `slot` is where the zone was looked for first. */
APART void enter_held(struct hotpath_context_ *context, uint64_t id, uintptr_t place,
                      const struct hotpath_slot_ *slot, uintptr_t function)
{
    struct hotpath_frame_ *frame = context->top;
    const uint64_t key = (uint64_t)frame->node << 32 | id;
    if (__builtin_expect((slot->key & ~HOTPATH_SAMPLED_KEY_) != key, 0))
        slot = hotpath_second_slot_of_(context, key);
    if (HOTPATH_LIKELY_(place < frame->zone && frame != context->last)) {
        if (HOTPATH_LIKELY_(slot->key == key)) {
            hotpath_open_timed_(context, frame + 1, slot, (struct hotpath_zone *)place);
            return;
        }
        if (slot->key == (key | HOTPATH_SAMPLED_KEY_)) {
            if (count_in(context, frame, slot, place, function))
                return;
            HOTPATH_PUT_(frame[1].start, function); /* unless it is timed */
            hotpath_enter_by_chance_(context, (struct hotpath_zone *)place, slot);
            return;
        }
    }
    hp_context_let_go(context);
    enter_otherwise((uint32_t)id, place);
}

WITHIN void enter_known(struct hotpath_context_ *context, uint64_t id, uintptr_t place_of_hook, uintptr_t function)
{
    if (__builtin_expect(id >= HOTPATH_GET_(context->id_limit), 0)) {
        enter_otherwise((uint32_t)id, place_of_hook);
        return;
    }
    hp_context_hold(context);
    if (__builtin_expect(HOTPATH_GATE_OF_(context) != context->epoch, 0)) {
        enter_off_line(context, id, place_of_hook);
        return;
    }
    struct hotpath_frame_ *frame = context->top;
    const uintptr_t place = place_below(frame, place_of_hook);
    const struct hotpath_slot_ *slot = hotpath_slot_of_(context, frame->node, (uint32_t)id);
    if (HOTPATH_LIKELY_(slot->key == ((uint64_t)frame->node << 32 | id | HOTPATH_SAMPLED_KEY_) &&
                        place < frame->zone && frame != context->last) &&
        count_in(context, frame, slot, place, function))
        return;
    enter_held(context, id, place, slot, function);
}

/* The function is not in its first slot of the table, or not in the table. */
APART void enter_found(struct hotpath_context_ *context, const table_word *in, uintptr_t function,
                       uintptr_t place_of_hook)
{
    uint32_t id = find_id(table_at(in), function);
    if (id == HOTPATH_ID_NEW_)
        id = add_site(function);
    if (id != HOTPATH_ID_NEW_)
        enter_known(context, id, place_of_hook, function);
}

WITHIN void enter_function(struct hotpath_context_ *context, const table_word *in, uintptr_t function,
                           uintptr_t place_of_hook)
{
    const table_word present = table_at(in);
    /* An integer: there may be no table yet, and arithmetic on a null pointer is undefined. */
    const uintptr_t at = (uintptr_t)entries_of(present) + place_of(present, function) * sizeof(struct entry);
    const struct entry *entry = (const struct entry *)at;
    if (HOTPATH_LIKELY_(present != 0 && is_of(entry, function)))
        enter_known(context, entry->id, place_of_hook, function);
    else
        enter_found(context, in, function, place_of_hook);
}

HOOK void __cyg_profile_func_enter(void *function, void *caller)
{
    struct hotpath_context_ *context = hotpath_v1_context;
    (void)caller;
    if (HOTPATH_GET_(context->skip) == 0)
        enter_function(context, &table, (uintptr_t)function, HOOK_PLACE());
}

/* ------------------------------------------------------------------------------------------- exit hook */

static inline uint32_t site_of(const struct hotpath_context_ *context, const struct hotpath_frame_ *frame)
{
    return ((const struct hotpath_node_ *)(const void *)(context->base + frame->node))->site;
}

/* After this many calls of a node, check again whether timing them is worth its cost. */
#define CALLS_UNTIL_ASKED 4096u

/* A call was counted and is due for that check. Takes over the held context. */
APART void ask(struct hotpath_context_ *context, const struct hotpath_frame_ *counted, uint32_t flags, uint64_t now)
{
    struct hp_thread_context *owner = (struct hp_thread_context *)(void *)context;
    if (flags & HOTPATH_CHOSEN_)
        hp_tree_review(owner, counted->node, now - counted->start);
    if (hp_node_at(owner, counted->node)->calls % CALLS_UNTIL_ASKED == 0)
        hp_tree_limit(owner, counted[-1].node, counted->node);
    hp_context_let_go(context);
}

/* Counts the innermost zone and releases the context. False: see hotpath_count_. */
WITHIN bool count(struct hotpath_context_ *context, struct hotpath_frame_ *frame, uint64_t *ret_now)
{
    const uint32_t flags = frame->stat;
    if (__builtin_expect(flags & HOTPATH_UNTIMED_, 0)) {
        hotpath_count_untimed_(context, frame);
        hp_context_let_go(context);
        return true;
    }
    const struct hotpath_node_ *node = (const struct hotpath_node_ *)(const void *)(context->base + frame->node);
    const bool is_counted = hotpath_count_(context, frame, ret_now);
    if (__builtin_expect(is_counted && (flags & HOTPATH_CHOSEN_ || node->calls % CALLS_UNTIL_ASKED == 0), 0))
        ask(context, frame, flags, *ret_now);
    else
        hp_context_let_go(context);
    return is_counted;
}

/* Ends a call that is not the innermost one, or cannot be counted here. */
APART void end_elsewhere(uint32_t id, uint64_t now)
{
    if (now == 0 && hotpath_v1_context->epoch != hp_epoch())
        return; /* reading the time stamp counter may be forbidden */
    const uint64_t end = now != 0 ? now : hp_now();
    if (!hp_alloc_leave_site(id, end))
        hp_zone_leave_site(id, end);
}

/* The context, if there is one, is not held. If some inner calls got no frame, this may be one of them. */
static void leave_unheld(const struct hotpath_context_ *context, uint32_t id)
{
    if (id >= HOTPATH_IDS_ || HOTPATH_GET_(context->skip) != 0 || context == &hp_no_context)
        return;
    if (((const struct hp_thread_context *)(const void *)context)->skip_runs == 0 || !hp_zone_was_skipped())
        end_elsewhere(id, 0);
}

/* The context is busy, or there is none. */
APART void leave_otherwise(const struct hotpath_context_ *context, const table_word *in, uintptr_t function)
{
    leave_unheld(context, find_id(table_at(in), function));
}

/* The session has ended or is paused, or the clock is not read in line. The context is held. */
APART void leave_off_line(struct hotpath_context_ *context, const table_word *in, uintptr_t function)
{
    struct hp_thread_context *owner = (struct hp_thread_context *)(void *)context;
    const uint32_t id = look_up(table_at(in), function);
    const bool is_usual = hp_zone_is_off_line(context) && id < HOTPATH_IDS_ && owner->skip_runs == 0 &&
                          site_of(context, context->top) == id;
    if (is_usual)
        hp_zone_close_quickly(owner, context->top, hp_zone_now_off_line());
    hp_context_let_go(context);
    if (!is_usual)
        leave_unheld(context, id);
}

/* A timed call, or one that is not simply the innermost. The context is held. */
APART void leave_held(struct hotpath_context_ *context, const table_word *in, uintptr_t function)
{
    const uint32_t id = find_id(table_at(in), function);
    const bool has_skipped = ((const struct hp_thread_context *)(const void *)context)->skip_runs != 0;
    struct hotpath_frame_ *frame = context->top;
    uint64_t now = 0;
    /* Ids that are not of a site have other meanings in a node. */
    if (__builtin_expect(id >= HOTPATH_IDS_ || has_skipped || site_of(context, frame) != id, 0)) {
        hp_context_let_go(context);
        leave_unheld(context, id);
    } else if (__builtin_expect(!count(context, frame, &now), 0)) {
        end_elsewhere(id, now);
    }
}

/*
 * The innermost call is one of this function and only counted. If inner calls got no frame, its `start` is not the
 * function, see hp_zone_skip. In a guard's frame `start` is left over from before.
 */
WITHIN bool is_counted_only(const struct hotpath_frame_ *frame, uintptr_t function)
{
    return frame->start == function && frame->stat & HOTPATH_UNTIMED_ && frame->zone % 4 != 0;
}

WITHIN void leave_function(struct hotpath_context_ *context, const table_word *in, uintptr_t function)
{
    if (__builtin_expect(hp_context_is_held(context), 0)) {
        leave_otherwise(context, in, function);
        return;
    }
    hp_context_hold(context);
    struct hotpath_frame_ *frame = context->top;
    if (HOTPATH_GATE_OF_(context) != context->epoch) {
        leave_off_line(context, in, function);
        return;
    }
    if (!is_counted_only(frame, function)) {
        leave_held(context, in, function);
        return;
    }
    hotpath_count_untimed_(context, frame);
    hp_context_let_go(context);
}

HOOK void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)caller;
    leave_function(hotpath_v1_context, &table, (uintptr_t)function);
}

/* ------------------------------------------------------------------------------------------- their cost */

/* The hooks, with a private table. */
static __attribute__((noinline)) void rehearse_enter(const table_word *in, uintptr_t function)
{
    struct hotpath_context_ *context = hotpath_v1_context;
    if (HOTPATH_GET_(context->skip) == 0)
        enter_function(context, in, function, HOOK_PLACE());
}

static __attribute__((noinline)) void rehearse_exit(const table_word *in, uintptr_t function)
{
    leave_function(hotpath_v1_context, in, function);
}

void hp_functions_rehearse(struct hotpath_site *site, uint32_t calls)
{
    const uintptr_t function = (uintptr_t)site;
    _Alignas(SHIFT_BITS + 1) struct entry entries[2] = {{0, 0}, {0, 0}};
    const table_word in = (table_word)entries | 63u; /* two entries: one bit of the hash */
    add_entry(in, function, site->id);
    while (calls-- > 0) {
        rehearse_enter(&in, function);
        rehearse_exit(&in, function);
    }
}
