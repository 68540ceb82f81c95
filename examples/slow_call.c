/*
 * One slow call among many quick ones. On average a look-up is quick; once the table has to be loaded. What ran
 * inside the slowest call of a function is kept, and can be asked for when the program has ended:
 *
 *     build/release/examples/slow_call
 *     hotpath report --slowest handle_request
 *
 * or at once, with HOTPATH_SLOWEST=handle_request. The call that is shown has `load_table` inside it, with nearly
 * all of its time, which no other call has.
 */
#include <hotpath.h>

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define REQUESTS 200
#define ENTRIES 65536u

static uint32_t table[ENTRIES];
static int is_loaded;

/* Stands for a file that has to be read. */
static void load_table(void)
{
    HOTPATH_MEASURE();
    const struct timespec hundred_ms = {0, 100 * 1000 * 1000};
    nanosleep(&hundred_ms, NULL);
    for (uint32_t i = 0; i < ENTRIES; i++)
        table[i] = i * 2654435761u;
    is_loaded = 1;
}

static uint32_t look_up(uint32_t key)
{
    HOTPATH_MEASURE();
    if (!is_loaded)
        load_table();
    return table[key % ENTRIES];
}

static uint32_t render(uint32_t value)
{
    HOTPATH_MEASURE();
    for (int i = 0; i < 20000; i++)
        value = (value ^ (value >> 13)) * 2246822519u + 1;
    return value;
}

/* Only some requests need the table, so the first ones are quick and it is the hundredth that waits. */
static uint32_t handle_request(uint32_t number)
{
    HOTPATH_MEASURE();
    HOTPATH_NOTE("request %u", number); /* shown beside the call, so that it is known which one it was */
    return render(number < 100 ? number : look_up(number));
}

int main(void)
{
    HOTPATH_MAIN();
    uint32_t sum = 0;
    for (uint32_t number = 1; number <= REQUESTS; number++)
        sum += handle_request(number);
    printf("%u\n", sum);
    return 0;
}
