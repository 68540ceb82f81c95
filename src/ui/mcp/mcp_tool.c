/* A tool and its parameters. SPDX-License-Identifier: MIT */
#include "mcp_tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

#define MOST_WORDS 256u

static const struct hp_mcp_parameter of_session[] = {
    {.name = "session", .type = HP_MCP_TEXT, .about = "name, pid or program; default: the newest"},
    {.name = "from", .type = HP_MCP_SECONDS},
    {.name = "to", .type = HP_MCP_SECONDS},
};

static const struct hp_mcp_parameter of_sizes[] = {
    {.name = "detail", .type = HP_MCP_CHOICE, .words = "short|full"},
    {.name = "format", .type = HP_MCP_CHOICE, .words = "text|json"},
};

const struct hp_mcp_parameter *hp_mcp_parameter(const struct hp_mcp_tool *tool, size_t at)
{
    const size_t sessions = tool->is_of_session ? sizeof of_session / sizeof of_session[0] : 0;
    const size_t sizes = tool->is_of_sizes ? sizeof of_sizes / sizeof of_sizes[0] : 0;
    if (at < tool->parameter_count)
        return &tool->parameters[at];
    at -= tool->parameter_count;
    if (at < sessions)
        return &of_session[at];
    return at - sessions < sizes ? &of_sizes[at - sessions] : NULL;
}

/* ----------------------------------------------------------------------------------------------------- problems */

bool hp_mcp_fail(struct hp_mcp_call *call, const char *format, ...)
{
    char line[HP_MCP_PROBLEM_BYTES];
    struct hp_text text;
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    hp_text_init(&text, call->problem, sizeof call->problem);
    hp_utf8_put_safe(&text, line, strlen(line));
    hp_text_end(&text);
    return false;
}

/* "session, sort, limit" */
static const char *list_parameters(const struct hp_mcp_tool *tool, char *bytes, size_t size)
{
    struct hp_text text;
    const struct hp_mcp_parameter *parameter;
    hp_text_init(&text, bytes, size);
    for (size_t at = 0; (parameter = hp_mcp_parameter(tool, at)) != NULL; at++)
        hp_text_format(&text, "%s%s", at > 0 ? ", " : "", parameter->name);
    return text.length > 0 ? hp_text_end(&text) : "none";
}

static bool fail_unknown(struct hp_mcp_call *call, const char *name)
{
    char known[300];
    return hp_mcp_fail(call, "unknown argument '%.100s'; known: %s", name,
                       list_parameters(call->tool, known, sizeof known));
}

static bool fail_value(struct hp_mcp_call *call, const struct hp_mcp_parameter *parameter)
{
    switch (parameter->type) {
    case HP_MCP_CHOICE:
        return hp_mcp_fail(call, "%s is one of: %s", parameter->name, parameter->words);
    case HP_MCP_COUNT:
        return hp_mcp_fail(call, "%s is an integer from 1 to %u", parameter->name, (unsigned)parameter->most);
    case HP_MCP_SECONDS:
        return hp_mcp_fail(call, "%s is a number of seconds since the run began", parameter->name);
    case HP_MCP_FLAG:
        return hp_mcp_fail(call, "%s is true or false", parameter->name);
    case HP_MCP_WORDS:
        return hp_mcp_fail(call, "%s is a list of at most %u strings, none of them empty", parameter->name,
                           MOST_WORDS);
    default:
        return hp_mcp_fail(call, "%s is a string that is not empty and does not begin with '-'", parameter->name);
    }
}

/* ------------------------------------------------------------------------------------------------------ reading */

/* Where texts and words go: there is room for all that an object of that length can have. */
struct room {
    char *text;
    size_t left;
    char **word;
    size_t words_left;
};

static bool is_among(const char *text, const char *words)
{
    const size_t length = strlen(text);
    for (const char *at = words; length > 0 && (at = strstr(at, text)) != NULL; at++)
        if ((at == words || at[-1] == '|') && (at[length] == '\0' || at[length] == '|'))
            return true;
    return false;
}

/* NULL: it is empty, has a zero in it, or there is no room. */
static char *take_text(struct hp_json_reader *reader, struct room *room)
{
    if (reader->length + 1 > room->left)
        return NULL;
    char *text = room->text;
    const size_t length = hp_json_copy(reader, text, room->left);
    room->text += length + 1;
    room->left -= length + 1;
    return length > 0 && strlen(text) == length ? text : NULL;
}

