/* The lines around every view. SPDX-License-Identifier: MIT */
#include "frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "utf8.h"

static const char *const tab_names[HP_CONSOLE_TABS] = {"Overview", "Functions", "Tree",  "Stacks",
                                                       "Flow",     "Threads",   "Waits", "Calls"};

#define WIDE 90u /* screen width from which tabs have more space */

/* ----------------------------------------------------------------------------------------------- status */

static void put_state(const struct hp_console *console, struct hp_text *text)
{
    const struct hp_watched *watched = &console->watched;
    char clock[HP_FIGURE_BYTES], moment[HP_FIGURE_BYTES];
    hp_figure_clock(clock, (double)watched->elapsed_ns / 1e9);
    const uint64_t behind = (console->now_ns - console->refreshed_ns) / 1000000000u;
    if (console->is_paused && watched->is_live) {
        hp_text_string(text, "‖ paused");
        if (behind > 0) {
            hp_text_format(text, ", %" PRIu64 " s behind", behind);
        }
    } else if (console->window.kind == HP_WINDOW_PAST) {
        hp_text_format(text, "◂ %s of %s", hp_figure_clock(moment, (double)watched->to_ns / 1e9), clock);
    } else if (watched->state == HP_SNAPSHOT_RUNNING) {
        hp_text_format(text, "● live %s", clock);
    } else if (watched->is_recorded) {
        const bool is_complete = watched->state == HP_SNAPSHOT_FINISHED;
        hp_text_format(text, "%s%s", is_complete ? "■ recorded for " : "■ recording broken off after ", clock);
    } else {
        const bool has_exited = strncmp(console->ending, "exit", 4) == 0;
        const bool is_killed = console->ending[0] != '\0' ? !has_exited : watched->state != HP_SNAPSHOT_FINISHED;
        hp_text_format(text, "%s%s%s%s", is_killed ? "■ killed after " : "■ ended after ", clock,
                       console->ending[0] == '\0' ? ""
                       : is_killed                ? " by "
                                                  : ", ",
                       console->ending);
    }
}

static void put_facts(const struct hp_console *console, struct hp_text *text, bool is_wide)
{
    const struct hp_watched *watched = &console->watched;
    char figure[HP_FIGURE_BYTES];
    if (watched->processes > 1) {
        hp_text_format(text, "  %zu processes", watched->processes);
    }
    if (watched->is_live) {
        hp_text_format(text, "  %" PRIu64 "%s", watched->threads, watched->threads == 1 ? " thread" : " threads");
    }
    if (watched->has_cpus) {
        hp_text_format(text, "  cpu %s", hp_figure(figure, HP_FIGURE_PERCENT, 100 * watched->cpus));
        if (is_wide) {
            hp_text_string(text, " of ");
            hp_text_i64(text, sysconf(_SC_NPROCESSORS_ONLN));
        }
    }
    if (watched->rss_bytes > 0) {
        hp_text_format(text, "  rss %s", hp_figure(figure, HP_FIGURE_BYTES_, (double)watched->rss_bytes));
    }
    if (is_wide || watched->lost > 0) {
        hp_text_format(text, "  lost %s", hp_figure(figure, HP_FIGURE_COUNT, (double)watched->lost));
    }
}

static void draw_status(const struct hp_console *console, struct hp_screen *screen)
{
    char bytes[700], interval[48];
    struct hp_text text;
    const bool is_wide = screen->columns >= WIDE;
    const double seconds = (double)console->choices.refresh_ms / 1000;
    hp_text_init(&text, bytes, sizeof bytes);
    if (console->is_watching && console->watched.has_data) {
        hp_utf8_put_safe(&text, console->watched.program, strlen(console->watched.program));
        hp_text_format(&text, " %u  ", console->watched.pid);
        put_state(console, &text);
        put_facts(console, &text, is_wide);
    } else {
        hp_text_string(&text, console->is_watching ? "hotpath console" : "hotpath console  programs");
    }
    snprintf(interval, sizeof interval, seconds < 1 ? "%s%.1f s" : "%s%.0f s", is_wide ? "every " : "", seconds);
    const unsigned right = hp_screen_width(interval) + 2;
    hp_screen_put_fitted(screen, 0, 1, screen->columns > right + 2 ? screen->columns - right - 2 : 1, HP_INK_PLAIN,
                         hp_text_end(&text));
    hp_screen_put_right(screen, 0, screen->columns - 1, HP_INK_PLAIN, interval);
}

