/*
 * Stacks by time: slots, and ranges made from them. Programs that run for a day are made up, and compared with sums
 * that keep everything. SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sanitizer.h"
#include "scratch_folder.h"
#include "stack_file.h"
#include "stack_range.h"
#include "stack_slots.h"
#include "stack_watch.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)
#define START (77 * S)

static struct hp_stack_slots slots;

static int set_up(void **state)
{
    (void)state;
    assert_true(hp_stack_slots_begin(&slots, START, 1));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hp_stack_slots_free(&slots);
    return 0;
}

/* ------------------------------------------------------------------------------------------------- one slot */

/* What a slot has of a node, and of all. */
struct seen {
    uint32_t node;
    uint64_t amount, part, all_amounts, all_parts;
    size_t count;
};

static void see(void *context, uint32_t node, uint64_t amount, uint64_t part)
{
    struct seen *seen = context;
    assert_true(part <= amount);
    seen->count++;
    seen->all_amounts += amount;
    seen->all_parts += part;
    if (node == seen->node) {
        seen->amount += amount;
        seen->part += part;
    }
}

static struct seen look(enum hp_slot_kind kind, uint32_t slot, uint32_t node)
{
    struct seen seen = {.node = node};
    hp_stack_slots_settle(&slots, UINT64_MAX);
    hp_stack_slot_each(&slots.all[kind][slot], see, &seen);
    assert_int_equal(seen.all_amounts, slots.all[kind][slot].amount);
    assert_int_equal(seen.all_parts, slots.all[kind][slot].part);
    return seen;
}

static void add(uint32_t node, uint64_t ns, uint64_t part, uint64_t at_ns)
{
    hp_stack_slots_add(&slots, HP_SLOT_CPU, &(struct hp_slot_weight){node, (int64_t)ns, (int64_t)part}, at_ns);
}

static void few_stacks_are_exact(void **state)
{
    (void)state;
    for (uint32_t node = 1; node <= HP_SLOT_ENTRIES; node++) {
        add(node, 3 * node, 2 * node, START + 260 * MS);
        add(node, node, 0, START + 499 * MS);
    }
    for (uint32_t node = 1; node <= HP_SLOT_ENTRIES; node += 100) {
        const struct seen seen = look(HP_SLOT_CPU, 1, node);
        assert_int_equal(seen.amount, 4 * node);
        assert_true(seen.part <= 2 * node + 2 + node / 20 && seen.part + 2 + node / 20 >= 2 * node);
        assert_int_equal(seen.count, HP_SLOT_ENTRIES);
    }
    assert_int_equal(look(HP_SLOT_CPU, 0, 1).count, 0);
    assert_int_equal(look(HP_SLOT_WAITING, 1, 1).count, 0);
}

static void heavy_stacks_and_sums_are_exact_among_many(void **state)
{
    (void)state;
    for (uint32_t node = 1; node <= 5 * HP_SLOT_ENTRIES; node++)
        add(node, node % 1000 == 0 ? 90 * MS + node : 1000 + node % 7, node % 3 * 100, START);
    struct seen seen = look(HP_SLOT_CPU, 0, 3000);
    assert_int_equal(seen.count, HP_SLOT_ENTRIES);
    assert_int_equal(seen.amount, 90 * MS + 3000);
    assert_int_equal(look(HP_SLOT_CPU, 0, 8000).amount, 90 * MS + 8000);
    uint64_t whole = 0;
    for (uint32_t node = 1; node <= 5 * HP_SLOT_ENTRIES; node++)
        whole += node % 1000 == 0 ? 90 * MS + node : 1000 + node % 7;
    assert_int_equal(seen.all_amounts, whole);
}

static void large_amounts_keep_their_sum(void **state)
{
    (void)state;
    const uint64_t large = UINT64_C(5000000000000);
    add(1, large + 1, large, START);
    add(2, 1, 1, START);
    add(3, large / 3, 0, START);
    const struct seen seen = look(HP_SLOT_CPU, 0, 1);
    assert_int_equal(seen.all_amounts, large + 2 + large / 3);
    assert_int_equal(seen.all_parts, large + 1);
    assert_in_range(seen.amount, large - 4096, large + 4096);
}

