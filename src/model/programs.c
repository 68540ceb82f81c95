/* A list of programs. SPDX-License-Identifier: MIT */
#include "programs.h"

#include <stdlib.h>

struct hp_program *hp_programs_add(struct hp_programs *programs)
{
    if (programs->count == programs->capacity) {
        const size_t capacity = 2 * programs->capacity + 8;
        struct hp_program *all = realloc(programs->all, capacity * sizeof *all);
        if (all == NULL)
            return NULL;
        programs->all = all;
        programs->capacity = capacity;
    }
    struct hp_program *program = &programs->all[programs->count++];
    *program = (struct hp_program){0};
    return program;
}

void hp_programs_free(struct hp_programs *programs)
{
    free(programs->all);
    *programs = (struct hp_programs){0};
}
