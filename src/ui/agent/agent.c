/* The agent: it answers collectors with the metrics and profiles of a host. SPDX-License-Identifier: MIT */
#include "agent.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent_link.h"
#include "agent_rights.h"
#include "answer.h"
#include "clock.h"
#include "pull.h"
#include "text.h"
#include "units.h"
#include "utf8.h"

#define LOOK_NS UINT64_C(10000000)                /* how often it is looked whether readers have answered */
#define TURN_NS UINT64_C(500000000)               /* how often it is looked whether readers want something */
#define SEARCH_NS UINT64_C(5000000000)            /* how often folders are searched: containers come and go */
#define PATIENCE_NS UINT64_C(5000000000)          /* a collector gets what is known after this */
#define PROFILE_PATIENCE_NS UINT64_C(10000000000) /* likewise, after the seconds of a profile */
#define FIRST_INTERVAL_NS UINT64_C(1000000000)
#define LAST_INTERVAL_NS UINT64_C(120000000000)
#define CPU_PART 100u    /* of a core at most, as one part in this many */
#define MOST_ANSWERS 32u /* at a time */

/* One that waits. */
struct hp_agent_answer {
    struct hp_agent *agent;
    struct hp_agent_answer *next;
    struct hp_request request;
    char accept[512], host[256];
    bool has_accept, has_host;
    uint64_t until_ns; /* it waits no longer */
    uint32_t number;   /* of a profile */
    uint64_t owed;     /* users whose reader has not answered with a profile, as bits */
    unsigned status;   /* of the best profile; 0: none */
    struct hp_body profile;
};

/* ---------------------------------------------------------------------------------------------------- interval */

static uint64_t own_cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t hp_agent_interval(uint64_t interval_ns, uint64_t used_ns, uint64_t passed_ns)
{
    const uint64_t allowed_ns = passed_ns / CPU_PART;
    const uint64_t next_ns = used_ns > allowed_ns       ? interval_ns * 2
                             : used_ns < allowed_ns / 2 ? interval_ns / 2
                                                        : interval_ns;
    return next_ns < FIRST_INTERVAL_NS  ? FIRST_INTERVAL_NS
           : next_ns > LAST_INTERVAL_NS ? LAST_INTERVAL_NS
                                        : next_ns;
}

/* A reader that has ended takes its time with it: that counts as none. */
static void settle_interval(struct hp_agent *agent, uint64_t now)
{
    const uint64_t cpu_ns = own_cpu_ns() + hp_agent_users_cpu_ns(&agent->users);
    const uint64_t used_ns = cpu_ns > agent->cpu_ns ? cpu_ns - agent->cpu_ns : 0;
    const uint64_t passed_ns = now - agent->asked_ns;
    agent->cpu_ns = cpu_ns;
    if (agent->asked_ns == 0)
        return;
    agent->interval_ns = hp_agent_interval(agent->interval_ns, used_ns, passed_ns);
}

/* ---------------------------------------------------------------------------------------------------- questions */

static void search(struct hp_agent *agent, uint64_t now)
{
    hp_session_folders_find(&agent->folders);
    hp_agent_users_settle(&agent->users, &agent->folders);
    agent->searched_ns = now;
}

static void ask(struct hp_agent *agent, uint64_t now)
{
    if (agent->is_asking || (agent->asked_ns != 0 && now - agent->asked_ns < agent->interval_ns))
        return;
    if (now - agent->searched_ns > FIRST_INTERVAL_NS)
        search(agent, now); /* a user who has just begun */
    settle_interval(agent, now);
    agent->asked_ns = now;
    agent->is_asking = true;
    hp_agent_users_ask_metrics(&agent->users);
}

/* What folders that are gone had is known now. */
static void take_answers(struct hp_agent *agent)
{
    const size_t busy = hp_agent_users_turn(&agent->users);
    if (busy == 0 && agent->is_asking) {
        agent->is_asking = false;
        hp_session_folders_forget_gone(&agent->folders);
    }
    hp_agent_users_save(&agent->users);
}

static bool has_gone(const struct hp_agent *agent)
{
    for (size_t at = 0; at < agent->folders.count; at++)
        if (agent->folders.all[at].is_gone)
            return true;
    return false;
}

uint64_t hp_agent_turn(void *context, uint64_t now_ns)
{
    struct hp_agent *agent = context;
    take_answers(agent);
    if (now_ns - agent->searched_ns >= SEARCH_NS || agent->searched_ns == 0)
        search(agent, now_ns);
    if (has_gone(agent))
        ask(agent, now_ns);
    const uint64_t push_ns = agent->push != NULL ? hp_push_turn(agent->push, now_ns) : UINT64_MAX;
    return push_ns < now_ns + TURN_NS ? push_ns : now_ns + TURN_NS;
}

