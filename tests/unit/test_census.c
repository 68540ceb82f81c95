/*
 * Which processes belong to a run, and what each of them used: with a fake kernel, so that the truth is known.
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "census.h"
#include "fake_kernel.h"
#include "task_events.h"
#include "used_time.h"

#define SHELL 100u
#define KIN 101u
#define MOST_PIDS 1000u

/* ---------------------------------------------------------------------------------------- what it asks for */

static uint64_t used[MOST_PIDS]; /* 0: there is no such process */
static uint64_t used_by_children;
static bool is_exact;
static struct hp_task_event events[MOST_PIDS];
static size_t event_count;

uint64_t hp_used_by(uint32_t pid) { return pid < MOST_PIDS ? used[pid] : 0; }
uint64_t hp_used_by_children(void) { return used_by_children; }

bool hp_task_events_begin(uint32_t pid)
{
    (void)pid;
    return is_exact;
}

void hp_task_events_take(hp_take_event *take, bool is_last)
{
    (void)is_last;
    for (size_t at = 0; at < event_count; at++)
        take(&events[at]);
    event_count = 0;
}

void hp_task_events_end(void) {}

static int set_up(void **state)
{
    (void)state;
    fake_kernel_begin();
    memset(used, 0, sizeof used);
    used_by_children = 0;
    is_exact = false;
    event_count = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_kernel_end();
    return 0;
}

/* --------------------------------------------------------------------------------------------------- scenes */

static void tell(enum hp_task_event_kind kind, uint32_t pid, uint32_t parent, const char *text)
{
    struct hp_task_event *event = &events[event_count++];
    *event = (struct hp_task_event){.ns = fake_ns, .kind = kind, .pid = pid, .parent = parent};
    snprintf(event->text, sizeof event->text, "%s", text);
}

static void tell_of_program(uint32_t pid, const char *name, const char *file)
{
    tell(HP_TASK_EXECUTED, pid, 0, name);
    tell(HP_TASK_MAPPED, pid, 0, file);
}

/* A process of /proc, with what it has started as text. */
static void show(uint32_t pid, char letter, const char *program, const char *children)
{
    char path[64];
    snprintf(path, sizeof path, "%u", pid);
    fake_stat(path, letter, 1);
    snprintf(path, sizeof path, "%u/exe", pid);
    fake_link(path, program);
    snprintf(path, sizeof path, "%u/comm", pid);
    fake_file(path, "%s\n", strrchr(program, '/') + 1);
    snprintf(path, sizeof path, "%u/cmdline", pid);
    fake_file(path, "%s%cone%ctwo%c", program, 0, 0, 0);
    snprintf(path, sizeof path, "%u/task/%u/children", pid, pid);
    fake_file(path, "%s", children);
}

static void look_after(uint64_t ns)
{
    fake_ns += ns;
    hp_census_look();
}

static void check_sums(const struct hp_census *census)
{
    uint64_t sum = 0;
    for (size_t at = 0; at < census->count; at++) {
        const struct hp_citizen *citizen = &census->all[at];
        assert_true(citizen->cpu_ns >= citizen->seen_cpu_ns);
        sum += citizen->cpu_ns;
    }
    assert_true(sum <= used_by_children + 10); /* each is rounded */
}

/* --------------------------------------------------------------------------------------------------- tests */

/*
 * A shell waits for what it has started. Nobody looks for 120 ms, in which both end: what was used meanwhile is of
 * who was busy, not of who was there as long.
 */
static void what_was_used_unseen_is_of_who_was_busy(void **state)
{
    (void)state;
    is_exact = true;
    hp_census_begin(SHELL);
    tell_of_program(SHELL, "sh", "/bin/sh");
    used[SHELL] = 1 * MS;
    look_after(5 * MS);
    tell(HP_TASK_FORKED, KIN, SHELL, "");
    tell_of_program(KIN, "kin", "/bin/kin");
    look_after(1 * MS);
    used[KIN] = 4900 * MS / 1000;
    look_after(4 * MS);
    fake_ns += 95 * MS;
    tell(HP_TASK_ENDED, KIN, 0, "");
    fake_ns += 1 * MS;
    tell(HP_TASK_ENDED, SHELL, 0, "");
    fake_ns += 24 * MS;
    used[KIN] = used[SHELL] = 0;
    used_by_children = 101 * MS; /* 1 of the shell, 100 of kin */
    const struct hp_census *census = hp_census_end();
    assert_int_equal(census->count, 2);
    assert_in_range(census->all[1].cpu_ns, 90 * MS, 100 * MS);
    assert_in_range(census->all[0].cpu_ns, 1 * MS, 11 * MS);
    check_sums(census);
}

