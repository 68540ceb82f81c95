/* hotpath report: a session file as a report. SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command.h"
#include "options.h"
#include "report.h"
#include "session_file.h"

struct request {
    const char *format; /* NULL: as the environment says */
    const char *path;   /* NULL: the newest session */
};

static const char *look_up(const char *name, void *context)
{
    (void)context;
    return getenv(name);
}

static void warn(const char *line, void *context)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

static bool write_out(void *context, const char *bytes, size_t length)
{
    return fwrite(bytes, 1, length, context) == length;
}

/* --------------------------------------------------------------------------------------------- usage */

static const char *const format_names[] = {
    [HP_FORMAT_TABLE] = "table",
    [HP_FORMAT_JSON] = "json",
    [HP_FORMAT_JSON_PRETTY] = "json-pretty",
    [HP_FORMAT_NONE] = "none",
};

static bool find_format(const char *name, uint32_t *ret_format)
{
    for (uint32_t format = 0; format < sizeof format_names / sizeof format_names[0]; format++)
        if (strcmp(name, format_names[format]) == 0) {
            *ret_format = format;
            return true;
        }
    return false;
}

/* -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct request *request)
{
    static const struct option options[] = {
        {"format", required_argument, NULL, 'f'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    opterr = 0;
    optind = 0; /* argv is not the program's: begin anew */
    for (int option; (option = getopt_long(argc, argv, ":f:h", options, NULL)) != -1;) {
        switch (option) {
        case 'f':
            request->format = optarg;
            break;
        case 'h':
            hp_command_help(&hp_command_report);
            return EXIT_DONE;
        case ':':
            return hp_command_misuse(&hp_command_report, "a value is missing after", argv[optind - 1]);
        default:
            return hp_command_misuse(&hp_command_report, "unknown option", argv[optind - 1]);
        }
    }
    if (optind < argc)
        request->path = argv[optind++];
    if (optind < argc)
        return hp_command_misuse(&hp_command_report, "one file at a time, not also", argv[optind]);
    return -1;
}

/*
 * The environment says how a report looks, here as in the program. Not where it goes: that is for the program,
 * whose output file would be overwritten, and a format of none would make this command pointless.
 */
static int settle(const struct request *request, struct hp_settings *settings)
{
    hp_settings_resolve(settings, NULL, look_up, NULL, warn, NULL);
    if (settings->format == HP_FORMAT_NONE)
        settings->format = HP_FORMAT_TABLE;
    if (request->format != NULL && !find_format(request->format, &settings->format))
        return hp_command_misuse(&hp_command_report, "the format is table, json, json-pretty or none, not",
                                 request->format);
    return -1;
}

/* ---------------------------------------------------------------------------------------------- work */

static struct hp_report_target target_of(FILE *stream, const struct hp_settings *settings)
{
    struct hp_report_target target = {.sink = write_out, .context = stream};
    struct winsize size;
    const char *terminal = getenv("TERM");
    if (isatty(fileno(stream)) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0) {
        target.width = size.ws_col;
        target.color = !settings->no_color && (terminal == NULL || strcmp(terminal, "dumb") != 0);
    }
    return target;
}

static int fail(const char *line)
{
    fprintf(stderr, "hotpath: %s\n", line);
    return EXIT_FAILED;
}

/* Which run it is: the newest session may not be the one that was meant. */
static void print_origin(const struct hp_snapshot *snapshot)
{
    char command[200];
    snprintf(command, sizeof command, "%s", hp_snapshot_text(snapshot, snapshot->header.command));
    for (char *at = command; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            *at = '?'; /* nobody's arguments shall steer the terminal */
    printf("pid %u: %s\n", (unsigned)snapshot->header.pid, command);
}

static int render(const struct hp_session_file *file, const struct hp_settings *settings)
{
    const struct hp_report_target target = target_of(stdout, settings);
    if (settings->format == HP_FORMAT_TABLE)
        print_origin(&file->snapshot);
    const int status = hp_report_render(&file->snapshot, settings, &target);
    if (status == HOTPATH_E_SPACE)
        return fail("not enough memory for the report");
    if (fflush(stdout) != 0 || status != HOTPATH_OK)
        return fail("cannot write the report");
    return EXIT_DONE;
}

static int report(const struct request *request, const struct hp_settings *settings)
{
    static struct hp_session_file file;
    char newest[2048];
    const char *path = request->path;
    if (path == NULL) {
        if (!hp_session_file_newest(settings, newest, sizeof newest))
            return fail("there is no session yet: run a program built with -DHOTPATH, or name a session file");
        path = newest;
    }
    const int status = hp_session_file_open(&file, path) ? render(&file, settings) : fail(file.problem);
    hp_session_file_close(&file);
    return status;
}

static int run(int argc, char **argv)
{
    static struct hp_settings settings;
    struct request request = {0};
    int status = parse(argc, argv, &request);
    if (status < 0)
        status = settle(&request, &settings);
    return status < 0 ? report(&request, &settings) : status;
}

const struct hp_command hp_command_report = {
    .name = "report",
    .usage = "hotpath report [--format FORMAT] [FILE]",
    .help = "Prints the report of a session, running, finished or killed.",
    .details = "  FILE                a session file; without it, the newest session\n"
               "  -f, --format FORMAT table, json, json-pretty or none\n"
               "  -h, --help          this text\n"
               "\n"
               "What is shown is chosen as in the program, by HOTPATH_REPORT, HOTPATH_LIMIT,\n"
               "HOTPATH_FOCUS, HOTPATH_PERCENTILES, HOTPATH_COLUMNS and so on.\n",
    .run = run,
};
