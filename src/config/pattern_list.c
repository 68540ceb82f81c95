/*
 * Lists of patterns. The text is split into items, then each item is parsed. The first step is also available to
 * callers that want the items of a list.
 *
 * The one difficulty is that a comma within /.../ is no separator, while an item may begin with a slash and still
 * be plain text. An item is an expression if it contains a slash (or /i) followed by a comma or the end; the first
 * such slash ends it. SPDX-License-Identifier: MIT
 */
#include "pattern_list.h"

#include <string.h>

enum item_kind { ITEM_TEXT, ITEM_GLOB, ITEM_FILE, ITEM_REGEX };

static const char file_mark[] = "file:";
#define FILE_MARK_LENGTH (sizeof file_mark - 1)

/* -------------------------------------------------------------------------------------------- splitting */

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static bool can_be_escaped(char c) { return c != '\0' && strchr(",*?-@/\\", c) != NULL; }

static bool is_escape(const char *at) { return at[0] == '\\' && can_be_escaped(at[1]); }

static const char *skip_blanks(const char *at)
{
    while (is_blank(*at))
        at++;
    return at;
}

static bool is_end(const char *at)
{
    at = skip_blanks(at);
    return *at == '\0' || *at == ',';
}

/* The end of the expression at `at`, after its closing slash and i; NULL: there is none. */
static const char *end_of_regex(const char *at)
{
    if (*at != '/')
        return NULL;
    for (at++; *at != '\0'; at++) {
        if (*at == '\\' && at[1] != '\0')
            at++;
        else if (*at == '/' && is_end(at + 1))
            return at + 1;
        else if (*at == '/' && at[1] == 'i' && is_end(at + 2))
            return at + 2;
    }
    return NULL;
}

static const char *end_of_item(const char *at)
{
    const char *end = end_of_regex(at + (*at == '-'));
    if (end != NULL)
        return end;
    while (*at != '\0' && *at != ',')
        at += is_escape(at) ? 2 : 1;
    return at;
}

const char *hp_pattern_list_next(const char **rest, size_t *ret_length)
{
    const char *at = *rest;
    while (*at == ',' || is_blank(*at))
        at++;
    const char *end = end_of_item(at);
    *rest = end;
    while (end > at && is_blank(end[-1]))
        end--;
    *ret_length = (size_t)(end - at);
    return end > at ? at : NULL;
}

/* ---------------------------------------------------------------------------------------------- reading */

/* An item of a list, without its minus. */
struct raw_item {
    const char *bytes;
    size_t length;
    bool is_out;
    enum item_kind kind;
};

static bool complain(struct hp_text *problem, const char *what)
{
    hp_text_string(problem, what);
    return false;
}

static bool has_wildcard(const char *bytes, size_t length)
{
    for (size_t at = 0; at < length; at++) {
        if (is_escape(bytes + at))
            at++;
        else if (bytes[at] == '*' || bytes[at] == '?')
            return true;
    }
    return false;
}

static bool is_whole_regex(const char *bytes, size_t length)
{
    return length >= 2 && bytes[0] == '/' &&
           (bytes[length - 1] == '/' || (length > 2 && bytes[length - 1] == 'i' && bytes[length - 2] == '/'));
}

static struct raw_item look_at(const char *bytes, size_t length)
{
    struct raw_item item = {bytes, length, length > 0 && bytes[0] == '-', ITEM_TEXT};
    if (item.is_out) {
        item.bytes++;
        item.length--;
    }
    if (item.length >= FILE_MARK_LENGTH && memcmp(item.bytes, file_mark, FILE_MARK_LENGTH) == 0) {
        item.kind = ITEM_FILE;
        item.bytes += FILE_MARK_LENGTH;
        item.length -= FILE_MARK_LENGTH;
    } else if (is_whole_regex(item.bytes, item.length)) {
        item.kind = ITEM_REGEX;
    } else if (has_wildcard(item.bytes, item.length)) {
        item.kind = ITEM_GLOB;
    }
    return item;
}

