/* HOTPATH_MAIN without options. */
#include <hotpath.h>

int main(void)
{
    HOTPATH_MAIN();
    return 0;
}
