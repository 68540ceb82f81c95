/* Answers requests. SPDX-License-Identifier: MIT */
#include "answer.h"

#include <string.h>
#include <time.h>

#include "json.h"
#include "metric_protobuf.h"
#include "metric_text.h"
#include "metrics.h"
#include "page.h"
#include "programs.h"
#include "report.h"
#include "text.h"
#include "utf8.h"

/* ------------------------------------------------------------------------------------------------- session list */

/*
 * The page with the list of sessions.
 */

/* Escapes names and commands, which may contain anything. */
static void put_text(struct hp_text *out, const char *text)
{
    char safe[1024];
    struct hp_text made;
    hp_text_init(&made, safe, sizeof safe);
    hp_utf8_put_safe(&made, text, strlen(text));
    hp_text_end(&made);
    for (const char *at = safe; *at != '\0'; at++) {
        const char *code = *at == '<'   ? "&lt;"
                           : *at == '>' ? "&gt;"
                           : *at == '&' ? "&amp;"
                           : *at == '"' ? "&quot;"
                                        : NULL;
        if (code != NULL)
            hp_text_string(out, code);
        else
            hp_text_char(out, *at);
    }
}

/* As a value in a URL. */
static void put_encoded(struct hp_text *out, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *text != '\0'; text++)
        if (strchr(plain, *text) != NULL) {
            hp_text_char(out, *text);
        } else {
            hp_text_char(out, '%');
            hp_text_hex(out, (unsigned char)*text, 2);
        }
}

static void put_moment(struct hp_text *out, uint64_t unix_ns)
{
    char words[40];
    struct tm parts;
    const time_t seconds = (time_t)(unix_ns / 1000000000u);
    if (localtime_r(&seconds, &parts) != NULL && strftime(words, sizeof words, "%Y-%m-%d %H:%M:%S", &parts) > 0)
        hp_text_string(out, words);
}

static void put_row(const struct hp_stored_session *program, const char *token, struct hp_text *out)
{
    const char *name = hp_text_base_name(program->path);
    hp_text_string(out, "<tr><td><a href=\"page?session=");
    put_encoded(out, name);
    hp_text_format(out, "&amp;token=%s\">", token);
    put_text(out, program->command);
    hp_text_format(out, "</a></td><td>%s</td><td>%u</td><td>%u</td><td>",
                   program->is_paused ? "off" : hp_session_state_name(program->state), program->pid,
                   program->processes);
    put_moment(out, program->began_ns);
    hp_text_string(out, "</td><td>");
    put_text(out, name);
    hp_text_string(out, "</td></tr>\n");
}

/* Links lead to the pages of the sessions, with that token. */
static void session_list_write(const struct hp_sessions *programs, const char *token, struct hp_text *out)
{
    hp_text_bytes(out, (const char *)hp_sessions_page_head, hp_sessions_page_head_size);
    if (programs->count == 0) {
        hp_text_string(out, "<p>No session yet.</p>");
    } else {
        hp_text_string(
            out,
            "<table><thead><tr><th scope=\"col\">Program</th><th scope=\"col\">State</th><th scope=\"col\">PID</th>"
            "<th scope=\"col\">Processes</th><th scope=\"col\">Began</th><th "
            "scope=\"col\">Session</th></tr></thead><tbody>\n");
        for (size_t at = 0; at < programs->count; at++)
            put_row(&programs->all[at], token, out);
        hp_text_string(out, "</tbody></table>");
    }
    hp_text_bytes(out, (const char *)hp_sessions_page_tail, hp_sessions_page_tail_size);
}

/* ------------------------------------------------------------------------------------------------------- answer */

#define BUFFER_BYTES 4096u
#define TYPE_HTML "text/html; charset=utf-8"
#define TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define TYPE_PROTOBUF "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
#define TYPE_PROMETHEUS "text/plain; version=0.0.4; charset=utf-8"

void hp_answer_problem(struct hp_answer *ret_answer, unsigned status, const char *problem)
{
    ret_answer->status = status;
    ret_answer->type = HP_TYPE_TEXT;
    hp_body_empty(&ret_answer->body);
    hp_body_add(&ret_answer->body, problem, strlen(problem));
    hp_body_add(&ret_answer->body, "\n", 1);
}

static void list_sessions(struct hp_serving *serving, const char *token, struct hp_answer *answer)
{
    char buffer[BUFFER_BYTES];
    struct hp_text text;
    struct hp_sessions programs = {0};
    serving->source->list(serving->source->context, &programs);
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_body_add, &answer->body);
    session_list_write(&programs, token, &text);
    hp_sessions_free(&programs);
    if (!hp_text_finish(&text))
        answer->status = 0;
}

