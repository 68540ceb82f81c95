/* Two static functions of one name in two files stay two rows; one inline function in both files is one row. */
#include "names.h"

void other_unit(void);

static void helper(void) { HOTPATH_MEASURE(); }

int main(void)
{
    HOTPATH_MAIN();
    for (int i = 0; i < 5; i++)
        helper();
    shared_inline();
    other_unit();
    return 0;
}
