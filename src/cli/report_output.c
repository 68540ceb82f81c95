/* Prints one report from one or several session files. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* mkostemps */
#include "report_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cold.h"
#include "command.h"
#include "demangle.h"
#include "file_stream.h"
#include "files.h"
#include "instrumented.h"
#include "page.h"
#include "process.h"
#include "reader.h"
#include "report.h"
#include "run_facts.h"
#include "run_stacks.h"
#include "session_dirs.h"
#include "text.h"
#include "timestamp.h"
#include "units.h"
#include "weight_sources.h"

/* ---------------------------------------------------------------------------------------------- output files */

static FILE *open_output(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    const int flags = fd >= 0 ? fcntl(fd, F_GETFL) : -1;
    if (flags >= 0)
        fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    return hp_file_stream(fd, "w");
}

FILE *hp_output_open(const char *path)
{
    hp_file_make_parents(path);
    FILE *stream = open_output(path);
    if (stream == NULL)
        hp_fail("cannot write '%s': %s", path, errno == ENXIO ? "it has no reader" : strerror(errno));
    return stream;
}

/* What was written is all that the file has, unless nothing was. */
static bool cut_off(FILE *stream, int status)
{
    struct stat about;
    const off_t end = ftello(stream);
    if (fstat(fileno(stream), &about) != 0 || !S_ISREG(about.st_mode) || (end <= 0 && status != EXIT_DONE))
        return true;
    return ftruncate(fileno(stream), end) == 0;
}

int hp_output_close(FILE *stream, const char *path, int status)
{
    const bool is_flushed = fflush(stream) == 0, is_cut = cut_off(stream, status);
    if ((fclose(stream) != 0 || !is_flushed || !is_cut) && status == EXIT_DONE)
        return hp_fail("cannot write all of '%s': %s", path, strerror(errno));
    return status;
}

bool hp_output_put(FILE *stream, const char *what, hp_output_writer *put, void *context)
{
    char buffer[4096];
    struct hp_text text;
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_write_to_stream, stream);
    if (!put(context, &text))
        return false;
    if (hp_text_finish(&text) && fflush(stream) == 0)
        return true;
    hp_fail("cannot write %s: %s", what, strerror(errno));
    return false;
}

bool hp_output_put_to(const char *path, const char *what, hp_output_writer *put, void *context)
{
    FILE *stream = path != NULL ? hp_output_open(path) : stdout;
    if (stream == NULL)
        return false;
    const bool is_written = hp_output_put(stream, what, put, context);
    if (path == NULL)
        return is_written;
    return hp_output_close(stream, path, is_written ? EXIT_DONE : EXIT_FAILED) == EXIT_DONE;
}

FILE *hp_output_temporary(const char *program, char *path, size_t size)
{
    static const char end[] = ".html";
    const char *folder = getenv("TMPDIR");
    const int length =
        snprintf(path, size, "%s/hotpath-%.60s%sXXXXXX%s", folder != NULL && folder[0] == '/' ? folder : "/tmp",
                 program, program[0] != '\0' ? "-" : "", end);
    errno = ENAMETOOLONG;
    return hp_file_stream(length < (int)size ? mkostemps(path, (int)sizeof end - 1, O_CLOEXEC) : -1, "w");
}

/* --------------------------------------------------------------------------------------------------- reports */

static struct hp_report_target target_of(FILE *stream, const struct hp_settings *settings)
{
    const struct hp_terminal terminal = hp_terminal_of(fileno(stream));
    return (struct hp_report_target){.sink = hp_write_to_stream,
                                     .context = stream,
                                     .width = terminal.columns,
                                     .color = terminal.has_color && !settings->output.no_color};
}

/* Prints which run it is: the newest session may not be the one that was meant. */
static void print_origin(struct hp_reader *reader, FILE *stream)
{
    const size_t processes = hp_reader_model(reader)->run.process_count;
    char command[200], age[24];
    const struct hp_snapshot *first = &reader->sessions[0]->file.snapshot;
    hp_copy_printable(command, sizeof command, hp_snapshot_text(first, first->header.command));
    fprintf(stream, "pid %u: %s", (unsigned)first->header.pid, command);
    if (processes > 1)
        fprintf(stream, " (and %zu other process%s)", processes - 1, processes == 2 ? "" : "es");
    hp_put_age(age, sizeof age, first->header.wall_start_ns);
    fprintf(stream, ", started %s\n", age);
}

