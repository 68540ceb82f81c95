/*
 * A program for bench/compared.py, which compares it with itself: its functions have known costs, and one of them
 * can be made slower.
 *
 *     compared KIND REPEATS [FUNCTION:PERCENT]
 *
 * varied:   calls of one function cost different amounts.
 * threads:  three threads take turns on one table.
 * database: orders in an SQLite database in memory; `rate` is called by the database, for each order.
 *
 * SPDX-License-Identifier: MIT
 */
#include <hotpath.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum function {
    READ_WORDS,
    SORT_WORDS,
    COUNT_WORDS,
    ENCODE_WORDS,
    CHECKSUM,
    PREPARE,
    UPDATE,
    SEND_ANSWER,
    LOG_REQUEST,
    RATE,
    PACK_ANSWER,
    FUNCTIONS
};

static const char *const names[FUNCTIONS] = {"read_words",  "sort_words", "count_words", "encode_words",
                                             "checksum",    "prepare",    "update",      "send_answer",
                                             "log_request", "rate",       "pack_answer"};
static unsigned planted_percent[FUNCTIONS];
static uint32_t table[1 << 14];
static _Thread_local uint64_t sum;

/* Steps that each wait for the one before; a planted function makes more of them, and all else is the same. */
static __attribute__((noinline)) void work(enum function function, unsigned steps)
{
    steps += steps * planted_percent[function] / 100;
    uint64_t x = sum + steps;
    for (unsigned at = 0; at < steps; at++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        x ^= table[x >> 50];
    }
    sum = x;
}

static bool plant(const char *text)
{
    char name[64];
    unsigned percent;
    if (sscanf(text, "%60[^:]:%u", name, &percent) != 2)
        return false;
    for (size_t at = 0; at < FUNCTIONS; at++)
        if (strcmp(names[at], name) == 0) {
            planted_percent[at] = percent;
            return true;
        }
    return false;
}

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* ------------------------------------------------------------------------------------------------------- varied */

static __attribute__((noinline)) void read_words(unsigned words)
{
    HOTPATH_MEASURE();
    work(READ_WORDS, 20 * words);
}

static __attribute__((noinline)) void sort_words(unsigned words)
{
    HOTPATH_MEASURE();
    work(SORT_WORDS, words * words / 4);
}

static __attribute__((noinline)) void count_words(unsigned words)
{
    HOTPATH_MEASURE();
    work(COUNT_WORDS, 12 * words);
}

static __attribute__((noinline)) void encode_words(void)
{
    HOTPATH_MEASURE();
    work(ENCODE_WORDS, 2500);
}

static __attribute__((noinline)) void checksum(void)
{
    HOTPATH_MEASURE();
    work(CHECKSUM, 1500);
}

static __attribute__((noinline)) void one_text(uint32_t *state)
{
    HOTPATH_MEASURE();
    const unsigned words = 20 + next_random(state) % 180;
    read_words(words);
    sort_words(words);
    count_words(words);
    encode_words();
    checksum();
}

static void varied(unsigned repeats)
{
    uint32_t state = 12345;
    for (unsigned at = 0; at < repeats; at++)
        one_text(&state);
}

/* ------------------------------------------------------------------------------------------------------ threads */

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t shared_sum;

static __attribute__((noinline)) void prepare(void)
{
    HOTPATH_MEASURE();
    work(PREPARE, 4000);
}

static __attribute__((noinline)) void update(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&table_lock);
    work(UPDATE, 800);
    shared_sum += sum;
    pthread_mutex_unlock(&table_lock);
}

static __attribute__((noinline)) void send_answer(void)
{
    HOTPATH_MEASURE();
    work(SEND_ANSWER, 2500);
}

static __attribute__((noinline)) void log_request(void)
{
    HOTPATH_MEASURE();
    work(LOG_REQUEST, 1200);
}

static __attribute__((noinline)) void one_request(void)
{
    HOTPATH_MEASURE();
    prepare();
    update();
    send_answer();
    log_request();
}

static void *serve(void *repeats)
{
    for (unsigned at = 0; at < *(unsigned *)repeats; at++)
        one_request();
    return NULL;
}

static void threads(unsigned repeats)
{
    pthread_t started[3];
    for (size_t at = 0; at < 3; at++)
        if (pthread_create(&started[at], NULL, serve, &repeats) != 0)
            abort();
    for (size_t at = 0; at < 3; at++)
        pthread_join(started[at], NULL);
}

