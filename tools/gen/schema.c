/*
 * The sections in docs/report.schema.json, from their tables of columns; the part before it is written by hand.
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>
#include <string.h>

#include "gen.h"
#include "section.h"
#include "text.h"

static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void put_description(FILE *out, const char *about)
{
    if (about == NULL)
        return;
    fputs("\"description\": ", out);
    put_text(out, about);
    fputs(", ", out);
}

/* "a", "b" from "a|b" */
static void put_words(FILE *out, const char *words)
{
    for (size_t length; *words != '\0'; words += length + (words[length] == '|')) {
        length = strcspn(words, "|");
        fprintf(out, "\"%.*s\"%s", (int)length, words, words[length] == '|' ? ", " : "");
    }
}

/* Names in $defs have no characters that a pointer would have to escape. */
static void put_name(FILE *out, const struct hp_section_type *type)
{
    for (const char *at = type->name; *at != '\0'; at++)
        fputc(*at == '-' ? '_' : *at, out);
}

/* ------------------------------------------------------------------------------------------------ cells */

static void put_object(FILE *out, const char *name, bool may_be_null)
{
    if (may_be_null && strcmp(name, "location") != 0) /* it allows null itself */
        fprintf(out, "\"anyOf\": [{ \"$ref\": \"#/$defs/%s\" }, { \"type\": \"null\" }]", name);
    else
        fprintf(out, "\"$ref\": \"#/$defs/%s\"", name);
}

static void put_plain(FILE *out, const char *type, const char *bounds, bool may_be_null)
{
    fprintf(out, may_be_null ? "\"type\": [\"%s\", \"null\"]%s" : "\"type\": \"%s\"%s", type, bounds);
}

static void put_string(FILE *out, const struct hp_column_spec *spec, bool may_be_null)
{
    if (spec->words == NULL) {
        put_plain(out, "string", spec->traits & HP_COLUMN_NAME ? ", \"minLength\": 1" : "", may_be_null);
        return;
    }
    fputs("\"enum\": [", out);
    put_words(out, spec->words);
    fputs(may_be_null ? ", null]" : "]", out);
}

static void put_type(FILE *out, const struct hp_column_spec *spec)
{
    const bool may_be_null = hp_column_may_be_empty(spec);
    if (spec->traits & (HP_COLUMN_LOCATION | HP_COLUMN_THREAD)) {
        put_object(out, spec->traits & HP_COLUMN_THREAD ? "thread" : "location", may_be_null);
        return;
    }
    switch ((enum hotpath_unit)spec->unit) {
    case HOTPATH_UNIT_TEXT:
    case HOTPATH_UNIT_STATE:
        put_string(out, spec, may_be_null);
        break;
    case HOTPATH_UNIT_COUNT:
    case HOTPATH_UNIT_BYTES:
        put_plain(out, "integer", ", \"minimum\": 0", may_be_null);
        break;
    case HOTPATH_UNIT_SIGNED_COUNT:
    case HOTPATH_UNIT_SIGNED_BYTES:
        put_plain(out, "integer", "", may_be_null);
        break;
    case HOTPATH_UNIT_NS:
    case HOTPATH_UNIT_INSTRUCTIONS:
    case HOTPATH_UNIT_RATE:
    case HOTPATH_UNIT_NUMBER:
        put_plain(out, "number", ", \"minimum\": 0", may_be_null);
        break;
    case HOTPATH_UNIT_PERCENT:
        put_plain(out, "number",
                  spec->traits & HP_COLUMN_PART ? ", \"minimum\": 0, \"maximum\": 100" : ", \"minimum\": 0",
                  may_be_null);
        break;
    case HOTPATH_UNIT_INSTANT:
        put_object(out, "moment", may_be_null);
        break;
    case HOTPATH_UNIT_HISTOGRAM:
        put_object(out, spec->words != NULL ? "amounts" : "histogram", may_be_null);
        break;
    case HOTPATH_UNIT_SERIES:
        put_object(out, "series", may_be_null);
        break;
    case HOTPATH_UNIT_VALUE:
        put_plain(out, "number", "", may_be_null);
        break;
    }
}

/* ---------------------------------------------------------------------------------------------- columns */

