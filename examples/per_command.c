/*
 * One block, a row for each command. What a server does depends on what it is asked for: HOTPATH_BLOCK_KEY takes a
 * text that is only known when the program runs, and has a row for each one, with counts and times of its own:
 *
 *     command[GET]  command[SET]  command[DEL]
 *
 * Keys should be few: commands, tables, kinds of files. Those beyond HOTPATH_KEYS_LIMIT share the row
 * command[<other>].
 */
#include <hotpath.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SLOTS 64u

static struct {
    char key[16];
    int value;
    int is_used;
} store[SLOTS];

static unsigned slot_of(const char *key)
{
    HOTPATH_MEASURE();
    uint32_t hash = 2166136261u;
    for (; *key != '\0'; key++)
        hash = (hash ^ (unsigned char)*key) * 16777619u;
    return hash % SLOTS;
}

static int get(const char *key, int unused)
{
    const unsigned slot = slot_of(key);
    (void)unused;
    return store[slot].is_used && strcmp(store[slot].key, key) == 0 ? store[slot].value : -1;
}

static int set(const char *key, int value)
{
    const unsigned slot = slot_of(key);
    snprintf(store[slot].key, sizeof store[slot].key, "%s", key);
    store[slot].value = value;
    store[slot].is_used = 1;
    return value;
}

static int del(const char *key, int unused)
{
    const unsigned slot = slot_of(key);
    (void)unused;
    store[slot].is_used = 0;
    return 0;
}

static const struct {
    const char *name;
    int (*run)(const char *key, int value);
} commands[] = {{"GET", get}, {"SET", set}, {"DEL", del}};

static int execute(const char *name, const char *key, int value)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].name, name) == 0) {
            HOTPATH_BLOCK_KEY("command", name);
            return commands[i].run(key, value);
        }
    return -1;
}

int main(void)
{
    HOTPATH_MAIN();
    int sum = 0;
    for (int i = 0; i < 1000; i++) {
        char key[16];
        snprintf(key, sizeof key, "user:%d", i % 10);
        sum += execute("SET", key, i);
        for (int again = 0; again < 4; again++)
            sum += execute("GET", key, 0);
        if (i % 10 == 9)
            sum += execute("DEL", key, 0);
    }
    printf("%d\n", sum);
    return 0;
}
