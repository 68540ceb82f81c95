/*
 * What threads did in the segments of critical paths (path_layout.h): samples and waiting stacks, joined with the
 * ends of segments that the recorder noted. A sample belongs to the segment that ends next on its thread.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_PATH_SHARES_H
#define HP_COLLECT_PATH_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash_index.h"

#define HP_PATH_OPEN UINT32_MAX /* instead of a key: the first thread's segment that has not ended */

/* What a stack had in segments of one kind: its innermost node. */
struct hp_path_share {
    uint32_t node, pid;
    uint32_t key; /* of the process's session */
    uint32_t unused;
    int64_t cpu_ns, waited_ns;
};

/* What was found at a moment. */
struct hp_path_sample {
    uint32_t pid, tid, node;
    uint64_t ns; /* when */
    int64_t cpu_ns, waited_ns;
};

struct hp_path_thread_samples;

/*
 *     struct hp_path_shares shares = {0};
 *     hp_path_shares_sample(&shares, &sample);                each of them, ...
 *     hp_path_shares_end(&shares, pid, tid, key, ns);         ... and each end, roughly in order of time
 *     hp_path_shares_settle(&shares, until_ns);               all of both were added up to then
 *     hp_path_shares_finish(&shares);                         there will be no more
 */
struct hp_path_shares {
    struct hp_path_share *all;
    size_t count;
    /* Private from here on. */
    size_t room;
    struct hp_pair_table keys;  /* process, key */
    struct hp_pair_table pairs; /* node, number in `keys`: of `all` */
    struct hp_pair_table tids;  /* process, thread */
    struct hp_path_thread_samples *threads;
    size_t thread_room;
    uint64_t seed; /* of random choices */
};

void hp_path_shares_sample(struct hp_path_shares *shares, const struct hp_path_sample *sample);
void hp_path_shares_end(struct hp_path_shares *shares, uint32_t pid, uint32_t tid, uint32_t key, uint64_t ns);
void hp_path_shares_settle(struct hp_path_shares *shares, uint64_t until_ns);
void hp_path_shares_finish(struct hp_path_shares *shares);

/* Adds to a share. False: no memory. */
bool hp_path_shares_add(struct hp_path_shares *shares, const struct hp_path_share *share);
void hp_path_shares_free(struct hp_path_shares *shares);

#endif
