/*
 * libevent and hotpath/event2.h. Each argument selects a scene with known tasks; the program behaves and prints the
 * same without hotpath.
 */
#include <hotpath/event2.h>

#include <event2/buffer.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct event_base *base;

static struct timeval in_ms(int ms)
{
    const struct timeval time = {ms / 1000, ms % 1000 * 1000L};
    return time;
}

/* ------------------------------------------------------------------------------------------------------- events */

struct visit {
    struct event *timer;
    int steps;
    HOTPATH_FIELD(hotpath_task, task);
};

/* Adds its own event again, three times; then both are gone, inside the callback. */
static void step(evutil_socket_t file, short what, void *argument)
{
    struct visit *visit = argument;
    const struct timeval soon = in_ms(10);
    printf("%d %d\n", (int)file, what);
    if (++visit->steps < 3) {
        event_add(visit->timer, &soon);
        return;
    }
    printf("%d %d\n", event_get_callback(visit->timer) == step, event_get_callback_arg(visit->timer) == visit);
    HOTPATH_TASK_READY(visit->task);
    event_free(visit->timer);
    free(visit);
}

static void begin_visit(void)
{
    struct visit *visit = calloc(1, sizeof *visit);
    const struct timeval soon = in_ms(10);
    if (visit == NULL)
        abort();
    HOTPATH_TASK(visit->task, "visit");
    HOTPATH_TASK_POLL(visit->task);
    visit->timer = evtimer_new(base, step, visit);
    event_add(visit->timer, &soon);
}

static int ticks;

static void tick(evutil_socket_t file, short what, void *event)
{
    (void)file;
    (void)what;
    if (++ticks == 4)
        event_free(event); /* its argument is the event itself */
}

static void once(evutil_socket_t file, short what, void *argument)
{
    (void)file;
    printf("once: %d %s\n", what, (const char *)argument);
}

static void never(evutil_socket_t file, short what, void *argument)
{
    (void)file;
    (void)what;
    (void)argument;
    abort();
}

static void events(void)
{
    const struct timeval soon = in_ms(10), late = in_ms(100000);
    struct event *ticker = event_new(base, -1, EV_PERSIST, tick, event_self_cbarg());
    struct event *waiting = event_new(base, -1, 0, never, NULL);
    static char text[] = "argument";
    begin_visit();
    event_add(ticker, &soon);
    event_add(waiting, &late);
    event_base_once(base, -1, EV_TIMEOUT, once, text, &soon);
    printf("%d\n", event_del(waiting));
    event_free(waiting);
    event_base_dispatch(base);
    printf("%d ticks\n", ticks);
}

/* ------------------------------------------------------------------------------------------------- bufferevents */

static hotpath_task talk[1];
static size_t answered;

static void answer(struct bufferevent *buffer, void *argument)
{
    struct evbuffer *input = bufferevent_get_input(buffer);
    if (argument != &answered)
        abort();
    answered += evbuffer_get_length(input);
    bufferevent_write_buffer(buffer, input);
}

static void server_event(struct bufferevent *buffer, short what, void *argument)
{
    (void)argument;
    printf("server: %s after %zu bytes\n", what & BEV_EVENT_EOF ? "end" : "?", answered);
    bufferevent_free(buffer);
}

static void hear(struct bufferevent *buffer, void *argument)
{
    int *rounds = argument;
    char text[64];
    if (evbuffer_get_length(bufferevent_get_input(buffer)) < 10)
        return;
    bufferevent_read(buffer, text, 10);
    if (++*rounds < 3) {
        bufferevent_write(buffer, "0123456789", 10);
        return;
    }
    HOTPATH_TASK_READY(talk);
    bufferevent_free(buffer);
}

static void begin_talk(struct bufferevent *client, int *rounds)
{
    bufferevent_data_cb on_read, on_write;
    HOTPATH_TASK(talk, "talk");
    HOTPATH_TASK_POLL(talk);
    bufferevent_setcb(client, hear, NULL, NULL, rounds);
    bufferevent_getcb(client, &on_read, &on_write, NULL, NULL);
    printf("%d %d\n", on_read == hear, on_write == NULL);
    bufferevent_enable(client, EV_READ | EV_WRITE);
    bufferevent_write(client, "0123456789", 10);
}

static void buffers(void)
{
    int sockets[2], rounds = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        abort();
    evutil_make_socket_nonblocking(sockets[0]);
    evutil_make_socket_nonblocking(sockets[1]);
    struct bufferevent *client = bufferevent_socket_new(base, sockets[0], BEV_OPT_CLOSE_ON_FREE);
    struct bufferevent *server = bufferevent_socket_new(base, sockets[1], BEV_OPT_CLOSE_ON_FREE);
    bufferevent_setcb(server, answer, NULL, server_event, &answered);
    bufferevent_enable(server, EV_READ | EV_WRITE);
    begin_talk(client, &rounds);
    event_base_dispatch(base);
    printf("%d rounds\n", rounds);
}

/* ------------------------------------------------------------------------------------------------------ threads */

#define ADDS 200

static int wakes;

static void wake(evutil_socket_t file, short what, void *argument)
{
    (void)file;
    (void)what;
    (void)argument;
    wakes++;
}

static void *run_loop(void *argument)
{
    (void)argument;
    event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
    return NULL;
}

/* One thread runs the loop, another one adds and deletes. */
static void threads(void)
{
    const struct timeval now = in_ms(0), late = in_ms(100000);
    struct event *event = event_new(base, -1, 0, wake, NULL);
    struct event *persistent = event_new(base, -1, EV_PERSIST, wake, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, run_loop, NULL);
    for (int i = 0; i < ADDS; i++) {
        event_add(event, &now);
        event_add(persistent, i % 2 != 0 ? &now : &late);
        usleep(50);
        event_del(persistent);
    }
    event_base_loopexit(base, NULL);
    pthread_join(thread, NULL);
    event_free(event);
    event_free(persistent);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    setvbuf(stdout, NULL, _IOLBF, 0);
    evthread_use_pthreads();
    base = event_base_new();
    if (argc > 1 && strcmp(argv[1], "events") == 0)
        events();
    if (argc > 1 && strcmp(argv[1], "buffers") == 0)
        buffers();
    if (argc > 1 && strcmp(argv[1], "threads") == 0)
        threads();
    event_base_free(base);
    libevent_global_shutdown();
    return 0;
}
