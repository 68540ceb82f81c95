/*
 * Measuring every function: what gcc and clang call with -finstrument-functions.
 *
 * A function is known by its address. The first call of each looks up its name and makes a site; from then on a table
 * leads from the address to the site, without a lock: entries are written before they are linked and never change, and a
 * table that has become too small is left to those who still read it. HOTPATH_FILTER and HOTPATH_SKIP decide once per
 * function, as for any site.
 *
 * There is no guard in the function, so a place on its stack stands for one: the byte below its frame. Functions that
 * were inlined share it with the one they are in and get the bytes below. On the way out the innermost zone has to be
 * one of this function; where longjmp left others above it, these are closed as for any zone.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>

#include "runtime.h"
#include "symbols.h"
#include "text.h"

#define FIRST_ENTRIES 4096u
#define SITES_AT_ONCE 256u
#define INLINED_REACH 64u /* functions inlined into one another that are told apart */

struct entry {
    uintptr_t function;
    struct hotpath_site *site;
};

/*
 * Where the entries are, at the start of a page, and in the bits below how far a hash is shifted to be a place among them:
 * one word, so that a hook has both with its first load. 0: there is no table yet.
 */
typedef uintptr_t table_word;
#define SHIFT_BITS 63u

static table_word table;   /* atomic */
static size_t entry_count; /* this and the rest under the lock */
static struct hotpath_site *free_sites;
static size_t free_count;

/* ----------------------------------------------------------------------------------------------- table */

static inline struct entry *entries_of(table_word in) { return (struct entry *)(in & ~(table_word)SHIFT_BITS); }

static inline size_t last_place(table_word in) { return (size_t)(UINT64_MAX >> (in & SHIFT_BITS)); }

static inline size_t place_of(table_word in, uintptr_t function)
{
    return (size_t)(((uint64_t)function * UINT64_C(0x9e3779b97f4a7c15)) >> (in & SHIFT_BITS));
}

static inline struct hotpath_site *site_in(table_word in, uintptr_t function)
{
    for (size_t place = place_of(in, function);; place = (place + 1) & last_place(in)) {
        const struct entry *entry = &entries_of(in)[place];
        /* Acquire pairs with the release in add_entry: who sees the function sees its site. */
        const uintptr_t known = __atomic_load_n(&entry->function, __ATOMIC_ACQUIRE);
        if (HOTPATH_LIKELY_(known == function))
            return entry->site;
        if (known == 0)
            return NULL;
    }
}

static inline table_word present_table(void) { return __atomic_load_n(&table, __ATOMIC_ACQUIRE); }

static inline struct hotpath_site *find_site(table_word in, uintptr_t function)
{
    return in != 0 ? site_in(in, function) : NULL;
}

/* Of a function that is not there yet. */
static void add_entry(table_word to, uintptr_t function, struct hotpath_site *site)
{
    size_t place = place_of(to, function);
    while (entries_of(to)[place].function != 0)
        place = (place + 1) & last_place(to);
    entries_of(to)[place].site = site;
    __atomic_store_n(&entries_of(to)[place].function, function, __ATOMIC_RELEASE);
}

/* A table with room for one more; 0 without memory. */
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
    for (size_t at = 0; at < size; at++)
        if (entries_of(table)[at].function != 0)
            add_entry(next, entries_of(table)[at].function, entries_of(table)[at].site);
    __atomic_store_n(&table, next, __ATOMIC_RELEASE);
    return next;
}

/* ----------------------------------------------------------------------------------------------- sites */

static struct hotpath_site *new_site(void)
{
    if (free_count == 0) {
        free_sites = hp_more_memory(SITES_AT_ONCE * sizeof *free_sites);
        free_count = free_sites != NULL ? SITES_AT_ONCE : 0;
    }
    return free_count > 0 ? &free_sites[--free_count] : NULL;
}

/* A function without a name is known by its file and where in it it lies. Returns the path of that file. */
static const char *name_by_place(uintptr_t function, char *name, size_t size)
{
    const char *path = "?";
    uint64_t offset = function;
    struct hp_text text;
    hp_symbol_image(function, &path, &offset);
    const char *slash = strrchr(path, '/');
    hp_text_init(&text, name, size);
    hp_text_string(&text, slash != NULL ? slash + 1 : path);
    hp_text_string(&text, "+0x");
    unsigned digits = 1;
    while (digits < 8 && offset >> (4 * digits) != 0)
        digits++;
    hp_text_hex(&text, (uint32_t)offset, digits);
    hp_text_end(&text);
    return path;
}

