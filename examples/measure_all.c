/*
 * Every function measured, without a word about it in the sources: this file is compiled with
 * -finstrument-functions and linked with hotpath, and that is all. It records when it is asked to:
 *
 *     HOTPATH=1 build/release/examples/measure_all
 *     HOTPATH=1 HOTPATH_FILTER=sieve build/release/examples/measure_all
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SIZE 20000

static bool is_composite[SIZE];

static void cross_out(int prime)
{
    for (int multiple = 2 * prime; multiple < SIZE; multiple += prime)
        is_composite[multiple] = true;
}

static void sieve(void)
{
    memset(is_composite, 0, sizeof is_composite);
    for (int number = 2; number * number < SIZE; number++)
        if (!is_composite[number])
            cross_out(number);
}

static int count_primes(void)
{
    int primes = 0;
    for (int number = 2; number < SIZE; number++)
        primes += !is_composite[number];
    return primes;
}

int main(void)
{
    int primes = 0;
    for (int round = 0; round < 100; round++) {
        sieve();
        primes = count_primes();
    }
    printf("%d primes below %d\n", primes, SIZE);
    return 0;
}
