/* hotpath agent: metrics and profiles of a host or a user, for collectors. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "agent_rights.h"
#include "arguments.h"
#include "cold.h"
#include "command.h"
#include "instrumented.h"
#include "listener.h"
#include "report_output.h"
#include "server.h"
#include "serving.h"
#include "session_dirs.h"
#include "sessions.h"

#define SYSTEM_STATE "/run/hotpath-agent"
#define USER_STATE "agent" /* in the folder of sessions */

/* ----------------------------------------------------------------------------------------------------- a reader */

static bool list_places(void *context, struct hp_sessions *sessions)
{
    const struct hp_agent_places *places = context;
    const char *paths[HP_AGENT_FOLDERS_MOST];
    size_t count = 0;
    for (size_t at = 0; at < HP_AGENT_FOLDERS_MOST; at++)
        if (places->paths[at][0] != '\0')
            paths[count++] = places->paths[at];
    return hp_sessions_measured_in(sessions, paths, count);
}

static int read_sessions(const struct hp_arguments *arguments, bool with_texts)
{
    static struct hp_settings settings;
    static struct hp_agent_places places;
    hp_arguments_settle(arguments, &settings);
    struct hp_program_source source = hp_program_source_of(&settings);
    source.list = list_places;
    source.context = &places;
    struct hp_agent_reader reader = {.end = HP_AGENT_READER_END, .places = &places};
    reader.serving = (struct hp_serving){.source = &source, .settings = &settings};
    reader.serving.host_metrics.hides_texts = !with_texts;
    hp_agent_reader_run(&reader);
    return EXIT_DONE;
}

/* ---------------------------------------------------------------------------------------------------- the agent */

/* Where counters are kept. NULL: nowhere, and the problem was told. */
static const char *choose_state(const struct hp_arguments *arguments, const struct hp_settings *settings,
                                bool is_privileged)
{
    static char folder[1300];
    char place[1200];
    const char *given = hp_arguments_flag(arguments, "state");
    if (given != NULL)
        return given;
    if (is_privileged && settings->record.dir[0] == '\0')
        return SYSTEM_STATE;
    for (unsigned n = 0; hp_session_dir(&settings->record, n, place, sizeof place); n++)
        if (hp_session_dir_is_usable(place)) {
            snprintf(folder, sizeof folder, "%s/%s", place, USER_STATE);
            return folder;
        }
    hp_fail("no folder can be written: counters begin anew after a restart");
    return NULL;
}

/* The whole path, since links are refused. False, with one line on stderr. */
static bool choose_folder(struct hp_agent *agent, const struct hp_settings *settings)
{
    static char whole[PATH_MAX];
    if (settings->record.dir[0] == '\0')
        return true;
    agent->folders.only = whole;
    if (realpath(settings->record.dir, whole) != NULL)
        return true;
    hp_fail("cannot read '%s': %s", settings->record.dir, strerror(errno));
    return false;
}

static bool prepare(struct hp_agent *agent, const struct hp_arguments *arguments)
{
    static struct hp_settings settings;
    char problem[1400];
    hp_arguments_settle(arguments, &settings);
    const bool is_privileged = hp_agent_is_privileged();
    agent->folders.is_for_all = agent->users.is_privileged = is_privileged;
    agent->users.with_texts = hp_arguments_flag(arguments, "with-texts") != NULL;
    agent->users.list = hp_arguments_flag(arguments, "users");
    agent->users.folder = choose_state(arguments, &settings, is_privileged);
    if (!choose_folder(agent, &settings))
        return false;
    if (is_privileged && !hp_agent_drop_rights()) {
        hp_fail("cannot give up rights: %s", strerror(errno));
        return false;
    }
    if (hp_agent_users_load(&agent->users, problem, sizeof problem))
        return true;
    if (hp_arguments_flag(arguments, "state") == NULL) {
        hp_fail("%s: they begin anew after a restart", problem);
        agent->users.folder = NULL;
        return true;
    }
    hp_fail("%s", problem);
    return false;
}

static int serve(const struct hp_arguments *arguments, struct hp_agent *agent, const struct hp_listener *listener,
                 const char *token)
{
    char problem[300];
    const struct hp_slow_answers answers = hp_agent_answers(agent);
    const struct hp_server_settings settings = {.token = token,
                                                .every_ms = 1000,
                                                .turn = hp_agent_turn,
                                                .context = agent,
                                                .slow = &answers,
                                                .is_for_programs = true};
    hp_serving_listen_to_signals();
    printf("http://%s\n", listener->host);
    if (hp_arguments_flag(arguments, "token-file") == NULL)
        printf("token: %s\n", token);
    fflush(stdout);
    if (!listener->is_loopback)
        fputs("hotpath: other machines can connect to this address, and nothing is encrypted\n", stderr);
    const bool has_served = hp_server_run(NULL, listener, &settings, &hp_serving_told, problem, sizeof problem);
    return has_served ? EXIT_DONE : hp_fail("%s", problem);
}