/* Names are copied when the site gets its number, which is done here, while they are at hand. */
static struct hotpath_site *make_site(uintptr_t function)
{
    static char name[256]; /* under the lock; stacks of handlers are small */
    struct hp_symbol symbol = {.name = name, .file = ""};
    struct hotpath_site *site = new_site();
    if (site == NULL)
        return NULL;
    if (!hp_symbol_find(function, &symbol))
        symbol.image = name_by_place(function, name, sizeof name);
    *site = (struct hotpath_site){.id = HOTPATH_ID_NEW_,
                                  .kind = HOTPATH_KIND_FUNCTION_,
                                  .name = symbol.name,
                                  .function = symbol.name,
                                  .file = symbol.file};
    hp_site_register(site, &symbol);
    if (strcmp(symbol.name, "main") == 0)
        hp_session_suggest_main(site->id);
    site->name = site->function = site->file = "";
    return site;
}

static struct hotpath_site *add_site(uintptr_t function)
{
    const int saved = errno;
    struct hp_signals held;
    struct hotpath_site *site = NULL;
    if (hp_page() == NULL || !hp_thread_is_ours() || !hp_lock(&held)) {
        errno = saved;
        return NULL;
    }
    const table_word present = hp_runtime->gate != 0 ? roomy_table() : 0;
    if (present != 0) {
        site = site_in(present, function);
        if (site == NULL && (site = make_site(function)) != NULL) {
            add_entry(present, function, site);
            entry_count++;
        }
    }
    if (site == NULL && hp_runtime->gate != 0)
        hp_store_lose(hp_runtime->store, HP_LOSS_SITES, 1);
    hp_unlock(&held);
    errno = saved;
    return site;
}

/* ----------------------------------------------------------------------------------------------- hooks */

static inline uint32_t site_of(const struct hotpath_head_ *head, const struct hotpath_frame_ *frame)
{
    return ((const struct hotpath_node_ *)(const void *)(head->base + frame->node))->site;
}

#define HOOK __attribute__((visibility("default"), no_instrument_function))
/* What is seldom done stands apart and is called last, so that the usual way saves no registers for it. */
#define APART static __attribute__((noinline))
/* What is usual is in the hook itself, even if it is needed elsewhere, too. */
#define WITHIN static inline __attribute__((always_inline))
/* The byte below what the function's frame has on the stack, so that whatever it calls is further down. */
#define HOOK_PLACE() ((uintptr_t)__builtin_dwarf_cfa() - 1)
HOOK void __cyg_profile_func_enter(void *function, void *caller);
HOOK void __cyg_profile_func_exit(void *function, void *caller);

/*
 * Where this call is on the stack, as hotpath_begin_ finds it where it can. What is inlined, be it a function into itself,
 * is called from the same frame as what it is in. So is a call that follows on one that longjmp left; that looks as if it
 * were inside, until there are too many.
 */
static uintptr_t stack_place(struct hotpath_head_ *head, uintptr_t place_of_hook)
{
    uintptr_t place = place_of_hook;
    if (HOTPATH_GET_(head->ready) == 0)
        return place;
    /* Held, since the innermost zone is in the session, which another thread may end and begin anew. */
    HOTPATH_PUT_(head->ready, 0);
    HOTPATH_ORDER_();
    if ((HOTPATH_GATE_OF_(head) & HOTPATH_EPOCH_) == head->epoch) {
        const uint64_t zone = head->top->zone;
        if (place_of_hook - zone < INLINED_REACH)
            place = (uintptr_t)HOTPATH_BELOW_(zone);
    }
    hp_let_go(head);
    return place;
}

/* Goes on where hotpath_begin_ has not opened the zone. */
APART void enter_otherwise(struct hotpath_site *site, uintptr_t place_of_hook, uintptr_t state)
{
    if (state == HOTPATH_NOT_OPENED_)
        state = hotpath_v1_enter((struct hotpath_zone *)stack_place(hotpath_v1_head, place_of_hook), site);
    if (state == HOTPATH_SKIPPED_ && HOTPATH_GET_(site->id) < HOTPATH_READY_)
        hp_zone_skip();
}

APART void enter_first_time(uintptr_t function, uintptr_t place_of_hook)
{
    struct hotpath_site *site = add_site(function);
    if (site != NULL)
        enter_otherwise(site, place_of_hook, HOTPATH_NOT_OPENED_);
}

WITHIN void enter_function(table_word in, uintptr_t function, uintptr_t place)
{
    struct hotpath_site *site = find_site(in, function);
    if (__builtin_expect(site == NULL, 0)) {
        enter_first_time(function, place);
        return;
    }
    const uintptr_t state = hotpath_begin_((struct hotpath_zone *)place, site, INLINED_REACH);
    if (__builtin_expect(state <= HOTPATH_NOT_OPENED_, 0))
        enter_otherwise(site, place, state);
}

HOOK void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    if (HOTPATH_GET_(hotpath_v1_head->skip) == 0)
        enter_function(present_table(), (uintptr_t)function, HOOK_PLACE());
}

