/*
 * Stacks by time for the page: what each slot of the run adds to the nodes of its tree, as columns of numbers
 * (page.h). Slots are merged until there are few enough stacks in all of them: a page has to be read as a whole.
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "arith.h"
#include "page.h"

#define MOST_ENTRIES 200000u       /* of a kind; some eight bytes each */
#define MOST_SERVED_ENTRIES 40000u /* the data are sent again and again */
#define TIME_UNIT 1000u            /* microseconds */

static const struct {
    const char *key;
    enum hp_slot_kind kind;
    uint64_t unit;
} measures[] = {{"cpu", HP_SLOT_CPU, TIME_UNIT}, {"waits", HP_SLOT_WAITING, TIME_UNIT}, {"alloc", HP_SLOT_HEAP, 1}};

/* One kind, slot by slot of the page. */
struct gathering {
    const struct hp_page_content *content;
    uint64_t *amounts, *parts; /* by node of the page: of the current slot */
    uint32_t *met;             /* by node: the slot that it was found in last, plus 1 */
    uint32_t *nodes;           /* those of the current slot */
    size_t count;
    uint32_t slot;
};

/* Nodes that the page has not are below those that it has. */
static void gather(void *context, uint32_t node, uint64_t amount, uint64_t part)
{
    struct gathering *gathering = context;
    const struct hp_named_stacks *named = gathering->content->named;
    const struct hp_weighted *weighted = gathering->content->weighted;
    const uint32_t number = named->slot_nodes[node];
    if (number >= weighted->place_count)
        return;
    const uint32_t place = weighted->places[number];
    if (gathering->met[place] != gathering->slot + 1) {
        gathering->met[place] = gathering->slot + 1;
        gathering->amounts[place] = gathering->parts[place] = 0;
        gathering->nodes[gathering->count++] = place;
    }
    gathering->amounts[place] += amount;
    gathering->parts[place] += part;
}

/* A slot of the page, of so many of the run. */
static void gather_slot(struct gathering *gathering, enum hp_slot_kind kind, uint32_t slot, uint32_t merged)
{
    gathering->count = 0;
    gathering->slot = slot;
    for (uint32_t at = slot * merged; at < (slot + 1) * merged && at < HP_STACK_SLOTS; at++)
        hp_stack_slot_each(&gathering->content->named->slots->all[kind][at], gather, gathering);
}

/* Slots that are used, merged. */
static uint32_t slots_of(const struct hp_stack_slots *slots, uint32_t merged)
{
    return hp_stack_slot_at(slots, slots->latest_ns) / merged + 1;
}

static void forget_met(struct gathering *gathering)
{
    memset(gathering->met, 0, gathering->content->weighted->node_count * sizeof *gathering->met);
}

static size_t count_entries(struct gathering *gathering, enum hp_slot_kind kind, uint32_t merged)
{
    size_t count = 0;
    forget_met(gathering);
    for (uint32_t slot = 0; slot < slots_of(gathering->content->named->slots, merged); slot++) {
        gather_slot(gathering, kind, slot, merged);
        count += gathering->count;
    }
    return count;
}