static void slots_can_be_added_to_again(void **state)
{
    (void)state;
    add(5, 10, 0, START);
    assert_int_equal(look(HP_SLOT_CPU, 0, 5).amount, 10);
    for (uint32_t slot = 1; slot < 40; slot++)
        add(5, 1, 0, START + slot * HP_STACK_FIRST_SLOT_NS);
    add(5, 7, 0, START);
    add(6, 8, 8, START);
    assert_int_equal(look(HP_SLOT_CPU, 0, 5).amount, 17);
    assert_int_equal(look(HP_SLOT_CPU, 0, 6).part, 8);
    assert_int_equal(look(HP_SLOT_CPU, 39, 5).amount, 1);
}

/* ------------------------------------------------------------------------------------------------- time */

static void spread(int64_t ns, int64_t idle_ns, uint64_t from_ns, uint64_t to_ns)
{
    hp_stack_slots_spread(&slots, HP_SLOT_WAITING, &(struct hp_slot_weight){9, ns, idle_ns}, from_ns, to_ns);
}

static void waits_are_in_all_slots_in_which_they_lasted(void **state)
{
    (void)state;
    spread((int64_t)(700 * MS), (int64_t)(350 * MS), START + 200 * MS, START + 900 * MS);
    assert_int_equal(look(HP_SLOT_WAITING, 0, 9).amount, 50 * MS);
    assert_int_equal(look(HP_SLOT_WAITING, 1, 9).amount, 250 * MS);
    assert_int_equal(look(HP_SLOT_WAITING, 2, 9).amount, 250 * MS);
    assert_int_equal(look(HP_SLOT_WAITING, 3, 9).amount, 150 * MS);
    assert_int_equal(look(HP_SLOT_WAITING, 2, 9).part, 125 * MS);
    assert_int_equal(slots.latest_ns, START + 900 * MS);
}

static void too_much_waiting_is_taken_back(void **state)
{
    (void)state;
    spread((int64_t)(700 * MS), (int64_t)(700 * MS), START + 200 * MS, START + 900 * MS);
    spread(-(int64_t)(200 * MS), -(int64_t)(200 * MS), START + 900 * MS, START + 910 * MS);
    assert_int_equal(look(HP_SLOT_WAITING, 3, 9).amount, 0);
    assert_int_equal(look(HP_SLOT_WAITING, 2, 9).amount, 200 * MS);
    assert_int_equal(look(HP_SLOT_WAITING, 2, 9).part, 200 * MS);
    assert_int_equal(look(HP_SLOT_WAITING, 1, 9).amount, 250 * MS);
}

/* Waiting and idle time are told of different slots. A file with more idle time than waiting would be broken. */
static void idle_time_is_at_most_waiting(void **state)
{
    (void)state;
    spread((int64_t)(200 * MS), 0, START, START + 200 * MS);
    spread((int64_t)(100 * MS), (int64_t)(100 * MS), START + 300 * MS, START + 400 * MS);
    spread(-(int64_t)(60 * MS), 0, START + 400 * MS, START + 410 * MS);
    assert_int_equal(look(HP_SLOT_WAITING, 1, 9).amount, 40 * MS);
    assert_int_equal(look(HP_SLOT_WAITING, 1, 9).part, 40 * MS);
    assert_int_equal(look(HP_SLOT_WAITING, 0, 9).part, 60 * MS);
    spread(0, (int64_t)(500 * MS), START + 400 * MS, START + 410 * MS);
    assert_int_equal(look(HP_SLOT_WAITING, 1, 9).part, 40 * MS);
    assert_int_equal(look(HP_SLOT_WAITING, 0, 9).part, 200 * MS);
}

static void full_slots_are_merged_in_pairs(void **state)
{
    (void)state;
    for (uint32_t slot = 0; slot < HP_STACK_SLOTS; slot++)
        add(slot % 2 + 1, slot + 1, 0, START + slot * HP_STACK_FIRST_SLOT_NS);
    assert_int_equal(slots.slot_ns, HP_STACK_FIRST_SLOT_NS);
    add(1, 1, 0, START + HP_STACK_SLOTS * HP_STACK_FIRST_SLOT_NS);
    assert_int_equal(slots.slot_ns, 2 * HP_STACK_FIRST_SLOT_NS);
    assert_int_equal(look(HP_SLOT_CPU, 7, 1).amount, 15);
    assert_int_equal(look(HP_SLOT_CPU, 7, 2).amount, 16);
    assert_int_equal(look(HP_SLOT_CPU, HP_STACK_SLOTS / 2, 1).amount, 1);
    add(1, 1, 0, START + 100000 * HP_STACK_FIRST_SLOT_NS);
    assert_int_equal(slots.slot_ns, 256 * HP_STACK_FIRST_SLOT_NS);
    assert_int_equal(look(HP_SLOT_CPU, 0, 1).all_amounts, 256 * 257 / 2);
}

