/* function: all that is known of one. SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "growing_array.h"
#include "mcp_results.h"
#include "mcp_section.h"
#include "mcp_tools.h"

#define SECTIONS                                                                                                   \
    "bottlenecks,timing,cpu,functions,alloc-bytes,alloc-functions,waits,blocked-by,io-by,calltree,stacktree"
#define FEW 5u

/* ------------------------------------------------------------------------------------------ callers and callees */

struct relative {
    const char *name;
    double total_ns, calls;
};

struct relatives {
    struct relative *all;
    size_t count, room;
};

static bool add_relative(struct relatives *relatives, const char *name, double total_ns, double calls)
{
    for (size_t at = 0; at < relatives->count; at++)
        if (strcmp(relatives->all[at].name, name) == 0) {
            relatives->all[at].total_ns += total_ns;
            relatives->all[at].calls += calls;
            return true;
        }
    if (!HP_MAKE_ROOM(relatives->all, relatives->count + 1, relatives->room))
        return false;
    relatives->all[relatives->count++] = (struct relative){name, total_ns, calls};
    return true;
}

static int more_time(const void *a, const void *b)
{
    const struct relative *x = a, *y = b;
    return (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);
}

/* Of the paths of a tree: who calls the function, or whom it calls. */
static bool find_relatives(const struct hotpath_section *tree, const char *function, bool are_callers,
                           struct relatives *relatives)
{
    for (size_t at = 0; at < tree->row_count; at++) {
        const struct hp_row *row = &tree->rows[at];
        const struct hp_row *parent = row->parent > 0 ? &tree->rows[row->parent - 1] : NULL;
        if (parent == NULL || !hp_mcp_is_of(function, tree, are_callers ? row : parent))
            continue;
        const char *name = hp_mcp_row_text(tree, are_callers ? parent : row, "name");
        if (name != NULL && !add_relative(relatives, name, hp_mcp_row_number(tree, row, "total_ns"),
                                          hp_mcp_row_number(tree, row, "calls")))
            return false;
    }
    if (relatives->count > 0)
        qsort(relatives->all, relatives->count, sizeof *relatives->all, more_time);
    return true;
}

static void put_relatives(struct hp_mcp_answer *answer, const struct hp_run *run,
                          const struct hotpath_section *tree, const char *function, bool are_callers)
{
    static const char *const titles[] = {"Function", "Total", "Calls"};
    struct relatives relatives = {0};
    const bool has_calls = strcmp(tree->name, "calltree") == 0;
    answer->lacks_memory |= !find_relatives(tree, function, are_callers, &relatives);
    if (relatives.count > 0) {
        const size_t most = answer->is_full ? relatives.count : FEW;
        hp_mcp_table_begin(answer, are_callers ? "callers" : "callees", titles, has_calls ? 3 : 2);
        for (size_t at = 0; at < relatives.count && at < most; at++) {
            struct hp_text calls;
            char bytes[32];
            hp_text_init(&calls, bytes, sizeof bytes);
            hp_text_u64(&calls, (uint64_t)relatives.all[at].calls);
            hp_mcp_table_cell(answer, relatives.all[at].name);
            hp_mcp_table_cell(answer, hp_mcp_duration(run, relatives.all[at].total_ns).bytes);
            if (has_calls)
                hp_mcp_table_cell(answer, hp_text_end(&calls));
        }
        hp_mcp_table_end(answer, relatives.count, NULL);
    }
    free(relatives.all);
}

/* ---------------------------------------------------------------------------------------------------- the parts */

