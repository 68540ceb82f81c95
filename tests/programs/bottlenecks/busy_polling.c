/* wait_for_answer asks again and again whether the answer is there, and so has all of the CPU time. The other
 * thread stands for something slow elsewhere: it only sleeps. */
#include "bottleneck.h"

#include <stdatomic.h>

static atomic_int answers;

static APART void wait_for_answer(int number)
{
    HOTPATH_MEASURE();
    while (atomic_load(&answers) < number)
        ;
}

static APART void use_answer(void)
{
    HOTPATH_MEASURE();
    compute(MILLISECOND);
}

static void *elsewhere(void *unused)
{
    for (int at = 0; at < 20; at++) {
        usleep(50000);
        atomic_fetch_add(&answers, 1);
    }
    return unused;
}

int main(void)
{
    HOTPATH_MAIN();
    pthread_t thread;
    must(pthread_create(&thread, NULL, elsewhere, NULL) == 0, "pthread_create");
    for (int at = 1; at <= 20; at++) {
        wait_for_answer(at);
        use_answer();
    }
    pthread_join(thread, NULL);
    return 0;
}