/* The text to look for: without the escapes for plain text, unchanged for others. False: too long. */
static bool copy_text(const struct raw_item *item, char text[HP_PATTERN_BYTES])
{
    size_t length = 0;
    for (size_t at = 0; at < item->length; at++) {
        if (item->kind == ITEM_TEXT && at + 1 < item->length && is_escape(item->bytes + at))
            at++;
        if (length + 1 == HP_PATTERN_BYTES)
            return false;
        text[length++] = item->bytes[at];
    }
    text[length] = '\0';
    return true;
}

static bool read_item(const struct raw_item *item, char text[HP_PATTERN_BYTES], struct hp_pattern *regex,
                      struct hp_text *problem)
{
    if (item->length == 0)
        return complain(problem, item->kind == ITEM_FILE ? "'file:' has no name after it"
                                                         : "'-' has nothing after it to exclude");
    if (!copy_text(item, text))
        return complain(problem, "the pattern is longer than 255 bytes");
    const char *error = item->kind == ITEM_REGEX ? hp_pattern_compile(regex, text) : NULL;
    return error == NULL || complain(problem, error);
}

_Static_assert(HP_PATTERN_BYTES == 256, "the message above names the limit");

bool hp_pattern_item_check(const char *item, size_t length, struct hp_pattern *scratch, struct hp_text *problem)
{
    char text[HP_PATTERN_BYTES];
    const struct raw_item raw = look_at(item, length);
    if (!read_item(&raw, text, scratch, problem))
        return false;
    return raw.kind != ITEM_REGEX || end_of_regex(text) == text + raw.length ||
           complain(problem, "a / before a comma ends the expression: write \\/");
}

static bool add_item(struct hp_pattern_list *list, const struct raw_item *raw, bool is_skip,
                     struct hp_text *problem)
{
    char text[HP_PATTERN_BYTES];
    if (list->count == HP_PATTERN_LIST_ITEMS)
        return complain(problem, "there are more than 1024 items");
    if (raw->kind == ITEM_REGEX && list->regex_count == HP_PATTERN_LIST_REGEXES)
        return complain(problem, "there are more than 32 expressions: join some with |");
    struct hp_pattern_item *item = &list->items[list->count];
    *item = (struct hp_pattern_item){.text = (uint16_t)list->text_length,
                                     .regex = (uint16_t)list->regex_count,
                                     .kind = (uint8_t)raw->kind,
                                     .is_out = raw->is_out || is_skip};
    if (!read_item(raw, text, &list->regexes[item->regex % HP_PATTERN_LIST_REGEXES], problem))
        return false;
    const size_t size = strlen(text) + 1;
    if (raw->kind != ITEM_REGEX) {
        if (list->text_length + size > sizeof list->text)
            return complain(problem, "the list is longer than 8191 bytes");
        memcpy(list->text + list->text_length, text, size);
        list->text_length += (uint32_t)size;
    }
    list->regex_count += raw->kind == ITEM_REGEX;
    list->has_wanted |= !item->is_out;
    list->count++;
    return true;
}

_Static_assert(HP_PATTERN_LIST_ITEMS == 1024 && HP_PATTERN_LIST_REGEXES == 32 && HP_PATTERN_LIST_BYTES == 8192,
               "the messages above name the limits");

static void begin_list(struct hp_pattern_list *list)
{
    list->count = list->regex_count = list->text_length = 0;
    list->has_wanted = false;
}

/* "item 3: '-' has nothing behind it to leave out" */
static void put_problem(struct hp_text *problem, size_t number, const char *what)
{
    hp_text_format(problem, "item %zu: %s", number, what);
}

