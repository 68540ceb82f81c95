/*
 * Calls that are kept one by one, with notes that say which call it was. Each case knows what the latest calls are;
 * a running number in the note tells them apart.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 3

/* ------------------------------------------------------------------------------------------ one after the other */

static void step(unsigned number)
{
    HOTPATH_MEASURE(.log = 1);
    HOTPATH_NOTE("%u", number);
}

static void many(unsigned count)
{
    for (unsigned number = 0; number < count; number++)
        step(number);
}

/* ---------------------------------------------------------------------------------------------- several threads */

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static unsigned turns_taken;

/* Says which thread made the call whose number this is. */
static void tell_turn(unsigned number)
{
    char key[32];
    snprintf(key, sizeof key, "turn_%u", number);
    tell(key, (uint64_t)syscall(SYS_gettid));
}

/* One call at a time, so that there is no doubt which one ended last. */
static void *take_turns(void *rounds)
{
    for (unsigned round = 0; round < *(unsigned *)rounds; round++) {
        pthread_mutex_lock(&turn);
        step(turns_taken);
        tell_turn(turns_taken++);
        pthread_mutex_unlock(&turn);
        sched_yield();
    }
    return NULL;
}

static void at_the_same_time(unsigned rounds)
{
    pthread_t threads[THREADS];
    for (int at = 0; at < THREADS; at++)
        MUST(pthread_create(&threads[at], NULL, take_turns, &rounds) == 0);
    for (int at = 0; at < THREADS; at++)
        pthread_join(threads[at], NULL);
}

static void one_by_one(unsigned rounds)
{
    for (int at = 0; at < THREADS; at++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, take_turns, &rounds) == 0);
        pthread_join(thread, NULL);
    }
}

/* ------------------------------------------------------------------------------------------ chosen from outside */

static void parse_head(int number)
{
    HOTPATH_MEASURE();
    HOTPATH_NOTE("head %d", number);
}

static void parse_body(int number)
{
    HOTPATH_MEASURE();
    HOTPATH_NOTE("body %d", number);
}

static void send(int number)
{
    HOTPATH_BLOCK("send");
    HOTPATH_NOTE("sent %d", number);
}

static void chosen(void)
{
    for (int number = 0; number < 3; number++) {
        parse_head(number);
        parse_body(number);
        send(number);
    }
}

/* ----------------------------------------------------------------------------------------- what belongs to whom */

static void inner(int number)
{
    HOTPATH_MEASURE_AS("inner", .log = 1);
    HOTPATH_NOTE("inner %d", number);
}

static void outer(int number)
{
    HOTPATH_MEASURE(.log = 1);
    HOTPATH_NOTE("before %d", number);
    inner(number);
    HOTPATH_NOTE("after %d", number);
}

/* Noted late: the inner call has its note, and is over, when the outer one gets its own. */
static void outer_late(int number)
{
    HOTPATH_MEASURE(.log = 1);
    inner(100 + number);
    HOTPATH_NOTE("late %d", number);
}

static void outer_silent(int number)
{
    HOTPATH_MEASURE(.log = 1);
    inner(200 + number);
}

static void nested(void)
{
    for (int number = 0; number < 3; number++) {
        outer(number);
        outer_late(number);
        outer_silent(number);
    }
}

static void descend(int level)
{
    HOTPATH_MEASURE(.log = 1);
    HOTPATH_NOTE("down %d", level);
    if (level > 0)
        descend(level - 1);
    if (level % 2 == 1)
        HOTPATH_NOTE("up %d", level);
}

/* ----------------------------------------------------------------------------------------------------- its text */

static void letters(char *text, size_t count)
{
    for (size_t at = 0; at < count; at++)
        text[at] = (char)('a' + at % 26);
    text[count] = '\0';
}

static void of_length(size_t count)
{
    HOTPATH_MEASURE(.log = 1);
    char text[400];
    letters(text, count);
    HOTPATH_NOTE("%s", text);
}

