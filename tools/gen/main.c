/*
 * Writes documentation and completions from the tables in src/config/option_table.c, src/report and src/cli.
 *
 *     gen_docs --write ROOT     writes docs/environment.md, docs/agents.md, completions/, the lists of options in
 *                               man/, and the sections in docs/report.schema.json
 *     gen_docs --check ROOT     changes nothing; fails if one of them is not up to date
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agents_page.h"
#include "gen.h"
#include "options.h"

struct buffer {
    char *text;
    size_t length;
};

bool gen_flag_of(const struct hp_command *command, size_t n, struct gen_flag *ret_flag)
{
    if (n < command->flag_count) {
        const struct hp_flag *flag = &command->flags[n];
        *ret_flag = (struct gen_flag){flag->name, flag->value, flag->help, NULL, flag->letter};
        return true;
    }
    n -= command->flag_count;
    for (size_t at = 0; at < hp_option_count; at++) {
        const struct hp_option *option = &hp_options[at];
        if (!(option->scope & command->scopes) || n-- > 0)
            continue;
        *ret_flag =
            (struct gen_flag){option->flag, option->type == HP_OPTION_FLAG ? NULL : option->value, option->help,
                              hp_command_reads(command, option->variable) ? option->variable : NULL,
                              hp_command_letter(command, option->letter)};
        return true;
    }
    *ret_flag = (struct gen_flag){"help", NULL, "Print help.", NULL, 'h'};
    return n == 0;
}

/* ----------------------------------------------------------------------------------------------- files */

static bool read_file(const char *path, struct buffer *buffer)
{
    FILE *in = fopen(path, "rb");
    FILE *out = open_memstream(&buffer->text, &buffer->length);
    for (int byte; in != NULL && out != NULL && (byte = fgetc(in)) != EOF;)
        fputc(byte, out);
    if (out != NULL)
        fclose(out);
    return in != NULL && fclose(in) == 0 && out != NULL;
}

static bool settle(const char *path, const struct buffer *wanted, bool is_check)
{
    struct buffer present = {0};
    const bool is_same = read_file(path, &present) && present.length == wanted->length &&
                         memcmp(present.text, wanted->text, wanted->length) == 0;
    free(present.text);
    if (is_same)
        return true;
    if (is_check) {
        fprintf(stderr, "gen_docs: '%s' is not what the tables say; run 'gen_docs --write' on the sources\n", path);
        return false;
    }
    FILE *out = fopen(path, "wb");
    const bool is_written = out != NULL && fwrite(wanted->text, 1, wanted->length, out) == wanted->length;
    if ((out != NULL && fclose(out) != 0) || !is_written) {
        fprintf(stderr, "gen_docs: cannot write '%s': %s\n", path, strerror(errno));
        return false;
    }
    printf("%s\n", path);
    return true;
}

static void gen_agents(FILE *out)
{
    char buffer[4096];
    struct hp_text text;
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_write_to_stream, out);
    hp_agents_page_put(&text);
    hp_text_finish(&text);
}

static bool make_file(const char *root, const char *name, void (*write)(FILE *out), bool is_check)
{
    char path[4096];
    struct buffer wanted = {0};
    FILE *out = open_memstream(&wanted.text, &wanted.length);
    if (out == NULL)
        return false;
    write(out);
    fclose(out);
    snprintf(path, sizeof path, "%s/%s", root, name);
    const bool is_done = settle(path, &wanted, is_check);
    free(wanted.text);
    return is_done;
}

/* ------------------------------------------------------------------------------------------- man pages */

/*
 * The page with the text between the two marks replaced: the options of a command, or all commands (NULL). False,
 * with a message: the marks are missing.
 */
