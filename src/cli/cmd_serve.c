/* hotpath serve: the page of a session in a browser, while the program runs. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "browser.h"
#include "clock.h"
#include "cold.h"
#include "command.h"
#include "instrumented.h"
#include "listener.h"
#include "push.h"
#include "push_profiles.h"
#include "report_output.h"
#include "request.h"
#include "server.h"
#include "serving.h"
#include "sessions.h"

#define USUAL_EVERY_MS 1000u

struct choices {
    struct hp_serving_port port;
    uint32_t every_ms;
    char token[HP_TOKEN_MOST + 1];
};

/* ---------------------------------------------------------------------------------------------- options */

static bool read_interval(const struct hp_arguments *arguments, struct choices *choices)
{
    const char *text = hp_arguments_flag(arguments, "every");
    char *end;
    choices->every_ms = USUAL_EVERY_MS;
    if (text == NULL)
        return true;
    const double seconds = strtod(text, &end);
    if (end != text && *end == '\0' && seconds >= 0.1 && seconds <= 60) {
        choices->every_ms = (uint32_t)(seconds * 1000 + 0.5);
        return true;
    }
    hp_misuse(arguments->command, "--every '%s' is not between 0.1 and 60 seconds", text);
    return false;
}

/* ------------------------------------------------------------------------------------------------- push */

static struct pushing {
    struct hp_push_targets targets;
    struct hp_push *push;
    struct hp_push_profiles profiles;
} pushing;

static uint64_t turn_push(void *context, uint64_t now_ns)
{
    (void)context;
    const uint64_t profiles_ns = hp_push_profiles_turn(&pushing.profiles, now_ns),
                   push_ns = hp_push_turn(pushing.push, now_ns);
    return push_ns < profiles_ns ? push_ns : profiles_ns;
}

static void say_push_metrics(void *context, hp_metric_say *say_one, void *to)
{
    (void)context;
    hp_push_say_metrics(pushing.push, pushing.profiles.left_out, say_one, to);
}

/* False, with one line on stderr: it cannot be done here. */
static bool begin_push(struct hp_serving *serving, struct hp_server_settings *settings)
{
    if (pushing.targets.count == 0)
        return true;
    pushing.push = hp_serving_open_push(&pushing.targets);
    if (pushing.push == NULL)
        return false;
    pushing.profiles.serving = serving;
    pushing.profiles.began_ns = hp_clock_wall_ns();
    pushing.profiles.sink = hp_push_add;
    pushing.profiles.context = pushing.push;
    serving->more.say_all = say_push_metrics;
    settings->turn = turn_push;
    return true;
}

static void end_push(void)
{
    hp_push_profiles_free(&pushing.profiles);
    hp_push_close(pushing.push);
    hp_push_targets_free(&pushing.targets);
}

/* ------------------------------------------------------------------------------------------------- work */

/* False, with one line on stderr: there is no such session. */
static bool choose(struct hp_stored_session *session, const struct hp_settings *settings, const char *name)
{
    if (hp_session_find(session, settings, name))
        return true;
    hp_fail("no session, process or program '%s'; see 'hotpath ls -a'", name);
    return false;
}

static void say_address(const struct hp_arguments *arguments, const struct hp_listener *listener, const char *token,
                        bool has_session)
{
    char address[400];
    snprintf(address, sizeof address, "http://%s/%s?token=%s", listener->host, has_session ? "page" : "", token);
    puts(address);
    fflush(stdout);
    if (!listener->is_loopback)
        fputs(
            "hotpath: other machines can connect to this address, and nothing is encrypted. Anyone with the token "
            "sees function names, paths and command lines\n",
            stderr);
    fputs("hotpath: press Ctrl-C to stop\n", stderr);
    if (hp_arguments_flag(arguments, "open") != NULL && !hp_browser_open(address))
        hp_fail("no browser was found (BROWSER, xdg-open); open the URL yourself");
}

