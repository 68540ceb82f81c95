/* A measured shared library without HOTPATH_MAIN, opened by host.c. */
#include <hotpath.h>

int plugin_work(int n);
int plugin_call(int (*back)(int), int n);

static int plugin_inner(int n)
{
    HOTPATH_MEASURE();
    return n + 1;
}

int plugin_work(int n)
{
    HOTPATH_MEASURE();
    return plugin_inner(n) + plugin_inner(n);
}

/* Calls back into its caller, within a zone. */
int plugin_call(int (*back)(int), int n)
{
    HOTPATH_MEASURE();
    return back(n);
}