/*
 * A shell is seen once, at its start, when it is busy, and so is what it has started, which has had no processor
 * until then. Nobody looks again before both end: the shell waited, and what another one can not have used is its
 * child's, too.
 */
static void who_has_children_waits_for_them(void **state)
{
    (void)state;
    is_exact = true;
    hp_census_begin(SHELL);
    tell_of_program(SHELL, "sh", "/bin/sh");
    tell(HP_TASK_FORKED, KIN, SHELL, "");
    tell_of_program(KIN, "kin", "/bin/kin");
    fake_ns += 10 * MS;
    used[SHELL] = 9 * MS;
    used[KIN] = 1 * MS;
    look_after(1 * MS);
    fake_ns += 110 * MS;
    tell(HP_TASK_ENDED, KIN, 0, "");
    fake_ns += 2 * MS;
    tell(HP_TASK_ENDED, SHELL, 0, "");
    used[KIN] = used[SHELL] = 0;
    used_by_children = 110 * MS; /* 10 of the shell, 100 of kin */
    const struct hp_census *census = hp_census_end();
    assert_in_range(census->all[1].cpu_ns, 95 * MS, 101 * MS);
    assert_in_range(census->all[0].cpu_ns, 9 * MS, 12 * MS);
    check_sums(census);
}

/*
 * An orphan used 100 ms, which it leaves with whoever takes it in. What another one used after the last look at it
 * is told by what was left with us, and that has nothing of the orphan's in it.
 */
static void what_orphans_used_is_not_left_with_us(void **state)
{
    enum { ORPHAN = KIN + 1, BARE = KIN + 2 };
    (void)state;
    is_exact = true;
    hp_census_begin(SHELL);
    tell_of_program(SHELL, "sh", "/bin/sh");
    used[SHELL] = 1 * MS;
    tell(HP_TASK_FORKED, KIN, SHELL, "");
    tell(HP_TASK_FORKED, ORPHAN, KIN, "");
    look_after(1 * MS);
    tell(HP_TASK_ENDED, KIN, 0, "");
    used[ORPHAN] = 100 * MS;
    look_after(100 * MS);
    tell(HP_TASK_ENDED, ORPHAN, 0, "");
    used[ORPHAN] = 0;
    tell(HP_TASK_FORKED, BARE, SHELL, "");
    used[BARE] = 60 * MS;
    look_after(60 * MS);
    fake_ns += 40 * MS;
    tell(HP_TASK_ENDED, BARE, 0, "");
    used[BARE] = 0;
    fake_ns += 1 * MS;
    tell(HP_TASK_ENDED, SHELL, 0, "");
    used_by_children = 101 * MS; /* 1 of the shell, 100 of the last one */
    const struct hp_census *census = hp_census_end();
    assert_int_equal(census->count, 4);
    assert_int_equal(census->all[2].cpu_ns, 100 * MS);
    assert_in_range(census->all[3].cpu_ns, 95 * MS, 100 * MS);
}

/* Who was never seen may have been busy all the time, and not a moment longer. */
static void nobody_has_more_than_the_time_there_was(void **state)
{
    (void)state;
    is_exact = true;
    hp_census_begin(SHELL);
    tell(HP_TASK_FORKED, KIN, SHELL, "");
    fake_ns += 3 * MS;
    tell(HP_TASK_ENDED, KIN, 0, "");
    fake_ns += 7 * MS;
    tell(HP_TASK_ENDED, SHELL, 0, "");
    used_by_children = 500 * MS; /* of some that nobody has told of */
    const struct hp_census *census = hp_census_end();
    assert_int_equal(census->all[0].cpu_ns, 10 * MS);
    assert_int_equal(census->all[1].cpu_ns, 3 * MS);
    check_sums(census);
}

