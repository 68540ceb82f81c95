/* waits: who waits, how long, for what, and who holds it. SPDX-License-Identifier: MIT */
#include <string.h>

#include "mcp_results.h"
#include "mcp_section.h"
#include "mcp_tools.h"

#define SECTIONS "waits,locks,blocked-by,functions,bottlenecks"

struct wanted {
    const char *function, *cause;
};

/* Its columns differ: a wait has a cause, a lock a kind, a function only a text. */
static bool is_wanted(const void *context, const struct hotpath_section *section, const struct hp_row *row)
{
    const struct wanted *wanted = context;
    const bool is_lock = strcmp(section->name, "locks") == 0;
    const char *cause = hp_mcp_row_text(section, row, "cause"), *kind = hp_mcp_row_text(section, row, "kind");
    if (!is_lock && !hp_mcp_is_of(wanted->function, section, row))
        return false;
    if (wanted->cause == NULL)
        return true;
    return (cause != NULL && strcmp(cause, wanted->cause) == 0) ||
           (kind != NULL && (strcmp(kind, wanted->cause) == 0 ||
                             (strcmp(wanted->cause, "lock") == 0 && strcmp(kind, "condition") != 0)));
}

/* Waiting for a condition is mostly waiting for work: a lock comes first. */
static bool is_wanted_lock(const void *context, const struct hotpath_section *section, const struct hp_row *row)
{
    const char *kind = hp_mcp_row_text(section, row, "kind");
    return kind != NULL && strcmp(kind, "condition") != 0 && is_wanted(context, section, row);
}

static bool has_waited(const void *context, const struct hotpath_section *section, const struct hp_row *row)
{
    const struct wanted *wanted = context;
    return hp_mcp_is_of(wanted->function, section, row) && hp_mcp_row_number(section, row, "waiting_ns") > 0;
}