static bool fill_page(const char *path, const struct buffer *page, const struct hp_command *command,
                      struct buffer *wanted)
{
    const char *what = command != NULL ? "options" : "commands";
    char first[64], last[64];
    snprintf(first, sizeof first, ".\\\" %s: written by tools/gen\n", what);
    snprintf(last, sizeof last, ".\\\" end of %s\n", what);
    const char *begin = strstr(page->text, first), *end = strstr(page->text, last);
    FILE *out = begin != NULL && end > begin ? open_memstream(&wanted->text, &wanted->length) : NULL;
    if (out == NULL) {
        fprintf(stderr, "gen_docs: '%s' has no marks for the list of %s\n", path, what);
        return false;
    }
    fwrite(page->text, 1, (size_t)(begin - page->text), out);
    fputs(first, out);
    if (command != NULL)
        gen_man_options(out, command);
    else
        gen_man_commands(out);
    fputs(end, out);
    return fclose(out) == 0;
}

/* The page of a command, or of the program (NULL). */
static bool make_page(const char *root, const struct hp_command *command, bool is_check)
{
    char path[4096];
    struct buffer page = {0}, wanted = {0};
    snprintf(path, sizeof path, "%s/man/hotpath%s%s.1", root, command != NULL ? "-" : "",
             command != NULL ? command->name : "");
    if (!read_file(path, &page)) {
        fprintf(stderr, "gen_docs: cannot read '%s': every command has a man page\n", path);
        return false;
    }
    const bool is_done = fill_page(path, &page, command, &wanted) && settle(path, &wanted, is_check);
    free(page.text);
    free(wanted.text);
    return is_done;
}

/* ---------------------------------------------------------------------------------------------- schema */

#define SECTIONS "      \"$comment\": \"From here on written by tools/gen, from the tables of the sections.\",\n"

/* The schema with everything after the mark replaced; false, with a message: the mark is missing. */
static bool fill_schema(const char *path, const struct buffer *schema, struct buffer *wanted)
{
    const char *mark = strstr(schema->text, SECTIONS);
    FILE *out = mark != NULL ? open_memstream(&wanted->text, &wanted->length) : NULL;
    if (out == NULL) {
        fprintf(stderr, "gen_docs: '%s' has no mark for the sections\n", path);
        return false;
    }
    fwrite(schema->text, 1, (size_t)(mark - schema->text), out);
    fputs(SECTIONS, out);
    gen_schema(out);
    return fclose(out) == 0;
}

static bool make_schema(const char *root, bool is_check)
{
    char path[4096];
    struct buffer schema = {0}, wanted = {0};
    snprintf(path, sizeof path, "%s/docs/report.schema.json", root);
    if (!read_file(path, &schema)) {
        fprintf(stderr, "gen_docs: cannot read '%s'\n", path);
        return false;
    }
    const bool is_done = fill_schema(path, &schema, &wanted) && settle(path, &wanted, is_check);
    free(schema.text);
    free(wanted.text);
    return is_done;
}

int main(int count, char **arguments)
{
    const bool is_check = count == 3 && strcmp(arguments[1], "--check") == 0;
    if (!is_check && !(count == 3 && strcmp(arguments[1], "--write") == 0)) {
        fputs("usage: gen_docs --write|--check ROOT\n", stderr);
        return 2;
    }
    const char *root = arguments[2];
    bool is_done = make_file(root, "docs/environment.md", gen_environment, is_check);
    is_done &= make_file(root, "docs/agents.md", gen_agents, is_check);
    is_done &= make_file(root, "completions/hotpath.bash", gen_bash, is_check);
    is_done &= make_file(root, "completions/_hotpath", gen_zsh, is_check);
    is_done &= make_file(root, "completions/hotpath.fish", gen_fish, is_check);
    is_done &= make_schema(root, is_check);
    is_done &= make_page(root, NULL, is_check);
    for (size_t at = 0; at < hp_command_count; at++)
        is_done &= make_page(root, hp_commands[at], is_check);
    return is_done ? EXIT_SUCCESS : EXIT_FAILURE;
}
