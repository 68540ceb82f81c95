/* save_record makes sure that each record is on the disk before the next: nearly all of the time is spent
 * waiting for that. The argument is a file on a real disk. Ends after a second, for disks that are slow; a fast
 * one gets more to do. */
#include "bottleneck.h"

#include <fcntl.h>

static APART void save_record(int file, const char *record, size_t size)
{
    HOTPATH_MEASURE();
    must(write(file, record, size) == (ssize_t)size, "write");
    must(fdatasync(file) == 0, "fdatasync");
}

static APART void make_record(char *record, size_t size)
{
    HOTPATH_MEASURE();
    memset(record, 'x', size);
    compute(MILLISECOND / 50);
}

int main(int count, char **words)
{
    HOTPATH_MAIN();
    char record[4096];
    struct timespec begin, now;
    const int file = count > 1 ? open(words[1], O_CREAT | O_TRUNC | O_RDWR, 0600) : -1;
    must(file >= 0, "open");
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        make_record(record, sizeof(record));
        save_record(file, record, sizeof(record));
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 1000);
    close(file);
    unlink(words[1]);
    return 0;
}
