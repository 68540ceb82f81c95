/*
 * Single messages of a queue, and the tasks that they start: HOTPATH_LOG=requests,answer keeps the latest of each,
 * with a text. The section `recent` shows them, newest first: which message waited for long, which task.
 */
#include <hotpath.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define REQUESTS 20
#define SLOW 13 /* the one that takes longer, and keeps the next ones waiting */

struct request {
    int number;
    struct request *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct request *first, **end = &first;

static void put(struct request *request)
{
    pthread_mutex_lock(&lock);
    HOTPATH_CHANNEL_SENT("requests", &first, 1, sizeof *request, -1,
                         (uintptr_t)request);                                /* its address is its id */
    HOTPATH_CHANNEL_TEXT("requests", &first, "request %d", request->number); /* formatted only if it is logged */
    *end = request;
    end = &request->next;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static struct request *take(void)
{
    pthread_mutex_lock(&lock);
    while (first == NULL)
        pthread_cond_wait(&changed, &lock);
    struct request *request = first;
    first = request->next;
    end = first == NULL ? &first : end;
    pthread_mutex_unlock(&lock);
    HOTPATH_CHANNEL_RECEIVED("requests", &first, 1, sizeof *request, -1, (uintptr_t)request);
    HOTPATH_CHANNEL_TEXT("requests", &first, "request %d", request->number);
    return request;
}

static void answer(const struct request *request)
{
    hotpath_task task;
    HOTPATH_TASK(&task, "answer");
    {
        HOTPATH_TASK_POLL(&task);
        nanosleep(&(struct timespec){.tv_nsec = request->number == SLOW ? 20000000 : 1000000}, NULL);
    }
    HOTPATH_TASK_RESULT(&task, "request %d, %s", request->number, request->number == SLOW ? "slow" : "ok");
}

static void *serve(void *context)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < REQUESTS; at++) {
        struct request *request = take();
        answer(request);
        free(request);
    }
    return context;
}

int main(void)
{
    HOTPATH_MAIN();
    pthread_t server;
    if (pthread_create(&server, NULL, serve, NULL) != 0)
        return 1;
    for (int number = 1; number <= REQUESTS; number++) {
        struct request *request = malloc(sizeof *request);
        if (request == NULL)
            return 1;
        *request = (struct request){.number = number};
        put(request);
    }
    pthread_join(server, NULL);
    HOTPATH_CHANNEL_END("requests", &first);
    puts("all requests are answered");
    return 0;
}
