/* Stacks of waiting threads. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* process_vm_readv */
#include "sources.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "clock.h"
#include "event_queue.h"
#include "growing_array.h"

#define STACK_BYTES 63488u /* as in samples */
#define MOST_WAITS 65536u
#define MOST_TEXT 255u

static struct {
    struct hp_wait_look look;
    char text[MOST_TEXT + 1];
    char stack[STACK_BYTES];
    size_t stack_bytes;
    uint32_t *unused; /* free numbers */
    size_t unused_count, unused_room;
    uint32_t most; /* numbers up to `most` were given out */
} source;

void hp_wait_source_meet(uint32_t pid)
{
    struct hp_event *event = hp_event_new(HP_EVENT_MET, hp_clock_monotonic_ns(), 0);
    if (event == NULL)
        return;
    event->pid = pid;
    hp_event_put(HP_EVENT_BY_LOOKS, event);
}

/* What lies past the end of the stack cannot be read: everything before it is returned. */
void hp_wait_source_take(const struct hp_wait_look *look)
{
    struct iovec to = {source.stack, sizeof source.stack};
    struct iovec from = {(void *)(uintptr_t)look->sp, sizeof source.stack};
    const ssize_t length = look->sp != 0 ? process_vm_readv((pid_t)look->pid, &to, 1, &from, 1, 0) : 0;
    source.look = *look;
    source.stack_bytes = length > 0 ? (size_t)length : 0;
    const size_t text_bytes = strnlen(look->text, MOST_TEXT);
    memcpy(source.text, look->text, text_bytes);
    source.text[text_bytes] = '\0';
}

static uint32_t new_number(void)
{
    if (source.unused_count > 0)
        return source.unused[--source.unused_count];
    return source.most < MOST_WAITS ? ++source.most : 0;
}

static void give_number_back(uint32_t number)
{
    if (!HP_MAKE_ROOM(source.unused, source.unused_count + 1, source.unused_room))
        return;
    source.unused[source.unused_count++] = number;
}

static void set_registers(struct hp_event *event)
{
    const struct hp_machine *machine = hp_machine_here();
    if (source.look.sp == 0 || machine == NULL)
        return;
    hp_register_set(&event->registers, machine->sp, source.look.sp);
    hp_register_set(&event->registers, machine->pc, source.look.pc);
}

uint32_t hp_wait_source_keep(void)
{
    const size_t text_bytes = strlen(source.text) + 1;
    const uint32_t number = new_number();
    struct hp_event *event =
        number != 0 ? hp_event_new(HP_EVENT_WAITING, hp_clock_monotonic_ns(), source.stack_bytes + text_bytes)
                    : NULL;
    if (event == NULL)
        return number;
    char *more = hp_event_more(event);
    event->pid = source.look.pid;
    event->tid = source.look.tid;
    event->wait = number;
    event->cause = source.look.cause;
    event->session = source.look.session;
    event->site = source.look.site;
    set_registers(event);
    event->stack = memcpy(more, source.stack, source.stack_bytes);
    event->stack_bytes = source.stack_bytes;
    hp_event_set_path(event, more + source.stack_bytes, source.text, text_bytes);
    hp_event_put(HP_EVENT_BY_LOOKS, event);
    return number;
}

void hp_wait_source_hold(const struct hp_held_lock *held)
{
    struct hp_event *event = hp_event_new(HP_EVENT_HELD, held->to_ns, 0);
    if (event == NULL)
        return;
    event->wait = held->wait;
    event->holder_wait = held->holder_wait;
    event->tid = held->tid;
    event->held_ns = held->from_ns;
    event->waited_ns = (int64_t)held->ns;
    hp_event_put(HP_EVENT_BY_LOOKS, event);
}

void hp_wait_source_add(uint32_t wait, uint64_t from_ns, uint64_t to_ns, int64_t ns, int64_t idle_ns)
{
    struct hp_event *event = hp_event_new(HP_EVENT_WAITED, hp_clock_monotonic_ns(), 0);
    if (event == NULL)
        return;
    event->wait = wait;
    event->from_ns = from_ns;
    event->to_ns = to_ns;
    event->waited_ns = ns;
    event->idle_ns = idle_ns;
    hp_event_put(HP_EVENT_BY_LOOKS, event);
}

/* The next user of the number has a later event than this. */
void hp_wait_source_end(uint32_t wait)
{
    struct hp_event *event = hp_event_new(HP_EVENT_WAIT_ENDED, hp_clock_monotonic_ns(), 0);
    if (event != NULL) {
        event->wait = wait;
        hp_event_put(HP_EVENT_BY_LOOKS, event);
    }
    give_number_back(wait);
}

void hp_wait_source_segment(const struct hp_ended_segment *segment)
{
    struct hp_event *event = hp_event_new(HP_EVENT_SEGMENT, hp_clock_monotonic_ns(), 0);
    if (event == NULL)
        return;
    event->pid = segment->pid;
    event->tid = segment->tid;
    event->key = segment->key;
    event->to_ns = segment->ns;
    hp_event_put(HP_EVENT_BY_LOOKS, event);
}
