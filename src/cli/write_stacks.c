/* Writes stacks. SPDX-License-Identifier: MIT */
#include "write_stacks.h"

#include <string.h>

#include "command.h"
#include "json.h"
#include "process.h"
#include "system_calls.h"
#include "text.h"
#include "utf8.h"
#include "wait_profile.h"

#define NAME_COLUMNS 48u /* of a function, before its source */
#define MOST_COMMAND 200u
#define MOST_IDS 8u /* threads of a group that are named one by one */

/* ---------------------------------------------------------------------------------------------- groups */

/* Threads of one group are adjacent. */
struct group {
    const struct hp_thread_stack *first;
    size_t count;
};

static struct group group_at(const struct hp_thread_stacks *stacks, size_t from)
{
    size_t to = from;
    while (to < stacks->count && stacks->all[to].group == stacks->all[from].group)
        to++;
    return (struct group){&stacks->all[from], to - from};
}

static const struct hp_thread_stack *stack_of(const struct hp_thread_stacks *stacks, uint32_t tid)
{
    for (size_t at = 0; at < stacks->count; at++)
        if (stacks->all[at].thread->tid == tid)
            return &stacks->all[at];
    return NULL;
}

/* What is waited for, where it has a name that tells users something. */
static const char *name_of_what(const struct hp_wait_found *wait)
{
    return wait->what[0] != '\0' && strstr(wait->what, ":[") == NULL ? wait->what : NULL;
}

static void read_command(uint32_t pid, char *text, size_t size)
{
    text[0] = '\0';
    if (!hp_task_read(pid, 0, "comm", text, size))
        return;
    text[strcspn(text, "\n")] = '\0';
}

/* "main" for the first thread, which has the name of its process. */
static bool is_first(const struct hp_live_thread *thread) { return thread->pid == thread->tid; }

struct tally {
    size_t threads, running, waiting;
};

static struct tally tally_of(const struct hp_thread_stacks *stacks, uint32_t pid)
{
    struct tally tally = {0};
    for (size_t at = 0; at < stacks->count; at++)
        if (stacks->all[at].thread->pid == pid) {
            tally.threads++;
            tally.running += !stacks->all[at].is_waiting;
            tally.waiting += stacks->all[at].is_waiting;
        }
    return tally;
}

/* ---------------------------------------------------------------------------------------------- text */

static void put_safe(struct hp_text *text, const char *bytes) { hp_utf8_put_safe(text, bytes, strlen(bytes)); }

/* "a lock", or in other words where the cause is not what is waited for. */
static void put_cause(struct hp_text *text, const struct hp_wait_found *wait)
{
    static const char *const phrases[HP_WAIT_CAUSES] = {
        [HP_WAIT_OTHER] = "waiting",
        [HP_WAIT_LOCK] = "waiting for a lock",
        [HP_WAIT_SLEEP] = "sleeping",
        [HP_WAIT_POLL] = "waiting for events",
        [HP_WAIT_DISK] = "waiting for a file",
        [HP_WAIT_SOCKET] = "waiting for a socket",
        [HP_WAIT_PIPE] = "waiting for a pipe",
        [HP_WAIT_TERMINAL] = "waiting for the terminal",
        [HP_WAIT_CHILD] = "waiting for a child process",
        [HP_WAIT_SIGNAL] = "waiting for a signal",
        [HP_WAIT_FAULT] = "waiting for a page of memory",
        [HP_WAIT_STOPPED] = "stopped",
        [HP_WAIT_CONDITION] = "waiting for a condition",
        [HP_WAIT_SEMAPHORE] = "waiting for a semaphore",
        [HP_WAIT_BARRIER] = "waiting at a barrier",
        [HP_WAIT_THREAD] = "waiting for the end of a thread",
        [HP_WAIT_FUTEX] = "waiting for a lock or a condition",
        [HP_WAIT_CLIENT] = "waiting for a client",
    };
    const char *what = name_of_what(wait);
    const char *phrase = wait->cause < HP_WAIT_CAUSES ? phrases[wait->cause] : NULL;
    const char *call = hp_system_call_name(wait->call);
    hp_text_string(text, phrase != NULL ? phrase : "waiting");
    if (what != NULL) {
        hp_text_string(text, ": ");
        put_safe(text, what);
    }
    if ((wait->cause == HP_WAIT_OTHER || wait->cause == HP_WAIT_POLL) && call != NULL)
        hp_text_format(text, " in %s", call);
}