/* Every so many calls of a node it is asked whether they are worth their measuring. */
#define CALLS_UNTIL_ASKED 4096u

/* A call was counted, and is one to look at. Takes over the head, which is held. */
APART void ask(struct hotpath_head_ *head, const struct hotpath_frame_ *counted, uint32_t flags, uint64_t now)
{
    struct hp_head *owner = (struct hp_head *)(void *)head;
    if (flags & HOTPATH_CHOSEN_)
        hp_tree_review(owner, counted->node, now - counted->start);
    if (hp_node_at(owner, counted->node)->calls % CALLS_UNTIL_ASKED == 0)
        hp_tree_limit(owner, counted[-1].node, counted->node);
    hp_let_go(head);
}

/* Counts the innermost zone and lets go of the head. False: see hotpath_count_. */
WITHIN bool count(struct hotpath_head_ *head, struct hotpath_frame_ *frame, uint64_t *ret_now)
{
    const uint32_t flags = frame->stat;
    if (__builtin_expect(flags & HOTPATH_UNTIMED_, 0)) {
        hotpath_count_untimed_(head, frame);
        hp_let_go(head);
        return true;
    }
    const struct hotpath_node_ *node = (const struct hotpath_node_ *)(const void *)(head->base + frame->node);
    const bool is_counted = hotpath_count_(head, frame, ret_now);
    if (__builtin_expect(is_counted && (flags & HOTPATH_CHOSEN_ || node->calls % CALLS_UNTIL_ASKED == 0), 0))
        ask(head, frame, flags, *ret_now);
    else
        hp_let_go(head);
    return is_counted;
}

/* Ends a call that is not the innermost one, or cannot be counted in the hook. */
APART void leave_otherwise(const struct hotpath_site *site, uint64_t now)
{
    const bool is_over = now == 0 && hotpath_v1_head->epoch != hp_epoch(); /* then the counter may be forbidden */
    if (!is_over)
        hp_zone_leave_site(HOTPATH_GET_(site->id), now != 0 ? now : hp_now());
}

WITHIN void leave(struct hotpath_head_ *head, const struct hotpath_site *site)
{
    uint64_t now = 0;
    if (HOTPATH_LIKELY_(HOTPATH_GET_(head->ready) != 0)) {
        HOTPATH_PUT_(head->ready, 0);
        HOTPATH_ORDER_();
        struct hotpath_frame_ *frame = head->top;
        if (HOTPATH_LIKELY_(HOTPATH_GATE_OF_(head) == head->epoch &&
                            site_of(head, frame) == HOTPATH_GET_(site->id))) {
            if (HOTPATH_LIKELY_(count(head, frame, &now)))
                return;
        } else {
            hp_let_go(head);
        }
    }
    leave_otherwise(site, now);
}

/* Ends a call where some of those inside found no place; it may be one of them. */
APART void leave_unless_skipped(const struct hotpath_site *site)
{
    if (!hp_zone_was_skipped())
        leave(hotpath_v1_head, site);
}

WITHIN void leave_function(struct hotpath_head_ *head, table_word in, uintptr_t function)
{
    const struct hotpath_site *site = find_site(in, function);
    if (__builtin_expect(site == NULL || HOTPATH_GET_(site->id) >= HOTPATH_READY_, 0))
        return;
    if (__builtin_expect(((const struct hp_head *)(const void *)head)->skip_runs != 0, 0))
        leave_unless_skipped(site);
    else
        leave(head, site);
}

HOOK void __cyg_profile_func_exit(void *function, void *caller)
{
    struct hotpath_head_ *head = hotpath_v1_head;
    (void)caller;
    if (HOTPATH_GET_(head->skip) == 0)
        leave_function(head, present_table(), (uintptr_t)function);
}

/* ------------------------------------------------------------------------------------------- what they cost */

/* The hooks, with a table of somebody's own. */
static __attribute__((noinline)) void rehearse_enter(table_word in, uintptr_t function)
{
    if (HOTPATH_GET_(hotpath_v1_head->skip) == 0)
        enter_function(in, function, HOOK_PLACE());
}

static __attribute__((noinline)) void rehearse_exit(table_word in, uintptr_t function)
{
    struct hotpath_head_ *head = hotpath_v1_head;
    if (HOTPATH_GET_(head->skip) == 0)
        leave_function(head, in, function);
}

void hp_functions_rehearse(struct hotpath_site *site, uint32_t calls)
{
    const uintptr_t function = (uintptr_t)site;
    _Alignas(SHIFT_BITS + 1) struct entry entries[2] = {{0, NULL}, {0, NULL}};
    const table_word in = (table_word)entries | 63u; /* two of them: one bit of a hash */
    add_entry(in, function, site);
    while (calls-- > 0) {
        rehearse_enter(in, function);
        rehearse_exit(in, function);
    }
}
