/* hotpath mcp: answers coding agents over stdin and stdout. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* ppoll */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_runs.h"
#include "agent_source.h"
#include "arguments.h"
#include "command.h"
#include "mcp_server.h"
#include "text.h"

#define CHUNK_BYTES 65536u

/* -------------------------------------------------------------------------------------------------------- lines */

/* What comes in, until a line is whole. */
struct lines {
    struct hp_body bytes;
    bool is_too_long; /* the rest of this line is skipped */
};

struct conversation {
    struct hp_mcp_server server;
    struct hp_agent_run run;
    struct lines lines;
    struct hp_body answer;
    int output; /* where the client reads; nobody else writes there */
    bool is_over;
};

static void send_answer(struct conversation *talk)
{
    size_t done = 0;
    while (done < talk->answer.length && !talk->is_over) {
        const ssize_t more = write(talk->output, talk->answer.bytes + done, talk->answer.length - done);
        if (more < 0 && errno != EINTR)
            talk->is_over = true; /* the client is gone */
        done += more > 0 ? (size_t)more : 0;
    }
    hp_body_empty(&talk->answer);
}

static void take_line(struct conversation *talk, const char *line, size_t length)
{
    if (talk->lines.is_too_long || length > HP_MCP_LINE_MOST)
        hp_mcp_server_long_line(&talk->answer);
    else
        hp_mcp_server_line(&talk->server, line, length, &talk->answer);
    talk->lines.is_too_long = false;
    send_answer(talk);
}

static void take_lines(struct conversation *talk)
{
    struct hp_body *bytes = &talk->lines.bytes;
    size_t from = 0;
    for (const char *end; bytes->length > from && !talk->is_over; from = (size_t)(end - bytes->bytes) + 1) {
        end = memchr(bytes->bytes + from, '\n', bytes->length - from);
        if (end == NULL)
            break;
        take_line(talk, bytes->bytes + from, (size_t)(end - bytes->bytes) - from);
    }
    memmove(bytes->bytes, bytes->bytes + from, bytes->length - from);
    bytes->length -= from;
    if (bytes->length > HP_MCP_LINE_MOST) {
        talk->lines.is_too_long = true;
        hp_body_empty(bytes);
    }
}