/* ------------------------------------------------------------------------------------------------- a long run */

/*
 * A day of eight threads, in which functions have other shares from time to time. Most stacks are rare, as those of
 * a compiler are: each function has thousands. A sample stands for many, so that this takes no time.
 */
#define FUNCTIONS 20u
#define STACKS_EACH 3000u
#define NODES (FUNCTIONS * STACKS_EACH + 1)
#define RUN (UINT64_C(24) * 3600 * S)
#define STEP (S / 20)
#define WEIGHT (8 * STEP)
#define LAST_SLOT_NS (256 * S)
#define LAST_SLOTS (RUN / LAST_SLOT_NS + 1)

static uint64_t truth[LAST_SLOTS][FUNCTIONS], truth_parts[LAST_SLOTS][FUNCTIONS];
static struct hp_named_node *nodes;
static struct hp_named_function functions[FUNCTIONS];
static struct hp_named_frame frames[FUNCTIONS];
static uint32_t slot_nodes[NODES];
static uint64_t seed = 5;
static size_t most_bytes; /* while it ran */

static uint32_t random_below(uint32_t most)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(((seed >> 33) * most) >> 31);
}

/* Function 0 has 1 % of the time; the others change every hour. */
static uint32_t function_at(uint64_t at_ns)
{
    const uint32_t chosen = random_below(100), hour = (uint32_t)(at_ns / (3600 * S));
    return chosen == 0 ? 0 : 1 + (chosen * (chosen + hour) / 100 + hour) % (FUNCTIONS - 1);
}

static void run_a_day(void)
{
    for (uint64_t at_ns = 0; at_ns < RUN; at_ns += STEP) {
        const uint32_t function = function_at(at_ns), stack = random_below(STACKS_EACH) * random_below(STACKS_EACH);
        const uint32_t node = 1 + stack / STACKS_EACH * FUNCTIONS + function;
        const uint64_t part = function < FUNCTIONS / 2 ? WEIGHT : WEIGHT / 4;
        add(node, WEIGHT, part, START + at_ns);
        truth[at_ns / LAST_SLOT_NS][function] += WEIGHT;
        truth_parts[at_ns / LAST_SLOT_NS][function] += part;
        nodes[node].weight[HP_STACK_USER_NS] += WEIGHT;
        nodes[node].weight[HP_STACK_WALL_NS] += part;
        nodes[node].weight[HP_STACK_SAMPLES]++;
        if (at_ns % (20 * STEP) == 0)
            hp_stack_slots_settle(&slots, START + at_ns - 2 * S);
        const size_t bytes = at_ns % (16 * STEP) == 0 ? hp_stack_slots_bytes(&slots, HP_SLOT_CPU) : 0;
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
    }
    hp_stack_slots_settle(&slots, UINT64_MAX);
}

static struct hp_named_stacks named_day(void)
{
    for (uint32_t at = 0; at < FUNCTIONS; at++)
        frames[at].function = at;
    for (uint32_t at = 1; at < NODES; at++) {
        nodes[at].first_frame = (at - 1) % FUNCTIONS;
        nodes[at].frame_count = 1;
        slot_nodes[at] = at;
    }
    return (struct hp_named_stacks){.functions = functions,
                                    .frames = frames,
                                    .nodes = nodes,
                                    .function_count = FUNCTIONS,
                                    .frame_count = FUNCTIONS,
                                    .node_count = NODES,
                                    .slots = &slots,
                                    .slot_nodes = slot_nodes,
                                    .slot_node_count = NODES,
                                    .began_ns = START};
}

