/*
 * The fourth tab: stacks as a flame graph, and the functions in them. Has its own drawing code.
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "flame.h"
#include "frame.h"
#include "text.h"
#include "utf8.h"

#define LEAST_LIST 4u /* lines for the functions: headings and three of them */

static const char *const measure_names[HP_MEASURES] = {"cpu", "wall", "waiting", "allocated"};
static const char *const measure_units[HP_MEASURES] = {"CPU time", "time", "waiting", "allocated bytes"};

/* ----------------------------------------------------------------------------------------------- the graph */

void hp_console_make_flame(struct hp_console *console)
{
    struct hp_found *found = &console->watched.found;
    struct hp_flame *flame = &console->flame;
    if (console->flame_version == found->version)
        return;
    console->flame_version = found->version;
    hp_flame_make(flame, hp_found_shown(found), found->has_window ? &found->before : NULL);
    /* The first measure that there is, if the chosen one has nothing. */
    for (unsigned at = 0; flame->whole[console->measure] == 0 && at < HP_MEASURES; at++)
        console->measure = flame->whole[at] > 0 ? (enum hp_measure)at : console->measure;
}

/* Without waiting, all time is CPU time. */
static bool has_measure(const struct hp_flame *flame, unsigned measure)
{
    return flame->whole[measure] > 0 && (measure != HP_MEASURE_WALL || flame->whole[HP_MEASURE_WAITING] > 0);
}

unsigned hp_console_measures(const struct hp_console *console)
{
    unsigned count = 0;
    for (unsigned measure = 0; measure < HP_MEASURES; measure++)
        count += has_measure(&console->flame, measure);
    return count;
}

void hp_console_next_measure(struct hp_console *console)
{
    for (unsigned step = 1; step <= HP_MEASURES; step++) {
        const unsigned next = (console->measure + step) % HP_MEASURES;
        if (!has_measure(&console->flame, next))
            continue;
        console->measure = (enum hp_measure)next;
        return;
    }
}

bool hp_shows_flame(const struct hp_console *console)
{
    return console->is_watching && console->tab == HP_TAB_STACKS && console->flame.node_count > 0 &&
           !console->is_other_view;
}

static bool shows_changes(const struct hp_console *console)
{
    return console->shows_changes && console->flame.has_before;
}

/* ----------------------------------------------------------------------------------------------- drawing */

/* A picture being drawn: all frames, or only the place of one. */
struct picture {
    struct hp_console *console;
    struct hp_screen *screen;
    const struct hp_flame *flame;
    unsigned top, rows;
    unsigned skipped; /* frames above, for which there is no room */
    uint32_t marked;  /* name whose frames are marked; HP_NONE: none */
    bool is_reversed; /* callers below */
    /* Of a search. */
    unsigned row, column;
    uint32_t found;
};

#define HP_NONE UINT32_MAX

/* Of two shades, so that neighbours differ. */
static enum hp_ink ink_of(const struct picture *picture, uint32_t node)
{
    const struct hp_flame_name *name = hp_flame_name(picture->flame, node);
    static const enum hp_ink inks[] = {[HP_FLAME_CODE] = HP_FILL_CODE,
                                       [HP_FLAME_LIBRARY] = HP_FILL_LIBRARY,
                                       [HP_FLAME_KERNEL] = HP_FILL_KERNEL,
                                       [HP_FLAME_WAITING] = HP_FILL_WAITING,
                                       [HP_FLAME_OTHER] = HP_FILL_OTHER};
    return (enum hp_ink)(inks[name->kind] + (name->id >> 7 & 1));
}

static double period_of(const struct hp_console *console)
{
    const struct hp_found_part *shown = hp_found_shown(&console->watched.found);
    if (console->measure == HP_MEASURE_ALLOCATED)
        return (double)shown->functions.counts.alloc_mean;
    return hp_found_period_ns(shown, console->measure != HP_MEASURE_CPU);
}

static double change_of(const struct hp_console *console, uint32_t node)
{
    return hp_flame_change(&console->flame, node, console->measure, period_of(console));
}

#define MUCH 0.05 /* of all stacks: a large change */

