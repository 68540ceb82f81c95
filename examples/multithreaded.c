/*
 * Messages that one thread allocates and another frees. HOTPATH_SECTIONS=alloc-threads shows both sides: the sender
 * allocates and frees nothing, the receiver frees what others allocated. Memory that wanders between threads costs
 * more than it seems to, since allocators keep a cache for each.
 */
#include <hotpath.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 5000, MESSAGE_BYTES = 200 };

struct message {
    struct message *next;
    char text[MESSAGE_BYTES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_message = PTHREAD_COND_INITIALIZER;
static struct message *newest;

static void send_message(int number)
{
    HOTPATH_MEASURE();
    struct message *message = malloc(sizeof *message);
    if (message == NULL)
        exit(1);
    snprintf(message->text, sizeof message->text, "message %d", number);
    pthread_mutex_lock(&lock);
    message->next = newest;
    newest = message;
    pthread_cond_signal(&has_message);
    pthread_mutex_unlock(&lock);
}

static struct message *receive_message(void)
{
    pthread_mutex_lock(&lock);
    while (newest == NULL)
        pthread_cond_wait(&has_message, &lock);
    struct message *message = newest;
    newest = message->next;
    pthread_mutex_unlock(&lock);
    return message;
}

static size_t handle_message(void)
{
    HOTPATH_MEASURE();
    struct message *message = receive_message();
    const size_t length = strlen(message->text);
    free(message);
    return length;
}

static void *sender(void *unused)
{
    HOTPATH_MEASURE();
    for (int number = 0; number < MESSAGES; number++)
        send_message(number);
    return unused;
}

int main(void)
{
    HOTPATH_MAIN();
    pthread_t thread;
    size_t bytes = 0;
    if (pthread_create(&thread, NULL, sender, NULL) != 0)
        return 1;
    for (int count = 0; count < MESSAGES; count++)
        bytes += handle_message();
    pthread_join(thread, NULL);
    printf("%zu bytes received\n", bytes);
    return 0;
}
