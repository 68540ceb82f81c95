/*
 * A program without hotpath that generates code and names it in /tmp/perf-PID.map. It prints how much CPU time its
 * functions used, in nanoseconds.
 *     generated named MS     two functions, `first of two` and `second`, in turns; the first takes twice as long
 *     generated nameless MS  the same without a map
 *     generated renamed MS   the same, with other names at first
 *     generated forked MS    the same in a child that was forked when all had names
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "computing.h"

#define PLACES 4096u /* bytes of each function */
#define CODE 512u    /* more than it has */

/* Its code works at any address. */
static APART void pattern(uint64_t rounds) { compute(rounds); }

typedef void code(uint64_t rounds);

static FILE *map;

static void name(const char *code, const char *text)
{
    if (map == NULL)
        return;
    fprintf(map, "%" PRIxPTR " %x %s\n", (uintptr_t)code, CODE, text);
    fflush(map);
}

static uint64_t spend(code *function, uint64_t rounds)
{
    const uint64_t from = used_ns();
    function(rounds);
    return used_ns() - from;
}

static void work(char *place, uint64_t ms)
{
    code *first, *second;
    uint64_t first_ns = 0, second_ns = 0;
    char *behind = place + PLACES;
    memcpy(&first, &place, sizeof first);
    memcpy(&second, &behind, sizeof second);
    const uint64_t until = used_ns() + ms * 1000000u;
    while (used_ns() < until) {
        first_ns += spend(first, 200000);
        second_ns += spend(second, 100000);
    }
    printf("first %" PRIu64 "\nsecond %" PRIu64 "\n", first_ns, second_ns);
}

static void in_child(char *place, uint64_t ms)
{
    const pid_t child = fork();
    int status = 1;
    if (child == 0) {
        work(place, ms);
        fflush(stdout);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        exit(1);
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[1] : "";
    const uint64_t ms = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    char path[64], *place = mmap(NULL, 2 * PLACES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    code *const function = pattern;
    const char *from;
    if (place == MAP_FAILED)
        return 1;
    memcpy(&from, &function, sizeof from);
    memcpy(place, from, CODE);
    memcpy(place + PLACES, from, CODE);
    if (mprotect(place, 2 * PLACES, PROT_READ | PROT_EXEC) != 0)
        return 1;
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    if (strcmp(how, "nameless") != 0)
        map = fopen(path, "we");
    if (strcmp(how, "renamed") == 0) {
        name(place, "old");
        name(place + PLACES, "older");
        work(place, ms / 4);
    }
    name(place, "first of two");
    name(place + PLACES, "second");
    if (strcmp(how, "forked") == 0)
        in_child(place, ms);
    else
        work(place, ms);
    if (map != NULL)
        fclose(map);
    return 0; /* who runs it removes the map: it is read when this has ended */
}
