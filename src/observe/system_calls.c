/*
 * System calls that can block.
 *
 * No machine has all of them, and the numbers differ: what the headers do not know is left out.
 * SPDX-License-Identifier: MIT
 */
#include "system_calls.h"

#include <stddef.h>
#include <sys/syscall.h>

#include "layout.h"

#define PLAIN(call, cause)                                                                                         \
    {                                                                                                              \
#call, (int32_t)SYS_##call, HP_WAIT_##cause, false, false, false, false                                    \
    }
#define ABOUT(call, cause)                                                                                         \
    {                                                                                                              \
#call, (int32_t)SYS_##call, HP_WAIT_##cause, true, false, false, false                                     \
    }
#define BY_FILE(call, cause)                                                                                       \
    {                                                                                                              \
#call, (int32_t)SYS_##call, HP_WAIT_##cause, true, true, false, false                                      \
    }
#define BY_WORDS(call, cause)                                                                                      \
    {                                                                                                              \
#call, (int32_t)SYS_##call, HP_WAIT_##cause, false, false, true, false                                     \
    }
#define BY_LIST(call, cause)                                                                                       \
    {                                                                                                              \
#call, (int32_t)SYS_##call, HP_WAIT_##cause, false, false, false, true                                     \
    }

/* clang-format off */
static const struct hp_system_call calls[] = {
#ifdef SYS_futex
    BY_WORDS(futex, FUTEX),
#endif
#ifdef SYS_futex_time64
    BY_WORDS(futex_time64, FUTEX),
#endif
#ifdef SYS_futex_wait
    PLAIN(futex_wait, FUTEX),
#endif
#ifdef SYS_futex_waitv
    PLAIN(futex_waitv, FUTEX),
#endif
#ifdef SYS_semop
    PLAIN(semop, SEMAPHORE),
#endif
#ifdef SYS_semtimedop
    PLAIN(semtimedop, SEMAPHORE),
#endif
#ifdef SYS_semtimedop_time64
    PLAIN(semtimedop_time64, SEMAPHORE),
#endif
#ifdef SYS_flock
    ABOUT(flock, LOCK),
#endif
#ifdef SYS_fcntl
    ABOUT(fcntl, LOCK),
#endif
#ifdef SYS_fcntl64
    ABOUT(fcntl64, LOCK),
#endif
#ifdef SYS_nanosleep
    PLAIN(nanosleep, SLEEP),
#endif
#ifdef SYS_clock_nanosleep
    PLAIN(clock_nanosleep, SLEEP),
#endif
#ifdef SYS_clock_nanosleep_time64
    PLAIN(clock_nanosleep_time64, SLEEP),
#endif
#ifdef SYS_poll
    BY_LIST(poll, POLL),
#endif
#ifdef SYS_ppoll
    BY_LIST(ppoll, POLL),
#endif
#ifdef SYS_ppoll_time64
    BY_LIST(ppoll_time64, POLL),
#endif
#ifdef SYS_select
    PLAIN(select, POLL),
#endif
#ifdef SYS__newselect
    PLAIN(_newselect, POLL),
#endif
#ifdef SYS_pselect6
    PLAIN(pselect6, POLL),
#endif
#ifdef SYS_pselect6_time64
    PLAIN(pselect6_time64, POLL),
#endif
#ifdef SYS_epoll_wait
    PLAIN(epoll_wait, POLL),
#endif
#ifdef SYS_epoll_pwait
    PLAIN(epoll_pwait, POLL),
#endif
#ifdef SYS_epoll_pwait2
    PLAIN(epoll_pwait2, POLL),
#endif
#ifdef SYS_io_uring_enter
    PLAIN(io_uring_enter, POLL),
#endif
#ifdef SYS_wait4
    PLAIN(wait4, CHILD),
#endif
#ifdef SYS_waitid
    PLAIN(waitid, CHILD),
#endif
#ifdef SYS_waitpid
    PLAIN(waitpid, CHILD),
#endif
#ifdef SYS_vfork
    PLAIN(vfork, CHILD),
#endif
#ifdef SYS_clone
    PLAIN(clone, CHILD),
#endif
#ifdef SYS_clone3
    PLAIN(clone3, CHILD),
#endif
#ifdef SYS_rt_sigtimedwait
    PLAIN(rt_sigtimedwait, SIGNAL),
#endif
#ifdef SYS_rt_sigtimedwait_time64
    PLAIN(rt_sigtimedwait_time64, SIGNAL),
#endif
#ifdef SYS_rt_sigsuspend
    PLAIN(rt_sigsuspend, SIGNAL),
#endif
#ifdef SYS_pause
    PLAIN(pause, SIGNAL),
#endif
#ifdef SYS_sigsuspend
    PLAIN(sigsuspend, SIGNAL),
#endif
#ifdef SYS_fsync
    ABOUT(fsync, DISK),
#endif
#ifdef SYS_fdatasync
    ABOUT(fdatasync, DISK),
#endif
#ifdef SYS_sync_file_range
    ABOUT(sync_file_range, DISK),
#endif
#ifdef SYS_syncfs
    ABOUT(syncfs, DISK),
#endif
#ifdef SYS_fallocate
    ABOUT(fallocate, DISK),
#endif
#ifdef SYS_ftruncate
    ABOUT(ftruncate, DISK),
#endif
#ifdef SYS_ftruncate64
    ABOUT(ftruncate64, DISK),
#endif
#ifdef SYS_getdents
    ABOUT(getdents, DISK),
#endif
#ifdef SYS_getdents64
    ABOUT(getdents64, DISK),
#endif
#ifdef SYS_readahead
    ABOUT(readahead, DISK),
#endif
#ifdef SYS_fadvise64
    ABOUT(fadvise64, DISK),
#endif
#ifdef SYS_fstatfs
    ABOUT(fstatfs, DISK),
#endif
#ifdef SYS_fchmod
    ABOUT(fchmod, DISK),
#endif
#ifdef SYS_fchown
    ABOUT(fchown, DISK),
#endif
#ifdef SYS_sync
    PLAIN(sync, DISK),
#endif
#ifdef SYS_io_getevents
    PLAIN(io_getevents, DISK),
#endif
#ifdef SYS_io_pgetevents
    PLAIN(io_pgetevents, DISK),
#endif
#ifdef SYS_io_submit
    PLAIN(io_submit, DISK),
#endif
#ifdef SYS_msync
    PLAIN(msync, DISK),
#endif
#ifdef SYS_open
    PLAIN(open, DISK),
#endif
#ifdef SYS_openat
    PLAIN(openat, DISK),
#endif
#ifdef SYS_openat2
    PLAIN(openat2, DISK),
#endif
#ifdef SYS_creat
    PLAIN(creat, DISK),
#endif
#ifdef SYS_stat
    PLAIN(stat, DISK),
#endif
#ifdef SYS_lstat
    PLAIN(lstat, DISK),
#endif
#ifdef SYS_stat64
    PLAIN(stat64, DISK),
#endif
#ifdef SYS_lstat64
    PLAIN(lstat64, DISK),
#endif
#ifdef SYS_newfstatat
    PLAIN(newfstatat, DISK),
#endif
#ifdef SYS_fstatat64
    PLAIN(fstatat64, DISK),
#endif
#ifdef SYS_statx
    PLAIN(statx, DISK),
#endif
#ifdef SYS_access
    PLAIN(access, DISK),
#endif
#ifdef SYS_faccessat
    PLAIN(faccessat, DISK),
#endif
#ifdef SYS_faccessat2
    PLAIN(faccessat2, DISK),
#endif
#ifdef SYS_readlink
    PLAIN(readlink, DISK),
#endif
#ifdef SYS_readlinkat
    PLAIN(readlinkat, DISK),
#endif
#ifdef SYS_unlink
    PLAIN(unlink, DISK),
#endif
#ifdef SYS_unlinkat
    PLAIN(unlinkat, DISK),
#endif
#ifdef SYS_rename
    PLAIN(rename, DISK),
#endif
#ifdef SYS_renameat
    PLAIN(renameat, DISK),
#endif
#ifdef SYS_renameat2
    PLAIN(renameat2, DISK),
#endif
#ifdef SYS_mkdir
    PLAIN(mkdir, DISK),
#endif
#ifdef SYS_mkdirat
    PLAIN(mkdirat, DISK),
#endif
#ifdef SYS_rmdir
    PLAIN(rmdir, DISK),
#endif
#ifdef SYS_link
    PLAIN(link, DISK),
#endif
#ifdef SYS_linkat
    PLAIN(linkat, DISK),
#endif
#ifdef SYS_symlink
    PLAIN(symlink, DISK),
#endif
#ifdef SYS_symlinkat
    PLAIN(symlinkat, DISK),
#endif
#ifdef SYS_truncate
    PLAIN(truncate, DISK),
#endif
#ifdef SYS_truncate64
    PLAIN(truncate64, DISK),
#endif
#ifdef SYS_chmod
    PLAIN(chmod, DISK),
#endif
#ifdef SYS_fchmodat
    PLAIN(fchmodat, DISK),
#endif
#ifdef SYS_chown
    PLAIN(chown, DISK),
#endif
#ifdef SYS_fchownat
    PLAIN(fchownat, DISK),
#endif
#ifdef SYS_utimensat
    PLAIN(utimensat, DISK),
#endif
#ifdef SYS_statfs
    PLAIN(statfs, DISK),
#endif
#ifdef SYS_mount
    PLAIN(mount, DISK),
#endif
#ifdef SYS_umount2
    PLAIN(umount2, DISK),
#endif
#ifdef SYS_execve
    PLAIN(execve, DISK),
#endif
#ifdef SYS_execveat
    PLAIN(execveat, DISK),
#endif
#ifdef SYS_mmap
    PLAIN(mmap, OTHER),
#endif
#ifdef SYS_mmap2
    PLAIN(mmap2, OTHER),
#endif
#ifdef SYS_munmap
    PLAIN(munmap, OTHER),
#endif
#ifdef SYS_madvise
    PLAIN(madvise, OTHER),
#endif
#ifdef SYS_read
    BY_FILE(read, OTHER),
#endif
#ifdef SYS_write
    BY_FILE(write, OTHER),
#endif
#ifdef SYS_readv
    BY_FILE(readv, OTHER),
#endif
#ifdef SYS_writev
    BY_FILE(writev, OTHER),
#endif
#ifdef SYS_pread64
    BY_FILE(pread64, OTHER),
#endif
#ifdef SYS_pwrite64
    BY_FILE(pwrite64, OTHER),
#endif
#ifdef SYS_preadv
    BY_FILE(preadv, OTHER),
#endif
#ifdef SYS_pwritev
    BY_FILE(pwritev, OTHER),
#endif
#ifdef SYS_preadv2
    BY_FILE(preadv2, OTHER),
#endif
#ifdef SYS_pwritev2
    BY_FILE(pwritev2, OTHER),
#endif
#ifdef SYS_sendfile
    BY_FILE(sendfile, OTHER),
#endif
#ifdef SYS_sendfile64
    BY_FILE(sendfile64, OTHER),
#endif
#ifdef SYS_copy_file_range
    BY_FILE(copy_file_range, OTHER),
#endif
#ifdef SYS_splice
    BY_FILE(splice, OTHER),
#endif
#ifdef SYS_tee
    BY_FILE(tee, OTHER),
#endif
#ifdef SYS_vmsplice
    BY_FILE(vmsplice, OTHER),
#endif
#ifdef SYS_ioctl
    BY_FILE(ioctl, OTHER),
#endif
#ifdef SYS_close
    BY_FILE(close, OTHER),
#endif
#ifdef SYS_lseek
    BY_FILE(lseek, OTHER),
#endif
#ifdef SYS__llseek
    BY_FILE(_llseek, OTHER),
#endif
#ifdef SYS_fstat
    BY_FILE(fstat, OTHER),
#endif
#ifdef SYS_fstat64
    BY_FILE(fstat64, OTHER),
#endif
#ifdef SYS_recvfrom
    BY_FILE(recvfrom, SOCKET),
#endif
#ifdef SYS_recvmsg
    BY_FILE(recvmsg, SOCKET),
#endif
#ifdef SYS_recvmmsg
    BY_FILE(recvmmsg, SOCKET),
#endif
#ifdef SYS_recvmmsg_time64
    BY_FILE(recvmmsg_time64, SOCKET),
#endif
#ifdef SYS_recv
    BY_FILE(recv, SOCKET),
#endif
#ifdef SYS_sendto
    BY_FILE(sendto, SOCKET),
#endif
#ifdef SYS_sendmsg
    BY_FILE(sendmsg, SOCKET),
#endif
#ifdef SYS_sendmmsg
    BY_FILE(sendmmsg, SOCKET),
#endif
#ifdef SYS_send
    BY_FILE(send, SOCKET),
#endif
#ifdef SYS_accept
    ABOUT(accept, CLIENT),
#endif
#ifdef SYS_accept4
    ABOUT(accept4, CLIENT),
#endif
#ifdef SYS_connect
    BY_FILE(connect, SOCKET),
#endif
#ifdef SYS_shutdown
    BY_FILE(shutdown, SOCKET),
#endif
#ifdef SYS_mq_timedreceive
    PLAIN(mq_timedreceive, OTHER),
#endif
#ifdef SYS_mq_timedreceive_time64
    PLAIN(mq_timedreceive_time64, OTHER),
#endif
#ifdef SYS_mq_timedsend
    PLAIN(mq_timedsend, OTHER),
#endif
#ifdef SYS_msgrcv
    PLAIN(msgrcv, OTHER),
#endif
#ifdef SYS_msgsnd
    PLAIN(msgsnd, OTHER),
#endif
#ifdef SYS_restart_syscall
    PLAIN(restart_syscall, OTHER),
#endif
#ifdef SYS_membarrier
    PLAIN(membarrier, OTHER),
#endif
#ifdef SYS_getrandom
    PLAIN(getrandom, OTHER),
#endif
#ifdef SYS_process_vm_readv
    PLAIN(process_vm_readv, OTHER),
#endif
#ifdef SYS_exit
    PLAIN(exit, OTHER),
#endif
#ifdef SYS_exit_group
    PLAIN(exit_group, OTHER),
#endif
};
/* clang-format on */

const struct hp_system_call *hp_system_call(int32_t number)
{
    for (size_t at = 0; at < sizeof calls / sizeof calls[0]; at++)
        if (calls[at].number == number)
            return &calls[at];
    return NULL;
}

const char *hp_system_call_name(int32_t number)
{
    const struct hp_system_call *call = hp_system_call(number);
    return call != NULL ? call->name : NULL;
}
