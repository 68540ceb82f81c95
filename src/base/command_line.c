/* Makes command lines. Called inside the host: no heap, no locale. SPDX-License-Identifier: MIT */
#include "command_line.h"

#include <stdbool.h>
#include <string.h>

#define MOST_NAME 64u /* longer ones are no names of options */
#define STARS 3u

/* Arguments that are read, and the line that is written over them: it never gets ahead. */
struct line {
    const char *in, *end;
    char *out;
};

/* How a name of a secret ends, in lower case and without "-" and "_": "--api-key", "PGPASSWORD", "X-Auth-Token". */
static const char *const endings[] = {"password", "passwd",    "passphrase",  "secret",        "token",
                                      "apikey",   "accesskey", "credentials", "authorization", "cookie"};

static bool ends_with(const char *name, size_t length, const char *ending)
{
    const size_t rest = strlen(ending);
    return length >= rest && memcmp(name + length - rest, ending, rest) == 0;
}

static bool is_letter(char byte) { return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'); }

static bool is_of_name(char byte)
{
    return is_letter(byte) || (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.';
}

static size_t name_length(const char *argument)
{
    size_t length = 0;
    while (is_of_name(argument[length]))
        length++;
    return length;
}

static bool names_secret(const char *name, size_t length)
{
    char plain[MOST_NAME];
    size_t count = 0;
    for (size_t at = 0; at < length; at++) {
        if (count == MOST_NAME)
            return false;
        if (name[at] != '-' && name[at] != '_')
            plain[count++] = (char)(is_letter(name[at]) ? name[at] | 0x20 : name[at]);
    }
    bool is_secret = count == 4 && memcmp(plain, "pass", 4) == 0;
    for (size_t at = 0; at < sizeof endings / sizeof *endings; at++)
        is_secret |= ends_with(plain, count, endings[at]);
    return is_secret;
}

static void put(struct line *line, size_t bytes)
{
    memmove(line->out, line->in, bytes);
    line->in += bytes;
    line->out += bytes;
}

/* No more of them than it has bytes, but never its length if that is more. */
static void hide(struct line *line, size_t bytes)
{
    const size_t stars = bytes < STARS ? bytes : STARS;
    memset(line->out, '*', stars);
    line->in += bytes;
    line->out += stars;
}

/* "scheme://user:PASSWORD@host": where in the word the password begins, and its length. 0: it has none. */
static size_t password_in_url(const char *word, size_t length, size_t *ret_at)
{
    const char *begin = strstr(word, "://"), *colon = NULL, *at = NULL;
    if (begin == NULL || begin >= word + length)
        return 0;
    for (const char *byte = begin + 3; byte < word + length && strchr("/?#", *byte) == NULL; byte++) {
        colon = colon == NULL && *byte == ':' ? byte : colon;
        at = *byte == '@' ? byte : at;
    }
    if (colon == NULL || at == NULL || at <= colon + 1)
        return 0;
    *ret_at = (size_t)(colon + 1 - word);
    return (size_t)(at - colon - 1);
}

/*
 * A word of an argument; most have one, a script has more. What the first one assigns goes on to the end of the
 * argument. Returns whether the next word is a secret: "--password", "hunter2".
 */
static bool put_word(struct line *line, bool is_first, bool is_secret)
{
    const char *word = line->in;
    const size_t length = strcspn(word, " "), name = name_length(word);
    const bool is_name = names_secret(word, name); /* what is put may be written over the word */
    const bool has_value = word[name] == '=' || word[name] == ':', is_option = word[0] == '-' && name == length;
    size_t at, bytes;
    if (is_secret && length > 0 && word[0] != '-') {
        hide(line, length);
    } else if (has_value && is_name) {
        put(line, name + 1);
        put(line, strspn(line->in, " "));
        hide(line, strcspn(line->in, is_first ? "" : " "));
    } else if ((bytes = password_in_url(word, length, &at)) > 0) {
        put(line, at);
        hide(line, bytes);
        put(line, length - at - bytes);
    } else {
        put(line, length);
        return (is_option && is_name) || (is_secret && length == 0);
    }
    return false;
}

static bool put_argument(struct line *line, bool is_secret)
{
    bool is_first = true;
    do {
        put(line, is_first ? 0 : 1); /* the blank before it */
        is_secret = put_word(line, is_first, is_secret);
        is_first = false;
    } while (*line->in == ' ');
    return is_secret;
}

size_t hp_command_line(char *arguments, size_t length)
{
    struct line line = {arguments, NULL, arguments};
    bool is_secret = false;
    arguments[length] = '\0';
    while (length > 0 && arguments[length - 1] == '\0')
        length--;
    line.end = arguments + length;
    while (line.in < line.end) {
        is_secret = put_argument(&line, is_secret);
        if (line.in < line.end)
            *line.out++ = ' ';
        line.in++;
    }
    while (line.out > arguments && line.out[-1] == ' ') /* a title that its program has filled up */
        line.out--;
    *line.out = '\0';
    return (size_t)(line.out - arguments);
}
