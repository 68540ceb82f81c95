/* The text of an answer, of a bounded size. SPDX-License-Identifier: MIT */
#include "mcp_answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bottleneck.h"
#include "trust_line.h"
#include "utf8.h"

#define LINE_BYTES 2400u /* of a sentence */
#define TAIL_BYTES 2900u /* kept free for what stands at the end */
#define CALL_BYTES 400u  /* of a call that comes next; longer ones are left out */
#define LONG_CELL_BYTES 1400u
#define LEFT_OUT_BYTES 800u /* of all lines on what was left out */
#define TRUST_BYTES 420u
#define WARNINGS_BYTES 300u /* no more once they have that many; each has at most 370 */

static void add(struct hp_mcp_answer *answer, struct hp_body *body, const char *bytes, size_t length)
{
    answer->lacks_memory |= !hp_body_add(body, bytes, length);
}

static void add_string(struct hp_mcp_answer *answer, struct hp_body *body, const char *string)
{
    add(answer, body, string, strlen(string));
}

void hp_mcp_answer_begin(struct hp_mcp_answer *answer, const struct hp_mcp_call *call)
{
    *answer = (struct hp_mcp_answer){
        .call = call, .is_json = hp_mcp_is(call, "format", "json"), .is_full = hp_mcp_is(call, "detail", "full")};
    answer->limit = answer->is_full ? HP_MCP_FULL_BYTES : HP_MCP_SHORT_BYTES;
}

/* ---------------------------------------------------------------------------------------------------- sentences */

/* The places of the headline whose name is in no other place: a cause may have a function in it. */
static const struct hp_name_place *outer_place(const hotpath_results *results, size_t from)
{
    const struct hp_name_place *found = NULL;
    for (size_t at = 0; at < results->headline_name_count; at++) {
        const struct hp_name_place *place = &results->headline_names[at];
        if (place->at >= from &&
            (found == NULL || place->at < found->at || (place->at == found->at && place->length > found->length)))
            found = place;
    }
    return found;
}

void hp_mcp_put_headline(struct hp_mcp_answer *answer, const hotpath_results *results)
{
    char line[LINE_BYTES], name[HP_BOTTLENECK_LINE_BYTES];
    struct hp_text text;
    const struct hp_name_place *place;
    size_t from = 0;
    hp_text_init(&text, line, sizeof line);
    while ((place = outer_place(results, from)) != NULL && place->length < sizeof name) {
        memcpy(name, results->headline + place->at, place->length);
        name[place->length] = '\0';
        hp_text_bytes(&text, results->headline + from, place->at - from);
        hp_text_string(&text, hp_mcp_quoted(name).bytes);
        from = place->at + place->length;
    }
    hp_text_string(&text, results->headline + from);
    hp_mcp_put_sentence(answer, hp_text_end(&text));
}

static void add_line(struct hp_mcp_answer *answer, struct hp_body *body, const char *key, const char *line)
{
    if (!answer->is_json) {
        add_string(answer, body, line);
        add(answer, body, "\n", 1);
        return;
    }
    char buffer[256];
    struct hp_text text;
    struct hp_json json;
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_body_add, body);
    hp_json_init(&json, &text, false);
    if (body->length > 0)
        hp_text_char(&text, ',');
    if (key != NULL) {
        hp_text_format(&text, "\"%s\":", key);
    }
    hp_json_string(&json, line);
    answer->lacks_memory |= !hp_text_finish(&text);
}

void hp_mcp_put_sentence(struct hp_mcp_answer *answer, const char *sentence)
{
    char line[2 * LINE_BYTES], key[24];
    struct hp_text text;
    hp_text_init(&text, line, sizeof line);
    hp_utf8_put_safe(&text, sentence, strnlen(sentence, LINE_BYTES));
    hp_text_end(&text);
    snprintf(key, sizeof key, answer->body.length == 0 ? "answer" : "line%zu", answer->tables++);
    if (answer->body.length + strlen(line) + TAIL_BYTES < answer->limit)
        add_line(answer, &answer->body, key, line);
    else
        answer->lacks_lines = true;
}

void hp_mcp_put_format(struct hp_mcp_answer *answer, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    hp_mcp_put_sentence(answer, line);
}

/* ------------------------------------------------------------------------------------------------------- tables */

/* Writes an array of strings, or cells with what divides them. */
static void add_text(struct hp_mcp_answer *answer, const char *text, bool is_first)
{
    char bytes[3000]; /* a text of at most 1400, with escapes for quotes and backslashes */
    struct hp_text out;
    struct hp_json json;
    if (!answer->is_json) {
        if (!is_first)
            add(answer, &answer->body, " | ", 3);
        add_string(answer, &answer->body, text);
        return;
    }
    hp_text_init(&out, bytes, sizeof bytes);
    hp_json_init(&json, &out, false);
    hp_json_string(&json, text);
    hp_text_end(&out);
    if (!is_first)
        add(answer, &answer->body, ",", 1);
    add_string(answer, &answer->body, bytes);
}

