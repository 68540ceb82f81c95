/*
 * `waiter` waits for each kind of synchronization object. Another thread, in `holder`, holds or signals it, and
 * sleeps meanwhile.
 */
#include "support.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS 4
#define STEP_US 60000u

static pthread_mutex_t mutex;
static pthread_mutex_t around_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_t partner;
static int is_held, is_there;
static int listener;

/* With something before it that could be a count. */
static struct {
    int before[6];
    sem_t semaphore;
} counted = {.before = {9, 9, 9, 9, 9, 17}};

static struct timespec in_a_while(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 100;
    return time;
}

/* ------------------------------------------------------------------------------------------- objects */

static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }
static void read_lock(void) { pthread_rwlock_rdlock(&rwlock); }
static void write_lock(void) { pthread_rwlock_wrlock(&rwlock); }
static void unlock_rwlock(void) { pthread_rwlock_unlock(&rwlock); }
static void nothing(void) {}

static void lock_in_time(void)
{
    const struct timespec end = in_a_while();
    MUST(pthread_mutex_timedlock(&mutex, &end) == 0);
}

static void wait_for_condition(void)
{
    pthread_mutex_lock(&around_condition);
    while (!is_there)
        pthread_cond_wait(&condition, &around_condition);
    pthread_mutex_unlock(&around_condition);
}

static void wait_for_condition_in_time(void)
{
    const struct timespec end = in_a_while();
    pthread_mutex_lock(&around_condition);
    while (!is_there)
        pthread_cond_timedwait(&condition, &around_condition, &end);
    pthread_mutex_unlock(&around_condition);
}

static void bring(void)
{
    pthread_mutex_lock(&around_condition);
    is_there = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&around_condition);
}

static void wait_for_semaphore(void)
{
    while (sem_wait(&counted.semaphore) != 0)
        MUST(errno == EINTR);
}

static void wait_for_semaphore_in_time(void)
{
    const struct timespec end = in_a_while();
    while (sem_timedwait(&counted.semaphore, &end) != 0)
        MUST(errno == EINTR);
}

static void post(void) { sem_post(&counted.semaphore); }
static void meet(void) { pthread_barrier_wait(&barrier); }

static int is_joined;

static void join(void)
{
    pthread_join(partner, NULL);
    is_joined = 1;
}

static void take_client(void) { close(accept(listener, NULL, NULL)); }

static void be_client(void)
{
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    struct sockaddr *to = (struct sockaddr *)(void *)&address;
    MUST(getsockname(listener, to, &length) == 0);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    MUST(connect(fd, to, length) == 0);
    close(fd);
}

/* ------------------------------------------------------------------------------------------------- main */

/* `take` before the holder sleeps, `give` after that, `wait` in the meantime, `leave` at the end. */
static const struct kind {
    const char *name;
    void (*take)(void);
    void (*give)(void);
    void (*wait)(void);
    void (*leave)(void);
} kinds[] = {{"mutex", lock, unlock, lock, unlock},
             {"recursive", lock, unlock, lock, unlock},
             {"robust", lock, unlock, lock, unlock},
             {"inheriting", lock, unlock, lock, unlock},
             {"timed_mutex", lock, unlock, lock_in_time, unlock},
             {"read", write_lock, unlock_rwlock, read_lock, unlock_rwlock},
             {"write", write_lock, unlock_rwlock, write_lock, unlock_rwlock},
             {"condition", nothing, bring, wait_for_condition, nothing},
             {"timed_condition", nothing, bring, wait_for_condition_in_time, nothing},
             {"semaphore", nothing, post, wait_for_semaphore, nothing},
             {"timed_semaphore", nothing, post, wait_for_semaphore_in_time, nothing},
             {"barrier", nothing, meet, meet, nothing},
             {"thread", nothing, nothing, join, nothing},
             {"client", nothing, be_client, take_client, nothing}};

static void *holder(void *about)
{
    HOTPATH_MEASURE();
    const struct kind *kind = about;
    kind->take();
    raise_flag(&is_held);
    sleep_us(STEP_US);
    kind->give();
    return NULL;
}

static void waiter(const struct kind *kind)
{
    HOTPATH_MEASURE();
    kind->wait();
    kind->leave();
}

static void prepare(const char *name)
{
    pthread_mutexattr_t how;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    pthread_mutexattr_init(&how);
    if (strcmp(name, "recursive") == 0)
        pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE);
    if (strcmp(name, "robust") == 0)
        pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    if (strcmp(name, "inheriting") == 0)
        pthread_mutexattr_setprotocol(&how, PTHREAD_PRIO_INHERIT);
    MUST(pthread_mutex_init(&mutex, &how) == 0);
    MUST(sem_init(&counted.semaphore, 0, 0) == 0 && pthread_barrier_init(&barrier, NULL, 2) == 0);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    MUST(bind(listener, (struct sockaddr *)(void *)&address, sizeof address) == 0 && listen(listener, 1) == 0);
}

static void run(const struct kind *kind)
{
    is_held = is_there = is_joined = 0;
    MUST(pthread_create(&partner, NULL, holder, (void *)(uintptr_t)kind) == 0);
    while (!is_raised(&is_held))
        sleep_us(100);
    waiter(kind);
    if (!is_joined)
        pthread_join(partner, NULL);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    const char *name = argc > 1 ? argv[1] : "mutex";
    prepare(name);
    for (size_t at = 0; at < sizeof kinds / sizeof kinds[0]; at++)
        for (int round = 0; round < ROUNDS && strcmp(name, kinds[at].name) == 0; round++)
            run(&kinds[at]);
    return 0;
}
