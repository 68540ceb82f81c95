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

#include "fake_kernel.h"
#include "process_table.h"
#include "task_events.h"

#define SHELL 100u
#define KIN 101u
#define MOST_PIDS 1000u

/* ---------------------------------------------------------------------------------------- fakes */

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

/* A process in /proc; `children` is its list of children as text. */
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
    hp_process_table_look();
}

static const struct hp_process_table *end_all(void)
{
    const struct hp_process_table *table = hp_process_table_end();
    hp_process_table_share_out();
    return table;
}

static void check_sums(const struct hp_process_table *table)
{
    uint64_t sum = 0;
    for (size_t at = 0; at < table->count; at++) {
        const struct hp_process *process = &table->all[at];
        assert_true(process->cpu_ns >= process->seen_cpu_ns);
        sum += process->cpu_ns;
    }
    assert_true(sum <= used_by_children + 10); /* each is rounded */
}

/* --------------------------------------------------------------------------------------------------- tests */

static bool is_shell(uint32_t pid) { return pid == SHELL; }

/*
 * What the processes did since the last look: by their clocks; in the rest of a life that ended, as before; and by
 * their states where nothing else looks at them.
 */
static void looks_tell_what_worked(void **state)
{
    (void)state;
    is_exact = true;
    hp_process_table_begin(SHELL);
    tell_of_program(SHELL, "sh", "/bin/sh");
    tell(HP_TASK_FORKED, KIN, SHELL, "");
    used[SHELL] = used[KIN] = 1 * MS;
    look_after(10 * MS);
    used[SHELL] += 2 * MS;
    used[KIN] += 5 * MS;
    show(SHELL, 'R', "/bin/sh", "");
    show(KIN, 'S', "/bin/kin", "");
    look_after(10 * MS);
    struct hp_work_found found = hp_process_table_found(is_shell);
    assert_int_equal(found.sum_ns, 7 * MS);
    assert_int_equal(found.longest_ns, 5 * MS);
    assert_false(found.is_working);
    show(KIN, 'R', "/bin/kin", "");
    found = hp_process_table_found(is_shell);
    assert_true(found.is_working && found.is_queued);
    used[KIN] = 0; /* 6 ms of 20 so far */
    fake_ns += 5 * MS;
    tell(HP_TASK_ENDED, KIN, 0, "");
    look_after(5 * MS);
    found = hp_process_table_found(is_shell);
    assert_in_range(found.sum_ns, 149 * MS / 100, 151 * MS / 100);
    assert_false(found.is_working);
    look_after(10 * MS);
    assert_int_equal(hp_process_table_found(is_shell).sum_ns, 0);
}

/*
 * A shell waits for its child. No sample is taken for 120 ms, in which both end: the time goes to the process that
 * was busy, not to the one that merely existed.
 */
static void unsampled_time_goes_to_the_busy_process(void **state)
{
    (void)state;
    is_exact = true;
    hp_process_table_begin(SHELL);
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
    const struct hp_process_table *table = end_all();
    assert_int_equal(table->count, 2);
    assert_in_range(table->all[1].cpu_ns, 90 * MS, 100 * MS);
    assert_in_range(table->all[0].cpu_ns, 1 * MS, 11 * MS);
    check_sums(table);
}

/*
 * A shell and its child are sampled once, at the start, when the shell is busy. Both end before the next sample:
 * the shell waited, and the time it cannot have used is its child's.
 */
static void parent_with_children_is_taken_to_wait(void **state)
{
    (void)state;
    is_exact = true;
    hp_process_table_begin(SHELL);
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
    const struct hp_process_table *table = end_all();
    assert_in_range(table->all[1].cpu_ns, 95 * MS, 101 * MS);
    assert_in_range(table->all[0].cpu_ns, 9 * MS, 12 * MS);
    check_sums(table);
}

/*
 * An orphan used 100 ms, which its new parent inherits. The time of another process after its last sample is known
 * from what the kernel credits to us, which does not include the orphan.
 */