/* Two notes; the second does not fit, or just does. */
static void in_two(size_t first, size_t second)
{
    HOTPATH_MEASURE(.log = 1);
    char text[400];
    letters(text, first);
    HOTPATH_NOTE("%s", text);
    letters(text, second);
    HOTPATH_NOTE("%s", text);
}

static void formatted(void)
{
    HOTPATH_MEASURE(.log = 1);
    HOTPATH_NOTE("%s|%5d|%-4d|%lld|%zu|%#x|%.3f|%c|%%|%.*s", "text", 42, 7, -5000000000LL, (size_t)9, 255u, 0.5,
                 'c', 2, "abc");
}

static void odd(void)
{
    HOTPATH_MEASURE(.log = 1);
    HOTPATH_NOTE("tab\there \"quoted\" back\\slash new\nline \x1b[31m");
}

static void nothing_in_it(void)
{
    HOTPATH_MEASURE(.log = 1);
    HOTPATH_NOTE("%s", "");
}

static void texts(void)
{
    static const size_t lengths[] = {1, 199, 200, 201, 399};
    for (size_t at = 0; at < sizeof lengths / sizeof lengths[0]; at++)
        of_length(lengths[at]);
    in_two(10, 10);
    in_two(100, 98);
    in_two(100, 99);
    in_two(198, 1);
    in_two(199, 1);
    in_two(200, 1);
    formatted();
    odd();
    nothing_in_it();
}

/* --------------------------------------------------------------------------------------- where there is no note */

static unsigned evaluated;

/* Not used at all when compiled out. */
static __attribute__((unused)) unsigned evaluate(void) { return ++evaluated; }

static void not_kept(void)
{
    HOTPATH_MEASURE();
    HOTPATH_NOTE("%u", evaluate());
}

static void kept(void)
{
    HOTPATH_MEASURE(.log = 1);
    HOTPATH_NOTE("%u", evaluate());
}

static void *outside(void *unused)
{
    HOTPATH_NOTE("%u", evaluate()); /* a thread without a record */
    {
        HOTPATH_BLOCK("inside", .log = 1);
    }
    HOTPATH_NOTE("%u", evaluate()); /* known, and no zone is open */
    return unused;
}

static void nowhere(void)
{
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, outside, NULL) == 0);
    pthread_join(thread, NULL);
    for (int at = 0; at < 20; at++)
        not_kept();
    tell_aside("evaluated_nowhere", evaluated);
    kept();
    tell_aside("evaluated", evaluated);
}

static void keeps_errno(void)
{
    HOTPATH_MEASURE(.log = 1);
    errno = 4711;
    HOTPATH_NOTE("%ls", L"\x110000"); /* what cannot be written sets errno */
    HOTPATH_NOTE("fine");
    tell_aside("errno", (uint64_t)errno);
}

/* ------------------------------------------------------------------------------------------------------ longjmp */

static jmp_buf back;

static __attribute__((noinline)) void leaves(int number)
{
    HOTPATH_MEASURE(.log = 1);
    HOTPATH_NOTE("left %d", number);
    longjmp(back, 1);
}

static __attribute__((noinline)) void follows(int number)
{
    HOTPATH_MEASURE(.log = 1);
    if (number % 2 == 0)
        HOTPATH_NOTE("followed %d", number);
}

static void jumps(void)
{
    for (volatile int number = 0; number < 6; number++) {
        HOTPATH_BLOCK("round");
        if (setjmp(back) == 0)
            leaves(number);
        follows(number);
    }
}

/* ------------------------------------------------------------------------------------------------ at full speed */

/* What a thread has begun and ended, in a file that outlives it. */
struct progress {
    uint64_t begun;
    uint64_t ended;
    uint64_t room[14];
};

static struct progress *progress;