static void take_input(struct conversation *talk)
{
    static char chunk[CHUNK_BYTES];
    const ssize_t length = read(STDIN_FILENO, chunk, sizeof chunk);
    if (length < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (length <= 0) {
        talk->is_over = true;
        return;
    }
    if (!hp_body_add(&talk->lines.bytes, chunk, (size_t)length)) {
        hp_fail("not enough memory for a line");
        talk->is_over = true;
        return;
    }
    take_lines(talk);
}

/* ------------------------------------------------------------------------------------------------- conversation */

/* The run is found by the pid of `hotpath run`, with which its name begins; an older one may have had the same. */
static void end_run(struct conversation *talk)
{
    static struct hp_sessions sessions;
    const struct hp_mcp_source *source = talk->server.source;
    struct hp_mcp_session_words words;
    const char *problem = talk->run.problem[0] != '\0' ? talk->run.problem
                                                       : "the program left no session: nothing of it was measured";
    bool is_found = false;
    source->list(source->context, &sessions);
    for (size_t at = 0; at < sessions.count && !is_found; at++) {
        source->describe(&sessions.all[at], &words);
        is_found = sessions.all[at].began_ns >= talk->run.began_ns &&
                   strncmp(words.name, talk->run.session, strlen(talk->run.session)) == 0;
    }
    hp_mcp_server_run_ended(&talk->server, is_found ? words.name : "", is_found ? NULL : problem, &talk->answer);
    hp_sessions_free(&sessions);
    send_answer(talk);
}

static volatile sig_atomic_t told;

static void on_signal(int signal) { told = signal; }

static void hold_signals(sigset_t *ret_usual)
{
    const struct sigaction ends = {.sa_handler = on_signal}, ignored = {.sa_handler = SIG_IGN};
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    sigaddset(&held, SIGCHLD);
    sigprocmask(SIG_BLOCK, &held, ret_usual);
    sigaction(SIGINT, &ends, NULL);
    sigaction(SIGTERM, &ends, NULL);
    sigaction(SIGHUP, &ends, NULL);
    sigaction(SIGPIPE, &ignored, NULL);
}

static void on_child(int signal) { (void)signal; }

/* What has ended leaves a signal that interrupts the wait. */
static void converse(struct conversation *talk, const sigset_t *usual)
{
    const struct sigaction child = {.sa_handler = on_child};
    sigaction(SIGCHLD, &child, NULL);
    while (!talk->is_over && told == 0) {
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
        const int left = hp_agent_run_time_left(&talk->run);
        const struct timespec rest = {left / 1000, (long)(left % 1000) * 1000000L};
        const int ready = ppoll(&input, 1, left >= 0 ? &rest : NULL, usual);
        if (hp_agent_run_has_ended(&talk->run))
            end_run(talk);
        if (ready > 0)
            take_input(talk);
    }
}

/* A program that still runs ends with us. */
static void end_conversation(struct conversation *talk)
{
    hp_agent_run_stop(&talk->run);
    for (int left; (left = hp_agent_run_time_left(&talk->run)) >= 0 && !hp_agent_run_has_ended(&talk->run);)
        poll(NULL, 0, left < 50 ? left : 50);
    hp_body_free(&talk->lines.bytes);
    hp_body_free(&talk->answer);
}

/* Nothing but messages may be on standard output: whatever else is printed goes to standard error. */
static bool take_output(struct conversation *talk)
{
    talk->output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    return talk->output >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

/* ------------------------------------------------------------------------------------------------------ command */

static bool read_allowed(const struct hp_arguments *arguments, struct hp_allowed_runs *allowed)
{
    char problem[200];
    for (size_t at = 0; at < arguments->repeated_count; at++)
        if (!hp_allowed_runs_add(allowed, arguments->repeated[at], problem, sizeof problem)) {
            hp_misuse(arguments->command, "--allow-run '%s': %s", arguments->repeated[at], problem);
            return false;
        }
    return true;
}

static int run(const struct hp_arguments *arguments)
{
    static struct hp_allowed_runs allowed;
    static struct hp_agent_source agent;
    static struct hp_mcp_source source;
    static struct conversation talk;
    sigset_t usual;
    if (arguments->operand_count > 0)
        return hp_misuse(arguments->command, "unexpected argument '%s': clients name sessions",
                         arguments->operands[0]);
    if (!read_allowed(arguments, &allowed))
        return EXIT_USAGE;
    source = hp_agent_source_of(&agent, arguments);
    talk.server.source = &source;
    talk.run.allowed = &allowed;
    talk.run.folder = hp_arguments_option(arguments, "HOTPATH_DIR");
    if (allowed.count > 0) {
        talk.server.start = hp_agent_run_start;
        talk.server.stop = hp_agent_run_stop;
        talk.server.context = &talk.run;
    }
    if (!take_output(&talk))
        return hp_fail("cannot write to standard output: %s", strerror(errno));
    hold_signals(&usual);
    converse(&talk, &usual);
    end_conversation(&talk);
    hp_agent_source_free(&agent);
    return EXIT_DONE;
}

static const struct hp_flag flags[] = {
    {"allow-run", 0, "COMMAND",
     "Let clients run programs that begin with these words: a program and its leading arguments. Shells, "
     "interpreters "
     "and the like only with exactly these. May be given several times."},
};

const struct hp_command hp_command_mcp = {
    .name = "mcp",
    .group = HP_GROUP_LOOK,
    .operands = "",
    .summary = "Answers coding agents over stdin and stdout (MCP).",
    .details = "A client of the Model Context Protocol starts it and asks for the verdict of a session,\n"
               "then for what it names: functions, waits, stacks, queues, memory, comparisons. Without\n"
               "--allow-run it starts nothing and writes nothing. 'hotpath help agents' has the workflow.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_FOLDER,
    .repeatable = {"allow-run"},
    .run = run,
};
