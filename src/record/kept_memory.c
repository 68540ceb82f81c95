/* Memory for calls that are kept. SPDX-License-Identifier: MIT */
#include "kept_memory.h"

#include "runtime.h"

struct hp_kept *hp_kept_memory(struct hp_head *head)
{
    if (head->kept == NULL) {
        head->kept = hp_more_memory(sizeof *head->kept);
        if (head->kept != NULL)
            head->kept->least_cost = UINT64_MAX;
    }
    return head->kept;
}
