/* Five threads need a ticket for everything they do. next_ticket holds its lock for a tenth of a millisecond,
 * most of a turn: whoever gets it finds four others waiting, and when it returns it soon waits behind them. */
#include "bottleneck.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long tickets;

static APART long next_ticket(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&lock);
    compute(MILLISECOND / 10);
    const long ticket = ++tickets;
    pthread_mutex_unlock(&lock);
    return ticket;
}

static APART void use_ticket(long ticket)
{
    HOTPATH_MEASURE();
    (void)ticket;
    compute(MILLISECOND / 100);
}

static void *user(void *unused)
{
    for (int at = 0; at < 2000; at++)
        use_ticket(next_ticket());
    return unused;
}

int main(void)
{
    HOTPATH_MAIN();
    run_threads(5, user);
    return tickets != 10000;
}
