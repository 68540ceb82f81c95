/* The runs that are compared. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* memfd_create */
#include "compared_runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "files.h"
#include "growing_array.h"
#include "report_output.h"
#include "session_dirs.h"
#include "sessions.h"
#include "text.h"

/* --------------------------------------------------------------------------------------------------- one run */

/* Reads the report in an open file. */
static bool read_report(struct hp_compared_runs *runs, int fd, const char *name)
{
    struct stat about;
    char problem[200];
    if (!HP_MAKE_ZEROED_ROOM(runs->all, runs->count + 1, runs->room)) {
        hp_fail("not enough memory for the runs");
        return false;
    }
    const size_t length = fstat(fd, &about) == 0 && about.st_size > 0 ? (size_t)about.st_size : 0;
    const char *bytes = length > 0 ? mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0) : "";
    if (bytes == MAP_FAILED) {
        hp_fail("cannot read '%s': %s", name, strerror(errno));
        return false;
    }
    struct hp_measured_run *run = &runs->all[runs->count];
    const bool is_read = hp_measured_run_read(run, name, bytes, length, problem, sizeof problem);
    if (length > 0)
        munmap((void *)(uintptr_t)bytes, length);
    if (!is_read) {
        hp_fail("'%s' %s", name, problem);
        hp_measured_run_free(run);
    }
    runs->count += is_read;
    return is_read;
}

static bool write_report(struct hp_compared_runs *runs, const struct hp_sessions *parts, FILE *stream)
{
    return (hp_has_time_limits(&runs->limits) ? hp_show_range(parts, &runs->settings, stream, &runs->limits)
                                              : hp_show(parts, &runs->settings, stream, false)) == EXIT_DONE;
}

static bool read_session(struct hp_compared_runs *runs, const struct hp_sessions *parts, const char *name)
{
    const int fd = memfd_create("report", MFD_CLOEXEC);
    FILE *stream = fd >= 0 ? fdopen(fd, "w+") : NULL;
    bool is_read = false;
    if (stream == NULL)
        hp_fail("cannot make the report of '%s': %s", name, strerror(errno));
    else if (write_report(runs, parts, stream))
        is_read = read_report(runs, fd, name);
    if (stream != NULL)
        fclose(stream);
    else if (fd >= 0)
        close(fd);
    return is_read;
}

/* The first byte of a report that is not a blank. Sessions begin with another one. */
static bool is_json(int fd)
{
    char bytes[64];
    const ssize_t length = pread(fd, bytes, sizeof bytes, 0);
    size_t at = 0;
    while (length > 0 && at < (size_t)length && strchr(" \t\r\n", bytes[at]) != NULL)
        at++;
    return length > 0 && at < (size_t)length && bytes[at] == '{';
}

/* A file, or whatever else `hotpath report` accepts. */
static bool read_run(struct hp_compared_runs *runs, const char *name)
{
    const int fd = hp_regular_open(AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
    struct hp_sessions parts = {0};
    bool is_read;
    if (fd >= 0 && (is_json(fd) || hp_text_has_suffix(name, ".json"))) {
        is_read = !hp_has_time_limits(&runs->limits) && read_report(runs, fd, name);
        if (hp_has_time_limits(&runs->limits))
            hp_fail("'%s' is a report, which has no history: --from and --to need sessions or runs", name);
    } else {
        is_read = hp_session_choose(&parts, &runs->settings, name) && read_session(runs, &parts, name);
        hp_sessions_free(&parts);
    }
    if (fd >= 0)
        close(fd);
    return is_read;
}

bool hp_compared_runs_add_report(struct hp_compared_runs *runs, const char *path)
{
    const int fd = hp_regular_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        hp_fail("cannot read '%s': %s", path, strerror(errno));
        return false;
    }
    const bool is_read = read_report(runs, fd, path);
    close(fd);
    return is_read;
}

bool hp_compared_runs_write(struct hp_compared_runs *runs, const char *run, const char *path)
{
    struct hp_sessions parts = {0};
    FILE *stream = NULL;
    bool is_written = hp_session_choose(&parts, &runs->settings, run) && (stream = hp_output_open(path)) != NULL &&
                      write_report(runs, &parts, stream);
    if (stream != NULL)
        is_written = hp_output_close(stream, path, is_written ? EXIT_DONE : EXIT_FAILED) == EXIT_DONE;
    hp_sessions_free(&parts);
    return is_written;
}

