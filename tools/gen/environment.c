/* docs/environment.md, from the table of options. SPDX-License-Identifier: MIT */
#include "gen.h"

#include "options.h"

static const char before_table[] =
    "# Options and environment variables\n"
    "\n"
    "<!-- Written by tools/gen from the table in src/session/option_table.c; change it there. -->\n"
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
    "The environment overrules the program, and the program overrules the default. A variable that is empty counts "
    "as\n"
    "not set. A value that is not allowed costs one line on stderr, which names the variable, the value, what is "
    "allowed\n"
    "and what is used instead: the next in this order. The program runs on.\n"
    "\n"
    "| variable | option | value | default | meaning |\n"
    "| --- | --- | --- | --- | --- |\n";

static const char after_table[] =
    "\n"
    "## Limits\n"
    "\n"
    "`HOTPATH_LIMIT` sets the limit of every section, and the variable of a single section overrules it. The same "
    "holds\n"
    "for the options of the program, and what the environment says comes first. From strongest to weakest:\n"
    "`HOTPATH_FUNCTIONS_LIMIT`, `HOTPATH_LIMIT`, `.functions_limit`, `.limit`, the default. In the environment 0 "
    "means\n"
    "no limit; in the program 0 means that the option is not given, and `HOTPATH_NO_LIMIT` means no limit.\n"
    "\n"
    "## Patterns\n"
    "\n"
    "`HOTPATH_FILTER`, `HOTPATH_SKIP` and `HOTPATH_FOCUS` are lists of patterns, separated by commas. Chosen is what\n"
    "matches any item without a minus, or everything if there is none, and no item with one.\n"
    "\n"
    "| item | matches |\n"
    "| --- | --- |\n"
    "| `text` | every name that contains the text |\n"
    "| `/regex/`, `/regex/i` | every name in which the expression matches somewhere; with `i` upper and lower case are alike |\n"
    "| `parse_*`, `?lex` | a glob, since it has `*` or `?`: the whole name has to match |\n"
    "| `file:GLOB` | the source file: its path, or any end of it that begins behind a slash |\n"
    "| `-ITEM` | what matches is left out |\n"
    "| `@PATH` | stands for the items in a file, one in each line, which may have commas; `#` begins a line of comment |\n"
    "\n"
    "A comma within `/.../` separates nothing; elsewhere `\\` takes the meaning from `, * ? - @ /` and from itself.\n"
    "Expressions know `.`, sets such as `[a-z_]` and `[^0-9]`, `\\d \\w \\s \\D \\W \\S`, `^ $ \\b \\B`, `( )`, `|`, and the\n"
    "repetitions `* + ? {m} {m,} {m,n}`. The time a match takes does not explode, whatever the expression is.\n"
    "\n"
    "A list has up to 8191 bytes, 1024 items and 32 expressions, and each of them up to 255 bytes, together with what its\n"
    "files hold; a file has up to 64 KB. Files are read when the session begins, and the path is relative to the folder the\n"
    "program is in then.\n"
    "\n"
    "Of functions that the compiler measures (`-finstrument-functions`) the source is known of static ones only, as the\n"
    "compiler was given it; when recording, `file:` also matches the program or library that a function is in. C++\n"
    "functions are known by the name of the linker and, if they are neither templates nor operators, by their qualified\n"
    "name: `shop::Basket::add`.\n"
    "\n"
    "`HOTPATH_FILTER` and `HOTPATH_SKIP` decide what is recorded, once for each function and block, so what they leave out\n"
    "is gone; `HOTPATH_FOCUS` decides what is shown.\n"
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
    "HOTPATH_REPORT=timing,calltree ./program                  # two sections\n"
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
    print_code_cell(out, "", option->variable);
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