/* Words are not checked for a dash: they may be arguments of a program. */
static bool take_word(struct hp_json_reader *reader, struct room *room, struct hp_mcp_value *value)
{
    if (reader->token != HP_JSON_STRING || value->words.count == MOST_WORDS || room->words_left < 2)
        return false;
    char *text = take_text(reader, room);
    if (text == NULL)
        return false;
    *room->word++ = text;
    room->words_left--;
    value->words.count++;
    return true;
}

static bool read_words(struct hp_json_reader *reader, struct room *room, struct hp_mcp_value *value)
{
    bool is_right = true;
    value->words.all = room->word;
    if (reader->token == HP_JSON_STRING) {
        is_right = take_word(reader, room, value);
    } else if (reader->token == HP_JSON_ARRAY) {
        while (is_right && hp_json_next(reader) != HP_JSON_ARRAY_END)
            is_right = take_word(reader, room, value);
    }
    if (!is_right || value->words.count == 0 || room->words_left == 0)
        return false;
    *room->word++ = NULL;
    room->words_left--;
    return true;
}

static bool read_value(struct hp_json_reader *reader, const struct hp_mcp_parameter *parameter, struct room *room,
                       struct hp_mcp_value *value)
{
    const enum hp_json_token token = hp_json_next(reader);
    switch (parameter->type) {
    case HP_MCP_TEXT:
    case HP_MCP_CHOICE:
        value->text = token == HP_JSON_STRING ? take_text(reader, room) : NULL;
        return value->text != NULL && value->text[0] != '-' &&
               (parameter->type == HP_MCP_TEXT || is_among(value->text, parameter->words));
    case HP_MCP_COUNT:
        value->number = reader->number;
        return token == HP_JSON_NUMBER && value->number >= 1 && value->number <= parameter->most &&
               value->number == (double)(uint32_t)value->number;
    case HP_MCP_SECONDS:
        value->number = reader->number;
        return token == HP_JSON_NUMBER && value->number >= 0 && value->number < 1e9;
    case HP_MCP_FLAG:
        value->number = token == HP_JSON_TRUE;
        return token == HP_JSON_TRUE || token == HP_JSON_FALSE;
    default:
        return read_words(reader, room, value);
    }
}

static bool read_member(struct hp_mcp_call *call, struct hp_json_reader *reader, struct room *room)
{
    char name[120];
    const struct hp_mcp_parameter *parameter;
    hp_json_copy(reader, name, sizeof name);
    for (size_t at = 0; (parameter = hp_mcp_parameter(call->tool, at)) != NULL; at++)
        if (strcmp(parameter->name, name) == 0) {
            struct hp_mcp_value value = {.is_given = true};
            if (!read_value(reader, parameter, room, &value))
                return fail_value(call, parameter);
            call->values[at] = value;
            return true;
        }
    return fail_unknown(call, name);
}

static bool has_required(struct hp_mcp_call *call)
{
    const struct hp_mcp_parameter *parameter;
    for (size_t at = 0; (parameter = hp_mcp_parameter(call->tool, at)) != NULL; at++)
        if (parameter->is_required && !call->values[at].is_given)
            return hp_mcp_fail(call, "the argument '%s' is missing", parameter->name);
    return true;
}

bool hp_mcp_call_read(struct hp_mcp_call *call, const char *arguments, size_t length)
{
    const size_t word_room = 2 * MOST_WORDS + 2 * HP_MCP_PARAMETERS_MOST;
    call->texts = malloc(length + 1);
    call->words = malloc(word_room * sizeof *call->words);
    if (call->texts == NULL || call->words == NULL)
        return hp_mcp_fail(call, "not enough memory");
    struct room room = {call->texts, length + 1, call->words, word_room};
    struct hp_json_reader reader = hp_json_reader_of(arguments, length);
    if (length > 0 && hp_json_next(&reader) == HP_JSON_OBJECT)
        while (hp_json_next(&reader) == HP_JSON_KEY)
            if (!read_member(call, &reader, &room))
                return false;
    return has_required(call);
}

void hp_mcp_call_free(struct hp_mcp_call *call)
{
    free(call->texts);
    free(call->words);
    call->texts = NULL;
    call->words = NULL;
}

/* ------------------------------------------------------------------------------------------------------- values */

static const struct hp_mcp_value none;