static void time_of_orphans_is_not_counted_as_ours(void **state)
{
    enum { ORPHAN = KIN + 1, BARE = KIN + 2 };
    (void)state;
    is_exact = true;
    hp_process_table_begin(SHELL);
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
    const struct hp_process_table *table = end_all();
    assert_int_equal(table->count, 4);
    assert_int_equal(table->all[2].cpu_ns, 100 * MS);
    assert_in_range(table->all[3].cpu_ns, 95 * MS, 100 * MS);
}

/* A process that was never sampled may have been busy for all of its lifetime, and no longer. */
static void cpu_time_is_at_most_the_lifetime(void **state)
{
    (void)state;
    is_exact = true;
    hp_process_table_begin(SHELL);
    tell(HP_TASK_FORKED, KIN, SHELL, "");
    fake_ns += 3 * MS;
    tell(HP_TASK_ENDED, KIN, 0, "");
    fake_ns += 7 * MS;
    tell(HP_TASK_ENDED, SHELL, 0, "");
    used_by_children = 500 * MS; /* of processes without events */
    const struct hp_process_table *table = end_all();
    assert_int_equal(table->all[0].cpu_ns, 10 * MS);
    assert_int_equal(table->all[1].cpu_ns, 3 * MS);
    check_sums(table);
}

/* Of many lengths, and one that waited less than it seems: as long as there is room, nothing is left over. */
static void all_cpu_time_is_in_some_process(void **state)
{
    enum { CHILDREN = 12 };
    uint64_t sum = 0, life = 0;
    (void)state;
    is_exact = true;
    hp_process_table_begin(SHELL);
    for (uint32_t child = 0; child < CHILDREN; child++) {
        tell(HP_TASK_FORKED, KIN + child, SHELL, "");
        fake_ns += (UINT64_C(1) << child) * MS / 10; /* from 0.1 to 205 ms */
        life += (UINT64_C(1) << child) * MS / 10;
        tell(HP_TASK_ENDED, KIN + child, SHELL, "");
    }
    tell(HP_TASK_ENDED, SHELL, 0, "");
    used_by_children = life + 50 * MS; /* the shell ran beside them */
    const struct hp_process_table *table = end_all();
    for (size_t at = 0; at < table->count; at++)
        sum += table->all[at].cpu_ns;
    assert_in_range(sum, used_by_children - MS / 100, used_by_children);
    assert_in_range(table->all[0].cpu_ns, 50 * MS - MS / 100, 50 * MS + MS / 100);
}

/* What a process uses when one of its threads has ended is its own. */
static void process_ends_with_its_last_thread(void **state)
{
    (void)state;
    is_exact = true;
    hp_process_table_begin(SHELL);
    tell(HP_TASK_FORKED, KIN, SHELL, "");
    tell(HP_TASK_THREAD, KIN, KIN, "");
    tell(HP_TASK_ENDED, KIN, KIN, "");
    used[SHELL] = 1 * MS;
    used[KIN] = 2 * MS;
    look_after(10 * MS);
    assert_int_equal(hp_process_table_find(KIN)->ended_ns, 0);
    used[KIN] = 50 * MS;
    look_after(50 * MS);
    tell(HP_TASK_ENDED, KIN, SHELL, "");
    const uint64_t end = fake_ns;
    used_by_children = 51 * MS;
    const struct hp_process_table *table = end_all();
    assert_int_equal(table->all[1].ended_ns, end);
    assert_int_equal(table->all[1].cpu_ns, 50 * MS);
    assert_int_equal(table->all[0].ended_ns, 0);
}

/* Code that is made is no process. */
static void flood_of_events_is_only_a_possible_loss(void **state)
{
    (void)state;
    is_exact = true;
    hp_process_table_begin(SHELL);
    tell(HP_TASK_FLOODED, 0, 0, "");
    const struct hp_process_table *table = end_all();
    assert_true(table->may_have_missed && !table->has_missed);
}

