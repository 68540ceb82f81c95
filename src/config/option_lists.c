/* Parsers for option values: lists of patterns and of names. SPDX-License-Identifier: MIT */
#include "option_values.h"

#include <errno.h>
#include <string.h>

#include "files.h"
#include "memory.h"
#include "text.h"
#include "units.h"

#define LIST_FILE_BYTES 65536 /* of a file of patterns */

/* ---------------------------------------------------------------------------------- lists of patterns */

/* Working memory for reading a list: too large for a stack. */
struct list_reader {
    struct hp_text *problem;
    struct hp_text list;
    char list_bytes[HP_PATTERN_LIST_BYTES];
    struct hp_pattern scratch;
    char path[1024];
    char file[LIST_FILE_BYTES + 1];
};

/* "line 3 of 'functions.txt': ", or without a line "the file 'functions.txt' " */
static bool complain_about_file(const struct list_reader *reader, size_t line, const char *what)
{
    struct hp_text *problem = reader->problem;
    hp_text_string(problem, line > 0 ? "line " : "the file '");
    if (line > 0) {
        hp_text_format(problem, "%zu of '", line);
    }
    hp_option_put_shown(problem, reader->path);
    hp_text_format(problem, "%s%s", line > 0 ? "': " : "' ", what);
    return false;
}

static bool complain_unreadable(const struct list_reader *reader, int error)
{
    complain_about_file(reader, 0, "cannot be read: ");
    return hp_option_complain(reader->problem, hp_file_error(error));
}

/* Reads the file of an item @PATH. Files other than regular ones could block. */
static bool read_list_file(struct list_reader *reader, const char *path, size_t length)
{
    if (length == 0)
        return hp_option_complain(reader->problem, "'@' has no path after it");
    if (length >= sizeof reader->path)
        return hp_option_complain(reader->problem, "the path after '@' is longer than 1023 bytes");
    memcpy(reader->path, path, length);
    reader->path[length] = '\0';
    const ssize_t size = hp_file_read_regular(reader->path, reader->file, sizeof reader->file);
    if (size < 0)
        return complain_unreadable(reader, errno);
    if (size > LIST_FILE_BYTES)
        return complain_about_file(reader, 0, "is longer than 65536 bytes");
    if (memchr(reader->file, '\0', (size_t)size) != NULL)
        return complain_about_file(reader, 0, "is not a text file");
    reader->file[size] = '\0';
    return true;
}

_Static_assert(LIST_FILE_BYTES == 65536, "the message above names the limit");

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static bool add_line(struct list_reader *reader, const char *line, size_t length, size_t number, bool is_out)
{
    char bytes[HP_OPTION_PROBLEM_BYTES];
    struct hp_text what;
    for (; length > 0 && is_blank(line[0]); length--)
        line++;
    while (length > 0 && is_blank(line[length - 1]))
        length--;
    if (length == 0 || line[0] == '#')
        return true;
    if (line[0] == '@' || (line[0] == '-' && line[1] == '@'))
        return complain_about_file(reader, number, "a list file cannot include another");
    hp_text_init(&what, bytes, sizeof bytes);
    if (!hp_pattern_item_check(line, length, &reader->scratch, &what))
        return complain_about_file(reader, number, hp_text_end(&what));
    hp_pattern_list_put(&reader->list, line, length, is_out);
    return true;
}

static bool add_file(struct list_reader *reader, const char *path, size_t length, bool is_out)
{
    size_t number = 0;
    if (!read_list_file(reader, path, length))
        return false;
    for (const char *line = reader->file, *end; *line != '\0'; line = end + (*end != '\0')) {
        end = line + strcspn(line, "\n");
        if (!add_line(reader, line, (size_t)(end - line), ++number, is_out))
            return false;
    }
    return true;
}

/* Replaces names of files by their contents. */
static bool read_list(struct list_reader *reader, const char *text)
{
    size_t length;
    for (const char *rest = text, *item; (item = hp_pattern_list_next(&rest, &length)) != NULL;) {
        const bool is_out = item[0] == '-', is_file = item[is_out] == '@';
        if (!is_file)
            hp_pattern_list_put(&reader->list, item, length, false);
        else if (!add_file(reader, item + is_out + 1, length - is_out - 1, is_out))
            return false;
    }
    hp_text_end(&reader->list);
    return !reader->list.is_cut || hp_option_complain(reader->problem, "the list is longer than 8191 bytes");
}

_Static_assert(HP_PATTERN_LIST_BYTES == 8192, "the message above names the limit");

static bool compile_list(const char *text, struct hp_text *problem)
{
    struct hp_pattern_list *list = hp_memory_map(sizeof *list);
    const bool is_good = list != NULL ? hp_pattern_list_compile(list, text, false, problem)
                                      : hp_option_complain(problem, "not enough memory");
    hp_memory_unmap(list, sizeof *list);
    return is_good;
}

bool hp_option_parse_patterns(const struct hp_option *option, const char *text, struct hp_settings *settings,
                              struct hp_text *ret_problem)
{
    char bytes[HP_OPTION_PROBLEM_BYTES];
    struct hp_text what;
    struct list_reader *reader = hp_memory_map(sizeof *reader);
    if (reader == NULL)
        return hp_option_complain(ret_problem, "has no effect: not enough memory");
    hp_text_init(&what, bytes, sizeof bytes);
    hp_text_init(&reader->list, reader->list_bytes, sizeof reader->list_bytes);
    reader->problem = &what;
    const bool is_good = read_list(reader, text) && compile_list(reader->list_bytes, &what);
    if (is_good) {
        memcpy(hp_option_place(option, settings), reader->list_bytes, sizeof reader->list_bytes);
    } else {
        hp_text_format(ret_problem, "is not a list of texts, globs and /regex/: %s", hp_text_end(&what));
    }
    hp_memory_unmap(reader, sizeof *reader);
    return is_good;
}
/* ----------------------------------------------------------------------------------------- other lists */

