/* A child reads records from a pipe and encodes each for ten times as long as it takes to make one: the parent
 * waits for room in the pipe most of the time. */
#include "bottleneck.h"

enum { RECORDS = 400, SIZE = 32 * 1024 };
static char record[SIZE];

static APART void make_record(int number)
{
    HOTPATH_MEASURE();
    memset(record, number, sizeof(record));
    compute(MILLISECOND / 5);
}

static APART void send_record(int pipe)
{
    HOTPATH_MEASURE();
    must(write(pipe, record, sizeof(record)) == SIZE, "write");
}

static APART void encode_record(void)
{
    HOTPATH_MEASURE();
    compute(5 * MILLISECOND / 2);
}

static APART int receive_record(int pipe)
{
    HOTPATH_MEASURE();
    for (size_t have = 0; have < sizeof(record);) {
        const ssize_t got = read(pipe, record + have, sizeof(record) - have);
        if (got <= 0)
            return 0;
        have += (size_t)got;
    }
    return 1;
}

int main(void)
{
    HOTPATH_MAIN();
    int ends[2];
    must(pipe(ends) == 0, "pipe");
    const pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        close(ends[1]);
        while (receive_record(ends[0]))
            encode_record();
        return 0;
    }
    close(ends[0]);
    for (int at = 0; at < RECORDS; at++) {
        make_record(at);
        send_record(ends[1]);
    }
    close(ends[1]);
    waitpid(child, NULL, 0);
    return 0;
}
