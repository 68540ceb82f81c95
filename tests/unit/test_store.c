/* The writer side of the session file: space, growth, lack of space, and pruning. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "session_dirs.h"
#include "store.h"

#define KIB 1024u
#define CAPACITY (1024u * KIB)

static struct hp_store store;
static struct hp_settings settings;
static char folder[] = "/tmp/hotpath-store-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    memset(&store, 0, sizeof store);
    memset(&settings, 0, sizeof settings);
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    strcpy(settings.record.dir, folder);
    settings.record.max_bytes = CAPACITY;
    return 0;
}

static int tear_down(void **state)
{
    char command[100];
    (void)state;
    hp_store_forget(&store);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command); /* NOLINT(cert-env33-c): the words are our own */
}

static void create(void)
{
    assert_null(hp_store_create(&store, &settings.record, 4242, 0));
    assert_false(store.is_memory);
}

static uint64_t size_of_file(void)
{
    struct stat status;
    assert_int_equal(stat(store.path, &status), 0);
    return (uint64_t)status.st_size;
}

static void sessions_are_numbered(void **state)
{
    (void)state;
    static struct hp_store second;
    memset(&second, 0, sizeof second);
    create();
    assert_null(hp_store_create(&second, &settings.record, 4242, 1));
    assert_int_equal(store.number, 0);
    assert_int_equal(second.number, 1);
    assert_string_not_equal(store.path, second.path);
    assert_memory_equal(store.path, folder, strlen(folder));
    hp_store_forget(&second);
}

static void space_is_aligned_empty_and_exclusive(void **state)
{
    (void)state;
    create();
    uint32_t end = HP_HEADER_BYTES;
    for (uint32_t align = 1; align <= 4096; align *= 2) {
        const uint32_t offset = hp_store_allocate(&store, 100, align);
        assert_true(offset >= end);
        assert_int_equal(offset % align, 0);
        const unsigned char *bytes = hp_store_at(&store, offset);
        for (size_t at = 0; at < 100; at++)
            assert_int_equal(bytes[at], 0);
        memset(hp_store_at(&store, offset), 0xff, 100);
        end = offset + 100;
    }
    assert_int_equal(hp_store_header(&store)->used, end);
}

/* Used space is backed by the file, so a full disk is an error and not a SIGBUS. */
static void the_file_grows_up_to_its_cap(void **state)
{
    (void)state;
    create();
    const struct hp_header *header = hp_store_header(&store);
    const uint64_t first = header->backed;
    uint32_t last = 0, count = 0;
    assert_true(first < CAPACITY);
    for (uint32_t offset; (offset = hp_store_allocate(&store, 10 * KIB, 64)) != 0; count++) {
        last = offset;
        assert_true(header->used <= header->backed && header->backed <= size_of_file());
    }
    assert_true(header->backed > first);
    assert_in_range(count, CAPACITY / (10 * KIB) - 2, CAPACITY / (10 * KIB));
    assert_true(last + 10 * KIB <= CAPACITY);
    assert_int_equal(hp_store_allocate(&store, 10 * KIB, 64), 0); /* and stays full */
    assert_int_equal(hp_store_allocate(&store, UINT32_MAX, 64), 0);
    assert_int_equal(header->capacity, CAPACITY);
}

static void everything_can_be_reserved(void **state)
{
    (void)state;
    create();
    assert_true(hp_store_reserve_all(&store));
    assert_int_equal(hp_store_header(&store)->backed, CAPACITY);
    assert_true(hp_store_reserve_all(&store));
}

/* In a sandbox the file cannot grow: what was reserved before is there, and no more. */
static void reserved_space_is_there_in_a_sandbox(void **state)
{
    (void)state;
    create();
    struct hp_header *header = hp_store_header(&store);
    assert_true(hp_store_allocate(&store, (uint32_t)(header->backed - header->used) - 64, 1) != 0);
    hp_store_reserve(&store, 100 * KIB);
    header->features |= HP_FEATURE_SANDBOXED;
    for (uint32_t count = 0; count < 10; count++)
        assert_true(hp_store_allocate(&store, 10 * KIB, 1) != 0);
    assert_int_equal(hp_store_allocate(&store, 512 * KIB, 1), 0);
    header->features &= ~HP_FEATURE_SANDBOXED;
    hp_store_reserve(&store, 2 * CAPACITY); /* as much as there may be */
    assert_int_equal(header->backed, CAPACITY);
}

/* As after chroot, or setuid: to grow takes neither path nor descriptor. */
static void store_grows_after_its_file_was_moved(void **state)
{
    (void)state;
    create();
    if (!store.is_full_length)
        skip(); /* before Linux 5.14 */
    assert_int_equal(unlink(store.path), 0);
    assert_true(hp_store_allocate(&store, 512 * KIB, 64) != 0);
}

/* Where the kernel cannot make pages real by themselves, or the file may not have its full length. */
static void create_to_grow_by_path(void)
{
    create();
    store.is_full_length = false;
}

/* The host may have another file there by now, which is not ours to grow. */
static void replaced_file_is_left_alone(void **state)
{
    (void)state;
    create_to_grow_by_path();
    assert_int_equal(unlink(store.path), 0);
    FILE *other = fopen(store.path, "w");
    assert_non_null(other);
    fclose(other);
    assert_int_equal(hp_store_allocate(&store, 512 * KIB, 64), 0);
    assert_int_equal(size_of_file(), 0);
    assert_true(hp_store_allocate(&store, 100, 8) != 0); /* backed space can be used */
}