bool hp_pattern_list_compile(struct hp_pattern_list *list, const char *text, bool is_skip, struct hp_text *problem)
{
    char what_bytes[128];
    struct hp_text what;
    size_t length, number = 0;
    begin_list(list);
    hp_text_init(&what, what_bytes, sizeof what_bytes);
    for (const char *rest = text, *bytes; (bytes = hp_pattern_list_next(&rest, &length)) != NULL;) {
        const struct raw_item item = look_at(bytes, length);
        number++;
        if (add_item(list, &item, is_skip, &what))
            continue;
        if (problem != NULL)
            put_problem(problem, number, hp_text_end(&what));
        begin_list(list);
        return false;
    }
    return true;
}

void hp_pattern_list_put(struct hp_text *list, const char *line, size_t length, bool is_out)
{
    const struct raw_item item = look_at(line, length);
    if (list->length > 0)
        hp_text_char(list, ',');
    if (is_out || item.is_out)
        hp_text_char(list, '-');
    if (item.kind == ITEM_REGEX) {
        hp_text_bytes(list, item.bytes, item.length);
        return;
    }
    if (item.kind == ITEM_FILE)
        hp_text_string(list, file_mark);
    else if (item.length > 0 && item.bytes[0] == '/') /* else it could be taken for the start of an expression */
        hp_text_char(list, '\\');
    for (size_t at = 0; at < item.length; at++) {
        if (at + 1 < item.length && is_escape(item.bytes + at))
            hp_text_char(list, item.bytes[at++]);
        else if (item.bytes[at] == ',')
            hp_text_char(list, '\\');
        hp_text_char(list, item.bytes[at]);
    }
}

/* --------------------------------------------------------------------------------------------- matching */

/*
 * Whether the whole subject matches. After a mismatch only the latest * needs to extend, so the time is the product
 * of both lengths.
 */
static bool glob_matches(const char *glob, const char *subject)
{
    const char *star = NULL, *retry = subject;
    while (*subject != '\0' || *glob == '*') {
        if (*glob == '*') {
            star = ++glob;
            retry = subject;
            continue;
        }
        const char *literal = glob + is_escape(glob);
        if (*literal != '\0' && ((*glob == '?' && literal == glob) || *literal == *subject)) {
            glob = literal + 1;
            subject++;
        } else if (star != NULL && *retry != '\0') {
            glob = star;
            subject = ++retry;
        } else {
            return false;
        }
    }
    return *glob == '\0';
}

static bool path_matches(const char *glob, const char *path)
{
    for (;;) {
        if (glob_matches(glob, path))
            return true;
        path = strchr(path, '/');
        if (path == NULL)
            return false;
        path++;
    }
}

static bool item_matches(const struct hp_pattern_list *list, const struct hp_pattern_item *item,
                         const char *subject)
{
    const char *text = list->text + item->text;
    switch ((enum item_kind)item->kind) {
    case ITEM_TEXT:
        return strstr(subject, text) != NULL;
    case ITEM_GLOB:
        return glob_matches(text, subject);
    case ITEM_FILE:
        return path_matches(text, subject);
    default:
        return hp_pattern_matches(&list->regexes[item->regex], subject);
    }
}

static bool any_matches(const struct hp_pattern_list *list, const struct hp_pattern_subject *subject, bool is_out)
{
    for (uint32_t at = 0; at < list->count; at++) {
        const struct hp_pattern_item *item = &list->items[at];
        const bool is_file = item->kind == ITEM_FILE;
        const char *const *words = is_file ? subject->files : subject->names;
        const size_t count = is_file ? HP_PATTERN_FILES : HP_PATTERN_NAMES;
        if (item->is_out != is_out)
            continue;
        for (size_t word = 0; word < count; word++)
            if (words[word] != NULL && words[word][0] != '\0' && item_matches(list, item, words[word]))
                return true;
    }
    return false;
}

bool hp_pattern_list_chooses(const struct hp_pattern_list *list, const struct hp_pattern_subject *subject)
{
    return (!list->has_wanted || any_matches(list, subject, false)) && !any_matches(list, subject, true);
}
