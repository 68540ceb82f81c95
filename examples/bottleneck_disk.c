/*
 * A bottleneck in the disk: each record is to be on it before the next one comes, so save_record waits for the
 * device. The verdict is `waiting`, for `disk` and the name of the file. On a file system in memory there is
 * nothing to wait for.
 *
 *     hotpath run -- build/release/examples/bottleneck_disk [FILE]
 */
#include <hotpath.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDS 300
#define RECORD_SIZE 4096

static int save_record(int file, const char *record, size_t size)
{
    HOTPATH_MEASURE();
    return write(file, record, size) == (ssize_t)size && fsync(file) == 0 ? 0 : -1;
}

static void make_record(char *record, size_t size, int number)
{
    HOTPATH_MEASURE();
    memset(record, 'a' + number % 26, size);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN(.cpu = 1);
    char record[RECORD_SIZE], path[1024];
    const char *parent = getenv("TMPDIR");
    if (argc > 1)
        snprintf(path, sizeof path, "%s", argv[1]);
    else
        snprintf(path, sizeof path, "%s/hotpath-records-%ld", parent && *parent ? parent : "/var/tmp",
                 (long)getpid());
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    int status = file < 0 ? -1 : 0;
    for (int i = 0; i < RECORDS && status == 0; i++) {
        make_record(record, sizeof record, i);
        status = save_record(file, record, sizeof record);
    }
    if (status != 0)
        perror(path);
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    printf("%s\n", status == 0 ? "saved" : "not saved");
    return status == 0 ? 0 : 1;
}
