// HOTPATH_MAIN without options.
#include <hotpath.h>

int main()
{
    HOTPATH_MAIN();
}