/* What to show, and how. */
struct showing {
    struct hp_opened_run run;
    const struct hp_settings *settings;
    bool is_named;
    const struct hp_time_limits *range; /* NULL: the whole run */
    const struct hp_show_page *page;    /* NULL: as the settings say */
};

/* Returns the result of hp_report_render_model. */
static int write_page(struct showing *showing, const struct hp_page_content *content, FILE *stream)
{
    static char buffer[1 << 16];
    struct hp_text text;
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_write_to_stream, stream);
    const bool has_memory = hp_page_write(hp_reader_model(&showing->run.reader), showing->settings, content, &text);
    const bool is_written = hp_text_finish(&text);
    return !has_memory ? HOTPATH_E_SPACE : is_written ? HOTPATH_OK : HOTPATH_E_OUTPUT;
}

/*
 * Adds the stacks of this run, and those of its zones if they are compared or shown first. The other run comes
 * before it: functions in both keep the names that this run gives them. False: no memory.
 */
static bool weigh(struct showing *showing, const struct hp_show_page *page, struct hp_weighted *weighted)
{
    weighted->is_before = false;
    if (showing->run.stacks.named.node_count > 0 && !hp_stack_weights_add(weighted, &showing->run.stacks.named))
        return false;
    if (!weighted->is_compared && !hp_path_weights_add(weighted, hp_reader_model(&showing->run.reader)))
        return false;
    return !(page->is_flame || page->against != NULL) ||
           hp_zone_weights_add(weighted, hp_reader_model(&showing->run.reader));
}

/* The runs besides the one that is shown: that which it is compared with, and further ones of both sides. */
struct others {
    struct hp_run_weights *all;
    size_t count; /* to be closed */
};

static bool add_other(struct showing *showing, struct others *others, const char *name,
                      struct hp_weighted *weighted)
{
    return hp_run_weights_open(&others->all[others->count++], showing->settings, name, NULL, weighted);
}

/* False, with one line on stderr: one of them cannot be read. */
static bool add_others(struct showing *showing, const struct hp_show_page *page, struct hp_weighted *weighted,
                       struct others *others)
{
    const size_t further = page->further_before + page->further_now;
    others->all = calloc(1 + further, sizeof *others->all);
    if (others->all == NULL) {
        hp_fail("not enough memory for the runs that are compared");
        return false;
    }
    weighted->is_before = true;
    bool is_added = add_other(showing, others, page->against, weighted);
    for (size_t at = 0; at < further && is_added; at++) {
        weighted->is_before = at < page->further_before;
        is_added = add_other(showing, others, page->further[at], weighted);
    }
    return is_added;
}

static void close_others(struct others *others)
{
    for (size_t at = 0; at < others->count; at++)
        hp_run_weights_close(&others->all[at]);
    free(others->all);
}

static int render_page(struct showing *showing, FILE *stream)
{
    struct others others = {0};
    const struct hp_show_page page = showing->page != NULL ? *showing->page : (struct hp_show_page){0};
    struct hp_weighted weighted = hp_page_weighted();
    struct hp_page_content content = {.weighted = &weighted,
                                      .named = &showing->run.stacks.named,
                                      .has_sources = page.has_sources,
                                      .is_flame = page.is_flame,
                                      .changes = page.changes,
                                      .runs_now = 1 + page.further_now,
                                      .runs_before = 1 + page.further_before};
    int status = HOTPATH_E_SPACE;
    weighted.is_compared = page.against != NULL;
    weighted.is_by_zone = page.is_by_zone;
    if (page.against != NULL) /* processes of two runs have different numbers */
        weighted.processes = HP_FRAMES_ALL_MERGED;
    if (page.against != NULL && !add_others(showing, &page, &weighted, &others)) {
        status = HOTPATH_E_INACTIVE; /* a line on stderr says why */
    } else if (weigh(showing, &page, &weighted)) {
        content.compared_with = page.against != NULL ? others.all[0].command : NULL;
        status =
            !page.is_flame || weighted.node_count > 1 ? write_page(showing, &content, stream) : HOTPATH_E_INACTIVE;
        if (status == HOTPATH_E_INACTIVE)
            hp_fail("this session has no stacks and no measured functions; 'hotpath doctor' checks whether this "
                    "machine allows sampling stacks");
    }
    hp_weighted_free(&weighted);
    close_others(&others);
    return status;
}

