/* Reads the stacks of a run. SPDX-License-Identifier: MIT */
#include "run_stacks.h"

#include <errno.h>
#include <string.h>

#include "command.h"
#include "session_dirs.h"
#include "stack_file.h"
#include "text.h"

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
    return hp_function_sums_make(&ret_stacks->named, &ret_stacks->functions);
}

void hp_run_stacks_free(struct hp_run_stacks *stacks)
{
    hp_function_sums_free(&stacks->functions);
    hp_named_stacks_free(&stacks->named);
}
