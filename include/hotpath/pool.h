/*
 * Jobs of thread pools and work queues, and callbacks, as tasks: one line where a job is submitted, one where it
 * runs.
 *
 *   HOTPATH_JOB(job, "label")   expression    before the job is queued
 *   HOTPATH_RUN_JOB(job)        declaration   on the thread that runs it, to the end of the braces
 *   HOTPATH_DROP_JOB(job)       expression    the job will not run
 *
 * `job` is any address that both places know, such as that of its struct or the argument of its function. It is not
 * dereferenced, and may be freed while the job runs. The label's row shows the time from submission to the end,
 * with the running time as busy; "label, queued" shows the time before jobs ran, with percentiles. If the program's
 * own struct has room, HOTPATH_FIELD, HOTPATH_TASK and HOTPATH_TASK_RUN give the same without the second row.
 * Operations that a job starts through an adapter do not continue the job, because it is over when it returns.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOTPATH_POOL_H
#define HOTPATH_POOL_H

#ifdef __cplusplus /* C, not C++ as some like it */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#include <hotpath/adapter.h>

#if HOTPATH_ON_

HOTPATH_ADAPTER_ void hotpath_job_(struct hotpath_site *site, struct hotpath_site *queued, const void *job)
{
    struct hotpath_wait_ *wait = hotpath_wait_begin_(job, HOTPATH_JOB_, site, NULL);
    if (wait != NULL)
        hotpath_wait_queue_(wait, queued, NULL);
}

/* A job that was never submitted is not recorded. */
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
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#endif
