/* The ring of samples. SPDX-License-Identifier: MIT */
#include "sample_ring.h"

#include "runtime.h"

#define CHUNK_SAMPLES 256u
#define MAX_CHUNKS 64u

/* A new chunk, or the oldest one again. Other data needs the space more than samples do. */
static struct hp_sample_chunk *next_chunk(struct hp_thread_context *context, struct hp_sample_chunk *full)
{
    struct hp_cpu_thread *cpu = context->sampler.cpu;
    const struct hp_header *header = hp_store_header(context->store);
    const uint32_t bytes = (uint32_t)(sizeof *full + CHUNK_SAMPLES * sizeof full->samples[0]);
    const bool is_enough =
        cpu->chunk_count >= MAX_CHUNKS || __atomic_load_n(&header->used, __ATOMIC_RELAXED) > header->capacity / 2;
    uint32_t offset = is_enough ? 0 : hp_store_allocate(context->store, bytes, 64);
    struct hp_sample_chunk *chunk = NULL;
    if (offset != 0) {
        chunk = hp_store_at(context->store, offset);
        chunk->capacity = CHUNK_SAMPLES;
        chunk->next = full != NULL ? full->next : offset;
        HOTPATH_PUT_(cpu->chunk_count, cpu->chunk_count + 1);
    } else if (full != NULL && full->next != 0) {
        offset = full->next;
        chunk = hp_store_at(context->store, offset);
        __atomic_store_n(&chunk->used, 0, __ATOMIC_RELEASE);
    }
    if (chunk == NULL)
        return NULL;
    HOTPATH_PUT_(chunk->first, cpu->recorded);
    if (full != NULL)
        __atomic_store_n(&full->next, offset, __ATOMIC_RELEASE);
    __atomic_store_n(&cpu->chunk, offset, __ATOMIC_RELEASE);
    return chunk;
}

void hp_sample_ring_add(struct hp_thread_context *context, uint32_t node, enum hp_sample_kind kind)
{
    struct hp_cpu_thread *cpu = context->sampler.cpu;
    struct hp_sample_chunk *chunk = cpu->chunk != 0 ? hp_store_at(context->store, cpu->chunk) : NULL;
    if (chunk == NULL || chunk->used == chunk->capacity)
        chunk = next_chunk(context, chunk);
    if (chunk == NULL)
        return;
    chunk->samples[chunk->used] = (struct hp_sample){
        .ticks = hp_clock_ticks_raw(hp_runtime->counter), .node = node, .tid = context->thread_id, .kind = kind};
    __atomic_store_n(&chunk->used, chunk->used + 1, __ATOMIC_RELEASE);
    HOTPATH_ADD_(cpu->recorded, 1);
}
