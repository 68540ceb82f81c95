/* Where sessions are. SPDX-License-Identifier: MIT */
#ifndef HP_SESSION_PLACES_H
#define HP_SESSION_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

#define HP_SESSION_SUFFIX ".hotpath"
#define HP_RUN_SUFFIX ".run" /* of a folder with the sessions of one `hotpath run` */

/*
 * The n-th folder in which a session may live, best first: writers take the first that will do, readers look into all.
 * False: there are no more. Empty: this one does not exist here.
 */
bool hp_place(const struct hp_record_settings *settings, unsigned n, char *text, size_t size);

/* Makes the folder if need be and says whether a session can live there. False: errno says why. */
bool hp_place_is_usable(const char *place);

/* Whether it is the folder of a `hotpath run`, and not one that somebody has named for a process within it. */
bool hp_place_is_of_run(const char *folder);

/* The same, and that run has ended: nobody holds the folder any more, or it was removed. Who cannot see it does not know. */
bool hp_place_is_of_past_run(const char *folder);

/* The path of a report: `pattern` with the process id for %p. False: it is too long, or empty. */
bool hp_place_of_report(const char *pattern, uint32_t pid, char *path, size_t size);

#endif
