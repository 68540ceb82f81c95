/*
 * Allocations of known number and sizes, in known functions and threads. Usable sizes depend on the allocator: the
 * program asks for them and prints them.
 */
#include "support.h"

#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>

/*
 * In the frame of its caller: zones left by longjmp are recognised by their place on the stack, where another frame
 * may be by now.
 */
#define INLINED static inline __attribute__((always_inline))

/* Keeps the compiler from seeing that nothing is done with a block. */
static void *seen;
INLINED void *take(void *block)
{
    MUST(block != NULL);
    __atomic_store_n(&seen, block, __ATOMIC_RELAXED);
    return block;
}

INLINED void *get(size_t size) { return take(malloc(size)); }

/* Usable bytes of a block of this size. Asked outside measured code. */
static void tell_usable(size_t size)
{
    char key[32];
    void *block = get(size);
    snprintf(key, sizeof key, "usable_%zu", size);
    tell(key, malloc_usable_size(block));
    free(block);
}

/* --- nested: 10 x (100 held, 3 x (1000 for a moment)) */

static void inner(void)
{
    HOTPATH_MEASURE();
    free(get(1000));
}

static void outer(void)
{
    HOTPATH_MEASURE();
    void *held = get(100);
    for (int at = 0; at < 3; at++)
        inner();
    free(held);
}

static void quiet(void) { HOTPATH_MEASURE(); }

static void nested(void)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < 10; at++) {
        outer();
        quiet();
    }
}

/* --- recursion: 4 x 6 calls inside one another, each holds 64 */

static void recurse(int left)
{
    HOTPATH_MEASURE();
    void *held = get(64);
    if (left > 0)
        recurse(left - 1);
    free(held);
}

static void recursion(void)
{
    for (int at = 0; at < 4; at++)
        recurse(5);
}

/* --- mutual recursion: ping 50, pong 70, 3 each; pong's are inside ping's */

static void pong(int left);
static void ping(int left)
{
    HOTPATH_MEASURE();
    void *held = get(50);
    if (left > 0)
        pong(left - 1);
    free(held);
}

static void pong(int left)
{
    HOTPATH_MEASURE();
    void *held = get(70);
    if (left > 0)
        ping(left - 1);
    free(held);
}

static void mutual(void) { ping(5); }

/* --- sizes: calls of 1 to 100 blocks of 8 bytes, for percentiles */

static void some(int count)
{
    HOTPATH_MEASURE();
    void *blocks[100];
    for (int at = 0; at < count; at++)
        blocks[at] = get(8);
    for (int at = 0; at < count; at++)
        free(blocks[at]);
}

static void sizes(void)
{
    for (int count = 1; count <= 100; count++)
        some(count);
}

/* --- left behind: 5 calls keep 3 of 200 and free 1 of 300; then all is freed by another function */

static void *kept[15];

static void keep(int call)
{
    HOTPATH_MEASURE();
    void *passing = get(300);
    for (int at = 0; at < 3; at++)
        kept[call * 3 + at] = get(200);
    free(passing);
}

static void drop_all(void)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < 15; at++)
        free(kept[at]);
}

static void left_behind(void)
{
    for (int call = 0; call < 5; call++)
        keep(call);
    drop_all();
}

/* --- family: each function once, with sizes that tell them apart */

static void family(void)
{
    HOTPATH_MEASURE();
    void *block = NULL;
    free(take(calloc(7, 11)));              /* 77 */
    block = take(realloc(NULL, 100));       /* 100 */
    block = take(realloc(block, 101));      /* 101, in its place perhaps */
    block = take(realloc(block, 1000000));  /* elsewhere */
    block = take(realloc(block, 10));       /* less */
    free(block);                            /* */
    free(take(reallocarray(NULL, 13, 17))); /* 221 */
    MUST(posix_memalign(&block, 64, 333) == 0);
    free(take(block));                   /* 333 */
    free(take(aligned_alloc(128, 256))); /* 256 */
    free(take(memalign(32, 45)));        /* 45 */
    free(take(valloc(19)));              /* 19 */
    free(take(strdup("twelve chars")));  /* 13, by the C library */
    free(NULL);
    free(take(malloc(0))); /* 0 */
#ifdef __GLIBC__
    free(take(pvalloc(23))); /* 23 */
#endif
}

/* --- failures count as nothing but failures */

static void failures(void)
{
    HOTPATH_MEASURE();
    volatile size_t too_much = (size_t)PTRDIFF_MAX + 1;
    void *block = get(40);
    MUST(malloc(too_much) == NULL);
    MUST(calloc(too_much, 3) == NULL);
    MUST(realloc(block, too_much) == NULL);
    MUST(reallocarray(block, too_much, 16) == NULL);
    void *other = NULL;
    MUST(posix_memalign(&other, 64, too_much) != 0);
    free(block);
}

/* --- threads that come and go: each takes 10 of 48, frees 4, hands 6 to the main thread */

static void *worker(void *blocks)
{
    HOTPATH_MEASURE();
    void **handed = blocks;
    void *own[4];
    for (int at = 0; at < 4; at++)
        own[at] = get(48);
    for (int at = 0; at < 6; at++)
        handed[at] = get(48);
    for (int at = 0; at < 4; at++)
        free(own[at]);
    return NULL;
}

static void free_handed(void **handed)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < 6; at++)
        free(handed[at]);
}

