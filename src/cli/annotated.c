/* Prints lines of source or code with their samples. SPDX-License-Identifier: MIT */
#include "annotated.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "command.h"
#include "terminal.h"

#define MOST_BYTES (64u << 20)
#define LINES_AROUND 2u
#define INSTRUCTIONS_AROUND 4u
#define LONGEST_INSTRUCTION 16u
#define HOT_PERCENT 10.0
#define TAB 8u

bool hp_annotated_add(struct hp_annotated *text, const char *line, uint64_t at)
{
    if (text->count == text->room) {
        const size_t room = 2 * text->room + 256;
        struct hp_annotated_line *all = realloc(text->all, room * sizeof *all);
        if (all == NULL)
            return false;
        text->all = all;
        text->room = room;
    }
    text->all[text->count++] = (struct hp_annotated_line){line, at};
    return true;
}

void hp_annotated_free(struct hp_annotated *text)
{
    free(text->all);
    free(text->bytes);
    *text = (struct hp_annotated){.count = 0};
}

char *hp_annotated_read(int fd)
{
    size_t room = 65536, length = 0;
    char *bytes = malloc(room);
    for (ssize_t more = 1; bytes != NULL && more != 0;) {
        if (room - length < 2 && room < MOST_BYTES) {
            char *larger = realloc(bytes, room *= 2);
            if (larger == NULL)
                free(bytes);
            bytes = larger;
            continue;
        }
        more = read(fd, bytes + length, room - length - 1);
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0) {
            free(bytes);
            return NULL;
        }
        length += (size_t)more;
    }
    if (bytes != NULL)
        bytes[length] = '\0';
    return bytes;
}

/* ------------------------------------------------------------------------------------------------- print */

struct printing {
    const struct hp_annotated *text;
    const struct hp_line_sums *sums;
    const struct hp_line_table *table;
    size_t around;
    bool is_code, has_color;
};

static double percent_of(const struct printing *printing, uint64_t ns)
{
    return printing->sums->all_ns > 0 ? 100.0 * (double)ns / (double)printing->sums->all_ns : 0;
}

static void print_share(const struct printing *printing, uint64_t ns)
{
    if (ns > 0)
        printf("%7.2f%%", percent_of(printing, ns));
    else
        printf("%8s", "");
}

/* Prints a line without tabs and without terminal control characters. */
static void print_text(const char *line)
{
    char plain[1000], safe[4 * sizeof plain];
    size_t length = 0;
    for (; *line != '\0' && length + TAB < sizeof plain; line++) {
        if (*line != '\t') {
            plain[length++] = *line;
            continue;
        }
        do
            plain[length++] = ' ';
        while (length % TAB != 0);
    }
    plain[length] = '\0';
    hp_copy_printable(safe, sizeof safe, plain);
    fputs(safe, stdout);
}

static void print_line(const struct printing *printing, const struct hp_annotated_line *line,
                       const struct hp_line_sum *sum)
{
    const bool is_hot = printing->has_color && sum != NULL && percent_of(printing, sum->own_ns) >= HOT_PERCENT;
    fputs(is_hot ? "\033[31m" : "", stdout);
    print_share(printing, sum != NULL ? sum->own_ns : 0);
    print_share(printing, sum != NULL ? sum->all_ns : 0);
    printf(printing->is_code ? "  %8" PRIx64 "  " : "  %6" PRIu64 "  ", line->at);
    print_text(line->text);
    puts(is_hot ? "\033[0m" : "");
}

/* Prints the samples that belong to no line of the text, such as lines of another file. */
static void print_rest(const struct printing *printing, const struct hp_line_sum *rest)
{
    if (rest->all_ns == 0)
        return;
    print_share(printing, rest->own_ns);
    print_share(printing, rest->all_ns);
    puts(printing->is_code ? "  inlined into other functions" : "  unknown lines");
}

static void add_sum(struct hp_line_sum *sum, struct hp_line_sum more)
{
    sum->own_ns += more.own_ns;
    sum->all_ns += more.all_ns;
}

/* The end of the line's address range: the address of a caller lies inside its call instruction. */
static uint64_t end_of(const struct printing *printing, size_t line)
{
    const struct hp_annotated *text = printing->text;
    if (!printing->is_code)
        return text->all[line].at + 1;
    return line + 1 < text->count ? text->all[line + 1].at : text->all[line].at + LONGEST_INSTRUCTION;
}

/* Sums the table entries before `end`; `*used` counts the entries already taken. */
static struct hp_line_sum take_until(const struct printing *printing, uint64_t end, size_t *used)
{
    const struct hp_line_table *table = printing->table;
    struct hp_line_sum sum = {.at = 0};
    for (; *used < table->count && table->all[*used].at < end; (*used)++) {
        sum.own_ns += table->all[*used].own_ns;
        sum.all_ns += table->all[*used].all_ns;
    }
    return sum;
}

static void print_between(const struct printing *printing, size_t from, size_t to)
{
    for (; from < to; from++)
        print_line(printing, &printing->text->all[from], NULL);
}

static void print_lines(const struct printing *printing)
{
    const struct hp_annotated *text = printing->text;
    const size_t around = printing->around;
    struct hp_line_sum rest = {.at = 0};
    size_t used = 0, printed = 0, last = 0; /* last: one past the last line with samples; 0: none yet */
    for (size_t at = 0; at < text->count; at++) {
        add_sum(&rest, take_until(printing, text->all[at].at, &used));
        const struct hp_line_sum sum = take_until(printing, end_of(printing, at), &used);
        if (sum.all_ns == 0)
            continue;
        const size_t from = at > around ? at - around : 0;
        if (last > 0 && from > last + around) {
            print_between(printing, printed, last + around);
            puts("     ...");
            printed = from;
        }
        print_between(printing, last > 0 ? printed : from, at);
        print_line(printing, &text->all[at], &sum);
        printed = last = at + 1;
    }
    if (last > 0)
        print_between(printing, printed, last + around < text->count ? last + around : text->count);
    add_sum(&rest, take_until(printing, UINT64_MAX, &used));
    print_rest(printing, &rest);
}

void hp_annotated_print(const struct hp_annotated *text, const struct hp_line_sums *sums, bool is_code)
{
    const struct printing printing = {.text = text,
                                      .sums = sums,
                                      .table = is_code ? &sums->places : &sums->lines,
                                      .around = is_code ? INSTRUCTIONS_AROUND : LINES_AROUND,
                                      .is_code = is_code,
                                      .has_color = hp_terminal_of(STDOUT_FILENO).has_color};
    printf(is_code ? "    Self   Total   Address  Instruction\n" : "    Self   Total    Line  Source\n");
    print_lines(&printing);
}
