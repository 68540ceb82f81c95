/*
 * More sites than the tree of a thread has nodes for: usage: many_sites SITES ROUNDS. Sites without a node are
 * below <other>.
 */
#include "support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct hotpath_site *sites;
static size_t site_count;

static void *call_all(void *rounds)
{
    for (size_t round = 0; round < *(size_t *)rounds; round++)
        for (size_t at = 0; at < site_count; at++) {
            struct hotpath_zone zone = {hotpath_open_(&zone, &sites[at])};
            hotpath_close_(&zone);
        }
    return NULL;
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    size_t rounds = number(argc, argv, 2, 1);
    site_count = number(argc, argv, 1, 1000);
    sites = calloc(site_count, sizeof *sites);
    char *names = calloc(site_count, 32);
    MUST(sites != NULL && names != NULL);
    for (size_t at = 0; at < site_count; at++) {
        snprintf(names + 32 * at, 32, "site %zu", at);
        sites[at] = (struct hotpath_site)HOTPATH_SITE_VALUE_(HOTPATH_KIND_BLOCK_, "", );
        sites[at].name = names + 32 * at;
    }
    /* A thread, and one that goes on in its record: what the first one knew is found again. */
    for (int thread = 0; thread < 2; thread++) {
        pthread_t id;
        MUST(pthread_create(&id, NULL, call_all, &rounds) == 0);
        MUST(pthread_join(id, NULL) == 0);
    }
    return 0;
}
