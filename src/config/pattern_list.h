/*
 * Lists of patterns that select sites: the values of HOTPATH_FILTER, HOTPATH_SKIP and HOTPATH_FOCUS.
 *
 *     hp_pattern_list_compile(list, "parse*,/^lex_/,file:json.c,-parse_debug", false, &problem);
 *     struct hp_pattern_subject subject = {.names = {"parse_int"}, .files = {"src/json.c"}};
 *     if (hp_pattern_list_chooses(list, &subject)) ...
 *
 * Items are separated by commas; blanks around them and empty items are ignored.
 *
 *   text, /regex/, /regex/i   as in pattern.h; a comma within /.../ is no separator
 *   a*b?                      a text with * or ? is a glob: the whole name must match; * is any text, ? any byte
 *   file:GLOB                 the source file: its path, or any end of the path that begins after a slash
 *   -ITEM                     excludes what matches
 *   \                         before , * ? - @ / or \ removes its special meaning
 *
 * A site is selected if it matches any item without a minus, or if there is no such item, but never if it matches
 * an item with a minus. An item @PATH stands for the items in a file; the caller replaces it before, if it can read
 * files (hp_pattern_list_put helps).
 *
 * A list holds no pointers and is large: do not put it on the stack. It may be copied, kept across fork and read in
 * signal handlers and by several threads. Nothing allocates. SPDX-License-Identifier: MIT
 */
#ifndef HP_CONFIG_PATTERN_LIST_H
#define HP_CONFIG_PATTERN_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pattern.h"
#include "text.h"

#define HP_PATTERN_LIST_BYTES 8192 /* of text, with the final zero */
#define HP_PATTERN_LIST_ITEMS 1024
#define HP_PATTERN_LIST_REGEXES 32

/* All fields are private to pattern_list.c, here and below. */
struct hp_pattern_item {
    uint16_t text;  /* offset of its text in `text` */
    uint16_t regex; /* index in `regexes` */
    uint8_t kind;
    bool is_out;
};

struct hp_pattern_list {
    uint32_t count;
    uint32_t regex_count;
    uint32_t text_length;
    bool has_wanted; /* there is an item without a minus */
    struct hp_pattern_item items[HP_PATTERN_LIST_ITEMS];
    char text[HP_PATTERN_LIST_BYTES];
    struct hp_pattern regexes[HP_PATTERN_LIST_REGEXES];
};

#define HP_PATTERN_NAMES 3u
#define HP_PATTERN_FILES 2u

/* What is known of a site. A field that is NULL or empty matches nothing. */
struct hp_pattern_subject {
    const char *names[HP_PATTERN_NAMES]; /* what it is called */
    const char *files[HP_PATTERN_FILES]; /* where it is from: its source, its program or library */
};

/*
 * Parses a list; with `is_skip` every item counts as if it had a minus. On an error returns false, and puts a
 * sentence without capital and full stop into `problem`, if given. Such a list selects everything.
 */
bool hp_pattern_list_compile(struct hp_pattern_list *list, const char *text, bool is_skip, struct hp_text *problem);

bool hp_pattern_list_chooses(const struct hp_pattern_list *list, const struct hp_pattern_subject *subject);

/*
 * Returns the next item, without the blanks around it, as hp_text_next_item does:
 *
 *     for (const char *rest = text, *item; (item = hp_pattern_list_next(&rest, &length)) != NULL;)
 */
const char *hp_pattern_list_next(const char **rest, size_t *ret_length);

/* Checks one item, which need not come from a list and may contain commas. `scratch` is for its expression. */
bool hp_pattern_item_check(const char *item, size_t length, struct hp_pattern *scratch, struct hp_text *problem);

/* Appends such an item, which has passed the check, to the text of a list. */
void hp_pattern_list_put(struct hp_text *list, const char *line, size_t length, bool is_out);

#endif