/* The largest difference to what was in these slots, in points of all time in them. */
static double worst_error(const struct hp_named_stacks *whole, size_t from, size_t to)
{
    struct hp_named_stacks range;
    uint64_t found[FUNCTIONS] = {0}, parts[FUNCTIONS] = {0}, is[FUNCTIONS] = {0}, is_part[FUNCTIONS] = {0}, all = 0;
    double worst = 0;
    assert_true(hp_named_stacks_between(whole, from * LAST_SLOT_NS, to * LAST_SLOT_NS, &range));
    for (uint32_t at = 1; at < NODES; at++) {
        found[(at - 1) % FUNCTIONS] += range.nodes[at].weight[HP_STACK_USER_NS];
        parts[(at - 1) % FUNCTIONS] += range.nodes[at].weight[HP_STACK_WALL_NS];
    }
    for (size_t slot = from; slot < to; slot++)
        for (uint32_t at = 0; at < FUNCTIONS; at++) {
            is[at] += truth[slot][at];
            is_part[at] += truth_parts[slot][at];
            all += truth[slot][at];
        }
    for (uint32_t at = 0; at < FUNCTIONS; at++) {
        const double of_amount = 100 * fabs((double)found[at] - (double)is[at]) / (double)all;
        const double of_part = 100 * fabs((double)parts[at] - (double)is_part[at]) / (double)all;
        worst = fmax(worst, fmax(of_amount, of_part));
    }
    hp_named_stacks_free(&range);
    return worst;
}

static uint64_t sum_between(const struct hp_named_stacks *whole, uint64_t from_ns, uint64_t to_ns,
                            enum hp_stack_weight weight)
{
    struct hp_named_stacks range;
    uint64_t sum = 0;
    assert_true(hp_named_stacks_between(whole, from_ns, to_ns, &range));
    for (uint32_t at = 1; at < NODES; at++)
        sum += range.nodes[at].weight[weight];
    hp_named_stacks_free(&range);
    return sum;
}

static void assert_ranges_add_up(const struct hp_named_stacks *whole)
{
    static const enum hp_stack_weight weights[] = {HP_STACK_USER_NS, HP_STACK_WALL_NS};
    for (size_t at = 0; at < sizeof weights / sizeof weights[0]; at++) {
        uint64_t all = 0, parts = 0, from_ns = 0;
        for (uint32_t node = 1; node < NODES; node++)
            all += nodes[node].weight[weights[at]];
        for (uint64_t to_ns; from_ns < RUN; from_ns = to_ns) {
            to_ns = from_ns + RUN / 7 + 1;
            parts += sum_between(whole, from_ns, to_ns, weights[at]);
        }
        assert_in_range(parts, all - 1000, all + 1000);
        assert_int_equal(sum_between(whole, 0, UINT64_MAX, weights[at]), all);
    }
}

static void a_day_is_small_and_its_ranges_are_right(void **state)
{
    (void)state;
    nodes = calloc(NODES, sizeof *nodes);
    assert_non_null(nodes);
    run_a_day();
    const struct hp_named_stacks whole = named_day();
    assert_int_equal(slots.slot_ns, LAST_SLOT_NS);
    assert_int_equal(slots.all[HP_SLOT_CPU][100].count, HP_SLOT_ENTRIES);
    double of_one = 0, of_thirty = 0;
    const size_t fewer = HP_ADDRESS_SANITIZER ? 10 : 1; /* it finds in some ranges what it finds in many */
    for (size_t slot = 0; slot + 2 < LAST_SLOTS; slot += 5 * fewer)
        of_one = fmax(of_one, worst_error(&whole, slot, slot + 1));
    for (size_t slot = 0; slot + 31 < LAST_SLOTS; slot += 10 * fewer)
        of_thirty = fmax(of_thirty, worst_error(&whole, slot, slot + 30));
    print_message("worst error of one slot %.2f points, of thirty %.2f; %zu bytes at most\n", of_one, of_thirty,
                  most_bytes);
    assert_true(most_bytes <= 9000000);
    assert_true(of_one < 3.5);
    assert_true(of_thirty < 1);
    assert_ranges_add_up(&whole);
    free(nodes);
}

/* ------------------------------------------------------------------------------------------------- ranges */

