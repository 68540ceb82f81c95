/* docs/environment.md, from the table of options. SPDX-License-Identifier: MIT */
#include "gen.h"

#include "options.h"

static const char before_table[] =
    "# Options and environment variables\n"
    "\n"
    "<!-- Written by tools/gen from the table in src/config/option_table.c; change it there. -->\n"
    "\n"
    "Every option can be given in the program and in the environment:\n"
    "\n"
    "```c\n"
    "HOTPATH_MAIN(.percentiles = \"50,99\", .limit = 20);     /* C */\n"
    "HOTPATH_MAIN(.percentiles(\"50,99\").limit(20));         /* C++ */\n"
    "```\n"
    "\n"
    "```sh\n"
    "HOTPATH_PERCENTILES=50,99 HOTPATH_LIMIT=20 ./program\n"
    "```\n"
    "\n"
    "The environment overrides the program, and the program overrides the default. An empty variable counts as not "
    "set.\n"
    "An invalid value causes a warning on stderr with the variable, the value, what is allowed and what is used\n"
    "instead. The program continues.\n"
    "\n"
    "| variable | option | value | default | meaning |\n"
    "| --- | --- | --- | --- | --- |\n";

static const char after_table[] =
    "\n"
    "## Limits\n"
    "\n"
    "`HOTPATH_LIMIT` sets the limit of every section; the variable of a single section overrides it. The options "
    "of the\n"
    "program work in the same way, and the environment overrides them. From strongest to weakest:\n"
    "`HOTPATH_FUNCTIONS_LIMIT`, `HOTPATH_LIMIT`, `.functions_limit`, `.limit`, the default. In the environment 0 "
    "means no\n"
    "limit; in the program 0 means that the option is not given, and `HOTPATH_NO_LIMIT` means no limit.\n"
    "\n"
    "In the section `calls` it is the number of functions; `HOTPATH_LOGS_LIMIT` is the number of calls of each.\n"
    "\n"
    "## Patterns\n"
    "\n"
    "`HOTPATH_FILTER`, `HOTPATH_SKIP` and `HOTPATH_FOCUS` are lists of patterns, separated by commas. A name\n"
    "is selected if it matches any item without a minus (or if there is no such item), and no item with a minus.\n"
    "\n"
    "| item | matches |\n"
    "| --- | --- |\n"
    "| `text` | every name that contains the text |\n"
    "| `/regex/`, `/regex/i` | every name in which the expression matches anywhere; `i` ignores case |\n"
    "| `parse_*`, `?lex` | a glob, because it has `*` or `?`: it must match the whole name |\n"
    "| `file:GLOB` | the source file: its path, or a trailing part of it after a slash |\n"
    "| `-ITEM` | excludes what matches |\n"
    "| `@PATH` | stands for the items in a file, one per line, commas allowed; lines that begin with `#` are "
    "comments |\n"
    "\n"
    "A comma within `/.../` is part of the expression; elsewhere `\\` escapes `, * ? - @ /` and itself.\n"
    "Expressions support `.`, sets such as `[a-z_]` and `[^0-9]`, `\\d \\w \\s \\D \\W \\S`, `^ $ \\b \\B`, `( "
    ")`, `|`, and the\n"
    "repetitions `* + ? {m} {m,} {m,n}`. Matching never takes exponential time.\n"
    "\n"
    "A list has up to 8191 bytes, 1024 items and 32 expressions, and each item up to 255 bytes, including the\n"
    "contents of its files; a file has up to 64 KB. Files are read when the session begins, relative to the "
    "current directory\n"
    "of the program.\n"
    "\n"
    "For compiler-instrumented functions (`-finstrument-functions`) the source is known only for static ones, as "
    "given to\n"
    "the compiler; for recording, `file:` also matches the program or library that contains a function. C++ "
    "functions are\n"
    "matched by their mangled name and, if they are neither templates nor operators, by their qualified name:\n"
    "`shop::Basket::add`.\n"
    "\n"
    "`HOTPATH_FILTER` and `HOTPATH_SKIP` decide what is recorded, once for each function and block, so excluded "
    "data is\n"
    "lost; `HOTPATH_FOCUS` decides what is shown. The last line of the report says how many functions and blocks "
    "that ran\n"
    "were left out.\n"
    "\n"
    "## Values\n"
    "\n"
    "- Switches are on with `1`, `true`, `yes` or `on` and off with `0`, `false`, `no` or `off`, in any case.\n"
    "- Sizes are numbers with an optional unit, in powers of 1024: `65536`, `512K`, `64MB`, `1GiB`.\n"
    "- Lists are separated by commas; blanks around their items do not matter.\n"
    "- `HOTPATH_USER_METADATA` cannot hold a comma within a value.\n"
    "\n"
    "## Examples\n"
    "\n"
    "```sh\n"
    "HOTPATH=0 ./program                                       # record nothing\n"
    "HOTPATH=1 ./program                                       # record, even if main has no HOTPATH_MAIN\n"
    "HOTPATH_FOCUS=parse HOTPATH_LIMIT=0 ./program             # all functions with \"parse\" in their name\n"
    "HOTPATH_FILTER='/^(read|write)_/' ./program               # measure only these\n"
    "HOTPATH_FILTER='file:json*.c' HOTPATH_SKIP='*_debug' ./program\n"
    "HOTPATH_SKIP=@boring.txt ./program                        # a list in a file\n"
    "HOTPATH_SECTIONS=timing,calltree ./program                # two sections\n"
    "HOTPATH_COLUMNS=self,min,max HOTPATH_PERCENTILES=50,99.9 ./program\n"
    "HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=run-%p.json ./program\n"
    "HOTPATH_SHUTDOWN_MS=10000 ./server                        # measure a server for ten seconds\n"
    "```\n";

/* A text in a table cell, where a bar would end it. */
static void print_cell(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void print_code_cell(FILE *out, const char *prefix, const char *text)
{
    fprintf(out, "`%s", prefix);
    print_cell(out, text);
    fputs("` | ", out);
}

static void print_row(FILE *out, const struct hp_option *option)
{
    fputs("| ", out);
    if (option->other_variable)
        fprintf(out, "`%s` or ", option->variable);
    print_code_cell(out, "", option->other_variable ? option->other_variable : option->variable);
    if (option->field)
        print_code_cell(out, ".", option->field);
    else
        fputs("| ", out);
    print_code_cell(out, "", option->value);
    if (option->initial[0])
        print_code_cell(out, "", option->initial);
    else {
        print_cell(out, option->unset);
        fputs(" | ", out);
    }
    print_cell(out, option->help);
    fputs(" |\n", out);
}

void gen_environment(FILE *out)
{
    fputs(before_table, out);
    for (size_t i = 0; i < hp_option_count; i++)
        print_row(out, &hp_options[i]);
    fputs(after_table, out);
}
