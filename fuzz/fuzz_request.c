/*
 * A request to the server: its target, and the headers that identify the sender. Lines of the input are the target,
 * Host, Origin, Sec-Fetch-Site and Authorization. Only allowed requests may pass; the rules are written here a
 * second time. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "check.h"
#include "input.h"
#include "request.h"

#define LONGEST_INPUT 8192u
#define TOKEN "0123456789abcdef"

/* Values must be harmless in names, paths and terminals. */
static void check_value(const char *value, size_t size)
{
    const size_t length = strnlen(value, size);
    REQUIRE(length < size);
    for (size_t at = 0; at < length; at++)
        REQUIRE((unsigned char)value[at] >= ' ' && value[at] != 127);
}

static void check_target(const char *target)
{
    struct hp_request request, again;
    unsigned status = 0, status_again = 0;
    const char *problem = hp_request_read(&request, target, &status);
    check_value(request.token, sizeof request.token);
    check_value(request.session, sizeof request.session);
    check_value(request.section, sizeof request.section);
    REQUIRE((unsigned)request.route < HP_ROUTES);
    if (problem != NULL)
        REQUIRE(status == 400 || status == 404 || status == 414);
    else
        REQUIRE(target[0] == '/' && strlen(target) <= HP_TARGET_MOST);
    REQUIRE(hp_request_read(&again, target, &status_again) == problem && status_again == status);
    /* The comparison of the token must not read beyond either. */
    REQUIRE(hp_token_is(TOKEN, request.token) == (strcmp(TOKEN, request.token) == 0));
}

/* A name with a dot and a letter can belong to anybody, unless it is that of the machine. */
static void check_host(const char *host)
{
    const struct hp_own_names here = {.is_loopback = true, .machine = "machine.example"};
    const struct hp_own_names anywhere = {.is_loopback = false, .machine = "machine.example"};
    const bool is_here = hp_host_is_ours(host, &here), is_anywhere = hp_host_is_ours(host, &anywhere);
    REQUIRE(!is_here || is_anywhere);
    if (!is_here)
        return;
    const bool is_named = strncasecmp(host, "localhost", 9) == 0 && (host[9] == '\0' || host[9] == ':');
    REQUIRE(is_named || host[0] == '[' || strncmp(host, "127.", 4) == 0);
    REQUIRE(is_named || strspn(host, "0123456789abcdefABCDEF:.[]") == strlen(host));
}

static void check_site(const char *origin, const char *site, const char *host)
{
    REQUIRE(!hp_request_is_cross_site(NULL, NULL, host));
    if (!hp_request_is_cross_site(origin, NULL, host))
        REQUIRE(strncmp(origin, "http://", 7) == 0 && strcasecmp(origin + 7, host) == 0);
    if (!hp_request_is_cross_site(NULL, site, host))
        REQUIRE(strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0);
    if (hp_request_is_cross_site(origin, NULL, host) || hp_request_is_cross_site(NULL, site, host))
        REQUIRE(hp_request_is_cross_site(origin, site, host));
}

static void check_bearer(const char *authorization)
{
    char password[HP_TOKEN_MOST + 1];
    const char *bearer = hp_token_of(authorization, password);
    REQUIRE(bearer == NULL || (bearer == password && strlen(password) <= HP_TOKEN_MOST) ||
            (bearer >= authorization + 6 && bearer <= authorization + strlen(authorization)));
    if (bearer == NULL)
        return;
    REQUIRE(hp_token_is(TOKEN, bearer) == (strcmp(TOKEN, bearer) == 0));
    if (hp_token_is_sound(bearer))
        REQUIRE(strlen(bearer) >= HP_TOKEN_LEAST && strlen(bearer) <= HP_TOKEN_MOST &&
                strpbrk(bearer, " \n\"<&?/%") == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static char empty[] = "";
    char *lines[5] = {empty, empty, empty, empty, empty};
    if (size > LONGEST_INPUT)
        return 0;
    char *text = malloc(size + 1); /* ends where AddressSanitizer sees an overrun */
    REQUIRE(text != NULL);
    if (size > 0)
        memcpy(text, bytes, size);
    text[size] = '\0';
    char *rest = text;
    for (size_t at = 0; at < sizeof lines / sizeof lines[0] && rest != NULL; at++)
        lines[at] = strsep(&rest, "\n");
    check_target(lines[0]);
    check_host(lines[1]);
    check_site(lines[2], lines[3], lines[1]);
    check_bearer(lines[4]);
    free(text);
    return 0;
}