/* "mail is waiting: 18 % of the time that is not idle; poll: poll" */
static void put_sentence(struct hp_mcp_answer *answer, const hotpath_results *results, const char *function)
{
    const struct hotpath_section *verdicts = hp_mcp_section(results, "bottlenecks");
    const struct hotpath_section *found = hp_mcp_section(results, "functions");
    const struct hp_row *row = verdicts != NULL ? hp_mcp_row_named(verdicts, function) : NULL;
    const struct hotpath_section *of = row != NULL ? verdicts : found;
    const struct hp_mcp_quoted quoted = hp_mcp_quoted(function);
    const char *name = quoted.bytes;
    if (row == NULL && found != NULL)
        row = hp_mcp_row_named(found, function);
    if (row == NULL) {
        hp_mcp_put_format(answer, "What is known of %s:", name);
        return;
    }
    const char *verdict = hp_mcp_row_text(of, row, "verdict"), *why = hp_mcp_row_text(of, row, "why");
    const char *cause = hp_mcp_row_text(of, row, "waits_for");
    if (verdict == NULL && of == verdicts)
        hp_mcp_put_format(answer, "%s takes %s itself, %s of all.", name,
                          hp_mcp_row_shown(of, row, "work_ns").bytes,
                          hp_mcp_row_shown(of, row, "percent_own").bytes);
    else if (verdict != NULL)
        hp_mcp_put_format(answer, "%s is %s: %s of the time that is not idle is its own%s%s%s%s.", name, verdict,
                          hp_mcp_row_shown(of, row, "percent_own").bytes, cause != NULL ? "; it waits for " : "",
                          cause != NULL ? hp_mcp_quoted(cause).bytes : "", why != NULL ? "; " : "",
                          why != NULL ? hp_mcp_quoted(why).bytes : "");
    else
        hp_mcp_put_format(answer, "%s has %s%s of its own (%s), %s with what it calls%s%s.", name,
                          hp_mcp_row_shown(of, row, "self_ns").bytes, of->counts_instructions ? "" : " of CPU time",
                          hp_mcp_row_shown(of, row, "percent_self").bytes,
                          hp_mcp_row_shown(of, row, "total_ns").bytes, cause != NULL ? "; it waits for " : "",
                          cause != NULL ? hp_mcp_quoted(cause).bytes : "");
}

static void put_rows(struct hp_mcp_answer *answer, const hotpath_results *results, const char *function)
{
    static const char *const of_one[] = {"bottlenecks", "timing",      "cpu",
                                         "functions",   "alloc-bytes", "alloc-functions"};
    static const char *const timing[] = {"calls",  "avg_ns",   "p50_ns",  "p95_ns",   "p99_ns",
                                         "max_ns", "total_ns", "self_ns", "location", NULL};
    static const char *const verdict[] = {"verdict",   "percent_own", "work_ns",   "cpu_ns",    "waiting_ns",
                                          "waits_for", "idle_ns",     "own_bytes", "own_count", NULL};
    static const char *const found[] = {"library",   "self_ns", "percent_self", "total_ns", "waiting_ns",
                                        "waits_for", "zones",   "file",         NULL};
    for (size_t at = 0; at < sizeof of_one / sizeof of_one[0]; at++) {
        const struct hotpath_section *section = hp_mcp_section(results, of_one[at]);
        if (section != NULL)
            hp_mcp_put_row(answer, section, hp_mcp_row_named(section, function),
                           at == 0   ? verdict
                           : at == 1 ? timing
                           : at == 3 ? found
                                     : NULL);
    }
}

static void put_many(struct hp_mcp_answer *answer, const hotpath_results *results, const char *function)
{
    static const char *const of_many[] = {"waits", "blocked-by", "io-by"};
    for (size_t at = 0; at < sizeof of_many / sizeof of_many[0]; at++) {
        const struct hotpath_section *section = hp_mcp_section(results, of_many[at]);
        if (section != NULL)
            hp_mcp_put_section(answer, &(struct hp_mcp_section_table){.section = section,
                                                                      .takes = hp_mcp_is_of,
                                                                      .context = function,
                                                                      .limit = answer->is_full ? 100 : FEW});
    }
}

/* ---------------------------------------------------------------------------------------------------- its lines */

#define LINES_MOST 40u

