/* Names of zones, from sessions with arbitrary contents. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "demangle.h"
#include "event_queue.h"
#include "scratch_folder.h"
#include "session_builder.h"
#include "sessions.h"
#include "zone_names.h"

#define NAME "17-1-0.hotpath"
#define SESSION 1u

/* What these names stand for is elsewhere. The caller frees the list. */
bool hp_sessions_in(struct hp_sessions *sessions, const char *folder)
{
    struct hp_stored_session *found = calloc(1, sizeof *found);
    assert_non_null(found);
    snprintf(found->path, sizeof found->path, "%s/" NAME, folder);
    *sessions = (struct hp_sessions){.all = found, .count = 1};
    return true;
}

const char *hp_session_of_number(uint32_t number) { return number == SESSION ? NAME : NULL; }

bool hp_demangle(const char *linked, char *signature, size_t size)
{
    (void)linked, (void)signature, (void)size;
    return false;
}

static void write_session(uint32_t sites)
{
    struct session_builder builder;
    char path[200];
    builder_init(&builder, 4u << 20);
    builder_site(&builder, "parse", "a.c", 1);
    builder_header(&builder)->site_count = sites;
    snprintf(path, sizeof path, "%s/" NAME, scratch_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(builder.bytes, 1, builder_size(&builder), file), builder_size(&builder));
    assert_int_equal(fclose(file), 0);
    builder_free(&builder);
}

static void zones_have_the_names_of_reports(void **state)
{
    (void)state;
    write_session(1);
    struct hp_zone_namer *namer = hp_zone_names_of(scratch_folder);
    assert_string_equal(namer->name(namer->context, SESSION, 0), "parse");
    assert_null(namer->name(namer->context, SESSION, 1));
    assert_null(namer->name(namer->context, SESSION + 1, 0));
    hp_zone_names_free(namer);
}

/* Both numbers come from the program, which may have written over them. */
static void site_numbers_out_of_bounds_are_refused(void **state)
{
    (void)state;
    write_session(UINT32_MAX);
    struct hp_zone_namer *namer = hp_zone_names_of(scratch_folder);
    assert_string_equal(namer->name(namer->context, SESSION, 0), "parse");
    assert_null(namer->name(namer->context, SESSION, HP_MAX_SITES + 1));
    assert_null(namer->name(namer->context, SESSION, UINT32_MAX - 1));
    hp_zone_names_free(namer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zones_have_the_names_of_reports),
        cmocka_unit_test(site_numbers_out_of_bounds_are_refused),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
