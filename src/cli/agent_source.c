/* Where `hotpath mcp` has its answers from. SPDX-License-Identifier: MIT */
#include "agent_source.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "annotate.h"
#include "command.h"
#include "compared_runs.h"
#include "diff_output.h"
#include "session_words.h"
#include "sessions.h"
#include "text.h"

static bool fail(struct hp_agent_source *source, const char *problem)
{
    snprintf(source->problem, sizeof source->problem, "%.*s", (int)sizeof source->problem - 1, problem);
    return false;
}

static const char *problem_of(void *context) { return ((const struct hp_agent_source *)context)->problem; }

/* ----------------------------------------------------------------------------------------------------- sessions */

static void list(void *context, struct hp_sessions *sessions)
{
    const struct hp_agent_source *source = context;
    hp_sessions_measured(sessions, &source->settings.record);
}

static void describe(const struct hp_stored_session *session, struct hp_mcp_session_words *ret_words)
{
    hp_session_put_name(ret_words->name, session);
    hp_session_put_state(ret_words->state, session);
    hp_session_put_processes(ret_words->processes, session);
    hp_put_age(ret_words->age, sizeof ret_words->age, session->began_ns);
}

static bool find(void *context, const char *name, struct hp_stored_session *ret_session)
{
    const struct hp_agent_source *source = context;
    return hp_session_find_stored(ret_session, &source->settings, name);
}

/* ------------------------------------------------------------------------------------------------------ opening */

static struct hp_timestamp moment_of(bool is_given, double seconds)
{
    return (struct hp_timestamp){.is_given = is_given, .number = 1e9 * seconds};
}

/* Naming stacks, locks and files takes longer than all else: an agent asks about one session again and again. */
#define SETTLED_SECONDS 5 /* after the end of a run its last numbers are written */

static bool is_settled(const struct hp_stored_session *session)
{
    struct stat about;
    return (session->state == HP_SESSION_FINISHED || session->state == HP_SESSION_CRASHED) &&
           stat(session->path, &about) == 0 && about.st_mtime + SETTLED_SECONDS < time(NULL);
}

static bool is_kept(const struct hp_agent_source *source, const struct hp_stored_session *session)
{
    const struct hp_stored_session *kept = &source->kept;
    return source->is_open && kept->path[0] != '\0' && strcmp(kept->path, session->path) == 0 &&
           kept->disk_bytes == session->disk_bytes && kept->began_ns == session->began_ns &&
           kept->processes == session->processes;
}

static void close_now(struct hp_agent_source *source)
{
    if (source->is_open)
        hp_opened_run_close(&source->run);
    hp_sessions_free(&source->parts);
    source->is_open = false;
    source->kept.path[0] = '\0';
}

static void close_run(void *context)
{
    struct hp_agent_source *source = context;
    if (source->kept.path[0] == '\0')
        close_now(source);
}

static bool open_now(struct hp_agent_source *source, const struct hp_stored_session *session,
                     const struct hp_time_limits *limits)
{
    close_now(source);
    if (!hp_sessions_at(&source->parts, session->path) || source->parts.count == 0)
        return fail(source, "this session is gone");
    memset(&source->run, 0, sizeof source->run);
    source->is_open = true;
    if (!hp_opened_run_open(&source->run, &source->parts, limits))
        return fail(source, hp_failure());
    if (limits == NULL && is_settled(session))
        source->kept = *session;
    return true;
}

static bool open_run(void *context, const struct hp_mcp_range *range, struct hp_mcp_run *run)
{
    struct hp_agent_source *source = context;
    const struct hp_time_limits limits = {moment_of(range->has_from, range->from),
                                          moment_of(range->has_to, range->to)};
    const bool is_part = hp_has_time_limits(&limits);
    /* Read again, an open one gives back the memory of its last answer. */
    const bool is_ready = !is_part && is_kept(source, &run->session) && hp_reader_refresh(&source->run.reader);
    if (!is_ready && !open_now(source, &run->session, is_part ? &limits : NULL))
        return false;
    const struct hp_named_stacks *stacks = is_part ? &source->run.stacks.range : &source->run.stacks.named;
    run->model = hp_reader_model(&source->run.reader);
    run->stacks = stacks->node_count > 0 ? stacks : NULL;
    return true;
}

