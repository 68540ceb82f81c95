/* What readers can do that want to harm the agent, or others. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent.h"
#include "agent_link.h"
#include "metric_bytes.h"

/* The descriptor that the next thing opened would get: it is another one if something was left open. */
static int next_fd(void)
{
    const int fd = dup(0);
    assert_true(fd >= 0 && close(fd) == 0);
    return fd;
}

static void send_fds(int end, const void *bytes, size_t length, size_t count)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } space = {.bytes = {0}};
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
    struct msghdr whole = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = space.bytes};
    whole.msg_controllen = CMSG_SPACE(count * sizeof(int)); /* fds of 0: our own input */
    struct cmsghdr *head = CMSG_FIRSTHDR(&whole);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    assert_int_equal(sendmsg(end, &whole, 0), length);
}

static void no_descriptor_is_left_open(void **state)
{
    int ends[2], fd;
    struct hp_agent_message got;
    const struct hp_agent_message message = {.kind = HP_AGENT_PROFILE};
    (void)state;
    assert_true(hp_agent_link_open(ends));
    const int next = next_fd();
    send_fds(ends[0], &message, sizeof message, 1);
    assert_int_equal(hp_agent_link_receive(ends[1], &got, &fd), HP_AGENT_RECEIVED);
    assert_true(fd == next && close(fd) == 0);
    /* More of them than belong to a message, also of such that there is room for; and none that is one. */
    for (size_t count = 2; count <= 8; count++) {
        send_fds(ends[0], &message, sizeof message, count);
        hp_agent_link_receive(ends[1], &got, &fd);
        if (fd >= 0)
            close(fd);
        assert_int_equal(next_fd(), next);
    }
    for (size_t length = 0; length < 2; length++)
        for (size_t count = 1; count <= 2; count++) {
            send_fds(ends[0], &message, length, count);
            assert_int_equal(hp_agent_link_receive(ends[1], &got, &fd), HP_AGENT_GONE);
            assert_int_equal(fd, -1);
            assert_int_equal(next_fd(), next);
        }
    close(ends[0]);
    close(ends[1]);
}

/* Bytes as of hp_metric_sums_put: a service with so many series of a gauge, all of the same names. */
static bool takes_series(uint32_t count)
{
    struct hp_body body = {0};
    struct hp_metric_sums sums = {0};
    struct hp_metric_points points = {0};
    uint32_t family = 0;
    while (strcmp(hp_metric_families[family].name, "hotpath_threads") != 0)
        family++;
    assert_true(hp_metric_put_number(&body, 1) && hp_metric_put_text(&body, "shop"));
    for (size_t kind = 0; kind < HP_METRIC_KINDS; kind++)
        assert_true(hp_metric_put_number(&body, 0));
    assert_true(hp_metric_put_number(&body, 0) && hp_metric_put_number(&body, count));
    for (uint32_t at = 0; at < count; at++) {
        assert_true(hp_metric_put_number(&body, family) && hp_metric_put_number(&body, 1));
        for (size_t label = 0; label < HP_METRIC_LABELS + 1; label++) /* and the value */
            assert_true(hp_metric_put_number(&body, 0));
    }
    struct hp_metric_input in = hp_metric_input_of(body.bytes, body.length);
    const bool is_taken = hp_metric_sums_take(&in, &sums, false, &points, NULL, NULL);
    assert_int_equal(points.count, is_taken ? count : 0);
    hp_body_free(&body);
    hp_metric_points_free(&points);
    hp_metric_sums_free(&sums);
    return is_taken;
}

static void an_answer_has_no_more_than_there_can_be(void **state)
{
    (void)state;
    assert_true(takes_series(HP_METRIC_SERIES_MOST));
    assert_false(takes_series(HP_METRIC_SERIES_MOST + 1));
}

static void answer_profile(int end, uint32_t number, const char *profile)
{
    const struct hp_agent_message message = {.kind = HP_AGENT_PROFILE, .number = number, .status = 200};
    const int fd = hp_agent_memory_make(profile, strlen(profile));
    assert_true(fd >= 0 && hp_agent_link_send(end, &message, fd));
    close(fd);
}

/* Readers of two users: their ends, and how they are asked. */
static uint32_t begin_profile(struct hp_agent *agent, const struct hp_slow_answers *answers, int ends[2],
                              void **ret_answer)
{
    const char *problem;
    unsigned status;
    int fd, pair[2];
    struct hp_agent_message question = {.number = 0};
    const struct hp_request request = {.route = HP_ROUTE_PULL_CPU, .seconds = "60"};
    agent->folders.only = "/none";
    agent->users.all = calloc(2, sizeof *agent->users.all);
    agent->users.count = agent->users.room = 2;
    for (uid_t user = 0; user < 2; user++) {
        assert_true(agent->users.all != NULL && hp_agent_link_open(pair));
        agent->users.all[user] = (struct hp_agent_user){.id = user, .end = pair[0], .state = -1};
        ends[user] = pair[1];
    }
    *ret_answer = answers->begin(agent, &request, &(struct hp_asked){.host = NULL}, &problem, &status);
    assert_non_null(*ret_answer);
    while (question.kind != HP_AGENT_PROFILE)
        assert_int_equal(hp_agent_link_receive(ends[1], &question, &fd), HP_AGENT_RECEIVED);
    return question.number;
}

static void end_agent(struct hp_agent *agent, const int ends[2])
{
    for (size_t user = 0; user < 2; user++) {
        close(agent->users.all[user].end);
        agent->users.all[user].end = -1; /* there was no process */
        close(ends[user]);
    }
    hp_agent_free(agent);
}

static void a_reader_answers_for_itself_only(void **state)
{
    int ends[2];
    void *asked;
    struct hp_agent agent = {.push = NULL};
    struct hp_answer answer;
    const struct hp_slow_answers answers = hp_agent_answers(&agent);
    const uint32_t number = begin_profile(&agent, &answers, ends, &asked);
    (void)state;
    for (unsigned times = 0; times < 3; times++)
        answer_profile(ends[0], number, "of one");
    assert_false(answers.is_ready(asked));
    answer_profile(ends[1], number, "of the other");
    assert_true(answers.is_ready(asked));
    answers.write(asked, &answer);
    assert_memory_equal(answer.body.bytes, "of the other", answer.body.length);
    free(answer.body.bytes);
    answers.free(asked);
    end_agent(&agent, ends);
}

static void nobody_waits_for_a_reader_that_has_ended(void **state)
{
    int ends[2];
    void *asked;
    struct hp_agent agent = {.push = NULL};
    const struct hp_slow_answers answers = hp_agent_answers(&agent);
    const uint32_t number = begin_profile(&agent, &answers, ends, &asked);
    (void)state;
    answer_profile(ends[0], number, "of one");
    assert_false(answers.is_ready(asked));
    agent.users.all[1].questions_before = number; /* another one was started */
    assert_true(answers.is_ready(asked));
    answers.free(asked);
    end_agent(&agent, ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_descriptor_is_left_open),
        cmocka_unit_test(an_answer_has_no_more_than_there_can_be),
        cmocka_unit_test(a_reader_answers_for_itself_only),
        cmocka_unit_test(nobody_waits_for_a_reader_that_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
