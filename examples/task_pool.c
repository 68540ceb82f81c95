/*
 * Jobs for a pool of threads, as tasks: one line where a job is handed over, one where it is run. The row "resize"
 * is the time of jobs from beginning to end, "resize, queued" how long they waited for a thread. More threads make
 * the second shorter, and not the first's busy time.
 */
#include <hotpath/pool.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WORKERS 2
#define JOBS 40

struct job {
    int number;
    struct job *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_changed = PTHREAD_COND_INITIALIZER;
static struct job *first, **last = &first;
static int is_over;
static long sum;

static void hand_over(struct job *job)
{
    HOTPATH_JOB(job, "resize");
    pthread_mutex_lock(&lock);
    *last = job;
    last = &job->next;
    pthread_cond_signal(&has_changed);
    pthread_mutex_unlock(&lock);
}

/* NULL: there is none, and none comes any more. */
static struct job *take(void)
{
    pthread_mutex_lock(&lock);
    while (first == NULL && !is_over)
        pthread_cond_wait(&has_changed, &lock);
    struct job *job = first;
    if (job != NULL) {
        first = job->next;
        if (first == NULL)
            last = &first;
    }
    pthread_mutex_unlock(&lock);
    return job;
}

static void run(struct job *job)
{
    HOTPATH_RUN_JOB(job);
    const struct timespec while_reading = {0, 2000000};
    nanosleep(&while_reading, NULL);
    pthread_mutex_lock(&lock);
    sum += job->number;
    pthread_mutex_unlock(&lock);
    free(job);
}

static void *worker(void *unused)
{
    (void)unused;
    for (struct job *job = take(); job != NULL; job = take())
        run(job);
    return NULL;
}

static void end_all(pthread_t threads[WORKERS])
{
    pthread_mutex_lock(&lock);
    is_over = 1;
    pthread_cond_broadcast(&has_changed);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    HOTPATH_MAIN(.report = "tasks");
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&threads[i], NULL, worker, NULL) != 0)
            return 1;
    for (int i = 0; i < JOBS; i++) {
        struct job *job = malloc(sizeof *job);
        if (job == NULL)
            return 1;
        *job = (struct job){.number = i};
        hand_over(job);
    }
    end_all(threads);
    printf("%ld\n", sum);
    return 0;
}
