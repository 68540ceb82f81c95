/*
 * Blocking I/O: writes a file of 10 MB in pieces of 8 KB, has it written through to the disk, and reads it five
 * times. Most of this time is spent waiting, where a profiler that samples the CPU sees nothing. The argument says
 * how many times to do all of it.
 */
#include <hotpath.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_SIZE (10 * 1024 * 1024)
#define CHUNK_SIZE (8 * 1024)

static int create_test_file(const char *path)
{
    HOTPATH_MEASURE();
    static char chunk[CHUNK_SIZE];
    memset(chunk, 0xab, sizeof chunk);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return -1;
    int status = 0;
    for (int i = 0; i < FILE_SIZE / CHUNK_SIZE && status == 0; i++)
        if (write(fd, chunk, sizeof chunk) != (ssize_t)sizeof chunk)
            status = -1;
    /* One expression can be measured where it stands; its value passes through. */
    if (HOTPATH_EXPR("fsync", fsync(fd)) != 0)
        status = -1;
    close(fd);
    return status;
}

/* Returns the number of bytes read. */
static size_t read_file(const char *path)
{
    HOTPATH_MEASURE();
    static char data[FILE_SIZE];
    const int fd = open(path, O_RDONLY);
    size_t size = 0;
    ssize_t got = fd < 0 ? -1 : 1;
    while (got > 0 && size + CHUNK_SIZE <= sizeof data) {
        got = read(fd, data + size, CHUNK_SIZE);
        size += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    return size;
}

/* Once: a file is written and read. */
static int work(const char *path)
{
    int status = create_test_file(path);
    for (int i = 0; i < 5 && status == 0; i++)
        if (read_file(path) != FILE_SIZE)
            status = -1;
    if (status != 0)
        perror(path);
    unlink(path);
    return status;
}

int main(int count, char **words)
{
    HOTPATH_MAIN();
    const int times = count > 1 ? atoi(words[1]) : 1;
    const char *parent = getenv("TMPDIR");
    char folder[1024], path[1100];
    snprintf(folder, sizeof folder, "%s/hotpath-io-XXXXXX", parent && *parent ? parent : "/tmp");
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return 1;
    }
    snprintf(path, sizeof path, "%s/data", folder);

    int status = 0;
    for (int i = 0; i < times && status == 0; i++)
        status = work(path);
    rmdir(folder);
    return status == 0 ? 0 : 1;
}
