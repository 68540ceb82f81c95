/* The console on a real terminal. SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE_EXTENDED 1
#define NCURSES_WIDECHAR 1
#include "terminal_screen.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

#define DOUBLE_CLICK_NS UINT64_C(400000000)
#define REDRAWN_NS UINT64_C(1000000000)

static volatile sig_atomic_t told_to_end;

static void remember_signal(int signal) { told_to_end = signal; }

bool hp_terminal_screen_is_there(void) { return true; }

/* ----------------------------------------------------------------------------------------------- colours */

/* The eight basic colours, and better ones on terminals with 256. */
static void make_colors(void)
{
    static const struct {
        short usual, fine;
    } colors[HP_INKS] = {
        [HP_INK_PLAIN] = {-1, -1},
        [HP_INK_DIM] = {-1, -1},
        [HP_INK_USER] = {COLOR_YELLOW, 178},
        [HP_INK_KERNEL] = {COLOR_RED, 167},
        [HP_INK_QUEUE] = {COLOR_MAGENTA, 133},
        [HP_INK_LOCK] = {COLOR_BLUE, 68},
        [HP_INK_DISK] = {COLOR_CYAN, 37},
        [HP_INK_NETWORK] = {COLOR_CYAN, 80},
        [HP_INK_SLEEP] = {-1, -1},
        [HP_INK_IDLE] = {-1, -1},
        [HP_INK_ALLOC] = {COLOR_GREEN, 71},
    };
    /* Of text and background. */
    static const struct {
        short text, usual, fine_text, fine;
    } fills[HP_ALL_INKS] = {
        [HP_FILL_CODE] = {COLOR_BLACK, COLOR_YELLOW, 16, 179},
        [HP_FILL_CODE_2] = {COLOR_BLACK, COLOR_YELLOW, 16, 215},
        [HP_FILL_LIBRARY] = {COLOR_BLACK, COLOR_GREEN, 16, 144},
        [HP_FILL_LIBRARY_2] = {COLOR_BLACK, COLOR_GREEN, 16, 108},
        [HP_FILL_KERNEL] = {COLOR_WHITE, COLOR_RED, 16, 174},
        [HP_FILL_KERNEL_2] = {COLOR_WHITE, COLOR_RED, 16, 167},
        [HP_FILL_WAITING] = {COLOR_WHITE, COLOR_BLUE, 16, 110},
        [HP_FILL_WAITING_2] = {COLOR_WHITE, COLOR_BLUE, 16, 74},
        [HP_FILL_OTHER] = {COLOR_BLACK, COLOR_WHITE, 16, 250},
        [HP_FILL_OTHER_2] = {COLOR_BLACK, COLOR_WHITE, 16, 247},
        [HP_FILL_MUCH_LESS] = {COLOR_WHITE, COLOR_BLUE, 16, 68},
        [HP_FILL_LESS] = {COLOR_BLACK, COLOR_CYAN, 16, 153},
        [HP_FILL_SAME] = {COLOR_BLACK, COLOR_WHITE, 16, 252},
        [HP_FILL_MORE] = {COLOR_BLACK, COLOR_YELLOW, 16, 222},
        [HP_FILL_MUCH_MORE] = {COLOR_WHITE, COLOR_RED, 16, 208},
    };
    start_color();
    use_default_colors();
    for (int ink = 1; ink < HP_INKS; ink++)
        init_pair((short)ink, COLORS >= 256 ? colors[ink].fine : colors[ink].usual, -1);
    for (int ink = HP_INKS; ink < HP_ALL_INKS; ink++)
        init_pair((short)ink, COLORS >= 256 ? fills[ink].fine_text : fills[ink].text,
                  COLORS >= 256 ? fills[ink].fine : fills[ink].usual);
}

static attr_t look_of(const struct hp_spot *spot, bool has_color)
{
    attr_t look = 0;
    if (spot->look & HP_LOOK_BOLD)
        look |= A_BOLD;
    if (spot->look & HP_LOOK_REVERSE)
        look |= A_REVERSE;
    if (spot->ink == HP_INK_DIM || spot->ink == HP_INK_SLEEP || spot->ink == HP_INK_IDLE)
        look |= A_DIM;
    if (spot->ink >= HP_INKS && !has_color)
        look ^= A_REVERSE;
    return look;
}

/* ncurses compares it with the current contents, and sends the changes. */
static void copy_spots(const struct hp_screen *screen, bool has_color)
{
    for (unsigned row = 0; row < screen->rows; row++)
        for (unsigned column = 0; column < screen->columns; column++) {
            const struct hp_spot *spot = &screen->spots[(size_t)row * screen->columns + column];
            const wchar_t glyph[2] = {(wchar_t)hp_screen_shown(screen, spot), L'\0'};
            cchar_t shown;
            if (spot->glyph == 0)
                continue;
            setcchar(&shown, glyph, look_of(spot, has_color), has_color ? (short)spot->ink : 0, NULL);
            mvadd_wch((int)row, (int)column, &shown);
        }
    refresh();
}