/* main calls work, which calls the kernel; a wait and an allocation in main. In slots they have other numbers. */
static struct hp_named_node few_nodes[] = {
    {0},
    {.parent = 0, .frame_count = 1, .weight = {400, 0, 40, 300}},
    {.parent = 1, .frame_count = 1, .weight = {1000, 200, 60, 600}},
    {.parent = 1, .image = HP_STACK_WAITING, .frame_count = 1, .weight = {[HP_STACK_WAITED_NS] = 5000, 4000, 10}},
    {.parent = 1,
     .frame_count = 1,
     .weight = {[HP_STACK_ALLOC_BYTES] = 800,
                [HP_STACK_ALLOC_BLOCKS] = 8,
                [HP_STACK_ALLOC_SAMPLES] = 1,
                [HP_STACK_PEAK_BYTES] = 500}},
};
static struct hp_zone_share few_shares[] = {{2, 0, {500, 100, 30, 300}}};
static uint32_t few_slot_nodes[] = {0, HP_NO_NODE, 4, 3, 2, 1};

static struct hp_named_stacks few(void)
{
    static struct hp_named_zone zone = {"load"};
    static struct hp_named_function function = {"main", "", HP_STACK_NO_IMAGE};
    static struct hp_named_frame frame;
    static char texts[] = "main\0load\0";
    function.name = texts;
    function.file = texts + 4;
    zone.name = texts + 5;
    return (struct hp_named_stacks){.counts = {.samples = 100, .waits = 10, .allocs = 1, .lost = 3},
                                    .functions = &function,
                                    .frames = &frame,
                                    .nodes = few_nodes,
                                    .function_count = 1,
                                    .frame_count = 1,
                                    .node_count = 5,
                                    .zones = &zone,
                                    .shares = few_shares,
                                    .zone_count = 1,
                                    .share_count = 1,
                                    .texts = texts,
                                    .text_bytes = sizeof texts,
                                    .slots = &slots,
                                    .slot_nodes = few_slot_nodes,
                                    .slot_node_count = 6,
                                    .began_ns = START + 250 * MS};
}

static void add_few(void)
{
    add(5, 300, 300, START);
    add(4, 600, 300, START + 250 * MS);
    add(4, 300, 150, START + 500 * MS);
    add(4, 300, 150, START + 900 * MS);
    add(5, 100, 0, START + 900 * MS);
    hp_stack_slots_spread(&slots, HP_SLOT_WAITING, &(struct hp_slot_weight){3, 5000, 4000}, START,
                          START + 1250 * MS);
    hp_stack_slots_add(&slots, HP_SLOT_HEAP, &(struct hp_slot_weight){2, 800, 0}, START + 600 * MS);
    hp_stack_slots_settle(&slots, UINT64_MAX);
}

static void assert_middle(const struct hp_named_stacks *whole)
{
    struct hp_named_stacks range;
    assert_true(hp_named_stacks_between(whole, 0 + 1, 500 * MS, &range)); /* slots 1 and 2 */
    assert_int_equal(range.node_count, 5);
    assert_int_equal(range.nodes[1].weight[HP_STACK_USER_NS], 0);
    assert_int_equal(range.nodes[2].weight[HP_STACK_USER_NS], 750);
    assert_int_equal(range.nodes[2].weight[HP_STACK_KERNEL_NS], 150);
    assert_int_equal(range.nodes[2].weight[HP_STACK_WALL_NS], 450);
    assert_int_equal(range.nodes[2].weight[HP_STACK_SAMPLES], 45);
    assert_int_equal(range.nodes[3].weight[HP_STACK_WAITED_NS], 2000);
    assert_int_equal(range.nodes[3].weight[HP_STACK_IDLE_NS], 1600);
    assert_int_equal(range.nodes[3].weight[HP_STACK_WAITS], 4);
    assert_int_equal(range.nodes[4].weight[HP_STACK_ALLOC_BYTES], 800);
    assert_int_equal(range.nodes[4].weight[HP_STACK_ALLOC_BLOCKS], 8);
    assert_int_equal(range.nodes[4].weight[HP_STACK_PEAK_BYTES], 0);
    assert_int_equal(range.shares[0].weight[HP_STACK_USER_NS], 375);
    assert_int_equal(range.shares[0].weight[HP_STACK_WALL_NS], 225);
    assert_int_equal(range.counts.samples, 45);
    assert_int_equal(range.counts.waits, 4);
    assert_int_equal(range.counts.lost, 3);
    hp_named_stacks_free(&range);
}