/* In JSON a row is an object; its keys are the titles. */
static void add_key(struct hp_mcp_answer *answer, const char *key, bool is_first)
{
    if (!is_first)
        add(answer, &answer->body, ",", 1);
    add_text(answer, key, true);
    add(answer, &answer->body, ":", 1);
}

void hp_mcp_table_begin(struct hp_mcp_answer *answer, const char *table, const char *const *titles, size_t columns)
{
    answer->table = table;
    answer->titles = titles;
    answer->columns = columns;
    answer->column = answer->rows = 0;
    answer->is_table_full = false;
    answer->tables++;
    if (answer->is_json) {
        add_key(answer, table, answer->body.length == 0);
        add(answer, &answer->body, "[", 1);
        return;
    }
    add_string(answer, &answer->body, table);
    add(answer, &answer->body, ": ", 2);
    for (size_t at = 0; at < columns; at++)
        add_text(answer, titles[at], at == 0);
    add(answer, &answer->body, "\n", 1);
}

bool hp_mcp_table_has_room(const struct hp_mcp_answer *answer) { return !answer->is_table_full; }

/* Begins a row, or a cell of it. */
static void begin_cell(struct hp_mcp_answer *answer)
{
    if (answer->column == 0) {
        answer->row_begin = answer->body.length;
        add_string(answer, &answer->body, !answer->is_json ? "| " : answer->rows > 0 ? ",{" : "{");
    }
    if (answer->is_json)
        add_key(answer, answer->titles[answer->column], answer->column == 0);
}

/* A row that is too much is taken back. */
static void end_cell(struct hp_mcp_answer *answer)
{
    if (++answer->column < answer->columns)
        return;
    answer->column = 0;
    add_string(answer, &answer->body, answer->is_json ? "}" : "\n");
    if (answer->body.length + TAIL_BYTES > answer->limit) {
        answer->body.length = answer->row_begin;
        answer->is_table_full = true;
    }
    answer->rows += !answer->is_table_full;
}

void hp_mcp_table_cell(struct hp_mcp_answer *answer, const char *text)
{
    if (answer->is_table_full)
        return;
    begin_cell(answer);
    if (text == NULL && answer->is_json)
        add_string(answer, &answer->body, "null");
    else
        add_text(answer, text != NULL ? hp_mcp_cell_text(text).bytes : "-", answer->is_json || answer->column == 0);
    end_cell(answer);
}

/* Its parts are safe already, if they are names; what is not is made so here. */
static void long_cell(const char *text, size_t most, char *ret_cell, size_t size)
{
    char safe[LONG_CELL_BYTES];
    struct hp_text made;
    hp_text_init(&made, safe, sizeof safe);
    hp_utf8_put_safe(&made, text, strnlen(text, most));
    hp_text_end(&made);
    hp_text_init(&made, ret_cell, size);
    for (const char *at = safe; *at != '\0'; at++) {
        if (*at == '|' && (at == safe || at[-1] != '\\'))
            hp_text_char(&made, '\\');
        hp_text_char(&made, *at);
    }
    hp_text_end(&made);
}

void hp_mcp_table_long_cell(struct hp_mcp_answer *answer, const char *text)
{
    char cell[LONG_CELL_BYTES];
    if (answer->is_table_full)
        return;
    long_cell(text, LONG_CELL_BYTES / 2, cell, sizeof cell);
    begin_cell(answer);
    add_text(answer, cell, answer->is_json || answer->column == 0);
    end_cell(answer);
}

/* -------------------------------------------------------------------------------------------------------- calls */

static void put_value(struct hp_json *json, const struct hp_mcp_parameter *parameter,
                      const struct hp_mcp_value *value)
{
    if (parameter->type == HP_MCP_FLAG) {
        hp_json_bool(json, value->number != 0);
    } else if (parameter->type == HP_MCP_COUNT || parameter->type == HP_MCP_SECONDS) {
        hp_json_number(json, value->number, 12);
    } else if (parameter->type == HP_MCP_WORDS) {
        hp_json_begin_array(json);
        for (size_t at = 0; at < value->words.count; at++)
            hp_json_string(json, value->words.all[at]);
        hp_json_end_array(json);
    } else {
        hp_json_string(json, value->text);
    }
}

