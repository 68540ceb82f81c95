/* The families of metrics. SPDX-License-Identifier: MIT */
#include "metric_families.h"

#define COUNTER .type = HP_METRIC_COUNTER
#define GAUGE .type = HP_METRIC_GAUGE
#define HISTOGRAM .type = HP_METRIC_HISTOGRAM
#define SECONDS .unit = "seconds"
#define BYTES .unit = "bytes"
#define FROM(section_, column_) .section = (section_), .column = (column_)
#define TOTAL_OF(section_, key_) .section = (section_), .column = (key_), .is_total = true
#define NAMED(kind_, name_) .labels[0] = {.name = (name_), .kind = HP_METRIC_##kind_, .column = "name"}
#define WORD(at_, name_, column_) .labels[at_] = {.name = (name_), .kind = HP_METRIC_WORD, .column = (column_)}
#define ALWAYS(at_, name_, word_) .labels[at_] = {.name = (name_), .kind = HP_METRIC_WORD, .always = (word_)}

#define OF_FUNCTION NAMED(FUNCTION, "function")
#define OF_LOCK NAMED(LOCK, "lock"), WORD(1, "kind", "kind")
#define OF_TASK NAMED(TASK, "task")
#define OF_CHANNEL NAMED(CHANNEL, "channel")
#define OF_STREAM NAMED(STREAM, "stream")
#define OF_LOOP NAMED(LOOP, "loop")
#define OF_VALUE NAMED(VALUE, "value")

