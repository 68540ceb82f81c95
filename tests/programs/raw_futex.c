/*
 * Waits for locks that are made of futexes, which no hook sees: `wait_raw` waits again and again while main sleeps
 * in `hold_raw`. A mutex is used as well.
 *
 *     raw_futex lock      the word is 0, 1, or 2 if others wait, as in the C library
 *     raw_futex atomic    the word counts, as under std::atomic::wait
 */
#define _GNU_SOURCE 1
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS 12
#define HOLD_US 30000
#define NOINLINE __attribute__((noinline))

pthread_mutex_t used = PTHREAD_MUTEX_INITIALIZER;
static uint32_t word, is_counting;
static pthread_barrier_t both;

static NOINLINE void wait_raw(void)
{
    const uint32_t busy = is_counting ? __atomic_load_n(&word, __ATOMIC_ACQUIRE) : 2;
    if (is_counting) {
        while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == busy)
            syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, busy, NULL, NULL, 0);
        return;
    }
    while (__atomic_exchange_n(&word, 2, __ATOMIC_ACQUIRE) != 0)
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, busy, NULL, NULL, 0);
    __atomic_store_n(&word, 0, __ATOMIC_RELEASE);
}

static NOINLINE void hold_raw(void)
{
    usleep(HOLD_US);
    if (is_counting)
        __atomic_add_fetch(&word, 1, __ATOMIC_RELEASE);
    else
        __atomic_store_n(&word, 0, __ATOMIC_RELEASE);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *other(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&both);
        wait_raw();
        pthread_barrier_wait(&both);
    }
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    is_counting = count > 1 && strcmp(arguments[1], "atomic") == 0;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&thread, NULL, other, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&used);
        pthread_mutex_unlock(&used);
        word = is_counting ? word : 1;
        pthread_barrier_wait(&both);
        hold_raw();
        pthread_barrier_wait(&both);
    }
    pthread_join(thread, NULL);
    return 0;
}
