/*
 * 2,000 functions, of which the n-th of a hundred is called n times per round. Compiled without optimisation: only
 * their number matters.
 */
#include "support.h"

#define ONE(n)                                                                                                     \
    static void f##n(void) { HOTPATH_MEASURE(); }
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define CENT(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
#define MILLE(n)                                                                                                   \
    CENT(n##0) CENT(n##1) CENT(n##2) CENT(n##3) CENT(n##4) CENT(n##5) CENT(n##6) CENT(n##7) CENT(n##8) CENT(n##9)
#define ALL MILLE(_0) MILLE(_1)

ALL

#undef ONE
#define ONE(n) f##n,
    static void (*const functions[])(void) = {ALL};

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    const unsigned long rounds = number(argc, argv, 1, 3);
    for (unsigned long round = 0; round < rounds; round++)
        for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
            for (size_t n = 0; n <= i % 4; n++)
                functions[i]();
    printf("done\n");
    return 0;
}