static int serve(const struct hp_arguments *arguments, const struct choices *choices, struct hp_serving *serving)
{
    const char *address = hp_arguments_flag(arguments, "address");
    struct hp_server_settings settings = {.token = choices->token, .every_ms = choices->every_ms};
    struct hp_listener listener;
    char problem[300];
    if (hp_server_is_missing() != NULL)
        return hp_fail("%s", hp_server_is_missing());
    if (!hp_listener_open(&listener, address != NULL ? address : "127.0.0.1", choices->port.number,
                          !choices->port.is_given, problem, sizeof problem))
        return hp_fail("%s", problem);
    if (!begin_push(serving, &settings))
        return EXIT_FAILED;
    hp_serving_listen_to_signals();
    say_address(arguments, &listener, choices->token, serving->usual != NULL);
    const bool has_served = hp_server_run(serving, &listener, &settings, &hp_serving_told, problem, sizeof problem);
    end_push();
    hp_serving_free(serving);
    return has_served ? EXIT_DONE : hp_fail("%s", problem);
}

static int run(const struct hp_arguments *arguments)
{
    static struct hp_settings settings;
    static struct choices choices;
    static struct hp_stored_session session;
    if (arguments->operand_count > 1)
        return hp_misuse(arguments->command, "unexpected argument '%s': give one session, or none to serve all",
                         arguments->operands[1]);
    if (!hp_serving_read_port(arguments, &choices.port) || !read_interval(arguments, &choices) ||
        !hp_serving_read_push(arguments, &pushing.targets, &pushing.profiles.every_ns))
        return EXIT_USAGE;
    hp_arguments_settle(arguments, &settings);
    if (arguments->operand_count > 0 && !choose(&session, &settings, arguments->operands[0]))
        return EXIT_FAILED;
    if (!hp_serving_read_token(arguments, choices.token))
        return EXIT_FAILED;
    hp_cold_reader = hp_instrumented_read;
    const struct hp_program_source source = hp_program_source_of(&settings);
    struct hp_serving serving = {
        .source = &source, .settings = &settings, .usual = arguments->operand_count > 0 ? session.path : NULL};
    return serve(arguments, &choices, &serving);
}

static const struct hp_flag flags[] = {
    {"address", 0, "ADDRESS", "Address to listen on; 0.0.0.0 lets other machines connect. Default: 127.0.0.1."},
    {"port", 0, "N", "Port to listen on; 0 picks a free one. Default: 7878, or a free one if that is taken."},
    {"every", 0, "SECONDS", "Interval between updates of the page, from 0.1 to 60 (1)."},
    {"token-file", 0, "FILE", "File with the access token in its first line. Default: a new token each time."},
    {"open", 0, NULL, "Open the page in the browser."},
    {"push", 0, "otlp=URL",
     "Push profiles of all sessions to a collector: CPU time and waiting by stack. May be given several times."},
    {"push-header", 0, "HEADER",
     "Header \"Name: value\" of requests to the collector before it, or @FILE with one in each line."},
    {"push-every", 0, "SECONDS", "Interval between pushes of a session, from 1 to 3600 (60)."},
};

const struct hp_command hp_command_serve = {
    .name = "serve",
    .group = HP_GROUP_LOOK,
    .operands = "[SESSION|PID|PROGRAM]",
    .operand = HP_OPERAND_SESSION,
    .summary = "Serves live pages of sessions to a browser, and metrics to Prometheus.",
    .details = "Prints the URL to open, and serves until Ctrl-C. Without an argument the page lists\n"
               "all sessions. /report.json?section=LIST is the report as JSON, /metrics has metrics\n"
               "for Prometheus, /debug/pprof/profile?seconds=N a profile of the next seconds.\n"
               "Requests need the token in the URL. Without --address, only this machine can connect.\n"
               "The server writes nothing.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_SHOW | HP_SCOPE_FOLDER,
    .repeatable = {"push", "push-header"},
    .run = run,
};