/* ----------------------------------------------------------------------------------------------------- database */

static void demand(bool holds, sqlite3 *base)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", sqlite3_errmsg(base));
    exit(1);
}

static void rate(sqlite3_context *context, int count, sqlite3_value **values)
{
    HOTPATH_MEASURE();
    (void)count;
    work(RATE, 300);
    sqlite3_result_int(context, sqlite3_value_int(values[0]) % 5);
}

static __attribute__((noinline)) void insert(sqlite3 *base, sqlite3_stmt *statement, int number, uint32_t *state)
{
    HOTPATH_MEASURE();
    demand(sqlite3_bind_int(statement, 1, number) == SQLITE_OK, base);
    demand(sqlite3_bind_int(statement, 2, (int)(next_random(state) % 40)) == SQLITE_OK, base);
    demand(sqlite3_bind_int(statement, 3, (int)(next_random(state) % 1000)) == SQLITE_OK, base);
    demand(sqlite3_step(statement) == SQLITE_DONE && sqlite3_reset(statement) == SQLITE_OK, base);
}

static __attribute__((noinline)) void find_one(sqlite3 *base, sqlite3_stmt *statement, int number)
{
    HOTPATH_MEASURE();
    demand(sqlite3_bind_int(statement, 1, number) == SQLITE_OK, base);
    demand(sqlite3_step(statement) == SQLITE_ROW && sqlite3_reset(statement) == SQLITE_OK, base);
}

static __attribute__((noinline)) void all_rows(sqlite3 *base, const char *query)
{
    HOTPATH_MEASURE();
    demand(sqlite3_exec(base, query, NULL, NULL, NULL) == SQLITE_OK, base);
}

static __attribute__((noinline)) void pack_answer(void)
{
    HOTPATH_MEASURE();
    work(PACK_ANSWER, 3000);
}

static __attribute__((noinline)) void one_day(sqlite3 *base, sqlite3_stmt *adds, sqlite3_stmt *finds, int day,
                                              uint32_t *state)
{
    HOTPATH_MEASURE();
    all_rows(base, "DELETE FROM orders");
    for (int number = 0; number < 60; number++)
        insert(base, adds, day * 60 + number, state);
    for (int number = 0; number < 60; number++)
        find_one(base, finds, day * 60 + number);
    all_rows(base, "SELECT customer, sum(price) FROM orders WHERE rate(price) > 1 GROUP BY customer");
    for (int number = 0; number < 5; number++)
        pack_answer();
}

static void database(unsigned repeats)
{
    sqlite3 *base;
    sqlite3_stmt *adds, *finds;
    uint32_t state = 12345;
    demand(sqlite3_open(":memory:", &base) == SQLITE_OK, base);
    demand(sqlite3_create_function(base, "rate", 1, SQLITE_UTF8, NULL, rate, NULL, NULL) == SQLITE_OK, base);
    all_rows(base, "CREATE TABLE orders (number INTEGER PRIMARY KEY, customer INT, price INT)");
    demand(sqlite3_prepare_v2(base, "INSERT INTO orders VALUES (?, ?, ?)", -1, &adds, NULL) == SQLITE_OK, base);
    demand(sqlite3_prepare_v2(base, "SELECT * FROM orders WHERE number = ?", -1, &finds, NULL) == SQLITE_OK, base);
    for (unsigned day = 0; day < repeats; day++)
        one_day(base, adds, finds, (int)day, &state);
    sqlite3_finalize(adds);
    sqlite3_finalize(finds);
    sqlite3_close(base);
}

/* --------------------------------------------------------------------------------------------------------- main */

int main(int count, char **words)
{
    HOTPATH_MAIN();
    static const struct {
        const char *name;
        void (*run)(unsigned repeats);
    } kinds[] = {{"varied", varied}, {"threads", threads}, {"database", database}};
    bool is_good = count == 3 || (count == 4 && plant(words[3]));
    for (uint32_t at = 0; at < 1 << 14; at++)
        table[at] = at * UINT32_C(2654435761);
    for (size_t at = 0; is_good && at < sizeof kinds / sizeof kinds[0]; at++)
        if (strcmp(words[1], kinds[at].name) == 0) {
            kinds[at].run((unsigned)atoi(words[2]));
            return 0;
        }
    fprintf(stderr, "usage: compared varied|threads|database REPEATS [FUNCTION:PERCENT]\n");
    return 2;
}
