/* Profiles to collectors. SPDX-License-Identifier: MIT */
#include "push.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "push_transport.h"
#include "text.h"

#define OTLP "otlp="
#define OTLP_PATH "/v1development/profiles"

struct hp_push {
    struct hp_push_spool spool;
    struct hp_push_transport transport;
    char names[HP_PUSH_TARGETS][sizeof((struct hp_push_target){0}).name];
    void (*say)(const char *line);
};

/* ------------------------------------------------------------------------------------------------------ targets */

static bool is_wrong(char *problem, size_t size, const char *what, const char *text)
{
    snprintf(problem, size, "'%s' %s", text, what);
    return false;
}

static bool has_control(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text <= ' ' || *text == 127)
            return true;
    return false;
}

/* The length of scheme, host and port. 0: it is no URL that can be used. */
static size_t base_of(const char *url)
{
    const size_t scheme = hp_text_begins(url, "http://") ? 7 : hp_text_begins(url, "https://") ? 8 : 0;
    const size_t host = scheme > 0 ? strcspn(url + scheme, "/?#") : 0;
    return host > 0 ? scheme + host : 0;
}

bool hp_push_targets_add(struct hp_push_targets *targets, const char *target, char *problem, size_t size)
{
    const char *url = target + strlen(OTLP);
    if (targets->count == HP_PUSH_TARGETS)
        return is_wrong(problem, size, "is one target too many: there are at most 8", target);
    if (!hp_text_begins(target, OTLP))
        return is_wrong(problem, size, "is not otlp=URL", target);
    const size_t base = base_of(url);
    struct hp_push_target *added = &targets->all[targets->count];
    if (base == 0 || has_control(url))
        return is_wrong(problem, size, "has no URL that begins with http:// or https:// and a host", target);
    if (memchr(url, '@', base) != NULL)
        return is_wrong(problem, size, "has a password, which others can see: use --push-header @FILE", OTLP "...");
    const bool has_path = url[base] != '\0' && strcmp(url + base, "/") != 0;
    if (base >= sizeof added->name || strlen(url) + sizeof OTLP_PATH > sizeof added->url)
        return is_wrong(problem, size, "is too long", target);
    *added = (struct hp_push_target){.header_count = 0};
    memcpy(added->name, url, base);
    snprintf(added->url, sizeof added->url, "%s%s", has_path ? url : added->name, has_path ? "" : OTLP_PATH);
    targets->count++;
    return true;
}

/* "Name: value", where the name is a word. */
static bool is_header(const char *header)
{
    const size_t name = strcspn(header, ": \t");
    if (name == 0 || header[name] != ':')
        return false;
    for (const char *at = header; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            return false;
    return true;
}

/* The header may be a secret: it is not shown. */
static bool take_header(struct hp_push_target *target, const char *header, char *problem, size_t size)
{
    if (!is_header(header) || target->header_count == HP_PUSH_HEADERS) {
        snprintf(problem, size, "a header is not 'Name: value', or there are more than %u", HP_PUSH_HEADERS);
        return false;
    }
    char *copy = strdup(header);
    if (copy != NULL)
        target->headers[target->header_count++] = copy;
    else
        snprintf(problem, size, "there is not enough memory");
    return copy != NULL;
}

static bool read_headers(struct hp_push_target *target, const char *path, char *problem, size_t size)
{
    static char line[8192];
    bool is_right = true;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        snprintf(problem, size, "cannot read the headers in '%s': %s", path, strerror(errno));
        return false;
    }
    while (is_right && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        is_right = line[0] == '\0' || take_header(target, line, problem, size);
    }
    fclose(file);
    return is_right;
}

bool hp_push_targets_add_header(struct hp_push_targets *targets, const char *header, char *problem, size_t size)
{
    if (targets->count == 0) {
        snprintf(problem, size, "it is for the --push before it, and there is none");
        return false;
    }
    struct hp_push_target *target = &targets->all[targets->count - 1];
    return header[0] == '@' ? read_headers(target, header + 1, problem, size)
                            : take_header(target, header, problem, size);
}

void hp_push_targets_free(struct hp_push_targets *targets)
{
    for (size_t at = 0; at < targets->count; at++)
        for (size_t header = 0; header < targets->all[at].header_count; header++)
            free(targets->all[at].headers[header]);
    targets->count = 0;
}