static void ranges_have_all_weights(void **state)
{
    (void)state;
    struct hp_named_stacks whole = few(), range;
    add_few();
    assert_middle(&whole);
    assert_int_equal(hp_named_stacks_known_ns(&whole), 1000 * MS);
    assert_true(hp_named_stacks_between(&whole, 0, UINT64_MAX, &range));
    assert_memory_equal(range.nodes, few_nodes, sizeof few_nodes);
    hp_named_stacks_free(&range);
    whole.slots = NULL;
    assert_false(hp_named_stacks_between(&whole, 0, UINT64_MAX, &range));
}

/* Half of a slot has half of it; the last slot ends where it is known. */
static void parts_of_slots(void **state)
{
    (void)state;
    struct hp_named_stacks whole = few(), range;
    add_few();
    assert_true(hp_named_stacks_between(&whole, 125 * MS, 250 * MS, &range));
    assert_in_range(range.nodes[2].weight[HP_STACK_USER_NS], 249, 251);
    assert_int_equal(range.nodes[3].weight[HP_STACK_WAITED_NS], 500);
    hp_named_stacks_free(&range);
}

/* ------------------------------------------------------------------------------------------------- the file */

static void file_keeps_slots(void **state)
{
    (void)state;
    const struct hp_named_stacks written = few();
    struct hp_named_stacks read;
    add_few();
    assert_true(hp_stack_file_write(scratch_folder, &written));
    assert_true(hp_stack_file_read(scratch_folder, &read));
    read.began_ns = written.began_ns;
    assert_middle(&read);
    hp_named_stacks_free(&read);
}

static void processes_that_are_left_out_are_not_in_ranges(void **state)
{
    (void)state;
    static const uint32_t pid = 7;
    struct hp_named_stacks written = few(), read, range;
    struct hp_named_node both[7] = {0};
    uint32_t numbers[] = {0, HP_NO_NODE, 6, 5, 4, 2};
    both[1] = (struct hp_named_node){.image = HP_STACK_PROCESS, .place = 3};
    both[2] = (struct hp_named_node){.parent = 1, .frame_count = 1, .weight = {400, 0, 40, 300}};
    both[3] = (struct hp_named_node){.image = HP_STACK_PROCESS, .place = 7};
    memcpy(&both[4], &few_nodes[2], 3 * sizeof both[0]);
    both[4].parent = both[5].parent = both[6].parent = 3;
    written.nodes = both;
    written.node_count = 7;
    written.share_count = 0;
    written.slot_nodes = numbers;
    add_few();
    assert_true(hp_stack_file_write(scratch_folder, &written));
    assert_true(hp_stack_file_read(scratch_folder, &read));
    assert_true(hp_named_stacks_keep(&read, &pid, 1));
    assert_int_equal(read.node_count, 5);
    assert_true(hp_named_stacks_between(&read, 600 * MS, 750 * MS, &range));
    assert_int_equal(range.nodes[2].weight[HP_STACK_USER_NS], 150);
    uint64_t all = 0;
    for (size_t at = 0; at < range.node_count; at++)
        all += range.nodes[at].weight[HP_STACK_USER_NS] + range.nodes[at].weight[HP_STACK_KERNEL_NS];
    assert_int_equal(all, 180);
    hp_named_stacks_free(&range);
    hp_named_stacks_free(&read);
}

static char *bytes_of_file(size_t *ret_size)
{
    char path[200];
    const struct hp_named_stacks written = few();
    add_few();
    assert_true(hp_stack_file_write(scratch_folder, &written));
    snprintf(path, sizeof path, "%s/%s", scratch_folder, HP_STACK_FILE_NAME);
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(100000);
    assert_true(file != NULL && bytes != NULL);
    *ret_size = fread(bytes, 1, 100000, file);
    fclose(file);
    return bytes;
}

/* With any content it is refused, or the result is sound. */
static void broken_files_are_survived(void **state)
{
    (void)state;
    size_t size;
    char *bytes = bytes_of_file(&size);
    struct hp_named_stacks read, range;
    for (size_t length = 0; length < size; length++) {
        char *part = malloc(length > 0 ? length : 1); /* so that a sanitizer sees reads beyond its end */
        memcpy(part, bytes, length);
        assert_false(hp_stack_file_parse(part, length, &read));
        free(part);
    }
    for (size_t at = 0; at < 8 * size; at++) {
        bytes[at / 8] = (char)(bytes[at / 8] ^ 1 << at % 8);
        if (hp_stack_file_parse(bytes, size, &read)) {
            if (read.slots != NULL && hp_named_stacks_between(&read, 100 * MS, 900 * MS, &range))
                hp_named_stacks_free(&range);
            hp_named_stacks_free(&read);
        }
        bytes[at / 8] = (char)(bytes[at / 8] ^ 1 << at % 8);
    }
    free(bytes);
}

