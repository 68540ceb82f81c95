/*
 * Only files and devices: what waits for a pipe or a peer is told by other sentences. SPDX-License-Identifier: MIT
 */
#include "io_sentence.h"

#include <string.h>

#include "function_profile.h"
#include "hot_function.h"
#include "io_profile.h"
#include "name_marks.h"
#include "run_state.h"

static bool is_small(const struct hp_io_user *user)
{
    const struct hp_io_sums *sums = &user->sums;
    const bool is_at_once =
        user->row->kind == HP_IO_FILE || user->row->kind == HP_IO_DEVICE || user->row->kind == HP_IO_LABEL;
    return is_at_once && (user->row->op == HP_IO_READ || user->row->op == HP_IO_WRITE) &&
           user->place.name != NULL && sums->ops >= HP_IO_MANY_CALLS && sums->bytes > 0 &&
           hp_io_median_size(sums) <= HP_IO_FEW_BYTES;
}

/* They are sorted by time. */
static const struct hp_io_user *find_small(const struct hp_io_profile *io)
{
    for (size_t at = 0; at < io->user_count; at++)
        if (is_small(io->users[at]))
            return io->users[at];
    return NULL;
}

/* As samples see the calls. */
static bool is_call(const char *name, bool is_write)
{
    static const char *const reads[] = {"read",        "__read",  "__libc_read",
                                        "__GI___read", "pread64", "__libc_pread64"};
    static const char *const writes[] = {"write",        "__write",  "__libc_write",
                                         "__GI___write", "pwrite64", "__libc_pwrite64"};
    const char *const *const names = is_write ? writes : reads;
    for (size_t at = 0; at < sizeof reads / sizeof reads[0]; at++)
        if (strcmp(names[at], name) == 0)
            return true;
    return false;
}

/* The call with the most CPU time of these, as samples found it; NULL: none, or there are no samples. */
static const struct hp_found_function *find_call(const struct hp_function_profile *functions, bool is_write)
{
    const struct hp_found_function *found = NULL;
    for (size_t at = 0; functions != NULL && at < functions->count; at++)
        if (is_call(functions->all[at].name, is_write) &&
            (found == NULL || functions->all[at].total_ns > found->total_ns))
            found = &functions->all[at];
    return found;
}

/*
 * The part of the CPU time in these calls: by samples, since a call may have waited for the disk or a CPU; without
 * samples by its own time, if that can have been CPU time.
 */
static double part_of(const struct hp_io_user *user, const struct hp_function_profile *functions,
                      const struct hp_found_function *call, uint64_t used_ns)
{
    if (functions == NULL)
        return user->sums.ns <= (double)used_ns ? user->sums.ns / (double)used_ns : 0;
    return call != NULL && functions->cpu_ns > 0 ? (double)call->total_ns / (double)functions->cpu_ns : 0;
}

/* Its part of all such calls, by their time: samples of a call do not tell whose it was. */
static double part_of_calls(const struct hp_io_profile *io, const struct hp_io_user *user)
{
    double all_ns = 0;
    for (size_t at = 0; at < io->user_count; at++)
        all_ns += io->users[at]->row->op == user->row->op ? io->users[at]->sums.ns : 0;
    return all_ns > 0 ? user->sums.ns / all_ns : 0;
}

bool hp_io_sentence_put(struct hp_text *line, const struct hotpath_results *results)
{
    const struct hp_io_profile *io = results->model->io;
    const struct hp_io_user *user = io != NULL ? find_small(io) : NULL;
    struct hp_run_state state;
    if (user == NULL || !hp_run_state_make(&state, results->model) || state.used_ns == 0)
        return false;
    const bool is_write = user->row->op == HP_IO_WRITE;
    const struct hp_function_profile *functions = results->model->functions;
    const struct hp_found_function *call = find_call(functions, is_write);
    const double part =
        part_of(user, functions, call, state.used_ns) * (functions != NULL ? part_of_calls(io, user) : 1);
    if (part < HP_IO_SAID_PART)
        return false;
    const unsigned size = (unsigned)hp_io_median_size(&user->sums);
    const char *slash = strrchr(user->row->name, '/'), *name = slash != NULL ? slash + 1 : user->row->name;
    hp_hot_put_name(line, user->place.name);
    hp_text_format(line, " %s %u %s at a time %s ", is_write ? "writes" : "reads", size,
                   size == 1 ? "byte" : "bytes", is_write ? "to" : "from");
    hp_text_put_marked(line, name, strlen(name));
    hp_text_format(line, ": %.0f %% of the CPU time is in ", 100 * part);
    hp_text_string(line, call != NULL ? call->name : is_write ? "write" : "read");
    return true;
}
