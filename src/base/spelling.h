/*
 * Finds the word that was probably meant: one letter is wrong, two in longer words, or its last parts are missing
 * ("alloc" of "alloc-bytes"). Ignores case.
 *
 *     struct hp_spelling spelling = hp_spelling_of(word, length);
 *     hp_spelling_try(&spelling, "timing");             for each valid word
 *     if (spelling.best != NULL) ...                    did you mean it?
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_SPELLING_H
#define HP_BASE_SPELLING_H

#include <stddef.h>

struct hp_spelling {
    const char *word;
    size_t length;
    const char *best; /* of the tried words; NULL: none is close */
    size_t score;     /* of the best one, or one more than the limit: twice the number of wrong letters */
};

struct hp_spelling hp_spelling_of(const char *word, size_t length);
void hp_spelling_try(struct hp_spelling *spelling, const char *other);

#endif
