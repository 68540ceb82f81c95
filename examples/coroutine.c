/*
 * Coroutines that give way in the middle of measured functions. Each is a task with a lane of its own, which is
 * polled where it is resumed: that says how many there are at a time, and how long each took in all. The row
 * <suspended> says how long they did not run; self times are the time they worked. docs/coroutines.md has the rest,
 * and hotpath_switch for those who change stacks in other ways.
 */
#include <hotpath.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define COROUTINES 3
#define PAGES 100
#define STACK_BYTES (64u << 10)

struct coroutine {
    ucontext_t context, caller;
    char *stack;
    uint64_t hash;
    int is_done;
    HOTPATH_FIELD(hotpath_task, task);
};

static struct coroutine crawlers[COROUTINES];

static void resume(struct coroutine *self)
{
    HOTPATH_TASK_POLL(self->task); /* from here to the end of the braces zones are the coroutine's */
    swapcontext(&self->caller, &self->context);
    if (self->is_done)
        HOTPATH_TASK_READY(self->task);
}

static void yield(struct coroutine *self) { swapcontext(&self->context, &self->caller); }

static void parse(struct coroutine *self)
{
    HOTPATH_MEASURE();
    for (int i = 0; i < 1000; i++)
        self->hash = (self->hash ^ (self->hash >> 29)) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

/* Waits for a page, and lets others work meanwhile. */
static void fetch(struct coroutine *self)
{
    HOTPATH_MEASURE();
    yield(self);
}

static void crawl(int number)
{
    struct coroutine *self = &crawlers[number];
    {
        HOTPATH_BLOCK("crawl");
        for (int page = 0; page < PAGES; page++) {
            fetch(self);
            parse(self);
        }
    }
    self->is_done = 1;
    yield(self);
}

static int begin(struct coroutine *self, int number)
{
    self->stack = malloc(STACK_BYTES);
    if (self->stack == NULL || getcontext(&self->context) != 0)
        return 0;
    self->context.uc_stack.ss_sp = self->stack;
    self->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&self->context, (void (*)(void))(uintptr_t)crawl, 1, number);
    HOTPATH_TASK(self->task, "crawler", .lane = 1);
    return 1;
}

/* Each in turn, until all are done. */
static void run_all(void)
{
    HOTPATH_MEASURE();
    for (int left = COROUTINES; left > 0;)
        for (int i = 0; i < COROUTINES; i++)
            if (!crawlers[i].is_done) {
                resume(&crawlers[i]);
                left -= crawlers[i].is_done;
            }
}

int main(void)
{
    HOTPATH_MAIN(.report = "timing,tasks,calltree");
    uint64_t sum = 0;
    for (int i = 0; i < COROUTINES; i++)
        if (!begin(&crawlers[i], i))
            return 1;
    run_all();
    for (int i = 0; i < COROUTINES; i++) {
        sum += crawlers[i].hash;
        free(crawlers[i].stack);
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
