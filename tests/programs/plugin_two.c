/* The second plugin of copies.c: like plugin.c, with other names. */
#include <hotpath.h>

int second_call(int (*back)(int), int n);

int second_call(int (*back)(int), int n)
{
    HOTPATH_MEASURE();
    return back(n);
}