static int render(struct showing *showing, FILE *stream)
{
    const struct hp_settings *settings = showing->settings;
    const struct hp_report_target target = target_of(stream, settings);
    if (showing->is_named && settings->output.format == HP_FORMAT_TABLE && showing->page == NULL)
        print_origin(&showing->run.reader, stream);
    const int status = settings->output.format == HP_FORMAT_HTML || showing->page != NULL
                           ? render_page(showing, stream)
                           : hp_report_render_model(hp_reader_model(&showing->run.reader), settings, &target);
    if (status == HOTPATH_E_INACTIVE)
        return EXIT_FAILED;
    if (status == HOTPATH_E_SPACE)
        return hp_fail("not enough memory for the report");
    if (fflush(stream) != 0 || status != HOTPATH_OK)
        return hp_fail("cannot write the report: %s", strerror(errno));
    return EXIT_DONE;
}

/* ----------------------------------------------------------------------------------------------- output */

static int render_to_file(struct showing *showing)
{
    char path[1200];
    const char *pattern = showing->settings->output.output_path;
    if (!hp_session_dir_of_report(pattern, showing->run.reader.sessions[0]->file.snapshot.header.pid, path,
                                  sizeof path))
        return hp_fail("the output path is too long: '%s'", pattern);
    FILE *stream = hp_output_open(path);
    if (stream == NULL)
        return EXIT_FAILED;
    return hp_output_close(stream, path, render(showing, stream));
}

/* ---------------------------------------------------------------------------------------------- reading */

/* False, with one line on stderr: there is no such part of the run. */
static bool cut(struct hp_opened_run *run, const struct hp_time_limits *range)
{
    struct hp_model *model = hp_reader_model(&run->reader);
    uint64_t from_ns, to_ns;
    if (!hp_run_limits(&model->run, range, &from_ns, &to_ns))
        return false;
    const bool has_stacks = hp_run_stacks_cut(&run->stacks, &model->run, from_ns, to_ns);
    const char *problem = hp_model_cut(model, from_ns, to_ns);
    if (problem != NULL)
        hp_fail("%s", problem);
    model->functions = has_stacks ? &run->stacks.range_functions : NULL;
    return problem == NULL;
}

/* The folder that the first session is in; that of a run has facts about it. False: it has no path. */
static bool find_folder(const struct hp_sessions *sessions, char *folder, size_t size)
{
    const char *slash = sessions->count > 0 ? strrchr(sessions->all[0].path, '/') : NULL;
    if (slash != NULL)
        snprintf(folder, size, "%.*s", (int)(slash - sessions->all[0].path), sessions->all[0].path);
    return slash != NULL;
}

/*
 * The signal that ended the program of a run, as its folder has it. `parent` is that of the first process shown:
 * only the program itself is a child of 'hotpath run', whose process id begins the folder's name. NULL: none, or
 * unknown.
 */
static const char *killed_by(const char *folder, uint32_t parent, char *text, size_t size)
{
    const char *name = strrchr(folder, '/');
    if (name == NULL || strtoul(name + 1, NULL, 10) != parent)
        return NULL;
    return hp_run_ending_read(folder, text, size) && strncmp(text, "exit ", 5) != 0 ? text : NULL;
}

static void take_facts(struct hp_model *model, const char *folder, struct hp_program_facts *facts)
{
    _Static_assert(sizeof facts->source >= HP_RUN_SOURCE && sizeof facts->natives >= HP_RUN_NATIVES,
                   "all that a folder may say");
    if (!hp_text_has_suffix(folder, HP_RUN_SUFFIX))
        return;
    model->killed_by =
        killed_by(folder, model->run.sessions[0]->header.parent_pid, facts->ending, sizeof facts->ending);
    if (hp_run_source_read(folder, facts->source))
        model->source = facts->source;
    if (hp_run_natives_read(folder, facts->natives))
        model->natives = facts->natives;
}