/* ---------------------------------------------------------------------------------------------- while it runs */

static uint64_t cpu_ns(const struct hp_named_stacks *stacks, uint64_t from_ns, uint64_t to_ns, uint32_t node)
{
    struct hp_named_stacks range;
    assert_true(hp_named_stacks_between(stacks, from_ns, to_ns, &range));
    const uint64_t ns = range.nodes[node].weight[HP_STACK_USER_NS] + range.nodes[node].weight[HP_STACK_KERNEL_NS];
    hp_named_stacks_free(&range);
    return ns;
}

/* What the file has of the node that is 4 in slots: in those from 1 to 3, and from `slot` on. */
static void assert_file(uint64_t ns, uint64_t slot, uint64_t later_ns)
{
    struct hp_named_stacks read;
    const uint64_t slot_ns = HP_STACK_FIRST_SLOT_NS;
    assert_true(hp_stack_file_read(scratch_folder, &read));
    read.began_ns = START;
    assert_int_equal(cpu_ns(&read, slot_ns, 4 * slot_ns, 2), ns);
    assert_int_equal(cpu_ns(&read, slot * slot_ns, UINT64_MAX / 2, 2), later_ns);
    hp_named_stacks_free(&read);
}

static void write_live(struct hp_slot_log *log)
{
    struct hp_named_stacks written = few();
    hp_stack_slots_settle(&slots, UINT64_MAX);
    written.is_live = true;
    assert_true(hp_stack_file_write_live(scratch_folder, &written, log));
}

static bool has_log(void)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", scratch_folder, HP_SLOT_LOG_NAME);
    return access(path, F_OK) == 0;
}

/* Slots that have ended long ago are in the log, once; what changes there is found all the same. */
static void slots_that_do_not_change_are_in_the_log(void **state)
{
    (void)state;
    struct hp_slot_log log = {0};
    add(4, 600, 300, START + 600 * MS);
    write_live(&log);
    assert_file(600, 4, 0);
    const uint64_t empty = log.bytes;
    add(4, 50, 50, START + 10000 * MS);
    write_live(&log);
    assert_true(log.bytes > empty);
    assert_file(600, 30, 50);
    const uint64_t one = log.bytes, number = log.number;
    write_live(&log);
    assert_int_equal(log.bytes, one);
    add(4, 10, 10, START + 600 * MS);
    write_live(&log);
    assert_true(log.bytes > one);
    assert_int_equal(log.number, number);
    assert_file(610, 30, 50);
    add(4, 5, 5, START + HP_STACK_SLOTS * HP_STACK_FIRST_SLOT_NS); /* slots are merged */
    write_live(&log);
    assert_int_equal(log.number, number + 1);
    assert_file(610, 500, 5);
}

/* The last file has everything, and there is no log. */
static void the_whole_is_one_file(void **state)
{
    (void)state;
    struct hp_slot_log log = {0};
    const struct hp_named_stacks written = few();
    add(4, 600, 300, START + 600 * MS);
    add(4, 50, 50, START + 10000 * MS);
    write_live(&log);
    assert_true(has_log());
    assert_true(hp_stack_file_write(scratch_folder, &written));
    assert_false(has_log());
    assert_file(600, 30, 50);
}

/* Where the log is missing, stacks are known, but not all of when they were. */
static void a_run_without_its_log(void **state)
{
    (void)state;
    struct hp_slot_log log = {0};
    struct hp_named_stacks read;
    add(4, 600, 300, START + 600 * MS);
    add(4, 50, 50, START + 10000 * MS);
    write_live(&log);
    hp_slot_log_remove(scratch_folder);
    assert_file(0, 30, 50);
    assert_true(hp_stack_file_read(scratch_folder, &read));
    assert_int_equal(read.nodes[2].weight[HP_STACK_USER_NS], few_nodes[2].weight[HP_STACK_USER_NS]);
    hp_named_stacks_free(&read);
}