/* The command is read at the next sample: if the process has called exec by then, it is that of the new program. */
static void command_belongs_to_its_program(void **state)
{
    (void)state;
    is_exact = true;
    show(SHELL, 'R', "/bin/kin", "");
    hp_process_table_begin(SHELL);
    tell_of_program(SHELL, "sh", "/bin/sh");
    fake_ns += 1 * MS;
    tell_of_program(SHELL, "kin", "/bin/kin");
    look_after(5 * MS);
    const struct hp_process *shell = hp_process_table_find(SHELL);
    assert_int_equal(shell->image_count, 3);
    assert_null(shell->images[1].command);
    assert_string_equal(shell->images[2].command, "/bin/kin one two");
    end_all();
}

static void sampled_time_belongs_to_its_process(void **state)
{
    (void)state;
    is_exact = true;
    hp_process_table_begin(SHELL);
    tell(HP_TASK_FORKED, KIN, SHELL, "");
    used[SHELL] = 2 * MS;
    used[KIN] = 8 * MS;
    look_after(10 * MS);
    tell(HP_TASK_ENDED, KIN, 0, "");
    tell(HP_TASK_ENDED, SHELL, 0, "");
    used[KIN] = used[SHELL] = 0;
    used_by_children = 10 * MS;
    const struct hp_process_table *table = end_all();
    assert_int_equal(table->all[0].cpu_ns, 2 * MS);
    assert_int_equal(table->all[1].cpu_ns, 8 * MS);
}

/* Programs of a process follow one another; until its first one it is what its parent was. */
static void programs_of_a_process_follow_one_another(void **state)
{
    (void)state;
    is_exact = true;
    fake_file("101/cmdline", "kin%cburn%c100%c", 0, 0, 0);
    hp_process_table_begin(SHELL);
    tell_of_program(SHELL, "sh", "/bin/sh");
    fake_ns += MS;
    tell(HP_TASK_FORKED, KIN, SHELL, "");
    fake_ns += MS;
    tell_of_program(KIN, "kin", "/opt/kin");
    tell(HP_TASK_MAPPED, KIN, 0, "/lib/libc.so.6"); /* which is not the program */
    const struct hp_process_table *table = end_all();
    const struct hp_process *kin = hp_process_table_find(KIN);
    assert_ptr_equal(kin, &table->all[1]);
    assert_int_equal(kin->parent, SHELL);
    assert_int_equal(kin->image_count, 2);
    assert_string_equal(kin->images[0].name, "sh");
    assert_string_equal(kin->images[0].file, "/bin/sh");
    assert_null(kin->images[0].command);
    assert_string_equal(kin->images[1].name, "kin");
    assert_string_equal(kin->images[1].file, "/opt/kin");
    assert_string_equal(kin->images[1].command, "kin burn 100");
    assert_int_equal(kin->images[1].began_ns, kin->began_ns + MS);
    assert_false(table->has_missed);
}

/* The kernel says that it ends when it gets rights that we do not have. Its clock says when it really does. */
static void setuid_programs_are_followed(void **state)
{
    (void)state;
    is_exact = true;
    hp_process_table_begin(SHELL);
    tell_of_program(SHELL, "sh", "/bin/sh");
    tell(HP_TASK_FORKED, KIN, SHELL, "");
    tell(HP_TASK_EXECUTED, KIN, 0, "sudo");
    tell(HP_TASK_ENDED, KIN, 0, "");
    used[SHELL] = used[KIN] = MS;
    look_after(10 * MS);
    assert_true(hp_process_table_find(KIN)->is_hidden);
    assert_int_equal(hp_process_table_find(KIN)->ended_ns, 0);
    used[KIN] = 0;
    look_after(10 * MS);
    assert_int_equal(hp_process_table_find(KIN)->ended_ns, fake_ns);
    end_all();
}

/* A number that is given out again is another process. */
static void reused_process_ids_are_new_processes(void **state)
{
    (void)state;
    is_exact = true;
    hp_process_table_begin(SHELL);
    for (unsigned life = 0; life < 3; life++) {
        tell(HP_TASK_FORKED, KIN, SHELL, "");
        fake_ns += MS;
        tell(HP_TASK_ENDED, KIN, 0, "");
    }
    const struct hp_process_table *table = end_all();
    assert_int_equal(table->count, 4);
    for (size_t at = 1; at < 4; at++)
        assert_int_equal(table->all[at].ended_ns, table->all[at].began_ns + MS);
    assert_ptr_equal(hp_process_table_find(KIN), &table->all[3]);
}