/* The thread that has what is waited for, or is waited for itself. */
static void put_holder(struct hp_text *text, const struct hp_thread_stacks *stacks,
                       const struct hp_wait_found *wait)
{
    const struct hp_thread_stack *holder = wait->thread != 0 ? stack_of(stacks, wait->thread) : NULL;
    if (wait->thread == 0)
        return;
    hp_text_format(text, wait->cause == HP_WAIT_THREAD ? ": %u" : " held by thread %u", (unsigned)wait->thread);
    if (holder == NULL)
        return;
    hp_text_char(text, ' ');
    put_safe(text, holder->thread->name);
    hp_text_string(text, ", which is ");
    if (holder->is_waiting)
        put_cause(text, &holder->thread->wait);
    else
        hp_text_string(text, "running");
}

static void put_other_end(struct hp_text *text, uint32_t pid, uint32_t peer)
{
    char name[32];
    if (peer == 0)
        return;
    if (peer == pid) {
        hp_text_string(text, ", the other end is in this process");
        return;
    }
    read_command(peer, name, sizeof name);
    hp_text_format(text, ", the other end is process %u ", (unsigned)peer);
    put_safe(text, name);
}

static void put_state(struct hp_text *text, const struct hp_stacks_shown *shown,
                      const struct hp_thread_stack *stack)
{
    if (!stack->is_waiting) {
        hp_text_string(text, "running");
        return;
    }
    put_cause(text, &stack->thread->wait);
    put_holder(text, shown->stacks, &stack->thread->wait);
    put_other_end(text, stack->thread->pid, stack->thread->wait.peer);
}

/* "worker 18, 19, 20": the name is left out where it is that of the process. */
static void put_ids(struct hp_text *text, const struct group *group, const char *process)
{
    const char *before = process;
    for (size_t at = 0; at < group->count && at < MOST_IDS; at++) {
        const struct hp_live_thread *thread = group->first[at].thread;
        hp_text_string(text, at > 0 ? ", " : " ");
        if (strcmp(thread->name, before) != 0) {
            put_safe(text, thread->name);
            hp_text_char(text, ' ');
        }
        before = thread->name;
        hp_text_u64(text, thread->tid);
    }
    if (group->count > MOST_IDS)
        hp_text_format(text, " and %zu more", group->count - MOST_IDS);
}

/* "3 threads worker 18, 19, 20: waiting for a lock held by thread 17 keeper, which is running" */
static void put_heading(struct hp_text *text, const struct hp_stacks_shown *shown, const struct group *group,
                        const char *process)
{
    hp_text_char(text, '\n');
    if (group->count > 1)
        hp_text_format(text, "%zu threads", group->count);
    else
        hp_text_string(text, is_first(group->first->thread) ? "main thread" : "thread");
    put_ids(text, group, process);
    hp_text_string(text, ": ");
    put_state(text, shown, group->first);
    hp_text_char(text, '\n');
}

/* A task that runs is in a zone of its name. */
static void put_place(struct hp_text *text, const struct hp_thread_stack *stack)
{
    const bool is_task = stack->task != NULL, is_other = is_task && stack->zone != NULL;
    const char *first = is_task ? stack->task : stack->zone;
    if (first == NULL)
        return;
    hp_text_string(text, is_task ? "    in task " : "    in zone ");
    put_safe(text, first);
    if (is_other && strcmp(stack->zone, stack->task) != 0) {
        hp_text_string(text, ", zone ");
        put_safe(text, stack->zone);
    }
    hp_text_char(text, '\n');
}

/* "orders.c:80", or its library. */
static void put_source(struct hp_text *text, const struct hp_named_stacks *named, const struct hp_stack_line *line)
{
    const struct hp_named_function *function = &named->functions[line->function];
    if (function->file[0] != '\0' && line->line > 0) {
        put_safe(text, hp_text_base_name(function->file));
        hp_text_format(text, ":%u", (unsigned)line->line);
    } else {
        put_safe(text, hp_library_name(named, function->image));
    }
}

/* "[code in no file]" and the like. */
static bool is_nameless(const char *name) { return name[0] == '['; }

static void put_line(struct hp_text *text, const struct hp_thread_stacks *stacks, const struct hp_stack_line *line)
{
    char bytes[1024], source_bytes[512];
    struct hp_text name, source;
    hp_text_init(&name, bytes, sizeof bytes);
    put_safe(&name, stacks->names.all[line->function]);
    /* Code in no file can be many functions. */
    if (line->times > 1)
        hp_text_format(&name, is_nameless(bytes) ? " (%u frames)" : " (%u times)", (unsigned)line->times);
    hp_text_init(&source, source_bytes, sizeof source_bytes);
    put_source(&source, &stacks->named, line);
    hp_text_string(text, "    ");
    hp_text_bytes(text, bytes, name.length);
    const size_t columns = hp_utf8_columns(bytes, name.length);
    if (source.length > 0)
        hp_text_repeat(text, ' ', columns < NAME_COLUMNS ? NAME_COLUMNS - columns + 1 : 2);
    hp_text_bytes(text, source_bytes, source.length);
    hp_text_char(text, '\n');
}