/* ----------------------------------------------------------------------------------------------------- commands */

static bool annotate(void *context, const struct hp_mcp_run *run, const char *function, struct hp_text *out)
{
    struct hp_agent_source *source = context;
    char *lines = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&lines, &length);
    if (stream == NULL)
        return fail(source, "not enough memory for the lines of the function");
    const bool is_done = hp_annotate_to(stream, &source->settings, function, run->session.path) == EXIT_DONE;
    fclose(stream);
    if (is_done)
        hp_text_bytes(out, lines, length);
    free(lines);
    return is_done || fail(source, hp_failure());
}

/* A report beside the server: a plain name, so that no client reaches other folders. */
static bool is_report(const char *name)
{
    struct stat about;
    return hp_text_has_suffix(name, ".json") && strchr(name, '/') == NULL && name[0] != '-' &&
           fstatat(AT_FDCWD, name, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(about.st_mode) &&
           about.st_uid == geteuid();
}

static bool add_runs(struct hp_agent_source *source, struct hp_compared_runs *runs,
                     const struct hp_mcp_words *words)
{
    static struct hp_stored_session session;
    for (size_t at = 0; at < words->count; at++) {
        char line[300], *path = words->all[at];
        if (!is_report(path)) {
            snprintf(line, sizeof line, "no session and no report \"%.200s\"; see sessions {}", path);
            if (path[0] == '-' || !hp_session_find_stored(&session, &source->settings, path))
                return fail(source, line);
            path = session.path;
        }
        if (!hp_compared_runs_add(runs, &path, 1))
            return fail(source, hp_failure());
    }
    return true;
}

static bool make_comparison(struct hp_agent_source *source, struct hp_compared_runs *runs,
                            struct hp_comparison *comparison, const struct hp_mcp_words *before,
                            const struct hp_mcp_words *now)
{
    char refusal[1000];
    if (!add_runs(source, runs, before))
        return false;
    comparison->before_count = runs->count;
    if (!add_runs(source, runs, now))
        return false;
    comparison->now_count = runs->count - comparison->before_count;
    comparison->runs = runs->all;
    if (hp_comparison_refusal(comparison, false, refusal, sizeof refusal) != NULL)
        return fail(source, refusal);
    return hp_comparison_make(comparison) || fail(source, "not enough memory for the comparison");
}

static const char *sentence_of(const struct hp_comparison *comparison)
{
    switch (hp_comparison_outcome(comparison)) {
    case HP_OUTCOME_REGRESSION:
        return "Worse: something takes more time or memory, or is done more often; the rows say what.";
    case HP_OUTCOME_UNJUDGED:
        return "Not told apart: too few runs to judge times, and nothing that is counted exactly has grown.";
    default:
        return "Not worse: nothing that these runs could show takes more time or memory, or is done more often.";
    }
}

static bool compare(void *context, const struct hp_mcp_words *before, const struct hp_mcp_words *now, size_t most,
                    struct hp_text *out)
{
    static struct hp_compared_runs runs;
    struct hp_agent_source *source = context;
    struct hp_comparison comparison = {.most_lines = most};
    memset(&runs, 0, sizeof runs);
    hp_compared_runs_begin(&runs, source->arguments);
    const bool is_made = make_comparison(source, &runs, &comparison, before, now);
    if (is_made) {
        hp_text_format(out, "%s\nruns ", sentence_of(&comparison));
        hp_diff_put_text(&comparison, out);
    }
    hp_comparison_free(&comparison);
    hp_compared_runs_free(&runs);
    return is_made;
}

void hp_agent_source_free(struct hp_agent_source *source) { close_now(source); }

struct hp_mcp_source hp_agent_source_of(struct hp_agent_source *source, const struct hp_arguments *arguments)
{
    source->arguments = arguments;
    hp_arguments_settle(arguments, &source->settings);
    return (struct hp_mcp_source){.settings = &source->settings,
                                  .context = source,
                                  .list = list,
                                  .describe = describe,
                                  .find = find,
                                  .open = open_run,
                                  .close = close_run,
                                  .annotate = annotate,
                                  .compare = compare,
                                  .problem = problem_of};
}
