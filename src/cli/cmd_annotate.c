/* hotpath annotate: a function, line by line. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "annotate.h"
#include "arguments.h"
#include "command.h"
#include "debug_servers.h"
#include "files.h"
#include "function_starts.h"
#include "function_sums.h"
#include "growing_array.h"
#include "plain_name.h"
#include "process.h"
#include "run_stacks.h"
#include "sessions.h"
#include "spelling.h"
#include "text.h"
#include "units.h"

/* ---------------------------------------------------------------------------------------------------- annotated */

/*
 * Lines of a source or of disassembly with the samples found at them. Lines with samples are printed with a few
 * lines of context.
 *
 * Prints lines of source or code with their samples.
 */
struct hp_annotated_line {
    const char *text;
    uint64_t at; /* line number or address */
};

struct hp_annotated {
    struct hp_annotated_line *all;
    size_t count, room;
    char *bytes; /* storage of the lines */
};

#define MOST_BYTES (64u << 20)
#define LINES_AROUND 2u
#define INSTRUCTIONS_AROUND 4u
#define LONGEST_INSTRUCTION 16u
#define HOT_PERCENT 10.0
#define TAB 8u
#define READ_BYTES 65536u

/* Appends a line. False: no memory. */
static bool annotated_add(struct hp_annotated *text, const char *line, uint64_t at)
{
    if (!HP_MAKE_ROOM(text->all, text->count + 1, text->room))
        return false;
    text->all[text->count++] = (struct hp_annotated_line){line, at};
    return true;
}

static void annotated_free(struct hp_annotated *text)
{
    free(text->all);
    free(text->bytes);
    *text = (struct hp_annotated){.count = 0};
}

/* Reads a whole file and adds a terminating zero. NULL: errno says why. */
static char *annotated_read(int fd)
{
    size_t room = 0, length = 0;
    char *bytes = NULL;
    for (ssize_t more = 1; more != 0;) {
        const bool has_room =
            room - length >= 2 || room >= MOST_BYTES || HP_MAKE_ROOM(bytes, length + READ_BYTES, room);
        more = has_room ? read(fd, bytes + length, room - length - 1) : -1;
        if (more < 0 && has_room && errno == EINTR)
            continue;
        if (more < 0) {
            free(bytes);
            return NULL;
        }
        length += (size_t)more;
    }
    bytes[length] = '\0';
    return bytes;
}

/* ------------------------------------------------------------------------------------------------- print */

static FILE *out; /* standard output, or what a caller reads */

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
        fprintf(out, "%7.2f%%", percent_of(printing, ns));
    else
        fprintf(out, "%8s", "");
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
    fputs(safe, out);
}

static void print_line(const struct printing *printing, const struct hp_annotated_line *line,
                       const struct hp_line_sum *sum)
{
    const bool is_hot = printing->has_color && sum != NULL && percent_of(printing, sum->own_ns) >= HOT_PERCENT;
    fputs(is_hot ? "\033[31m" : "", out);
    print_share(printing, sum != NULL ? sum->own_ns : 0);
    print_share(printing, sum != NULL ? sum->all_ns : 0);
    fprintf(out, printing->is_code ? "  %8" PRIx64 "  " : "  %6" PRIu64 "  ", line->at);
    print_text(line->text);
    fprintf(out, "%s\n", is_hot ? "\033[0m" : "");
}