static const struct hp_mcp_parameter *find(const struct hp_mcp_call *call, const char *name, size_t *ret_at)
{
    const struct hp_mcp_parameter *parameter;
    for (size_t at = 0; (parameter = hp_mcp_parameter(call->tool, at)) != NULL; at++)
        if (strcmp(parameter->name, name) == 0) {
            *ret_at = at;
            return parameter;
        }
    return NULL;
}

const struct hp_mcp_value *hp_mcp_value(const struct hp_mcp_call *call, const char *name)
{
    size_t at;
    return find(call, name, &at) != NULL ? &call->values[at] : &none;
}

const char *hp_mcp_text(const struct hp_mcp_call *call, const char *name) { return hp_mcp_value(call, name)->text; }

size_t hp_mcp_count(const struct hp_mcp_call *call, const char *name)
{
    size_t at;
    const struct hp_mcp_parameter *parameter = find(call, name, &at);
    if (parameter == NULL)
        return 0;
    return call->values[at].is_given ? (size_t)call->values[at].number : parameter->usual;
}

bool hp_mcp_flag(const struct hp_mcp_call *call, const char *name) { return hp_mcp_value(call, name)->number != 0; }

bool hp_mcp_is(const struct hp_mcp_call *call, const char *name, const char *word)
{
    size_t at;
    const struct hp_mcp_parameter *parameter = find(call, name, &at);
    if (parameter == NULL)
        return false;
    if (call->values[at].is_given)
        return strcmp(call->values[at].text, word) == 0;
    const size_t length = strcspn(parameter->words, "|");
    return strlen(word) == length && memcmp(parameter->words, word, length) == 0;
}

/* ------------------------------------------------------------------------------------------------------- schema */

static void put_type(struct hp_json *json, const struct hp_mcp_parameter *parameter)
{
    static const char *const types[] = {"string", "string", "integer", "number", "boolean", "array"};
    hp_json_put_string(json, "type", types[parameter->type]);
    if (parameter->type == HP_MCP_CHOICE) {
        hp_json_key(json, "enum");
        hp_json_begin_array(json);
        for (const char *at = parameter->words, *end; at[0] != '\0'; at = end + (*end == '|')) {
            end = at + strcspn(at, "|");
            hp_json_string_bytes(json, at, (size_t)(end - at));
        }
        hp_json_end_array(json);
    }
    if (parameter->type == HP_MCP_COUNT) {
        hp_json_put_u64(json, "default", parameter->usual);
        hp_json_put_u64(json, "maximum", parameter->most);
    }
    if (parameter->type == HP_MCP_WORDS) {
        hp_json_key(json, "items");
        hp_json_begin_object(json);
        hp_json_put_string(json, "type", "string");
        hp_json_end_object(json);
    }
    if (parameter->about != NULL)
        hp_json_put_string(json, "description", parameter->about);
}

static void put_schema(struct hp_json *json, const struct hp_mcp_tool *tool)
{
    const struct hp_mcp_parameter *parameter;
    bool has_required = false;
    hp_json_key(json, "inputSchema");
    hp_json_begin_object(json);
    hp_json_put_string(json, "type", "object");
    hp_json_key(json, "properties");
    hp_json_begin_object(json);
    for (size_t at = 0; (parameter = hp_mcp_parameter(tool, at)) != NULL; at++) {
        hp_json_key(json, parameter->name);
        hp_json_begin_object(json);
        put_type(json, parameter);
        hp_json_end_object(json);
        has_required |= parameter->is_required;
    }
    hp_json_end_object(json);
    if (has_required) {
        hp_json_key(json, "required");
        hp_json_begin_array(json);
        for (size_t at = 0; (parameter = hp_mcp_parameter(tool, at)) != NULL; at++)
            if (parameter->is_required)
                hp_json_string(json, parameter->name);
        hp_json_end_array(json);
    }
    hp_json_key(json, "additionalProperties");
    hp_json_bool(json, false);
    hp_json_end_object(json);
}

void hp_mcp_put_tool(struct hp_json *json, const struct hp_mcp_tool *tool)
{
    hp_json_begin_object(json);
    hp_json_put_string(json, "name", tool->name);
    hp_json_put_string(json, "description", tool->about);
    put_schema(json, tool);
    hp_json_key(json, "annotations");
    hp_json_begin_object(json);
    hp_json_key(json, "readOnlyHint");
    hp_json_bool(json, !tool->is_starting);
    hp_json_key(json, "openWorldHint");
    hp_json_bool(json, false);
    hp_json_end_object(json);
    hp_json_end_object(json);
}
