/* A list of programs. SPDX-License-Identifier: MIT */
#include "programs.h"

#include <stdlib.h>

#include "growing_array.h"

struct hp_program *hp_programs_add(struct hp_programs *programs)
{
    if (!HP_MAKE_ROOM(programs->all, programs->count + 1, programs->capacity))
        return NULL;
    struct hp_program *program = &programs->all[programs->count++];
    *program = (struct hp_program){0};
    return program;
}

void hp_programs_free(struct hp_programs *programs)
{
    free(programs->all);
    *programs = (struct hp_programs){0};
}
