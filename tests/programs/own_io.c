/* Names descriptors, and tells of I/O that cannot be seen. Prints "LABEL OP OPS BYTES". */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hotpath.h"

static __attribute__((noinline)) void write_journal(int fd)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < 10; at++)
        if (write(fd, "word", 4) != 4)
            exit(1);
}

int main(void)
{
    char path[] = "/tmp/own_io.XXXXXX";
    const int fd = mkstemp(path), copy = dup(fd);
    HOTPATH_IO_NAME(fd, "journal");
    write_journal(fd);
    HOTPATH_IO_NAME(copy, "copy");
    if (write(copy, "copied", 6) != 6)
        return 1;
    close(copy);
    for (int at = 0; at < 5; at++)
        HOTPATH_IO_OP("index", "read", 1000000);
    HOTPATH_IO_OP("index", "turn", 0);
    close(fd);
    unlink(path);
    printf("journal write 10 40\ncopy write 1 6\nindex read 5 5000000\nindex other 1 0\n");
    return 0;
}