static const char *text_before(const struct hp_column_spec *spec)
{
    return spec->before != NULL ? spec->before : "";
}

/* Families may differ only in what precedes their percentiles. */
static bool is_same(const struct hp_column_spec *one, const struct hp_column_spec *other)
{
    return strcmp(one->key, other->key) == 0 && strcmp(text_before(one), text_before(other)) == 0;
}

/* A key that occurs twice is present in either place. */
static bool is_first(const struct hp_column_list *table, size_t at)
{
    size_t first = 0;
    while (!is_same(table->specs[first], table->specs[at]))
        first++;
    return first == at;
}

static bool is_always_there(const struct hp_column_list *table, size_t at)
{
    size_t places = 0;
    for (size_t other = 0; other < table->count; other++)
        places += is_same(table->specs[other], table->specs[at]);
    return table->specs[at]->needs == 0 || places > 1;
}

static const char *about_of(const struct hp_column_list *table, size_t at)
{
    for (size_t other = at; other < table->count; other++)
        if (is_same(table->specs[other], table->specs[at]) && table->specs[other]->about != NULL)
            return table->specs[other]->about;
    return NULL;
}

/* A duration has another key if it is counted in instructions. */
static bool has_two_keys(const struct hp_column_list *table, size_t at, bool is_of_ticks)
{
    const struct hp_column_spec *spec = table->specs[at];
    return (is_of_ticks || (spec->traits & HP_COLUMN_TICKS)) &&
           (hp_text_has_suffix(spec->key, "_ns") || strcmp(spec->key, "_ns") == 0); /* of a family */
}

static bool is_family(const struct hp_column_list *table, size_t at) { return table->specs[at]->is_family; }

enum keys { OF_BOTH, OF_TIME, OF_INSTRUCTIONS };

static void put_required_keys(FILE *out, const struct hp_column_list *table, bool is_of_ticks, enum keys keys,
                              const char *before)
{
    fputs("\"required\": [", out);
    for (size_t at = 0; at < table->count; at++)
        if (!is_family(table, at) && is_first(table, at) && is_always_there(table, at) &&
            has_two_keys(table, at, is_of_ticks) == (keys != OF_BOTH)) {
            const struct hp_key_text key = hp_column_key(table->specs[at]->key, keys == OF_INSTRUCTIONS);
            fprintf(out, "%s\"%s\"", before, key.bytes);
            before = ", ";
        }
    fputs("]", out);
}

static bool has_durations(const struct hp_column_list *table, bool is_of_ticks)
{
    for (size_t at = 0; at < table->count; at++)
        if (!is_family(table, at) && is_always_there(table, at) && has_two_keys(table, at, is_of_ticks))
            return true;
    return false;
}

static void put_required(FILE *out, const struct hp_column_list *table, bool is_of_ticks, const char *before)
{
    put_required_keys(out, table, is_of_ticks, OF_BOTH, before);
    if (!has_durations(table, is_of_ticks))
        return;
    fputs(",\n      \"anyOf\": [{ ", out);
    put_required_keys(out, table, is_of_ticks, OF_TIME, "");
    fputs(" }, { ", out);
    put_required_keys(out, table, is_of_ticks, OF_INSTRUCTIONS, "");
    fputs(" }]", out);
}

static void put_column(FILE *out, const struct hp_column_list *table, size_t at, const char *key,
                       const char *indent, const char *before)
{
    fprintf(out, "%s%s", before, indent);
    if (is_family(table, at))
        fprintf(out, "\"^%s%s(p[0-9]{1,2}(_[0-9]{1,3})?|min|max)%s$\": { ", text_before(table->specs[at]),
                table->specs[at]->before != NULL ? "_" : "", key);
    else
        fprintf(out, "\"%s\": { ", key);
    put_description(out, about_of(table, at));
    put_type(out, table->specs[at]);
    fputs(" }", out);
}

/* Either families of columns, or single ones. */
static void put_columns(FILE *out, const struct hp_column_list *table, bool are_families, bool is_of_ticks,
                        const char *indent, const char *before)
{
    for (size_t at = 0; at < table->count; at++)
        if (is_family(table, at) == are_families && is_first(table, at)) {
            put_column(out, table, at, table->specs[at]->key, indent, before);
            before = ",\n";
            if (has_two_keys(table, at, is_of_ticks))
                put_column(out, table, at, hp_column_key(table->specs[at]->key, true).bytes, indent, before);
        }
}