/* Arguments of this call, all of them or only those that choose the session. `limit`: of the call; 0: as it was. */
static void put_arguments(const struct hp_mcp_call *call, struct hp_json *json, bool are_all, size_t limit)
{
    const struct hp_mcp_parameter *parameter;
    for (size_t at = 0; (parameter = hp_mcp_parameter(call->tool, at)) != NULL; at++) {
        const bool is_limit = limit > 0 && strcmp(parameter->name, "limit") == 0;
        const bool is_of_session = strcmp(parameter->name, "session") == 0 ||
                                   strcmp(parameter->name, "from") == 0 || strcmp(parameter->name, "to") == 0;
        const bool is_detail = limit > 0 && strcmp(parameter->name, "detail") == 0;
        if (is_limit || is_detail || !call->values[at].is_given || (!are_all && !is_of_session))
            continue;
        hp_json_key(json, parameter->name);
        put_value(json, parameter, &call->values[at]);
    }
}

static bool has_parameter(const struct hp_mcp_call *call, const char *name, uint32_t *ret_most)
{
    const struct hp_mcp_parameter *parameter;
    for (size_t at = 0; (parameter = hp_mcp_parameter(call->tool, at)) != NULL; at++)
        if (strcmp(parameter->name, name) == 0) {
            *ret_most = parameter->most;
            return true;
        }
    return false;
}

/* "waits {"function":"f","limit":40}". False: it is longer than a call may be. */
static bool put_more(const struct hp_mcp_answer *answer, size_t limit, bool is_full, char *bytes, size_t size)
{
    struct hp_text text;
    struct hp_json json;
    hp_text_init(&text, bytes, size);
    hp_text_format(&text, "%s ", answer->call->tool->name);
    hp_json_init(&json, &text, false);
    hp_json_begin_object(&json);
    put_arguments(answer->call, &json, true, limit);
    hp_json_put_u64(&json, "limit", limit);
    if (is_full)
        hp_json_put_string(&json, "detail", "full");
    hp_json_end_object(&json);
    hp_text_end(&text);
    return !text.is_cut;
}

void hp_mcp_put_note(struct hp_mcp_answer *answer, const char *note)
{
    char line[600];
    struct hp_text text;
    hp_text_init(&text, line, sizeof line);
    hp_utf8_put_safe(&text, note, strnlen(note, sizeof line / 2));
    hp_text_end(&text);
    if (answer->left_out.length + strlen(line) <= LEFT_OUT_BYTES)
        add_line(answer, &answer->left_out, NULL, line);
}

void hp_mcp_table_end(struct hp_mcp_answer *answer, size_t total, const char *more)
{
    char call[CALL_BYTES], line[CALL_BYTES + 160];
    uint32_t most = 0;
    if (answer->is_json)
        add(answer, &answer->body, "]", 1);
    if (answer->rows >= total)
        return;
    const bool takes_limit = has_parameter(answer->call, "limit", &most);
    const bool can_grow = !answer->is_full || (!answer->is_table_full && answer->rows < most);
    const size_t limit = total < most ? total : most;
    if (more != NULL)
        snprintf(line, sizeof line, "%zu of %zu rows of %s shown; more: %s", answer->rows, total, answer->table,
                 more);
    else if (takes_limit && can_grow &&
             put_more(answer, limit, answer->is_table_full || total > 40, call, sizeof call))
        snprintf(line, sizeof line, "%zu of %zu rows of %s shown; more: %s", answer->rows, total, answer->table,
                 call);
    else
        snprintf(line, sizeof line, "%zu of %zu rows of %s shown; no answer has room for all of them", answer->rows,
                 total, answer->table);
    if (answer->left_out.length + strlen(line) <= LEFT_OUT_BYTES)
        add_line(answer, &answer->left_out, NULL, line);
}

void hp_mcp_next(struct hp_mcp_answer *answer, const char *tool, ...)
{
    char bytes[CALL_BYTES], own[CALL_BYTES];
    struct hp_text text;
    struct hp_json json;
    va_list pairs;
    const char *name;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_json_init(&json, &text, false);
    hp_text_format(&text, answer->is_json ? "{\"tool\":\"%s\",\"arguments\":" : "%s ", tool);
    hp_json_begin_object(&json);
    bool has_session = false;
    va_start(pairs, tool);
    while ((name = va_arg(pairs, const char *)) != NULL) {
        const char *value = va_arg(pairs, const char *);
        has_session |= strcmp(name, "session") == 0 || strcmp(name, "before") == 0;
        hp_json_key(&json, name);
        if (strcmp(name, "lines") == 0 && strcmp(value, "true") == 0) /* a function may have that name */
            hp_json_bool(&json, true);
        else
            hp_json_string(&json, hp_mcp_cell_text(value).bytes);
    }
    va_end(pairs);
    if (!has_session)
        put_arguments(answer->call, &json, false, 0);
    hp_json_end_object(&json);
    if (answer->is_json)
        hp_text_char(&text, '}');
    hp_text_end(&text);
    if (text.is_cut || answer->next_count == HP_MCP_NEXT_MOST)
        return;
    hp_text_init(&text, own, sizeof own);
    hp_json_init(&json, &text, false);
    hp_text_format(&text, answer->is_json ? "{\"tool\":\"%s\",\"arguments\":" : "%s ", answer->call->tool->name);
    hp_json_begin_object(&json);
    put_arguments(answer->call, &json, true, 0);
    hp_json_end_object(&json);
    hp_text_end(&text);
    if (strncmp(own, bytes, strlen(own)) == 0 && strlen(bytes) <= strlen(own) + answer->is_json)
        return;
    const size_t length = strnlen(bytes, sizeof bytes);
    for (size_t at = 0; at < answer->next_count; at++)
        if (answer->next[at].length == length && memcmp(answer->next[at].bytes, bytes, length) == 0)
            return;
    add(answer, &answer->next[answer->next_count++], bytes, length);
}

