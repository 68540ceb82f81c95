/* Weights of samples. SPDX-License-Identifier: MIT */
#include "sample_weights.h"

#include <stdlib.h>

#include "growing_array.h"

bool hp_sample_window_add(struct hp_sample_window *window, uint32_t node, bool is_kernel)
{
    if (!HP_MAKE_ROOM(window->all, window->count + 1, window->room))
        return false;
    window->all[window->count++] = (struct hp_waiting_sample){node, is_kernel};
    return true;
}

static void put_to_none(uint64_t ns, hp_sample_put *put, void *context)
{
    const struct hp_waiting_sample none = {.node = HP_SAMPLE_OF_NONE};
    if (ns > 0)
        put(context, &none, ns);
}

static void put_each(struct hp_sample_window *window, uint64_t ns, hp_sample_put *put, void *context)
{
    for (size_t at = 0; at < window->count; at++)
        put(context, &window->all[at], ns);
    window->count = 0;
}

void hp_sample_window_count(struct hp_sample_window *window, uint64_t ns, uint64_t most_ns, hp_sample_put *put,
                            void *context)
{
    const uint64_t whole = window->carried_ns + ns, count = window->count;
    window->carried_ns = count == 0 && whole > most_ns ? 0 : whole;
    if (count == 0) {
        put_to_none(whole - window->carried_ns, put, context);
        return;
    }
    const uint64_t equal = whole / count, each = equal < most_ns ? equal : most_ns;
    window->carried_ns = whole - each * count;
    put_each(window, each, put, context);
    if (equal >= most_ns) {
        put_to_none(window->carried_ns, put, context);
        window->carried_ns = 0;
    }
}

void hp_sample_window_end(struct hp_sample_window *window, uint64_t period_ns, hp_sample_put *put, void *context)
{
    put_each(window, period_ns, put, context);
    put_to_none(window->carried_ns, put, context);
    free(window->all);
    *window = (struct hp_sample_window){.count = 0};
}
