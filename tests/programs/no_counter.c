/*
 * Forbids itself to read the time stamp counter, computes, allocates and ends, as a sandbox for untrusted code may.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

int main(void)
{
#ifdef PR_SET_TSC
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0)
        return 77;
#else
    return 77;
#endif
    for (volatile unsigned long at = 0; at < 100000000; at++)
        ;
    for (int at = 0; at < 1000; at++)
        free(malloc(100));
    puts("ok");
    return 0;
}
