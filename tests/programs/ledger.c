/*
 * Functions that know their costs, measured or not.
 *     ledger [TIMES]      all of them that many times as long
 * It prints the costs at its end, as lines "function.what value":
 *     calls       exact
 *     cpu_ns      CPU time, by the thread's clock
 *     wall_ns     elapsed time
 *     waited_ns   elapsed time without CPU time and time in the run queue
 * and "allocate.allocations", "allocate.bytes", "items" of the channel, "messages" and "message_bytes" of the pipe.
 * So it knows the truth on a busy machine, too.
 *
 * Threads wait only after main has computed, so the observer is there; and each lives a little longer than what is
 * of interest, so that nothing of it comes after the last probe.
 */
#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "computing.h"

#define ROUNDS 2
#define STEP_US 400000u
#define PAUSE_US 40000u
#define MESSAGE_BYTES 100
#define ALLOCATIONS 2000
#define ITEMS 500
#define NOT_LAST() __asm__ volatile("") /* so that nothing is called last, which would leave no frame */

/* ------------------------------------------------------------------------------------------------- accounts */

struct account {
    const char *name;
    uint64_t calls, cpu_ns, wall_ns, ready_ns;
};

enum { HEAVY, LIGHT, FEED, TAKE_LOCK, READ_PIPE, AWAIT_TURN, ALTERNATE, ALLOCATE, ACCOUNTS };
static struct account accounts[ACCOUNTS] = {
    [HEAVY] = {.name = "heavy"},         [LIGHT] = {.name = "light"},         [FEED] = {.name = "feed"},
    [TAKE_LOCK] = {.name = "take_lock"}, [READ_PIPE] = {.name = "read_pipe"}, [AWAIT_TURN] = {.name = "await_turn"},
    [ALTERNATE] = {.name = "alternate"}, [ALLOCATE] = {.name = "allocate"},
};

/* How long this thread was ready to run. */
static uint64_t ready_ns(void)
{
    char text[128] = "";
    const int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    MUST(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return strtoull(strchr(text, ' '), NULL, 10);
}

/* Adds what `work` takes to its account. */
static APART void count(int which, void (*work)(void))
{
    struct account *account = &accounts[which];
    const uint64_t ready = ready_ns(), wall = now_ns(), cpu = used_ns();
    work();
    account->cpu_ns += used_ns() - cpu;
    account->wall_ns += now_ns() - wall;
    account->ready_ns += ready_ns() - ready;
    account->calls++;
    NOT_LAST();
}

static void tell_of(const char *name, const char *what, uint64_t value)
{
    printf("%s.%s %llu\n", name, what, (unsigned long long)value);
}

static void tell_accounts(void)
{
    for (const struct account *account = accounts; account < accounts + ACCOUNTS; account++) {
        const uint64_t not_waited = account->cpu_ns + account->ready_ns;
        tell_of(account->name, "calls", account->calls);
        tell_of(account->name, "cpu_ns", account->cpu_ns);
        tell_of(account->name, "wall_ns", account->wall_ns);
        tell_of(account->name, "waited_ns", account->wall_ns > not_waited ? account->wall_ns - not_waited : 0);
    }
}

/* ------------------------------------------------------------------------------------------------- computing */

static uint64_t times = 1;

static APART void compute_ms(uint64_t ms)
{
    const uint64_t until = used_ns() + times * ms * 1000000u;
    while (used_ns() < until)
        compute(20000);
    NOT_LAST();
}

static APART void heavy(void)
{
    HOTPATH_MEASURE();
    compute_ms(70);
    NOT_LAST();
}

static APART void light(void)
{
    HOTPATH_MEASURE();
    compute_ms(30);
    NOT_LAST();
}

/* ------------------------------------------------------------------------------------------------- waiting */

static int ends[2];
static sem_t is_held, is_taken;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static int turn; /* guarded */

/* Everybody else waits for it: for the lock that it holds, for its message, for its signal. */
static APART void feed(void)
{
    HOTPATH_MEASURE();
    const char message[MESSAGE_BYTES] = "";
    pthread_mutex_lock(&held);
    sem_post(&is_held);
    sleep_us(times * STEP_US);
    MUST(write(ends[1], message, sizeof message) == (ssize_t)sizeof message);
    pthread_mutex_lock(&guard);
    turn++;
    pthread_cond_signal(&news);
    pthread_mutex_unlock(&guard);
    pthread_mutex_unlock(&held);
    NOT_LAST();
}

static APART void take_lock(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    NOT_LAST();
}

static APART void read_pipe(void)
{
    HOTPATH_MEASURE();
    char message[MESSAGE_BYTES];
    MUST(read(ends[0], message, sizeof message) == (ssize_t)sizeof message);
    NOT_LAST();
}

/* The last one. */
static APART void await_turn(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&guard);
    while (turn < ROUNDS)
        pthread_cond_wait(&news, &guard);
    pthread_mutex_unlock(&guard);
    NOT_LAST();
}

