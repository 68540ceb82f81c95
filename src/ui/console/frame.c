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
    char clock[HP_FIGURE_BYTES + 16], moment[HP_FIGURE_BYTES];
    if (hp_console_counts_instructions(console))
        snprintf(clock, sizeof clock, "%s instructions",
                 hp_figure(moment, HP_FIGURE_COUNT, (double)watched->elapsed_ns));
    else
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
        hp_text_format(text, watched->is_recorded ? "● recording %s" : "● live %s", clock);
        if (console->lasts_ns > 0)
            hp_text_format(text, ", ends at %s", hp_figure_clock(moment, (double)console->lasts_ns / 1e9));
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

/* Facts that stand behind the state, from the most to the least important; "": it is unknown. */
enum { FACT_PROCESSES, FACT_THREADS, FACT_CPU, FACT_RSS, FACT_LOST, FACTS };

static void put_fact(const struct hp_console *console, unsigned fact, bool is_wide, struct hp_text *text)
{
    const struct hp_watched *watched = &console->watched;
    char figure[HP_FIGURE_BYTES];
    if (fact == FACT_PROCESSES && watched->processes > 1)
        hp_text_format(text, "  %zu processes", watched->processes);
    else if (fact == FACT_THREADS && watched->is_live)
        hp_text_format(text, "  %" PRIu64 "%s", watched->threads, watched->threads == 1 ? " thread" : " threads");
    else if (fact == FACT_CPU && watched->has_cpus && is_wide)
        hp_text_format(text, "  cpu %s of %u", hp_figure(figure, HP_FIGURE_PERCENT, 100 * watched->cpus),
                       (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    else if (fact == FACT_CPU && watched->has_cpus)
        hp_text_format(text, "  cpu %s", hp_figure(figure, HP_FIGURE_PERCENT, 100 * watched->cpus));
    else if (fact == FACT_RSS && watched->rss_bytes > 0)
        hp_text_format(text, "  rss %s", hp_figure(figure, HP_FIGURE_BYTES_, (double)watched->rss_bytes));
    else if (fact == FACT_LOST && (is_wide || watched->lost > 0))
        hp_text_format(text, "  lost %s", hp_figure(figure, HP_FIGURE_COUNT, (double)watched->lost));
}

/* "make 4711: cc1 82 %": the program that began, and the one with most of the CPU time of several. */
static void put_program(const struct hp_console *console, struct hp_text *text)
{
    const struct hp_watched *watched = &console->watched;
    char percent[HP_FIGURE_BYTES];
    hp_utf8_put_safe(text, watched->program, strlen(watched->program));
    hp_text_format(text, " %u", watched->pid);
    if (watched->busiest == NULL || strcmp(watched->busiest, watched->program) == 0)
        return;
    hp_text_string(text, ": ");
    hp_utf8_put_safe(text, watched->busiest, strlen(watched->busiest));
    hp_text_format(text, " %s", hp_figure(percent, HP_FIGURE_PERCENT, watched->busiest_percent));
}

static void draw_status(const struct hp_console *console, struct hp_screen *screen)
{
    char bytes[700], interval[48];
    struct hp_text text;
    const bool is_wide = screen->columns >= WIDE;
    const double seconds = (double)console->choices.refresh_ms / 1000;
    snprintf(interval, sizeof interval, seconds < 1 ? "%s%.1f s" : "%s%.0f s", is_wide ? "every " : "", seconds);
    const unsigned right = hp_screen_width(interval) + 2;
    const unsigned room = screen->columns > right + 2 ? screen->columns - right - 2 : 1;
    hp_text_init(&text, bytes, sizeof bytes);
    if (console->is_watching && console->watched.has_data) {
        put_program(console, &text);
        hp_text_string(&text, "  ");
        put_state(console, &text);
        for (unsigned fact = 0; fact < FACTS; fact++) {
            const size_t before = text.length;
            put_fact(console, fact, is_wide, &text);
            if (hp_screen_width(hp_text_end(&text)) > room)
                text.length = before;
        }
    } else {
        hp_text_string(&text, console->is_watching ? "hotpath console" : "hotpath console  programs");
    }
    hp_screen_put_fitted(screen, 0, 1, room, HP_INK_PLAIN, hp_text_end(&text));
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

void hp_console_name_stacks(const struct hp_console *console, char *text, size_t size)
{
    if (hp_found_is_wider(&console->watched.found))
        snprintf(text, size, "since the start");
    else
        hp_console_name_window(console, text, size);
}

/* The function with the most work, as the user classifies it; NULL: none has any. */
static const struct hp_watched_function *first_function(const struct hp_console *console)
{
    const struct hp_watched_function *first = NULL;
    double most = 0;
    const struct hp_watched *watched = &console->watched;
    const struct hp_watched_functions *all = watched->has_measured ? &watched->measured : &watched->sampled;
    for (size_t at = 0; at < all->count; at++) {
        const struct hp_watched_function *function = &all->all[at];
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

/* --- What has changed since the window before. */

#define CHANGED_POINTS 10.0 /* of all time: less is not worth a sentence */
#define CHANGED_THREADS 0.1 /* likewise */

struct change {
    const char *name;   /* NULL: none */
    double before, now; /* threads */
};

static bool is_large(double before, double now, double whole)
{
    const double change = now > before ? now - before : before - now;
    return change >= CHANGED_THREADS && 100 * change >= CHANGED_POINTS * whole;
}

/* The function whose own time has changed most. */
static struct change change_of_functions(const struct hp_watched_functions *functions)
{
    const struct hp_watched_function *most = NULL;
    double largest = CHANGED_POINTS;
    for (size_t at = 0; at < functions->count; at++) {
        const struct hp_watched_function *function = &functions->all[at];
        const double change = function->change > 0 ? function->change : -function->change;
        if (!function->has_change || change < largest || !is_large(function->before, function->own, 0))
            continue;
        largest = change;
        most = function;
    }
    return most != NULL ? (struct change){most->name, most->before, most->own} : (struct change){0};
}

/* Where many sampled functions have changed by a little, the one that calls them. */
static struct change change_of_callers(const struct hp_console *console)
{
    const struct hp_found *found = &console->watched.found;
    const struct hp_flame *flame = &console->flame;
    if (!found->window.is_known || !found->before.is_known || !flame->has_before)
        return (struct change){0};
    const double ns = (double)(found->window.to_ns - found->window.from_ns);
    const uint32_t node = hp_flame_changed(flame, HP_MEASURE_WALL, hp_found_period_ns(&found->window, false));
    const double now = (double)flame->nodes[node].now[HP_MEASURE_WALL] / ns,
                 before = (double)flame->nodes[node].before[HP_MEASURE_WALL] / ns,
                 whole = (double)flame->whole[HP_MEASURE_WALL] / ns;
    if (node == 0 || !is_large(before, now, whole))
        return (struct change){0};
    return (struct change){hp_flame_name(flame, node)->text, before, now};
}

/* ". In the 10 s before, update had 0.20 threads, not 0.90" */
static void put_change(const struct hp_console *console, struct hp_text *text)
{
    const struct hp_watched *watched = &console->watched;
    struct change change = change_of_functions(watched->has_measured ? &watched->measured : &watched->sampled);
    char length[HP_FIGURE_BYTES], before[HP_FIGURE_BYTES], now[HP_FIGURE_BYTES];
    if (change.name == NULL && !watched->has_measured)
        change = change_of_callers(console);
    if (change.name == NULL)
        return;
    const double seconds = (double)(watched->from_ns - watched->before_ns) / 1e9;
    snprintf(length, sizeof length, seconds < 1 ? "%.1f s" : "%.0f s", seconds);
    hp_text_format(text, ". In the %s before, ", length);
    hp_utf8_put_safe(text, change.name, strlen(change.name));
    hp_text_format(text, " had %s threads, not %s", hp_figure(before, HP_FIGURE_THREADS, change.before),
                   hp_figure(now, HP_FIGURE_THREADS, change.now));
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
    put_change(console, &text);
    hp_text_end(&text);
}

/* Drops sentences that do not fit, the last one first. */
static void drop_sentences(char *sentences, unsigned width, unsigned lines)
{
    while (hp_screen_lines(sentences, width) > lines) {
        char *last = NULL;
        for (char *at = strstr(sentences, ". "); at != NULL; at = strstr(at + 1, ". "))
            last = at;
        if (last == NULL)
            break;
        *last = '\0';
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
    if (!console->is_watching || !console->watched.has_data)
        return false;
    if (console->restarted[0] != '\0' && console->is_recorded_again)
        snprintf(text, size, "Recorded again: Enter follows it. ");
    else if (console->restarted[0] != '\0')
        snprintf(text, size, "Restarted as %u: Enter follows it. ", (unsigned)console->restarted_pid);
    const size_t length = strlen(text);
    hp_console_verdict(console, text + length, size - length, columns < WIDE);
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
    return hp_screen_lines(text, width) > 1 ? 2 : 1;
}

static void draw_verdict(const struct hp_console *console, struct hp_screen *screen)
{
    char text[700];
    const unsigned width = screen->columns > 2 ? screen->columns - 2 : 1, lines = console->verdict_lines;
    const bool is_urgent = line_3(console, screen->columns, text, sizeof text);
    /* The window is also shown elsewhere. */
    const char *about = strstr(text, ": ");
    if (!is_urgent && hp_screen_lines(text, width) > lines && strstr(text, ". ") == NULL && about != NULL)
        memmove(text, about + 2, strlen(about + 2) + 1);
    drop_sentences(text, width, lines);
    hp_screen_put_wrapped(screen, 2, 1, width, lines, text);
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
