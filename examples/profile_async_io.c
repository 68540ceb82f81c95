/*
 * I/O that goes on at once: five files are written, and then read, each by a thread of its own, as the run-time library of a
 * language with async I/O does it behind the scenes. Together the calls take several times as long as the program runs, and
 * most of that is waiting: a profiler that samples the CPU tells quite another story. `hotpath run` tells both.
 */
#include <hotpath.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES 5
#define FILE_SIZE (8 * 1024 * 1024)
#define CHUNK_SIZE (8 * 1024)

static char folder[1024];

/* Returns NULL, or the path that went wrong. */
static void *create_file(void *path)
{
    HOTPATH_MEASURE();
    char chunk[CHUNK_SIZE];
    memset(chunk, 0xab, sizeof chunk);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return path;
    void *wrong = NULL;
    for (int i = 0; i < FILE_SIZE / CHUNK_SIZE && wrong == NULL; i++)
        if (write(fd, chunk, sizeof chunk) != (ssize_t)sizeof chunk)
            wrong = path;
    if (fsync(fd) != 0)
        wrong = path;
    close(fd);
    return wrong;
}

static void *read_file(void *path)
{
    HOTPATH_MEASURE();
    char chunk[CHUNK_SIZE];
    const int fd = open(path, O_RDONLY);
    size_t size = 0;
    for (ssize_t got = fd < 0 ? 0 : 1; got > 0; size += got > 0 ? (size_t)got : 0)
        got = read(fd, chunk, sizeof chunk);
    if (fd >= 0)
        close(fd);
    return size == FILE_SIZE ? NULL : path;
}

/* Does one thing with all files at once. */
static int join_all(void *(*work)(void *), char paths[FILES][1100])
{
    HOTPATH_MEASURE();
    pthread_t threads[FILES];
    int status = 0, started = 0;
    while (started < FILES && pthread_create(&threads[started], NULL, work, paths[started]) == 0)
        started++;
    for (int i = 0; i < started; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        if (wrong != NULL) {
            fprintf(stderr, "profile_async_io: %s could not be written or read\n", (char *)wrong);
            status = 1;
        }
    }
    return started < FILES ? 1 : status;
}

int main(void)
{
    HOTPATH_MAIN();
    const char *parent = getenv("TMPDIR");
    static char paths[FILES][1100];
    snprintf(folder, sizeof folder, "%s/hotpath-io-XXXXXX", parent && *parent ? parent : "/tmp");
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return 1;
    }
    for (int i = 0; i < FILES; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%d", folder, i);

    int status = join_all(create_file, paths);
    if (status == 0)
        status = join_all(read_file, paths);

    for (int i = 0; i < FILES; i++)
        unlink(paths[i]);
    rmdir(folder);
    return status;
}
