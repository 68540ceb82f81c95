/* Jobs that one thread runs, by hotpath/pool.h. The schedule is known. */
#include <hotpath/pool.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int *jobs[6];

static void pause_for(long ms)
{
    const struct timespec time = {0, ms * 1000000};
    nanosleep(&time, NULL);
}

/* Runs a job inside a job, which ends before it. */
static void run_inner(int *job) { HOTPATH_RUN_JOB(job); }

static void run(int *job)
{
    HOTPATH_RUN_JOB(job);
    int inner = *job;
    free(job);
    if (inner > 4)
        return;
    HOTPATH_JOB(&inner, "inner");
    run_inner(&inner);
    pause_for(5);
    printf("job %d\n", inner);
}

static void *work(void *unused)
{
    (void)unused;
    for (int i = 0; i < 6; i++)
        if (jobs[i] != NULL)
            run(jobs[i]);
    return NULL;
}

int main(void)
{
    HOTPATH_MAIN();
    pthread_t thread;
    for (int i = 0; i < 6; i++) {
        jobs[i] = malloc(sizeof *jobs[i]);
        if (jobs[i] == NULL)
            return 1;
        *jobs[i] = i;
        if (i < 5) /* the last one is not reported */
            HOTPATH_JOB(jobs[i], "job");
    }
    HOTPATH_DROP_JOB(jobs[1]);
    free(jobs[1]);
    jobs[1] = NULL;
    pause_for(20);
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    return 0;
}
