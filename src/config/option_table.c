/* The table of options. SPDX-License-Identifier: MIT */
#include "option_values.h"

#include "stack_ring.h"
#include "text.h"

/* Where the values of an option are: in both structs, usually under the same name, or in one of them only. */
#define AT_SETTINGS_TOO(field) offsetof(struct hp_settings, field), sizeof((struct hp_settings *)0)->field
#define AT_BOTH(group, name) offsetof(struct hotpath_options, name), AT_SETTINGS_TOO(group.name)
#define AT_KINDS(name) offsetof(struct hotpath_options, name), AT_SETTINGS_TOO(record.kinds)
#define AT_OPTIONS(name) offsetof(struct hotpath_options, name), 0, 0
#define AT_SETTINGS(field) 0, AT_SETTINGS_TOO(field)

/* The same on the command line. */
#define FLAG(name, letter, scope) name, letter, HP_SCOPE_##scope, NULL
#define FLAG_AND_VARIABLE(name, letter, scope, other_variable) name, letter, HP_SCOPE_##scope, other_variable
#define FLAG_OF_TWO(name, letter, one, other) name, letter, HP_SCOPE_##one | HP_SCOPE_##other, NULL
#define NO_FLAG NULL, 0, 0, NULL

const struct hp_option hp_options[] = {
    [HP_RECORD_INDEX] =
        {"HOTPATH", "record", FLAG("only", 0, RECORD), "0|1|LIST", "timing,alloc", "",
         "What to record: 0 (nothing), 1 (the default), or a list of timing, alloc and cpu. alloc requires "
         "-lhotpath_alloc or hotpath run. Any value other than 0 also starts recording in programs without "
         "HOTPATH_MAIN.",
         HP_OPTION_TEXT, AT_KINDS(record), hp_option_parse_record},
    [HP_CPU_INDEX] = {"HOTPATH_CPU", "cpu", FLAG("cpu", 0, RECORD), "0|1", "0", "",
                      "Also sample CPU time; hotpath run does so by default.", HP_OPTION_FLAG, AT_BOTH(record, cpu),
                      hp_option_parse_flag},
    {"HOTPATH_CPU_RATE", "cpu_rate", FLAG("cpu-rate", 0, RECORD), "N", "997", "",
     "Samples per second of CPU time, from 1 to 10000; 10000 take about 7 % of it.", HP_OPTION_COUNT,
     AT_BOTH(record, cpu_rate), hp_option_parse_cpu_rate},
    {"HOTPATH_CPU_ENGINE", "cpu_engine", FLAG("cpu-engine", 0, RECORD), "auto|timers", "auto", "",
     "How the CPU time of measured functions is sampled: auto uses perf if the kernel allows it, timers does not.",
     HP_OPTION_CHOICE, AT_BOTH(record, cpu_engine), hp_option_parse_engine},
    {"HOTPATH_ALLOC_STACKS", NULL, FLAG("alloc-stacks", 0, RECORD), "SIZE", "512KB", "",
     "For hotpath run: average number of allocated bytes between two allocation samples with stacks; 0 disables "
     "them.",
     HP_OPTION_BYTES, AT_SETTINGS(record.alloc_stacks), hp_option_parse_alloc_stacks},
    {"HOTPATH_FILTER", "filter", FLAG("filter", 0, RECORD), "LIST", "", "no filter (every site)",
     "Record only functions, blocks, tasks, channels, streams, values and loops that match a list of patterns, "
     "such "
     "as parse*,/^lex/,file:json.c; -ITEM excludes, @PATH names a file of items. See PATTERNS in hotpath(7).",
     HP_OPTION_TEXT, AT_BOTH(record, filter), hp_option_parse_patterns},
    {"HOTPATH_SKIP", "skip", FLAG("skip", 0, RECORD), "LIST", "", "nothing excluded",
     "Do not record what matches this list of patterns, as for HOTPATH_FILTER.", HP_OPTION_TEXT,
     AT_BOTH(record, skip), hp_option_parse_patterns},
    {"HOTPATH_LOG", "log", FLAG("log", 0, RECORD), "LIST", "", "only what the program logs itself",
     "Keep the latest calls of functions, messages of channels, items, tasks and values that match this list of "
     "patterns, each with its text.",
     HP_OPTION_TEXT, AT_BOTH(record, log), hp_option_parse_patterns},
    {"HOTPATH_TIME_SAMPLING_RATE", "time_sampling_rate", FLAG("sampling", 0, RECORD), "1/N|PART", "1", "",
     "Fraction of calls to time, such as 1/16 or 0.0625; all calls are counted, and times are extrapolated.",
     HP_OPTION_TEXT, offsetof(struct hotpath_options, time_sampling_rate), AT_SETTINGS_TOO(record.time_period),
     hp_option_parse_sampling_rate},
    {"HOTPATH_MEASURING_BOUND", "measuring_bound", FLAG("measuring-bound", 0, RECORD), "PERCENT", "50", "",
     "Limit on the cost of measuring a compiler-instrumented function, in percent of its time. If a function is "
     "too short for it, all its calls are counted, but only some are timed. 0 times every call.",
     HP_OPTION_LIMIT, AT_BOTH(record, measuring_bound), hp_option_parse_bound},
    {"HOTPATH_KEYS_LIMIT", "keys_limit", FLAG("keys-limit", 0, RECORD), "N", "256", "",
     "Number of keys per HOTPATH_BLOCK_KEY that get their own row; all others share one row.", HP_OPTION_COUNT,
     AT_BOTH(record, keys_limit), hp_option_parse_count},
    {"HOTPATH_SECTIONS", "report", FLAG_AND_VARIABLE("section", 's', SHOW, "HOTPATH_REPORT"), "LIST", "short", "",
     "Sections of the report: short, auto (all that have data), all, a list such as timing,calltree, or -NAME to "
     "leave one out.",
     HP_OPTION_TEXT, AT_BOTH(show, report), hp_option_parse_sections},
    {"HOTPATH_FOCUS", "focus", FLAG("focus", 0, SHOW), "LIST", "", "no focus (every row)",
     "Show only rows that match a list of patterns, with the syntax of HOTPATH_FILTER: of functions, tasks, "
     "channels, "
     "streams, values and loops.",
     HP_OPTION_TEXT, AT_BOTH(show, focus), hp_option_parse_patterns},
    {"HOTPATH_SLOWEST", "slowest", FLAG("slowest", 0, SHOW), "NAME|/REGEX/", "", "no function",
     "Show the slowest call of a function, with the calls inside it. If no function is called NAME, show those "
     "whose name contains NAME; with /REGEX/ those whose name matches.",
     HP_OPTION_TEXT, AT_BOTH(show, slowest), hp_option_parse_pattern},
    {"HOTPATH_COLUMNS", "columns", FLAG("columns", 'c', SHOW), "LIST", "", "the default columns",
     "Additional columns to show, such as self,min,max,threads, or all.", HP_OPTION_TEXT, AT_BOTH(show, columns),
     hp_option_parse_columns},
    {"HOTPATH_SORT", "sort", FLAG("sort", 0, SHOW), "COLUMN", "", "the default order",
     "Sort rows by a column such as total, self, calls, avg, p95 or name; -COLUMN reverses the order.",
     HP_OPTION_TEXT, AT_BOTH(show, sort), hp_option_parse_sort},
    {"HOTPATH_BY", "by", FLAG("by", 0, SHOW), "function|thread", "function", "",
     "One row per function, or one row per function and thread.", HP_OPTION_CHOICE, AT_BOTH(show, by),
     hp_option_parse_by},
    {"HOTPATH_PERCENTILES", "percentiles", FLAG("percentiles", 'p', SHOW), "LIST", "95", "",
     "Percentiles to show: up to 10 numbers from 0 (the minimum) to 100 (the maximum), such as 50,99.9.",
     HP_OPTION_TEXT, AT_BOTH(show, percentiles), hp_option_parse_percentiles},
    /* Before the limits of single sections: see the top of this file. */
    {"HOTPATH_LIMIT", "limit", FLAG("limit", 'n', SHOW), "N", "", "the limit of each section",
     "Maximum number of rows per section; 0 shows all.", HP_OPTION_LIMIT, AT_OPTIONS(limit),
     hp_option_parse_limit_of_all},
    {"HOTPATH_FUNCTIONS_LIMIT", "functions_limit", FLAG("functions-limit", 0, SHOW), "N", "15", "",
     "Maximum number of rows of the sections about functions and processes; 0 shows all.", HP_OPTION_LIMIT,
     AT_BOTH(show, functions_limit), hp_option_parse_limit},
    {"HOTPATH_CALLTREE_LIMIT", "calltree_limit", FLAG("calltree-limit", 0, SHOW), "N", "50", "",
     "Maximum number of rows of the call tree; 0 shows all.", HP_OPTION_LIMIT, AT_BOTH(show, calltree_limit),
     hp_option_parse_limit},
    {"HOTPATH_LOGS_LIMIT", "logs_limit", FLAG_OF_TWO("logs-limit", 0, RECORD, SHOW), "N", "50", "",
     "Number of latest calls, messages, items, tasks or values to keep and show of each that is logged; 0 sets no "
     "limit: as many as fit into 4 MB.",
     HP_OPTION_LIMIT, AT_BOTH(record, logs_limit), hp_option_parse_limit},
    {"HOTPATH_MIN_PERCENT", "min_percent", FLAG("min-percent", 0, SHOW), "P", "0", "",
     "Hide functions and call paths with a share below P percent, such as 0.5.", HP_OPTION_NUMBER,
     AT_BOTH(show, min_percent), hp_option_parse_percent},
    {"HOTPATH_TIME_EXCLUSIVE", "time_exclusive", FLAG("exclusive", 0, SHOW), "0|1", "0", "",
     "Show the time spent in a function itself, without measured callees, and sort by it.", HP_OPTION_FLAG,
     AT_BOTH(show, time_exclusive), hp_option_parse_flag},
    {"HOTPATH_ALLOC_CUMULATIVE", "alloc_cumulative", FLAG("alloc-cumulative", 0, SHOW), "0|1", "0", "",
     "Include the allocations of measured callees in their callers.", HP_OPTION_FLAG,
     AT_BOTH(show, alloc_cumulative), hp_option_parse_flag},
    {"HOTPATH_ALLOC_METRIC", "alloc_metric", FLAG("alloc-metric", 0, SHOW),
     "bytes-total|bytes-max|count-total|count-max", "bytes-total", "",
     "What the allocation table shows first: the total bytes, the peak bytes during a call, or the same in numbers "
     "of allocations.",
     HP_OPTION_CHOICE, AT_BOTH(show, alloc_metric), hp_option_parse_metric},
    {"HOTPATH_CPU_INCLUSIVE", "cpu_inclusive", FLAG("cpu-inclusive", 0, SHOW), "0|1", "0", "",
     "Include the CPU time of measured callees in their callers.", HP_OPTION_FLAG, AT_BOTH(show, cpu_inclusive),
     hp_option_parse_flag},
    {"HOTPATH_DEBUGINFOD", NULL, FLAG("debuginfod", 0, NAMES), "0|1", "0", "",
     "Download missing debug information from the servers in DEBUGINFOD_URLS, with debuginfod-find. For hotpath "
     "run, record and annotate --assembly.",
     HP_OPTION_FLAG, AT_SETTINGS(show.debuginfod), hp_option_parse_flag},
    {"HOTPATH_EXCLUDE_WRAPPER", "exclude_wrapper", FLAG("exclude-wrapper", 0, SHOW), "0|1", "0", "",
     "Leave out the main function; 100 % is then the sum of the other rows.", HP_OPTION_FLAG,
     AT_BOTH(show, exclude_wrapper), hp_option_parse_flag},
    {"HOTPATH_OUTPUT_FORMAT", "format", FLAG("format", 'f', OUTPUT),
     "table|json|json-pretty|csv|markdown|html|none", "table", "",
     "Format of the report. html, a page for the browser, is available from hotpath run, record and report.",
     HP_OPTION_CHOICE, AT_BOTH(output, format), hp_option_parse_format},
    {"HOTPATH_OUTPUT_PATH", "output_path", FLAG("output", 'o', OUTPUT), "PATH", "", "stderr",
     "File for the report; %p in it is replaced by the process id. hotpath report does not read "
     "HOTPATH_OUTPUT_PATH.",
     HP_OPTION_TEXT, AT_BOTH(output, output_path), hp_option_parse_text},
    {"HOTPATH_REPORT_LABEL", "label", FLAG("label", 0, SHOW), "TEXT", "", "no label",
     "A name for this run, shown in the report.", HP_OPTION_TEXT, AT_BOTH(record, label), hp_option_parse_text},
    {"HOTPATH_USER_METADATA", "metadata", FLAG("metadata", 0, SHOW), "KEY=VALUE,...", "", "no metadata",
     "Additional information to store in the report.", HP_OPTION_TEXT, AT_BOTH(record, metadata),
     hp_option_parse_metadata},
    {"HOTPATH_SHUTDOWN_MS", "shutdown_ms", FLAG("timeout", 0, RECORD), "MS", "0", "",
     "End the program after this many milliseconds and print the report; 0 sets no limit. Requires HOTPATH_MAIN or "
     "hotpath run.",
     HP_OPTION_COUNT, AT_BOTH(record, shutdown_ms), hp_option_parse_count},
    {"HOTPATH_LEAVE_SIGNALS", "leave_signals", NO_FLAG, "0|1", "0", "",
     "Do not handle SIGINT and SIGTERM. By default HOTPATH_MAIN prints the report on either signal, and then lets "
     "the signal take its default action.",
     HP_OPTION_FLAG, AT_BOTH(record, leave_signals), hp_option_parse_flag},
    {"HOTPATH_DIR", "dir", FLAG("dir", 0, FOLDER), "PATH", "",
     "$XDG_RUNTIME_DIR/hotpath, /dev/shm/hotpath-UID or /tmp/hotpath-UID", "Directory for session files.",
     HP_OPTION_TEXT, AT_BOTH(record, dir), hp_option_parse_text},
    {"HOTPATH_MAX_BYTES", "max_bytes", FLAG("max-bytes", 0, RECORD), "SIZE", "",
     "a quarter of the free space, at most 64MB",
     "Maximum size of the session file, from 256KB to 4GB; K, M and G are powers of 1024.", HP_OPTION_BYTES,
     AT_BOTH(record, max_bytes), hp_option_parse_max_bytes},
    {"HOTPATH_RESERVE", "reserve", FLAG("reserve", 0, RECORD), "0|1", "0", "",
     "Reserve the whole session file at start, so that recording makes no system calls later. Only the thread that "
     "starts the session is recorded.",
     HP_OPTION_FLAG, AT_BOTH(record, reserve), hp_option_parse_flag},
    {"HOTPATH_WAITS", "waits", NO_FLAG, "0|1", "0", "",
     "Start a thread in the program that records what its threads wait for. hotpath run does so from outside.",
     HP_OPTION_FLAG, AT_BOTH(record, waits), hp_option_parse_flag},
    {"HOTPATH_PATH", "path", FLAG("path", 0, RECORD), "0|1", "0", "",
     "Follow the critical path: who waits for whom, and which functions decide how long the program takes.",
     HP_OPTION_FLAG, AT_BOTH(record, path), hp_option_parse_flag},
    {"HOTPATH_CLOCK", NULL, FLAG("clock", 0, RECORD), "time|instructions|instructions:qemu|instructions:pmu",
     "time", "",
     "What durations are measured in. For hotpath run: instructions runs the program under qemu-user and counts "
     "the "
     "instructions that it executes, which is the same in every run; where that is not possible, and the program "
     "has "
     "measured functions, the CPU counts them. instructions:qemu and instructions:pmu (the CPU) allow only one of "
     "these. instructions:pmu also works without hotpath run.",
     HP_OPTION_CHOICE, AT_SETTINGS(record.clock), hp_option_parse_clock},
    {"HOTPATH_LOCKS", NULL, FLAG("locks", 0, RECORD), "0|1", "0", "",
     "For hotpath run, and programs that are linked with libhotpath_locks.so: count locks, conditions and "
     "semaphores, how long threads wait for them, and who lets them wait.",
     HP_OPTION_FLAG, AT_SETTINGS(record.locks), hp_option_parse_flag},
    {"HOTPATH_LOCK_HOLDS", NULL, FLAG("lock-holds", 0, RECORD), "0|1", "0", "",
     "With HOTPATH_LOCKS: time every hold of a lock. By default one in 64 is timed, and every one of locks "
     "that are held for a microsecond or more.",
     HP_OPTION_FLAG, AT_SETTINGS(record.lock_holds), hp_option_parse_flag},
    {"HOTPATH_IO", NULL, FLAG("io", 0, RECORD), "0|1", "0", "",
     "For hotpath run: count what is read and written: files, connections and labels, and which functions do it.",
     HP_OPTION_FLAG, AT_SETTINGS(record.io), hp_option_parse_flag},
    {"HOTPATH_KEEP", "keep", FLAG("keep", 0, RECORD), "N", "20", "",
     "Number of finished sessions to keep in the directory when a new one begins.", HP_OPTION_COUNT,
     AT_BOTH(record, keep), hp_option_parse_count},
    {"HOTPATH_RUN", NULL, NO_FLAG, "0|1", "0", "",
     "Set by hotpath run, which writes the report: the program itself writes none at its end.", HP_OPTION_FLAG,
     AT_SETTINGS(record.is_run), hp_option_parse_flag},
    {HP_RUN_STACK_PERIOD, NULL, NO_FLAG, "N", "0", "",
     "Set by hotpath run if programs sample their own stacks: nanoseconds of CPU time between two samples of a "
     "thread outside of measured functions; 0 disables it.",
     HP_OPTION_COUNT, AT_SETTINGS(record.stack_period), hp_option_parse_count},
    {"NO_COLOR", NULL, FLAG("no-color", 0, SHOW), "ANY", "", "colour on a terminal",
     "Do not use colour. NO_COLOR may have any value.", HP_OPTION_FLAG, AT_SETTINGS(output.no_color),
     hp_option_parse_no_color},
};

const size_t hp_option_count = sizeof hp_options / sizeof hp_options[0];
_Static_assert(sizeof hp_options / sizeof hp_options[0] <= HP_MAX_OPTIONS, "HP_MAX_OPTIONS has to grow");

bool hp_option_accepts(const struct hp_option *option, const char *value, char *problem, size_t size)
{
    static struct hp_settings ignored; /* too large for a stack, and never read */
    struct hp_text text;
    hp_text_init(&text, problem, size);
    const bool is_accepted = option->parse(option, value, &ignored, &text);
    hp_text_end(&text);
    return is_accepted;
}