static void write_page(struct hp_serving *serving, struct hp_served *served, struct hp_answer *answer)
{
    char buffer[BUFFER_BYTES];
    struct hp_text text;
    const struct hp_body *data = hp_served_page_data(serving, served);
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_body_add, &answer->body);
    hp_page_write_head(true, &text);
    if (data != NULL)
        hp_text_bytes(&text, data->bytes, data->length);
    hp_page_write_tail(&text);
    if (!hp_text_finish(&text) || data == NULL)
        answer->status = 0;
}

/* As `hotpath report --format json` writes it. */
static void write_report(struct hp_serving *serving, struct hp_served *served, const char *section,
                         struct hp_answer *answer)
{
    static struct hp_settings settings;
    const struct hp_report_target target = {.sink = hp_body_add, .context = &answer->body};
    hp_settings_copy(&settings, serving->settings);
    settings.output.format = HP_FORMAT_JSON;
    if (section[0] != '\0')
        memcpy(settings.show.report, section, strlen(section) + 1);
    if (hp_report_render_model(hp_reader_model(&served->reader), &settings, &target) != HOTPATH_OK)
        answer->status = 0;
}

void hp_answer_metrics(struct hp_answer *answer, struct hp_metric_text metrics, const char *accept)
{
    static const char *const types[] = {[HP_METRIC_TEXT] = TYPE_PROMETHEUS,
                                        [HP_METRIC_OPENMETRICS] = TYPE_OPENMETRICS,
                                        [HP_METRIC_PROTOBUF] = TYPE_PROTOBUF};
    const enum hp_metric_format format = hp_metric_format_of(accept);
    char buffer[BUFFER_BYTES];
    struct hp_text text;
    bool has_memory = true;
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_body_add, &answer->body);
    metrics.is_openmetrics = format == HP_METRIC_OPENMETRICS;
    if (format == HP_METRIC_PROTOBUF)
        has_memory = hp_metric_protobuf_write(&metrics, &text);
    else
        hp_metric_text_write(&metrics, &text);
    answer->type = types[format];
    if (!hp_text_finish(&text) || !has_memory)
        answer->status = 0;
}

static void write_session_metrics(struct hp_serving *serving, struct hp_served *served, const char *accept,
                                  struct hp_answer *answer)
{
    char program[256];
    struct hp_metric_points fresh = {0};
    struct hp_model *model = hp_reader_model(&served->reader);
    const struct hp_snapshot *first = model->run.sessions[0];
    const uint32_t service = hp_metric_sums_service(&served->metric_sums, "");
    const bool has_memory = service != 0 &&
                            hp_metrics_read(model, serving->settings, &served->metric_sums, service, &fresh) &&
                            hp_metric_sums_update(&served->metric_sums, &served->metric_points, &fresh);
    hp_metric_points_free(&fresh);
    hp_metrics_program(program, sizeof program, hp_snapshot_text(first, first->header.command));
    const struct hp_metric_text metrics = {.sums = &served->metric_sums, .is_of_one = true, .program = program};
    if (has_memory)
        hp_answer_metrics(answer, metrics, accept);
    else
        answer->status = 0;
}

static void write_host_metrics(struct hp_serving *serving, const char *name, const char *accept,
                               struct hp_answer *answer)
{
    struct hp_host_metrics *host = &serving->host_metrics;
    const bool has_memory = hp_host_metrics_refresh(host, serving->source, serving->settings);
    const struct hp_metric_text metrics = {.sums = &host->sums,
                                           .service = name[0] != '\0' ? hp_host_metrics_service(host, name) : 0,
                                           .left_out = host->left_out,
                                           .more = serving->more};
    if (!has_memory)
        answer->status = 0;
    else if (name[0] != '\0' && metrics.service == 0)
        hp_answer_problem(answer, 404, "no service or session of that name; see / for a list");
    else
        hp_answer_metrics(answer, metrics, accept);
}

/* {"session": "4711-1.run", "pid": 4711}, or null. */
static void write_restarted(struct hp_serving *serving, struct hp_served *served, struct hp_answer *answer)
{
    static struct hp_stored_session session;
    char buffer[BUFFER_BYTES];
    struct hp_text text;
    struct hp_json json;
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_body_add, &answer->body);
    hp_json_init(&json, &text, false);
    if (served->is_live || !hp_serving_restarted(serving, served, &session)) {
        hp_json_null(&json);
    } else {
        hp_json_begin_object(&json);
        hp_json_put_string(&json, "session", hp_text_base_name(session.path));
        hp_json_put_u64(&json, "pid", session.pid);
        hp_json_end_object(&json);
    }
    if (!hp_text_finish(&text))
        answer->status = 0;
}