/* ------------------------------------------------------------------------------------------------- tabs */

/*
 * The current one has brackets: "[1 Overview] 2 Functions 3 Tree"; on wide screens, two more blanks between them.
 */
static unsigned tab_width(unsigned columns, unsigned tab)
{
    return (unsigned)strlen(tab_names[tab]) + 2 + (columns >= WIDE ? 4 : 2);
}

static unsigned first_tab(unsigned columns) { return columns >= WIDE ? 1 : 0; }

unsigned hp_tab_at(unsigned columns, unsigned column)
{
    unsigned at = first_tab(columns);
    for (unsigned tab = 0; tab < HP_CONSOLE_TABS; tab++) {
        if (column >= at && column < at + tab_width(columns, tab))
            return tab;
        at += tab_width(columns, tab);
    }
    return HP_CONSOLE_TABS;
}

static void draw_tabs(const struct hp_console *console, struct hp_screen *screen)
{
    unsigned at = first_tab(screen->columns);
    for (unsigned tab = 0; tab < HP_CONSOLE_TABS; tab++) {
        char text[32];
        const bool is_current = tab == (unsigned)console->tab;
        snprintf(text, sizeof text, "%s%u %s%s", is_current ? "[" : " ", tab + 1, tab_names[tab],
                 is_current ? "]" : " ");
        hp_screen_put(screen, 1, at, is_current || console->tab_has_data[tab] ? HP_INK_PLAIN : HP_INK_DIM, text);
        if (is_current)
            hp_screen_look(screen, 1, at, at + (unsigned)strlen(text), HP_LOOK_BOLD);
        at += tab_width(screen->columns, tab);
    }
}

/* ---------------------------------------------------------------------------------------------- verdict */

void hp_console_name_window(const struct hp_console *console, char *text, size_t size)
{
    const struct hp_watched *watched = &console->watched;
    char from[HP_FIGURE_BYTES], to[HP_FIGURE_BYTES];
    if (watched->is_whole) {
        snprintf(text, size, watched->has_history ? "since the start" : "since the start (no history)");
        return;
    }
    switch (console->window.kind) {
    case HP_WINDOW_PAST:
        snprintf(text, size, "%s to %s", hp_figure_clock(from, (double)watched->from_ns / 1e9),
                 hp_figure_clock(to, (double)watched->to_ns / 1e9));
        break;
    case HP_WINDOW_SINCE:
        snprintf(text, size, "since %s, %.0f s", hp_figure_clock(from, (double)watched->from_ns / 1e9),
                 (double)(watched->to_ns - watched->from_ns) / 1e9);
        break;
    default:
        snprintf(text, size, "last %.0f s", (double)(watched->to_ns - watched->from_ns) / 1e9);
        break;
    }
}

/* The function with the most work, as the user classifies it; NULL: none has any. */
static const struct hp_watched_function *first_function(const struct hp_console *console)
{
    const struct hp_watched_function *first = NULL;
    double most = 0;
    for (size_t at = 0; at < console->watched.function_count; at++) {
        const struct hp_watched_function *function = &console->watched.functions[at];
        const double share = hp_console_is_idle(console, function) ? 0 : hp_console_share(console, function);
        if (share > most) {
            most = share;
            first = function;
        }
    }
    return first;
}

/* The user's choice of idle functions changes which one is first. */
static bool is_by_user(const struct hp_console *console)
{
    return hp_choice_find(&console->choices, "busy", "") != NULL ||
           hp_choice_find(&console->choices, "idle", "") != NULL;
}