/* --------------------------------------------------------------------------------------------------- keys */

struct clicks {
    uint64_t latest_ns;
    unsigned row;
};

static bool read_mouse(struct clicks *clicks, struct hp_key *ret_key)
{
    MEVENT event;
    if (getmouse(&event) != OK || event.y < 0 || event.x < 0)
        return false;
    *ret_key = (struct hp_key){.row = (unsigned)event.y, .column = (unsigned)event.x};
    if (event.bstate & BUTTON4_PRESSED) {
        ret_key->code = HP_KEY_WHEEL_UP;
#ifdef BUTTON5_PRESSED
    } else if (event.bstate & BUTTON5_PRESSED) {
        ret_key->code = HP_KEY_WHEEL_DOWN;
#endif
    } else if (event.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED)) {
        const uint64_t now = hp_clock_monotonic_ns();
        const bool is_second = now - clicks->latest_ns < DOUBLE_CLICK_NS && clicks->row == ret_key->row;
        ret_key->code = is_second ? HP_KEY_DOUBLE_CLICK : HP_KEY_CLICK;
        clicks->latest_ns = now;
        clicks->row = ret_key->row;
    }
    return ret_key->code != HP_KEY_NONE;
}

static uint32_t code_of(wint_t key)
{
    switch (key) {
    case KEY_UP:
        return HP_KEY_UP;
    case KEY_DOWN:
        return HP_KEY_DOWN;
    case KEY_LEFT:
        return HP_KEY_LEFT;
    case KEY_RIGHT:
        return HP_KEY_RIGHT;
    case KEY_PPAGE:
        return HP_KEY_PAGE_UP;
    case KEY_NPAGE:
        return HP_KEY_PAGE_DOWN;
    case KEY_HOME:
        return HP_KEY_HOME;
    case KEY_END:
        return HP_KEY_END;
    case KEY_BTAB:
        return HP_KEY_BACK_TAB;
    case KEY_ENTER:
        return HP_KEY_ENTER;
    case KEY_BACKSPACE:
        return HP_KEY_BACKSPACE;
    default:
        return HP_KEY_NONE;
    }
}

#define ESCAPE_MS 200 /* the bytes of a key may arrive one by one; ncurses waits a second, which is long for Esc */

/* Terminals send these keys in either form; terminfo has the one that its terminal should send. */
static void learn_keys(void)
{
    static const struct {
        char last;
        int code;
    } keys[] = {{'A', KEY_UP}, {'B', KEY_DOWN}, {'C', KEY_RIGHT}, {'D', KEY_LEFT}, {'H', KEY_HOME}, {'F', KEY_END}};
    keypad(stdscr, TRUE);
    for (size_t at = 0; at < 2 * (sizeof keys / sizeof keys[0]); at++) {
        const char form[] = {'\033', at % 2 == 0 ? '[' : 'O', keys[at / 2].last, '\0'};
        if (key_defined(form) == 0)
            define_key(form, keys[at / 2].code);
    }
    /* ncurses has read the variable itself. */
    if (getenv("ESCDELAY") == NULL)
        set_escdelay(ESCAPE_MS);
}

/* False: no key with a meaning. */
static bool translate(int status, wint_t read, struct clicks *clicks, struct hp_key *ret_key)
{
    *ret_key = (struct hp_key){0};
    if (status == KEY_CODE_YES && read == KEY_MOUSE)
        return read_mouse(clicks, ret_key);
    if (status == KEY_CODE_YES)
        ret_key->code = code_of(read);
    else
        ret_key->code = read == '\r' ? HP_KEY_ENTER : read == '\b' ? HP_KEY_BACKSPACE : (uint32_t)read;
    return ret_key->code != HP_KEY_NONE;
}

/* --------------------------------------------------------------------------------------------------- copy */

/* Sets the terminal's clipboard: OSC 52, in base64. */
static void copy_text(const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char coded[1024];
    size_t length = strlen(text), used = 0;
    for (size_t at = 0; at < length && used + 4 < sizeof coded; at += 3) {
        const unsigned char *bytes = (const unsigned char *)text + at;
        const uint32_t left = (uint32_t)(length - at);
        const uint32_t bits = (uint32_t)bytes[0] << 16 | (left > 1 ? (uint32_t)bytes[1] << 8 : 0) |
                              (left > 2 ? (uint32_t)bytes[2] : 0);
        coded[used++] = digits[bits >> 18 & 63];
        coded[used++] = digits[bits >> 12 & 63];
        coded[used++] = left > 1 ? digits[bits >> 6 & 63] : '=';
        coded[used++] = left > 2 ? digits[bits & 63] : '=';
    }
    coded[used] = '\0';
    printf("\033]52;c;%s\a", coded);
    fflush(stdout);
}

/* ------------------------------------------------------------------------------------------------- editor */