static void ask_at(time_t at)
{
    char path[200];
    const struct timespec times[2] = {{.tv_sec = at}, {.tv_sec = at}};
    snprintf(path, sizeof path, "%s/%s", scratch_folder, HP_STACKS_WANTED_NAME);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Those who look read what is new, until there will be nothing more. */
static void looks_at_a_run(void **state)
{
    (void)state;
    struct hp_slot_log log = {0};
    struct hp_stack_watch watch = {0};
    struct hp_named_stacks read;
    const struct hp_named_stacks written = few();
    add_few();
    write_live(&log);
    assert_false(hp_stacks_are_wanted(scratch_folder));
    hp_stacks_offer(scratch_folder);
    assert_false(hp_stacks_are_wanted(scratch_folder));
    assert_true(hp_stack_watch_look(&watch, scratch_folder, &read));
    assert_true(read.is_live);
    hp_named_stacks_free(&read);
    assert_true(hp_stacks_are_wanted(scratch_folder));
    ask_at(time(NULL) + 1000); /* before the clock was set back */
    assert_false(hp_stacks_are_wanted(scratch_folder));
    ask_at(time(NULL) - 1000);
    assert_false(hp_stacks_are_wanted(scratch_folder));
    ask_at(time(NULL));
    assert_false(hp_stack_watch_look(&watch, scratch_folder, &read));
    write_live(&log);
    assert_true(hp_stack_watch_look(&watch, scratch_folder, &read));
    hp_named_stacks_free(&read);
    hp_stacks_withdraw(scratch_folder);
    assert_false(hp_stacks_are_wanted(scratch_folder));
    assert_true(hp_stack_file_write(scratch_folder, &written));
    assert_true(hp_stack_watch_look(&watch, scratch_folder, &read));
    assert_false(read.is_live);
    hp_named_stacks_free(&read);
    assert_true(hp_stack_file_write(scratch_folder, &written));
    assert_false(hp_stack_watch_look(&watch, scratch_folder, &read));
    assert_false(hp_stacks_are_wanted(scratch_folder)); /* nobody would be there to answer */
}

/*
 * Its functions are named every second, and more seldom so that this takes at most 1/100 of a CPU, or 1/50 if once
 * takes more than 50 ms.
 */
static void naming_of_a_running_program_is_bounded(void **state)
{
    static const struct {
        uint64_t cost_ns, pause_ns;
    } known[] = {
        {0, S},           {10 * MS, S},      {10 * MS + 1, S + 100},     {30 * MS, 3 * S}, {50 * MS, 5 * S},
        {51 * MS, 5 * S}, {100 * MS, 5 * S}, {100 * MS + 1, 5 * S + 50}, {S, 50 * S},
    };
    (void)state;
    for (size_t at = 0; at < sizeof known / sizeof known[0]; at++)
        assert_int_equal(hp_stacks_pause_ns(known[at].cost_ns), known[at].pause_ns);
    for (uint64_t cost_ns = 1; cost_ns < 1000 * S; cost_ns += cost_ns / 7 + 1) {
        const uint64_t pause_ns = hp_stacks_pause_ns(cost_ns);
        assert_true(cost_ns <= pause_ns / (cost_ns > 50 * MS ? 50 : 100));
        assert_true(pause_ns >= S && pause_ns >= hp_stacks_pause_ns(cost_ns - 1));
        assert_true(pause_ns <= 5 * S || cost_ns > 100 * MS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(naming_of_a_running_program_is_bounded),
        cmocka_unit_test_setup_teardown(few_stacks_are_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(heavy_stacks_and_sums_are_exact_among_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_amounts_keep_their_sum, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slots_can_be_added_to_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waits_are_in_all_slots_in_which_they_lasted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_much_waiting_is_taken_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(idle_time_is_at_most_waiting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(full_slots_are_merged_in_pairs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_day_is_small_and_its_ranges_are_right, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ranges_have_all_weights, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_of_slots, set_up, tear_down),
        cmocka_unit_test_setup_teardown(file_keeps_slots, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes_that_are_left_out_are_not_in_ranges, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_files_are_survived, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slots_that_do_not_change_are_in_the_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_whole_is_one_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_without_its_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(looks_at_a_run, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
