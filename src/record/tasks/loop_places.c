/*
 * Places in code that wait in an event loop: "epoll_wait in main". The preloaded library knows the return address
 * of a wait. Its name is looked up once, in the files of the program and its libraries, and kept for the life of
 * the process. Later lookups are fast: the table only grows, under the lock, and an entry is valid once its address
 * is set.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "hook_entries.h"
#include "images.h"
#include "no_session.h"
#include "runtime.h"
#include "text.h"
#include "threads.h"
#include "zone_stack.h"

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
    hp_text_string(&image, has_image ? hp_text_base_name(path) : "");
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
