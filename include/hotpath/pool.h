/*
 * Jobs of thread pools, and of queues that threads take work from, as tasks: one line where a job is handed over, one where it is run.
 *
 *   HOTPATH_JOB(job, "label")   expression    before it is queued
 *   HOTPATH_RUN_JOB(job)        declaration   on the thread that runs it, to the end of the braces
 *   HOTPATH_DROP_JOB(job)       expression    it will not be run
 *
 * `job` is any address by which both know it, such as that of its struct or the argument of its function; it is not read, and may be
 * freed while the job runs. The row of the label is the time of jobs from when they were handed over to their end, with the time they ran as
 * busy; "label, queued" is the time before they ran, with its percentiles. Where the program's own struct has room, HOTPATH_FIELD,
 * HOTPATH_TASK and HOTPATH_RUN say the same but for the second row. What a job begins with an adapter does not go on with it, as the job is
 * over when it returns.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOTPATH_POOL_H
#define HOTPATH_POOL_H

#include <hotpath/adapter.h>

#if HOTPATH_ON_

HOTPATH_ADAPTER_ void hotpath_job_(struct hotpath_site *site, struct hotpath_site *queued, const void *job)
{
    struct hotpath_wait_ *wait = hotpath_wait_begin_(job, HOTPATH_JOB_, site, NULL);
    if (wait != NULL)
        hotpath_wait_queue_(wait, queued, NULL);
}

/* Of one that nobody has handed over, nothing is recorded. */
HOTPATH_ADAPTER_ struct hotpath_turn_ *hotpath_job_begin_(struct hotpath_turn_ *turn, const void *job)
{
    struct hotpath_wait_ wait, *entry = hotpath_wait_find_(job, HOTPATH_JOB_);
    wait.own.id_ = wait.queued.id_ = 0;
    if (entry != NULL) {
        hotpath_wait_unqueue_(entry, &wait);
        hotpath_wait_free_(entry);
    }
    return hotpath_work_begin_(turn, &wait, HOTPATH_LAST_POLL_);
}

#define HOTPATH_JOB(job, label)                                                                                    \
    hotpath_job_(HOTPATH_TASK_SITE_("" label ""), HOTPATH_TASK_SITE_("" label ", queued"), job)
#define HOTPATH_RUN_JOB(job) HOTPATH_RUN_JOB_(HOTPATH_NAME_(__COUNTER__), job)
#define HOTPATH_RUN_JOB_(turn, job) HOTPATH_RUN_JOB_NAMED_(turn, job)
#define HOTPATH_RUN_JOB_NAMED_(turn, job) HOTPATH_AS_TURN_(turn) = hotpath_job_begin_(&turn, job)
#define HOTPATH_DROP_JOB(job) hotpath_wait_drop_(hotpath_wait_find_(job, HOTPATH_JOB_))

#else

#define HOTPATH_JOB(job, label) HOTPATH_UNUSED_(label, job)
#define HOTPATH_RUN_JOB(job) HOTPATH_NOTHING_(sizeof(job) + 1 > 0)
#define HOTPATH_DROP_JOB(job) HOTPATH_UNUSED_("", job)

#endif /* HOTPATH_ON_ */
#endif
