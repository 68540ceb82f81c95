/*
 * Zones in signal handlers that interrupt zones at any instruction: a timer every 100 microseconds, a second thread
 * that
 * keeps sending, and handlers that interrupt handlers. The program counts its own calls; the report must agree.
 *     signals storm N   until N signals were handled
 *     signals nested N  a handler that raises two more signals, one inside the other, N times
 */
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t handled, inner_handled, nested_handled;
static int is_over;
static unsigned long in_main, in_nest;
static pthread_t main_thread;

static void in_handler(void) { HOTPATH_MEASURE(); }

static void on_signal(int signal)
{
    HOTPATH_MEASURE();
    (void)signal;
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED); /* the other signal may interrupt this one */
    in_handler();
}

static void tiny(void)
{
    HOTPATH_MEASURE();
    in_main++;
}

static void nest(int depth)
{
    HOTPATH_MEASURE();
    in_nest++;
    tiny();
    if (depth > 0)
        nest(depth - 1);
    tiny();
}

static void *sender(void *unused)
{
    while (!is_raised(&is_over)) {
        pthread_kill(main_thread, SIGUSR1);
        for (volatile int i = 0; i < 2000; i++)
            ;
    }
    return unused;
}

static void catch_signal(int signal, void (*handler)(int), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART | flags;
    MUST(sigaction(signal, &action, NULL) == 0);
}

static void storm(unsigned long count)
{
    pthread_t thread;
    const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    sigset_t set;
    catch_signal(SIGALRM, on_signal, 0);
    catch_signal(SIGUSR1, on_signal, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL); /* the sender inherits this */
    MUST(pthread_create(&thread, NULL, sender, NULL) == 0);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while ((unsigned long)handled < count)
        nest(4);
    setitimer(ITIMER_REAL, &never, NULL);
    raise_flag(&is_over);
    pthread_join(thread, NULL);
    while (sigpending(&set) == 0 && (sigismember(&set, SIGUSR1) || sigismember(&set, SIGALRM)))
        ;
}

static void on_third(int signal)
{
    HOTPATH_MEASURE();
    (void)signal;
    inner_handled++;
}

static void on_second(int signal)
{
    HOTPATH_MEASURE();
    (void)signal;
    nested_handled++;
    raise(SIGRTMIN + 2);
}

static void on_first(int signal)
{
    HOTPATH_MEASURE();
    (void)signal;
    handled++;
    raise(SIGRTMIN + 1);
}

static void nested(unsigned long count)
{
    const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    catch_signal(SIGALRM, on_first, 0);
    catch_signal(SIGRTMIN + 1, on_second, SA_NODEFER);
    catch_signal(SIGRTMIN + 2, on_third, SA_NODEFER);
    setitimer(ITIMER_REAL, &often, NULL);
    while ((unsigned long)handled < count)
        nest(4);
    setitimer(ITIMER_REAL, &never, NULL);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    const unsigned long count = number(argc, argv, 2, 1000);
    main_thread = pthread_self();
    if (is_case(argc, argv, "storm"))
        storm(count);
    else
        nested(count);
    tell("handled", (uint64_t)handled);
    tell("nested", (uint64_t)nested_handled);
    tell("inner", (uint64_t)inner_handled);
    tell("tiny", in_main);
    tell("nest", in_nest);
    return 0;
}
