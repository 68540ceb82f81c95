/*
 * Reads the file of stacks with their weights by time. The input changes numbers in a valid one, as a hostile
 * writer could: for each change a place (2 bytes), how many bytes (1), and a number of so many; the first 4 bytes
 * are the limits of a time range, in steps of 10 ms. What is accepted must be sound: its ranges and its sums by
 * function can be made. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* mkdtemp */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "function_sums.h"
#include "input.h"
#include "stack_file.h"
#include "stack_range.h"
#include "stack_slots.h"

#define START UINT64_C(5000000000)
#define STEP UINT64_C(10000000)
#define MOST_BYTES 65536u

/* A process, main, which calls work and waits; a wait for a lock that work holds; a zone. */
static const struct hp_named_node nodes[] = {
    {.parent = 0},
    {.parent = 0, .image = HP_STACK_PROCESS, .place = UINT64_C(1) << 32 | 4000},
    {.parent = 1, .image = 0, .place = 16, .frame_count = 1, .weight = {400, 0, 40, 300}},
    {.parent = 2, .image = 0, .place = 32, .first_frame = 1, .frame_count = 2, .weight = {1000, 200, 60, 600}},
    {.parent = 2,
     .image = HP_STACK_WAITING,
     .first_frame = 3,
     .frame_count = 1,
     .weight = {[HP_STACK_WAITED_NS] = 5000, [HP_STACK_IDLE_NS] = 4000, [HP_STACK_WAITS] = 10}},
    {.parent = 2,
     .image = 0,
     .place = 48,
     .first_frame = 2,
     .frame_count = 1,
     .weight = {[HP_STACK_ALLOC_BYTES] = 800, [HP_STACK_ALLOC_BLOCKS] = 8, [HP_STACK_ALLOC_SAMPLES] = 1}},
};
static struct hp_named_frame frames[] = {{0, 3}, {1, 7}, {2, 9}, {3, 0}};
static uint32_t slot_nodes[] = {0, 1, 2, 3, 4, 5};

static void add_weights(struct hp_stack_slots *slots)
{
    REQUIRE(hp_stack_slots_begin(slots, START, 1));
    for (uint32_t node = 2; node < 4; node++)
        for (uint64_t at = 0; at < 8; at++)
            hp_stack_slots_add(slots, HP_SLOT_CPU, &(struct hp_slot_weight){node, 50, 30}, START + at * 15 * STEP);
    hp_stack_slots_spread(slots, HP_SLOT_WAITING, &(struct hp_slot_weight){4, 5000, 4000}, START,
                          START + 99 * STEP);
    hp_stack_slots_add(slots, HP_SLOT_HEAP, &(struct hp_slot_weight){5, 800, 0}, START + 60 * STEP);
    hp_stack_slots_settle(slots, UINT64_MAX);
}

static void write_valid(const char *folder)
{
    static char texts[] = "main\0work\0[waiting: lock]\0/opt/program\0load\0";
    struct hp_stack_slots *slots = malloc(sizeof *slots);
    struct hp_named_function functions[] = {{texts, texts + 4, 0},
                                            {texts + 5, texts + 4, 0},
                                            {texts + 5, texts + 4, 0},
                                            {texts + 10, texts + 4, HP_STACK_NO_IMAGE}};
    struct hp_named_image image = {.path = texts + 26, .build_id = texts + 4, .package = texts + 4};
    struct hp_named_program program = {.name = texts, .file = texts + 26};
    struct hp_named_zone zone = {texts + 39};
    struct hp_zone_share share = {3, 0, {500, 100, 30, 300}};
    struct hp_lock_hold hold = {.waiter = 4, .holder = 3, .ns = 2000, .samples = 4};
    REQUIRE(slots != NULL);
    add_weights(slots);
    const struct hp_named_stacks stacks = {.counts = {.samples = 100, .waits = 10, .allocs = 1},
                                           .images = &image,
                                           .image_count = 1,
                                           .functions = functions,
                                           .function_count = 4,
                                           .frames = frames,
                                           .frame_count = 4,
                                           .nodes = (struct hp_named_node *)(uintptr_t)nodes,
                                           .node_count = sizeof nodes / sizeof nodes[0],
                                           .zones = &zone,
                                           .zone_count = 1,
                                           .shares = &share,
                                           .share_count = 1,
                                           .holds = &hold,
                                           .hold_count = 1,
                                           .programs = &program,
                                           .program_count = 1,
                                           .texts = texts,
                                           .text_bytes = sizeof texts,
                                           .slots = slots,
                                           .slot_nodes = slot_nodes,
                                           .slot_node_count = 6};
    REQUIRE(hp_stack_file_write(folder, &stacks));
    hp_stack_slots_free(slots);
    free(slots);
}

/* Of a valid file; the first call writes one. */
static size_t valid_bytes(const unsigned char **ret_bytes)
{
    static unsigned char bytes[MOST_BYTES];
    static size_t size;
    char folder[] = "/tmp/hotpath-fuzz-stacks-XXXXXX", path[80];
    *ret_bytes = bytes;
    if (size > 0)
        return size;
    REQUIRE(mkdtemp(folder) != NULL);
    write_valid(folder);
    snprintf(path, sizeof path, "%s/%s", folder, HP_STACK_FILE_NAME);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd >= 0 ? read(fd, bytes, sizeof bytes) : -1;
    REQUIRE(got > 0 && (size_t)got < sizeof bytes);
    close(fd);
    REQUIRE(unlink(path) == 0 && rmdir(folder) == 0);
    size = (size_t)got;
    return size;
}

static void change(struct fuzz_input *input, unsigned char *bytes, size_t size)
{
    const size_t place = (size_t)fuzz_number(input, 2) % size;
    const unsigned length = 1 + fuzz_byte(input) % 8;
    const uint64_t number = fuzz_number(input, length);
    for (unsigned at = 0; at < length && place + at < size; at++)
        bytes[place + at] = (unsigned char)(number >> 8 * at);
}

static void make_sums(const struct hp_named_stacks *stacks)
{
    struct hp_function_profile profile;
    if (hp_function_sums_make(stacks, &profile))
        hp_function_sums_free(&profile);
}

static void use(struct hp_named_stacks *stacks, uint64_t from_ns, uint64_t to_ns)
{
    struct hp_named_stacks range;
    const uint32_t pid = 4000;
    make_sums(stacks);
    if (hp_named_stacks_have_ranges(stacks) && hp_named_stacks_between(stacks, from_ns, to_ns, &range)) {
        make_sums(&range);
        hp_named_stacks_free(&range);
    }
    if (hp_named_stacks_keep(stacks, &pid, 1))
        make_sums(stacks);
}

int LLVMFuzzerTestOneInput(const uint8_t *input_bytes, size_t input_size)
{
    struct fuzz_input input = {input_bytes, input_size};
    const unsigned char *valid;
    struct hp_named_stacks stacks;
    const size_t size = valid_bytes(&valid);
    unsigned char *bytes = malloc(size);
    const uint64_t from_ns = fuzz_number(&input, 2) * STEP, to_ns = from_ns + (1 + fuzz_number(&input, 2)) * STEP;
    REQUIRE(bytes != NULL);
    memcpy(bytes, valid, size);
    const bool is_changed = input.left > 0;
    while (input.left > 0)
        change(&input, bytes, size);
    const bool is_read = hp_stack_file_parse(bytes, size, &stacks);
    REQUIRE(is_read || is_changed);
    if (is_read) {
        use(&stacks, from_ns, to_ns);
        hp_named_stacks_free(&stacks);
    }
    free(bytes);
    return 0;
}
