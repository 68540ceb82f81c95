/*
 * libmicrohttpd, loaded when it is first needed: it depends on a TLS library, which would delay the start of every
 * command. SPDX-License-Identifier: MIT
 */
#ifndef HP_SERVE_MICROHTTPD_H
#define HP_SERVE_MICROHTTPD_H

#include <microhttpd.h>

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

/* NULL: not installed, or too old. */
const struct hp_microhttpd *hp_microhttpd_get(void);

#endif