/* Prints the samples that belong to no line of the text, such as lines of another file. */
static void print_rest(const struct printing *printing, const struct hp_line_sum *rest)
{
    if (rest->all_ns == 0)
        return;
    print_share(printing, rest->own_ns);
    print_share(printing, rest->all_ns);
    fprintf(out, "%s\n", printing->is_code ? "  inlined into other functions" : "  unknown lines");
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
            fputs("     ...\n", out);
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

/*
 * Prints to standard output, in percent of the function's time. `is_code`: lines are instructions, identified by
 * address.
 */
static void annotated_print(const struct hp_annotated *text, const struct hp_line_sums *sums, bool is_code)
{
    const struct printing printing = {.text = text,
                                      .sums = sums,
                                      .table = is_code ? &sums->places : &sums->lines,
                                      .around = is_code ? INSTRUCTIONS_AROUND : LINES_AROUND,
                                      .is_code = is_code,
                                      .has_color = out == stdout && hp_terminal_of(STDOUT_FILENO).has_color};
    fprintf(out, is_code ? "    Self   Total   Address  Instruction\n" : "    Self   Total    Line  Source\n");
    print_lines(&printing);
}

/* ------------------------------------------------------------------------------------------------ annotate code */

/*
 * The instructions of a function, as objdump prints them.
 *
 * Disassembles a function with objdump.
 */

extern char **environ;

/* "  401136:\tpush   %rbp" */
static bool add_instruction(struct hp_annotated *text, char *line)
{
    char *end;
    const uint64_t address = strtoull(line, &end, 16);
    if (end == line || end[0] != ':' || end[1] != '\t')
        return true;
    return annotated_add(text, end + 2, address);
}

static bool add_instructions(struct hp_annotated *text)
{
    char *rest = text->bytes;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (!add_instruction(text, line))
            return false;
    return true;
}

/* Returns the read end of objdump's output; -1: see errno. */
static int start_objdump(const char *path, const struct hp_code_range *range, pid_t *ret_pid)
{
    char from[48], to[48];
    const char *const argv[] = {"objdump", "-dwC", "--no-show-raw-insn", from, to, path, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], problem;
    snprintf(from, sizeof from, "--start-address=0x%" PRIx64, range->start);
    snprintf(to, sizeof to, "--stop-address=0x%" PRIx64, range->end);
    if (pipe(ends) != 0)
        return -1;
    problem = posix_spawn_file_actions_init(&actions);
    if (problem == 0) {
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addclose(&actions, ends[0]);
        posix_spawn_file_actions_addclose(&actions, ends[1]);
        problem = posix_spawnp(ret_pid, argv[0], &actions, NULL, (char **)(uintptr_t)argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (problem != 0)
        close(ends[0]);
    errno = problem;
    return problem == 0 ? ends[0] : -1;
}

static bool fail_to_start(void)
{
    if (errno == ENOENT)
        hp_fail("objdump is not installed; showing instructions requires it (package binutils)");
    else
        hp_fail("cannot run objdump: %s", strerror(errno));
    return false;
}

static bool disassemble(const char *path, const struct hp_code_range *range, struct hp_annotated *ret_text)
{
    pid_t pid;
    int status = 0;
    const int fd = start_objdump(path, range, &pid);
    if (fd < 0)
        return fail_to_start();
    ret_text->bytes = annotated_read(fd);
    close(fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (ret_text->bytes == NULL || !add_instructions(ret_text)) {
        hp_fail("not enough memory for the instructions in '%s'", path);
        return false;
    }
    if (ret_text->count == 0)
        hp_fail("objdump finds no code at 0x%" PRIx64 " of '%s'", range->start, path);
    return ret_text->count > 0;
}

/* Disassembles the function around this offset in the file. False, with one line on stderr: not possible. */
static bool annotate_code(const struct hp_named_image *image, uint64_t place, struct hp_annotated *ret_text)
{
    struct hp_code_range range;
    switch (hp_code_range_find(image->path, image->build_id, place, &range)) {
    case HP_CODE_NO_FILE:
        hp_fail("cannot read '%s': %s", image->path, strerror(errno));
        return false;
    case HP_CODE_OTHER_FILE:
        hp_fail("'%s' has been replaced since the run; its instructions no longer match", image->path);
        return false;
    case HP_CODE_FOUND:
        break;
    }
    return disassemble(image->path, &range, ret_text);
}

/* ----------------------------------------------------------------------------------------------- named function */

/*
 * Finds the function of a run that the user named.
 *
 * Finds the function that the user named.
 */

#define MOST_LISTED 6u

static bool begins_with(const char *function, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(function, name, length) == 0 && (function[length] == '\0' || function[length] == '(');
}

/* "name(int, char *)" is called by its name as well, and as reports show it. */
static bool is_called(const struct hp_found_function *function, const char *name)
{
    return begins_with(function->name, name) || begins_with(function->shown, name);
}

static bool has_part(const struct hp_found_function *function, const char *name)
{
    return strstr(function->name, name) != NULL || strstr(function->shown, name) != NULL;
}

typedef bool fits(const struct hp_found_function *function, const char *name);

/* The profile is sorted by time, so the first match has the most. */
static const struct hp_found_function *find_first(const struct hp_function_profile *profile, const char *name,
                                                  fits *does_fit, size_t *ret_count)
{
    const struct hp_found_function *first = NULL;
    *ret_count = 0;
    for (size_t at = 0; at < profile->count; at++)
        if (does_fit(&profile->all[at], name)) {
            first = first != NULL ? first : &profile->all[at];
            ++*ret_count;
        }
    return first;
}

static bool explain_none(const struct hp_function_profile *profile, const char *name)
{
    struct hp_spelling spelling = hp_spelling_of(name, strlen(name));
    for (size_t at = 0; at < profile->count; at++)
        hp_spelling_try(&spelling, profile->all[at].shown);
    if (spelling.best != NULL)
        hp_fail("no function '%s' in the samples; did you mean '%s'?", name, spelling.best);
    else
        hp_fail("no function '%s' in the samples; 'hotpath report --section functions -n 0' lists all", name);
    return false;
}

static bool explain_several(const struct hp_function_profile *profile, const char *name, size_t count)
{
    char list[1000];
    struct hp_text text;
    size_t listed = 0;
    hp_text_init(&text, list, sizeof list);
    for (size_t at = 0; at < profile->count && listed < MOST_LISTED; at++)
        if (has_part(&profile->all[at], name)) {
            hp_text_format(&text, "%s%s", listed++ > 0 ? ", " : "", profile->all[at].shown);
        }
    hp_fail("%zu functions match '%s': %s%s", count, name, hp_text_end(&text), count > listed ? ", ..." : "");
    return false;
}

/* Both tables share their texts, so pointers are compared. */
static bool find_number(const struct hp_named_stacks *named, const struct hp_found_function *function,
                        uint32_t *ret_function)
{
    for (uint32_t at = 0; at < named->function_count; at++)
        if (named->functions[at].name == function->name) {
            *ret_function = at;
            return true;
        }
    return false;
}

/*
 * Its number among the functions of the stacks: the function of that name, or of that symbol ("copy.part.0" of
 * "copy"), of several the one with the most time;
 * else the only function whose name contains the text. False, with one line on stderr: none, or several.
 */
static bool named_function_find(const struct hp_run_stacks *stacks, const char *name, uint32_t *ret_function)
{
    size_t count;
    const struct hp_found_function *function = find_first(&stacks->functions, name, is_called, &count);
    char plain[300];
    for (unsigned is_of_c_library = 0; function == NULL && is_of_c_library < 2; is_of_c_library++)
        if (hp_plain_name(name, is_of_c_library != 0, plain, sizeof plain))
            function = find_first(&stacks->functions, plain, is_called, &count);
    if (function == NULL) {
        function = find_first(&stacks->functions, name, has_part, &count);
        if (count > 1)
            return explain_several(&stacks->functions, name, count);
    }
    if (function == NULL || !find_number(&stacks->named, function, ret_function))
        return explain_none(&stacks->functions, name);
    return true;
}

/* ------------------------------------------------------------------------------------------------- cmd annotate */

#define SECOND UINT64_C(1000000000)

struct task {
    const struct hp_arguments *arguments;
    struct hp_sessions sessions;
    struct hp_run_stacks stacks;
    struct hp_line_sums sums;
    enum hp_line_measure measure;
    uint32_t function;
};

static const struct hp_named_function *function_of(const struct task *task)
{
    return &task->stacks.named.functions[task->function];
}

/* ------------------------------------------------------------------------------------------------ source */

static void split_lines(struct hp_annotated *text)
{
    char *rest = text->bytes;
    uint64_t number = 1;
    for (char *line; (line = strsep(&rest, "\n")) != NULL; number++)
        if (!annotated_add(text, line, number))
            return;
}

/* If the source changed after the build, samples are shown at the wrong lines. */
static void warn_if_newer(const struct task *task, const char *path, int fd)
{
    struct stat status;
    if (fstat(fd, &status) == 0 && task->sessions.all[0].began_ns > 0 &&
        (uint64_t)status.st_mtim.tv_sec * SECOND + (uint64_t)status.st_mtim.tv_nsec >
            task->sessions.all[0].began_ns)
        hp_fail("'%s' has changed since the run began; line numbers may be off", path);
}

static bool read_source(const struct task *task, struct hp_annotated *ret_text)
{
    const char *path = function_of(task)->file;
    const int fd = path[0] != '\0' ? hp_regular_open(AT_FDCWD, path, O_RDONLY) : -1;
    if (fd < 0)
        return false;
    warn_if_newer(task, path, fd);
    ret_text->bytes = annotated_read(fd);
    close(fd);
    if (ret_text->bytes != NULL)
        split_lines(ret_text);
    return ret_text->count > 0;
}

static bool has_lines(const struct hp_line_sums *sums)
{
    return sums->lines.count > 0 && sums->lines.all[sums->lines.count - 1].at > 0;
}

/* Without its text, a source is shown as line numbers. */
static void number_lines(const struct hp_line_sums *sums, struct hp_annotated *text)
{
    for (size_t at = 0; at < sums->lines.count; at++)
        if (sums->lines.all[at].at > 0 && !annotated_add(text, "", sums->lines.all[at].at))
            return;
}

/* Functions of the kernel and of generated code have a library, but no file. */
static bool has_file(const struct task *task)
{
    const struct hp_named_stacks *named = &task->stacks.named;
    const struct hp_named_function *function = function_of(task);
    return function->image < named->image_count &&
           strcmp(named->images[function->image].path, HP_KERNEL_LIBRARY) != 0 &&
           strcmp(named->images[function->image].path, HP_JIT_LIBRARY) != 0;
}

static int explain_no_lines(const struct task *task)
{
    const struct hp_named_function *function = function_of(task);
    if (!has_file(task))
        return hp_fail("%s has no source file", function->name);
    return hp_fail(
        "no line numbers for %s: %s has no debug information, or the function has too few samples. Compile "
        "it with -g, install its debug information, or run again for longer or with --debuginfod. "
        "--assembly shows its instructions",
        function->name, hp_library_name(&task->stacks.named, function->image));
}

static int show_source(const struct task *task)
{
    struct hp_annotated text = {.count = 0};
    if (!has_lines(&task->sums))
        return explain_no_lines(task);
    if (!read_source(task, &text)) {
        hp_fail("cannot read the source '%s'; showing line numbers only", function_of(task)->file);
        number_lines(&task->sums, &text);
    }
    annotated_print(&text, &task->sums, false);
    annotated_free(&text);
    return EXIT_DONE;
}

/* -------------------------------------------------------------------------------------------------- code */

static uint64_t hottest_place(const struct hp_line_sums *sums)
{
    const struct hp_line_sum *best = &sums->places.all[0];
    for (size_t at = 1; at < sums->places.count; at++)
        if (sums->places.all[at].own_ns > best->own_ns ||
            (sums->places.all[at].own_ns == best->own_ns && sums->places.all[at].all_ns > best->all_ns))
            best = &sums->places.all[at];
    return best->at;
}

static int show_code(const struct task *task)
{
    struct hp_annotated text = {.count = 0};
    const struct hp_named_function *function = function_of(task);
    if (!has_file(task))
        return hp_fail("%s is not in a file, so its instructions cannot be shown", function->name);
    const bool is_done =
        annotate_code(&task->stacks.named.images[function->image], hottest_place(&task->sums), &text);
    if (is_done)
        annotated_print(&text, &task->sums, true);
    annotated_free(&text);
    return is_done ? EXIT_DONE : EXIT_FAILED;
}

/* ------------------------------------------------------------------------------------------------ command */

/* Instructions are counted, not sampled: a nanosecond of them is an instruction (counted_blocks.h). */
static bool counts_instructions(const struct task *task) { return task->stacks.named.counts.period_ns == 1; }

static void put_number(const struct task *task, struct hp_text *text, uint64_t number)
{
    if (counts_instructions(task))
        hp_text_format(text, "%" PRIu64, number);
    else
        hp_units_ns(text, (double)number);
}

static const char *name_measure(const struct task *task)
{
    return task->measure != HP_LINES_CPU ? "waiting" : counts_instructions(task) ? "instructions" : "CPU time";
}

/* "compress (compress.c, libz.so.1): 1.20 s of 2.00 s CPU time, 1.00 s of it its own" */
static void print_heading(const struct task *task)
{
    const struct hp_named_function *function = function_of(task);
    const struct hp_named_stacks *named = &task->stacks.named;
    const bool has_image = function->image < named->image_count;
    char bytes[2000], safe[4000];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, "%s%s%s%s%s%s: ", function->name, has_image || function->file[0] != '\0' ? " (" : "",
                   function->file, has_image && function->file[0] != '\0' ? ", " : "",
                   hp_library_name(named, function->image), has_image || function->file[0] != '\0' ? ")" : "");
    put_number(task, &text, task->sums.all_ns);
    hp_text_string(&text, " of ");
    put_number(task, &text, task->sums.run_ns);
    hp_text_char(&text, ' ');
    hp_text_string(&text, name_measure(task));
    if (task->measure == HP_LINES_CPU) {
        hp_text_string(&text, ", ");
        put_number(task, &text, task->sums.own_ns);
        hp_text_string(&text, " in the function itself");
    }
    hp_copy_printable(safe, sizeof safe, hp_text_end(&text));
    fprintf(out,
            "%s\n"
            "100 %% %s the %s of this function. Self: on the line itself; Total: including calls made from it.\n"
            "%s\n",
            safe, counts_instructions(task) ? "are" : "is", name_measure(task),
            counts_instructions(task)
                ? "Code up to a jump counts where it begins, calls where the function begins.\n"
                : "");
}

static int show(struct task *task)
{
    const bool is_code = hp_arguments_flag(task->arguments, "assembly") != NULL;
    if (!hp_line_sums_make(&task->stacks.named, task->function, task->measure, &task->sums))
        return hp_fail("not enough memory for the lines of the function");
    if (task->sums.all_ns == 0)
        return hp_fail("%s has no %s in this run", function_of(task)->name,
                       counts_instructions(task)       ? name_measure(task)
                       : task->measure == HP_LINES_CPU ? "CPU time; --waiting shows where it waited"
                                                       : "waiting");
    print_heading(task);
    fflush(out);
    return is_code ? show_code(task) : show_source(task);
}

static int annotate(struct task *task, const struct hp_settings *settings)
{
    const struct hp_arguments *arguments = task->arguments;
    const char *session = arguments->operand_count > 1 ? arguments->operands[1] : NULL;
    if (!hp_session_choose(&task->sessions, settings, session))
        return EXIT_FAILED;
    if (!hp_run_stacks_read(&task->sessions, &task->stacks))
        return hp_fail(
            "this session has no stacks: record them with 'hotpath run'; 'hotpath doctor' checks whether "
            "this machine allows it");
    if (!named_function_find(&task->stacks, arguments->operands[0], &task->function))
        return EXIT_FAILED;
    return show(task);
}

static int annotate_to(FILE *stream, struct task *task, const struct hp_settings *settings)
{
    out = stream;
    const int status = annotate(task, settings);
    hp_line_sums_free(&task->sums);
    hp_run_stacks_free(&task->stacks);
    hp_sessions_free(&task->sessions);
    return status;
}

int hp_annotate_to(FILE *stream, const struct hp_settings *settings, const char *function, const char *session)
{
    static struct task task;
    char *operands[] = {(char *)(uintptr_t)function, (char *)(uintptr_t)session, NULL};
    const struct hp_arguments arguments = {
        .command = &hp_command_annotate, .operands = operands, .operand_count = 2};
    memset(&task, 0, sizeof task);
    task.arguments = &arguments;
    task.measure = HP_LINES_CPU;
    return annotate_to(stream, &task, settings);
}

static int run(const struct hp_arguments *arguments)
{
    static struct hp_settings settings;
    static struct task task;
    task.arguments = arguments;
    task.measure = hp_arguments_flag(arguments, "waiting") != NULL ? HP_LINES_WAITING : HP_LINES_CPU;
    if (arguments->operand_count == 0)
        return hp_misuse(arguments->command, "missing function name");
    if (arguments->operand_count > 2)
        return hp_misuse(arguments->command, "unexpected argument '%s': only one function can be shown",
                         arguments->operands[2]);
    hp_arguments_settle(arguments, &settings);
    hp_debug_servers_allow(&settings);
    return annotate_to(stdout, &task, &settings);
}

static const struct hp_flag flags[] = {
    {"assembly", 'a', NULL, "Show instructions instead of source lines; requires objdump."},
    {"waiting", 'w', NULL, "Show waiting time instead of CPU time."},
};

const struct hp_command hp_command_annotate = {
    .name = "annotate",
    .group = HP_GROUP_LOOK,
    .operands = "FUNCTION [SESSION|PID|PROGRAM|FILE]",
    .operand = HP_OPERAND_SESSION,
    .summary = "Shows the source lines of a function with the time spent on each.",
    .details = "FUNCTION is a name from the section 'functions' of the report, or a unique part of\n"
               "such a name. Line numbers require debug information: compile with -g, or install the\n"
               "debug package. The session is chosen as in 'hotpath report'.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_FOLDER | HP_SCOPE_NAMES,
    .run = run,
};