/* What a process uses when one of its threads has ended is its own. */
static void the_last_thread_ends_the_process(void **state)
{
    (void)state;
    is_exact = true;
    hp_census_begin(SHELL);
    tell(HP_TASK_FORKED, KIN, SHELL, "");
    tell(HP_TASK_THREAD, KIN, KIN, "");
    tell(HP_TASK_ENDED, KIN, KIN, "");
    used[SHELL] = 1 * MS;
    used[KIN] = 2 * MS;
    look_after(10 * MS);
    assert_int_equal(hp_census_find(KIN)->ended_ns, 0);
    used[KIN] = 50 * MS;
    look_after(50 * MS);
    tell(HP_TASK_ENDED, KIN, SHELL, "");
    const uint64_t end = fake_ns;
    used_by_children = 51 * MS;
    const struct hp_census *census = hp_census_end();
    assert_int_equal(census->all[1].ended_ns, end);
    assert_int_equal(census->all[1].cpu_ns, 50 * MS);
    assert_int_equal(census->all[0].ended_ns, 0);
}

/* Code that is made is no process. */
static void a_flood_is_no_loss(void **state)
{
    (void)state;
    is_exact = true;
    hp_census_begin(SHELL);
    tell(HP_TASK_FLOODED, 0, 0, "");
    const struct hp_census *census = hp_census_end();
    assert_true(census->may_have_missed && !census->has_missed);
}

/* The command is read when somebody looks: of who has become another program by then it is that of the other. */
static void a_command_is_that_of_its_program(void **state)
{
    (void)state;
    is_exact = true;
    show(SHELL, 'R', "/bin/kin", "");
    hp_census_begin(SHELL);
    tell_of_program(SHELL, "sh", "/bin/sh");
    fake_ns += 1 * MS;
    tell_of_program(SHELL, "kin", "/bin/kin");
    look_after(5 * MS);
    const struct hp_citizen *shell = hp_census_find(SHELL);
    assert_int_equal(shell->image_count, 3);
    assert_null(shell->images[1].command);
    assert_string_equal(shell->images[2].command, "/bin/kin one two");
    hp_census_end();
}

static void what_was_seen_is_theirs(void **state)
{
    (void)state;
    is_exact = true;
    hp_census_begin(SHELL);
    tell(HP_TASK_FORKED, KIN, SHELL, "");
    used[SHELL] = 2 * MS;
    used[KIN] = 8 * MS;
    look_after(10 * MS);
    tell(HP_TASK_ENDED, KIN, 0, "");
    tell(HP_TASK_ENDED, SHELL, 0, "");
    used[KIN] = used[SHELL] = 0;
    used_by_children = 10 * MS;
    const struct hp_census *census = hp_census_end();
    assert_int_equal(census->all[0].cpu_ns, 2 * MS);
    assert_int_equal(census->all[1].cpu_ns, 8 * MS);
}

/* Programs of a process follow one another; until its first one it is what its parent was. */
static void programs_in_turn(void **state)
{
    (void)state;
    is_exact = true;
    fake_file("101/cmdline", "kin%cburn%c100%c", 0, 0, 0);
    hp_census_begin(SHELL);
    tell_of_program(SHELL, "sh", "/bin/sh");
    fake_ns += MS;
    tell(HP_TASK_FORKED, KIN, SHELL, "");
    fake_ns += MS;
    tell_of_program(KIN, "kin", "/opt/kin");
    tell(HP_TASK_MAPPED, KIN, 0, "/lib/libc.so.6"); /* which is not the program */
    const struct hp_census *census = hp_census_end();
    const struct hp_citizen *kin = hp_census_find(KIN);
    assert_ptr_equal(kin, &census->all[1]);
    assert_int_equal(kin->parent, SHELL);
    assert_int_equal(kin->image_count, 2);
    assert_string_equal(kin->images[0].name, "sh");
    assert_string_equal(kin->images[0].file, "/bin/sh");
    assert_null(kin->images[0].command);
    assert_string_equal(kin->images[1].name, "kin");
    assert_string_equal(kin->images[1].file, "/opt/kin");
    assert_string_equal(kin->images[1].command, "kin burn 100");
    assert_int_equal(kin->images[1].began_ns, kin->began_ns + MS);
    assert_false(census->has_missed);
}

/* The kernel says that it ends when it gets rights that we do not have. Its clock says when it really does. */
static void programs_with_more_rights_go_on(void **state)
{
    (void)state;
    is_exact = true;
    hp_census_begin(SHELL);
    tell_of_program(SHELL, "sh", "/bin/sh");
    tell(HP_TASK_FORKED, KIN, SHELL, "");
    tell(HP_TASK_EXECUTED, KIN, 0, "sudo");
    tell(HP_TASK_ENDED, KIN, 0, "");
    used[SHELL] = used[KIN] = MS;
    look_after(10 * MS);
    assert_true(hp_census_find(KIN)->is_hidden);
    assert_int_equal(hp_census_find(KIN)->ended_ns, 0);
    used[KIN] = 0;
    look_after(10 * MS);
    assert_int_equal(hp_census_find(KIN)->ended_ns, fake_ns);
    hp_census_end();
}

