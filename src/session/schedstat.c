/* schedstat files of threads. SPDX-License-Identifier: MIT */
#include "schedstat.h"

#include <fcntl.h>

#include "sys.h"
#include "task_files.h"

void hp_account_keep_open(const struct hp_proc_sampler *sampler, struct hp_watched *thread)
{
    char path[HP_TASK_PATH];
    if (sampler->target.files == NULL || *sampler->target.files == 0)
        return;
    thread->file = hp_sys_open(hp_task_path(path, sampler->target.pid, thread->tid, "schedstat"), O_RDONLY, 0);
    if (thread->file >= 0)
        --*sampler->target.files;
}

void hp_account_close(const struct hp_proc_sampler *sampler, struct hp_watched *thread)
{
    if (thread->file < 0)
        return;
    hp_sys_close(thread->file);
    thread->file = -1;
    ++*sampler->target.files;
}

bool hp_account_read(const struct hp_proc_sampler *sampler, const struct hp_watched *thread,
                     struct hp_account *ret_account)
{
    char text[96];
    if (thread->file >= 0) {
        const ssize_t length = hp_sys_pread(thread->file, text, sizeof text - 1, 0);
        if (length <= 0)
            return false;
        text[length] = '\0';
    } else if (!hp_task_read(sampler->target.pid, thread->tid, "schedstat", text, sizeof text)) {
        return false;
    }
    const char *at = text;
    ret_account->ran = hp_task_number(&at);
    ret_account->ready = hp_task_number(&at);
    ret_account->slices = hp_task_number(&at);
    return true;
}