/* -------------------------------------------------------------------------------------------------------- trust */

void hp_mcp_put_warning(struct hp_mcp_answer *answer, const char *warning)
{
    char cell[LONG_CELL_BYTES];
    if (answer->warnings.length > WARNINGS_BYTES)
        return;
    long_cell(warning, 180, cell, sizeof cell);
    if (!answer->is_json)
        add_string(answer, &answer->warnings, answer->warnings.length == 0 ? "warnings: warning\n| " : "| ");
    add_line(answer, &answer->warnings, NULL, cell);
}

void hp_mcp_put_trust(struct hp_mcp_answer *answer, const hotpath_results *results)
{
    char line[TRUST_BYTES];
    struct hp_text text;
    if (answer->trust.length > 0)
        return;
    for (size_t at = 0; at < results->warning_count && at < 2; at++)
        hp_mcp_put_warning(answer, results->warnings[at]);
    hp_text_init(&text, line, sizeof line);
    hp_trust_put(results->trust, &text);
    add_string(answer, &answer->trust, hp_text_end(&text));
}

/* ---------------------------------------------------------------------------------------------------------- end */

static void add_json_tail(struct hp_mcp_answer *answer)
{
    add_string(answer, &answer->body, ",\"left_out\":[");
    add(answer, &answer->body, answer->left_out.bytes, answer->left_out.length);
    add_string(answer, &answer->body, "],\"warnings\":[");
    add(answer, &answer->body, answer->warnings.bytes, answer->warnings.length);
    add_string(answer, &answer->body, "],\"trust\":");
    add(answer, &answer->trust, "", 1);
    char bytes[6 * TRUST_BYTES];
    struct hp_text text;
    struct hp_json json;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_json_init(&json, &text, false);
    hp_json_string(&json, answer->trust.bytes != NULL ? answer->trust.bytes : "");
    add_string(answer, &answer->body, hp_text_end(&text));
    add_string(answer, &answer->body, ",\"next\":[");
    for (size_t at = 0; at < answer->next_count; at++) {
        add_string(answer, &answer->body, at > 0 ? "," : "");
        add(answer, &answer->body, answer->next[at].bytes, answer->next[at].length);
    }
    add_string(answer, &answer->body, "]}");
}

static void add_tail(struct hp_mcp_answer *answer)
{
    add(answer, &answer->body, answer->left_out.bytes, answer->left_out.length);
    add(answer, &answer->body, answer->warnings.bytes, answer->warnings.length);
    if (answer->trust.length > 0) {
        add_string(answer, &answer->body, "trust: ");
        add(answer, &answer->body, answer->trust.bytes, answer->trust.length);
        add(answer, &answer->body, "\n", 1);
    }
    for (size_t at = 0; at < answer->next_count; at++) {
        add_string(answer, &answer->body, "next: ");
        add(answer, &answer->body, answer->next[at].bytes, answer->next[at].length);
        add(answer, &answer->body, "\n", 1);
    }
}

bool hp_mcp_answer_end(struct hp_mcp_answer *answer, struct hp_body *ret_text)
{
    if (answer->lacks_lines)
        hp_mcp_put_note(answer, "some lines did not fit; detail \"full\" has more room");
    if (answer->is_json) {
        add(answer, ret_text, "{", 1);
        add_json_tail(answer);
    } else {
        add_tail(answer);
    }
    add(answer, ret_text, answer->body.bytes, answer->body.length);
    hp_body_free(&answer->body);
    hp_body_free(&answer->left_out);
    hp_body_free(&answer->warnings);
    hp_body_free(&answer->trust);
    for (size_t at = 0; at < answer->next_count; at++)
        hp_body_free(&answer->next[at]);
    return !answer->lacks_memory;
}
