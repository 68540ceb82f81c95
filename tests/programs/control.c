/*
 * The control functions: their results, and that the host is not affected.
 *     twice       a second start: an error code, one line, the first session goes on
 *     main_again  HOTPATH_MAIN in a function that main calls three times
 *     at_once     eight threads start at once
 *     restart N   start and stop N times while threads record
 *     late N      the same while threads start, exit and take new paths
 *     middle      hotpath_report() in the middle of a run
 *     reporter    rows handed to a callback
 *     scope       HOTPATH_SESSION in a function other than main
 *     unstarted   stop and report without a session
 *     options     an invalid options struct
 */
#include "support.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

static int is_over;

static void work(void) { HOTPATH_MEASURE(); }

static void twice(void)
{
    printf("first %d\n", hotpath_start(NULL));
    work();
    printf("second %d\n", hotpath_start(NULL));
    work();
    printf("words %s\n", hotpath_strerror(HOTPATH_E_ACTIVE));
    printf("stop %d\n", hotpath_stop());
    printf("again %d\n", hotpath_stop());
}

static void again(void) { HOTPATH_MAIN(); }

static void main_again(void)
{
    HOTPATH_MAIN();
    for (int at = 0; at < 3; at++)
        again();
}

static pthread_barrier_t line;

static void *start_at_once(void *result)
{
    pthread_barrier_wait(&line);
    *(int *)result = hotpath_start(NULL);
    return NULL;
}

static void at_once(void)
{
    pthread_t threads[8];
    int results[8], started = 0, refused = 0;
    pthread_barrier_init(&line, NULL, 8);
    for (int i = 0; i < 8; i++)
        MUST(pthread_create(&threads[i], NULL, start_at_once, &results[i]) == 0);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        started += results[i] == HOTPATH_OK;
        refused += results[i] == HOTPATH_E_ACTIVE;
    }
    work();
    printf("started %d refused %d\n", started, refused);
    printf("stop %d\n", hotpath_stop());
}

static void *busy(void *unused)
{
    while (!is_raised(&is_over)) {
        HOTPATH_BLOCK("outer");
        work();
    }
    return unused;
}

static void restart(unsigned long rounds)
{
    pthread_t threads[3];
    const struct hotpath_options options = {.size = sizeof options, .format = "none"};
    int failures = 0;
    for (int i = 0; i < 3; i++)
        MUST(pthread_create(&threads[i], NULL, busy, NULL) == 0);
    for (unsigned long i = 0; i < rounds; i++) {
        failures += hotpath_start(&options) != HOTPATH_OK;
        for (int n = 0; n < 100; n++)
            work();
        failures += hotpath_stop() != HOTPATH_OK;
    }
    raise_flag(&is_over);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("failures %d\n", failures);
    /* The last session has known threads and knows only what came after its start. */
    printf("start %d\n", hotpath_start(NULL));
    for (int n = 0; n < 5; n++)
        work();
    printf("stop %d\n", hotpath_stop());
}

/*
 * Sixteen functions in each of three layers: 4096 paths, so the slow ways of the recorder are taken all the time.
 */
typedef void function(void);

static void call_all(function *const *functions)
{
    for (int i = 0; i < 16; i++)
        functions[i]();
}

static function *const nothing[16] = {work, work, work, work, work, work, work, work,
                                      work, work, work, work, work, work, work, work};
/* clang-format off */
#define SIXTEEN(X, to)                                              \
    X(0, to) X(1, to) X(2, to) X(3, to) X(4, to) X(5, to) X(6, to) X(7, to) \
    X(8, to) X(9, to) X(a, to) X(b, to) X(c, to) X(d, to) X(e, to) X(f, to)
/* clang-format on */
#define FUNCTION(n, to)                                                                                            \
    static void to##_calls_##n(void)                                                                               \
    {                                                                                                              \
        HOTPATH_MEASURE();                                                                                         \
        call_all(to);                                                                                              \
    }
#define NAME(n, to) to##_calls_##n,
SIXTEEN(FUNCTION, nothing)
static function *const leaves[16] = {SIXTEEN(NAME, nothing)};
SIXTEEN(FUNCTION, leaves)
static function *const branches[16] = {SIXTEEN(NAME, leaves)};

static void *short_life(void *unused)
{
    call_all(branches);
    return unused;
}

