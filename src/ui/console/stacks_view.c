/*
 * The fourth tab: stacks as a flame graph, and the functions in them. Has its own drawing code.
 *
 * The graph of one function has all its stacks, from whichever caller: each begins with its outermost call of the
 * function. So its share is that of the table. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "identity.h"
#include "text.h"
#include "utf8.h"

#define MOST_DEPTH 14u

static const char *const measure_names[HP_MEASURES] = {"wall", "cpu", "waiting", "allocated"};

static uint64_t weight_of(const struct hp_named_node *node, enum hp_measure measure)
{
    const uint64_t *weight = node->weight;
    const uint64_t cpu = weight[HP_STACK_USER_NS] + weight[HP_STACK_KERNEL_NS];
    switch (measure) {
    case HP_MEASURE_WALL:
        return cpu + weight[HP_STACK_WAITED_NS] - weight[HP_STACK_IDLE_NS];
    case HP_MEASURE_CPU:
        return cpu;
    case HP_MEASURE_WAITING:
        return weight[HP_STACK_WAITED_NS] - weight[HP_STACK_IDLE_NS];
    default:
        return weight[HP_STACK_ALLOC_BYTES];
    }
}

/* ------------------------------------------------------------------------------------------- merging */

#define NOWHERE UINT32_MAX /* above the chosen function */

/* Below which node a stack ends. False: no memory. */
static bool place_of(struct hp_flame *flame, const struct hp_named_stacks *stacks, const struct hp_named_node *node,
                     const uint32_t *chosen, uint32_t *place)
{
    for (uint32_t at = node->frame_count; at-- > 0;) {
        uint32_t function = stacks->frames[node->first_frame + at].function;
        if (chosen != NULL && *place == NOWHERE) {
            if (chosen[function] == NOWHERE)
                continue;
            function = chosen[function];
            *place = 0;
        }
        const uint32_t pair = hp_pair_table_put(&flame->calls, *place, function);
        if (pair == HP_NO_PAIR)
            return false;
        *place = pair + 1;
    }
    return true;
}

/* Nodes of stacks are addresses: those of one function below the same caller are one node here. */
static bool merge(struct hp_flame *flame, const struct hp_named_stacks *stacks, const uint32_t *chosen,
                  uint32_t *places)
{
    places[0] = chosen != NULL ? NOWHERE : 0;
    for (size_t at = 1; at < stacks->node_count; at++) {
        places[at] = places[stacks->nodes[at].parent];
        if (!place_of(flame, stacks, &stacks->nodes[at], chosen, &places[at]))
            return false;
    }
    flame->node_count = flame->calls.count + 1;
    flame->totals = calloc(flame->node_count, sizeof *flame->totals);
    flame->first_callee = calloc(flame->node_count, sizeof *flame->first_callee);
    flame->next = calloc(flame->node_count, sizeof *flame->next);
    return flame->totals != NULL && flame->first_callee != NULL && flame->next != NULL;
}

static void add_up(struct hp_flame *flame, const struct hp_named_stacks *stacks, const uint32_t *places)
{
    for (size_t at = 0; at < stacks->node_count; at++)
        for (unsigned measure = 0; measure < HP_MEASURES; measure++) {
            const uint64_t weight = weight_of(&stacks->nodes[at], (enum hp_measure)measure);
            flame->whole[measure] += weight;
            if (places[at] != NOWHERE)
                flame->totals[places[at]][measure] += weight;
        }
    for (size_t at = flame->node_count; at-- > 1;) {
        const uint32_t caller = flame->calls.all[at - 1].first;
        for (unsigned measure = 0; measure < HP_MEASURES; measure++)
            flame->totals[caller][measure] += flame->totals[at][measure];
        flame->next[at] = flame->first_callee[caller];
        flame->first_callee[caller] = (uint32_t)at;
    }
}

void hp_flame_free(struct hp_flame *flame)
{
    hp_pair_table_free(&flame->calls);
    free(flame->totals);
    free(flame->first_callee);
    free(flame->next);
    *flame = (struct hp_flame){0};
}

static uint64_t identity_of(const struct hp_named_stacks *stacks, const struct hp_named_function *function)
{
    const char *library =
        function->image < stacks->image_count ? hp_text_base_name(stacks->images[function->image].path) : "";
    return hp_identity_of_found(function->name, library, function->file);
}

/* By function: the one to show for it, which is the first with that identity; or NOWHERE. */
static void choose(const struct hp_named_stacks *stacks, uint64_t identity, uint32_t *chosen)
{
    uint32_t first = NOWHERE;
    for (size_t at = 0; at < stacks->function_count; at++) {
        const bool is_it = identity_of(stacks, &stacks->functions[at]) == identity;
        if (is_it && first == NOWHERE)
            first = (uint32_t)at;
        chosen[at] = is_it ? first : NOWHERE;
    }
}

bool hp_flame_make(struct hp_console *console, uint64_t only)
{
    const struct hp_named_stacks *stacks = &console->stacks;
    uint32_t *places = calloc(stacks->node_count + 1, sizeof *places);
    uint32_t *chosen = only != 0 ? calloc(stacks->function_count + 1, sizeof *chosen) : NULL;
    hp_flame_free(&console->flame);
    console->flame.only = only;
    if (chosen != NULL)
        choose(stacks, only, chosen);
    const bool is_made = stacks->node_count > 0 && places != NULL && (only == 0 || chosen != NULL) &&
                         merge(&console->flame, stacks, chosen, places);
    if (is_made)
        add_up(&console->flame, stacks, places);
    else
        hp_flame_free(&console->flame);
    free(places);
    free(chosen);
    return is_made;
}

