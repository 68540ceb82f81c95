/* look_up sends a request to a child over a socket and waits for the answer, one request after the other. The
 * child works on each in find_row: it never runs at the same time as its parent. */
#include "bottleneck.h"

#include <sys/socket.h>

static APART long find_row(long key)
{
    HOTPATH_MEASURE();
    compute(2 * MILLISECOND);
    return key * 7;
}

static APART long look_up(int server, long key)
{
    HOTPATH_MEASURE();
    long row = 0;
    must(write(server, &key, sizeof(key)) == sizeof(key), "write");
    must(read(server, &row, sizeof(row)) == sizeof(row), "read");
    return row;
}

static APART void show(long row)
{
    HOTPATH_MEASURE();
    (void)row;
    compute(MILLISECOND / 5);
}

static void serve(int client)
{
    long key;
    while (read(client, &key, sizeof(key)) == sizeof(key)) {
        const long row = find_row(key);
        must(write(client, &row, sizeof(row)) == sizeof(row), "write");
    }
}

int main(void)
{
    HOTPATH_MAIN();
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    const pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        close(ends[0]);
        serve(ends[1]);
        return 0;
    }
    close(ends[1]);
    for (long key = 0; key < 450; key++)
        show(look_up(ends[0], key));
    close(ends[0]);
    waitpid(child, NULL, 0);
    return 0;
}