static void put_own_verdict(const struct hp_console *console, struct hp_text *text)
{
    const struct hp_watched_function *first = first_function(console);
    char percent[HP_FIGURE_BYTES];
    if (first == NULL) {
        hp_text_string(text, "all threads are idle");
        return;
    }
    hp_text_format(text, "%s, %s of busy thread time", first->name,
                   hp_figure(percent, HP_FIGURE_PERCENT, hp_console_share(console, first)));
    if (first->verdict != NULL) {
        hp_text_format(text, ", %s", first->verdict);
    }
    if (first->cause != NULL) {
        hp_text_format(text, " (%s)", first->cause);
    }
}

void hp_console_verdict(const struct hp_console *console, char *bytes, size_t size, bool is_narrow)
{
    static const char usual[] = "The bottleneck is ";
    const char *headline = console->watched.headline;
    char window[80];
    struct hp_text text;
    hp_text_init(&text, bytes, size);
    hp_console_name_window(console, window, sizeof window);
    const bool is_usual = strncmp(headline, usual, sizeof usual - 1) == 0;
    const bool is_own = is_by_user(console);
    if ((is_usual || is_own) && !is_narrow)
        hp_text_string(&text, "Bottleneck, ");
    const size_t begin = text.length;
    hp_text_string(&text, window);
    if (begin == 0 && text.length > 0 && bytes[0] >= 'a' && bytes[0] <= 'z')
        bytes[0] = (char)(bytes[0] - 'a' + 'A');
    hp_text_string(&text, ": ");
    if (is_own || headline[0] == '\0')
        put_own_verdict(console, &text);
    else
        hp_text_string(&text, is_usual ? headline + sizeof usual - 1 : headline);
    hp_text_end(&text);
}

/* How many bytes of a text fit into a line; a longer one is broken at a blank. */
static size_t line_of(const char *text, unsigned width)
{
    const char *at = text, *end = text + strlen(text), *blank = NULL;
    unsigned used = 0;
    while (at < end) {
        const char *before = at;
        const uint32_t character = hp_utf8_next(&at, end);
        used += character != HP_UTF8_INVALID ? hp_utf8_width(character) : 1;
        if (used > width)
            return (size_t)((blank != NULL ? blank : before) - text);
        if (character == ' ')
            blank = before;
    }
    return (size_t)(end - text);
}

static unsigned lines_of(const char *text, unsigned width)
{
    unsigned lines = 1;
    for (size_t length; text[length = line_of(text, width)] != '\0'; lines++)
        text += length + (text[length] == ' ');
    return lines;
}

/* Drops sentences that do not fit, the last one first. */
static void drop_sentences(char *sentences, unsigned width, unsigned lines)
{
    while (lines_of(sentences, width) > lines) {
        char *last = NULL;
        for (char *at = strstr(sentences, ". "); at != NULL; at = strstr(at + 1, ". "))
            last = at;
        if (last == NULL)
            break;
        *last = '\0';
    }
}

/* Text that is cut ends with a mark. */
static void put_lines(struct hp_screen *screen, unsigned row, const char *text, unsigned width, unsigned lines)
{
    char line[700];
    for (unsigned at = 0; at < lines && *text != '\0'; at++) {
        const size_t length = line_of(text, width);
        const bool is_cut = at + 1 == lines && text[length] != '\0';
        snprintf(line, sizeof line, "%.*s", (int)(is_cut ? strlen(text) : length), text);
        hp_screen_put(screen, row + at, 1, HP_INK_PLAIN, line);
        if (is_cut)
            hp_screen_put(screen, row + at, width, HP_INK_PLAIN, "… ");
        text += length + (text[length] == ' ');
    }
}

