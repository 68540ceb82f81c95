/* Edit distance of words, row by row of the usual table. SPDX-License-Identifier: MIT */
#include "spelling.h"

#include <stdbool.h>
#include <string.h>

#define LONGEST_WORD 63u

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/*
 * Twice the number of letters to add, drop, change or swap with their neighbour to turn one word into the other. If
 * the other has parts, its first ones may be meant, which counts as half a letter.
 */
static size_t score(const char *a, size_t height, const char *b, size_t width)
{
    size_t rows[3][LONGEST_WORD + 1];
    for (size_t j = 0; j <= width; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= height; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            const char x = lower(a[i - 1]), y = lower(b[j - 1]);
            row[j] = least(above[j - 1] + (x != y), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y)
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    const size_t *last = rows[height % 3];
    size_t best = 2 * last[width];
    for (size_t j = 1; j < width; j++)
        if (b[j] == '-' || b[j] == '_')
            best = least(best, 2 * last[j] + 1);
    return best;
}

struct hp_spelling hp_spelling_of(const char *word, size_t length)
{
    return (struct hp_spelling){.word = word, .length = length, .score = length < 5 ? 4 : 6};
}

void hp_spelling_try(struct hp_spelling *spelling, const char *other)
{
    const size_t length = strlen(other);
    if (spelling->length > LONGEST_WORD || length > LONGEST_WORD)
        return;
    const size_t found = score(spelling->word, spelling->length, other, length);
    const bool is_shorter = spelling->best != NULL && length < strlen(spelling->best);
    if (found > spelling->score || (found == spelling->score && !is_shorter))
        return;
    spelling->best = other;
    spelling->score = found;
}
