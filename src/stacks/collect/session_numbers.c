/* Numbers sessions. SPDX-License-Identifier: MIT */
#include "session_numbers.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

#define MOST_NAME 64u

static struct {
    pthread_mutex_t lock;
    char (*names)[MOST_NAME];
    size_t count, room;
} sessions = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The last ones first: they are looked up most. */
static uint32_t find(const char *name)
{
    size_t at = sessions.count;
    while (at > 0 && strcmp(sessions.names[at - 1], name) != 0)
        at--;
    return (uint32_t)at;
}

static uint32_t add(const char *name, size_t length)
{
    if (!HP_MAKE_ROOM(sessions.names, sessions.count + 1, sessions.room))
        return 0;
    memcpy(sessions.names[sessions.count++], name, length + 1);
    return (uint32_t)sessions.count;
}

/* Called once for each ring, heap and watched process. */
uint32_t hp_session_number(const char *name)
{
    const size_t length = strlen(name);
    if (length >= MOST_NAME)
        return 0;
    pthread_mutex_lock(&sessions.lock);
    const uint32_t known = find(name), number = known != 0 ? known : add(name, length);
    pthread_mutex_unlock(&sessions.lock);
    return number;
}

const char *hp_session_of_number(uint32_t number)
{
    return number > 0 && number <= sessions.count ? sessions.names[number - 1] : NULL;
}

void hp_session_numbers_free(void)
{
    free(sessions.names);
    sessions.names = NULL;
    sessions.count = sessions.room = 0;
}