/* The node that is drawn first: the chosen function is the only one below the root. */
static uint32_t root_of(const struct hp_flame *flame) { return flame->only != 0 && flame->node_count > 1 ? 1 : 0; }

static const char *name_of(const struct hp_console *console, uint32_t node)
{
    return node == 0 ? "all" : console->stacks.functions[console->flame.calls.all[node - 1].second].name;
}

/* ------------------------------------------------------------------------------------------- drawing */

bool hp_shows_flame(const struct hp_console *console)
{
    return console->is_watching && console->tab == HP_TAB_STACKS && console->has_stacks && !console->is_other_view;
}

/* In a narrow box the beginning of a name says more than beginning and end. */
static void put_beginning(struct hp_screen *screen, unsigned row, unsigned column, unsigned width, const char *text)
{
    const char *at = text, *end = text + strlen(text);
    char beginning[400];
    unsigned used = 0;
    if (hp_screen_width(text) <= width || width >= 12) {
        hp_screen_put_fitted(screen, row, column, width, HP_INK_PLAIN, text);
        return;
    }
    while (at < end) {
        const char *before = at;
        const uint32_t character = hp_utf8_next(&at, end);
        const unsigned columns = character != HP_UTF8_INVALID ? hp_utf8_width(character) : 1;
        if (used + columns > width) {
            at = before;
            break;
        }
        used += columns;
    }
    snprintf(beginning, sizeof beginning, "%.*s", (int)(at - text), text);
    hp_screen_put(screen, row, column, HP_INK_PLAIN, beginning);
}

static void draw_node(const struct hp_console *console, struct hp_screen *screen, uint32_t node, unsigned row,
                      unsigned last, double column, double width)
{
    char text[400], percent[HP_FIGURE_BYTES];
    const struct hp_flame *flame = &console->flame;
    const unsigned from = (unsigned)(column + 0.5), to = (unsigned)(column + width + 0.5);
    const uint64_t total = flame->totals[node][console->measure], whole = flame->whole[console->measure];
    if (to < from + 3 || total == 0)
        return;
    const double share = 100 * (double)total / (double)whole;
    hp_screen_glyph(screen, row, from, HP_INK_PLAIN, 0x2502);
    snprintf(text, sizeof text, "%s  %s", name_of(console, node), hp_figure(percent, HP_FIGURE_PERCENT, share));
    if (hp_screen_width(text) > to - from - 1)
        snprintf(text, sizeof text, "%s", name_of(console, node));
    put_beginning(screen, row, from + 1, to - from - 1, text);
    double at = column;
    if (row == last)
        return;
    const unsigned next = last > row ? row + 1 : row - 1;
    for (uint32_t callee = flame->first_callee[node]; callee != 0; callee = flame->next[callee]) {
        const double part = width * (double)flame->totals[callee][console->measure] / (double)total;
        draw_node(console, screen, callee, next, last, at, part);
        at += part;
    }
}

void hp_draw_stacks(struct hp_console *console, struct hp_screen *screen)
{
    char bytes[200], rate[HP_FIGURE_BYTES];
    const struct hp_flame *flame = &console->flame;
    const unsigned top = hp_first_line(console);
    unsigned at = 1;
    for (unsigned measure = 0; measure < HP_MEASURES; measure++) {
        snprintf(bytes, sizeof bytes, (int)measure == (int)console->measure ? "[%s]" : " %s ",
                 measure_names[measure]);
        at = hp_screen_put(screen, top, at, HP_INK_PLAIN, bytes) + 1;
    }
    const uint32_t root = root_of(flame);
    snprintf(bytes, sizeof bytes, "all threads   %s samples, %.0f %% with complete stacks",
             hp_figure(rate, HP_FIGURE_COUNT, (double)console->stacks.counts.samples),
             console->stacks.counts.samples > 0
                 ? 100 * (double)console->stacks.counts.whole / (double)console->stacks.counts.samples
                 : 0);
    if (root > 0)
        snprintf(bytes, sizeof bytes, "only %.120s   Backspace: all", name_of(console, root));
    if (at + 4 < screen->columns)
        hp_screen_put_fitted(screen, top, at + 2, screen->columns - at - 3, HP_INK_PLAIN, bytes);
    const unsigned flames = screen->rows / 3 < MOST_DEPTH ? screen->rows / 3 : MOST_DEPTH;
    const unsigned upper = top + 2, lower = top + 2 + flames - 1;
    if (flame->node_count == 0 || flame->totals[root][console->measure] == 0)
        hp_screen_put(screen, upper, 3, HP_INK_PLAIN, "No stacks with this measure.");
    else if (console->is_turned[console->tab])
        draw_node(console, screen, root, lower, upper, 1, screen->columns - 2);
    else
        draw_node(console, screen, root, upper, lower, 1, screen->columns - 2);
    const unsigned first = top + 2 + flames + 1;
    console->area = (struct hp_area){.row = first, .rows = screen->rows - 1 - first, .columns = screen->columns};
    hp_table_draw(screen, &console->table, console->view, &console->shown, &console->area, true, NULL);
}
