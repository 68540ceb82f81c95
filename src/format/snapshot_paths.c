/* Reading critical paths. SPDX-License-Identifier: MIT */
#include "snapshot_bytes.h"

#define TRIES 16u /* while a thread changes its path, which takes less than a microsecond */

bool hp_snapshot_paths(const struct hp_snapshot *snapshot, struct hp_path_counts *ret_counts)
{
    const uint32_t offset = snapshot->header.paths;
    const unsigned char *from =
        offset != 0 ? hp_snapshot_numbers_at(snapshot, offset, sizeof(struct hp_paths)) : NULL;
    if (from == NULL)
        return false;
    *ret_counts = (struct hp_path_counts){.keys = hp_load32(from + offsetof(struct hp_paths, used)),
                                          .lost = hp_load64(from + offsetof(struct hp_paths, lost)),
                                          .left = hp_load64(from + offsetof(struct hp_paths, left)),
                                          .taken = hp_load64(from + offsetof(struct hp_paths, taken)),
                                          .unknown = hp_load64(from + offsetof(struct hp_paths, unknown))};
    return ret_counts->keys <= HP_PATH_KEYS;
}

bool hp_snapshot_path_key(const struct hp_snapshot *snapshot, uint32_t number, struct hp_path_key *ret_key)
{
    struct hp_path_counts counts;
    if (!hp_snapshot_paths(snapshot, &counts) || number >= counts.keys)
        return false;
    const uint64_t offset =
        (uint64_t)snapshot->header.paths + offsetof(struct hp_paths, keys) + number * sizeof *ret_key;
    hp_copy_words(ret_key, hp_snapshot_number_bytes(snapshot) + offset, sizeof *ret_key,
                  HP_BIT_OF(struct hp_path_key, known) | HP_BIT_OF(struct hp_path_key, latency));
    return true;
}

static bool copy_path(const unsigned char *from, uint32_t keys, struct hp_path_thread *ret_path)
{
    const uint64_t wide = HP_BIT_OF(struct hp_path_thread, waker_kind) - HP_BIT_OF(struct hp_path_thread, began);
    const unsigned char *const sequence = from + offsetof(struct hp_path_thread, sequence);
    memset(ret_path, 0, sizeof *ret_path);
    for (uint32_t turn = 0; turn < TRIES; turn++) {
        const uint32_t before = hp_load32(sequence);
        hp_copy_words(ret_path, from, offsetof(struct hp_path_thread, sums), wide);
        hp_copy_words(ret_path->sums, from + offsetof(struct hp_path_thread, sums), keys * sizeof ret_path->sums[0],
                      UINT64_MAX);
        __atomic_thread_fence(__ATOMIC_ACQUIRE); /* pairs with hp_path_adopt */
        if (before % 2 == 0 && hp_load32(sequence) == before)
            return true;
    }
    return false;
}

bool hp_snapshot_path(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                      struct hp_path_thread *ret_path)
{
    struct hp_path_counts counts;
    const unsigned char *from =
        thread->path != 0 ? hp_snapshot_numbers_at(snapshot, thread->path, sizeof *ret_path) : NULL;
    if (from == NULL || !hp_snapshot_paths(snapshot, &counts) || !copy_path(from, counts.keys, ret_path))
        return false;
    ret_path->waker_name[sizeof ret_path->waker_name - 1] = '\0';
    return ret_path->generation == thread->generation;
}
