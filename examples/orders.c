/*
 * A server that makes up its own orders, to be watched while it runs: ten threads, a contended lock, a queue that
 * fills up, an event loop with tasks and a callback that is sometimes slow, a stream, values, allocations, files.
 *
 * It alternates: calm for three seconds, busy for twelve, until it is interrupted or its time is up (orders 10: ten
 * seconds). When it is busy, workers wait for one another: reserve_stock sleeps while it holds the lock.
 */
#define _GNU_SOURCE 1 /* pthread_setname_np */
#include <hotpath.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 6
#define MOST_JOBS 64
#define MOST_REPLIES 256
#define MOST_MAILS 256
#define CALM_SECONDS 3
#define BUSY_SECONDS 12

struct order {
    unsigned number;
    unsigned amount;
    char text[200];
};

static atomic_bool is_over;
static struct timespec began;

static void interrupted(int signal)
{
    (void)signal;
    atomic_store(&is_over, true);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - began.tv_sec) + (double)(now.tv_nsec - began.tv_nsec) / 1e9;
}

static void sleep_us(long us)
{
    const struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

/* Keeps a processor busy for so many rounds. */
static unsigned mix(unsigned seed, unsigned rounds)
{
    while (rounds-- > 0)
        seed = (seed ^ seed >> 15) * 0x2c1b3c6du + rounds;
    return seed;
}

static volatile unsigned unused_result; /* so that nobody takes away what leads to it */

/* ---------------------------------------------------------------------------------------------------- queues */

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t has_changed;
    unsigned room, first, length;
    struct order **items;
};
static struct order *job_items[MOST_JOBS], *reply_items[MOST_REPLIES];
static struct queue jobs = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, MOST_JOBS, 0, 0, job_items};
static struct queue replies = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, MOST_REPLIES, 0, 0, reply_items};

/* Of one label for each queue, since a label stands for all channels that have it. */
#define TELL(macro, queue, ...)                                                                                    \
    do {                                                                                                           \
        if ((queue) == &jobs)                                                                                      \
            macro("jobs", NULL, __VA_ARGS__);                                                                      \
        else                                                                                                       \
            macro("replies", NULL, __VA_ARGS__);                                                                   \
    } while (0)

static void wait_for_room(struct queue *queue)
{
    if (queue == &jobs) {
        HOTPATH_CHANNEL_FULL("jobs", NULL);
        pthread_cond_wait(&queue->has_changed, &queue->lock);
    } else {
        HOTPATH_CHANNEL_FULL("replies", NULL);
        pthread_cond_wait(&queue->has_changed, &queue->lock);
    }
}

static void wait_for_item(struct queue *queue)
{
    if (queue == &jobs) {
        HOTPATH_CHANNEL_EMPTY("jobs", NULL);
        pthread_cond_wait(&queue->has_changed, &queue->lock);
    } else {
        HOTPATH_CHANNEL_EMPTY("replies", NULL);
        pthread_cond_wait(&queue->has_changed, &queue->lock);
    }
}

static void queue_push(struct queue *queue, struct order *order)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&queue->lock);
    while (queue->length == queue->room)
        wait_for_room(queue);
    if (order != NULL)
        TELL(HOTPATH_CHANNEL_SENT, queue, 1, sizeof *order, queue->length + 1, (uintptr_t)order);
    queue->items[(queue->first + queue->length++) % queue->room] = order;
    pthread_cond_broadcast(&queue->has_changed);
    pthread_mutex_unlock(&queue->lock);
}

/* NULL: there will be no more. */
static struct order *queue_pop(struct queue *queue)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&queue->lock);
    while (queue->length == 0)
        wait_for_item(queue);
    struct order *order = queue->items[queue->first];
    queue->first = (queue->first + 1) % queue->room;
    queue->length--;
    const unsigned left = queue->length;
    pthread_cond_broadcast(&queue->has_changed);
    pthread_mutex_unlock(&queue->lock);
    if (order != NULL)
        TELL(HOTPATH_CHANNEL_RECEIVED, queue, 1, sizeof *order, left, (uintptr_t)order);
    return order;
}

/* ----------------------------------------------------------------------------------------------------- mails */

/* A mail is a task: written here, sent in parts by the mailer's thread, and done after the last part. */
struct mail {
    unsigned parts;
    struct mail *next;
    HOTPATH_FIELD(hotpath_task, task);
};
static pthread_mutex_t mail_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mail *outbox;
static unsigned mail_count;
static int bell[2];

