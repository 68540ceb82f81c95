/* Rings of processes: all are read and removed, however many there are. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "event_queue.h"
#include "files.h"
#include "scratch_folder.h"
#include "sources.h"
#include "space_table.h"
#include "stack_ring.h"

#define RINGS 300u /* more than are read at a time */
#define PERIOD 1003009u

static char maps[RINGS * 100];

/* The mappings of this process as the kernel reports them: each ring. */
char *hp_process_maps(uint32_t pid) { return pid == (uint32_t)getpid() ? strdup(maps) : NULL; }

static void make_ring(unsigned number)
{
    uint64_t stack[8] = {number};
    char path[200];
    struct hp_stack_ring ring;
    struct hp_stack_registers registers = {.known = UINT64_C(1) << HP_STACK_SP | UINT64_C(1) << HP_STACK_PC};
    const struct hp_stack own = {(uintptr_t)stack, (uintptr_t)(stack + 8)};
    registers.value[HP_STACK_SP] = (uintptr_t)stack;
    snprintf(path, sizeof path, "%s/%u-1.ring", scratch_folder, number);
    assert_true(hp_stack_ring_make(
        &ring, &(struct hp_stack_ring_plan){
                   .path = path, .capacity = HP_STACK_RING_LEAST, .pid = (uint32_t)getpid(), .period_ns = PERIOD}));
    assert_true(hp_stack_ring_put(&ring, &(struct hp_stack_note){.kind = HP_STACK_CPU, .ns = 1, .weight = PERIOD},
                                  &registers, &own));
    hp_stack_ring_unmap(&ring);
    const size_t length = strlen(maps);
    snprintf(maps + length, sizeof maps - length, "%x000-%x000 r-xp 00000000 00:00 0 %s\n", number + 1, number + 2,
             path);
}

static void count_name(const char *name, void *count) { *(unsigned *)count += name[0] != '.'; }

static void no_ring_file_is_left(void **state)
{
    unsigned samples = 0, left = 0;
    (void)state;
    if (!HP_STACK_RING_WORKS)
        skip();
    for (unsigned at = 0; at < RINGS; at++)
        make_ring(at);
    assert_true(hp_ring_source_begin(scratch_folder));
    hp_ring_source_end();
    for (struct hp_event *event = hp_event_take(UINT64_MAX), *next; event != NULL; event = next) {
        next = event->next;
        samples += event->kind == HP_EVENT_SAMPLE;
        free(event);
    }
    hp_session_numbers_free();
    assert_int_equal(samples, RINGS);
    hp_file_each(scratch_folder, count_name, &left);
    assert_int_equal(left, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_ring_file_is_left)};
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
