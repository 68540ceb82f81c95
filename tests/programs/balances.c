/*
 * Tasks, queues and levels that are open when the test switches recording off or on: it does so between two lines
 * that it writes to stdin. At the end none is open, nothing is queued, and the level is 1.
 */
#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 100 };

static hotpath_task tasks[COUNT];
static const char queue;

static void wait_for_line(void)
{
    char line[16];
    printf("next\n");
    fflush(stdout);
    MUST(fgets(line, sizeof line, stdin) != NULL);
}

static void begin(void)
{
    for (int at = 0; at < COUNT; at++) {
        HOTPATH_TASK(&tasks[at], "request");
        HOTPATH_CHANNEL_SENT("queue", &queue, 1, 1, at + 1);
        HOTPATH_GAUGE_ADD("level", 1);
    }
}

static void end(void)
{
    for (int at = 0; at < COUNT; at++) {
        HOTPATH_TASK_READY(&tasks[at]);
        HOTPATH_CHANNEL_RECEIVED("queue", &queue, 1, 1, COUNT - 1 - at);
        HOTPATH_GAUGE_ADD("level", -1);
    }
}

/* What this process sends is received by another one, which is never off. */
static void send_to_child(void)
{
    HOTPATH_CHANNEL_SENT("between processes", NULL, COUNT, COUNT, -1);
    const pid_t child = fork();
    if (child == 0) {
        HOTPATH_CHANNEL_RECEIVED("between processes", NULL, COUNT, COUNT, -1);
        _exit(0);
    }
    MUST(waitpid(child, NULL, 0) == child);
}

int main(void)
{
    HOTPATH_MAIN();
    begin();
    wait_for_line(); /* off */
    end();
    begin();
    send_to_child();
    wait_for_line(); /* on */
    end();
    begin();
    wait_for_line(); /* off */
    end();
    begin();
    end();
    wait_for_line(); /* on */
    HOTPATH_GAUGE_ADD("level", 1);
    return 0;
}
