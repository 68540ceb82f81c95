/*
 * I/O that goes on at once: five files are written, and then read, by one thread and libuv, whose pool does the
 * blocking calls. All that is said of libuv's requests is one include; the two tasks of the program's own are
 * begun, and ended, and their callbacks belong to them by themselves. Together they take several times as long as
 * the program runs, and nearly all of that is waiting: a profiler that samples the CPU tells quite another story.
 * The rows uv_fs_* say what was waited for. The argument says how many times to do all of it.
 */
#include <hotpath/uv.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES 5
#define FILE_SIZE (20 * 1024 * 1024)
#define CHUNK_SIZE (8 * 1024)

/* A file that is being written or read. */
struct file {
    char path[1100];
    uv_fs_t request;
    uv_file descriptor;
    size_t done; /* bytes */
    char *data;  /* of reading: all of it */
    const char *error;
    HOTPATH_FIELD(hotpath_task, task);
};

static char folder[1024], chunk[CHUNK_SIZE];

/* The result of the request that has ended; less than 0: it has failed. */
static ssize_t result_of(uv_fs_t *request)
{
    struct file *file = request->data;
    const ssize_t result = request->result;
    uv_fs_req_cleanup(request);
    if (result < 0 && file->error == NULL)
        file->error = uv_strerror((int)result);
    return result;
}

static void is_closed(uv_fs_t *request)
{
    struct file *file = request->data;
    result_of(request);
    HOTPATH_TASK_READY(file->task);
}

static void close_file(uv_fs_t *request)
{
    struct file *file = request->data;
    result_of(request);
    uv_fs_close(uv_default_loop(), request, file->descriptor, is_closed);
}

/* ------------------------------------------------------------------------------------------------------ writing */

static void write_more(struct file *file);

static void is_written(uv_fs_t *request)
{
    struct file *file = request->data;
    if (request->result < 0) {
        close_file(request);
        return;
    }
    file->done += (size_t)result_of(request);
    write_more(file);
}

static void write_more(struct file *file)
{
    const size_t left = FILE_SIZE - file->done;
    const uv_buf_t buffer = uv_buf_init(chunk, (unsigned)(left < CHUNK_SIZE ? left : CHUNK_SIZE));
    if (left > 0)
        uv_fs_write(uv_default_loop(), &file->request, file->descriptor, &buffer, 1, -1, is_written);
    else
        uv_fs_fsync(uv_default_loop(), &file->request, file->descriptor, close_file);
}

static void is_created(uv_fs_t *request)
{
    struct file *file = request->data;
    file->descriptor = (uv_file)result_of(request);
    if (file->descriptor >= 0)
        write_more(file);
    else
        HOTPATH_TASK_READY(file->task);
}

static void create_file(struct file *file)
{
    HOTPATH_TASK(file->task, "create_file");
    HOTPATH_TASK_POLL(file->task);
    uv_fs_open(uv_default_loop(), &file->request, file->path, O_WRONLY | O_CREAT | O_EXCL, 0600, is_created);
}

/* ------------------------------------------------------------------------------------------------------ reading */

static void read_more(struct file *file);

static void is_read(uv_fs_t *request)
{
    struct file *file = request->data;
    if (request->result <= 0) {
        close_file(request);
        return;
    }
    file->done += (size_t)result_of(request);
    read_more(file);
}

static void read_more(struct file *file)
{
    const size_t left = FILE_SIZE - file->done;
    const uv_buf_t buffer = uv_buf_init(file->data + file->done, (unsigned)(left < CHUNK_SIZE ? left : CHUNK_SIZE));
    uv_fs_read(uv_default_loop(), &file->request, file->descriptor, &buffer, 1, -1,
               left > 0 ? is_read : close_file);
}

static void is_opened(uv_fs_t *request)
{
    struct file *file = request->data;
    file->descriptor = (uv_file)result_of(request);
    if (file->descriptor >= 0)
        read_more(file);
    else
        HOTPATH_TASK_READY(file->task);
}

static void read_file(struct file *file)
{
    HOTPATH_TASK(file->task, "read_file");
    HOTPATH_TASK_POLL(file->task);
    uv_fs_open(uv_default_loop(), &file->request, file->path, O_RDONLY, 0, is_opened);
}

/* --------------------------------------------------------------------------------------------------------- main */

/* Does one thing with all files at once. */
static int join_all(void (*begin)(struct file *), struct file files[FILES])
{
    HOTPATH_MEASURE();
    int status = 0;
    for (int i = 0; i < FILES; i++) {
        files[i].done = 0;
        files[i].request.data = &files[i];
        begin(&files[i]);
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    for (int i = 0; i < FILES; i++)
        if (files[i].error != NULL || files[i].done != FILE_SIZE) {
            fprintf(stderr, "profile_async_io: %s: %s\n", files[i].path,
                    files[i].error ? files[i].error : "too short");
            status = 1;
        }
    return status;
}

int main(int count, char **words)
{
    HOTPATH_MAIN(.report = "timing,tasks");
    static struct file files[FILES];
    const char *parent = getenv("TMPDIR");
    const int times = count > 1 ? atoi(words[1]) : 1;
    int status = 0;
    memset(chunk, 0xab, sizeof chunk);
    snprintf(folder, sizeof folder, "%s/hotpath-io-XXXXXX", parent && *parent ? parent : "/tmp");
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return 1;
    }
    for (int i = 0; i < FILES; i++) {
        snprintf(files[i].path, sizeof files[i].path, "%s/%d", folder, i);
        files[i].data = malloc(FILE_SIZE);
        status |= files[i].data == NULL;
    }

    for (int time = 0; time < times && status == 0; time++) {
        status = join_all(create_file, files);
        if (status == 0)
            status = join_all(read_file, files);
        for (int i = 0; i < FILES; i++)
            remove(files[i].path);
    }

    for (int i = 0; i < FILES; i++)
        free(files[i].data);
    remove(folder);
    uv_loop_close(uv_default_loop());
    return status;
}