static bool is_name_byte(char c, bool is_first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (!is_first && (c == '_' || c == '-' || c == '.'));
}

/* A name of a section or column, with an optional minus in front. */
static bool is_name(const char *item, size_t length)
{
    const size_t start = length > 0 && item[0] == '-';
    for (size_t i = start; i < length; i++)
        if (!is_name_byte(item[i], i == start))
            return false;
    return length > start;
}

static bool is_pair(const char *item, size_t length)
{
    const char *equals = memchr(item, '=', length);
    return equals != NULL && equals != item;
}

static bool are_items(const char *list, bool (*is_allowed)(const char *item, size_t length))
{
    const char *item;
    size_t length;
    size_t count = 0;
    for (const char *rest = list; (item = hp_text_next_item(&rest, &length)) != NULL; count++)
        if (!is_allowed(item, length))
            return false;
    return count > 0;
}

/* Copies a list without the blanks around its items. */
static void copy_items(char *bytes, size_t size, const char *list)
{
    const char *item;
    size_t length;
    struct hp_text copy;
    hp_text_init(&copy, bytes, size);
    for (const char *rest = list; (item = hp_text_next_item(&rest, &length)) != NULL;) {
        if (copy.length > 0)
            hp_text_char(&copy, ',');
        hp_text_bytes(&copy, item, length);
    }
    hp_text_end(&copy);
}

static bool hp_option_parse_items(const struct hp_option *option, const char *text, struct hp_settings *settings,
                                  struct hp_text *ret_problem, bool (*is_allowed)(const char *item, size_t length),
                                  const char *what)
{
    if (strlen(text) >= option->settings_size)
        return hp_option_too_long(ret_problem, option);
    if (!are_items(text, is_allowed))
        return hp_option_complain(ret_problem, what);
    copy_items(hp_option_place(option, settings), option->settings_size, text);
    return true;
}

bool hp_option_parse_sections(const struct hp_option *option, const char *text, struct hp_settings *settings,
                              struct hp_text *ret_problem)
{
    return hp_option_parse_items(option, text, settings, ret_problem, is_name,
                                 "is not a list of sections such as short, auto, all, timing,calltree or -timing");
}

bool hp_option_parse_columns(const struct hp_option *option, const char *text, struct hp_settings *settings,
                             struct hp_text *ret_problem)
{
    return hp_option_parse_items(option, text, settings, ret_problem, is_name,
                                 "is not a list of columns such as self,min,max or all");
}

/* One column, without blanks around it. */
bool hp_option_parse_sort(const struct hp_option *option, const char *text, struct hp_settings *settings,
                          struct hp_text *ret_problem)
{
    size_t length = 0, ignored;
    const char *rest = text;
    const char *item = hp_text_next_item(&rest, &length);
    if (item == NULL || !is_name(item, length) || hp_text_next_item(&rest, &ignored) != NULL)
        return hp_option_complain(ret_problem, "is not a column such as total, self, calls or name, or -calls");
    if (length >= option->settings_size)
        return hp_option_too_long(ret_problem, option);
    copy_items(hp_option_place(option, settings), option->settings_size, text);
    return true;
}

bool hp_option_parse_metadata(const struct hp_option *option, const char *text, struct hp_settings *settings,
                              struct hp_text *ret_problem)
{
    return hp_option_parse_items(option, text, settings, ret_problem, is_pair,
                                 "is not a list of pairs such as key=value,key=value");
}

/* Keeps the percentiles ascending, each once. False: no space for one more. */
static bool add_percentile(double *percentiles, uint32_t *count, double percentile)
{
    uint32_t at = 0;
    while (at < *count && percentiles[at] < percentile)
        at++;
    if (at < *count && percentiles[at] <= percentile)
        return true;
    if (*count == HP_MAX_PERCENTILES)
        return false;
    memmove(&percentiles[at + 1], &percentiles[at], (*count - at) * sizeof *percentiles);
    percentiles[at] = percentile;
    ++*count;
    return true;
}

_Static_assert(HP_MAX_PERCENTILES == 10, "the message below names the limit");

bool hp_option_parse_percentiles(const struct hp_option *option, const char *text, struct hp_settings *settings,
                                 struct hp_text *ret_problem)
{
    double percentiles[HP_MAX_PERCENTILES];
    uint32_t count = 0;
    const char *item;
    size_t length;
    (void)option;
    for (const char *rest = text; (item = hp_text_next_item(&rest, &length)) != NULL;) {
        double percentile;
        if (!hp_number_decimal(item, length, &percentile) || percentile > 100 ||
            !add_percentile(percentiles, &count, percentile))
            return hp_option_complain(ret_problem, "is not a list of at most 10 numbers from 0 to 100");
    }
    if (count == 0)
        return hp_option_complain(ret_problem, "is not a list of at most 10 numbers from 0 to 100");
    memcpy(settings->show.percentiles, percentiles, count * sizeof *percentiles);
    settings->show.percentile_count = count;
    return true;
}