static void threads(void)
{
    pthread_t started;
    void *handed[6];
    for (int at = 0; at < 100; at++) {
        MUST(pthread_create(&started, NULL, worker, handed) == 0);
        pthread_join(started, NULL);
        free_handed(handed);
    }
}

/* --- many at once, none sees the others' */

static void *busy(void *unused)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < 20000; at++)
        free(get(32));
    return unused;
}

static void at_once(void)
{
    pthread_t started[8];
    for (int at = 0; at < 8; at++)
        MUST(pthread_create(&started[at], NULL, busy, NULL) == 0);
    for (int at = 0; at < 8; at++)
        pthread_join(started[at], NULL);
}

/* --- thread's end: a destructor of a key frees what its thread left, after the thread's function */

static pthread_key_t key;

static void at_end(void *block)
{
    HOTPATH_BLOCK("at_end");
    free(block);
    free(get(88));
}

static void *leaver(void *unused)
{
    pthread_setspecific(key, get(77));
    return unused;
}

static void ends(void)
{
    pthread_t started;
    MUST(pthread_key_create(&key, at_end) == 0);
    for (int at = 0; at < 5; at++) {
        MUST(pthread_create(&started, NULL, leaver, NULL) == 0);
        pthread_join(started, NULL);
    }
}

/*  the very end of a thread: its destructor runs repeatedly, at last when the thread has no record any more */

static pthread_key_t last_key;

static void last_words(void *rounds)
{
    free(get(99));
    if ((intptr_t)rounds > 1)
        pthread_setspecific(last_key, (char *)rounds - 1);
}

static void *speaker(void *unused)
{
    free(get(11));
    pthread_setspecific(last_key, (void *)(intptr_t)PTHREAD_DESTRUCTOR_ITERATIONS);
    return unused;
}

static void very_end(void)
{
    pthread_t started;
    MUST(pthread_key_create(&last_key, last_words) == 0);
    for (int at = 0; at < 5; at++) {
        MUST(pthread_create(&started, NULL, speaker, NULL) == 0);
        pthread_join(started, NULL);
    }
    tell("rounds", PTHREAD_DESTRUCTOR_ITERATIONS);
}

/* --- longjmp: later allocations do not belong to the zones it left */

static jmp_buf back;

static __attribute__((noinline)) void thrower(int depth)
{
    HOTPATH_MEASURE();
    get(20);
    if (depth == 0)
        longjmp(back, 1);
    thrower(depth - 1);
}

static __attribute__((noinline)) void catcher(void)
{
    HOTPATH_MEASURE();
    if (setjmp(back) == 0)
        thrower(2);
    get(30);
    for (int at = 0; at < 7; at++)
        free(get(500));
}

static void jumps(void)
{
    for (int at = 0; at < 3; at++)
        catcher();
}

/* --- open when the program ends */

static void never_ends(void)
{
    HOTPATH_MEASURE();
    get(600);
    free(get(900));
    exit(0);
}

/* --- all kinds of zones: sampled or logged calls are counted alike */

static void sampled(void)
{
    HOTPATH_MEASURE();
    free(get(24));
}

static void logged(unsigned number)
{
    HOTPATH_MEASURE(.log = 1);
    HOTPATH_NOTE("%u", number);
    for (unsigned at = 0; at < number; at++)
        free(get(10));
}

static void kinds(void)
{
    for (unsigned at = 0; at < 100; at++)
        sampled();
    for (unsigned at = 0; at < 5; at++)
        logged(at);
}

/* --- deep: the stack of zones grows in the middle of it */

static void deep(int left)
{
    HOTPATH_MEASURE();
    void *held = get(16);
    if (left > 0)
        deep(left - 1);
    free(held);
}

static void depth(void) { deep(999); }

/* --- before and after main */

static void early(void)
{
    HOTPATH_BLOCK("early");
    get(1111);
}
static void late(void)
{
    HOTPATH_BLOCK("late");
    get(2222);
}
static int has_edges;
__attribute__((constructor)) static void before_main(void)
{
    const char *wish = getenv("EDGES");
    has_edges = wish != NULL;
    if (has_edges)
        early();
}
__attribute__((destructor)) static void after_main(void)
{
    if (has_edges)
        late();
}
static void edges(void) { MUST(has_edges); }

static void usable(void)
{
    /* Small ones: what glibc keeps of these in its caches is as large the next time. */
    static const size_t asked[] = {8, 16, 20, 30, 32, 48, 50, 64, 70, 100, 200, 300, 500, 600, 900, 1000};
    for (size_t at = 0; at < sizeof asked / sizeof asked[0]; at++)
        tell_usable(asked[at]);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"nested", nested},    {"recursion", recursion}, {"mutual", mutual},     {"sizes", sizes},
                 {"left", left_behind}, {"family", family},       {"failures", failures}, {"threads", threads},
                 {"at_once", at_once},  {"ends", ends},           {"jumps", jumps},       {"open", never_ends},
                 {"kinds", kinds},      {"depth", depth},         {"edges", edges},       {"very_end", very_end}};
    static char buffer[4096];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer); /* or the first line would take one from the heap */
    usable();
    {
        HOTPATH_MAIN();
        for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++)
            if (is_case(argc, argv, cases[at].name))
                cases[at].run();
    }
    return 0;
}