/* A number that is given out again is another process. */
static void numbers_are_used_again(void **state)
{
    (void)state;
    is_exact = true;
    hp_census_begin(SHELL);
    for (unsigned life = 0; life < 3; life++) {
        tell(HP_TASK_FORKED, KIN, SHELL, "");
        fake_ns += MS;
        tell(HP_TASK_ENDED, KIN, 0, "");
    }
    const struct hp_census *census = hp_census_end();
    assert_int_equal(census->count, 4);
    for (size_t at = 1; at < 4; at++)
        assert_int_equal(census->all[at].ended_ns, census->all[at].began_ns + MS);
    assert_ptr_equal(hp_census_find(KIN), &census->all[3]);
}

static void many_are_found_again(void **state)
{
    (void)state;
    is_exact = true;
    hp_census_begin(SHELL);
    for (uint32_t pid = KIN; pid < KIN + 800; pid++)
        tell(HP_TASK_FORKED, pid, pid - 1, "");
    const struct hp_census *census = hp_census_end();
    assert_int_equal(census->count, 801);
    for (uint32_t pid = KIN; pid < KIN + 800; pid++)
        assert_int_equal(hp_census_find(pid)->parent, pid - 1);
    assert_null(hp_census_find(KIN + 800));
}

static void what_was_missed_is_told(void **state)
{
    (void)state;
    is_exact = true;
    hp_census_begin(SHELL);
    tell(HP_TASK_MISSED, 0, 0, "");
    assert_true(hp_census_end()->has_missed);
}

/* Where the kernel does not tell, children and programs are found in /proc, two looks later at the latest. */
static void without_events_proc_is_looked_through(void **state)
{
    (void)state;
    show(SHELL, 'R', "/usr/bin/hotpath", "");
    hp_census_begin(SHELL);
    show(SHELL, 'S', "/bin/sh", "101 ");
    show(KIN, 'R', "/opt/kin", "");
    used[SHELL] = used[KIN] = MS;
    look_after(10 * MS);
    look_after(10 * MS);
    const struct hp_citizen *shell = hp_census_find(SHELL), *kin = hp_census_find(KIN);
    assert_non_null(kin);
    assert_int_equal(kin->parent, SHELL);
    assert_string_equal(shell->images[shell->image_count - 1].name, "sh");
    assert_string_equal(shell->images[shell->image_count - 1].file, "/bin/sh");
    assert_string_equal(kin->images[kin->image_count - 1].name, "kin");
    assert_string_equal(kin->images[kin->image_count - 1].command, "/opt/kin one two");
    show(KIN, 'Z', "/opt/kin", "");
    look_after(10 * MS);
    assert_int_equal(hp_census_find(KIN)->ended_ns, fake_ns);
    assert_int_equal(hp_census_find(SHELL)->ended_ns, 0);
    fake_remove("100");
    fake_remove("101");
    const struct hp_census *census = hp_census_end();
    assert_int_equal(census->all[0].ended_ns, fake_ns);
    assert_int_equal(census->count, 2);
    assert_false(census->is_exact);
}

/* A child that has run nothing yet has its parent's program, and no other. */
/* It is found once, and has ended when somebody looks again. */
static void who_is_found_is_looked_at_at_once(void **state)
{
    (void)state;
    show(SHELL, 'S', "/bin/sh", "101 ");
    hp_census_begin(SHELL);
    show(KIN, 'R', "/opt/kin", "");
    look_after(50 * MS);
    show(KIN, 'Z', "/opt/kin", "");
    look_after(50 * MS);
    const struct hp_citizen *kin = hp_census_find(KIN);
    assert_non_null(kin);
    assert_int_equal(kin->image_count, 2);
    assert_string_equal(kin->images[1].file, "/opt/kin");
    hp_census_end();
}

static void who_only_forks_is_no_program(void **state)
{
    (void)state;
    show(SHELL, 'R', "/bin/sh", "101");
    show(KIN, 'R', "/bin/sh", "");
    hp_census_begin(SHELL);
    look_after(10 * MS);
    look_after(10 * MS);
    assert_int_equal(hp_census_find(KIN)->image_count, 1);
    hp_census_end();
}