static void take_push(void *context, const struct hp_agent_user *user, const void *bytes, size_t length)
{
    const struct hp_agent *agent = context;
    _Static_assert(HP_AGENT_USERS_MOST <= HP_PUSH_SOURCES, "each user is a source");
    if (agent->push != NULL)
        hp_push_add_of(agent->push, (size_t)(user - agent->users.all), bytes, length);
}

/* ------------------------------------------------------------------------------------------------------ answers */

static bool copy_header(char *to, size_t size, const char *from)
{
    if (from == NULL || strlen(from) >= size)
        return false;
    memcpy(to, from, strlen(from) + 1);
    return true;
}

static void take_profile(void *context, const struct hp_agent_user *user, const struct hp_agent_message *message,
                         int fd)
{
    struct hp_agent *agent = context;
    struct hp_agent_memory memory;
    const uint64_t whose = UINT64_C(1) << (user - agent->users.all);
    for (struct hp_agent_answer *answer = agent->answers; answer != NULL; answer = answer->next) {
        if (answer->number != message->number || (answer->owed & whose) == 0 || !hp_agent_memory_open(&memory, fd))
            continue;
        const bool is_profile = message->status == 200, is_better = is_profile != (answer->status == 200)
                                                                        ? is_profile
                                                                        : memory.length > answer->profile.length;
        answer->owed &= ~whose; /* a reader answers for itself only */
        if (is_better) {        /* what is not a profile is one line, and shown as text */
            hp_body_empty(&answer->profile);
            if (hp_body_add(&answer->profile, memory.bytes, memory.length))
                answer->status = is_profile                                         ? 200
                                 : message->status == 404 || message->status == 400 ? message->status
                                                                                    : 503;
        }
        hp_agent_memory_close(&memory);
    }
}

static bool is_profile(const struct hp_agent_answer *answer) { return hp_route_is_pull(answer->request.route); }

static size_t count_profiles(const struct hp_agent *agent)
{
    size_t count = 0;
    for (const struct hp_agent_answer *answer = agent->answers; answer != NULL; answer = answer->next)
        count += is_profile(answer);
    return count;
}

static bool has_answer(enum hp_route route)
{
    (void)route;
    return true;
}

/* NULL: it is served. */
static const char *why_not(const struct hp_agent *agent, const struct hp_request *request, unsigned *ret_status)
{
    *ret_status = 404;
    if (request->route != HP_ROUTE_METRICS && request->route != HP_ROUTE_TARGETS &&
        !hp_route_is_pull(request->route))
        return "not found; available: /metrics, /targets and /debug/pprof/{profile,waits,allocs,heap,zones}";
    *ret_status = 400;
    if (request->session[0] != '\0' || request->section[0] != '\0')
        return "allowed are service and seconds";
    *ret_status = 503;
    if (hp_route_is_pull(request->route) && count_profiles(agent) >= HP_PULLS_MOST)
        return "too many profiles at a time";
    return NULL;
}

static void begin_profile(struct hp_agent_answer *answer)
{
    struct hp_agent *agent = answer->agent;
    uint64_t seconds = HP_PULL_USUAL_S;
    const char *given = answer->request.seconds;
    hp_number_unsigned(given, strlen(given), HP_PULL_MOST_S, &seconds);
    answer->owed = hp_agent_users_ask_profile(&agent->users, &answer->request, &answer->number);
    answer->until_ns += seconds * UINT64_C(1000000000) + PROFILE_PATIENCE_NS;
}

static void *begin(void *context, const struct hp_request *request, const struct hp_asked *asked,
                   const char **ret_problem, unsigned *ret_status)
{
    struct hp_agent *agent = context;
    const uint64_t now = hp_clock_monotonic_ns();
    *ret_problem = why_not(agent, request, ret_status);
    struct hp_agent_answer *answer = *ret_problem == NULL ? calloc(1, sizeof *answer) : NULL;
    if (*ret_problem == NULL && answer == NULL)
        *ret_problem = "the agent is out of memory";
    if (answer == NULL)
        return NULL;
    *answer = (struct hp_agent_answer){
        .agent = agent, .request = *request, .until_ns = now + PATIENCE_NS, .next = agent->answers};
    answer->has_accept = copy_header(answer->accept, sizeof answer->accept, asked->accept);
    answer->has_host = copy_header(answer->host, sizeof answer->host, asked->host);
    agent->answers = answer;
    ask(agent, now);
    if (is_profile(answer))
        begin_profile(answer);
    return answer;
}