/* The editor has the terminal until it ends; it is run by the shell, which splits its arguments. */
static void edit(const char *file, uint32_t line, int standard_error)
{
    char place[16];
    int status;
    snprintf(place, sizeof place, "%u", (unsigned)line);
    def_prog_mode();
    endwin();
    const pid_t editor = fork();
    if (editor == 0) {
        if (standard_error >= 0)
            dup2(standard_error, STDERR_FILENO);
        execl("/bin/sh", "sh", "-c", "exec ${VISUAL:-${EDITOR:-vi}} \"+$1\" \"$2\"", "hotpath", place, file,
              (char *)NULL);
        _exit(127);
    }
    while (editor > 0 && waitpid(editor, &status, 0) < 0 && errno == EINTR)
        if (told_to_end == SIGINT || told_to_end == SIGQUIT)
            told_to_end = 0; /* a signal typed for the editor */
    reset_prog_mode();
    clearok(stdscr, TRUE);
    refresh();
}

/* ------------------------------------------------------------------------------------------------ the loop */

/* Whether the terminal is gone. */
static bool is_hung_up(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) > 0 && (input.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static int wait_of(const struct hp_console *console, uint64_t now)
{
    const uint64_t due = hp_console_due_ns(console);
    const uint64_t wait_ms = console->is_paused ? 250 : due > now ? (due - now) / 1000000u + 1 : 1;
    return (int)(wait_ms < 250 ? wait_ms : 250);
}

static void loop(struct hp_console *console, struct hp_screen *screen, bool has_color, int standard_error)
{
    struct clicks clicks = {0};
    bool is_changed = true;
    uint64_t drawn_ns = 0;
    while (!console->is_over && told_to_end == 0 && !is_hung_up()) {
        const uint64_t now = hp_clock_monotonic_ns(), before = console->refreshed_ns;
        wint_t read;
        struct hp_key key;
        hp_console_tick(console, now);
        if (screen->columns != (unsigned)COLS || screen->rows != (unsigned)LINES) {
            hp_screen_resize(screen, (unsigned)COLS, (unsigned)LINES);
            erase();
            is_changed = true;
        }
        /* A paused screen says how old it is. */
        if (is_changed || console->refreshed_ns != before || now - drawn_ns >= REDRAWN_NS) {
            drawn_ns = now;
            hp_console_draw(console, screen);
            copy_spots(screen, has_color);
        }
        if (console->copied[0] != '\0') {
            copy_text(console->copied);
            console->copied[0] = '\0';
        }
        if (console->edited[0] != '\0') {
            edit(console->edited, console->edited_line, standard_error);
            console->edited[0] = '\0';
            is_changed = true;
            continue;
        }
        timeout(wait_of(console, now));
        const int status = get_wch(&read);
        is_changed = status != ERR;
        if (is_changed && translate(status, read, &clicks, &key))
            hp_console_key(console, &key, hp_clock_monotonic_ns());
    }
}

static void listen_to(const int *signals, size_t count, struct sigaction *before)
{
    struct sigaction action = {.sa_handler = remember_signal};
    sigemptyset(&action.sa_mask);
    for (size_t at = 0; at < count; at++)
        sigaction(signals[at], &action, &before[at]);
}

/* Redirects stderr: nothing else may write to the screen. */
static int hush(void)
{
    const int kept = isatty(STDERR_FILENO) ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
    const int nowhere = kept >= 0 ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    if (nowhere >= 0) {
        dup2(nowhere, STDERR_FILENO);
        close(nowhere);
    }
    return kept;
}

int hp_terminal_screen_run(struct hp_console *console, bool has_color, const char **ret_problem)
{
    static const int signals[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
    struct sigaction before[sizeof signals / sizeof signals[0]];
    struct hp_screen screen = {0};
    const char *name = getenv("TERM");
    *ret_problem = "";
    setlocale(LC_CTYPE, "");
    screen.is_ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
    if (name == NULL || name[0] == '\0') {
        *ret_problem = "TERM is not set, so the terminal type is unknown; --once prints a screen without it";
        return -1;
    }
    SCREEN *terminal = newterm(NULL, stdout, stdin);
    if (terminal == NULL) {
        *ret_problem = "the terminal type in TERM is unknown here; --once prints a screen without it";
        return -1;
    }
    listen_to(signals, sizeof signals / sizeof signals[0], before);
    const int kept = hush();
    cbreak();
    noecho();
    nonl();
    learn_keys();
    curs_set(0);
    mouseinterval(0);
    mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED
#ifdef BUTTON5_PRESSED
                  | BUTTON5_PRESSED
#endif
              ,
              NULL);
    const bool uses_color = has_color && has_colors();
    if (uses_color)
        make_colors();
    loop(console, &screen, uses_color, kept);
    /* On terminals without an alternate screen, later output begins on its own line. */
    move(LINES - 1, 0);
    clrtoeol();
    refresh();
    endwin();
    delscreen(terminal);
    if (kept >= 0) {
        dup2(kept, STDERR_FILENO);
        close(kept);
    }
    for (size_t at = 0; at < sizeof signals / sizeof signals[0]; at++)
        sigaction(signals[at], &before[at], NULL);
    hp_screen_free(&screen);
    return told_to_end;
}
