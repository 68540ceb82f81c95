/*
 * Formats text into a caller's buffer: no heap, no stdio, no locale. Two ways to use it:
 *
 *   a bounded buffer       hp_text_init; text that does not fit is cut, and `is_cut` is set
 *   a stream               hp_text_init_stream; the buffer is passed to `flush` whenever it is full
 *
 * Numbers look the same in every locale. May be used in a signal handler. SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_TEXT_H
#define HP_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes bytes of a stream; false: give up, and ignore the rest of the stream. */
typedef bool hp_text_flush(void *context, const char *bytes, size_t length);

struct hp_text {
    char *bytes;
    size_t capacity;
    size_t length;
    bool is_cut; /* something did not fit, or could not be written */
    hp_text_flush *flush;
    void *context;
};

void hp_text_init(struct hp_text *text, char *bytes, size_t capacity);
void hp_text_init_stream(struct hp_text *text, char *bytes, size_t capacity, hp_text_flush *flush, void *context);

void hp_text_char(struct hp_text *text, char c);
void hp_text_bytes(struct hp_text *text, const char *bytes, size_t length);
void hp_text_string(struct hp_text *text, const char *string);
void hp_text_repeat(struct hp_text *text, char c, size_t count);
void hp_text_u64(struct hp_text *text, uint64_t number);
void hp_text_i64(struct hp_text *text, int64_t number);
/* At least `width` digits, padded with zeros. */
void hp_text_padded(struct hp_text *text, uint64_t number, unsigned width);
void hp_text_hex(struct hp_text *text, uint32_t number, unsigned width);
/* "0x7f00", without padding. */
void hp_text_address(struct hp_text *text, uint64_t address);
/* With a fixed number of decimals (at most 9), rounded half up; negative and NaN count as 0. */
void hp_text_fixed(struct hp_text *text, double number, unsigned decimals);
/* Any number, with that many significant digits (1 to 15) and no zeros at the end: "-0.125", "3", "1e-9", "inf". */
void hp_text_real(struct hp_text *text, double number, unsigned digits);

/* As printf: %s, %.*s, %c, %%, %u, %02u and the like, with l, ll or z before the u; and %.1f by hp_text_fixed. */
void hp_text_format(struct hp_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes what is left of a stream. False: not everything was written. */
bool hp_text_finish(struct hp_text *text);

/* Ends a bounded buffer with a zero, over the last byte if need be, and returns it. */
const char *hp_text_end(struct hp_text *text);

/* Whether `text` begins with `start`. */
bool hp_text_begins(const char *text, const char *start);

/* Whether `text` ends in `suffix` and has something before it. */
bool hp_text_has_suffix(const char *text, const char *suffix);

/* The part of a path after the last slash. */
const char *hp_text_base_name(const char *path);

/*
 * The name by which the program of a command line was started, which may be that of a link: "python3" of
 * python3.11. Without folders, the dash of a login shell, or the colon with which a program tells what it does
 * ("postgres: checkpointer"). Returns its length.
 */
size_t hp_text_program(const char *command, const char **ret_begin);

/*
 * Decodes newlines in a path, in place; the kernel writes them as "\\012" in its lists. It does not escape
 * backslashes, so a file name with these four characters is taken for one with a newline.
 */
void hp_text_read_newlines(char *path);

/* ASCII only, independent of the locale. */
bool hp_text_equal_nocase(const char *a, size_t a_length, const char *b);

/*
 * Returns the next item of a comma-separated list, without the blanks around it; skips empty items.
 *
 *     for (const char *rest = list, *item; (item = hp_text_next_item(&rest, &length)) != NULL;)
 */
const char *hp_text_next_item(const char **rest, size_t *ret_length);

/* Hash of a text (FNV-1a). */
uint64_t hp_text_hash(const char *bytes, size_t length);

#endif
