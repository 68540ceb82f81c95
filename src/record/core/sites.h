/* Sites and their ids: see sites.c. SPDX-License-Identifier: MIT */
#ifndef HP_CORE_SITES_H
#define HP_CORE_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "pattern_list.h"

struct hotpath_site;
struct hp_symbol;

/* A site as the process knows it, independent of the session. */
struct hp_known_site {
    const char *name;
    const char *function;
    const char *file;
    const char *image; /* not a copy; NULL: unknown */
    uint64_t address;
    uint32_t line;
    uint32_t kind;
    uint32_t next; /* in its bucket, id + 1 */
    uint32_t hash;
    bool wants_log; /* keep its latest calls: requested by the program ... */
    bool is_logged; /* ... or by HOTPATH_LOG */
};

/* HOTPATH_FILTER and HOTPATH_SKIP, compiled. */
struct hp_site_choice {
    struct hp_pattern_list filter, skip, log;
    bool is_any;  /* one of them is set */
    bool has_log; /* HOTPATH_LOG is set */
};

#define HP_ID_UNWANTED (UINT32_MAX - 2) /* id of an object that HOTPATH_FILTER or HOTPATH_SKIP excludes: no loss */

/* The id of a site, registered now if needed; HOTPATH_ID_EXCLUDED_ if it is not to be recorded. */
uint32_t hp_site_id(struct hotpath_site *site);
/* Whether the latest calls of a site are kept in this session. */
bool hp_site_is_logged(uint32_t id);
/* The same as hp_site_id under the lock. `symbol` belongs to a compiler-instrumented function; NULL for macros. */
void hp_site_register(struct hotpath_site *site, const struct hp_symbol *symbol);
/* Compiles HOTPATH_FILTER, HOTPATH_SKIP and HOTPATH_LOG. False: no memory. `*ret_choice` is NULL if none is set. */
bool hp_sites_prepare(const struct hp_record_settings *settings, struct hp_site_choice **ret_choice);
/* Makes them effective, and returns the previous ones. Under the lock. */
struct hp_site_choice *hp_sites_choose(struct hp_site_choice *choice);
void hp_sites_drop(struct hp_site_choice *choice);
/* Writes all sites known so far into a fresh session. Under the lock. */
void hp_sites_begin(void);
/* Allocates memory for a number of sites, so that none is needed later. Under the lock. */
void hp_sites_reserve(void);

/* A site by its id. */
const struct hp_known_site *hp_site_known(uint32_t id);

#endif