static void *come_and_go(void *unused)
{
    while (!is_over) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, short_life, NULL) == 0);
        short_life(NULL);
        MUST(pthread_join(thread, NULL) == 0);
    }
    return unused;
}

static void late(unsigned long rounds)
{
    pthread_t threads[3];
    struct hotpath_options options = {.size = sizeof options, .format = "none"};
    int failures = 0;
    for (int i = 0; i < 3; i++)
        MUST(pthread_create(&threads[i], NULL, come_and_go, NULL) == 0);
    for (unsigned long i = 0; i < rounds; i++) {
        options.max_bytes = i % 4 == 0 ? 1u << 20 : 0;
        failures += hotpath_start(&options) != HOTPATH_OK;
        usleep(1000);
        failures += hotpath_stop() != HOTPATH_OK;
    }
    is_over = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("failures %d\n", failures);
}

static void middle(void)
{
    HOTPATH_SESSION();
    work();
    work();
    printf("report %d\n", hotpath_report());
    work();
}

static void print_rows(const hotpath_results *results, void *context)
{
    printf("context %s\n", (const char *)context);
    for (size_t s = 0; s < hotpath_results_sections(results); s++) {
        const hotpath_section *section = hotpath_results_section(results, s);
        printf("section %s\n", hotpath_section_name(section));
        for (size_t row = 0; row < hotpath_section_rows(section); row++)
            for (size_t column = 0; column < hotpath_section_columns(section); column++) {
                struct hotpath_cell cell;
                const struct hotpath_column *about = hotpath_section_column(section, column);
                MUST(hotpath_section_cell(section, row, column, &cell) == HOTPATH_OK && cell.unit == about->unit);
                if (cell.unit == HOTPATH_UNIT_TEXT && strcmp(about->key, "name") == 0)
                    printf("name %s\n", cell.text);
                if (strcmp(about->key, "calls") == 0)
                    printf("calls %llu\n", (unsigned long long)cell.count);
            }
        struct hotpath_cell cell;
        printf("out of range %d\n", hotpath_section_cell(section, 1000, 0, &cell) != HOTPATH_OK &&
                                        hotpath_section_column(section, 1000) == NULL &&
                                        hotpath_results_section(results, 1000) == NULL);
    }
    printf("elapsed %d\n", hotpath_results_elapsed_ns(results) > 0);
}

static void reporter(void)
{
    char context[] = "mine";
    const struct hotpath_options options = {.size = sizeof options, .report = "timing", .label = "run 1"};
    hotpath_set_reporter(print_rows, context);
    printf("start %d\n", hotpath_start(&options));
    for (int i = 0; i < 9; i++)
        work();
    printf("stop %d\n", hotpath_stop());
}

static void measured_scope(void)
{
    HOTPATH_SESSION();
    work();
    HOTPATH_BLOCK("in scope");
}

static void scope(void)
{
    work(); /* before: not recorded */
    measured_scope();
    work(); /* after: not recorded */
    printf("path '%s'\n", hotpath_session_path());
}

static void unstarted(void)
{
    printf("stop %d\n", hotpath_stop());
    printf("report %d\n", hotpath_report());
    printf("path '%s'\n", hotpath_session_path());
    printf("version %d\n", strcmp(hotpath_version(), HOTPATH_VERSION));
}

static void options(void)
{
    struct hotpath_options wrong;
    memset(&wrong, 0, sizeof wrong);
    printf("no size %d\n", hotpath_start(&wrong));
    wrong.size = 1u << 30;
    printf("huge %d\n", hotpath_start(&wrong));
    work();
}

int main(int argc, char **argv)
{
    errno = 4711;
    if (is_case(argc, argv, "twice"))
        twice();
    else if (is_case(argc, argv, "main_again"))
        main_again();
    else if (is_case(argc, argv, "at_once"))
        at_once();
    else if (is_case(argc, argv, "restart"))
        restart(number(argc, argv, 2, 200));
    else if (is_case(argc, argv, "late"))
        late(number(argc, argv, 2, 150));
    else if (is_case(argc, argv, "middle"))
        middle();
    else if (is_case(argc, argv, "reporter"))
        reporter();
    else if (is_case(argc, argv, "scope"))
        scope();
    else if (is_case(argc, argv, "options"))
        options();
    else
        unstarted();
    return 0;
}
