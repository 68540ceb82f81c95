/* Parents and identities of rows. SPDX-License-Identifier: MIT */
#include "rows.h"

#include "arena.h"
#include "identity.h"

/* An identity, and the number of rows with it. */
struct seen {
    uint64_t id; /* 0: a free slot */
    uint64_t rows;
};

struct seen_table {
    struct seen *places; /* open addressing, from the lowest bits */
    size_t mask;
};

static bool make_table(struct hp_arena *arena, size_t rows, struct seen_table *ret_table)
{
    size_t size = 16;
    while (size < 2 * rows)
        size *= 2;
    ret_table->places = hp_arena_take_array(arena, size, sizeof *ret_table->places);
    ret_table->mask = size - 1;
    return ret_table->places != NULL;
}

static struct seen *find(const struct seen_table *table, uint64_t id)
{
    size_t at = (size_t)id & table->mask;
    while (table->places[at].id != 0 && table->places[at].id != id)
        at = (at + 1) & table->mask;
    return &table->places[at];
}

/* The identity, or one derived from it if it is taken. */
static uint64_t alone(const struct seen_table *table, uint64_t id)
{
    struct seen *seen = find(table, id);
    const uint64_t content = id;
    while (seen->id != 0) {
        id = hp_identity_with_number(content, find(table, content)->rows++);
        seen = find(table, id);
    }
    *seen = (struct seen){.id = id, .rows = 1};
    return id;
}

/* Rows come parent first, so the parent is above, and all rows in between are its descendants. */
static uint32_t parent_of(const struct hotpath_section *section, size_t row)
{
    uint32_t above = (uint32_t)row;
    while (above > 0 && section->rows[above - 1].depth >= section->rows[row].depth)
        above = section->rows[above - 1].parent;
    return above;
}

/* Derived from its name, if the section set none. */
static uint64_t content_of(const struct hotpath_section *section, const struct hp_row *row)
{
    size_t name = 0;
    while (name < section->column_count && !(section->columns[name].traits & HP_COLUMN_NAME))
        name++;
    const char *text = name < section->column_count ? row->cells[name].text : NULL;
    return row->id != 0 ? row->id : hp_identity_with_text(0, text != NULL ? text : "");
}

bool hp_rows_identify(struct hotpath_results *results, struct hotpath_section *section)
{
    struct seen_table table;
    if (!make_table(results->model->arena, section->row_count, &table))
        return false;
    for (size_t at = 0; at < section->row_count; at++) {
        struct hp_row *row = &section->rows[at];
        row->parent = section->is_tree ? parent_of(section, at) : 0;
        uint64_t content = content_of(section, row);
        if (row->parent > 0)
            content = hp_identity_with_number(section->rows[row->parent - 1].id, content);
        row->id = alone(&table, content);
    }
    return true;
}
