/*
 * A generator, as a stream: how fast it yields, and whether it takes the time or who uses what it yields. Here it
 * is the generator, which looks for primes.
 */
#include <hotpath.h>

#include <stdbool.h>
#include <stdio.h>

#define PRIMES 500

struct primes {
    unsigned last;
};

static bool is_prime(unsigned number)
{
    for (unsigned divisor = 2; divisor < number; divisor++)
        if (number % divisor == 0)
            return false;
    return number > 1;
}

static unsigned next_prime(struct primes *primes)
{
    HOTPATH_MEASURE();
    HOTPATH_STREAM_NEXT("primes", primes); /* at work until it returns */
    do
        primes->last++;
    while (!is_prime(primes->last));
    HOTPATH_STREAM_ITEM("primes", primes, 1, sizeof primes->last);
    return primes->last;
}

int main(void)
{
    HOTPATH_MAIN();
    struct primes primes = {0};
    unsigned long sum = 0;
    for (int at = 0; at < PRIMES; at++)
        sum += next_prime(&primes);
    HOTPATH_STREAM_END("primes", &primes);
    printf("%lu\n", sum);
    return 0;
}
