/* One report from one or several session files. SPDX-License-Identifier: MIT */
#include "show.h"

#include <errno.h>
#include <string.h>

#include "cold.h"
#include "command.h"
#include "demangle.h"
#include "instrumented.h"
#include "output_file.h"
#include "places.h"
#include "reader.h"
#include "report.h"
#include "run_stacks.h"
#include "terminal.h"
#include "text.h"
#include "units.h"

static struct hp_report_target target_of(FILE *stream, const struct hp_settings *settings)
{
    const struct hp_terminal terminal = hp_terminal_of(fileno(stream));
    return (struct hp_report_target){.sink = hp_write_to_stream,
                                     .context = stream,
                                     .width = terminal.columns,
                                     .color = terminal.has_color && !settings->output.no_color};
}

/* Which run it is: the newest session may not be the one that was meant. */
static void print_origin(const struct hp_reader *reader, FILE *stream)
{
    char command[200];
    const struct hp_snapshot *first = &reader->sessions[0]->file.snapshot;
    hp_copy_printable(command, sizeof command, hp_snapshot_text(first, first->header.command));
    fprintf(stream, "pid %u: %s", (unsigned)first->header.pid, command);
    if (reader->count > 1)
        fprintf(stream, " (and %zu other process%s)", reader->count - 1, reader->count == 2 ? "" : "es");
    fputc('\n', stream);
}

static int render(struct hp_reader *reader, const struct hp_settings *settings, FILE *stream, bool is_named)
{
    const struct hp_report_target target = target_of(stream, settings);
    if (is_named && settings->output.format == HP_FORMAT_TABLE)
        print_origin(reader, stream);
    const int status = hp_report_render_model(hp_reader_model(reader), settings, &target);
    if (status == HOTPATH_E_SPACE)
        return hp_fail("not enough memory for the report");
    if (fflush(stream) != 0 || status != HOTPATH_OK)
        return hp_fail("cannot write the report: %s", strerror(errno));
    return EXIT_DONE;
}

/* ----------------------------------------------------------------------------------------------- output */

static int render_to_file(struct hp_reader *reader, const struct hp_settings *settings, bool is_named)
{
    char path[1200];
    if (!hp_place_of_report(settings->output.output_path, reader->sessions[0]->file.snapshot.header.pid, path,
                            sizeof path))
        return hp_fail("the path of the output is too long: '%s'", settings->output.output_path);
    FILE *stream = hp_output_open(path);
    if (stream == NULL)
        return EXIT_FAILED;
    const int status = render(reader, settings, stream, is_named);
    if (fclose(stream) != 0 && status == EXIT_DONE)
        return hp_fail("cannot write all of '%s': %s", path, strerror(errno));
    return status;
}

/* ---------------------------------------------------------------------------------------------- reading */

/* False, with one line on stderr: there is no such stretch. */
static bool cut(struct hp_model *model, const struct hp_show_stretch *stretch)
{
    char text[40];
    struct hp_text whole;
    const uint64_t elapsed_ns = hp_run_elapsed_ns(&model->run);
    const uint64_t from_ns = stretch->from.is_given ? hp_moment_in(&stretch->from, elapsed_ns) : 0;
    const uint64_t to_ns = stretch->to.is_given ? hp_moment_in(&stretch->to, elapsed_ns) : elapsed_ns;
    if (from_ns >= to_ns) {
        hp_text_init(&whole, text, sizeof text);
        hp_units_ns(&whole, (double)elapsed_ns);
        hp_fail("there is nothing between these moments: the run took %s", hp_text_end(&whole));
        return false;
    }
    const char *problem = hp_model_cut(model, from_ns, to_ns);
    if (problem != NULL)
        hp_fail("%s", problem);
    return problem == NULL;
}

/* All of it: `stretch` is NULL. */
static int show(const struct hp_sessions *sessions, const struct hp_settings *settings, FILE *stream, bool is_named,
                const struct hp_show_stretch *stretch)
{
    struct hp_reader reader;
    struct hp_run_stacks stacks = {0};
    int status = EXIT_FAILED;
    hp_cold_reader = hp_instrumented_read;
    hp_reader_open(&reader, hp_demangle);
    if (hp_run_stacks_read(sessions, &stacks))
        hp_reader_model(&reader)->functions = &stacks.functions;
    for (size_t at = 0; at < sessions->count; at++)
        if (!hp_reader_add(&reader, sessions->all[at].path))
            hp_fail("%s", reader.problem);
    if (reader.count > 0 && !hp_reader_refresh(&reader))
        hp_fail("%s", reader.problem);
    else if (reader.count > 0 && (stretch == NULL || cut(hp_reader_model(&reader), stretch)))
        status = settings->output.output_path[0] != '\0' ? render_to_file(&reader, settings, is_named)
                                                         : render(&reader, settings, stream, is_named);
    hp_reader_close(&reader);
    hp_run_stacks_free(&stacks);
    return status;
}

int hp_show(const struct hp_sessions *sessions, const struct hp_settings *settings, FILE *stream, bool is_named)
{
    return show(sessions, settings, stream, is_named, NULL);
}

int hp_show_stretch(const struct hp_sessions *sessions, const struct hp_settings *settings, FILE *stream,
                    const struct hp_show_stretch *stretch)
{
    return show(sessions, settings, stream, true, stretch);
}
