/* An outside user of the installed library; C and C++ alike. */
#include <hotpath.h>

static int work(int n)
{
    HOTPATH_MEASURE();
    return n + 1;
}

int main(void)
{
    HOTPATH_MAIN();
    return work(-1);
}