static bool has_family(const struct hp_column_list *table)
{
    size_t at = 0;
    while (at < table->count && !is_family(table, at))
        at++;
    return at < table->count;
}

/* --------------------------------------------------------------------------------------------- sections */

static void put_totals(FILE *out, const struct hp_column_list *totals, bool is_of_ticks)
{
    fputs("        \"totals\": {\n          \"type\": \"object\",\n          ", out);
    put_required(out, totals, is_of_ticks, "");
    fputs(",\n          \"properties\": {", out);
    put_columns(out, totals, false, is_of_ticks, "            ", "\n");
    fputs("\n          },\n          \"additionalProperties\": false\n        },\n", out);
}

static void put_section(FILE *out, const struct hp_section_type *type)
{
    struct hp_column_list totals;
    hp_fields_list(type->totals, NULL, &totals);
    fputs(",\n    \"", out);
    put_name(out, type);
    fputs("\": {\n      ", out);
    if (type->about != NULL) {
        put_description(out, type->about);
        fputs("\n      ", out);
    }
    fputs("\"allOf\": [{ \"$ref\": \"#/$defs/section\" }],\n", out);
    if (type->always != NULL) {
        fputs("      \"required\": [", out);
        put_words(out, type->always);
        fputs("],\n", out);
    }
    fputs("      \"properties\": {\n", out);
    if (totals.count > 0)
        put_totals(out, &totals, type->is_of_ticks);
    fputs("        \"rows\": { \"items\": { \"$ref\": \"#/$defs/", out);
    put_name(out, type);
    fputs("_row\" } }\n      }\n    }", out);
}

static void put_row(FILE *out, const struct hp_section_type *type)
{
    struct hp_column_list table;
    hp_fields_list(type->fields, NULL, &table);
    fputs(",\n    \"", out);
    put_name(out, type);
    fputs("_row\": {\n      ", out);
    if (type->about_row != NULL) {
        put_description(out, type->about_row);
        fputs("\n      ", out);
    }
    fputs("\"type\": \"object\",\n      ", out);
    put_required(out, &table, type->is_of_ticks, type->is_tree ? "\"id\", \"parent\", \"children\", " : "\"id\", ");
    fputs(",\n      \"properties\": {\n        \"id\": { \"$ref\": \"#/$defs/id\" },\n", out);
    if (type->is_tree) {
        fputs("        \"parent\": { \"description\": \"The parent row; null at the top.\", "
              "\"anyOf\": [{ \"$ref\": \"#/$defs/id\" }, { \"type\": \"null\" }] },\n"
              "        \"children\": { \"type\": \"array\", \"items\": { \"$ref\": \"#/$defs/",
              out);
        put_name(out, type);
        fputs("_row\" } },\n", out);
    }
    put_columns(out, &table, false, type->is_of_ticks, "        ", "");
    fputs("\n      },\n", out);
    if (has_family(&table)) {
        fputs("      \"patternProperties\": {\n", out);
        put_columns(out, &table, true, type->is_of_ticks, "        ", "");
        fputs("\n      },\n", out);
    }
    fputs(type->has_own_columns ? "      \"additionalProperties\": { \"description\": \"The counters of the kind, "
                                  "by their keys in the session.\", \"type\": [\"number\", \"null\"] }\n    }"
                                : "      \"additionalProperties\": false\n    }",
          out);
}

void gen_schema(FILE *out)
{
    fputs("      \"type\": \"object\",\n      \"properties\": {", out);
    for (size_t at = 0; at < hp_section_type_count; at++) {
        fprintf(out, "%s\n        \"%s\": { \"$ref\": \"#/$defs/", at > 0 ? "," : "", hp_section_types[at]->name);
        put_name(out, hp_section_types[at]);
        fputs("\" }", out);
    }
    fputs("\n      }\n    }", out);
    for (size_t at = 0; at < hp_section_type_count; at++) {
        put_section(out, hp_section_types[at]);
        put_row(out, hp_section_types[at]);
    }
    fputs("\n  }\n}\n", out);
}