/* Somebody's parents may be gone before anybody has looked at them: then a session tells of it. */
static void who_is_met_belongs_to_it(void **state)
{
    (void)state;
    show(SHELL, 'R', "/bin/sh", "");
    show(KIN, 'R', "/opt/kin", "");
    hp_census_begin(SHELL);
    const struct hp_citizen met = {.pid = KIN, .parent = 1, .began_ns = fake_ns};
    hp_census_meet(&met);
    hp_census_meet(&met);
    const struct hp_census *census = hp_census_end();
    assert_int_equal(census->count, 2);
    assert_int_equal(census->all[1].parent, 1);
}

/*
 * Nobody looks for 200 ms, in which somebody comes and goes who leaves a session: what is more than was seen is its
 * own.
 */
static void who_came_and_went_unseen_has_its_time(void **state)
{
    (void)state;
    show(SHELL, 'S', "/bin/sh", "");
    hp_census_begin(SHELL);
    used[SHELL] = MS;
    look_after(100 * MS);
    const struct hp_citizen gone = {.pid = KIN,
                                    .parent = SHELL,
                                    .began_ns = fake_ns + 20 * MS,
                                    .ended_ns = fake_ns + 200 * MS,
                                    .seen_cpu_ns = 30 * MS,
                                    .seen_ns = fake_ns + 50 * MS};
    fake_ns += 200 * MS;
    hp_census_meet(&gone);
    fake_remove("100");
    used[SHELL] = 0;
    used_by_children = 131 * MS;
    const struct hp_census *census = hp_census_end();
    assert_int_equal(census->count, 2);
    assert_int_equal(census->all[1].ended_ns, gone.ended_ns);
    assert_true(census->all[1].cpu_ns > 120 * MS && census->all[1].cpu_ns <= 130 * MS);
    check_sums(census);
}

/* One look finds that both have ended, and the session a moment later: nobody has outlived anybody. */
static void who_is_gone_with_its_parent_has_its_time(void **state)
{
    (void)state;
    show(SHELL, 'S', "/bin/sh", "");
    hp_census_begin(SHELL);
    used[SHELL] = MS;
    look_after(100 * MS);
    const uint64_t began_ns = fake_ns + 20 * MS;
    show(SHELL, 'Z', "/bin/sh", "");
    look_after(200 * MS);
    fake_ns += MS / 10;
    hp_census_meet(&(struct hp_citizen){
        .pid = KIN, .parent = SHELL, .began_ns = began_ns, .ended_ns = fake_ns, .seen_ns = began_ns});
    used_by_children = 101 * MS;
    const struct hp_census *census = hp_census_end();
    assert_true(census->all[1].cpu_ns > 90 * MS);
    check_sums(census);
}

/* Its session is found when it has been seen to end: that is nobody new. The same number later is. */
static void who_ended_is_not_met_again(void **state)
{
    (void)state;
    show(SHELL, 'S', "/bin/sh", "101 ");
    show(KIN, 'R', "/opt/kin", "");
    hp_census_begin(SHELL);
    look_after(10 * MS);
    const uint64_t found_ns = fake_ns;
    show(KIN, 'Z', "/opt/kin", "");
    look_after(10 * MS);
    hp_census_meet(&(struct hp_citizen){.pid = KIN, .parent = SHELL, .began_ns = found_ns - 5 * MS});
    assert_int_equal(hp_census_find(KIN)->ended_ns, fake_ns);
    fake_ns += MS;
    hp_census_meet(&(struct hp_citizen){.pid = KIN, .parent = SHELL, .began_ns = fake_ns});
    assert_int_equal(hp_census_find(KIN)->began_ns, fake_ns);
    assert_int_equal(hp_census_end()->count, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_used_unseen_is_of_who_was_busy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_has_children_waits_for_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_orphans_used_is_not_left_with_us, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_has_more_than_the_time_there_was, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_last_thread_ends_the_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_flood_is_no_loss, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_command_is_that_of_its_program, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_seen_is_theirs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(programs_in_turn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(programs_with_more_rights_go_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_are_used_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_are_found_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_missed_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_events_proc_is_looked_through, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_found_is_looked_at_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_only_forks_is_no_program, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_met_belongs_to_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_came_and_went_unseen_has_its_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_is_gone_with_its_parent_has_its_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_ended_is_not_met_again, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
