/*
 * I/O that goes on and on: five files are written and read, again and again, by one thread and libuv, until the
 * program is interrupted or so many seconds have passed (profile_async_io_long 10). For looking at a program while
 * it runs: its tasks, and the threads of libuv's pool that do the blocking calls.
 */
#include <hotpath/uv.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES 5
#define FILE_SIZE (4 * 1024 * 1024)
#define CHUNK_SIZE (8 * 1024)

struct file {
    char path[1100];
    uv_fs_t request;
    uv_file descriptor;
    int is_writing;
    size_t left; /* bytes */
    char chunk[CHUNK_SIZE];
    HOTPATH_FIELD(hotpath_task, task);
};

static uv_timer_t limit;
static uv_signal_t interrupt;
static int is_over, has_failed;

static void begin(struct file *file, int is_writing);

/* The result of the request that has ended; less than 0: it has failed, and all of it ends soon. */
static ssize_t result_of(uv_fs_t *request)
{
    const ssize_t result = request->result;
    uv_fs_req_cleanup(request);
    if (result < 0) {
        fprintf(stderr, "profile_async_io_long: %s\n", uv_strerror((int)result));
        has_failed = is_over = 1;
    }
    return result;
}

static void is_closed(uv_fs_t *request)
{
    struct file *file = request->data;
    result_of(request);
    HOTPATH_TASK_READY(file->task);
    if (!is_over)
        begin(file, !file->is_writing);
}

static void close_file(uv_fs_t *request)
{
    struct file *file = request->data;
    result_of(request);
    uv_fs_close(uv_default_loop(), request, file->descriptor, is_closed);
}

static void has_moved(uv_fs_t *request);

/* The next chunk, in either direction. */
static void move_more(struct file *file)
{
    const uv_buf_t buffer = uv_buf_init(file->chunk, CHUNK_SIZE);
    if (file->left == 0)
        uv_fs_fsync(uv_default_loop(), &file->request, file->descriptor, close_file);
    else if (file->is_writing)
        uv_fs_write(uv_default_loop(), &file->request, file->descriptor, &buffer, 1, -1, has_moved);
    else
        uv_fs_read(uv_default_loop(), &file->request, file->descriptor, &buffer, 1, -1, has_moved);
}

static void has_moved(uv_fs_t *request)
{
    struct file *file = request->data;
    if (request->result <= 0 || is_over) {
        close_file(request);
        return;
    }
    const size_t moved = (size_t)result_of(request);
    file->left -= moved < file->left ? moved : file->left;
    move_more(file);
}

static void is_opened(uv_fs_t *request)
{
    struct file *file = request->data;
    file->descriptor = (uv_file)result_of(request);
    if (file->descriptor >= 0)
        move_more(file);
    else
        HOTPATH_TASK_READY(file->task);
}

static void begin(struct file *file, int is_writing)
{
    if (is_writing)
        HOTPATH_TASK(file->task, "create_file");
    else
        HOTPATH_TASK(file->task, "read_file");
    HOTPATH_TASK_POLL(file->task);
    file->is_writing = is_writing;
    file->left = FILE_SIZE;
    uv_fs_open(uv_default_loop(), &file->request, file->path, is_writing ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY,
               0600, is_opened);
}

static void end_all(void)
{
    is_over = 1;
    uv_close((uv_handle_t *)&limit, NULL);
    uv_close((uv_handle_t *)&interrupt, NULL);
}

static void time_is_up(uv_timer_t *timer)
{
    (void)timer;
    end_all();
}

static void is_interrupted(uv_signal_t *handle, int number)
{
    (void)handle;
    (void)number;
    end_all();
}

static void end_later(double seconds)
{
    uv_timer_init(uv_default_loop(), &limit);
    uv_signal_init(uv_default_loop(), &interrupt);
    uv_signal_start(&interrupt, is_interrupted, SIGINT);
    if (seconds > 0)
        uv_timer_start(&limit, time_is_up, (uint64_t)(seconds * 1e3), 0);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN(.report = "timing,tasks");
    static struct file files[FILES];
    static char folder[1024];
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/hotpath-io-XXXXXX", parent && *parent ? parent : "/tmp");
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return 1;
    }
    end_later(argc > 1 ? atof(argv[1]) : 0);
    for (int i = 0; i < FILES; i++) {
        snprintf(files[i].path, sizeof files[i].path, "%s/%d", folder, i);
        files[i].request.data = &files[i];
        begin(&files[i], 1);
    }

    uv_run(uv_default_loop(), UV_RUN_DEFAULT);

    for (int i = 0; i < FILES; i++)
        remove(files[i].path);
    remove(folder);
    uv_loop_close(uv_default_loop());
    return has_failed;
}