/* Why there are no lines. */
static const char *why_none(const struct hp_stacks_shown *shown, const struct hp_thread_stack *stack)
{
    if (stack->is_waiting)
        return stack->thread->state == 'T' || stack->thread->state == 't' ? "no stack: the thread is stopped"
               : stack->thread->is_readable                               ? "no stack: the thread ran meanwhile"
                                                                          : "no stack: it cannot be read";
    return shown->source == HP_RUNNING_UNKNOWN ? "no stack: running threads cannot be sampled"
                                               : "no stack: the thread got too little CPU time for a sample";
}

static void put_stack(struct hp_text *text, const struct hp_stacks_shown *shown,
                      const struct hp_thread_stack *stack)
{
    for (size_t at = 0; at < stack->line_count; at++)
        put_line(text, shown->stacks, &stack->lines[at]);
    if (stack->line_count == 0)
        hp_text_format(text, "    [%s]\n", why_none(shown, stack));
    else if (!stack->is_whole)
        hp_text_string(text, "    [rest of the stack unknown]\n");
}

/* Its whole command line, where it says more than the name. */
static void put_command(struct hp_text *text, uint32_t pid, const char *name)
{
    char command[MOST_COMMAND];
    hp_process_command_of(pid, 0, command, sizeof command);
    if (command[0] == '\0' || strcmp(command, name) == 0)
        return;
    hp_text_string(text, "    ");
    put_safe(text, command);
    hp_text_char(text, '\n');
}

static void put_process(struct hp_text *text, const struct hp_stacks_shown *shown, uint32_t pid, const char *name)
{
    const struct tally tally = tally_of(shown->stacks, pid);
    hp_text_format(text, "process %u ", (unsigned)pid);
    put_safe(text, name);
    hp_text_format(text, ": %zu thread%s, %zu running, %zu waiting\n", tally.threads, tally.threads == 1 ? "" : "s",
                   tally.running, tally.waiting);
    put_command(text, pid, name);
}

void hp_write_stacks_text(const struct hp_stacks_shown *shown, FILE *to)
{
    char buffer[4096], name[32] = "";
    struct hp_text text;
    uint32_t pid = 0;
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_write_to_stream, to);
    for (size_t at = 0; at < shown->stacks->count;) {
        const struct group group = group_at(shown->stacks, at);
        if (group.first->thread->pid != pid) {
            hp_text_string(&text, pid != 0 ? "\n" : "");
            pid = group.first->thread->pid;
            read_command(pid, name, sizeof name);
            put_process(&text, shown, pid, name);
        }
        put_heading(&text, shown, &group, name);
        put_place(&text, group.first);
        put_stack(&text, shown, group.first);
        at += group.count;
    }
    hp_text_finish(&text);
}

/* ---------------------------------------------------------------------------------------------- JSON */

static void put_optional(struct hp_json *json, const char *key, const char *value)
{
    hp_json_key(json, key);
    if (value != NULL)
        hp_json_string(json, value);
    else
        hp_json_null(json);
}

