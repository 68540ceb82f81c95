/*
 * What holds of every report, whatever the session is. Where it does not, the input is a finding: the program is aborted.
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_CHECK_H
#define FUZZ_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUIRE(condition) ((condition) ? (void)0 : fuzz_fail(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_fail(const char *what, const char *file, int line);

/* Bytes that a sink has collected. Zeroed to begin with; emptied by setting the length to 0. */
struct fuzz_output {
    char *bytes;
    size_t length, capacity;
};

/* An hp_sink whose context is a struct fuzz_output. */
bool fuzz_collect(void *output, const char *bytes, size_t length);

/* It is one JSON value, in UTF-8, without raw control characters; a line end behind it is allowed. */
void fuzz_require_json(const struct fuzz_output *json);

/* The pretty one is the compact one with blanks and lines between. */
void fuzz_require_same_json(const struct fuzz_output *compact, const struct fuzz_output *pretty);

/*
 * It can do a terminal no harm, the lines of each table are equally wide, and no line is wider than `width` (0: any) but
 * for a single long word, and for a table that has nothing left to give. No text in it may have a + of its own.
 */
void fuzz_require_lines(const struct fuzz_output *text, size_t width);

/* Only that it can do a terminal no harm, of one line. Returns its columns. */
size_t fuzz_require_harmless(const char *line, size_t length);

#endif