const struct hp_metric_family hp_metric_families[] = {
    /* The program as a whole. */
    {"hotpath_running", GAUGE, .help = "Programs that run; of one session: 0 after its end.",
     .fact = HP_METRIC_RUNNING},
    {"hotpath_elapsed_seconds", GAUGE, SECONDS, "How long the program has run.", .fact = HP_METRIC_ELAPSED,
     .is_of_one = true},
    {"hotpath_processes", GAUGE, .help = "Processes of the runs.", .fact = HP_METRIC_PROCESSES},
    {"hotpath_process_starts", COUNTER, .help = "Processes that were seen to begin.", .fact = HP_METRIC_STARTS},
    {"hotpath_threads", GAUGE, .help = "Running threads.", TOTAL_OF("threads", "threads")},
    {"hotpath_resident_bytes", GAUGE, BYTES, "Resident memory of running processes.",
     TOTAL_OF("threads", "rss_bytes")},
    {"hotpath_cpu_seconds", COUNTER, SECONDS, "CPU time of all processes.", TOTAL_OF("threads", "cpu_ns")},
    {"hotpath_lost_records", COUNTER, .help = "Records that were lost.", .fact = HP_METRIC_LOST},

    /* Functions. */
    {"hotpath_function_calls", COUNTER, .help = "Calls of a measured function.", FROM("timing", "calls"),
     OF_FUNCTION},
    {"hotpath_function_seconds", COUNTER, SECONDS, "Time in a function and its callees, over all threads.",
     FROM("timing", "total_ns"), OF_FUNCTION},
    {"hotpath_function_self_seconds", COUNTER, SECONDS, "Time in a function itself, over all threads.",
     FROM("timing", "self_ns"), OF_FUNCTION},
    {"hotpath_function_duration_seconds", HISTOGRAM, SECONDS, "Durations of the timed calls of a function.",
     FROM("timing", "histogram_ns"), .mean = "avg_ns", OF_FUNCTION},
    {"hotpath_function_cpu_user_seconds", COUNTER, SECONDS, "CPU time of a function itself in user mode.",
     FROM("cpu", "user_ns"), OF_FUNCTION},
    {"hotpath_function_cpu_kernel_seconds", COUNTER, SECONDS, "CPU time of a function itself in the kernel.",
     FROM("cpu", "kernel_ns"), OF_FUNCTION},
    {"hotpath_function_allocated_bytes", COUNTER, BYTES, "Bytes that a function itself allocated.",
     FROM("alloc-bytes", "own_bytes"), OF_FUNCTION},
    {"hotpath_function_allocations", COUNTER, .help = "Allocations by a function itself.",
     FROM("alloc-bytes", "own_count"), OF_FUNCTION},
    {"hotpath_function_waiting_seconds", COUNTER, SECONDS, "Time that threads waited in a function, by cause.",
     FROM("waits", "waited_ns"), OF_FUNCTION, WORD(1, "cause", "cause")},
    {"hotpath_function_io_bytes", COUNTER, BYTES, "Bytes that a function moved, by operation.",
     FROM("io-by", "moved_bytes"), OF_FUNCTION, WORD(1, "op", "op")},
    {"hotpath_function_io_seconds", COUNTER, SECONDS, "Time of a function in calls of I/O, by operation.",
     FROM("io-by", "time_ns"), OF_FUNCTION, WORD(1, "op", "op")},

    /* Waits, threads, allocations, I/O. */
    {"hotpath_waiting_seconds", COUNTER, SECONDS, "Time that threads waited, by cause.", FROM("waits", "waited_ns"),
     WORD(0, "cause", "cause")},
    {"hotpath_thread_cpu_seconds", COUNTER, SECONDS, "CPU time of threads by name, without digits.",
     FROM("threads", "user_ns"), NAMED(THREAD, "thread"), ALWAYS(1, "mode", "user")},
    {"hotpath_thread_cpu_seconds", COUNTER, SECONDS, "CPU time of threads by name, without digits.",
     FROM("threads", "kernel_ns"), NAMED(THREAD, "thread"), ALWAYS(1, "mode", "kernel")},
    {"hotpath_thread_waiting_seconds", COUNTER, SECONDS, "Time that threads waited, by name, without digits.",
     FROM("threads", "waited_ns"), NAMED(THREAD, "thread")},
    {"hotpath_allocated_bytes", COUNTER, BYTES, "Bytes that were allocated, freed or not.",
     TOTAL_OF("alloc-bytes", "requested_bytes")},
    {"hotpath_allocations", COUNTER, .help = "Allocations.", TOTAL_OF("alloc-bytes", "allocations")},
    {"hotpath_live_bytes", GAUGE, BYTES, "Bytes that are allocated and not freed.",
     TOTAL_OF("alloc-bytes", "live_usable_bytes")},
    {"hotpath_failed_allocations", COUNTER, .help = "Allocations that failed.", TOTAL_OF("alloc-bytes", "failed")},
    {"hotpath_io_operations", COUNTER, .help = "Calls of I/O, by kind of file and operation.", FROM("io", "ops"),
     WORD(0, "kind", "kind"), WORD(1, "op", "op")},
    {"hotpath_io_bytes", COUNTER, BYTES, "Bytes moved, by kind of file and operation.", FROM("io", "moved_bytes"),
     WORD(0, "kind", "kind"), WORD(1, "op", "op")},
    {"hotpath_io_seconds", COUNTER, SECONDS, "Time in calls of I/O, by kind of file and operation.",
     FROM("io", "time_ns"), WORD(0, "kind", "kind"), WORD(1, "op", "op")},
    {"hotpath_io_errors", COUNTER, .help = "Calls of I/O that failed, without EAGAIN.", FROM("io", "errors"),
     WORD(0, "kind", "kind"), WORD(1, "op", "op")},

    /* Locks; of a condition only waits are known. */
    {"hotpath_lock_acquisitions", COUNTER, .help = "How often a lock was locked, a semaphore taken.",
     FROM("locks", "locked"), OF_LOCK},
    {"hotpath_lock_contended", COUNTER, .help = "Acquisitions that had to wait.", FROM("locks", "contended"),
     OF_LOCK},
    {"hotpath_lock_waits", COUNTER, .help = "Waits for a lock or condition that have ended.",
     FROM("locks", "waits"), OF_LOCK},
    {"hotpath_lock_wait_seconds", COUNTER, SECONDS, "Time that threads waited for a lock or condition.",
     FROM("locks", "wait_ns"), OF_LOCK},
    {"hotpath_lock_blocked_seconds", COUNTER, SECONDS,
     "The part of the waiting that holders of the lock, or those who signalled, are charged with.",
     FROM("locks", "blocked_ns"), OF_LOCK},
    {"hotpath_lock_wakeup_seconds", COUNTER, SECONDS,
     "The part of the waiting after the lock was free, until the thread ran.", FROM("locks", "wakeup_ns"), OF_LOCK},
    {"hotpath_lock_wait_duration_seconds", HISTOGRAM, SECONDS,
     "Durations of waits for a lock or condition that have ended.", FROM("locks", "wait_histogram_ns"),
     .mean = "wait_mean_ns", OF_LOCK},
    {"hotpath_lock_hold_duration_seconds", HISTOGRAM, SECONDS,
     "How long a lock was held, of the holds that were timed: not all are.", FROM("locks", "hold_histogram_ns"),
     .mean = "hold_mean_ns", OF_LOCK},

    /* The critical path: a path that takes over replaces what another one had, so these may fall. */
    {"hotpath_path_seconds", GAUGE, SECONDS, "Time of a function on the critical path up to now.",
     FROM("critical-path", "path_ns"), OF_FUNCTION, WORD(1, "kind", "kind")},
    {"hotpath_path_waited_seconds", GAUGE, SECONDS, "Time of the critical path that was waited for, by what for.",
     FROM("path-waits", "waited_ns"), .labels[0] = {.name = "awaited", .kind = HP_METRIC_AWAITED, .column = "name"},
     WORD(1, "kind", "kind")},

    /* Tasks. */
    {"hotpath_tasks_created", COUNTER, .help = "Tasks that were created.", FROM("tasks", "calls"), OF_TASK},
    {"hotpath_tasks_cancelled", COUNTER, .help = "Tasks that were cancelled.", FROM("tasks", "cancelled"), OF_TASK},
    {"hotpath_tasks_open", GAUGE, .help = "Tasks that have not ended.", FROM("tasks", "open"), OF_TASK},
    {"hotpath_task_seconds", COUNTER, SECONDS, "Time from creation to end of tasks, open ones up to now.",
     FROM("tasks", "total_ns"), OF_TASK},
    {"hotpath_task_duration_seconds", HISTOGRAM, SECONDS, "Time from creation to end of tasks that have ended.",
     FROM("tasks", "histogram_ns"), OF_TASK},
    {"hotpath_task_polls", COUNTER, .help = "How often tasks ran.", FROM("tasks", "polls"), OF_TASK},
    {"hotpath_task_busy_seconds", COUNTER, SECONDS, "Time in which tasks ran.", FROM("tasks", "busy_ns"), OF_TASK},
    {"hotpath_task_waiting_seconds", COUNTER, SECONDS, "Time in which tasks waited.", FROM("tasks", "waiting_ns"),
     OF_TASK},
    {"hotpath_task_long_polls", COUNTER, .help = "Polls that blocked their thread for long.",
     FROM("tasks", "long_polls"), OF_TASK},
    {"hotpath_task_awaited_seconds", COUNTER, SECONDS, "Time in which tasks waited, by what they waited for.",
     FROM("task-waits", "waiting_ns"), OF_TASK,
     .labels[1] = {.name = "awaited", .kind = HP_METRIC_AWAITED, .column = "awaited"}},

    /* Channels and streams. */
    {"hotpath_channel_sent", COUNTER, .help = "Items sent.", FROM("channels", "sent"), OF_CHANNEL},
    {"hotpath_channel_received", COUNTER, .help = "Items received.", FROM("channels", "received"), OF_CHANNEL},
    {"hotpath_channel_sent_bytes", COUNTER, BYTES, "Bytes sent.", FROM("channels", "sent_bytes"), OF_CHANNEL},
    {"hotpath_channel_received_bytes", COUNTER, BYTES, "Bytes received.", FROM("channels", "received_bytes"),
     OF_CHANNEL},
    {"hotpath_channel_lost", COUNTER, .help = "Items that did not arrive, by reason.", FROM("channels", "refused"),
     OF_CHANNEL, ALWAYS(1, "reason", "refused")},
    {"hotpath_channel_lost", COUNTER, .help = "Items that did not arrive, by reason.", FROM("channels", "dropped"),
     OF_CHANNEL, ALWAYS(1, "reason", "dropped")},
    {"hotpath_channel_length", GAUGE, .help = "Items in the channel.", FROM("channels", "queue"), OF_CHANNEL},
    {"hotpath_channel_length_bytes", GAUGE, BYTES, "Bytes in the channel, of one that counts bytes.",
     FROM("channels", "queue_bytes"), OF_CHANNEL},
    {"hotpath_channel_capacity", GAUGE, .help = "How many items fit into the channel.",
     FROM("channels", "capacity"), OF_CHANNEL},
    {"hotpath_channel_blocked_seconds", COUNTER, SECONDS, "Time that one side waited for the other.",
     FROM("channels", "full_ns"), OF_CHANNEL, ALWAYS(1, "side", "sender")},
    {"hotpath_channel_blocked_seconds", COUNTER, SECONDS, "Time that one side waited for the other.",
     FROM("channels", "empty_ns"), OF_CHANNEL, ALWAYS(1, "side", "receiver")},
    {"hotpath_channel_transit_seconds", HISTOGRAM, SECONDS,
     "Time that items spent in the channel, of those whose delay was measured.",
     FROM("channels", "delay_histogram_ns"), OF_CHANNEL},
    {"hotpath_stream_items", COUNTER, .help = "Items that streams yielded.", FROM("streams", "items"), OF_STREAM},
    {"hotpath_stream_bytes", COUNTER, BYTES, "Bytes that streams yielded.", FROM("streams", "item_bytes"),
     OF_STREAM},
    {"hotpath_stream_busy_seconds", COUNTER, SECONDS, "Time to produce and to consume items.",
     FROM("streams", "produced_ns"), OF_STREAM, ALWAYS(1, "side", "producer")},
    {"hotpath_stream_busy_seconds", COUNTER, SECONDS, "Time to produce and to consume items.",
     FROM("streams", "consumed_ns"), OF_STREAM, ALWAYS(1, "side", "consumer")},

    /* Event loops and values. */
    {"hotpath_loop_turns", COUNTER, .help = "Turns of event loops.", FROM("loops", "turns"), OF_LOOP},
    {"hotpath_loop_turn_duration_seconds", HISTOGRAM, SECONDS, "Durations of turns of event loops.",
     FROM("loops", "turn_histogram_ns"), .mean = "mean_turn_ns", OF_LOOP},
    {"hotpath_loop_blocked_turns", COUNTER, .help = "Turns that took long enough to be noticed.",
     FROM("loops", "blocked_turns"), OF_LOOP},
    {"hotpath_loop_events", COUNTER, .help = "Events that loops received.", FROM("loops", "events"), OF_LOOP},
    {"hotpath_loop_busy_seconds", COUNTER, SECONDS, "Time in which event loops ran callbacks.",
     FROM("loops", "busy_ns"), OF_LOOP},
    {"hotpath_loop_waiting_seconds", COUNTER, SECONDS, "Time in which event loops waited for events.",
     FROM("loops", "waited_ns"), OF_LOOP},
    {"hotpath_value", GAUGE, .help = "The latest number of a value, added up over processes.",
     FROM("values", "last_number"), OF_VALUE},
    {"hotpath_value_updates", COUNTER, .help = "Updates of a value.", FROM("values", "updates"), OF_VALUE},
    {"hotpath_value_count", COUNTER, .help = "What HOTPATH_COUNT has counted.", FROM("values", "total"), OF_VALUE},
};
const size_t hp_metric_family_count = sizeof hp_metric_families / sizeof hp_metric_families[0];

static const struct {
    const char *name;
    uint32_t limit;
} kinds[HP_METRIC_KINDS] = {
    [HP_METRIC_NO_KIND] = {"", 0},
    [HP_METRIC_SERVICE] = {"service", 100},
    [HP_METRIC_FUNCTION] = {"function", 200},
    [HP_METRIC_LOCK] = {"lock", 200},
    [HP_METRIC_THREAD] = {"thread", 20},
    [HP_METRIC_TASK] = {"task", 50},
    [HP_METRIC_AWAITED] = {"awaited", 50},
    [HP_METRIC_CHANNEL] = {"channel", 50},
    [HP_METRIC_STREAM] = {"stream", 50},
    [HP_METRIC_LOOP] = {"loop", 50},
    [HP_METRIC_VALUE] = {"value", 50},
    [HP_METRIC_WORD] = {"word", 100},
};

uint32_t hp_metric_kind_limit(enum hp_metric_kind kind) { return kinds[kind].limit; }

const char *hp_metric_kind_name(enum hp_metric_kind kind) { return kinds[kind].name; }
