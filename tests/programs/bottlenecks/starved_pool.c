/* Six workers want to answer requests side by side. Each needs the index, and three quarters of the work is done
 * in update_index, with its lock held: the others wait for it in take_index. */
#include "bottleneck.h"

static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;

static APART void take_index(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&index_lock);
    COME_BACK();
}

static APART void update_index(void)
{
    HOTPATH_MEASURE();
    compute(3 * MILLISECOND);
}

static APART void answer(void)
{
    HOTPATH_MEASURE();
    compute(1 * MILLISECOND);
}

static void *worker(void *unused)
{
    for (int at = 0; at < 50; at++) {
        take_index();
        update_index();
        pthread_mutex_unlock(&index_lock);
        answer();
    }
    return unused;
}

int main(void)
{
    HOTPATH_MAIN();
    run_threads(6, worker);
    return 0;
}