static void send_mail(const struct order *order)
{
    HOTPATH_MEASURE();
    struct mail *mail = malloc(sizeof *mail);
    if (mail == NULL)
        return;
    mail->parts = 3 + order->number % 4;
    HOTPATH_TASK(mail->task, "mail");
    pthread_mutex_lock(&mail_lock);
    const bool has_room = mail_count < MOST_MAILS;
    if (has_room) {
        mail->next = outbox;
        outbox = mail;
        mail_count++;
    }
    pthread_mutex_unlock(&mail_lock);
    if (!has_room) {
        HOTPATH_TASK_CANCEL(mail->task);
        free(mail);
    } else if (write(bell[1], "", 1) != 1) {
        return; /* the mailer has many rings before it already */
    }
}

/* One callback of the loop. One in 40 is slow, and all other mails wait for it. False: the mail is out. */
static bool send_part(struct mail *mail)
{
    static unsigned count;
    HOTPATH_TASK_POLL(mail->task);
    const unsigned rounds = ++count % 40 == 0 ? 8000000 : 20000;
    unused_result = mix(count, rounds);
    if (--mail->parts > 0)
        return true;
    HOTPATH_TASK_READY(mail->task);
    return false;
}

static struct mail *take_outbox(void)
{
    pthread_mutex_lock(&mail_lock);
    struct mail *all = outbox;
    outbox = NULL;
    pthread_mutex_unlock(&mail_lock);
    return all;
}

static void send_parts(void)
{
    struct mail *kept = NULL;
    for (struct mail *mail = take_outbox(), *next; mail != NULL; mail = next) {
        next = mail->next;
        if (send_part(mail)) {
            mail->next = kept;
            kept = mail;
            continue;
        }
        free(mail);
        pthread_mutex_lock(&mail_lock);
        mail_count--;
        pthread_mutex_unlock(&mail_lock);
    }
    pthread_mutex_lock(&mail_lock);
    while (kept != NULL) {
        struct mail *next = kept->next;
        kept->next = outbox;
        outbox = kept;
        kept = next;
    }
    pthread_mutex_unlock(&mail_lock);
}

static void wait_for_bell(void)
{
    struct pollfd one = {.fd = bell[0], .events = POLLIN};
    HOTPATH_LOOP_WAIT("mailer");
    poll(&one, 1, 50);
}

static void *run_mailer(void *unused)
{
    char rings[256];
    (void)unused;
    pthread_setname_np(pthread_self(), "mailer");
    while (!atomic_load(&is_over)) {
        wait_for_bell();
        (void)!read(bell[0], rings, sizeof rings);
        send_parts();
    }
    HOTPATH_LOOP_END("mailer");
    for (struct mail *mail = take_outbox(), *next; mail != NULL; mail = next) {
        next = mail->next;
        HOTPATH_TASK_CANCEL(mail->task);
        free(mail);
    }
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------- orders */

static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static unsigned stock_left = 1000000000;
static int journal_file = -1;

static unsigned lex(const struct order *order)
{
    HOTPATH_MEASURE();
    unsigned sum = 0;
    for (const char *at = order->text; *at != '\0'; at++)
        sum = mix(sum + (unsigned char)*at, 40);
    return sum;
}

static unsigned parse_order(const struct order *order)
{
    HOTPATH_MEASURE();
    return lex(order);
}

static void look_up_price(const struct order *order)
{
    HOTPATH_MEASURE();
    sleep_us(order->number % 16 == 0 ? 8000 : 300);
}

static unsigned tax(unsigned amount)
{
    HOTPATH_MEASURE();
    return mix(amount, 3000) % 20;
}

static unsigned price(const struct order *order)
{
    HOTPATH_MEASURE();
    if (order->number % 3 == 0)
        look_up_price(order);
    return order->amount + tax(order->amount);
}

static void reserve_stock(const struct order *order)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&stock);
    stock_left -= order->amount;
    sleep_us(120);
    pthread_mutex_unlock(&stock);
}

static char *escape(const char *text)
{
    HOTPATH_MEASURE();
    char *page = malloc(6 * strlen(text) + 1), *to = page;
    for (; page != NULL && *text != '\0'; text++)
        to += *text == '<' ? sprintf(to, "&lt;") : sprintf(to, "%c", *text);
    return page;
}

static void render(const struct order *order, unsigned amount)
{
    HOTPATH_MEASURE();
    const size_t size = 16384;
    char *page = malloc(size), *text = escape(order->text);
    if (page != NULL && text != NULL)
        HOTPATH_VALUE("page size", snprintf(page, size, "<p>%u: %u</p><pre>%s</pre>", order->number, amount, text));
    free(text);
    free(page);
}

