/*
 * The fourth tab: stacks as a flame graph, and the functions in them. Has its own drawing code.
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
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

/* A node with its ancestors. */
struct flame {
    const struct hp_named_stacks *stacks;
    uint64_t *totals;
    uint32_t *order; /* adjacent children of a parent: first child, next sibling */
    uint32_t *next;
};

static bool add_up(struct flame *flame, struct hp_arena *arena, enum hp_measure measure)
{
    const struct hp_named_stacks *stacks = flame->stacks;
    flame->totals = hp_arena_take_array(arena, stacks->node_count + 1, sizeof *flame->totals);
    flame->order = hp_arena_take_array(arena, stacks->node_count + 1, sizeof *flame->order);
    flame->next = hp_arena_take_array(arena, stacks->node_count + 1, sizeof *flame->next);
    if (flame->totals == NULL || flame->order == NULL || flame->next == NULL)
        return false;
    for (size_t at = stacks->node_count; at-- > 0;) {
        flame->totals[at] += weight_of(&stacks->nodes[at], measure);
        if (at > 0 && stacks->nodes[at].parent < at) {
            const uint32_t parent = stacks->nodes[at].parent;
            flame->totals[parent] += flame->totals[at];
            flame->next[at] = flame->order[parent];
            flame->order[parent] = (uint32_t)at;
        }
    }
    return true;
}

static const char *name_of(const struct hp_named_stacks *stacks, uint32_t node)
{
    const struct hp_named_node *about = &stacks->nodes[node];
    if (node == 0 || about->frame_count == 0)
        return "all";
    const uint32_t frame = about->first_frame;
    return frame < stacks->frame_count && stacks->frames[frame].function < stacks->function_count
               ? stacks->functions[stacks->frames[frame].function].name
               : "?";
}

bool hp_shows_flame(const struct hp_console *console)
{
    return console->is_watching && console->tab == HP_TAB_STACKS && console->has_stacks && !console->is_other_view;
}

uint32_t hp_stack_find(const struct hp_console *console, const char *function)
{
    struct flame flame = {.stacks = &console->stacks};
    struct hp_arena arena = {0};
    uint32_t found = 0;
    uint64_t most = 0;
    const bool is_added = add_up(&flame, &arena, console->measure);
    for (uint32_t at = 1; is_added && at < console->stacks.node_count; at++)
        if (flame.totals[at] > most && strcmp(name_of(&console->stacks, at), function) == 0) {
            most = flame.totals[at];
            found = at;
        }
    hp_arena_release(&arena);
    return found;
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

static void draw_node(const struct flame *flame, struct hp_screen *screen, uint32_t node, unsigned row,
                      unsigned last, double column, double width, uint64_t whole)
{
    char text[400], percent[HP_FIGURE_BYTES];
    const unsigned from = (unsigned)(column + 0.5), to = (unsigned)(column + width + 0.5);
    if (to < from + 3 || flame->totals[node] == 0)
        return;
    const double share = 100 * (double)flame->totals[node] / (double)(whole > 0 ? whole : 1);
    hp_screen_glyph(screen, row, from, HP_INK_PLAIN, 0x2502);
    snprintf(text, sizeof text, "%s  %s", name_of(flame->stacks, node),
             hp_figure(percent, HP_FIGURE_PERCENT, share));
    if (hp_screen_width(text) > to - from - 1)
        snprintf(text, sizeof text, "%s", name_of(flame->stacks, node));
    put_beginning(screen, row, from + 1, to - from - 1, text);
    double at = column;
    if (row == last)
        return;
    const unsigned next = last > row ? row + 1 : row - 1;
    for (uint32_t child = flame->order[node]; child != 0; child = flame->next[child]) {
        const double part = width * (double)flame->totals[child] / (double)flame->totals[node];
        draw_node(flame, screen, child, next, last, at, part, whole);
        at += part;
    }
}

void hp_draw_stacks(struct hp_console *console, struct hp_screen *screen)
{
    struct flame flame = {.stacks = &console->stacks};
    struct hp_arena arena = {0};
    char bytes[200], rate[HP_FIGURE_BYTES];
    const unsigned top = hp_first_line(console);
    unsigned at = 1;
    for (unsigned measure = 0; measure < HP_MEASURES; measure++) {
        snprintf(bytes, sizeof bytes, (int)measure == (int)console->measure ? "[%s]" : " %s ",
                 measure_names[measure]);
        at = hp_screen_put(screen, top, at, HP_INK_PLAIN, bytes) + 1;
    }
    const uint32_t root = console->zoomed < console->stacks.node_count ? console->zoomed : 0;
    snprintf(bytes, sizeof bytes, "all threads   %s samples, %.0f %% with complete stacks",
             hp_figure(rate, HP_FIGURE_COUNT, (double)console->stacks.samples),
             console->stacks.samples > 0 ? 100 * (double)console->stacks.whole / (double)console->stacks.samples
                                         : 0);
    if (root > 0)
        snprintf(bytes, sizeof bytes, "only %.120s   Backspace: all", name_of(&console->stacks, root));
    if (at + 4 < screen->columns)
        hp_screen_put_fitted(screen, top, at + 2, screen->columns - at - 3, HP_INK_PLAIN, bytes);
    const unsigned flames = screen->rows / 3 < MOST_DEPTH ? screen->rows / 3 : MOST_DEPTH;
    if (console->stacks.node_count > 0 && add_up(&flame, &arena, console->measure)) {
        if (flame.totals[root] == 0)
            hp_screen_put(screen, top + 2, 3, HP_INK_PLAIN, "No stacks with this measure.");
        const unsigned first = top + 2, last = top + 2 + flames - 1;
        draw_node(&flame, screen, root, console->is_turned[console->tab] ? last : first,
                  console->is_turned[console->tab] ? first : last, 1, screen->columns - 2, flame.totals[0]);
    }
    hp_arena_release(&arena);
    const unsigned first = top + 2 + flames + 1;
    console->area = (struct hp_area){.row = first, .rows = screen->rows - 1 - first, .columns = screen->columns};
    hp_table_draw(screen, &console->table, console->view, &console->shown, &console->area, true, NULL);
}