static void file_size_limit_is_respected(void **state)
{
    (void)state;
    struct rlimit before, limit;
    create_to_grow_by_path();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)hp_store_header(&store)->backed;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const uint32_t refused = hp_store_allocate(&store, 512 * KIB, 64);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(refused, 0);
}

/* To ask a full disk each time would cost the host system calls. */
static void refused_growth_is_not_retried_each_time(void **state)
{
    char elsewhere[1300];
    unsigned tries = 0;
    (void)state;
    create_to_grow_by_path();
    snprintf(elsewhere, sizeof elsewhere, "%s.away", store.path);
    assert_int_equal(rename(store.path, elsewhere), 0);
    assert_int_equal(hp_store_allocate(&store, 512 * KIB, 64), 0);
    assert_int_equal(rename(elsewhere, store.path), 0);
    while (hp_store_allocate(&store, 512 * KIB, 64) == 0)
        assert_true(++tries < 10000);
    assert_true(tries > 100);
    assert_int_equal(store.refusals, 0);
}

static void texts_are_stored_and_cut(void **state)
{
    (void)state;
    char text[6000];
    create();
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(hp_store_text(&store, NULL), 0);
    assert_int_equal(hp_store_text(&store, ""), 0);
    const struct hp_string *kept = hp_store_at(&store, hp_store_text(&store, "parse"));
    assert_int_equal(kept->length, 5);
    assert_string_equal(kept->bytes, "parse");
    kept = hp_store_at(&store, hp_store_text(&store, text));
    assert_int_equal(kept->length, 4095);
    assert_int_equal(strlen(kept->bytes), 4095);
}

static void losses_add_up(void **state)
{
    (void)state;
    create();
    hp_store_lose(&store, HP_LOSS_NODES, 2);
    hp_store_lose(&store, HP_LOSS_NODES, 3);
    assert_int_equal(hp_store_header(&store)->losses[HP_LOSS_NODES], 5);
}

/* A folder that others can write into is not trusted; then there is memory. */
static void without_a_folder_sessions_are_in_memory(void **state)
{
    (void)state;
    assert_int_equal(chmod(folder, 0777), 0);
    assert_null(hp_store_create(&store, &settings.record, 4242, 0));
    assert_true(store.is_memory);
    assert_string_equal(store.path, "");
    assert_int_equal(hp_store_header(&store)->backed, store.range.mapped);
    assert_true(hp_store_allocate(&store, 512 * KIB, 64) != 0);
    assert_int_equal(hp_store_allocate(&store, CAPACITY, 64), 0);
}

static void make_file(const char *name, const char *age)
{
    char command[300];
    snprintf(command, sizeof command, "touch -d '%s' %s/%s", age, folder, name);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): the words are our own */
}

static bool is_there(const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/*
 * Only files that have the name of a session, are finished, and are older than those that are kept. Truncated files
 * are finished.
 */
static void old_sessions_are_removed(void **state)
{
    (void)state;
    create();
    make_file("1-1-0.hotpath", "2020-01-01");
    make_file("1-1-1.hotpath", "2021-01-01");
    make_file("1-1-2.hotpath", "2022-01-01");
    make_file("notes.hotpath", "2019-01-01");
    make_file("1-1-3.txt", "2019-01-01");
    hp_store_header(&store)->state = HP_STATE_LIVE;
    hp_store_prune(&store, 2);
    assert_false(is_there("1-1-0.hotpath"));
    assert_true(is_there("1-1-1.hotpath") && is_there("1-1-2.hotpath"));
    assert_true(is_there("notes.hotpath") && is_there("1-1-3.txt"));
    hp_store_prune(&store, 0);
    assert_false(is_there("1-1-1.hotpath") || is_there("1-1-2.hotpath"));
    assert_true(is_there("notes.hotpath"));
}

static void the_folder_of_a_run_is_found(void **state)
{
    char run[32], small[4];
    (void)state;
    assert_true(hp_session_dir_find_run("/tmp/a.run/b.1.hotpath", run, sizeof run));
    assert_string_equal(run, "/tmp/a.run");
    assert_true(hp_session_dir_find_run("/tmp/a.run", run, sizeof run));
    assert_string_equal(run, "/tmp/a.run");
    assert_false(hp_session_dir_find_run("/tmp/b.1.hotpath", run, sizeof run));
    assert_string_equal(run, "");
    assert_false(hp_session_dir_find_run("b.1.hotpath", run, sizeof run));
    assert_false(hp_session_dir_find_run("/tmp/a.run/b.1.hotpath", small, sizeof small));
    assert_string_equal(small, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sessions_are_numbered),
        TEST(space_is_aligned_empty_and_exclusive),
        TEST(the_file_grows_up_to_its_cap),
        TEST(everything_can_be_reserved),
        TEST(reserved_space_is_there_in_a_sandbox),
        TEST(store_grows_after_its_file_was_moved),
        TEST(replaced_file_is_left_alone),
        TEST(file_size_limit_is_respected),
        TEST(refused_growth_is_not_retried_each_time),
        TEST(texts_are_stored_and_cut),
        TEST(losses_add_up),
        TEST(without_a_folder_sessions_are_in_memory),
        TEST(old_sessions_are_removed),
        TEST(the_folder_of_a_run_is_found),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