/* --------------------------------------------------------------------------------------------------------- push */

static void tell(void *context, const struct hp_push_end *end, enum hp_push_result result)
{
    const struct hp_push *push = context;
    char line[600];
    if (end->status == 0)
        snprintf(line, sizeof line, "profiles cannot be pushed to %s, and wait: %s", push->names[end->target],
                 end->problem != NULL ? end->problem : "not enough memory");
    else
        snprintf(line, sizeof line, "%s answered %u to profiles: they %s", push->names[end->target], end->status,
                 result == HP_PUSH_RETRIED ? "wait" : "are dropped");
    push->say(line);
}

struct hp_push *hp_push_open(const struct hp_push_targets *targets, void (*say)(const char *line))
{
    struct hp_push *push = calloc(1, sizeof *push);
    if (push == NULL)
        return NULL;
    bool is_open = hp_push_transport_open(&push->transport);
    for (size_t at = 0; at < targets->count && is_open; at++) {
        const struct hp_push_target *target = &targets->all[at];
        memcpy(push->names[at], target->name, sizeof target->name);
        is_open = hp_push_transport_add(&push->transport, target->url, (const char *const *)target->headers,
                                        target->header_count);
    }
    push->say = say;
    push->spool = (struct hp_push_spool){.transport = &push->transport,
                                         .tell = tell,
                                         .context = push,
                                         .random = hp_clock_wall_ns(),
                                         .target_count = targets->count};
    if (is_open)
        return push;
    hp_push_close(push);
    return NULL;
}

void hp_push_close(struct hp_push *push)
{
    if (push == NULL)
        return;
    hp_push_transport_close(&push->transport); /* before what it sends is freed */
    for (size_t at = 0; at < HP_PUSH_TARGETS; at++)
        push->spool.lines[at].sending = NULL;
    hp_push_spool_free(&push->spool);
    free(push);
}

void hp_push_add(void *push, const char *bytes, size_t length) { hp_push_add_of(push, 0, bytes, length); }

void hp_push_add_of(struct hp_push *push, size_t source, const char *bytes, size_t length)
{
    hp_push_spool_add(&push->spool, source, bytes, length);
}

uint64_t hp_push_turn(struct hp_push *push, uint64_t now_ns) { return hp_push_spool_turn(&push->spool, now_ns); }

/* ------------------------------------------------------------------------------------------------------ metrics */

void hp_push_say_metrics(const struct hp_push *push, uint64_t left_out, hp_metric_say *say, void *context)
{
    static const char *const results[] = {
        [HP_PUSH_SENT] = "sent", [HP_PUSH_RETRIED] = "retried", [HP_PUSH_REJECTED] = "refused"};
    static const char *const losses[] = {
        [HP_PUSH_SPOOL_FULL] = "spool_full", [HP_PUSH_REFUSED] = "refused", [HP_PUSH_NO_MEMORY] = "no_memory"};
    struct hp_metric_about about = {.name = "hotpath_agent_push",
                                    .help = "Requests with profiles to collectors, by target and result.",
                                    .is_counter = true};
    for (size_t target = 0; target < push->spool.target_count; target++)
        for (size_t at = 0; at < HP_PUSH_RESULTS; at++) {
            about.pairs[0] = (struct hp_metric_pair){"target", push->names[target]};
            about.pairs[1] = (struct hp_metric_pair){"result", results[at]};
            about.pair_count = 2;
            about.number = (double)push->spool.lines[target].results[at];
            say(context, &about);
        }
    about.name = "hotpath_agent_push_dropped";
    about.help = "Profiles that did not reach a target and never will, by reason.";
    about.pair_count = 1;
    for (size_t at = 0; at <= HP_PUSH_LOSSES; at++) {
        about.pairs[0] = (struct hp_metric_pair){"reason", at < HP_PUSH_LOSSES ? losses[at] : "too_many_stacks"};
        about.number = (double)(at < HP_PUSH_LOSSES ? push->spool.lost[at] : left_out);
        say(context, &about);
    }
    about = (struct hp_metric_about){.name = "hotpath_agent_spool_bytes",
                                     .help = "Memory of profiles that wait to be pushed.",
                                     .number = (double)push->spool.bytes};
    say(context, &about);
}
