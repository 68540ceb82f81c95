/* The second unit of names.c. */
#include "names.h"

void other_unit(void);

static void helper(void) { HOTPATH_MEASURE(); }

void other_unit(void)
{
    for (int i = 0; i < 3; i++)
        helper();
    shared_inline();
    shared_inline();
}
