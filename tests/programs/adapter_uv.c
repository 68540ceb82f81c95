/*
 * libuv and hotpath/uv.h. Each argument selects a scene with known tasks; the program behaves and prints the same
 * without hotpath.
 */
#include <hotpath/uv.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static uv_loop_t *loop;

static void spin(unsigned ms)
{
    const uint64_t end = uv_hrtime() + ms * UINT64_C(1000000);
    while (uv_hrtime() < end)
        ;
}

static void pause_for(unsigned ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

/* -------------------------------------------------------------------------------------------------------- files */

/* The request is first: the struct and the request have one address. */
struct save {
    uv_fs_t request;
    uv_file file;
    int step;
    HOTPATH_FIELD(hotpath_task, task);
};

static void save_goes_on(uv_fs_t *request)
{
    struct save *save = (struct save *)request;
    static char text[] = "some text";
    const int result = (int)request->result;
    uv_fs_req_cleanup(request);
    if (request->data != &save->file || result < 0)
        abort();
    spin(2);
    switch (save->step++) {
    case 0:
        save->file = result;
        uv_fs_write(loop, request, save->file, &(const uv_buf_t){.base = text, .len = 9}, 1, 0, save_goes_on);
        break;
    case 1:
        uv_fs_fsync(loop, request, save->file, save_goes_on);
        break;
    case 2:
        uv_fs_close(loop, request, save->file, save_goes_on);
        break;
    default:
        HOTPATH_TASK_READY(save->task);
        free(save);
    }
}

static void begin_save(const char *path)
{
    struct save *save = calloc(1, sizeof *save);
    if (save == NULL)
        abort();
    save->request.data = &save->file;
    HOTPATH_TASK(save->task, "save");
    HOTPATH_TASK_POLL(save->task);
    uv_fs_open(loop, &save->request, path, O_WRONLY | O_CREAT, 0600, save_goes_on);
}

static void print_size(uv_fs_t *request)
{
    printf("%d bytes\n", (int)request->statbuf.st_size);
    uv_fs_req_cleanup(request);
    free(request);
}

static void files(void)
{
    char path[] = "adapter-XXXXXX";
    close(mkstemp(path));
    for (int i = 0; i < 3; i++)
        begin_save(path);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_fs_t *request = malloc(sizeof *request), now;
    uv_fs_stat(loop, request, path, print_size);
    uv_run(loop, UV_RUN_DEFAULT);
    printf("%d\n", uv_fs_stat(loop, &now, path, NULL)); /* synchronous */
    uv_fs_req_cleanup(&now);
    printf("%s\n", uv_err_name(uv_fs_unlink(loop, &now, "not/there", NULL)));
    uv_fs_req_cleanup(&now);
    uv_fs_unlink(loop, &now, path, NULL);
    uv_fs_req_cleanup(&now);
}

/* --------------------------------------------------------------------------------------------------------- work */

static uv_sem_t all_are_queued;

static void work(uv_work_t *request)
{
    static int has_begun; /* there is one thread */
    (void)request;
    if (!has_begun)
        uv_sem_wait(&all_are_queued);
    has_begun = 1;
    pause_for(40);
}

static void after(uv_work_t *request, int status)
{
    printf("%s\n", status == 0 ? "done" : uv_err_name(status));
    free(request);
}

/* With one thread in the pool they wait for 0, 40, 80 ms, and the last one is cancelled before it begins. */
static void works(void)
{
    uv_work_t *request = NULL;
    uv_sem_init(&all_are_queued, 0);
    for (int i = 0; i < 4; i++) {
        request = malloc(sizeof *request);
        uv_queue_work(loop, request, work, after);
    }
    printf("%d\n", uv_cancel((uv_req_t *)request));
    uv_sem_post(&all_are_queued);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_sem_destroy(&all_are_queued);
}

/* ------------------------------------------------------------------------------------------------------- timers */

static hotpath_task nap;
static uv_timer_t once, often;
static int beats;

static void wake(uv_timer_t *timer)
{
    printf("awake\n");
    HOTPATH_TASK_READY(&nap);
    (void)nap;
    uv_close((uv_handle_t *)timer, NULL);
}

/* It goes on after the task has ended that has started it. */
static void beat(uv_timer_t *timer)
{
    if (++beats < 5)
        return;
    printf("%d beats\n", beats);
    if (beats == 5) {
        uv_timer_stop(timer);
        uv_timer_again(timer);
    } else {
        uv_close((uv_handle_t *)timer, NULL);
    }
}

static void begin_nap(void)
{
    HOTPATH_TASK(&nap, "nap");
    HOTPATH_TASK_POLL(&nap);
    uv_update_time(loop); /* from which timers count */
    uv_timer_start(&once, wake, 50, 0);
    uv_timer_start(&often, beat, 30, 30);
}

static void timers(void)
{
    uv_timer_t never;
    uv_timer_init(loop, &once);
    uv_timer_init(loop, &often);
    uv_timer_init(loop, &never);
    uv_timer_start(&never, wake, 100000, 0);
    begin_nap();
    uv_close((uv_handle_t *)&never, NULL);
    uv_run(loop, UV_RUN_DEFAULT);
}

/* More of them than an adapter has room for. */
#define MANY 12000

static int fired;

static void count(uv_timer_t *timer)
{
    fired++;
    uv_close((uv_handle_t *)timer, NULL);
}

static void many(void)
{
    uv_timer_t *all = calloc(MANY, sizeof *all);
    if (all == NULL)
        abort();
    for (int i = 0; i < MANY; i++) {
        uv_timer_init(loop, &all[i]);
        uv_timer_start(&all[i], count, 20, 0);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    printf("%d fired\n", fired);
    free(all);
}

/* ------------------------------------------------------------------------------------------------------ streams */

struct peer {
    uv_pipe_t pipe;
    uv_write_t write;
    uv_shutdown_t shutdown;
    size_t got;
    char buffer[64];
    HOTPATH_FIELD(hotpath_task, task);
};

static struct peer client, server;
static char message[] = "0123456789";

static void give_buffer(uv_handle_t *handle, size_t wanted, uv_buf_t *buf)
{
    struct peer *peer = (struct peer *)handle;
    (void)wanted;
    *buf = uv_buf_init(peer->buffer, sizeof peer->buffer);
}

static void is_gone(uv_handle_t *handle)
{
    printf("%s closed after %zu bytes\n", handle == (uv_handle_t *)&client.pipe ? "client" : "server",
           ((struct peer *)handle)->got);
    if (handle == (uv_handle_t *)&client.pipe)
        HOTPATH_TASK_READY(client.task);
}

static void is_sent(uv_write_t *request, int status)
{
    (void)request;
    if (status != 0)
        abort();
}

/* Echoes its input, and ends with it. */
static void serve(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf)
{
    const uv_buf_t answer = uv_buf_init(buf->base, length > 0 ? (unsigned)length : 0);
    if (length > 0) {
        server.got += (size_t)length;
        uv_write(&server.write, stream, &answer, 1, is_sent);
    } else if (length < 0) {
        uv_close((uv_handle_t *)stream, is_gone);
    }
}

static void send_message(void)
{
    const uv_buf_t text = uv_buf_init(message, 10);
    uv_write(&client.write, (uv_stream_t *)&client.pipe, &text, 1, NULL);
}

static void is_shut(uv_shutdown_t *request, int status)
{
    (void)status;
    uv_close((uv_handle_t *)request->handle, is_gone);
}

static void listen_to(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf)
{
    (void)buf;
    client.got += length > 0 ? (size_t)length : 0;
    if (client.got % 10 != 0 || length <= 0)
        return;
    spin(1);
    if (client.got < 30) {
        send_message();
    } else {
        uv_read_stop(stream);
        uv_shutdown(&client.shutdown, stream, is_shut);
    }
}

static void begin_talk(void)
{
    HOTPATH_TASK(client.task, "talk");
    HOTPATH_TASK_POLL(client.task);
    uv_read_start((uv_stream_t *)&client.pipe, give_buffer, listen_to);
    send_message();
}

static void streams(void)
{
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        abort();
    uv_pipe_init(loop, &client.pipe, 0);
    uv_pipe_init(loop, &server.pipe, 0);
    uv_pipe_open(&client.pipe, sockets[0]);
    uv_pipe_open(&server.pipe, sockets[1]);
    uv_read_start((uv_stream_t *)&server.pipe, give_buffer, serve);
    begin_talk();
    uv_run(loop, UV_RUN_DEFAULT);
}

/* ----------------------------------------------------------------------------------------------------- networks */

static uv_tcp_t listener, accepted, caller;
static uv_connect_t connection;
static uv_getaddrinfo_t question;

static void has_address(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    (void)request;
    printf("%d %d\n", status, found != NULL && found->ai_family == AF_INET);
    uv_freeaddrinfo(found);
}

static void is_connected(uv_connect_t *request, int status)
{
    printf("connected: %d\n", status);
    uv_close((uv_handle_t *)request->handle, NULL);
}

static void has_caller(uv_stream_t *server_stream, int status)
{
    uv_tcp_init(loop, &accepted);
    printf("accepted: %d %d\n", status, uv_accept(server_stream, (uv_stream_t *)&accepted));
    uv_close((uv_handle_t *)&accepted, NULL);
    uv_close((uv_handle_t *)server_stream, NULL);
}

static void networks(void)
{
    struct sockaddr_in address;
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_flags = AI_NUMERICHOST};
    int length = sizeof address;
    uv_getaddrinfo(loop, &question, has_address, "127.0.0.1", NULL, &hints);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_ip4_addr("127.0.0.1", 0, &address);
    uv_tcp_init(loop, &listener);
    uv_tcp_init(loop, &caller);
    uv_tcp_bind(&listener, (const struct sockaddr *)&address, 0);
    uv_listen((uv_stream_t *)&listener, 5, has_caller);
    uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &length);
    uv_tcp_connect(&connection, &caller, (const struct sockaddr *)&address, is_connected);
    uv_run(loop, UV_RUN_DEFAULT);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    static const struct {
        const char *name;
        void (*play)(void);
    } scenes[] = {{"files", files}, {"work", works},      {"timers", timers},
                  {"many", many},   {"streams", streams}, {"networks", networks}};
    setvbuf(stdout, NULL, _IOLBF, 0);
    loop = uv_default_loop();
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        if (argc > 1 && strcmp(argv[1], scenes[i].name) == 0)
            scenes[i].play();
    printf("%d left\n", uv_loop_close(loop));
    return 0;
}
