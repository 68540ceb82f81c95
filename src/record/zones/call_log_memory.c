/* Memory for calls that are kept. SPDX-License-Identifier: MIT */
#include "call_log_memory.h"

#include "runtime.h"

struct hp_call_notes *hp_call_log_memory(struct hp_thread_context *context)
{
    if (context->kept == NULL) {
        context->kept = hp_more_memory(sizeof *context->kept);
        if (context->kept != NULL)
            context->kept->least_cost = UINT64_MAX;
    }
    return context->kept;
}