static bool is_ready(void *context)
{
    const struct hp_agent_answer *answer = context;
    const struct hp_agent_users *users = &answer->agent->users;
    take_answers(answer->agent);
    return (is_profile(answer) ? (answer->owed & hp_agent_users_asked(users, answer->number)) == 0
                               : !answer->agent->is_asking) ||
           hp_clock_monotonic_ns() > answer->until_ns;
}

/* ------------------------------------------------------------------------------------------------------ writing */

static void say_number(hp_metric_say *say, void *to, const char *name, const char *help, double number)
{
    say(to, &(struct hp_metric_about){.name = name, .help = help, .number = number});
}

static void say_more(void *context, hp_metric_say *say, void *to)
{
    const struct hp_agent *agent = context;
    size_t folders = 0, readers = 0, left_out = agent->folders.left_out;
    uint64_t push_left_out = 0;
    for (size_t at = 0; at < agent->folders.count; at++)
        *(agent->folders.all[at].fd >= 0 ? &folders : &left_out) += 1;
    for (size_t at = 0; at < agent->users.count; at++) {
        readers += agent->users.all[at].end >= 0;
        push_left_out += agent->users.all[at].push_left_out;
    }
    say_number(say, to, "hotpath_agent_interval_seconds", "Sessions are read again after this at the earliest.",
               (double)agent->interval_ns * 1e-9);
    say_number(say, to, "hotpath_agent_folders", "Folders with sessions that are read.", (double)folders);
    say_number(say, to, "hotpath_agent_folders_left_out",
               "Folders that are not read: see hotpath agent --print-config.", (double)left_out);
    say_number(say, to, "hotpath_agent_readers", "Processes that read sessions.", (double)readers);
    say(to, &(struct hp_metric_about){.name = "hotpath_agent_reader_failures",
                                      .help = "Readers that failed, or took too long, and were ended.",
                                      .is_counter = true,
                                      .number = (double)agent->users.failures});
    if (agent->push != NULL)
        hp_push_say_metrics(agent->push, push_left_out, say, to);
}

static uint32_t service_of(const struct hp_metric_sums *sums, const char *name)
{
    for (uint32_t at = 1; at < sums->service_count; at++)
        if (strcmp(hp_metric_service_name(sums, at), name) == 0)
            return at;
    return 0;
}

static void write_metrics(struct hp_agent_answer *answer, struct hp_answer *ret_answer)
{
    struct hp_agent *agent = answer->agent;
    const char *service = answer->request.service;
    struct hp_metric_text metrics = {.sums = &agent->users.sums,
                                     .service = service[0] != '\0' ? service_of(&agent->users.sums, service) : 0,
                                     .more = {.say_all = say_more, .source = agent}};
    for (size_t at = 0; at < agent->users.count; at++)
        metrics.left_out += agent->users.all[at].about.left_out;
    if (service[0] != '\0' && metrics.service == 0)
        hp_answer_problem(ret_answer, 404, "no service of that name; see /targets for a list");
    else
        hp_answer_metrics(ret_answer, metrics, answer->has_accept ? answer->accept : NULL);
}

static void write_profile(struct hp_agent_answer *answer, struct hp_answer *ret_answer)
{
    if (answer->status == 0) {
        hp_answer_problem(ret_answer, 503, "no session, or its reader does not answer");
        return;
    }
    ret_answer->status = answer->status;
    ret_answer->type = answer->status == 200 ? HP_TYPE_PROFILE : HP_TYPE_TEXT;
    ret_answer->body = answer->profile;
    answer->profile = (struct hp_body){0};
}

static void write_answer(void *context, struct hp_answer *ret_answer)
{
    struct hp_agent_answer *answer = context;
    *ret_answer = (struct hp_answer){.status = 200};
    if (is_profile(answer))
        write_profile(answer, ret_answer);
    else if (answer->request.route == HP_ROUTE_METRICS)
        write_metrics(answer, ret_answer);
    else
        hp_answer_targets(ret_answer, &answer->agent->users.sums, answer->has_host ? answer->host : NULL);
    if (ret_answer->status == 0)
        hp_answer_problem(ret_answer, 503, "the agent is out of memory");
}

static void free_answer(void *context)
{
    struct hp_agent_answer *answer = context;
    struct hp_agent *agent = answer->agent;
    for (struct hp_agent_answer **at = &agent->answers; *at != NULL; at = &(*at)->next)
        if (*at == answer) {
            *at = answer->next;
            break;
        }
    if (answer->owed != 0)
        hp_agent_users_forget_profile(&agent->users, answer->number);
    hp_body_free(&answer->profile);
    free(answer);
}

