/* Parses and checks requests. SPDX-License-Identifier: MIT */
#include "request.h"

#include <arpa/inet.h>
#include <string.h>

#include "text.h"

/* ------------------------------------------------------------------------------------------------- target */

static const char *const paths[HP_ROUTES] = {
    [HP_ROUTE_SESSIONS] = "/",
    [HP_ROUTE_PAGE] = "/page",
    [HP_ROUTE_DATA] = "/page.json",
    [HP_ROUTE_EVENTS] = "/events",
    [HP_ROUTE_REPORT] = "/report.json",
    [HP_ROUTE_METRICS] = "/metrics",
    [HP_ROUTE_RESTARTED] = "/restarted.json",
    [HP_ROUTE_TARGETS] = "/targets",
    [HP_ROUTE_PULL_CPU] = "/debug/pprof/profile",
    [HP_ROUTE_PULL_WAITS] = "/debug/pprof/waits",
    [HP_ROUTE_PULL_ALLOCS] = "/debug/pprof/allocs",
    [HP_ROUTE_PULL_HEAP] = "/debug/pprof/heap",
    [HP_ROUTE_PULL_ZONES] = "/debug/pprof/zones",
};

static bool find_route(const char *path, size_t length, enum hp_route *ret_route)
{
    for (unsigned route = 0; route < HP_ROUTES; route++)
        if (strlen(paths[route]) == length && memcmp(paths[route], path, length) == 0) {
            *ret_route = (enum hp_route)route;
            return true;
        }
    return false;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decodes one character of a value with `length` bytes left; returns how many bytes it took, 0: invalid. */
static size_t decode(const char *at, size_t length, char *ret_char)
{
    *ret_char = *at == '+' ? ' ' : *at;
    if (*at != '%')
        return 1;
    const int high = length >= 3 ? digit_of(at[1]) : -1, low = length >= 3 ? digit_of(at[2]) : -1;
    if (high < 0 || low < 0)
        return 0;
    *ret_char = (char)(high * 16 + low);
    return 3;
}

/* False: too long, invalid, or with characters that no name has. */
static bool read_value(char *value, size_t size, const char *text, size_t length)
{
    size_t used = 0;
    while (length > 0) {
        char c;
        const size_t taken = decode(text, length, &c);
        if (taken == 0 || (unsigned char)c < ' ' || c == 127 || used + 1 >= size)
            return false;
        value[used++] = c;
        text += taken;
        length -= taken;
    }
    value[used] = '\0';
    return true;
}

struct parameter {
    const char *name;
    char *value;
    size_t size;
    bool is_given;
};

static struct parameter *find_parameter(struct parameter *all, size_t count, const char *name, size_t length)
{
    for (size_t at = 0; at < count; at++)
        if (strlen(all[at].name) == length && memcmp(all[at].name, name, length) == 0)
            return &all[at];
    return NULL;
}

/* Unknown parameters are refused: a misspelt name would otherwise silently have no effect. */
static const char *read_query(struct hp_request *request, const char *query)
{
    struct parameter all[] = {{"token", request->token, sizeof request->token, false},
                              {"session", request->session, sizeof request->session, false},
                              {"section", request->section, sizeof request->section, false},
                              {"service", request->service, sizeof request->service, false},
                              {"seconds", request->seconds, sizeof request->seconds, false}};
    while (*query != '\0') {
        const size_t length = strcspn(query, "&"), name = strcspn(query, "=&");
        struct parameter *parameter = find_parameter(all, sizeof all / sizeof all[0], query, name);
        if (parameter == NULL)
            return "unknown parameter; allowed are token, session, section, service and seconds";
        if (parameter->is_given)
            return "a parameter is given twice";
        if (name == length || !read_value(parameter->value, parameter->size, query + name + 1, length - name - 1))
            return "a parameter value is missing, too long or not URL-encoded";
        parameter->is_given = true;
        query += length;
        query += *query == '&';
    }
    return NULL;
}

const char *hp_request_read(struct hp_request *request, const char *target, unsigned *ret_status)
{
    *request = (struct hp_request){.route = HP_ROUTE_SESSIONS};
    if (strlen(target) > HP_TARGET_MOST) {
        *ret_status = 414;
        return "the URL is too long";
    }
    const size_t length = strcspn(target, "?");
    const char *problem = target[length] == '?' ? read_query(request, target + length + 1) : NULL;
    *ret_status = problem != NULL ? 400 : 404;
    if (problem == NULL && !find_route(target, length, &request->route))
        problem = "not found; available: /, /page, /page.json, /events, /restarted.json, /report.json, "
                  "/metrics, /targets and /debug/pprof/{profile,waits,allocs,heap,zones}";
    return problem;
}

/* -------------------------------------------------------------------------------------------------- names */

/* The part before the port of "name:port", "1.2.3.4:port" and "[::1]:port". False: none of these. */
static bool name_of_host(const char *host, char *name, size_t size)
{
    const bool is_bracketed = host[0] == '[';
    const char *begin = host + is_bracketed;
    const size_t length = strcspn(begin, is_bracketed ? "]" : ":");
    if (length == 0 || length >= size || (is_bracketed && begin[length] != ']'))
        return false;
    const char *rest = begin + length + is_bracketed;
    if (*rest != '\0' && (*rest != ':' || rest[1] == '\0' || rest[1 + strspn(rest + 1, "0123456789")] != '\0'))
        return false;
    memcpy(name, begin, length);
    name[length] = '\0';
    return true;
}

bool hp_host_is_ours(const char *host, const struct hp_own_names *own)
{
    char name[256];
    struct in_addr four;
    struct in6_addr six;
    if (host == NULL || !name_of_host(host, name, sizeof name))
        return false;
    if (hp_text_equal_nocase(name, strlen(name), "localhost"))
        return true;
    if (host[0] == '[')
        return inet_pton(AF_INET6, name, &six) == 1 && (!own->is_loopback || IN6_IS_ADDR_LOOPBACK(&six));
    if (inet_pton(AF_INET, name, &four) == 1)
        return !own->is_loopback || ntohl(four.s_addr) >> 24 == 127;
    return !own->is_loopback && own->machine[0] != '\0' && hp_text_equal_nocase(name, strlen(name), own->machine);
}

bool hp_request_is_cross_site(const char *origin, const char *site, const char *host)
{
    static const char scheme[] = "http://";
    if (site != NULL && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
        return true;
    if (origin == NULL)
        return false;
    return host == NULL || strncmp(origin, scheme, sizeof scheme - 1) != 0 ||
           !hp_text_equal_nocase(origin + sizeof scheme - 1, strlen(origin + sizeof scheme - 1), host);
}

/* -------------------------------------------------------------------------------------------------- token */

/* What follows the scheme; NULL: it is another one. */
static const char *after_scheme(const char *authorization, const char *scheme)
{
    const size_t length = strlen(scheme);
    if (strlen(authorization) < length || !hp_text_equal_nocase(authorization, length, scheme))
        return NULL;
    return authorization + length + strspn(authorization + length, " ");
}

/* Decodes base64. False: it is none, or too long. */
static bool decode_base64(const char *text, char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned pending = 0, bits = 0;
    size_t used = 0;
    for (; *text != '\0' && *text != '='; text++) {
        const char *digit = strchr(digits, *text);
        if (digit == NULL)
            return false;
        pending = (pending << 6 | (unsigned)(digit - digits)) & 0xffff;
        bits += 6;
        if (bits < 8)
            continue;
        bits -= 8;
        if (used + 1 >= size)
            return false;
        bytes[used++] = (char)(pending >> bits & 0xff);
    }
    bytes[used] = '\0';
    return true;
}

const char *hp_token_of(const char *authorization, char password[HP_TOKEN_MOST + 1])
{
    char both[HP_TOKEN_MOST + 64];
    const char *token = authorization != NULL ? after_scheme(authorization, "bearer ") : NULL;
    const char *basic = authorization != NULL ? after_scheme(authorization, "basic ") : NULL;
    if (basic == NULL || !decode_base64(basic, both, sizeof both))
        return token;
    const char *colon = strchr(both, ':');
    if (colon == NULL || strlen(colon + 1) > HP_TOKEN_MOST)
        return NULL;
    memcpy(password, colon + 1, strlen(colon + 1) + 1);
    return password;
}

bool hp_token_is(const char *token, const char *given)
{
    const size_t length = strlen(token);
    unsigned difference = strlen(given) != length;
    if (difference != 0)
        given = token; /* the length is no secret; the comparison takes the same time */
    for (size_t at = 0; at < length; at++)
        difference |= (unsigned)(unsigned char)token[at] ^ (unsigned char)given[at];
    return difference == 0;
}

bool hp_token_is_sound(const char *token)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    const size_t length = strlen(token);
    return length >= HP_TOKEN_LEAST && length <= HP_TOKEN_MOST && token[strspn(token, allowed)] == '\0';
}
