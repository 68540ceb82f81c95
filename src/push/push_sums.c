/* What the stacks of a session have in all, from one reading to the next. SPDX-License-Identifier: MIT */
#include "push_sums.h"

#include <stdlib.h>
#include <string.h>

#include "arith.h"
#include "growing_array.h"
#include "units.h"

void hp_push_sums_free(struct hp_push_sums *sums)
{
    free(sums->all);
    *sums = (struct hp_push_sums){.count = 0};
}

void hp_push_reading_add(struct hp_push_reading *reading, uint32_t node, uint64_t hash,
                         const uint64_t values[HP_PUSH_VALUES])
{
    bool has_value = false;
    for (size_t at = 0; at < HP_PUSH_VALUES; at++)
        has_value |= values[at] > 0;
    if (!has_value || reading->lacks_memory)
        return;
    if (!HP_MAKE_ROOM(reading->all, reading->count + 1, reading->room) ||
        !HP_MAKE_ROOM(reading->nodes, reading->count + 1, reading->node_room)) {
        reading->lacks_memory = true;
        return;
    }
    reading->all[reading->count] = (struct hp_push_sum){.hash = hash};
    memcpy(reading->all[reading->count].values, values, sizeof reading->all[0].values);
    reading->nodes[reading->count++] = node;
}

void hp_push_reading_free(struct hp_push_reading *reading)
{
    free(reading->all);
    free(reading->nodes);
}

static int by_hash(const void *a, const void *b)
{
    return hp_by_number(((const struct hp_push_sum *)a)->hash, ((const struct hp_push_sum *)b)->hash);
}

static void take_off(const struct hp_push_sums *sums, struct hp_push_sum *sum)
{
    const struct hp_push_sum *before =
        sums->count > 0 ? bsearch(sum, sums->all, sums->count, sizeof *sum, by_hash) : NULL;
    for (size_t at = 0; before != NULL && at < HP_PUSH_VALUES; at++)
        sum->values[at] = hp_less(sum->values[at], before->values[at]);
}

/*
 * A stack may have less than before: what no sample had explained was explained later. Then others have that much
 * too much, and get less in proportion: the sum of all pushes stays that of the session.
 */
static void adjust(struct hp_push_reading *reading, size_t value, uint64_t found, uint64_t allowed)
{
    double left = 0;
    for (size_t at = 0; at < reading->count && found > allowed; at++) {
        const double exact = (double)reading->all[at].values[value] * ((double)allowed / (double)found) + left;
        const uint64_t whole = exact > 0 ? hp_units_round(exact) : 0;
        left = exact - (double)whole;
        reading->all[at].values[value] = whole;
    }
}

bool hp_push_sums_take(struct hp_push_sums *sums, struct hp_push_reading *reading)
{
    struct hp_push_sum *now = malloc((reading->count + 1) * sizeof *now);
    uint64_t totals[HP_PUSH_VALUES] = {0}, found[HP_PUSH_VALUES] = {0};
    if (now == NULL || reading->lacks_memory) {
        free(now);
        return false;
    }
    if (reading->count > 0)
        memcpy(now, reading->all, reading->count * sizeof *now);
    for (size_t at = 0; at < reading->count; at++) {
        take_off(sums, &reading->all[at]);
        for (size_t value = 0; value < HP_PUSH_VALUES; value++) {
            totals[value] += now[at].values[value];
            found[value] += reading->all[at].values[value];
        }
    }
    for (size_t value = 0; value < HP_PUSH_VALUES; value++) {
        adjust(reading, value, found[value], hp_less(totals[value], sums->totals[value]));
        sums->totals[value] = totals[value] > sums->totals[value] ? totals[value] : sums->totals[value];
    }
    qsort(now, reading->count, sizeof *now, by_hash);
    free(sums->all);
    sums->all = now;
    sums->count = reading->count;
    return true;
}