/* Lists of sections are as in --section: names and groups, a minus before exclusions. */
static bool is_section_list(const char *text)
{
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-,")] == '\0';
}

/* Of all sessions, unless the request or the server is for one. */
static bool is_of_host(const struct hp_serving *serving, const struct hp_request *request)
{
    return request->route == HP_ROUTE_METRICS && request->session[0] == '\0' &&
           (serving->usual == NULL || request->service[0] != '\0');
}

/*
 * A target of Prometheus' HTTP discovery. Its instance is its own: targets that share one would write to the same
 * series of what is said about the target and the server.
 */
static void put_target(struct hp_json *json, const char *host, const char *service)
{
    char bytes[2048];
    struct hp_text instance;
    hp_text_init(&instance, bytes, sizeof bytes);
    hp_text_format(&instance, "%s/%s", host, service);
    hp_json_begin_object(json);
    hp_json_key(json, "targets");
    hp_json_begin_array(json);
    hp_json_string(json, host);
    hp_json_end_array(json);
    hp_json_key(json, "labels");
    hp_json_begin_object(json);
    hp_json_put_string(json, "__param_service", service);
    hp_json_put_string(json, "instance", hp_text_end(&instance));
    hp_json_end_object(json);
    hp_json_end_object(json);
}

void hp_answer_targets(struct hp_answer *answer, const struct hp_metric_sums *sums, const char *host)
{
    char buffer[BUFFER_BYTES];
    struct hp_text text;
    struct hp_json json;
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_body_add, &answer->body);
    hp_json_init(&json, &text, false);
    hp_json_begin_array(&json);
    for (uint32_t service = 1; service < sums->service_count; service++)
        put_target(&json, host != NULL ? host : "localhost", hp_metric_service_name(sums, service));
    hp_json_end_array(&json);
    answer->type = HP_TYPE_JSON;
    if (!hp_text_finish(&text))
        answer->status = 0;
}

static void write_targets(struct hp_serving *serving, const char *host, struct hp_answer *answer)
{
    struct hp_host_metrics *metrics = &serving->host_metrics;
    if (hp_host_metrics_refresh(metrics, serving->source, serving->settings))
        hp_answer_targets(answer, &metrics->sums, host);
    else
        answer->status = 0;
}

static void answer_session(struct hp_serving *serving, const struct hp_request *request, const char *accept,
                           struct hp_answer *answer)
{
    const char *problem;
    if (!is_section_list(request->section)) {
        hp_answer_problem(answer, 400,
                          "section is a list of names, such as timing,waits; see 'hotpath report --help'");
        return;
    }
    if (request->service[0] != '\0') {
        hp_answer_problem(answer, 400, "service is for /metrics and profiles, without session");
        return;
    }
    struct hp_served *served = hp_serving_find(serving, request->session, &problem);
    if (served == NULL) {
        hp_answer_problem(answer, 404, problem);
        return;
    }
    if (request->route == HP_ROUTE_PAGE) {
        write_page(serving, served, answer);
    } else if (request->route == HP_ROUTE_REPORT) {
        answer->type = HP_TYPE_JSON;
        write_report(serving, served, request->section, answer);
    } else if (request->route == HP_ROUTE_METRICS) {
        write_session_metrics(serving, served, accept, answer);
    } else if (request->route == HP_ROUTE_RESTARTED) {
        answer->type = HP_TYPE_JSON;
        write_restarted(serving, served, answer);
    } else {
        const struct hp_body *data = hp_served_page_data(serving, served);
        answer->type = HP_TYPE_JSON;
        if (data == NULL || !hp_body_add(&answer->body, data->bytes, data->length))
            answer->status = 0;
    }
}

void hp_answer_make(struct hp_serving *serving, const struct hp_request *request, const char *token,
                    const struct hp_asked *asked, struct hp_answer *ret_answer)
{
    *ret_answer = (struct hp_answer){.status = 200, .type = TYPE_HTML};
    if (request->route == HP_ROUTE_SESSIONS)
        list_sessions(serving, token, ret_answer);
    else if (request->route == HP_ROUTE_TARGETS)
        write_targets(serving, asked->host, ret_answer);
    else if (is_of_host(serving, request))
        write_host_metrics(serving, request->service, asked->accept, ret_answer);
    else
        answer_session(serving, request, asked->accept, ret_answer);
    if (ret_answer->status == 0)
        hp_answer_problem(ret_answer, 503, "hotpath serve is out of memory");
}
