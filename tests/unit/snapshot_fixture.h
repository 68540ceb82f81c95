/*
 * Shared by the tests of snapshots: a session that each test builds, and its snapshot. cmocka must be included
 * before. SPDX-License-Identifier: MIT
 */
#ifndef SNAPSHOT_FIXTURE_H
#define SNAPSHOT_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "session_builder.h"
#include "snapshot.h"

static struct session_builder builder;
static struct hp_snapshot snapshot;

static inline int set_up(void **state)
{
    (void)state;
    builder_init(&builder, 1 << 20);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    builder_free(&builder);
    return 0;
}

/* A copy that is exactly as large as it says, so that a sanitizer sees the first byte too many. */
static inline const char *open_copy(size_t size, unsigned char **ret_copy)
{
    *ret_copy = malloc(size > 0 ? size : 1);
    memcpy(*ret_copy, builder.bytes, size);
    return hp_snapshot_open(&snapshot, *ret_copy, size, NULL);
}

static inline void assert_open(const struct hp_clock_pair *now)
{
    assert_null(hp_snapshot_open(&snapshot, builder.bytes, builder_size(&builder), now));
}

#endif