struct hp_slow_answers hp_agent_answers(struct hp_agent *agent)
{
    agent->interval_ns = FIRST_INTERVAL_NS;
    agent->users.take_profile = take_profile;
    agent->users.take_push = take_push;
    agent->users.context = agent;
    return (struct hp_slow_answers){.has = has_answer,
                                    .begin = begin,
                                    .is_ready = is_ready,
                                    .write = write_answer,
                                    .free = free_answer,
                                    .most = MOST_ANSWERS,
                                    .every_ns = LOOK_NS,
                                    .context = agent};
}

/* ----------------------------------------------------------------------------------------------------- printing */

/* Names of folders and services may have anything in them. */
static void print_safe(FILE *to, const char *text)
{
    char safe[4096];
    struct hp_text made;
    hp_text_init(&made, safe, sizeof safe);
    hp_utf8_put_safe(&made, text, strlen(text));
    fputs(hp_text_end(&made), to);
}

static void print_folders(const struct hp_agent *agent, FILE *to)
{
    for (size_t at = 0; at < agent->folders.count; at++) {
        const struct hp_session_folder *folder = &agent->folders.all[at];
        fputs("folder ", to);
        print_safe(to, folder->path);
        if (folder->inode != 0)
            fprintf(to, ", of user %u", (unsigned)folder->owner);
        if (folder->namespace_number != 0)
            fprintf(to, ", in the mount namespace %llu", (unsigned long long)folder->namespace_number);
        fprintf(to, ": %s%s\n", folder->left_out != NULL ? "left out: " : "read",
                folder->left_out != NULL ? folder->left_out : "");
    }
    for (size_t at = 0; at < agent->folders.namespace_count; at++) {
        const struct hp_mount_namespace *namespace = &agent->folders.namespaces[at];
        if (namespace->left_out != NULL)
            fprintf(to, "mount namespace %llu, of process %u: left out: %s\n",
                    (unsigned long long)namespace->number, (unsigned)namespace->pid, namespace->left_out);
    }
    if (agent->folders.hidden > 0)
        fprintf(to, "%zu processes may not be looked at: if they are in containers, these are left out\n",
                agent->folders.hidden);
    if (agent->folders.left_out > 0)
        fprintf(to, "%zu further folders or mount namespaces: left out: there are too many\n",
                agent->folders.left_out);
}

static void print_users(const struct hp_agent *agent, FILE *to)
{
    for (size_t at = 0; at < agent->users.count; at++) {
        const struct hp_agent_user *user = &agent->users.all[at];
        fputs("user ", to);
        print_safe(to, user->name);
        if (user->end < 0)
            fprintf(to, ": %s\n", user->failures > 0 ? "left out: its reader failed" : "counters of before");
        else
            fprintf(to, ": %llu sessions, %llu of them live, %llu left out: they cannot be read\n",
                    (unsigned long long)user->about.sessions, (unsigned long long)user->about.live,
                    (unsigned long long)user->about.left_out);
    }
    for (uint32_t service = 1; service < agent->users.sums.service_count; service++) {
        fputs("service ", to);
        print_safe(to, hp_metric_service_name(&agent->users.sums, service));
        fputc('\n', to);
    }
}

void hp_agent_print(struct hp_agent *agent, FILE *to)
{
    const uint64_t begin = hp_clock_monotonic_ns();
    struct hp_slow_answers unused = hp_agent_answers(agent);
    (void)unused;
    search(agent, begin);
    ask(agent, begin);
    while (agent->is_asking && hp_clock_monotonic_ns() < begin + PATIENCE_NS) {
        usleep((useconds_t)(LOOK_NS / 1000));
        if (hp_agent_users_turn(&agent->users) == 0)
            agent->is_asking = false;
    }
    fprintf(to, "rights: %s\n",
            !agent->users.is_privileged ? "those of this user: sessions of other users are left out"
            : hp_agent_may_look()       ? "a reader for each user"
                                  : "a reader for each user; without CAP_SYS_PTRACE, containers are left out");
    fprintf(to, "users: %s\n", agent->users.list != NULL ? agent->users.list : "all");
    fprintf(to, "texts: %s\n", agent->users.with_texts ? "served" : "left out");
    fprintf(to, "counters are kept in: %s\n", agent->users.folder != NULL ? agent->users.folder : "memory only");
    print_folders(agent, to);
    print_users(agent, to);
}

void hp_agent_free(struct hp_agent *agent)
{
    hp_agent_users_save(&agent->users);
    hp_agent_users_free(&agent->users);
    hp_session_folders_free(&agent->folders);
}