static const struct hp_row *first_of(const struct hotpath_section *section, const struct wanted *wanted,
                                     bool (*takes)(const void *, const struct hotpath_section *,
                                                   const struct hp_row *))
{
    for (size_t at = 0; section != NULL && at < section->row_count; at++)
        if (takes(wanted, section, &section->rows[at]))
            return &section->rows[at];
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------- sentence */

static const struct hp_row *first_block(const struct hotpath_section *blocks, const struct wanted *wanted)
{
    const struct hp_row *lock = first_of(blocks, wanted, is_wanted_lock);
    return lock != NULL ? lock : first_of(blocks, wanted, is_wanted);
}

/* "reserve_stock is blocked most by reserve_stock, which holds stock: 1.25 s" */
static bool put_block(struct hp_mcp_answer *answer, const hotpath_results *results, const struct wanted *wanted)
{
    const struct hotpath_section *blocks = hp_mcp_section(results, "blocked-by");
    const struct hp_row *row = first_block(blocks, wanted);
    if (row == NULL)
        return false;
    const struct hp_mcp_quoted waiter = hp_mcp_row_quoted(blocks, row, "name");
    const struct hp_mcp_quoted holder = hp_mcp_row_quoted(blocks, row, "holder");
    const struct hp_mcp_quoted lock = hp_mcp_row_quoted(blocks, row, "lock");
    const char *kind = hp_mcp_row_text(blocks, row, "kind");
    const bool is_condition = kind != NULL && strcmp(kind, "condition") == 0;
    const char *verb = is_condition ? "which signals" : "which holds";
    hp_mcp_put_format(answer, "%s is blocked most, by %s, %s %s: %s in all, %s at most.", waiter.bytes,
                      strcmp(waiter.bytes, holder.bytes) == 0 ? "itself in other threads" : holder.bytes, verb,
                      lock.bytes, hp_mcp_row_shown(blocks, row, "blocked_ns").bytes,
                      hp_mcp_row_shown(blocks, row, "blocked_max_ns").bytes);
    return true;
}

static bool put_wait(struct hp_mcp_answer *answer, const hotpath_results *results, const struct wanted *wanted)
{
    const struct hotpath_section *waits = hp_mcp_section(results, "waits");
    const struct hp_row *row = first_of(waits, wanted, is_wanted);
    if (row == NULL)
        return false;
    const char *what = hp_mcp_row_text(waits, row, "what"), *call = hp_mcp_row_text(waits, row, "call");
    hp_mcp_put_format(answer, "%s waits the longest: %s (%s of all waiting) for %s%s%s%s%s.",
                      hp_mcp_row_quoted(waits, row, "name").bytes, hp_mcp_row_shown(waits, row, "waited_ns").bytes,
                      hp_mcp_row_shown(waits, row, "percent_total").bytes,
                      hp_mcp_row_quoted(waits, row, "cause").bytes, call != NULL ? ", " : "",
                      call != NULL ? hp_mcp_quoted(call).bytes : "", what != NULL ? ", " : "",
                      what != NULL ? hp_mcp_quoted(what).bytes : "");
    return true;
}

/* The one whose waiting is the least idle: idle waits are for work. */
static const struct hp_row *hardest_waiter(const struct hotpath_section *found, const struct wanted *wanted)
{
    const struct hp_row *most = NULL;
    double most_ns = 0;
    for (size_t at = 0; found != NULL && at < found->row_count; at++) {
        const struct hp_row *row = &found->rows[at];
        const double ns = hp_mcp_row_number(found, row, "waiting_ns") - hp_mcp_row_number(found, row, "idle_ns");
        if (!has_waited(wanted, found, row) || ns <= most_ns)
            continue;
        most = row;
        most_ns = ns;
    }
    return most != NULL ? most : first_of(found, wanted, has_waited);
}

static void next_waiter(struct hp_mcp_answer *answer, const hotpath_results *results, const struct wanted *wanted)
{
    const struct hotpath_section *found = hp_mcp_section(results, "functions");
    const struct hp_row *row = hardest_waiter(found, wanted);
    if (row != NULL)
        hp_mcp_next(answer, "function", "name", hp_mcp_row_text(found, row, "name"), NULL);
}

static bool put_found(struct hp_mcp_answer *answer, const hotpath_results *results, const struct wanted *wanted)
{
    const struct hotpath_section *found = hp_mcp_section(results, "functions");
    const struct hp_row *row = hardest_waiter(found, wanted);
    if (row == NULL)
        return false;
    const char *cause = hp_mcp_row_text(found, row, "waits_for");
    hp_mcp_put_format(answer, "%s waits the longest: %s%s%s.", hp_mcp_row_quoted(found, row, "name").bytes,
                      hp_mcp_row_shown(found, row, "waiting_ns").bytes, cause != NULL ? ", for " : "",
                      cause != NULL ? hp_mcp_quoted(cause).bytes : "");
    return true;
}

/* ------------------------------------------------------------------------------------------------------- answer */

static void put_tables(struct hp_mcp_call *call, struct hp_mcp_answer *answer, const hotpath_results *results,
                       const struct wanted *wanted)
{
    static const char *const locks[] = {"name",    "kind",        "locked",  "percent_contended", "waits",
                                        "wait_ns", "wait_max_ns", "held_by", "hold_mean_ns",      NULL};
    static const char *const blocks[] = {"name",  "holder",     "lock",           "kind",
                                         "count", "blocked_ns", "blocked_max_ns", NULL};
    static const char *const waits[] = {"name",          "cause",   "call",  "what",      "waited_ns",
                                        "percent_total", "held_by", "other", "other_end", NULL};
    static const char *const found[] = {"name", "library", "waiting_ns", "waits_for", "idle_ns", "zones", NULL};
    const struct {
        const char *section;
        const char *const *keys;
    } tables[] = {{"blocked-by", blocks}, {"locks", locks}, {"waits", waits}};
    size_t count = 0;
    for (size_t at = 0; at < sizeof tables / sizeof tables[0]; at++) {
        const struct hotpath_section *section = hp_mcp_section(results, tables[at].section);
        if (section != NULL)
            count +=
                hp_mcp_put_section(answer, &(struct hp_mcp_section_table){.section = section,
                                                                          .keys = tables[at].keys,
                                                                          .takes = is_wanted,
                                                                          .context = wanted,
                                                                          .limit = hp_mcp_count(call, "limit")});
    }
    const struct hotpath_section *functions = hp_mcp_section(results, "functions");
    if (functions != NULL && wanted->cause == NULL)
        count += hp_mcp_put_section(answer, &(struct hp_mcp_section_table){.section = functions,
                                                                           .keys = found,
                                                                           .takes = has_waited,
                                                                           .context = wanted,
                                                                           .limit = hp_mcp_count(call, "limit")});
    if (hp_mcp_section(results, "locks") == NULL && count > 0)
        hp_mcp_put_note(answer,
                        "locks are not named with their holders: record with 'hotpath run --locks' for that");
}

/* Without measured functions all waits are <outside> of them: what stacks found says more. */
static bool knows_only_functions(const hotpath_results *results, const struct wanted *wanted)
{
    const struct hotpath_section *waits = hp_mcp_section(results, "waits");
    const char *name = waits != NULL ? hp_mcp_row_text(waits, &waits->rows[0], "name") : NULL;
    return wanted->cause == NULL && name != NULL && strcmp(name, "<outside>") == 0;
}

/* Whether the longest wait is one that reads or writes end. */
static bool is_for_io(const hotpath_results *results, const struct wanted *wanted)
{
    static const char *const causes[] = {"disk", "pipe", "socket", "terminal", "page fault"};
    const struct hotpath_section *waits = hp_mcp_section(results, "waits");
    const struct hp_row *row = first_of(waits, wanted, is_wanted);
    const char *cause = row != NULL ? hp_mcp_row_text(waits, row, "cause") : NULL;
    for (size_t at = 0; cause != NULL && at < sizeof causes / sizeof causes[0]; at++)
        if (strcmp(cause, causes[at]) == 0)
            return true;
    return false;
}

static bool answer_waits(struct hp_mcp_call *call, struct hp_mcp_answer *answer)
{
    struct wanted wanted = {hp_mcp_text(call, "function"), hp_mcp_text(call, "cause")};
    const hotpath_results *results = hp_mcp_results(call, SECTIONS, "waiting_ns"); /* of functions */
    if (results == NULL)
        return false;
    if (wanted.function != NULL && (wanted.function = hp_mcp_find_name(call, results, wanted.function)) == NULL)
        return false;
    const struct hotpath_section *blocks = hp_mcp_section(results, "blocked-by");
    const struct hp_row *block = first_block(blocks, &wanted);
    const char *holder = block != NULL ? hp_mcp_row_text(blocks, block, "holder") : NULL;
    const bool are_found = knows_only_functions(results, &wanted);
    if (!put_block(answer, results, &wanted) && !(are_found && put_found(answer, results, &wanted)) &&
        !put_wait(answer, results, &wanted) && !put_found(answer, results, &wanted))
        hp_mcp_put_sentence(answer, wanted.function != NULL || wanted.cause != NULL
                                        ? "No such wait was seen."
                                        : hp_mcp_why_empty(results, "waits"));
    put_tables(call, answer, results, &wanted);
    hp_mcp_put_trust(answer, results);
    if (holder != NULL && holder[0] != '<')
        hp_mcp_next(answer, "function", "name", holder, NULL);
    else if (wanted.function != NULL)
        hp_mcp_next(answer, "function", "name", wanted.function, NULL);
    else
        next_waiter(answer, results, &wanted);
    hp_mcp_next_flow(call, answer, is_for_io(results, &wanted));
    if (call->run.stacks != NULL && wanted.function != NULL)
        hp_mcp_next(answer, "stacks", "of", "waits", "function", wanted.function, NULL);
    else if (call->run.stacks != NULL)
        hp_mcp_next(answer, "stacks", "of", "waits", NULL);
    hp_mcp_next_usual(call, answer);
    return true;
}

static const struct hp_mcp_parameter parameters[] = {
    {.name = "function", .type = HP_MCP_TEXT},
    {.name = "cause", .type = HP_MCP_TEXT, .about = "as in the column of causes: lock, condition, disk, ..."},
    {.name = "limit", .type = HP_MCP_COUNT, .usual = 10, .most = 1000},
};

const struct hp_mcp_tool hp_mcp_tool_waits = {
    .name = "waits",
    .about = "Who waits, how long, for what, and which function holds the lock or signals.",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .is_of_session = true,
    .is_of_sizes = true,
    .answer = answer_waits,
};
