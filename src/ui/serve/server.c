/*
 * The server. Everything runs in one thread: requests are answered one after the other, and connections that watch
 * a session (server-sent events) are suspended until it was read again. They receive a line that says there are new
 * data and fetch these themselves, so a slow client misses some and blocks nobody. SPDX-License-Identifier: MIT
 */
#include "server.h"

#include <dlfcn.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"
#include "arith.h"
#include "clock.h"
#include "pull.h"
#include "request.h"

/* --------------------------------------------------------------------------------------------------- microhttpd */

/*
 * libmicrohttpd, loaded when it is first needed: it depends on a TLS library, which would delay the start of every
 * command.
 *
 * Loads libmicrohttpd.
 */
/* The functions that are used of it. */
#define HP_MICROHTTPD_FUNCTIONS(F)                                                                                 \
    F(MHD_start_daemon)                                                                                            \
    F(MHD_stop_daemon)                                                                                             \
    F(MHD_run_wait)                                                                                                \
    F(MHD_create_response_from_buffer)                                                                             \
    F(MHD_create_response_from_callback)                                                                           \
    F(MHD_add_response_header)                                                                                     \
    F(MHD_queue_response)                                                                                          \
    F(MHD_destroy_response)                                                                                        \
    F(MHD_lookup_connection_value)                                                                                 \
    F(MHD_suspend_connection)                                                                                      \
    F(MHD_resume_connection)

struct hp_microhttpd {
#define HP_MICROHTTPD_POINTER(name) __typeof__(name) *name;
    HP_MICROHTTPD_FUNCTIONS(HP_MICROHTTPD_POINTER)
#undef HP_MICROHTTPD_POINTER
};

#define LIBRARY "libmicrohttpd.so.12"

