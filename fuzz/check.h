/*
 * Properties of every report, whatever the session is. If one does not hold, the input is a finding: the program
 * aborts. SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_CHECK_H
#define FUZZ_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUIRE(condition) ((condition) ? (void)0 : fuzz_fail(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_fail(const char *what, const char *file, int line);

/* Bytes collected by a sink. Zero it first; emptied by setting the length to 0. */
struct fuzz_output {
    char *bytes;
    size_t length, capacity;
};

/* An hp_sink whose context is a struct fuzz_output. */
bool fuzz_collect(void *output, const char *bytes, size_t length);

/* It is one JSON value, in UTF-8, without raw control characters; a newline may follow. */
void fuzz_require_json(const struct fuzz_output *json);

/* The pretty one is the compact one plus blanks and newlines. */
void fuzz_require_same_json(const struct fuzz_output *compact, const struct fuzz_output *pretty);

/*
 * It is harmless to a terminal, the lines of each table have equal width, and no line is wider than `width` (0:
 * any), except for a single long word, and for a table that cannot shrink further. No text in it may contain a +.
 */
void fuzz_require_lines(const struct fuzz_output *text, size_t width);

/* Only that one line is harmless to a terminal. Returns its columns. */
size_t fuzz_require_harmless(const char *line, size_t length);

#endif
