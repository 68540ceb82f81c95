/*
 * Patterns that select names: the values of HOTPATH_FOCUS and HOTPATH_FILTER.
 *
 *     struct hp_pattern pattern;
 *     const char *error = hp_pattern_compile(&pattern, "/^parse_(int|text)$/");
 *     if (!error && hp_pattern_matches(&pattern, "parse_int")) ...
 *
 *   (empty)     everything
 *   text        every name that contains the text; case-sensitive
 *   /regex/     every name in which the expression matches somewhere
 *   /regex/i    the same, ignoring ASCII case
 *
 * A text that starts with a slash and does not end like the last two forms is plain text. Within an expression:
 *
 *   .  any byte       [a-z_] [^0-9]  sets         \d \w \s  digits, word bytes, blanks; \D \W \S  all others
 *   ^ $  both ends    \b \B  at a word's edge     a|b  either     (...) (?:...)  a group
 *   * + ? {m} {m,} {m,n}  repeated, n at most 255 (a following ? changes nothing)
 *   \t \n \r  as in C; \ before any other byte that is neither letter nor digit means that byte
 *
 * Classes are ASCII. Bytes above 127 stand for themselves, so UTF-8 names are matched byte by byte.
 *
 * A match takes time proportional to the length of the name times that of the pattern, for any pattern. A pattern
 * holds no pointers: it may be copied, kept across fork and used in signal handlers and by several threads. Nothing
 * allocates. SPDX-License-Identifier: MIT
 */
#ifndef HP_CONFIG_PATTERN_H
#define HP_CONFIG_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#define HP_PATTERN_BYTES 256 /* of text, with the final zero */
#define HP_PATTERN_STEPS 512 /* of a compiled expression; at least one for each byte it can match in a row */
#define HP_PATTERN_SETS 32   /* different sets in one expression */
#define HP_PATTERN_DEPTH 32  /* nesting depth of groups */

/* One step of a compiled expression; private to pattern.c. */
struct hp_pattern_step {
    uint8_t kind;
    uint8_t argument;
    int16_t jump; /* distance to the other successor */
};

/* All fields are private to pattern.c. */
struct hp_pattern {
    bool is_regex;
    bool ignores_case;
    uint16_t step_count;
    uint16_t set_count;
    char text[HP_PATTERN_BYTES]; /* the text of a plain pattern */
    struct hp_pattern_step steps[HP_PATTERN_STEPS];
    uint64_t sets[HP_PATTERN_SETS][4]; /* one bit for each of 256 bytes */
    char error[128];
};

/*
 * Returns NULL, or a message with the byte of the error (the first is byte 1), in lower case and without a full
 * stop. The message lives as long as the pattern. A pattern that did not compile matches everything.
 */
const char *hp_pattern_compile(struct hp_pattern *pattern, const char *text);

bool hp_pattern_matches(const struct hp_pattern *pattern, const char *subject);

#endif