static int by_number(const void *a, const void *b)
{
    return hp_by_number(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* ------------------------------------------------------------------------------------------------ columns */

struct columns {
    struct hp_page_column counts, nodes, amounts, parts;
};

/* In its unit; what rounding leaves is carried over to the next node. */
static void put_slot(const struct gathering *gathering, uint64_t unit, struct columns *columns)
{
    uint64_t carried = 0, count = 0;
    uint32_t before = 0;
    for (size_t at = 0; at < gathering->count; at++) {
        const uint32_t node = gathering->nodes[at];
        const uint64_t amount = gathering->amounts[node], all = amount + carried;
        carried = all % unit;
        if (all < unit)
            continue;
        const double part = amount > 0 ? (double)gathering->parts[node] / (double)amount : 0;
        hp_page_column_add(&columns->nodes, node - before);
        hp_page_column_add(&columns->amounts, all / unit);
        hp_page_column_add(&columns->parts, part < 1 ? (uint64_t)(part * HP_SLOT_PARTS + 0.5) : HP_SLOT_PARTS);
        before = node;
        count++;
    }
    hp_page_column_add(&columns->counts, count);
}

static bool begin(struct columns *columns, size_t slots, size_t entries)
{
    return hp_page_column_begin(&columns->counts, slots) && hp_page_column_begin(&columns->nodes, entries) &&
           hp_page_column_begin(&columns->amounts, entries) && hp_page_column_begin(&columns->parts, entries);
}

static bool put_columns(struct hp_json *json, struct columns *columns)
{
    return hp_page_column_put(&columns->counts, json, "counts") &&
           hp_page_column_put(&columns->nodes, json, "nodes") &&
           hp_page_column_put(&columns->amounts, json, "amounts") &&
           hp_page_column_put(&columns->parts, json, "parts");
}

static void free_columns(struct columns *columns)
{
    hp_page_column_free(&columns->counts);
    hp_page_column_free(&columns->nodes);
    hp_page_column_free(&columns->amounts);
    hp_page_column_free(&columns->parts);
}

static bool put_measure(struct hp_json *json, struct gathering *gathering, size_t measure)
{
    const struct hp_stack_slots *slots = gathering->content->named->slots;
    const enum hp_slot_kind kind = measures[measure].kind;
    const size_t most = gathering->content->is_served ? MOST_SERVED_ENTRIES : MOST_ENTRIES;
    struct columns columns = {0};
    uint32_t merged = 1;
    size_t entries;
    while ((entries = count_entries(gathering, kind, merged)) > most && merged < HP_STACK_SLOTS)
        merged *= 2;
    const uint32_t count = slots_of(slots, merged);
    bool has_memory = begin(&columns, count, entries);
    forget_met(gathering);
    for (uint32_t slot = 0; has_memory && slot < count; slot++) {
        gather_slot(gathering, kind, slot, merged);
        if (gathering->count > 1)
            qsort(gathering->nodes, gathering->count, sizeof *gathering->nodes, by_number);
        put_slot(gathering, measures[measure].unit, &columns);
    }
    hp_json_key(json, measures[measure].key);
    hp_json_begin_object(json);
    hp_json_put_u64(json, "unit", measures[measure].unit);
    hp_json_put_u64(json, "slot_ns", slots->slot_ns * merged);
    hp_json_put_u64(json, "count", count);
    has_memory = has_memory && put_columns(json, &columns);
    hp_json_end_object(json);
    free_columns(&columns);
    return has_memory;
}

static bool is_known(const struct hp_page_content *content)
{
    return content->named != NULL && content->named->slots != NULL && content->compared_with == NULL &&
           content->weighted->has_places && content->weighted->places != NULL;
}

/* Times count from the beginning of the run; the first slot begins a little earlier. */
bool hp_page_put_slots(struct hp_json *json, const struct hp_page_content *content)
{
    hp_json_key(json, "slots");
    if (!is_known(content)) {
        hp_json_null(json);
        return true;
    }
    const size_t nodes = content->weighted->node_count;
    const struct hp_stack_slots *slots = content->named->slots;
    struct gathering gathering = {.content = content,
                                  .amounts = malloc(nodes * sizeof *gathering.amounts),
                                  .parts = malloc(nodes * sizeof *gathering.parts),
                                  .met = malloc(nodes * sizeof *gathering.met),
                                  .nodes = malloc(nodes * sizeof *gathering.nodes)};
    bool has_memory =
        gathering.amounts != NULL && gathering.parts != NULL && gathering.met != NULL && gathering.nodes != NULL;
    hp_json_begin_object(json);
    hp_json_key(json, "from_ns");
    hp_json_i64(json, (int64_t)(slots->start_ns - content->named->began_ns));
    hp_json_key(json, "to_ns");
    hp_json_i64(json, (int64_t)(slots->latest_ns - content->named->began_ns));
    for (size_t at = 0; has_memory && at < sizeof measures / sizeof measures[0]; at++)
        has_memory = put_measure(json, &gathering, at);
    hp_json_end_object(json);
    free(gathering.amounts);
    free(gathering.parts);
    free(gathering.met);
    free(gathering.nodes);
    return has_memory;
}