static void write_journal(const struct order *order)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&journal);
    (void)!pwrite(journal_file, order, sizeof *order, (off_t)(order->number % 10000 * sizeof *order));
    if (order->number % 64 == 0)
        fsync(journal_file);
    pthread_mutex_unlock(&journal);
}

static void handle(struct order *order)
{
    HOTPATH_MEASURE();
    HOTPATH_NOTE("order=%u", order->number);
    order->amount += parse_order(order) % 5;
    const unsigned amount = price(order);
    reserve_stock(order);
    write_journal(order);
    render(order, amount);
    HOTPATH_COUNT("orders", 1);
    if (order->number % 20 == 0)
        send_mail(order);
}

static void *run_worker(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "worker");
    for (struct order *order; (order = queue_pop(&jobs)) != NULL;) {
        handle(order);
        queue_push(&replies, order);
    }
    return NULL;
}

static void *run_sender(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "sender");
    for (struct order *order; (order = queue_pop(&replies)) != NULL;)
        free(order);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------- compactor */

static int by_value(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return x < y ? -1 : x > y;
}

/* One after the other, as a stream: who makes them and who uses them share a thread. */
static unsigned *next_segment(size_t count)
{
    HOTPATH_MEASURE();
    HOTPATH_STREAM_NEXT("segments", NULL);
    unsigned *segment = malloc(count * sizeof *segment);
    for (size_t at = 0; segment != NULL && at < count; at++)
        segment[at] = mix((unsigned)at, 4);
    HOTPATH_STREAM_ITEM("segments", NULL, 1, count * sizeof *segment);
    return segment;
}

static void compact(void)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < 4; at++) {
        const size_t count = 5000;
        unsigned *segment = next_segment(count);
        if (segment != NULL)
            qsort(segment, count, sizeof *segment, by_value);
        free(segment);
    }
}

static void *run_compactor(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "compactor");
    while (!atomic_load(&is_over)) {
        compact();
        sleep_us(60000);
    }
    HOTPATH_STREAM_END("segments", NULL);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------ main */

static void accept_order(unsigned number)
{
    HOTPATH_MEASURE();
    struct order *order = malloc(sizeof *order);
    if (order == NULL)
        return;
    order->number = number;
    order->amount = 1 + number % 7;
    snprintf(
        order->text, sizeof order->text,
        "{\"number\": %u, \"article\": \"<tea>\", \"amount\": %u, \"to\": \"the house at the end of the road\"}",
        number, order->amount);
    queue_push(&jobs, order);
}

static void accept_orders(double limit)
{
    for (unsigned number = 0; !atomic_load(&is_over); number++) {
        const double now = seconds();
        if (limit > 0 && now >= limit)
            break;
        accept_order(number);
        if ((long)now % (CALM_SECONDS + BUSY_SECONDS) < CALM_SECONDS)
            sleep_us(5000);
    }
}

static bool open_journal(void)
{
    char path[] = "/tmp/orders-XXXXXX";
    journal_file = mkstemp(path);
    if (journal_file < 0)
        return false;
    unlink(path);
    return true;
}

static void *(*const others[])(void *) = {run_sender, run_compactor, run_mailer};
#define OTHERS (sizeof others / sizeof others[0])

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    pthread_t workers[WORKERS], threads[OTHERS];
    const struct sigaction action = {.sa_handler = interrupted};
    clock_gettime(CLOCK_MONOTONIC, &began);
    if (!open_journal() || pipe(bell) != 0 || fcntl(bell[0], F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(bell[1], F_SETFL, O_NONBLOCK) != 0 || sigaction(SIGINT, &action, NULL) != 0 ||
        sigaction(SIGTERM, &action, NULL) != 0) {
        perror("orders");
        return 1;
    }
    HOTPATH_CHANNEL_CAPACITY("jobs", NULL, MOST_JOBS);
    HOTPATH_CHANNEL_CAPACITY("replies", NULL, MOST_REPLIES);
    for (size_t at = 0; at < WORKERS; at++)
        if (pthread_create(&workers[at], NULL, run_worker, NULL) != 0)
            return 1;
    for (size_t at = 0; at < OTHERS; at++)
        if (pthread_create(&threads[at], NULL, others[at], NULL) != 0)
            return 1;
    accept_orders(argc > 1 ? atof(argv[1]) : 0);
    atomic_store(&is_over, true);
    for (size_t at = 0; at < WORKERS; at++)
        queue_push(&jobs, NULL);
    for (size_t at = 0; at < WORKERS; at++)
        pthread_join(workers[at], NULL);
    queue_push(&replies, NULL);
    for (size_t at = 0; at < OTHERS; at++)
        pthread_join(threads[at], NULL);
    puts("all orders are done");
    return 0;
}