static bool open_model(struct hp_opened_run *run, const struct hp_sessions *sessions,
                       const struct hp_time_limits *range)
{
    struct hp_model *model = hp_reader_model(&run->reader);
    char folder[sizeof sessions->all->path];
    run->stacks.named.began_ns = model->run.start_ns;
    if (find_folder(sessions, folder, sizeof folder))
        take_facts(model, folder, &run->facts);
    return range == NULL || cut(run, range);
}

bool hp_opened_run_open(struct hp_opened_run *run, const struct hp_sessions *sessions,
                        const struct hp_time_limits *range)
{
    struct hp_reader *reader = &run->reader;
    hp_cold_reader = hp_instrumented_read;
    hp_reader_open(reader, hp_demangle);
    if (hp_run_stacks_read(sessions, &run->stacks))
        hp_reader_model(reader)->functions = &run->stacks.functions;
    if (hp_run_locks_read(sessions, &run->locks))
        hp_reader_model(reader)->locks = &run->locks.profile;
    if (hp_run_io_read(sessions, &run->io))
        hp_reader_model(reader)->io = &run->io.profile;
    for (size_t at = 0; at < sessions->count; at++)
        if (!hp_reader_add(reader, sessions->all[at].path))
            hp_fail("%s", reader->problem);
    if (reader->count > 0 && !hp_reader_refresh(reader)) {
        hp_fail("%s", reader->problem);
        return false;
    }
    return reader->count > 0 && open_model(run, sessions, range);
}

void hp_opened_run_close(struct hp_opened_run *run)
{
    hp_reader_close(&run->reader);
    hp_named_locks_free(&run->locks);
    hp_named_io_free(&run->io);
    hp_run_stacks_free(&run->stacks);
}

static int show(const struct hp_sessions *sessions, struct showing *showing, FILE *stream)
{
    int status = EXIT_FAILED;
    if (hp_opened_run_open(&showing->run, sessions, showing->range))
        status =
            showing->settings->output.output_path[0] != '\0' ? render_to_file(showing) : render(showing, stream);
    hp_opened_run_close(&showing->run);
    return status;
}

int hp_show(const struct hp_sessions *sessions, const struct hp_settings *settings, FILE *stream, bool is_named)
{
    return show(sessions, &(struct showing){.settings = settings, .is_named = is_named}, stream);
}

int hp_show_page(const struct hp_sessions *sessions, const struct hp_settings *settings, FILE *stream,
                 const struct hp_show_page *page)
{
    return show(sessions, &(struct showing){.settings = settings, .page = page}, stream);
}

int hp_show_range(const struct hp_sessions *sessions, const struct hp_settings *settings, FILE *stream,
                  const struct hp_time_limits *range)
{
    return show(sessions, &(struct showing){.settings = settings, .is_named = true, .range = range}, stream);
}

/* ------------------------------------------------------------------------------------- for console and server */

static bool list(void *settings, struct hp_sessions *sessions)
{
    return hp_sessions_measured(sessions, &((const struct hp_settings *)settings)->record);
}

static bool ending(const char *path, char *text, size_t size)
{
    return hp_text_has_suffix(path, HP_RUN_SUFFIX) && hp_run_ending_read(path, text, size);
}

static bool write_temporary(void *settings, const char *path, const char *program, char *text, size_t size)
{
    static struct hp_settings page;
    struct hp_sessions sessions = {0};
    hp_settings_copy(&page, settings);
    page.output.format = HP_FORMAT_HTML;
    page.output.output_path[0] = '\0';
    FILE *file = hp_output_temporary(program, text, size);
    if (file == NULL) {
        snprintf(text, size, "Cannot create a file for the page: %s", strerror(errno));
        return false;
    }
    bool is_written = hp_sessions_at(&sessions, path) && sessions.count > 0 &&
                      hp_show(&sessions, &page, file, false) == EXIT_DONE;
    is_written = fclose(file) == 0 && is_written;
    hp_sessions_free(&sessions);
    if (!is_written) {
        unlink(text);
        snprintf(text, size, "Cannot write the page; 'hotpath report --format html' shows why");
    }
    return is_written;
}

struct hp_program_source hp_program_source_of(const struct hp_settings *settings)
{
    return (struct hp_program_source){.list = list,
                                      .parts = hp_sessions_at,
                                      .ending = ending,
                                      .take_facts = take_facts,
                                      .write_page = write_temporary,
                                      .context = (void *)(uintptr_t)settings};
}
