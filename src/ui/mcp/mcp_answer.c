/* The text of an answer, of a bounded size. SPDX-License-Identifier: MIT */
#include "mcp_answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "trust_line.h"
#include "utf8.h"

#define LINE_BYTES 1600u    /* of a sentence */
#define TAIL_BYTES 2700u    /* kept free for what stands at the end */
#define CALL_BYTES 400u     /* of a call that comes next; longer ones are left out */
#define LEFT_OUT_BYTES 800u /* of all lines on what was left out */
#define TRUST_BYTES 500u

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

/* Whether the text is in the sentence as words of their own, not yet in quotes. */
static const char *find_words(const char *sentence, const char *text)
{
    const size_t length = strlen(text);
    for (const char *at = sentence; (at = strstr(at, text)) != NULL; at += length)
        if ((at == sentence || at[-1] != '"') && at[length] != '"')
            return at;
    return NULL;
}

static bool quote_once(char *sentence, size_t size, const char *text)
{
    char made[LINE_BYTES];
    struct hp_text line;
    const char *at = strlen(text) > 1 ? find_words(sentence, text) : NULL;
    if (at == NULL)
        return false;
    hp_text_init(&line, made, sizeof made);
    hp_text_bytes(&line, sentence, (size_t)(at - sentence));
    hp_text_format(&line, "\"%s\"%s", text, at + strlen(text));
    hp_text_end(&line);
    snprintf(sentence, size, "%s", made);
    return true;
}

#define MOST_TIMES 4u /* that a sentence has a name */

/* As reports have the name, or as cells do. */
static void quote(char *sentence, size_t size, const char *name)
{
    char safe[2 * HP_MCP_NAME_BYTES];
    struct hp_text text;
    hp_text_init(&text, safe, sizeof safe);
    hp_utf8_put_safe(&text, name, strnlen(name, HP_MCP_NAME_BYTES));
    hp_text_end(&text);
    const struct hp_mcp_cell_text cell = hp_mcp_cell_text(name);
    for (unsigned times = 0; times < MOST_TIMES; times++)
        if (!quote_once(sentence, size, safe) && !quote_once(sentence, size, cell.bytes))
            return;
}

/* Quotes names of rows, and the other texts of rows: locks, files, causes. */
static void quote_names(char *sentence, size_t size, const hotpath_results *results)
{
    for (size_t at = 0; at < results->section_count; at++) {
        const struct hotpath_section *section = results->sections[at];
        for (size_t row = 0; row < section->row_count; row++) {
            const char *name = hp_mcp_row_text(section, &section->rows[row], "name");
            const char *lock = hp_mcp_row_text(section, &section->rows[row], "lock");
            if (name != NULL && hp_mcp_is_odd(name))
                quote(sentence, size, name);
            if (lock != NULL && hp_mcp_is_odd(lock))
                quote(sentence, size, lock);
        }
    }
}

/* Names that the headline marks, from its end on: a place stays valid while what follows it changes. */
static void quote_marked(char *sentence, size_t size, const hotpath_results *results)
{
    for (size_t at = results->headline_name_count; at-- > 0;) {
        const struct hp_name_place *place = &results->headline_names[at];
        char name[HP_MCP_NAME_BYTES];
        if (place->length >= sizeof name || place->at + place->length > strlen(sentence))
            continue;
        memcpy(name, sentence + place->at, place->length);
        name[place->length] = '\0';
        if (hp_mcp_is_odd(name))
            quote(sentence, size, name);
    }
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

void hp_mcp_put_sentence(struct hp_mcp_answer *answer, const hotpath_results *results, const char *sentence)
{
    char line[LINE_BYTES], key[24];
    struct hp_text text;
    hp_text_init(&text, line, sizeof line);
    hp_utf8_put_safe(&text, sentence, strnlen(sentence, LINE_BYTES / 2));
    hp_text_end(&text);
    if (results != NULL && sentence == results->headline)
        quote_marked(line, sizeof line, results);
    if (results != NULL)
        quote_names(line, sizeof line, results);
    snprintf(key, sizeof key, answer->body.length == 0 ? "answer" : "line%zu", answer->tables++);
    if (answer->body.length + strlen(line) + TAIL_BYTES < answer->limit)
        add_line(answer, &answer->body, key, line);
    else
        answer->lacks_lines = true;
}

void hp_mcp_put_format(struct hp_mcp_answer *answer, const hotpath_results *results, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    hp_mcp_put_sentence(answer, results, line);
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
        if (answer->is_json)
            add_string(answer, &answer->body, answer->rows > 0 ? ",{" : "{");
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

#define LONG_CELL_BYTES 700u

/* Its parts are safe already, if they are names; what is not is made so here. */
void hp_mcp_table_long_cell(struct hp_mcp_answer *answer, const char *text)
{
    char safe[2 * LONG_CELL_BYTES], cell[2 * LONG_CELL_BYTES];
    struct hp_text made;
    if (answer->is_table_full)
        return;
    hp_text_init(&made, safe, sizeof safe);
    hp_utf8_put_safe(&made, text, strnlen(text, LONG_CELL_BYTES));
    hp_text_end(&made);
    hp_text_init(&made, cell, sizeof cell);
    for (const char *at = safe; *at != '\0'; at++) {
        if (*at == '|' && (at == safe || at[-1] != '\\'))
            hp_text_char(&made, '\\');
        hp_text_char(&made, *at);
    }
    hp_text_end(&made);
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

void hp_mcp_put_note(struct hp_mcp_answer *answer, const hotpath_results *results, const char *note)
{
    char line[600];
    struct hp_text text;
    hp_text_init(&text, line, sizeof line);
    hp_utf8_put_safe(&text, note, strnlen(note, sizeof line / 2));
    hp_text_end(&text);
    if (results != NULL)
        quote_names(line, sizeof line, results);
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
        if (strcmp(value, "true") == 0)
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

void hp_mcp_put_trust(struct hp_mcp_answer *answer, const hotpath_results *results)
{
    char line[TRUST_BYTES];
    struct hp_text text;
    hp_text_init(&text, line, sizeof line);
    hp_text_string(&text, answer->is_json ? "" : "trust: ");
    for (size_t at = 0; at < results->warning_count && at < 2; at++)
        hp_text_format(&text, "%.*s; ", (int)strnlen(results->warnings[at], 180), results->warnings[at]);
    hp_trust_put(results->trust, &text);
    hp_text_end(&text);
    quote_names(line, sizeof line, results);
    if (answer->trust.length == 0)
        add_string(answer, &answer->trust, line);
}

/* ---------------------------------------------------------------------------------------------------------- end */

static void add_json_tail(struct hp_mcp_answer *answer)
{
    add_string(answer, &answer->body, ",\"left_out\":[");
    add(answer, &answer->body, answer->left_out.bytes, answer->left_out.length);
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
    if (answer->trust.length > 0) {
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
        hp_mcp_put_note(answer, NULL, "some lines did not fit; detail \"full\" has more room");
    if (answer->is_json) {
        add(answer, ret_text, "{", 1);
        add_json_tail(answer);
    } else {
        add_tail(answer);
    }
    add(answer, ret_text, answer->body.bytes, answer->body.length);
    hp_body_free(&answer->body);
    hp_body_free(&answer->left_out);
    hp_body_free(&answer->trust);
    for (size_t at = 0; at < answer->next_count; at++)
        hp_body_free(&answer->next[at]);
    return !answer->lacks_memory;
}
