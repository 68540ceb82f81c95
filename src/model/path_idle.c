/* Time without work from outside, from probed waits. SPDX-License-Identifier: MIT */
#include "path_idle.h"

#define MOST_DEPTH 512u /* of calls; a broken file may have a circle */

/* As in verdicts (hp_wait_idleness): a wait at one socket is none, since it may be for an answer. */
bool hp_path_is_for_outside(uint32_t cause)
{
    return cause == HP_WAIT_POLL || cause == HP_WAIT_CLIENT || cause == HP_WAIT_SIGNAL || cause == HP_WAIT_TERMINAL;
}

bool hp_path_has_children(const struct hp_run *run, const struct hp_snapshot *session)
{
    for (size_t at = 0; at < run->count; at++)
        if (run->sessions[at]->header.parent_pid == session->header.pid)
            return true;
    return false;
}

uint32_t hp_path_cause(uint32_t cause, bool has_children)
{
    return cause == HP_WAIT_SIGNAL && has_children ? (uint32_t)HP_WAIT_CHILD : cause;
}

/* Whether the node is in the call tree of the thread; then also its site. */
static bool is_of(const struct hp_snapshot *session, const struct hp_thread *thread, uint32_t offset,
                  uint32_t *ret_site)
{
    struct hp_node node;
    if (offset == 0 || !hp_snapshot_node(session, offset, &node))
        return false;
    *ret_site = node.site;
    for (uint32_t depth = 0; offset != thread->root && depth < MOST_DEPTH; depth++) {
        offset = node.parent;
        if (offset == 0 || !hp_snapshot_node(session, offset, &node))
            return false;
    }
    return offset == thread->root;
}

bool hp_path_next_idle(const struct hp_path_waiter *waiter, struct hp_walk *walk,
                       struct hp_path_idle_wait *ret_wait)
{
    struct hp_wait wait;
    while (hp_snapshot_next_wait(waiter->session, walk, &wait)) {
        if (!hp_path_is_for_outside(hp_path_cause(wait.cause, waiter->has_children)) ||
            !is_of(waiter->session, waiter->thread, wait.node, &ret_wait->site))
            continue;
        ret_wait->cause = wait.cause;
        ret_wait->ns = wait.ns;
        ret_wait->beside_ns = wait.beside_ns < wait.ns ? wait.beside_ns : wait.ns;
        return true;
    }
    return false;
}

static bool is_work(uint32_t cause)
{
    return cause == HP_WAIT_DISK || cause == HP_WAIT_SOCKET || cause == HP_WAIT_FAULT;
}

double hp_path_most_beside_ns(const struct hp_run *run, double busy_ns)
{
    double cpu_ns = 0, waited_ns = 0;
    for (size_t at = 0; at < run->count; at++) {
        struct hp_walk walk = {0};
        struct hp_wait wait;
        cpu_ns += (double)hp_snapshot_cpu_ns(run->sessions[at]);
        while (hp_snapshot_next_wait(run->sessions[at], &walk, &wait))
            waited_ns += is_work(wait.cause) ? (double)wait.ns : 0;
    }
    const double most = cpu_ns + waited_ns - busy_ns;
    return cpu_ns <= 0 ? 1e300 : most > 0 ? most : 0;
}
