/* The table of options. SPDX-License-Identifier: MIT */
#include "option_values.h"

#include "stack_ring.h"
#include "text.h"

/* Where the values of an option are: in both structs, usually under the same name, or in one of them only. */
#define AT_SETTINGS_TOO(field) offsetof(struct hp_settings, field), sizeof((struct hp_settings *)0)->field
#define AT_BOTH(group, name) offsetof(struct hotpath_options, name), AT_SETTINGS_TOO(group.name)
#define AT_KINDS(name) offsetof(struct hotpath_options, name), AT_SETTINGS_TOO(record.kinds)
#define AT_RATE(name) offsetof(struct hotpath_options, name), AT_SETTINGS_TOO(record.time_period)
#define AT_OPTIONS(name) offsetof(struct hotpath_options, name), 0, 0
#define AT_SETTINGS(field) 0, AT_SETTINGS_TOO(field)

/* The same on the command line. */
#define FLAG(name, letter, scope) name, letter, HP_SCOPE_##scope
#define FLAG_OF_TWO(name, letter, one, other) name, letter, HP_SCOPE_##one | HP_SCOPE_##other
#define NO_FLAG NULL, 0, 0

const struct hp_option hp_options[] = {
    [HP_RECORD_INDEX] = {"HOTPATH", "record", FLAG("only", 0, RECORD), "0|1|LIST", "timing,alloc", "",
                         "What is recorded: 0 nothing, 1 the usual, or a list of timing, alloc (where malloc is "
                         "watched), cpu; other than 0 it also starts recording in programs without HOTPATH_MAIN.",
                         HP_OPTION_TEXT, AT_KINDS(record), hp_option_parse_record},
    [HP_CPU_INDEX] =
        {"HOTPATH_CPU", "cpu", FLAG("cpu", 0, RECORD), "0|1", "0", "",
         "Sample whose processor time it is, beside what else is recorded; hotpath run does unless told "
         "otherwise.",
         HP_OPTION_FLAG, AT_BOTH(record, cpu), hp_option_parse_flag},
    {"HOTPATH_CPU_RATE", "cpu_rate", FLAG("cpu-rate", 0, RECORD), "N", "997", "",
     "Samples for each second of processor time, from 1 to 10000.", HP_OPTION_COUNT, AT_BOTH(record, cpu_rate),
     hp_option_parse_cpu_rate},
    {"HOTPATH_CPU_ENGINE", "cpu_engine", FLAG("cpu-engine", 0, RECORD), "auto|timers", "auto", "",
     "What samples processor time: the best there is, or timers alone.", HP_OPTION_CHOICE,
     AT_BOTH(record, cpu_engine), hp_option_parse_engine},
    {"HOTPATH_ALLOC_STACKS", NULL, FLAG("alloc-stacks", 0, RECORD), "SIZE", "512KB", "",
     "By hotpath run: mean distance, in allocated bytes, between allocations that are sampled with their stacks; 0 "
     "samples none.",
     HP_OPTION_BYTES, AT_SETTINGS(record.alloc_stacks), hp_option_parse_alloc_stacks},
    {"HOTPATH_FILTER", "filter", FLAG("filter", 0, RECORD), "LIST", "", "no filter (every site)",
     "Record only the functions and blocks that a list of patterns chooses, such as parse*,/^lex/,file:json.c; "
     "-ITEM leaves out, @PATH is a file of items. See PATTERNS in hotpath(7).",
     HP_OPTION_TEXT, AT_BOTH(record, filter), hp_option_parse_patterns},
    {"HOTPATH_SKIP", "skip", FLAG("skip", 0, RECORD), "LIST", "", "nothing left out",
     "Do not record the functions and blocks that match any item of this list of patterns.", HP_OPTION_TEXT,
     AT_BOTH(record, skip), hp_option_parse_patterns},
    {"HOTPATH_LOG", "log", FLAG("log", 0, RECORD), "LIST", "", "only what the program logs itself",
     "Keep the latest calls, with their notes, of the functions and blocks that match this list of patterns.",
     HP_OPTION_TEXT, AT_BOTH(record, log), hp_option_parse_patterns},
    /* The general rate before those of single sections, as with the limits. */
    {"HOTPATH_TIME_SAMPLING_RATE", "time_sampling_rate", FLAG("sampling", 0, RECORD), "1/N|PART", "1", "",
     "Part of the calls that is timed, such as 1/16 or 0.0625; all are counted, and times are scaled up.",
     HP_OPTION_TEXT, AT_RATE(time_sampling_rate), hp_option_parse_sampling_rate},
    {"HOTPATH_FUNCTIONS_TIME_SAMPLING_RATE", "functions_time_sampling_rate", FLAG("functions-sampling", 0, RECORD),
     "1/N|PART", "", "HOTPATH_TIME_SAMPLING_RATE", "The same for functions and blocks alone.", HP_OPTION_TEXT,
     AT_RATE(functions_time_sampling_rate), hp_option_parse_sampling_rate},
    {"HOTPATH_MEASURING_BOUND", "measuring_bound", FLAG("measuring-bound", 0, RECORD), "PERCENT", "50", "",
     "Functions measured by the compiler are only counted, and now and then timed, where measuring would be more "
     "than "
     "this part of their time; 0 times every call.",
     HP_OPTION_LIMIT, AT_BOTH(record, measuring_bound), hp_option_parse_bound},
    {"HOTPATH_KEYS_LIMIT", "keys_limit", FLAG("keys-limit", 0, RECORD), "N", "256", "",
     "Keys of one HOTPATH_BLOCK_KEY that get rows of their own; further ones share one.", HP_OPTION_COUNT,
     AT_BOTH(record, keys_limit), hp_option_parse_count},
    {"HOTPATH_REPORT", "report", FLAG("section", 's', SHOW), "LIST", "short", "",
     "Sections of the report: short, auto (all that have something to tell), all, a list such as timing,calltree, "
     "or -NAME to leave one out.",
     HP_OPTION_TEXT, AT_BOTH(show, report), hp_option_parse_sections},
    {"HOTPATH_FOCUS", "focus", FLAG("focus", 0, SHOW), "LIST", "", "no focus (every row)",
     "Show only the rows that a list of patterns chooses, as HOTPATH_FILTER does.", HP_OPTION_TEXT,
     AT_BOTH(show, focus), hp_option_parse_patterns},
    {"HOTPATH_SLOWEST", "slowest", FLAG("slowest", 0, SHOW), "NAME|/REGEX/", "", "no function",
     "Show the slowest call of the function NAME, or of those whose name contains NAME or matches REGEX, with what "
     "ran "
     "inside it.",
     HP_OPTION_TEXT, AT_BOTH(show, slowest), hp_option_parse_pattern},
    {"HOTPATH_COLUMNS", "columns", FLAG("columns", 'c', SHOW), "LIST", "", "the usual columns",
     "Further columns of the table, such as self,min,max,threads, or all.", HP_OPTION_TEXT, AT_BOTH(show, columns),
     hp_option_parse_columns},
    {"HOTPATH_SORT", "sort", FLAG("sort", 0, SHOW), "COLUMN", "", "the usual order",
     "Order of the rows: by a column such as total, self, calls, avg, p95 or name; -COLUMN turns it round.",
     HP_OPTION_TEXT, AT_BOTH(show, sort), hp_option_parse_sort},
    {"HOTPATH_BY", "by", FLAG("by", 0, SHOW), "function|thread", "function", "",
     "What a row of the sections about functions is about: a function, or a function on one thread.",
     HP_OPTION_CHOICE, AT_BOTH(show, by), hp_option_parse_by},
    {"HOTPATH_PERCENTILES", "percentiles", FLAG("percentiles", 'p', SHOW), "LIST", "95", "",
     "Percentiles shown: up to 10 numbers from 0 to 100, fractions allowed; 0 is the minimum and 100 the maximum.",
     HP_OPTION_TEXT, AT_BOTH(show, percentiles), hp_option_parse_percentiles},
    /* Before the limits of single sections: see the top of this file. */
    {"HOTPATH_LIMIT", "limit", FLAG("limit", 'n', SHOW), "N", "", "the limit of each section",
     "Rows shown of every section; 0 shows all.", HP_OPTION_LIMIT, AT_OPTIONS(limit), hp_option_parse_limit_of_all},
    {"HOTPATH_FUNCTIONS_LIMIT", "functions_limit", FLAG("functions-limit", 0, SHOW), "N", "15", "",
     "Rows shown of the sections about functions and processes; 0 shows all.", HP_OPTION_LIMIT,
     AT_BOTH(show, functions_limit), hp_option_parse_limit},
    {"HOTPATH_CALLTREE_LIMIT", "calltree_limit", FLAG("calltree-limit", 0, SHOW), "N", "50", "",
     "Rows shown of the call tree; 0 shows all.", HP_OPTION_LIMIT, AT_BOTH(show, calltree_limit),
     hp_option_parse_limit},
    {"HOTPATH_LOGS_LIMIT", "logs_limit", FLAG_OF_TWO("logs-limit", 0, RECORD, SHOW), "N", "50", "",
     "Latest calls kept, and shown, of each function whose calls are logged; 0 sets no limit.", HP_OPTION_LIMIT,
     AT_BOTH(record, logs_limit), hp_option_parse_limit},
    {"HOTPATH_MIN_PERCENT", "min_percent", FLAG("min-percent", 0, SHOW), "P", "0", "",
     "Leave out functions and paths of calls whose share of the whole is below P percent, fractions allowed.",
     HP_OPTION_NUMBER, AT_BOTH(show, min_percent), hp_option_parse_percent},
    {"HOTPATH_TIME_EXCLUSIVE", "time_exclusive", FLAG("exclusive", 0, SHOW), "0|1", "0", "",
     "Rank and show the time spent in a function itself, without the measured functions it calls.", HP_OPTION_FLAG,
     AT_BOTH(show, time_exclusive), hp_option_parse_flag},
    {"HOTPATH_ALLOC_CUMULATIVE", "alloc_cumulative", FLAG("alloc-cumulative", 0, SHOW), "0|1", "0", "",
     "Count what measured functions inside allocate to the functions that call them, too.", HP_OPTION_FLAG,
     AT_BOTH(show, alloc_cumulative), hp_option_parse_flag},
    {"HOTPATH_ALLOC_METRIC", "alloc_metric", FLAG("alloc-metric", 0, SHOW),
     "bytes-total|bytes-max|count-total|count-max", "bytes-total", "",
     "What the table of allocations leads with: bytes or numbers, of all that a call allocates or of the most that "
     "lived "
     "at once during it.",
     HP_OPTION_CHOICE, AT_BOTH(show, alloc_metric), hp_option_parse_metric},
    {"HOTPATH_CPU_INCLUSIVE", "cpu_inclusive", FLAG("cpu-inclusive", 0, SHOW), "0|1", "0", "",
     "Count the processor time of measured functions inside to the functions that call them, too.", HP_OPTION_FLAG,
     AT_BOTH(show, cpu_inclusive), hp_option_parse_flag},
    {"HOTPATH_DEBUGINFOD", NULL, FLAG("debuginfod", 0, NAMES), "0|1", "0", "",
     "By hotpath run and record, and by annotate --assembly: ask the servers of DEBUGINFOD_URLS for debug "
     "information that is not installed, by debuginfod-find.",
     HP_OPTION_FLAG, AT_SETTINGS(show.debuginfod), hp_option_parse_flag},
    {"HOTPATH_EXCLUDE_WRAPPER", "exclude_wrapper", FLAG("exclude-wrapper", 0, SHOW), "0|1", "0", "",
     "Leave the main function out and show shares of the sum of the other rows.", HP_OPTION_FLAG,
     AT_BOTH(show, exclude_wrapper), hp_option_parse_flag},
    {"HOTPATH_OUTPUT_FORMAT", "format", FLAG("format", 'f', OUTPUT), "table|json|json-pretty|html|none", "table",
     "", "How the report is written; html is a page for the browser, by hotpath report and run.", HP_OPTION_CHOICE,
     AT_BOTH(output, format), hp_option_parse_format},
    {"HOTPATH_OUTPUT_PATH", "output_path", FLAG("output", 'o', OUTPUT), "PATH", "", "stderr",
     "File the report is written to; %p in it stands for the process id.", HP_OPTION_TEXT,
     AT_BOTH(output, output_path), hp_option_parse_text},
    {"HOTPATH_REPORT_LABEL", "label", FLAG("label", 0, SHOW), "TEXT", "", "no label",
     "A name for this run, shown in the report.", HP_OPTION_TEXT, AT_BOTH(record, label), hp_option_parse_text},
    {"HOTPATH_USER_METADATA", "metadata", FLAG("metadata", 0, SHOW), "KEY=VALUE,...", "", "no metadata",
     "Facts of your own about this run, kept in the report.", HP_OPTION_TEXT, AT_BOTH(record, metadata),
     hp_option_parse_metadata},
    {"HOTPATH_SHUTDOWN_MS", "shutdown_ms", FLAG("timeout", 0, RECORD), "MS", "0", "",
     "Report and end the process after this many milliseconds, by HOTPATH_MAIN or hotpath run; 0 never does.",
     HP_OPTION_COUNT, AT_BOTH(record, shutdown_ms), hp_option_parse_count},
    {"HOTPATH_LEAVE_SIGNALS", "leave_signals", NO_FLAG, "0|1", "0", "",
     "Do not report on SIGINT and SIGTERM; without it HOTPATH_MAIN has both report and then do what they did "
     "before.",
     HP_OPTION_FLAG, AT_BOTH(record, leave_signals), hp_option_parse_flag},
    {"HOTPATH_DIR", "dir", FLAG("dir", 0, FOLDER), "PATH", "",
     "$XDG_RUNTIME_DIR/hotpath, /dev/shm/hotpath-UID or /tmp/hotpath-UID", "Folder of the session file.",
     HP_OPTION_TEXT, AT_BOTH(record, dir), hp_option_parse_text},
    {"HOTPATH_MAX_BYTES", "max_bytes", FLAG("max-bytes", 0, RECORD), "SIZE", "",
     "a quarter of the free space, at most 64MB",
     "Largest size of the session file, from 256KB to 4GB; K, M and G are powers of 1024.", HP_OPTION_BYTES,
     AT_BOTH(record, max_bytes), hp_option_parse_max_bytes},
    {"HOTPATH_RESERVE", "reserve", FLAG("reserve", 0, RECORD), "0|1", "0", "",
     "Reserve the whole session file at start, so that recording makes no system call later; then only the thread "
     "that starts is recorded.",
     HP_OPTION_FLAG, AT_BOTH(record, reserve), hp_option_parse_flag},
    {"HOTPATH_WAITS", "waits", NO_FLAG, "0|1", "0", "",
     "A thread of the library watches what the program's threads wait for; hotpath run does that from outside.",
     HP_OPTION_FLAG, AT_BOTH(record, waits), hp_option_parse_flag},
    {"HOTPATH_KEEP", "keep", FLAG("keep", 0, RECORD), "N", "20", "",
     "Finished sessions kept in the folder when another one begins; 0 keeps none.", HP_OPTION_COUNT,
     AT_BOTH(record, keep), hp_option_parse_count},
    {"HOTPATH_RUN", NULL, NO_FLAG, "0|1", "0", "",
     "Set by hotpath run, which reports when all is over: the program writes no report at its end.", HP_OPTION_FLAG,
     AT_SETTINGS(record.is_run), hp_option_parse_flag},
    {HP_RUN_STACK_PERIOD, NULL, NO_FLAG, "N", "0", "",
     "Set by hotpath run where programs hand it the stacks of their samples: nanoseconds of processor time between "
     "two, in threads that are in no measured function. 0: they do not.",
     HP_OPTION_COUNT, AT_SETTINGS(record.stack_period), hp_option_parse_count},
    {"NO_COLOR", NULL, FLAG("no-color", 0, SHOW), "ANY", "", "colour on a terminal",
     "Set to anything: no colour, not even on a terminal.", HP_OPTION_FLAG, AT_SETTINGS(output.no_color),
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
