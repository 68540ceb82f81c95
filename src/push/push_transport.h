/*
 * Sends requests by libcurl, which is opened when it is first needed, and needs no headers of it to be built.
 * Nothing waits: names are resolved by a thread of libcurl's, which is left behind if it does not come back (before
 * 7.87 a request that takes too long is ended only when it does). One request per target at a time.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_PUSH_TRANSPORT_H
#define HP_PUSH_TRANSPORT_H

#include "push_spool.h"

/* NULL: it is installed. Otherwise what to install. */
const char *hp_push_transport_is_missing(void);

/*
 * For all targets that are added. The texts are copied; a header is "Name: value". False: no memory, or
 * libcurl is missing.
 */
bool hp_push_transport_open(struct hp_push_transport *ret_transport);
bool hp_push_transport_add(struct hp_push_transport *transport, const char *url, const char *const *headers,
                           size_t header_count);
void hp_push_transport_close(struct hp_push_transport *transport);

#endif