/* The text of `hotpath annotate`, line by line, each of them a cell: sources are data, too. */
static void put_lines(struct hp_mcp_call *call, struct hp_mcp_answer *answer, const char *function)
{
    static const char *const titles[] = {"self, total, line, source"};
    struct hp_body body = {0};
    char buffer[4096];
    struct hp_text text;
    size_t count = 0;
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_body_add, &body);
    const bool has_lines = call->source->annotate(call->source->context, &call->run, function, &text);
    if (!hp_text_finish(&text) || !hp_body_add(&body, "", 1)) {
        answer->lacks_memory = true;
    } else if (!has_lines) {
        hp_mcp_put_warning(answer, call->source->problem(call->source->context));
    } else {
        hp_mcp_table_begin(answer, "lines", titles, 1);
        for (char *line = body.bytes, *end; line[0] != '\0'; line = end + 1) {
            end = line + strcspn(line, "\n");
            const bool is_last = *end == '\0';
            *end = '\0';
            if (line[0] != '\0' && count++ < (answer->is_full ? 10 * LINES_MOST : LINES_MOST))
                hp_mcp_table_cell(answer, line);
            if (is_last)
                break;
        }
        hp_mcp_table_end(answer, count, NULL);
    }
    hp_body_free(&body);
}

/* ------------------------------------------------------------------------------------------------------- answer */

static void put_next(struct hp_mcp_call *call, struct hp_mcp_answer *answer, const hotpath_results *results,
                     const char *function)
{
    const struct hotpath_section *blocks = hp_mcp_section(results, "blocked-by");
    const struct hp_row *block = blocks != NULL ? hp_mcp_row_named(blocks, function) : NULL;
    const char *holder = block != NULL ? hp_mcp_row_text(blocks, block, "holder") : NULL;
    if (holder != NULL && holder[0] != '<' && !hp_mcp_is_name(holder, function))
        hp_mcp_next(answer, "function", "name", holder, NULL);
    else if (call->run.stacks != NULL)
        hp_mcp_next(answer, "stacks", "function", function, NULL);
    if (!call->run.is_part && call->run.stacks != NULL && hp_mcp_section(results, "functions") != NULL)
        hp_mcp_next(answer, "function", "name", function, "lines", "true", NULL);
    if (hp_mcp_section(results, "waits") != NULL)
        hp_mcp_next(answer, "waits", "function", function, NULL);
    hp_mcp_next_usual(call, answer);
}

static bool answer_function(struct hp_mcp_call *call, struct hp_mcp_answer *answer)
{
    const hotpath_results *results = hp_mcp_results(call, SECTIONS, NULL);
    const char *function = results != NULL ? hp_mcp_find_name(call, results, hp_mcp_text(call, "name")) : NULL;
    if (function == NULL)
        return false;
    const struct hotpath_section *tree = hp_mcp_section(results, "calltree");
    if (tree == NULL || hp_mcp_row_named(tree, function) == NULL)
        tree = hp_mcp_section(results, "stacktree");
    put_sentence(answer, results, function);
    put_rows(answer, results, function);
    if (tree != NULL) {
        put_relatives(answer, &call->run.model->run, tree, function, true);
        put_relatives(answer, &call->run.model->run, tree, function, false);
    }
    put_many(answer, results, function);
    if (hp_mcp_flag(call, "lines") && call->run.is_part)
        hp_mcp_put_note(answer, "lines are known of the whole run only: ask without from and to");
    else if (hp_mcp_flag(call, "lines"))
        put_lines(call, answer, function);
    hp_mcp_put_trust(answer, results);
    put_next(call, answer, results, function);
    return true;
}

static const struct hp_mcp_parameter parameters[] = {
    {.name = "name", .type = HP_MCP_TEXT, .is_required = true, .about = "as another answer shows it"},
    {.name = "lines", .type = HP_MCP_FLAG, .about = "also its hottest source lines"},
};

const struct hp_mcp_tool hp_mcp_tool_function = {
    .name = "function",
    .about =
        "All about one function: its time by cause, percentiles, callers, callees, what it waits for, reads and "
        "writes, and where it is.",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .is_of_session = true,
    .is_of_sizes = true,
    .answer = answer_function,
};