/* ---------------------------------------------------------------------------------------------------- folders */

static int is_of_run(const struct dirent *entry)
{
    return hp_text_has_suffix(entry->d_name, ".json") || hp_text_has_suffix(entry->d_name, HP_RUN_SUFFIX) ||
           hp_text_has_suffix(entry->d_name, HP_SESSION_SUFFIX);
}

/* In a folder of runs each report, run and session is one of them. A folder that is a run itself is one. */
static bool read_folder(struct hp_compared_runs *runs, const char *folder)
{
    struct dirent **entries = NULL;
    const int found = scandir(folder, &entries, is_of_run, alphasort);
    bool are_read = found > 0;
    if (found < 0)
        hp_fail("cannot read '%s': %s", folder, strerror(errno));
    else if (found == 0)
        hp_fail("'%s' has no reports (*.json), runs or sessions", folder);
    for (int at = 0; at < found; at++) {
        char *path = NULL;
        if (are_read && asprintf(&path, "%s/%s", folder, entries[at]->d_name) < 0) {
            path = NULL;
            are_read = false;
        }
        are_read = are_read && read_run(runs, path);
        free(path);
        free(entries[at]);
    }
    free(entries);
    return are_read;
}

static bool is_folder_of_runs(const char *name)
{
    struct stat about;
    const size_t length = strlen(name);
    char plain[4096];
    if (stat(name, &about) != 0 || !S_ISDIR(about.st_mode) || length >= sizeof plain)
        return false;
    memcpy(plain, name, length + 1);
    for (size_t at = length; at > 1 && plain[at - 1] == '/'; at--)
        plain[at - 1] = '\0';
    return !hp_text_has_suffix(plain, HP_RUN_SUFFIX);
}

bool hp_compared_runs_add(struct hp_compared_runs *runs, char **names, int count)
{
    for (int at = 0; at < count; at++)
        if (!(is_folder_of_runs(names[at]) ? read_folder : read_run)(runs, names[at]))
            return false;
    return true;
}

/* -------------------------------------------------------------------------------------------------------- all */

void hp_compared_runs_begin(struct hp_compared_runs *runs, const struct hp_arguments *arguments)
{
    hp_arguments_settle(arguments, &runs->settings);
    struct hp_show_settings *show = &runs->settings.show;
    snprintf(show->report, sizeof show->report, "timing,cpu,alloc-bytes,waits,locks,functions,calltree");
    show->functions_limit = show->calltree_limit = HOTPATH_NO_LIMIT;
    show->functions_limit_is_given = true;
    show->percentile_count = 1;
    show->percentiles[0] = 95;
    show->by = HP_BY_FUNCTION;
    show->min_percent = 0;
    show->exclude_wrapper = show->time_exclusive = show->alloc_cumulative = show->cpu_inclusive = false;
    show->focus[0] = show->columns[0] = show->sort[0] = show->slowest[0] = '\0';
    runs->settings.output.format = HP_FORMAT_JSON;
    runs->settings.output.output_path[0] = '\0';
}

bool hp_compared_runs_join(struct hp_comparison *ret_comparison, const struct hp_measured_run *before,
                           size_t before_count, const struct hp_measured_run *now, size_t now_count)
{
    struct hp_measured_run *all = calloc(before_count + now_count + 1, sizeof *all);
    if (all == NULL) {
        hp_fail("not enough memory for the comparison");
        return false;
    }
    memcpy(all, before, before_count * sizeof *all);
    memcpy(all + before_count, now, now_count * sizeof *all);
    *ret_comparison = (struct hp_comparison){.runs = all, .before_count = before_count, .now_count = now_count};
    return true;
}

void hp_compared_runs_free(struct hp_compared_runs *runs)
{
    for (size_t at = 0; at < runs->count; at++)
        hp_measured_run_free(&runs->all[at]);
    free(runs->all);
    runs->all = NULL;
    runs->count = runs->room = 0;
}