static void many_processes(void **state)
{
    (void)state;
    is_exact = true;
    hp_process_table_begin(SHELL);
    for (uint32_t pid = KIN; pid < KIN + 800; pid++)
        tell(HP_TASK_FORKED, pid, pid - 1, "");
    const struct hp_process_table *table = end_all();
    assert_int_equal(table->count, 801);
    for (uint32_t pid = KIN; pid < KIN + 800; pid++)
        assert_int_equal(hp_process_table_find(pid)->parent, pid - 1);
    assert_null(hp_process_table_find(KIN + 800));
}

static void missed_events_are_reported(void **state)
{
    (void)state;
    is_exact = true;
    hp_process_table_begin(SHELL);
    tell(HP_TASK_MISSED, 0, 0, "");
    assert_true(end_all()->has_missed);
}

/* Without events, children and programs are found in /proc after at most two polls. */
static void without_events_proc_is_polled(void **state)
{
    (void)state;
    show(SHELL, 'R', "/usr/bin/hotpath", "");
    hp_process_table_begin(SHELL);
    show(SHELL, 'S', "/bin/sh", "101 ");
    show(KIN, 'R', "/opt/kin", "");
    used[SHELL] = used[KIN] = MS;
    look_after(10 * MS);
    look_after(10 * MS);
    const struct hp_process *shell = hp_process_table_find(SHELL), *kin = hp_process_table_find(KIN);
    assert_non_null(kin);
    assert_int_equal(kin->parent, SHELL);
    assert_string_equal(shell->images[shell->image_count - 1].name, "sh");
    assert_string_equal(shell->images[shell->image_count - 1].file, "/bin/sh");
    assert_string_equal(kin->images[kin->image_count - 1].name, "kin");
    assert_string_equal(kin->images[kin->image_count - 1].command, "/opt/kin one two");
    show(KIN, 'Z', "/opt/kin", "");
    look_after(10 * MS);
    assert_int_equal(hp_process_table_find(KIN)->ended_ns, fake_ns);
    assert_int_equal(hp_process_table_find(SHELL)->ended_ns, 0);
    fake_remove("100");
    fake_remove("101");
    const struct hp_process_table *table = end_all();
    assert_int_equal(table->all[0].ended_ns, fake_ns);
    assert_int_equal(table->count, 2);
    assert_false(table->is_exact);
}

/* A child that has run nothing yet has its parent's program, and no other. */
/* The process is found once, and has ended at the next poll. */
static void found_processes_are_sampled_at_once(void **state)
{
    (void)state;
    show(SHELL, 'S', "/bin/sh", "101 ");
    hp_process_table_begin(SHELL);
    show(KIN, 'R', "/opt/kin", "");
    look_after(50 * MS);
    show(KIN, 'Z', "/opt/kin", "");
    look_after(50 * MS);
    const struct hp_process *kin = hp_process_table_find(KIN);
    assert_non_null(kin);
    assert_int_equal(kin->image_count, 2);
    assert_string_equal(kin->images[1].file, "/opt/kin");
    end_all();
}

static void fork_without_exec_is_not_a_new_program(void **state)
{
    (void)state;
    show(SHELL, 'R', "/bin/sh", "101");
    show(KIN, 'R', "/bin/sh", "");
    hp_process_table_begin(SHELL);
    look_after(10 * MS);
    look_after(10 * MS);
    assert_int_equal(hp_process_table_find(KIN)->image_count, 1);
    end_all();
}

/* The parents may be gone before the first poll: then the session of the process names it. */
static void process_known_by_its_session_belongs_to_the_run(void **state)
{
    (void)state;
    show(SHELL, 'R', "/bin/sh", "");
    show(KIN, 'R', "/opt/kin", "");
    hp_process_table_begin(SHELL);
    const struct hp_process met = {.pid = KIN, .parent = 1, .began_ns = fake_ns};
    hp_process_table_meet(&met);
    hp_process_table_meet(&met);
    const struct hp_process_table *table = end_all();
    assert_int_equal(table->count, 2);
    assert_int_equal(table->all[1].parent, 1);
}

