/* The console without a terminal. SPDX-License-Identifier: MIT */
#include "script.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

#define STEP_US 10000u
#define MOST_WAIT_MS 600000u
#define MOST_REFRESHES 1000000u

static bool write_out(void *context, const char *bytes, size_t length)
{
    return fwrite(bytes, 1, length, context) == length;
}

bool hp_console_print(struct hp_console *console, struct hp_screen *screen, FILE *output)
{
    char buffer[4096];
    struct hp_text text;
    hp_console_draw(console, screen);
    hp_text_init_stream(&text, buffer, sizeof buffer, write_out, output);
    hp_screen_print(screen, &text);
    return hp_text_finish(&text) && fflush(output) == 0;
}

static void press(struct hp_console *console, const struct hp_key *key)
{
    hp_console_key(console, key, hp_clock_monotonic_ns());
}

static void wait_ms(struct hp_console *console, uint64_t ms)
{
    const uint64_t end = hp_clock_monotonic_ns() + ms * 1000000u;
    uint64_t now;
    while ((now = hp_clock_monotonic_ns()) < end) {
        hp_console_tick(console, now);
        usleep(STEP_US);
    }
    hp_console_tick(console, now);
}

/* Refreshes this many times in succession. */
static void refresh(struct hp_console *console, struct hp_screen *screen, unsigned long count)
{
    for (; count > 0; count--) {
        console->is_due = true;
        hp_console_tick(console, hp_clock_monotonic_ns());
        hp_console_draw(console, screen);
    }
}

/* The number after a word; false: none. */
static bool read_number(char **rest, unsigned long most, unsigned long *ret_number)
{
    char *word = strtok_r(NULL, " \t\n", rest), *end;
    if (word == NULL)
        return false;
    *ret_number = strtoul(word, &end, 10);
    return end != word && *end == '\0' && *ret_number <= most;
}

/* False: `ret_word` is not a key or a command, or its numbers are wrong. */
static bool play_line(struct hp_console *console, struct hp_screen *screen, char *line, FILE *output,
                      const char **ret_word)
{
    char *rest;
    unsigned long first, second;
    struct hp_key key;
    for (char *word = strtok_r(line, " \t\n", &rest); word != NULL; word = strtok_r(NULL, " \t\n", &rest)) {
        *ret_word = word;
        if (strcmp(word, "#") == 0)
            return true;
        if (strcmp(word, "size") == 0) {
            if (!read_number(&rest, HP_SCREEN_MOST, &first) || !read_number(&rest, HP_SCREEN_MOST, &second) ||
                !hp_screen_resize(screen, (unsigned)first, (unsigned)second))
                return false;
            hp_console_draw(console, screen);
        } else if (strcmp(word, "wait") == 0) {
            if (!read_number(&rest, MOST_WAIT_MS, &first))
                return false;
            wait_ms(console, first);
        } else if (strcmp(word, "refresh") == 0) {
            if (!read_number(&rest, MOST_REFRESHES, &first))
                return false;
            refresh(console, screen, first);
        } else if (strcmp(word, "type") == 0) {
            const char *letters = strtok_r(NULL, "\n", &rest);
            for (; letters != NULL && *letters != '\0'; letters++)
                press(console, &(struct hp_key){.code = (unsigned char)*letters});
            return true;
        } else if (strcmp(word, "screen") == 0) {
            if (!hp_console_print(console, screen, output))
                return false;
        } else if (hp_key_read(word, &key)) {
            press(console, &key);
            hp_console_draw(console, screen); /* the effect of keys depends on what is drawn */
        } else {
            return false;
        }
    }
    return true;
}

bool hp_console_play(struct hp_console *console, struct hp_screen *screen, FILE *script, FILE *output,
                     char *problem, size_t size)
{
    char line[1000];
    const char *word = "";
    for (unsigned number = 1; fgets(line, sizeof line, script) != NULL && !console->is_over; number++)
        if (!play_line(console, screen, line, output, &word)) {
            snprintf(problem, size, "line %u of the script: '%.100s' is not a key or command, or lacks its numbers",
                     number, word);
            return false;
        }
    return true;
}
