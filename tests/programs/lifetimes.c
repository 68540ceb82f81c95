/*
 * Zones before main (constructors), after it (destructors, atexit handlers, of main's session too), and in a
 * program that calls exit() within an atexit handler's reach. Output and status are the same as without hotpath.
 */
#include "support.h"

#include <unistd.h>

static void put(const char *line)
{
    if (write(1, line, strlen(line)) < 0)
        _exit(97);
}

__attribute__((constructor)) static void before_main(void)
{
    HOTPATH_MEASURE();
    put("constructor\n");
}

__attribute__((constructor(101))) static void long_before_main(void)
{
    HOTPATH_MEASURE();
    put("early constructor\n");
}

__attribute__((destructor)) static void after_main(void)
{
    HOTPATH_MEASURE();
    put("destructor\n");
}

__attribute__((destructor(101))) static void long_after_main(void)
{
    HOTPATH_MEASURE();
    put("late destructor\n");
}

static void at_exit(void)
{
    HOTPATH_MEASURE();
    put("atexit\n");
}

static void work(void) { HOTPATH_MEASURE(); }

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    atexit(at_exit);
    work();
    if (is_case(argc, argv, "exit"))
        exit(6);
    if (is_case(argc, argv, "quick_exit"))
        quick_exit(8);
    if (is_case(argc, argv, "_exit"))
        _exit(9);
    return 7;
}