static void put_json_threads(struct hp_json *json, const struct group *group)
{
    hp_json_key(json, "threads");
    hp_json_begin_array(json);
    for (size_t at = 0; at < group->count; at++) {
        hp_json_begin_object(json);
        hp_json_put_u64(json, "tid", group->first[at].thread->tid);
        hp_json_put_string(json, "name", group->first[at].thread->name);
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

static void put_json_holder(struct hp_json *json, const struct hp_thread_stacks *stacks,
                            const struct hp_wait_found *wait)
{
    const struct hp_thread_stack *holder = wait->thread != 0 ? stack_of(stacks, wait->thread) : NULL;
    hp_json_key(json, "holder");
    if (wait->thread == 0) {
        hp_json_null(json);
        return;
    }
    hp_json_begin_object(json);
    hp_json_put_u64(json, "tid", wait->thread);
    put_optional(json, "name", holder != NULL ? holder->thread->name : NULL);
    put_optional(json, "state", holder == NULL ? NULL : holder->is_waiting ? "waiting" : "running");
    put_optional(json, "cause",
                 holder != NULL && holder->is_waiting ? hp_wait_cause_name(holder->thread->wait.cause) : NULL);
    hp_json_end_object(json);
}

static void put_json_other_end(struct hp_json *json, uint32_t peer)
{
    char name[32];
    hp_json_key(json, "other_end");
    if (peer == 0) {
        hp_json_null(json);
        return;
    }
    read_command(peer, name, sizeof name);
    hp_json_begin_object(json);
    hp_json_put_u64(json, "pid", peer);
    hp_json_put_string(json, "name", name);
    hp_json_end_object(json);
}

static void put_json_wait(struct hp_json *json, const struct hp_thread_stacks *stacks,
                          const struct hp_thread_stack *stack)
{
    const struct hp_wait_found *wait = &stack->thread->wait;
    hp_json_put_string(json, "cause", hp_wait_cause_name(wait->cause));
    put_optional(json, "what", name_of_what(wait));
    put_optional(json, "system_call", hp_system_call_name(wait->call));
    put_json_holder(json, stacks, wait);
    put_json_other_end(json, wait->peer);
}

static void put_json_line(struct hp_json *json, const struct hp_thread_stacks *stacks,
                          const struct hp_stack_line *line)
{
    const struct hp_named_stacks *named = &stacks->named;
    const struct hp_named_function *function = &named->functions[line->function];
    hp_json_begin_object(json);
    hp_json_put_string(json, "function", stacks->names.all[line->function]);
    put_optional(json, "library",
                 function->image < named->image_count ? hp_library_name(named, function->image) : NULL);
    put_optional(json, "file", function->file[0] != '\0' ? function->file : NULL);
    hp_json_key(json, "line");
    if (line->line > 0)
        hp_json_u64(json, line->line);
    else
        hp_json_null(json);
    hp_json_put_u64(json, "times", line->times);
    hp_json_end_object(json);
}

static void put_json_stack(struct hp_json *json, const struct hp_stacks_shown *shown,
                           const struct hp_thread_stack *stack)
{
    hp_json_key(json, "complete");
    hp_json_bool(json, stack->line_count > 0 && stack->is_whole);
    put_optional(json, "why_no_stack",
                 stack->line_count == 0 ? why_none(shown, stack) + strlen("no stack: ") : NULL);
    hp_json_key(json, "stack");
    hp_json_begin_array(json);
    for (size_t at = 0; at < stack->line_count; at++)
        put_json_line(json, shown->stacks, &stack->lines[at]);
    hp_json_end_array(json);
}

static void put_json_group(struct hp_json *json, const struct hp_stacks_shown *shown, const struct group *group)
{
    const struct hp_thread_stack *stack = group->first;
    hp_json_begin_object(json);
    hp_json_put_string(json, "state", stack->is_waiting ? "waiting" : "running");
    if (stack->is_waiting)
        put_json_wait(json, shown->stacks, stack);
    else
        hp_json_put_u64(json, "samples", stack->samples);
    put_optional(json, "zone", stack->zone);
    put_optional(json, "task", stack->task);
    put_json_threads(json, group);
    put_json_stack(json, shown, stack);
    hp_json_end_object(json);
}

static void begin_json_process(struct hp_json *json, const struct hp_thread_stacks *stacks, uint32_t pid)
{
    char name[32], command[MOST_COMMAND];
    const struct tally tally = tally_of(stacks, pid);
    read_command(pid, name, sizeof name);
    hp_process_command_of(pid, 0, command, sizeof command);
    hp_json_begin_object(json);
    hp_json_put_u64(json, "pid", pid);
    hp_json_put_string(json, "name", name);
    hp_json_put_string(json, "command", command);
    hp_json_put_u64(json, "thread_count", tally.threads);
    hp_json_put_u64(json, "running", tally.running);
    hp_json_put_u64(json, "waiting", tally.waiting);
    hp_json_key(json, "groups");
    hp_json_begin_array(json);
}

static void end_json_process(struct hp_json *json)
{
    hp_json_end_array(json);
    hp_json_end_object(json);
}

void hp_write_stacks_json(const struct hp_stacks_shown *shown, FILE *to)
{
    static const char *const sources[] = {"perf", "program", NULL};
    char buffer[4096];
    struct hp_text text;
    struct hp_json json;
    uint32_t pid = 0;
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_write_to_stream, to);
    hp_json_init(&json, &text, true);
    hp_json_begin_object(&json);
    put_optional(&json, "running_stacks_by", sources[shown->source]);
    hp_json_key(&json, "processes");
    hp_json_begin_array(&json);
    for (size_t at = 0; at < shown->stacks->count;) {
        const struct group group = group_at(shown->stacks, at);
        if (group.first->thread->pid != pid) {
            if (pid != 0)
                end_json_process(&json);
            pid = group.first->thread->pid;
            begin_json_process(&json, shown->stacks, pid);
        }
        put_json_group(&json, shown, &group);
        at += group.count;
    }
    if (pid != 0)
        end_json_process(&json);
    hp_json_end_array(&json);
    hp_json_end_object(&json);
    hp_text_char(&text, '\n');
    hp_text_finish(&text);
}