/* False, with one line on stderr. */
static bool prepare_push(struct hp_agent *agent, const struct hp_push_targets *targets, uint64_t every_ns)
{
    if (targets->count == 0)
        return true;
    agent->users.push_s = (uint32_t)(every_ns / UINT64_C(1000000000));
    agent->push = hp_serving_open_push(targets);
    return agent->push != NULL;
}

static int run(const struct hp_arguments *arguments)
{
    static struct hp_agent agent;
    static struct hp_push_targets targets;
    uint64_t push_every_ns;
    static char token[HP_TOKEN_MOST + 1];
    const char *address = hp_arguments_flag(arguments, "address"), *reader = getenv(HP_AGENT_READER_VARIABLE);
    struct hp_serving_port port;
    struct hp_listener listener;
    char problem[300];
    int status = EXIT_FAILED;
    if (arguments->operand_count > 0)
        return hp_misuse(arguments->command, "unexpected argument '%s'", arguments->operands[0]);
    hp_cold_reader = hp_instrumented_read;
    if (reader != NULL)
        return read_sessions(arguments, strcmp(reader, HP_AGENT_READER_TEXTS) == 0);
    if (!hp_serving_read_port(arguments, &port) || !hp_serving_read_push(arguments, &targets, &push_every_ns))
        return EXIT_USAGE;
    const bool is_printed = hp_arguments_flag(arguments, "print-config") != NULL;
    if (!is_printed && hp_server_is_missing() != NULL)
        return hp_fail("%s", hp_server_is_missing());
    if (!is_printed && !hp_serving_read_token(arguments, token))
        return EXIT_FAILED;
    if (!is_printed && !hp_listener_open(&listener, address != NULL ? address : "127.0.0.1", port.number,
                                         !port.is_given, problem, sizeof problem))
        return hp_fail("%s", problem);
    const bool is_prepared = prepare(&agent, arguments);
    if (is_prepared && is_printed) {
        hp_agent_print(&agent, stdout);
        for (size_t at = 0; at < targets.count; at++)
            printf("profiles are pushed to: %s\n", targets.all[at].name);
        agent.users.folder = NULL; /* it is as if we had never been */
        status = EXIT_DONE;
    } else if (is_prepared && prepare_push(&agent, &targets, push_every_ns)) {
        status = serve(arguments, &agent, &listener, token);
    }
    hp_push_close(agent.push);
    hp_push_targets_free(&targets);
    hp_agent_free(&agent);
    return status;
}

static const struct hp_flag flags[] = {
    {"address", 0, "ADDRESS", "Address to listen on; 0.0.0.0 lets other machines connect. Default: 127.0.0.1."},
    {"port", 0, "N", "Port to listen on; 0 picks a free one. Default: 7878, or a free one if that is taken."},
    {"token-file", 0, "FILE",
     "File with the access token in its first line. Default: a new token, which is printed."},
    {"users", 0, "LIST", "Read only sessions of these users, by name or number. Default: all that may be read."},
    {"with-texts", 0, NULL, "Serve keys known at run time, paths and command lines, too."},
    {"push", 0, "otlp=URL",
     "Push profiles of all sessions to a collector: CPU time and waiting by stack. May be given several times."},
    {"push-header", 0, "HEADER",
     "Header \"Name: value\" of requests to the collector before it, or @FILE with one in each line."},
    {"push-every", 0, "SECONDS", "Interval between pushes of a session, from 1 to 3600 (60)."},
    {"state", 0, "FOLDER", "Folder in which counters are kept over a restart of the agent."},
    {"print-config", 0, NULL, "Print what is found, what is served, and what is left out and why; then end."},
};

const struct hp_command hp_command_agent = {
    .name = "agent",
    .group = HP_GROUP_LOOK,
    .operands = "",
    .summary = "Serves metrics and profiles of a host or a user to collectors.",
    .details = "Answers Prometheus, Grafana Alloy and go tool pprof: /metrics, /targets and\n"
               "/debug/pprof/{profile,waits,allocs,heap,zones}?seconds=N&service=NAME. As root it has\n"
               "all sessions of the host, those in containers included, and reads those of each user\n"
               "with the rights of that user; otherwise those of this user. Every request needs the\n"
               "token, in the header Authorization. Without --address, only this machine can connect.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_FOLDER,
    .repeatable = {"push", "push-header"},
    .run = run,
};