static enum hp_ink ink_of_change(double change)
{
    return change > MUCH    ? HP_FILL_MUCH_MORE
           : change > 0     ? HP_FILL_MORE
           : change < -MUCH ? HP_FILL_MUCH_LESS
           : change < 0     ? HP_FILL_LESS
                            : HP_FILL_SAME;
}

/* "+3.1" or "-12": percentage points. */
static const char *points(char bytes[HP_FIGURE_BYTES], double change)
{
    snprintf(bytes, HP_FIGURE_BYTES, change * change < 0.01 ? "%+.1f" : "%+.0f", 100 * change);
    return bytes;
}

/* In a narrow frame the beginning of a name says more than beginning and end. */
static void put_label(struct hp_screen *screen, unsigned row, unsigned column, unsigned width, enum hp_ink ink,
                      const char *text)
{
    const char *at = text, *end = text + strlen(text);
    char beginning[400];
    unsigned used = 0;
    if (hp_screen_width(text) <= width || width >= 12) {
        hp_screen_put_fitted(screen, row, column, width, ink, text);
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
    hp_screen_put(screen, row, column, ink, beginning);
}

static double share_of(uint64_t part, uint64_t whole) { return whole > 0 ? 100 * (double)part / (double)whole : 0; }

static void label_of(const struct picture *picture, uint32_t node, unsigned width, char *text, size_t size)
{
    const struct hp_flame *flame = picture->flame;
    const enum hp_measure measure = picture->console->measure;
    char percent[HP_FIGURE_BYTES], change[HP_FIGURE_BYTES] = "";
    const char *name = hp_flame_name(flame, node)->text;
    if (shows_changes(picture->console) && change_of(picture->console, node) != 0)
        points(change, change_of(picture->console, node));
    hp_figure(percent, HP_FIGURE_PERCENT,
              share_of(flame->nodes[node].now[measure], flame->nodes[hp_flame_root(flame)].now[measure]));
    snprintf(text, size, "%s  %s%s%s", name, percent, change[0] != '\0' ? "  " : "", change);
    if (hp_screen_width(text) > width && change[0] != '\0')
        snprintf(text, size, "%s %s", change, name);
    else if (hp_screen_width(text) > width)
        snprintf(text, size, "%s", name);
}

static void draw_frame(const struct picture *picture, uint32_t node, unsigned row, unsigned from, unsigned to)
{
    char text[400];
    struct hp_screen *screen = picture->screen;
    const bool is_marked =
        node != 0 && (node == picture->flame->cursor || picture->flame->nodes[node].name == picture->marked);
    const enum hp_ink ink =
        shows_changes(picture->console) ? ink_of_change(change_of(picture->console, node)) : ink_of(picture, node);
    for (unsigned column = from; column < to; column++)
        hp_screen_glyph(screen, row, column, ink, ' ');
    hp_screen_glyph(screen, row, from, ink, 0x258f);
    if (to > from + 2) {
        label_of(picture, node, to - from - 1, text, sizeof text);
        put_label(screen, row, from + 1, to - from - 1, ink, text);
    }
    if (is_marked)
        hp_screen_look(screen, row, from, to, HP_LOOK_REVERSE | HP_LOOK_BOLD);
}

/* The line of a depth below the first frame; the number of rows: none. */
static unsigned line_of(const struct picture *picture, unsigned depth)
{
    if (depth < picture->skipped || depth - picture->skipped >= picture->rows)
        return picture->rows;
    const unsigned line = depth - picture->skipped;
    return picture->is_reversed ? picture->rows - 1 - line : line;
}

/* Draws a frame and all above it; or, if a place is searched, finds the one there. */
static void walk(struct picture *picture, uint32_t node, unsigned depth, double column, double width)
{
    const struct hp_flame *flame = picture->flame;
    const enum hp_measure measure = picture->console->measure;
    const unsigned from = (unsigned)(column + 0.5), to = (unsigned)(column + width + 0.5);
    const unsigned line = line_of(picture, depth);
    const uint64_t total = flame->nodes[node].now[measure];
    double at = column;
    if (to <= from || total == 0 || depth >= picture->skipped + picture->rows)
        return;
    if (line < picture->rows && picture->screen != NULL)
        draw_frame(picture, node, picture->top + line, from, to);
    else if (picture->top + line == picture->row && picture->column >= from && picture->column < to)
        picture->found = node;
    for (uint32_t callee = flame->nodes[node].first; callee != 0; callee = flame->nodes[callee].next) {
        const double part = width * (double)flame->nodes[callee].now[measure] / (double)total;
        walk(picture, callee, depth + 1, at, part);
        at += part;
    }
}

/* How deep the frames are that have the measure. */
static unsigned depth_of(const struct hp_flame *flame, uint32_t root, enum hp_measure measure)
{
    unsigned deepest = 0;
    for (uint32_t at = root; at < flame->node_count; at++)
        if (flame->nodes[at].now[measure] > 0 && flame->nodes[at].depth > deepest) {
            uint32_t above = at;
            while (above > root)
                above = flame->nodes[above].caller;
            deepest = above == root ? flame->nodes[at].depth : deepest;
        }
    const unsigned first = flame->nodes[root].depth;
    return deepest > first ? deepest - first + 1 : 1;
}

/* The flame graph has what it needs, and leaves some lines for functions. */
static struct picture place(struct hp_console *console, struct hp_screen *screen)
{
    const struct hp_flame *flame = &console->flame;
    const uint32_t root = hp_flame_root(flame);
    const unsigned top = hp_first_line(console) + 1, last = console->rows - 2 - LEAST_LIST;
    const unsigned room = last > top + 2 ? last - top - 1 : 1, depth = depth_of(flame, root, console->measure);
    struct picture picture = {.console = console,
                              .screen = screen,
                              .flame = flame,
                              .top = top,
                              .rows = depth < room ? depth : room,
                              .marked = HP_NONE,
                              .is_reversed = console->is_turned[console->tab]};
    /* The marked frame is on the screen. */
    if (flame->cursor != 0 && flame->nodes[flame->cursor].depth - flame->nodes[root].depth >= picture.rows)
        picture.skipped = flame->nodes[flame->cursor].depth - flame->nodes[root].depth - picture.rows + 1;
    return picture;
}

/* The frames of the function at the cursor of the list are marked, if no frame was chosen. */
static uint32_t marked_name(const struct hp_console *console)
{
    const struct hp_flame *flame = &console->flame;
    if (flame->cursor != 0 || console->view->cursor == 0 || console->view->line >= console->shown.count)
        return HP_NONE;
    for (uint32_t at = 0; at < flame->name_count; at++)
        if (flame->names[at].id == console->shown.all[console->view->line]->subject)
            return at;
    return HP_NONE;
}

uint32_t hp_flame_at(struct hp_console *console, unsigned row, unsigned column)
{
    struct picture picture = place(console, NULL);
    if (row < picture.top || row >= picture.top + picture.rows)
        return 0;
    picture.row = row;
    picture.column = column;
    walk(&picture, hp_flame_root(&console->flame), 0, 1, console->columns - 2);
    return picture.found;
}

/* " [cpu]  wall   waiting     zoomed into handle, 12 % of all   Backspace: out" */
static void draw_caption(const struct hp_console *console, struct hp_screen *screen, unsigned row)
{
    const struct hp_flame *flame = &console->flame;
    const struct hp_found_part *shown = hp_found_shown(&console->watched.found);
    const uint32_t root = hp_flame_root(flame);
    char bytes[300], figure[HP_FIGURE_BYTES], window[80];
    unsigned at = 1;
    for (unsigned measure = 0; measure < HP_MEASURES; measure++) {
        if (!has_measure(flame, measure))
            continue;
        snprintf(bytes, sizeof bytes, measure == (unsigned)console->measure ? "[%s]" : " %s ",
                 measure_names[measure]);
        at = hp_screen_put(screen, row, at, HP_INK_PLAIN, bytes) + 1;
    }
    hp_console_name_stacks(console, window, sizeof window);
    const uint64_t samples = shown->functions.counts.samples;
    if (root != 0)
        snprintf(bytes, sizeof bytes, "%.120s: %s of all %s", hp_flame_name(flame, root)->text,
                 hp_figure(figure, HP_FIGURE_PERCENT,
                           share_of(flame->nodes[root].now[console->measure], flame->whole[console->measure])),
                 measure_units[console->measure]);
    else if (shows_changes(console))
        snprintf(bytes, sizeof bytes, "changes since the %s before, in points",
                 hp_figure(figure, HP_FIGURE_NS, (double)(console->watched.from_ns - console->watched.before_ns)));
    else if (at + sizeof "last 10 s   1,234 samples, 100 % with complete stacks" > screen->columns)
        snprintf(bytes, sizeof bytes, "%s   %s samples", window,
                 hp_figure(figure, HP_FIGURE_COUNT, (double)samples));
    else
        snprintf(bytes, sizeof bytes, "%s   %s samples, %.0f %% with complete stacks", window,
                 hp_figure(figure, HP_FIGURE_COUNT, (double)samples),
                 share_of(shown->functions.counts.whole, samples));
    if (at + 4 < screen->columns)
        hp_screen_put_fitted(screen, row, at + 1, screen->columns - at - 2, HP_INK_PLAIN, bytes);
}

/* What a frame had before says what its change is one of: of a program that does less, all frames have less. */
static void put_change(const struct hp_console *console, uint32_t node, struct hp_text *text)
{
    const struct hp_flame_node *its = &console->flame.nodes[node];
    const enum hp_measure measure = console->measure;
    const enum hp_figure kind = measure == HP_MEASURE_ALLOCATED           ? HP_FIGURE_BYTES_
                                : hp_console_counts_instructions(console) ? HP_FIGURE_COUNT
                                                                          : HP_FIGURE_NS;
    char now[HP_FIGURE_BYTES], before[HP_FIGURE_BYTES], change[HP_FIGURE_BYTES];
    if (!console->flame.has_before || change_of(console, node) == 0)
        return;
    hp_text_format(text, ": %s, %s before, %s points", hp_figure(now, kind, (double)its->now[measure]),
                   hp_figure(before, kind, (double)its->before[measure]), points(change, change_of(console, node)));
}

/* "update in libdb.so: 12 % of handle, 8.1 % of all CPU time: 810 ms, 610 ms before, +2.0 points" */
static void draw_marked(const struct hp_console *console, struct hp_screen *screen, unsigned row)
{
    const struct hp_flame *flame = &console->flame;
    const uint32_t node = flame->cursor, root = hp_flame_root(flame);
    const enum hp_measure measure = console->measure;
    char bytes[600], figure[HP_FIGURE_BYTES];
    struct hp_text text;
    if (node == 0)
        return;
    const struct hp_flame_name *name = hp_flame_name(flame, node);
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_string(&text, name->text);
    if (name->library[0] != '\0') {
        hp_text_format(&text, " in %s", name->library);
    }
    hp_text_string(&text, ": ");
    if (root != 0) {
        hp_text_format(&text, "%s of %s, ",
                       hp_figure(figure, HP_FIGURE_PERCENT,
                                 share_of(flame->nodes[node].now[measure], flame->nodes[root].now[measure])),
                       hp_flame_name(flame, root)->text);
    }
    hp_text_format(
        &text, "%s of all %s",
        hp_figure(figure, HP_FIGURE_PERCENT, share_of(flame->nodes[node].now[measure], flame->whole[measure])),
        measure_units[measure]);
    put_change(console, node, &text);
    hp_screen_put_fitted(screen, row, 1, screen->columns - 2, HP_INK_PLAIN, hp_text_end(&text));
}

void hp_draw_stacks(struct hp_console *console, struct hp_screen *screen)
{
    const unsigned top = hp_first_line(console);
    struct picture picture = place(console, screen);
    draw_caption(console, screen, top);
    picture.marked = marked_name(console);
    walk(&picture, hp_flame_root(&console->flame), 0, 1, screen->columns - 2);
    const unsigned below = picture.top + picture.rows;
    draw_marked(console, screen, below);
    console->area =
        (struct hp_area){.row = below + 1, .rows = screen->rows - 2 - below, .columns = screen->columns};
    hp_table_draw(screen, &console->table, console->view, &console->shown, &console->area, true, NULL);
}