/* The note is as long as its number says, and ends with what follows from it. */
static void write_note(char *text, size_t size, uint32_t number)
{
    snprintf(text, size, "%u %.*s %08x", number, (int)(number % 26), "abcdefghijklmnopqrstuvwxyz",
             number * 2654435761u);
}

static void quick(uint32_t number)
{
    HOTPATH_MEASURE(.log = 1);
    char text[64];
    write_note(text, sizeof text, number);
    HOTPATH_NOTE("%s", text);
}

static void *storm(void *own)
{
    struct progress *at = own;
    for (uint32_t number = 0;; number++) {
        __atomic_store_n(&at->begun, number + 1, __ATOMIC_RELAXED);
        quick(number);
        __atomic_store_n(&at->ended, number + 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void map_progress(const char *path)
{
    const int file = open(path, O_RDWR | O_CREAT, 0600);
    MUST(file >= 0 && ftruncate(file, THREADS * sizeof *progress) == 0);
    progress = mmap(NULL, THREADS * sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    MUST(progress != MAP_FAILED);
    close(file);
}

static void run_storm(const char *path)
{
    pthread_t thread;
    map_progress(path);
    for (int at = 1; at < THREADS; at++)
        MUST(pthread_create(&thread, NULL, storm, &progress[at]) == 0);
    storm(&progress[0]);
}

/* --- reported by the program itself, while calls are recorded */

static uint64_t notes_seen, notes_broken;

static void check_note(const char *note)
{
    char whole[64];
    const uint32_t number = (uint32_t)strtoul(note, NULL, 10);
    write_note(whole, sizeof whole, number);
    notes_seen++;
    notes_broken += strcmp(note, whole) != 0;
}

static void check_calls(const hotpath_results *results, void *unused)
{
    (void)unused;
    for (size_t at = 0; at < hotpath_results_sections(results); at++) {
        const hotpath_section *section = hotpath_results_section(results, at);
        for (size_t row = 0; row < hotpath_section_rows(section); row++)
            for (size_t column = 0; column < hotpath_section_columns(section); column++) {
                struct hotpath_cell cell;
                if (strcmp(hotpath_section_column(section, column)->key, "note") == 0 &&
                    hotpath_section_cell(section, row, column, &cell) == HOTPATH_OK && cell.text != NULL)
                    check_note(cell.text);
            }
    }
}

static void report_storm(const char *path, unsigned times)
{
    pthread_t thread;
    map_progress(path);
    hotpath_set_reporter(check_calls, NULL);
    for (int at = 0; at < THREADS; at++)
        MUST(pthread_create(&thread, NULL, storm, &progress[at]) == 0);
    for (unsigned at = 0; at < times || notes_seen == 0; at++)
        MUST(hotpath_report() == HOTPATH_OK);
    tell("seen", notes_seen);
    tell("broken", notes_broken);
    fflush(stdout);
    _Exit(0);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    const unsigned count = (unsigned)number(argc, argv, 2, 0);
    if (is_case(argc, argv, "many"))
        many(count);
    else if (is_case(argc, argv, "same_time"))
        at_the_same_time(count);
    else if (is_case(argc, argv, "one_by_one"))
        one_by_one(count);
    else if (is_case(argc, argv, "chosen"))
        chosen();
    else if (is_case(argc, argv, "nested"))
        nested();
    else if (is_case(argc, argv, "recursion"))
        descend(9);
    else if (is_case(argc, argv, "texts"))
        texts();
    else if (is_case(argc, argv, "nowhere"))
        nowhere();
    else if (is_case(argc, argv, "errno"))
        keeps_errno();
    else if (is_case(argc, argv, "jumps"))
        jumps();
    else if (is_case(argc, argv, "storm") && argc > 2)
        run_storm(argv[2]);
    else if (is_case(argc, argv, "report_storm") && argc > 3)
        report_storm(argv[2], (unsigned)number(argc, argv, 3, 0));
    return 0;
}
