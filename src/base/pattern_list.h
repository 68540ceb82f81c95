/*
 * Lists of patterns that choose sites: what HOTPATH_FILTER, HOTPATH_SKIP and HOTPATH_FOCUS hold.
 *
 *     hp_pattern_list_compile(list, "parse*,/^lex_/,file:json.c,-parse_debug", false, &problem);
 *     if (hp_pattern_list_chooses(list, &(struct hp_pattern_subject){.names = {"parse_int"}, .files = {"src/json.c"}})) ...
 *
 * Items are separated by commas; blanks around them and empty items do not count.
 *
 *   text, /regex/, /regex/i   as in pattern.h; a comma within /.../ separates nothing
 *   a*b?                      a text with * or ? is a glob: the whole name has to match; * is any text, ? any byte
 *   file:GLOB                 the source file: its path, or any end of the path that begins behind a slash
 *   -ITEM                     what matches is left out
 *   \                         before , * ? - @ / or \ takes the meaning from it
 *
 * Chosen is what matches any item without a minus, or everything where there is none, but nothing that matches an item with
 * one. An item @PATH stands for the items in a file; whoever can read files has put them in its place before
 * (hp_pattern_list_put helps).
 *
 * A list holds no pointers and is large: it lives in memory of its own. It may be copied, kept across fork and read in
 * signal handlers and by several threads. Nothing allocates. SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_PATTERN_LIST_H
#define HP_BASE_PATTERN_LIST_H

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
    uint16_t text;  /* where its text begins in `text` */
    uint16_t regex; /* which of `regexes` */
    uint8_t kind;
    bool is_out;
};

struct hp_pattern_list {
    uint32_t count;
    uint32_t regex_count;
    uint32_t text_length;
    bool has_wanted; /* an item without a minus */
    struct hp_pattern_item items[HP_PATTERN_LIST_ITEMS];
    char text[HP_PATTERN_LIST_BYTES];
    struct hp_pattern regexes[HP_PATTERN_LIST_REGEXES];
};

/* What is known of a site. A field that is NULL or empty matches nothing. */
struct hp_pattern_subject {
    const char *names[2]; /* what it is called */
    const char *files[2]; /* where it is from: its source, its program or library */
};

/*
 * Reads a list; with `is_skip` every item counts as if it had a minus. Returns false when something is wrong with it, which
 * `problem`, if there is one, gets as a sentence without capital and stop. Such a list chooses everything.
 */
bool hp_pattern_list_compile(struct hp_pattern_list *list, const char *text, bool is_skip, struct hp_text *problem);

bool hp_pattern_list_chooses(const struct hp_pattern_list *list, const struct hp_pattern_subject *subject);

/*
 * Cuts the next item off, without the blanks around it, as hp_text_next_item does:
 *
 *     for (const char *rest = text, *item; (item = hp_pattern_list_next(&rest, &length)) != NULL;)
 */
const char *hp_pattern_list_next(const char **rest, size_t *ret_length);

/* Looks at one item, which need not be cut off a list and may have commas. `scratch` is for its expression. */
bool hp_pattern_item_check(const char *item, size_t length, struct hp_pattern *scratch, struct hp_text *problem);

/* Adds such an item, which has passed the check, to the text of a list. */
void hp_pattern_list_put(struct hp_text *list, const char *line, size_t length, bool is_out);

#endif