static bool find_all(struct hp_microhttpd *library)
{
    void *handle = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    if (handle == NULL)
        return false;
#define HP_MICROHTTPD_FIND(name)                                                                                   \
    *(void **)&library->name = dlsym(handle, #name);                                                               \
    if (library->name == NULL)                                                                                     \
        return false;
    HP_MICROHTTPD_FUNCTIONS(HP_MICROHTTPD_FIND)
#undef HP_MICROHTTPD_FIND
    return true;
}

/* NULL: not installed, or too old. */
static const struct hp_microhttpd *microhttpd_get(void)
{
    static struct hp_microhttpd library;
    static bool is_tried, is_found;
    if (!is_tried)
        is_found = find_all(&library);
    is_tried = true;
    return is_found ? &library : NULL;
}

/* ------------------------------------------------------------------------------------------------------- server */

#define CONNECTIONS 256u
#define TIMEOUT_S 10u               /* of a client that neither sends nor receives */
#define MEMORY_BYTES 16384u         /* for the headers of a request */
#define LONGEST_SLEEP_MS 500u       /* a signal that arrives just before the wait is noticed after this */
#define SIGN_OF_LIFE_NS 5000000000u /* detects clients that have gone */
#define QUIET_ROUNDS 5u             /* after the end of a program: its stacks may still be written */
#define PULLS_NS 200000000u         /* how often profiles are looked at */
#define READING_PART 10u            /* at most one part in this many of the time is spent reading for watchers */

/* What is known of a request before its headers are complete; and its slow answer, while it waits for that. */
struct visit {
    char target[HP_TARGET_MOST + 2]; /* one more than allowed */
    void *slow;
    struct visit *next; /* of those with a slow answer */
    struct MHD_Connection *connection;
    bool is_suspended;
};

struct stream {
    struct server *server;
    struct stream *previous, *next;
    struct MHD_Connection *connection;
    char path[2048]; /* of the watched session */
    uint64_t generation, told_ns;
    unsigned quiet_rounds;
    bool is_suspended, is_over;
    char line[160]; /* to be sent ... */
    size_t length, sent;
};

struct server {
    const struct hp_microhttpd *http;
    struct MHD_Daemon *daemon;
    struct hp_serving *serving;
    const struct hp_server_settings *settings;
    struct hp_slow_answers slow;
    struct hp_own_names own;
    char machine[256];
    struct stream *streams;
    struct visit *waiting; /* for slow answers */
    uint64_t waiting_due_ns;
    uint64_t round;
    bool is_ending;
};

/* ---------------------------------------------------------------------------------------------- responses */

static enum MHD_Result reply(struct server *server, struct MHD_Connection *connection, unsigned status,
                             const char *type, struct MHD_Response *response)
{
    static const char *const headers[][2] = {
        {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"}, /* the URL contains the token */
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
    };
    if (response == NULL)
        return MHD_NO;
    server->http->MHD_add_response_header(response, "Content-Type", type);
    for (size_t at = 0; at < sizeof headers / sizeof headers[0]; at++)
        server->http->MHD_add_response_header(response, headers[at][0], headers[at][1]);
    if (status >= 400)
        server->http->MHD_add_response_header(response, "X-Go-Pprof", "1"); /* go tool pprof shows the text then */
    if (status == 503)
        server->http->MHD_add_response_header(response, "Retry-After", "10");
    if (status == 405)
        server->http->MHD_add_response_header(response, "Allow", "GET, HEAD");
    const enum MHD_Result result = server->http->MHD_queue_response(connection, status, response);
    server->http->MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_answer(struct server *server, struct MHD_Connection *connection,
                                   struct hp_answer *answer)
{
    struct MHD_Response *response = server->http->MHD_create_response_from_buffer(
        answer->body.length, answer->body.bytes, MHD_RESPMEM_MUST_FREE);
    if (response == NULL)
        hp_body_free(&answer->body);
    return reply(server, connection, answer->status, answer->type, response);
}

static enum MHD_Result refuse(struct server *server, struct MHD_Connection *connection, unsigned status,
                              const char *problem)
{
    struct hp_answer answer = {0};
    hp_answer_problem(&answer, status, problem);
    return send_answer(server, connection, &answer);
}

/* ------------------------------------------------------------------------------------------------ streams */

static ssize_t read_stream(void *context, uint64_t position, char *bytes, size_t most)
{
    struct stream *stream = context;
    const size_t left = stream->length - stream->sent, length = left < most ? left : most;
    (void)position;
    if (length > 0) {
        memcpy(bytes, stream->line + stream->sent, length);
        stream->sent += length;
        return (ssize_t)length;
    }
    if (stream->is_over || stream->server->is_ending)
        return MHD_CONTENT_READER_END_OF_STREAM;
    stream->is_suspended = true;
    stream->server->http->MHD_suspend_connection(stream->connection);
    return 0;
}

static void end_stream(void *context)
{
    struct stream *stream = context;
    if (stream->previous != NULL)
        stream->previous->next = stream->next;
    else
        stream->server->streams = stream->next;
    if (stream->next != NULL)
        stream->next->previous = stream->previous;
    free(stream);
}

static void put_line(struct stream *stream, const char *event, const struct hp_served *served)
{
    const int length = served != NULL
                           ? snprintf(stream->line, sizeof stream->line,
                                      "event: %s\ndata: {\"generation\":%llu,\"is_live\":%s}\n\n", event,
                                      (unsigned long long)served->generation, served->is_live ? "true" : "false")
                           : snprintf(stream->line, sizeof stream->line, ": still here\n\n");
    stream->length = (size_t)length;
    stream->sent = 0;
}

static void wake(struct stream *stream)
{
    if (!stream->is_suspended)
        return;
    stream->is_suspended = false;
    stream->server->http->MHD_resume_connection(stream->connection);
}

/* Sets the line of a stream for this round, unless the client has not read the last one yet. */
static void tell(struct stream *stream, const struct hp_served *served, uint64_t now)
{
    if (stream->sent < stream->length)
        return;
    const bool is_new = served != NULL && served->generation != stream->generation;
    stream->quiet_rounds = served == NULL || (!is_new && !served->is_live) ? stream->quiet_rounds + 1 : 0;
    if (is_new)
        put_line(stream, "report", served);
    else if (served != NULL && stream->quiet_rounds > QUIET_ROUNDS)
        put_line(stream, "end", served);
    else if (now - stream->told_ns >= SIGN_OF_LIFE_NS)
        put_line(stream, "", NULL);
    else
        return;
    stream->is_over = stream->quiet_rounds > QUIET_ROUNDS && !is_new;
    stream->generation = served != NULL ? served->generation : stream->generation;
    stream->told_ns = now;
    wake(stream);
}

static enum MHD_Result begin_stream(struct server *server, struct MHD_Connection *connection,
                                    const struct hp_request *request)
{
    const char *problem;
    const struct hp_served *served = hp_serving_find(server->serving, request->session, &problem);
    struct stream *stream = served != NULL ? calloc(1, sizeof *stream) : NULL;
    if (stream == NULL)
        return refuse(server, connection, served == NULL ? 404 : 503,
                      served == NULL ? problem : "hotpath serve is out of memory");
    stream->server = server;
    stream->connection = connection;
    memcpy(stream->path, served->path, strlen(served->path) + 1);
    stream->generation = served->generation;
    stream->told_ns = hp_clock_monotonic_ns();
    put_line(stream, "report", served);
    stream->next = server->streams;
    if (stream->next != NULL)
        stream->next->previous = stream;
    server->streams = stream;
    struct MHD_Response *response =
        server->http->MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1024, read_stream, stream, end_stream);
    if (response == NULL)
        end_stream(stream);
    return reply(server, connection, 200, "text/event-stream", response);
}

static void do_round(struct server *server)
{
    const uint64_t now = hp_clock_monotonic_ns();
    server->round++;
    for (struct stream *stream = server->streams, *next; stream != NULL; stream = next) {
        next = stream->next;
        tell(stream, hp_serving_watch(server->serving, stream->path, server->round), now);
    }
}

/* ------------------------------------------------------------------------------------------- slow answers */

static size_t count_waiting(const struct server *server)
{
    size_t count = 0;
    for (const struct visit *visit = server->waiting; visit != NULL; visit = visit->next)
        count++;
    return count;
}

/* The connection is suspended until the answer can be written; then the request comes again. */
static enum MHD_Result begin_slow(struct server *server, struct MHD_Connection *connection, struct visit *visit,
                                  const struct hp_request *request, const struct hp_asked *asked)
{
    const char *problem = "too many profiles at a time";
    unsigned status = 503;
    if (count_waiting(server) < server->slow.most)
        visit->slow = server->slow.begin(server->slow.context, request, asked, &problem, &status);
    if (visit->slow == NULL)
        return refuse(server, connection, status, problem);
    visit->connection = connection;
    visit->next = server->waiting;
    server->waiting = visit;
    server->waiting_due_ns = hp_clock_monotonic_ns() + server->slow.every_ns;
    visit->is_suspended = true;
    server->http->MHD_suspend_connection(connection);
    return MHD_YES;
}

static enum MHD_Result end_slow(struct server *server, struct MHD_Connection *connection, struct visit *visit)
{
    struct hp_answer answer = {0};
    if (server->is_ending)
        return refuse(server, connection, 503, "the server ends");
    server->slow.write(visit->slow, &answer);
    return send_answer(server, connection, &answer);
}

static void forget_slow(struct server *server, struct visit *visit)
{
    for (struct visit **at = &server->waiting; *at != NULL; at = &(*at)->next)
        if (*at == visit) {
            *at = visit->next;
            break;
        }
    if (visit->slow != NULL)
        server->slow.free(visit->slow);
}

static void resume_waiting(struct server *server)
{
    for (struct visit *visit = server->waiting; visit != NULL; visit = visit->next)
        if (visit->is_suspended && (server->is_ending || server->slow.is_ready(visit->slow))) {
            visit->is_suspended = false;
            server->http->MHD_resume_connection(visit->connection);
        }
}

static void *begin_pull(void *serving, const struct hp_request *request, const struct hp_asked *asked,
                        const char **ret_problem, unsigned *ret_status)
{
    (void)asked;
    return hp_pull_begin(serving, request, ret_problem, ret_status);
}

static bool is_pull_ready(void *pull) { return hp_pull_is_ready(pull); }

static void free_pull(void *pull) { hp_pull_free(pull); }

static void write_pull(void *pull, struct hp_answer *ret_answer)
{
    *ret_answer = (struct hp_answer){.status = 200, .type = HP_TYPE_PROFILE};
    if (!hp_pull_write(pull, &ret_answer->body))
        hp_answer_problem(ret_answer, 503, "hotpath serve is out of memory");
}

static struct hp_slow_answers pulls_of(struct hp_serving *serving)
{
    return (struct hp_slow_answers){.has = hp_route_is_pull,
                                    .begin = begin_pull,
                                    .is_ready = is_pull_ready,
                                    .write = write_pull,
                                    .free = free_pull,
                                    .most = HP_PULLS_MOST,
                                    .every_ns = PULLS_NS,
                                    .context = serving};
}

/* ----------------------------------------------------------------------------------------------- requests */

static void *begin_visit(void *context, const char *target, struct MHD_Connection *connection)
{
    struct visit *visit = calloc(1, sizeof *visit);
    (void)context;
    (void)connection;
    if (visit != NULL) {
        const size_t length = strnlen(target, sizeof visit->target - 1);
        memcpy(visit->target, target, length);
        visit->target[length] = '\0';
    }
    return visit;
}

static void end_visit(void *context, struct MHD_Connection *connection, void **visit,
                      enum MHD_RequestTerminationCode code)
{
    (void)connection;
    (void)code;
    if (*visit != NULL)
        forget_slow(context, *visit);
    free(*visit);
    *visit = NULL;
}

static const char *header_of(const struct server *server, struct MHD_Connection *connection, const char *name)
{
    return server->http->MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* NULL: allowed. Otherwise the reason, and *ret_status. */
static const char *check(struct server *server, struct MHD_Connection *connection, const char *method,
                         unsigned *ret_status)
{
    const char *length = header_of(server, connection, "Content-Length"),
               *host = header_of(server, connection, "Host");
    *ret_status = 405;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return "only GET and HEAD are allowed";
    *ret_status = 413;
    if ((length != NULL && strcmp(length, "0") != 0) || header_of(server, connection, "Transfer-Encoding") != NULL)
        return "requests with a body are not accepted";
    *ret_status = 403;
    if (!server->settings->is_for_programs && !hp_host_is_ours(host, &server->own))
        return "the host name in the URL is not one of this machine: use the address that 'hotpath serve' printed";
    if (hp_request_is_cross_site(header_of(server, connection, "Origin"),
                                 header_of(server, connection, "Sec-Fetch-Site"), host))
        return "request from another site: open the address that 'hotpath serve' printed";
    return NULL;
}

static bool has_token(const struct server *server, struct MHD_Connection *connection,
                      const struct hp_request *request)
{
    char password[HP_TOKEN_MOST + 1];
    const char *token = hp_token_of(header_of(server, connection, "Authorization"), password);
    const char *given = token != NULL ? token : server->settings->is_for_programs ? "" : request->token;
    return hp_token_is(server->settings->token, given);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **context_of_visit)
{
    struct server *server = context;
    struct visit *visit = *context_of_visit;
    struct hp_request request;
    struct hp_answer answer;
    unsigned status;
    (void)url;
    (void)version;
    (void)upload;
    *upload_size = 0;
    if (visit != NULL && visit->slow != NULL)
        return visit->is_suspended ? MHD_YES : end_slow(server, connection, visit);
    const char *problem = check(server, connection, method, &status);
    if (problem != NULL)
        return refuse(server, connection, status, problem);
    if (visit == NULL)
        return refuse(server, connection, 503, "hotpath serve is out of memory");
    problem = hp_request_read(&request, visit->target, &status);
    if (problem == NULL || status == 404) { /* without a token, it must not reveal what exists */
        if (!has_token(server, connection, &request))
            return refuse(server, connection, 403,
                          server->settings->is_for_programs
                              ? "the token is missing or wrong: it belongs into the header Authorization"
                              : "the token is missing or wrong: use the address that 'hotpath serve' printed");
    }
    if (problem != NULL)
        return refuse(server, connection, status, problem);
    const struct hp_asked asked = {.accept = header_of(server, connection, "Accept"),
                                   .host = header_of(server, connection, "Host")};
    const bool is_slow = server->slow.has(request.route), is_events = request.route == HP_ROUTE_EVENTS;
    if ((is_slow || is_events) && strcmp(method, "GET") != 0)
        return refuse(server, connection, 200, "");
    if (is_slow)
        return begin_slow(server, connection, visit, &request, &asked);
    if (is_events)
        return begin_stream(server, connection, &request);
    hp_answer_make(server->serving, &request, server->settings->token, &asked, &answer);
    return send_answer(server, connection, &answer);
}

/* --------------------------------------------------------------------------------------------------- loop */

static void loop(struct server *server, const volatile sig_atomic_t *told)
{
    const struct hp_server_settings *settings = server->settings;
    uint64_t due_ns = hp_clock_monotonic_ns(), turn_ns = settings->turn != NULL ? due_ns : UINT64_MAX;
    while (*told == 0) {
        const uint64_t now = hp_clock_monotonic_ns();
        if (now >= due_ns) {
            if (server->streams != NULL)
                do_round(server);
            const uint64_t after = hp_clock_monotonic_ns(), rest = (after - now) * (READING_PART - 1);
            const uint64_t every = (uint64_t)settings->every_ms * 1000000u;
            due_ns = after + (rest > every ? rest : every);
            continue;
        }
        if (server->waiting != NULL && now >= server->waiting_due_ns) {
            resume_waiting(server);
            server->waiting_due_ns = hp_clock_monotonic_ns() + server->slow.every_ns;
            continue;
        }
        if (now >= turn_ns)
            turn_ns = settings->turn(settings->context, now);
        uint64_t next_ns =
            server->waiting != NULL && server->waiting_due_ns < due_ns ? server->waiting_due_ns : due_ns;
        next_ns = turn_ns < next_ns ? turn_ns : next_ns;
        const uint64_t wait_ms = hp_less(next_ns, now) / 1000000u + 1;
        server->http->MHD_run_wait(server->daemon,
                                   (int32_t)(wait_ms < LONGEST_SLEEP_MS ? wait_ms : LONGEST_SLEEP_MS));
    }
}

/* Watchers are told the end: a suspended connection must not be left behind. */
static void end(struct server *server)
{
    server->is_ending = true;
    for (struct stream *stream = server->streams; stream != NULL; stream = stream->next)
        wake(stream);
    resume_waiting(server);
    server->http->MHD_run_wait(server->daemon, 0);
    server->http->MHD_stop_daemon(server->daemon);
}

const char *hp_server_is_missing(void)
{
    return microhttpd_get() != NULL ? NULL : "libmicrohttpd 0.9.73 or newer is missing: install libmicrohttpd12";
}

bool hp_server_run(struct hp_serving *serving, const struct hp_listener *listener,
                   const struct hp_server_settings *settings, const volatile sig_atomic_t *told, char *problem,
                   size_t size)
{
    static struct server server;
    const unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (listener->is_v6 ? MHD_USE_IPv6 : 0u);
    server = (struct server){.http = microhttpd_get(), .serving = serving, .settings = settings};
    server.slow = settings->slow != NULL ? *settings->slow : pulls_of(serving);
    if (gethostname(server.machine, sizeof server.machine - 1) != 0)
        server.machine[0] = '\0';
    server.own = (struct hp_own_names){.is_loopback = listener->is_loopback, .machine = server.machine};
    server.daemon = server.http == NULL
                        ? NULL
                        : server.http->MHD_start_daemon(
                              flags, 0, NULL, NULL, handle, &server, MHD_OPTION_LISTEN_SOCKET, listener->fd,
                              MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S,
                              MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES, MHD_OPTION_URI_LOG_CALLBACK,
                              begin_visit, NULL, MHD_OPTION_NOTIFY_COMPLETED, end_visit, &server,
                              MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (server.daemon == NULL) {
        close(listener->fd);
        snprintf(problem, size, "%s",
                 server.http == NULL ? hp_server_is_missing() : "cannot start the server: not enough memory");
        return false;
    }
    loop(&server, told);
    end(&server);
    return true;
}
