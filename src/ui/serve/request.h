/*
 * Parses and checks requests. All input is untrusted: any page in any browser can send requests to a server on this
 * machine. Knows nothing of sockets. SPDX-License-Identifier: MIT
 */
#ifndef HP_SERVE_REQUEST_H
#define HP_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

enum hp_route {
    HP_ROUTE_SESSIONS,  /* / */
    HP_ROUTE_PAGE,      /* /page */
    HP_ROUTE_DATA,      /* /page.json: only the data of the page */
    HP_ROUTE_EVENTS,    /* /events: tells when there are new data */
    HP_ROUTE_REPORT,    /* /report.json */
    HP_ROUTE_METRICS,   /* /metrics */
    HP_ROUTE_RESTARTED, /* /restarted.json: the session of a program that was started again */
    HP_ROUTE_TARGETS,   /* /targets: the services, for collectors */
    HP_ROUTE_PULL_CPU,  /* /debug/pprof/profile: what happens in the next seconds; and the others */
    HP_ROUTE_PULL_WAITS,
    HP_ROUTE_PULL_ALLOCS,
    HP_ROUTE_PULL_HEAP,
    HP_ROUTE_PULL_ZONES,
    HP_ROUTES
};

#define HP_TOKEN_LEAST 16u
#define HP_TOKEN_MOST 128u
#define HP_TARGET_MOST 2048u

struct hp_request {
    enum hp_route route;
    /* Parameters; empty: not given. */
    char token[HP_TOKEN_MOST + 1];
    char session[256]; /* as `hotpath ls` names it */
    char section[256]; /* as in --section */
    char service[256]; /* of metrics and profiles: the name of a service, or of one of its sessions */
    char seconds[16];  /* of profiles */
};

/* Our own names, for checks of the Host header. */
struct hp_own_names {
    bool is_loopback;    /* only this machine can reach us */
    const char *machine; /* the host name of this machine; "": unknown */
};

/*
 * Parses what follows the method: "/report.json?section=timing". Returns NULL, or what is wrong; then *ret_status
 * is the HTTP status.
 */
const char *hp_request_read(struct hp_request *request, const char *target, unsigned *ret_status);

/*
 * Whether the Host header is a name that only we can have. The owner of any other name may point it to this machine
 * (DNS rebinding), so that the owner's page counts as ours. An address cannot be rebound. NULL: there is none,
 * which browsers never send.
 */
bool hp_host_is_ours(const char *host, const struct hp_own_names *own);

/*
 * Whether the browser says that the request comes from another site. `origin` and `site` are the headers Origin and
 * Sec-Fetch-Site; NULL: none.
 */
bool hp_request_is_cross_site(const char *origin, const char *site, const char *host);

/*
 * The token of an Authorization header: "Bearer ...", or the password of "Basic ...", which programs make of
 * http://x:TOKEN@host. The latter is decoded into `password`. NULL: none.
 */
const char *hp_token_of(const char *authorization, char password[HP_TOKEN_MOST + 1]);

/* Whether it is a profile that is written some time later. */
static inline bool hp_route_is_pull(enum hp_route route)
{
    return route >= HP_ROUTE_PULL_CPU && route <= HP_ROUTE_PULL_ZONES;
}

/* Takes the same time for all wrong tokens of a length. */
bool hp_token_is(const char *token, const char *given);

/*
 * Whether it can be a token: of valid length, made of letters, digits, '-', '.', '_' and '~', which need no
 * escaping in a URL.
 */
bool hp_token_is_sound(const char *token);

#endif
