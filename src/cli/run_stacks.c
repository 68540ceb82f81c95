/* Reads the stacks of a run. SPDX-License-Identifier: MIT */
#include "run_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "session_dirs.h"
#include "stack_file.h"
#include "text.h"

static bool is_among(const struct hp_sessions *sessions, const struct hp_stored_session *session)
{
    for (size_t at = 0; at < sessions->count; at++)
        if (strcmp(hp_session_name(&sessions->all[at]), hp_session_name(session)) == 0)
            return true;
    return false;
}

/* Of single processes of a run, only their stacks. False: no memory. */
static bool leave_others_out(struct hp_named_stacks *named, const struct hp_sessions *sessions, const char *folder)
{
    struct hp_sessions all = {0};
    const bool is_part = hp_sessions_in(&all, folder) && all.count > sessions->count;
    uint32_t *pids = is_part ? calloc(all.count, sizeof *pids) : NULL;
    size_t count = 0;
    for (size_t at = 0; pids != NULL && at < all.count; at++)
        if (is_among(sessions, &all.all[at]))
            pids[count++] = all.all[at].pid;
    const bool is_done = !is_part || (pids != NULL && hp_named_stacks_keep(named, pids, count));
    free(pids);
    hp_sessions_free(&all);
    return is_done;
}

bool hp_run_stacks_read(const struct hp_sessions *sessions, struct hp_run_stacks *ret_stacks)
{
    char folder[sizeof sessions->all[0].path];
    if (sessions->count == 0)
        return false;
    memcpy(folder, sessions->all[0].path, sizeof folder);
    char *slash = strrchr(folder, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    if (!hp_text_has_suffix(folder, HP_RUN_SUFFIX))
        return false;
    if (!hp_stack_file_read(folder, &ret_stacks->named)) {
        if (errno != ENOENT)
            hp_fail("cannot read the stacks in '%s': %s", folder,
                    errno == EPROTO ? "they are of another version of hotpath" : strerror(errno));
        return false;
    }
    return leave_others_out(&ret_stacks->named, sessions, folder) &&
           hp_function_sums_make(&ret_stacks->named, &ret_stacks->functions);
}

void hp_run_stacks_free(struct hp_run_stacks *stacks)
{
    hp_function_sums_free(&stacks->functions);
    hp_named_stacks_free(&stacks->named);
}
