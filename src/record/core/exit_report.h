/* The report that a process writes about itself: see exit_report.c. SPDX-License-Identifier: MIT */
#ifndef HP_CORE_EXIT_REPORT_H
#define HP_CORE_EXIT_REPORT_H

#include <stdbool.h>

struct hp_session;

/*
 * Writes the report of a session, held by the caller, to where its settings say; in a handler never to the host's
 * reporter.
 */
int hp_exit_report(struct hp_session *session, bool is_in_handler);

#endif
