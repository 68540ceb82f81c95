/*
 * Shared by the tests of options: a stand-in for the environment, the settings that result from it, and the
 * warnings. cmocka must be included before. SPDX-License-Identifier: MIT
 */
#ifndef OPTIONS_FIXTURE_H
#define OPTIONS_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "options.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

struct variable {
    const char *name;
    const char *value;
};

/* The last field; the compiler may leave a gap behind it. */
#define END_OF_FIELDS (offsetof(struct hotpath_options, reserved) + sizeof((struct hotpath_options *)0)->reserved)
#define MAX_WARNINGS 64

static struct hp_settings settings;
static char warnings[MAX_WARNINGS][640];
static size_t warning_count;

static inline const char *lookup(const char *name, void *context)
{
    for (const struct variable *variable = context; variable && variable->name; variable++)
        if (strcmp(variable->name, name) == 0)
            return variable->value;
    return NULL;
}

static inline void collect(const char *line, void *context)
{
    assert_ptr_equal(context, warnings);
    assert_true(warning_count < MAX_WARNINGS);
    assert_true(strlen(line) < sizeof warnings[0]);
    strcpy(warnings[warning_count++], line);
}

static inline void resolve(const struct hotpath_options *options, struct variable *variables)
{
    warning_count = 0;
    memset(&settings, 0xa5, sizeof settings);
    hp_settings_resolve(&settings, options, lookup, variables, collect, warnings);
}

static inline void resolve_variable(const char *name, const char *value)
{
    struct variable variables[] = {{name, value}, {NULL, NULL}};
    resolve(NULL, variables);
}

static inline void assert_no_warning(void)
{
    if (warning_count != 0)
        fail_msg("unexpected warning: %s", warnings[0]);
}

static inline void assert_one_warning(const char *expected)
{
    assert_int_equal(warning_count, 1);
    assert_string_equal(warnings[0], expected);
}

static inline bool percentiles_are(size_t count, const double *expected)
{
    return settings.show.percentile_count == count &&
           memcmp(settings.show.percentiles, expected, count * sizeof *expected) == 0;
}

static inline bool is_share(double percent)
{
    return memcmp(&settings.show.min_percent, &percent, sizeof percent) == 0;
}

static inline void assert_defaults(void)
{
    assert_true(percentiles_are(1, (const double[]){95}));
    assert_int_equal(settings.output.format, HP_FORMAT_TABLE);
    assert_int_equal(settings.show.by, HP_BY_FUNCTION);
    assert_int_equal(settings.record.kinds, HP_RECORD_USUAL);
    assert_false(settings.record.is_set);
    assert_false(settings.record.is_off);
    assert_false(settings.show.exclude_wrapper);
    assert_false(settings.show.time_exclusive);
    assert_false(settings.show.alloc_cumulative);
    assert_int_equal(settings.show.alloc_metric, HP_ALLOC_BYTES_TOTAL);
    assert_false(settings.record.alloc_is_asked);
    assert_false(settings.record.leave_signals);
    assert_false(settings.record.reserve);
    assert_false(settings.record.waits);
    assert_false(settings.output.no_color);
    assert_false(settings.record.is_run);
    assert_int_equal(settings.show.functions_limit, 15);
    assert_int_equal(settings.show.calltree_limit, 50);
    assert_int_equal(settings.record.logs_limit, 50);
    assert_int_equal(settings.record.shutdown_ms, 0);
    assert_int_equal(settings.record.keep, 20);
    assert_int_equal(settings.record.max_bytes, 0);
    assert_string_equal(settings.output.output_path, "");
    assert_string_equal(settings.record.dir, "");
    assert_string_equal(settings.show.report, "short");
    assert_string_equal(settings.show.columns, "");
    assert_string_equal(settings.show.sort, "");
    assert_true(is_share(0));
    assert_string_equal(settings.show.focus, "");
    assert_string_equal(settings.show.slowest, "");
    assert_string_equal(settings.record.filter, "");
    assert_string_equal(settings.record.skip, "");
    assert_string_equal(settings.record.label, "");
    assert_string_equal(settings.record.metadata, "");
}

#endif