/*
 * A process with a session starts and ends within 200 ms without a poll: the time beyond what was sampled is its
 * own.
 */
static void process_between_two_polls_has_its_time(void **state)
{
    (void)state;
    show(SHELL, 'S', "/bin/sh", "");
    hp_process_table_begin(SHELL);
    used[SHELL] = MS;
    look_after(100 * MS);
    const struct hp_process gone = {.pid = KIN,
                                    .parent = SHELL,
                                    .began_ns = fake_ns + 20 * MS,
                                    .ended_ns = fake_ns + 200 * MS,
                                    .seen_cpu_ns = 30 * MS,
                                    .seen_ns = fake_ns + 50 * MS};
    fake_ns += 200 * MS;
    hp_process_table_meet(&gone);
    fake_remove("100");
    used[SHELL] = 0;
    used_by_children = 131 * MS;
    const struct hp_process_table *table = end_all();
    assert_int_equal(table->count, 2);
    assert_int_equal(table->all[1].ended_ns, gone.ended_ns);
    assert_true(table->all[1].cpu_ns > 120 * MS && table->all[1].cpu_ns <= 130 * MS);
    check_sums(table);
}

/* One poll finds that both have ended, and the session is found a moment later. */
static void process_that_ended_with_its_parent_has_its_time(void **state)
{
    (void)state;
    show(SHELL, 'S', "/bin/sh", "");
    hp_process_table_begin(SHELL);
    used[SHELL] = MS;
    look_after(100 * MS);
    const uint64_t began_ns = fake_ns + 20 * MS;
    show(SHELL, 'Z', "/bin/sh", "");
    look_after(200 * MS);
    fake_ns += MS / 10;
    hp_process_table_meet(&(struct hp_process){
        .pid = KIN, .parent = SHELL, .began_ns = began_ns, .ended_ns = fake_ns, .seen_ns = began_ns});
    used_by_children = 101 * MS;
    const struct hp_process_table *table = end_all();
    assert_true(table->all[1].cpu_ns > 90 * MS);
    check_sums(table);
}

/* Its session is found after its end: that is not a new process. The same number later is. */
static void session_of_an_ended_process_is_not_a_new_process(void **state)
{
    (void)state;
    show(SHELL, 'S', "/bin/sh", "101 ");
    show(KIN, 'R', "/opt/kin", "");
    hp_process_table_begin(SHELL);
    look_after(10 * MS);
    const uint64_t found_ns = fake_ns;
    show(KIN, 'Z', "/opt/kin", "");
    look_after(10 * MS);
    hp_process_table_meet(&(struct hp_process){.pid = KIN, .parent = SHELL, .began_ns = found_ns - 5 * MS});
    assert_int_equal(hp_process_table_find(KIN)->ended_ns, fake_ns);
    fake_ns += MS;
    hp_process_table_meet(&(struct hp_process){.pid = KIN, .parent = SHELL, .began_ns = fake_ns});
    assert_int_equal(hp_process_table_find(KIN)->began_ns, fake_ns);
    assert_int_equal(end_all()->count, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unsampled_time_goes_to_the_busy_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parent_with_children_is_taken_to_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(time_of_orphans_is_not_counted_as_ours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cpu_time_is_at_most_the_lifetime, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_cpu_time_is_in_some_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(process_ends_with_its_last_thread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(flood_of_events_is_only_a_possible_loss, set_up, tear_down),
        cmocka_unit_test_setup_teardown(command_belongs_to_its_program, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sampled_time_belongs_to_its_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(programs_of_a_process_follow_one_another, set_up, tear_down),
        cmocka_unit_test_setup_teardown(setuid_programs_are_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reused_process_ids_are_new_processes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_processes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(missed_events_are_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_events_proc_is_polled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(found_processes_are_sampled_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fork_without_exec_is_not_a_new_program, set_up, tear_down),
        cmocka_unit_test_setup_teardown(process_known_by_its_session_belongs_to_the_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(process_between_two_polls_has_its_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(looks_tell_what_worked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(process_that_ended_with_its_parent_has_its_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(session_of_an_ended_process_is_not_a_new_process, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
