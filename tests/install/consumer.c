/* An outside user of hotpath, C and C++ alike: main once, work a thousand times, the block once. */
#include <hotpath.h>

static int work(int n)
{
    HOTPATH_MEASURE();
    return n + 1;
}

int main(void)
{
    HOTPATH_MAIN();
    int n = 0;
    for (int i = 0; i < 1000; i++)
        n = work(n);
    {
        HOTPATH_BLOCK("last");
        n -= 1000;
    }
    return n;
}
