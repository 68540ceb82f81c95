/* What `hotpath serve` and `hotpath agent` have in common. SPDX-License-Identifier: MIT */
#include "serving.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "push_transport.h"
#include "text.h"
#include "units.h"

#define USUAL_PORT 7878u

bool hp_serving_read_port(const struct hp_arguments *arguments, struct hp_serving_port *ret_port)
{
    const char *text = hp_arguments_flag(arguments, "port");
    char *end;
    *ret_port = (struct hp_serving_port){USUAL_PORT, text != NULL};
    if (text == NULL)
        return true;
    const unsigned long port = strtoul(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && port <= 65535) {
        ret_port->number = (uint16_t)port;
        return true;
    }
    hp_misuse(arguments->command, "--port '%s' is not between 0 and 65535", text);
    return false;
}

static bool make_token(char *token)
{
    unsigned char bytes[16];
    struct hp_text text;
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        hp_fail("cannot get random numbers for a token: %s", strerror(errno));
        return false;
    }
    hp_text_init(&text, token, HP_TOKEN_MOST + 1);
    for (size_t at = 0; at < sizeof bytes; at++)
        hp_text_hex(&text, bytes[at], 2);
    hp_text_end(&text);
    return true;
}

/* The token is the first line of a file: on the command line every user could read it. */
bool hp_serving_read_token(const struct hp_arguments *arguments, char token[HP_TOKEN_MOST + 1])
{
    const char *path = hp_arguments_flag(arguments, "token-file");
    if (path == NULL)
        return make_token(token);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        hp_fail("cannot read the token in '%s': %s", path, strerror(errno));
        return false;
    }
    const bool is_read = fgets(token, HP_TOKEN_MOST + 1, file) != NULL;
    const int next = fgetc(file);
    fclose(file);
    const size_t length = is_read ? strcspn(token, "\n") : 0;
    const bool is_whole = is_read && (token[length] == '\n' || next == EOF || next == '\n');
    token[length] = '\0';
    if (is_whole && hp_token_is_sound(token))
        return true;
    hp_fail("the first line of '%s' is not a token: %u to %u letters, digits, '-', '.', '_' or '~'", path,
            HP_TOKEN_LEAST, HP_TOKEN_MOST);
    return false;
}

/* --------------------------------------------------------------------------------------------------------- push */

static bool read_push_interval(const struct hp_arguments *arguments, uint64_t *ret_ns)
{
    const char *text = hp_arguments_flag(arguments, "push-every");
    uint64_t seconds = HP_PUSH_USUAL_S;
    if (text != NULL && (!hp_number_unsigned(text, strlen(text), 3600, &seconds) || seconds == 0)) {
        hp_misuse(arguments->command, "--push-every '%s' is not between 1 and 3600 seconds", text);
        return false;
    }
    *ret_ns = seconds * UINT64_C(1000000000);
    return true;
}

bool hp_serving_read_push(const struct hp_arguments *arguments, struct hp_push_targets *ret_targets,
                          uint64_t *ret_every_ns)
{
    char problem[1400];
    for (size_t at = 0; at < arguments->repeated_count; at++) {
        const bool is_target = strcmp(arguments->repeated_as[at], "push") == 0;
        if ((is_target ? hp_push_targets_add : hp_push_targets_add_header)(ret_targets, arguments->repeated[at],
                                                                           problem, sizeof problem))
            continue;
        hp_misuse(arguments->command, "--%s: %s", arguments->repeated_as[at], problem);
        return false;
    }
    return read_push_interval(arguments, ret_every_ns);
}

static void say(const char *line) { hp_fail("%s", line); }

struct hp_push *hp_serving_open_push(const struct hp_push_targets *targets)
{
    const char *missing = hp_push_transport_is_missing();
    struct hp_push *push = missing == NULL ? hp_push_open(targets, say) : NULL;
    if (push == NULL)
        hp_fail("%s", missing != NULL ? missing : "not enough memory to push profiles");
    return push;
}

/* ------------------------------------------------------------------------------------------------------ signals */

volatile sig_atomic_t hp_serving_told;

static void on_signal(int signal) { hp_serving_told = signal; }

/* Without SA_RESTART: a signal must interrupt the wait for requests. */
void hp_serving_listen_to_signals(void)
{
    const struct sigaction ends = {.sa_handler = on_signal}, ignored = {.sa_handler = SIG_IGN};
    sigaction(SIGINT, &ends, NULL);
    sigaction(SIGTERM, &ends, NULL);
    sigaction(SIGPIPE, &ignored, NULL);
}
