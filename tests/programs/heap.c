/*
 * The host's heap. malloc and its siblings are replaced here: they count calls made from inside the library, and
 * fail from the n-th call on if told so. The library must not call them at all.
 *     heap count     prints the number of calls made inside hotpath
 *     heap fail N    fails from the N-th call on
 */
#include "support.h"

#include <pthread.h>
#include <unistd.h>

static char arena[1 << 20];
static size_t used;
static volatile long calls, calls_inside, fail_after = -1;
static volatile int is_inside;

static void *take(size_t size)
{
    calls++;
    if (is_inside)
        calls_inside++;
    if (fail_after >= 0 && calls > fail_after)
        return NULL;
    const size_t from = __atomic_fetch_add(&used, (size + 31) & ~(size_t)15, __ATOMIC_RELAXED) + 16;
    if (from + size > sizeof arena)
        return NULL;
    memcpy(arena + from - 16, &size, sizeof size);
    return arena + from;
}

void *malloc(size_t size) { return take(size); }

void *calloc(size_t count, size_t size) { return take(count * size); /* the arena is zero and never reused */ }

void *realloc(void *old, size_t size)
{
    void *fresh = take(size);
    size_t before = 0;
    if (old != NULL && fresh != NULL) {
        memcpy(&before, (char *)old - 16, sizeof before);
        memcpy(fresh, old, before < size ? before : size);
    }
    return fresh;
}

void free(void *memory) { (void)memory; }

static void work(int depth)
{
    HOTPATH_MEASURE();
    if (depth > 0)
        work(depth - 1);
}

static void *thread(void *unused)
{
    is_inside = 1;
    for (int i = 0; i < 10; i++)
        work(200);
    is_inside = 0;
    return unused;
}

static void put(const char *line)
{
    if (write(1, line, strlen(line)) < 0)
        _exit(97);
}

static void measured(void)
{
    is_inside = 1;
    HOTPATH_MAIN(.report = "all", .percentiles = "50,99");
    work(100);
    hotpath_report();
    is_inside = 0;
}

int main(int argc, char **argv)
{
    pthread_t other;
    if (is_case(argc, argv, "fail"))
        fail_after = calls + (long)number(argc, argv, 2, 0);
    measured();
    if (pthread_create(&other, NULL, thread, NULL) == 0)
        pthread_join(other, NULL);
    is_inside = 1;
    hotpath_stop();
    is_inside = 0;
    const long inside = calls_inside;
    fail_after = -1;
    if (is_case(argc, argv, "count")) {
        char line[64];
        snprintf(line, sizeof line, "inside %ld\n", inside);
        put(line);
    }
    put("end\n");
    return 17;
}