static APART void alternate(void)
{
    HOTPATH_MEASURE();
    compute_ms(50);
    sleep_us(times * 250000u);
    NOT_LAST();
}

/* ------------------------------------------------------------------------------------------------- counts */

static void *volatile blocks[ALLOCATIONS];

/* 1, 2, 3, ... bytes; half of the blocks are freed. */
static APART void allocate(void)
{
    HOTPATH_MEASURE();
    for (size_t at = 0; at < ALLOCATIONS; at++)
        blocks[at] = malloc(at + 1);
    for (size_t at = 0; at < ALLOCATIONS; at += 2)
        free(blocks[at]);
    NOT_LAST();
}

static APART void pass_items(void)
{
    HOTPATH_MEASURE();
    struct {
        unsigned number;
        HOTPATH_FIELD(hotpath_task, task);
    } errand;
    for (unsigned at = 0; at < ITEMS; at++) {
        errand.number = at;
        HOTPATH_TASK(errand.task, "errand");
        HOTPATH_CHANNEL_SENT("items", &errand, 1, 10, 1);
        HOTPATH_CHANNEL_RECEIVED("items", &errand, 1, 10, 0);
        HOTPATH_VALUE("number", errand.number);
        HOTPATH_TASK_READY(errand.task);
    }
}

/* ------------------------------------------------------------------------------------------------- threads */

struct thread {
    const char *name;
    int account;
    void (*work)(void);
    int rounds;
    pthread_t id;
};

static void *run(void *context)
{
    const struct thread *self = context;
    prctl(PR_SET_NAME, self->name, 0, 0, 0);
    for (int round = 0; round < self->rounds; round++) {
        if (self->work == take_lock)
            MUST(sem_wait(&is_held) == 0);
        count(self->account, self->work);
        if (self->work == feed)
            MUST(sem_wait(&is_taken) == 0);
        else if (self->work == take_lock)
            MUST(sem_post(&is_taken) == 0);
    }
    sleep_us(PAUSE_US);
    return NULL;
}

static APART void wait_for_all(void)
{
    HOTPATH_MEASURE();
    struct thread threads[] = {{.name = "feeder", .account = FEED, .work = feed, .rounds = ROUNDS},
                               {.name = "taker", .account = TAKE_LOCK, .work = take_lock, .rounds = ROUNDS},
                               {.name = "reader", .account = READ_PIPE, .work = read_pipe, .rounds = ROUNDS},
                               {.name = "listener", .account = AWAIT_TURN, .work = await_turn, .rounds = 1},
                               {.name = "mixer", .account = ALTERNATE, .work = alternate, .rounds = 3},
                               {.name = "allocator", .account = ALLOCATE, .work = allocate, .rounds = 1}};
    const size_t count = sizeof threads / sizeof threads[0];
    for (size_t at = 0; at < count; at++)
        MUST(pthread_create(&threads[at].id, NULL, run, &threads[at]) == 0);
    for (size_t at = 0; at < count; at++)
        pthread_join(threads[at].id, NULL);
    NOT_LAST();
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    MUST(pipe(ends) == 0 && sem_init(&is_held, 0, 0) == 0 && sem_init(&is_taken, 0, 0) == 0);
    times = number(argc, argv, 1, 1);
    for (int round = 0; round < 4; round++) {
        count(HEAVY, heavy);
        count(LIGHT, light);
    }
    wait_for_all();
    pass_items();
    tell_accounts();
    tell_of("allocate", "allocations", ALLOCATIONS);
    tell_of("allocate", "bytes", (uint64_t)ALLOCATIONS * (ALLOCATIONS + 1) / 2);
    tell("items", ITEMS);
    tell("messages", ROUNDS);
    tell("message_bytes", ROUNDS * MESSAGE_BYTES);
    return 0;
}