/* The text of line 3. True: it is not the verdict, and needs attention. */
static bool line_3(const struct hp_console *console, unsigned columns, char *text, size_t size)
{
    const char *problem = console->watched.problem;
    text[0] = '\0';
    if (console->message[0] != '\0' || problem[0] != '\0') {
        snprintf(text, size, "%s", console->message[0] != '\0' ? console->message : problem);
        return true;
    }
    if (console->restarted[0] != '\0')
        snprintf(text, size, "Restarted as %u: press F to follow", (unsigned)console->restarted_pid);
    else if (console->is_watching && console->watched.has_data)
        hp_console_verdict(console, text, size, columns < WIDE);
    return false;
}

/* The overview has a line to spare; on low screens a second line is used only for text that would be cut. */
unsigned hp_verdict_lines(const struct hp_console *console, unsigned columns, unsigned rows)
{
    char text[700];
    const unsigned width = columns > 2 ? columns - 2 : 1;
    line_3(console, columns, text, sizeof text);
    if (rows < 26 && console->tab != HP_TAB_OVERVIEW)
        drop_sentences(text, width, 1);
    return lines_of(text, width) > 1 ? 2 : 1;
}

static void draw_verdict(const struct hp_console *console, struct hp_screen *screen)
{
    char text[700];
    const unsigned width = screen->columns > 2 ? screen->columns - 2 : 1, lines = console->verdict_lines;
    const bool is_urgent = line_3(console, screen->columns, text, sizeof text);
    /* The window is also shown elsewhere. */
    const char *about = strstr(text, ": ");
    if (!is_urgent && lines_of(text, width) > lines && strstr(text, ". ") == NULL && about != NULL)
        memmove(text, about + 2, strlen(about + 2) + 1);
    drop_sentences(text, width, lines);
    put_lines(screen, 2, text, width, lines);
    for (unsigned row = 2; row < 2 + lines && text[0] != '\0'; row++)
        hp_screen_look(screen, row, 0, screen->columns, HP_LOOK_BOLD);
    for (unsigned row = 2; is_urgent && row < 2 + lines; row++)
        hp_screen_look(screen, row, 0, screen->columns, HP_LOOK_REVERSE);
}

void hp_draw_frame(const struct hp_console *console, struct hp_screen *screen)
{
    draw_status(console, screen);
    if (console->is_watching)
        draw_tabs(console, screen);
    draw_verdict(console, screen);
}

void hp_draw_box(struct hp_screen *screen, const struct hp_area *area, const char *title, const char *right)
{
    const unsigned last = area->column + area->columns - 1, bottom = area->row + area->rows - 1;
    for (unsigned row = area->row; row <= bottom; row++) {
        hp_screen_blank(screen, row, area->column, last + 1);
        const bool is_edge = row == area->row || row == bottom;
        for (unsigned column = area->column; is_edge && column <= last; column++)
            hp_screen_glyph(screen, row, column, HP_INK_PLAIN, 0x2500);
        hp_screen_glyph(screen, row, area->column, HP_INK_PLAIN,
                        row == area->row ? 0x250c
                        : row == bottom  ? 0x2514
                                         : 0x2502);
        hp_screen_glyph(screen, row, last, HP_INK_PLAIN,
                        row == area->row ? 0x2510
                        : row == bottom  ? 0x2518
                                         : 0x2502);
    }
    const unsigned room =
        area->columns > hp_screen_width(right) + 8 ? area->columns - hp_screen_width(right) - 8 : 1;
    hp_screen_put(screen, area->row, area->column + 1, HP_INK_PLAIN, " ");
    const unsigned end = hp_screen_put_fitted(screen, area->row, area->column + 2, room, HP_INK_PLAIN, title);
    hp_screen_put(screen, area->row, end, HP_INK_PLAIN, " ");
    if (right[0] != '\0') {
        hp_screen_put_right(screen, area->row, last - 1, HP_INK_PLAIN, right);
        hp_screen_put(screen, area->row, last - 1, HP_INK_PLAIN, " ");
        hp_screen_put(screen, area->row, last - 2 - hp_screen_width(right), HP_INK_PLAIN, " ");
    }
}
