/* Sites and their numbers: see sites.c. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_SITES_H
#define HP_RECORD_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "pattern_list.h"

struct hotpath_site;
struct hp_symbol;

/* A site as the process knows it, whatever session runs. */
struct hp_known_site {
    const char *name;
    const char *function;
    const char *file;
    const char *image; /* not a copy; NULL: not known */
    uint64_t address;
    uint32_t line;
    uint32_t kind;
    uint32_t next; /* in its bucket, id + 1 */
    uint32_t hash;
    bool wants_log; /* its latest calls are kept because the program says so ... */
    bool is_logged; /* ... or HOTPATH_LOG does */
};

/* What HOTPATH_FILTER and HOTPATH_SKIP say, ready to be asked. */
struct hp_site_choice {
    struct hp_pattern_list filter, skip, log;
    bool is_any;  /* one of them says something */
    bool has_log; /* the last one */
};

/* The id of a site, registered now if need be; HOTPATH_ID_EXCLUDED_ when it is not to be recorded. */
uint32_t hp_site_id(struct hotpath_site *site);
/* Whether the latest calls of a site are kept in this session. */
bool hp_site_is_logged(uint32_t id);
/* The same as hp_site_id under the lock. `symbol` is that of a function that the compiler measures, NULL for macros. */
void hp_site_register(struct hotpath_site *site, const struct hp_symbol *symbol);
/* HOTPATH_FILTER, HOTPATH_SKIP and HOTPATH_LOG, ready to be asked. False: no memory. `*ret_choice` is NULL where none says anything. */
bool hp_sites_prepare(const struct hp_record_settings *settings, struct hp_site_choice **ret_choice);
/* Makes them count from now on, and returns those that did before. Under the lock. */
struct hp_site_choice *hp_sites_choose(struct hp_site_choice *choice);
void hp_sites_drop(struct hp_site_choice *choice);
/* Writes all sites known so far into a fresh session. Under the lock. */
void hp_sites_begin(void);
/* Memory for a number of sites, so that none is needed later. Under the lock. */
void hp_sites_reserve(void);

/* What the process knows of a site that has a number. */
const struct hp_known_site *hp_site_known(uint32_t id);

#endif
