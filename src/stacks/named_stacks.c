/* Stacks with names. SPDX-License-Identifier: MIT */
#include "named_stacks.h"

#include <stdlib.h>
#include <string.h>

void hp_named_stacks_free(struct hp_named_stacks *named)
{
    free(named->images);
    free(named->functions);
    free(named->frames);
    free(named->nodes);
    free(named->zones);
    free(named->shares);
    free(named->texts);
    memset(named, 0, sizeof *named);
}
