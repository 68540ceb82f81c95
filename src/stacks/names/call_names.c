/*
 * Names of system calls. No machine has all of them: those that the headers do not define are left out.
 * SPDX-License-Identifier: MIT
 */
#include "call_names.h"

#include <sys/syscall.h>

#define CALL(name)                                                                                                 \
    case SYS_##name:                                                                                               \
        return #name;

const char *hp_call_name(long number)
{
    switch (number) {
#ifdef SYS_read
        CALL(read)
#endif
#ifdef SYS_write
        CALL(write)
#endif
#ifdef SYS_open
        CALL(open)
#endif
#ifdef SYS_close
        CALL(close)
#endif
#ifdef SYS_stat
        CALL(stat)
#endif
#ifdef SYS_fstat
        CALL(fstat)
#endif
#ifdef SYS_lstat
        CALL(lstat)
#endif
#ifdef SYS_poll
        CALL(poll)
#endif
#ifdef SYS_lseek
        CALL(lseek)
#endif
#ifdef SYS_mmap
        CALL(mmap)
#endif
#ifdef SYS_mprotect
        CALL(mprotect)
#endif
#ifdef SYS_munmap
        CALL(munmap)
#endif
#ifdef SYS_brk
        CALL(brk)
#endif
#ifdef SYS_rt_sigaction
        CALL(rt_sigaction)
#endif
#ifdef SYS_rt_sigprocmask
        CALL(rt_sigprocmask)
#endif
#ifdef SYS_rt_sigreturn
        CALL(rt_sigreturn)
#endif
#ifdef SYS_ioctl
        CALL(ioctl)
#endif
#ifdef SYS_pread64
        CALL(pread64)
#endif
#ifdef SYS_pwrite64
        CALL(pwrite64)
#endif
#ifdef SYS_readv
        CALL(readv)
#endif
#ifdef SYS_writev
        CALL(writev)
#endif
#ifdef SYS_access
        CALL(access)
#endif
#ifdef SYS_pipe
        CALL(pipe)
#endif
#ifdef SYS_select
        CALL(select)
#endif
#ifdef SYS_sched_yield
        CALL(sched_yield)
#endif
#ifdef SYS_mremap
        CALL(mremap)
#endif
#ifdef SYS_msync
        CALL(msync)
#endif
#ifdef SYS_mincore
        CALL(mincore)
#endif
#ifdef SYS_madvise
        CALL(madvise)
#endif
#ifdef SYS_dup
        CALL(dup)
#endif
#ifdef SYS_dup2
        CALL(dup2)
#endif
#ifdef SYS_dup3
        CALL(dup3)
#endif
#ifdef SYS_pause
        CALL(pause)
#endif
#ifdef SYS_nanosleep
        CALL(nanosleep)
#endif
#ifdef SYS_setitimer
        CALL(setitimer)
#endif
#ifdef SYS_getpid
        CALL(getpid)
#endif
#ifdef SYS_sendfile
        CALL(sendfile)
#endif
#ifdef SYS_socket
        CALL(socket)
#endif
#ifdef SYS_connect
        CALL(connect)
#endif
#ifdef SYS_accept
        CALL(accept)
#endif
#ifdef SYS_accept4
        CALL(accept4)
#endif
#ifdef SYS_sendto
        CALL(sendto)
#endif
#ifdef SYS_recvfrom
        CALL(recvfrom)
#endif
#ifdef SYS_sendmsg
        CALL(sendmsg)
#endif
#ifdef SYS_recvmsg
        CALL(recvmsg)
#endif
#ifdef SYS_sendmmsg
        CALL(sendmmsg)
#endif
#ifdef SYS_recvmmsg
        CALL(recvmmsg)
#endif
#ifdef SYS_shutdown
        CALL(shutdown)
#endif
#ifdef SYS_bind
        CALL(bind)
#endif
#ifdef SYS_listen
        CALL(listen)
#endif
#ifdef SYS_getsockname
        CALL(getsockname)
#endif
#ifdef SYS_getpeername
        CALL(getpeername)
#endif
#ifdef SYS_socketpair
        CALL(socketpair)
#endif
#ifdef SYS_setsockopt
        CALL(setsockopt)
#endif
#ifdef SYS_getsockopt
        CALL(getsockopt)
#endif
#ifdef SYS_clone
        CALL(clone)
#endif
#ifdef SYS_clone3
        CALL(clone3)
#endif
#ifdef SYS_fork
        CALL(fork)
#endif
#ifdef SYS_vfork
        CALL(vfork)
#endif
#ifdef SYS_execve
        CALL(execve)
#endif
#ifdef SYS_execveat
        CALL(execveat)
#endif
#ifdef SYS_exit
        CALL(exit)
#endif
#ifdef SYS_exit_group
        CALL(exit_group)
#endif
#ifdef SYS_wait4
        CALL(wait4)
#endif
#ifdef SYS_waitid
        CALL(waitid)
#endif
#ifdef SYS_kill
        CALL(kill)
#endif
#ifdef SYS_semop
        CALL(semop)
#endif
#ifdef SYS_semtimedop
        CALL(semtimedop)
#endif
#ifdef SYS_msgsnd
        CALL(msgsnd)
#endif
#ifdef SYS_msgrcv
        CALL(msgrcv)
#endif
#ifdef SYS_shmat
        CALL(shmat)
#endif
#ifdef SYS_shmdt
        CALL(shmdt)
#endif
#ifdef SYS_fcntl
        CALL(fcntl)
#endif
#ifdef SYS_flock
        CALL(flock)
#endif
#ifdef SYS_fsync
        CALL(fsync)
#endif
#ifdef SYS_fdatasync
        CALL(fdatasync)
#endif
#ifdef SYS_truncate
        CALL(truncate)
#endif
#ifdef SYS_ftruncate
        CALL(ftruncate)
#endif
#ifdef SYS_fallocate
        CALL(fallocate)
#endif
#ifdef SYS_getdents
        CALL(getdents)
#endif
#ifdef SYS_getdents64
        CALL(getdents64)
#endif
#ifdef SYS_getcwd
        CALL(getcwd)
#endif
#ifdef SYS_chdir
        CALL(chdir)
#endif
#ifdef SYS_fchdir
        CALL(fchdir)
#endif
#ifdef SYS_rename
        CALL(rename)
#endif
#ifdef SYS_renameat
        CALL(renameat)
#endif
#ifdef SYS_renameat2
        CALL(renameat2)
#endif
#ifdef SYS_mkdir
        CALL(mkdir)
#endif
#ifdef SYS_mkdirat
        CALL(mkdirat)
#endif
#ifdef SYS_rmdir
        CALL(rmdir)
#endif
#ifdef SYS_link
        CALL(link)
#endif
#ifdef SYS_linkat
        CALL(linkat)
#endif
#ifdef SYS_unlink
        CALL(unlink)
#endif
#ifdef SYS_unlinkat
        CALL(unlinkat)
#endif
#ifdef SYS_symlink
        CALL(symlink)
#endif
#ifdef SYS_symlinkat
        CALL(symlinkat)
#endif
#ifdef SYS_readlink
        CALL(readlink)
#endif
#ifdef SYS_readlinkat
        CALL(readlinkat)
#endif
#ifdef SYS_chmod
        CALL(chmod)
#endif
#ifdef SYS_fchmod
        CALL(fchmod)
#endif
#ifdef SYS_fchmodat
        CALL(fchmodat)
#endif
#ifdef SYS_fchown
        CALL(fchown)
#endif
#ifdef SYS_fchownat
        CALL(fchownat)
#endif
#ifdef SYS_gettimeofday
        CALL(gettimeofday)
#endif
#ifdef SYS_prlimit64
        CALL(prlimit64)
#endif
#ifdef SYS_getrusage
        CALL(getrusage)
#endif
#ifdef SYS_ptrace
        CALL(ptrace)
#endif
#ifdef SYS_getuid
        CALL(getuid)
#endif
#ifdef SYS_getgid
        CALL(getgid)
#endif
#ifdef SYS_geteuid
        CALL(geteuid)
#endif
#ifdef SYS_getegid
        CALL(getegid)
#endif
#ifdef SYS_getppid
        CALL(getppid)
#endif
#ifdef SYS_setsid
        CALL(setsid)
#endif
#ifdef SYS_sigaltstack
        CALL(sigaltstack)
#endif
#ifdef SYS_statfs
        CALL(statfs)
#endif
#ifdef SYS_fstatfs
        CALL(fstatfs)
#endif
#ifdef SYS_prctl
        CALL(prctl)
#endif
#ifdef SYS_arch_prctl
        CALL(arch_prctl)
#endif
#ifdef SYS_sync
        CALL(sync)
#endif
#ifdef SYS_gettid
        CALL(gettid)
#endif
#ifdef SYS_tkill
        CALL(tkill)
#endif
#ifdef SYS_tgkill
        CALL(tgkill)
#endif
#ifdef SYS_futex
        CALL(futex)
#endif
#ifdef SYS_futex_waitv
        CALL(futex_waitv)
#endif
#ifdef SYS_sched_setaffinity
        CALL(sched_setaffinity)
#endif
#ifdef SYS_sched_getaffinity
        CALL(sched_getaffinity)
#endif
#ifdef SYS_set_tid_address
        CALL(set_tid_address)
#endif
#ifdef SYS_set_robust_list
        CALL(set_robust_list)
#endif
#ifdef SYS_epoll_create
        CALL(epoll_create)
#endif
#ifdef SYS_epoll_create1
        CALL(epoll_create1)
#endif
#ifdef SYS_epoll_ctl
        CALL(epoll_ctl)
#endif
#ifdef SYS_epoll_wait
        CALL(epoll_wait)
#endif
#ifdef SYS_epoll_pwait
        CALL(epoll_pwait)
#endif
#ifdef SYS_epoll_pwait2
        CALL(epoll_pwait2)
#endif
#ifdef SYS_timer_create
        CALL(timer_create)
#endif
#ifdef SYS_timer_settime
        CALL(timer_settime)
#endif
#ifdef SYS_timerfd_create
        CALL(timerfd_create)
#endif
#ifdef SYS_timerfd_settime
        CALL(timerfd_settime)
#endif
#ifdef SYS_clock_gettime
        CALL(clock_gettime)
#endif
#ifdef SYS_clock_getres
        CALL(clock_getres)
#endif
#ifdef SYS_clock_nanosleep
        CALL(clock_nanosleep)
#endif
#ifdef SYS_eventfd
        CALL(eventfd)
#endif
#ifdef SYS_eventfd2
        CALL(eventfd2)
#endif
#ifdef SYS_inotify_add_watch
        CALL(inotify_add_watch)
#endif
#ifdef SYS_openat
        CALL(openat)
#endif
#ifdef SYS_openat2
        CALL(openat2)
#endif
#ifdef SYS_newfstatat
        CALL(newfstatat)
#endif
#ifdef SYS_statx
        CALL(statx)
#endif
#ifdef SYS_faccessat
        CALL(faccessat)
#endif
#ifdef SYS_faccessat2
        CALL(faccessat2)
#endif
#ifdef SYS_pselect6
        CALL(pselect6)
#endif
#ifdef SYS_ppoll
        CALL(ppoll)
#endif
#ifdef SYS_splice
        CALL(splice)
#endif
#ifdef SYS_utimensat
        CALL(utimensat)
#endif
#ifdef SYS_pipe2
        CALL(pipe2)
#endif
#ifdef SYS_preadv
        CALL(preadv)
#endif
#ifdef SYS_pwritev
        CALL(pwritev)
#endif
#ifdef SYS_preadv2
        CALL(preadv2)
#endif
#ifdef SYS_pwritev2
        CALL(pwritev2)
#endif
#ifdef SYS_perf_event_open
        CALL(perf_event_open)
#endif
#ifdef SYS_getrandom
        CALL(getrandom)
#endif
#ifdef SYS_memfd_create
        CALL(memfd_create)
#endif
#ifdef SYS_bpf
        CALL(bpf)
#endif
#ifdef SYS_membarrier
        CALL(membarrier)
#endif
#ifdef SYS_copy_file_range
        CALL(copy_file_range)
#endif
#ifdef SYS_mlock
        CALL(mlock)
#endif
#ifdef SYS_mlock2
        CALL(mlock2)
#endif
#ifdef SYS_munlock
        CALL(munlock)
#endif
#ifdef SYS_process_vm_readv
        CALL(process_vm_readv)
#endif
#ifdef SYS_process_vm_writev
        CALL(process_vm_writev)
#endif
#ifdef SYS_process_madvise
        CALL(process_madvise)
#endif
#ifdef SYS_io_setup
        CALL(io_setup)
#endif
#ifdef SYS_io_submit
        CALL(io_submit)
#endif
#ifdef SYS_io_getevents
        CALL(io_getevents)
#endif
#ifdef SYS_io_uring_setup
        CALL(io_uring_setup)
#endif
#ifdef SYS_io_uring_enter
        CALL(io_uring_enter)
#endif
#ifdef SYS_io_uring_register
        CALL(io_uring_register)
#endif
#ifdef SYS_rseq
        CALL(rseq)
#endif
#ifdef SYS_rt_sigtimedwait
        CALL(rt_sigtimedwait)
#endif
#ifdef SYS_rt_sigsuspend
        CALL(rt_sigsuspend)
#endif
#ifdef SYS_rt_sigqueueinfo
        CALL(rt_sigqueueinfo)
#endif
#ifdef SYS_fadvise64
        CALL(fadvise64)
#endif
#ifdef SYS_readahead
        CALL(readahead)
#endif
#ifdef SYS_sync_file_range
        CALL(sync_file_range)
#endif
#ifdef SYS_pidfd_open
        CALL(pidfd_open)
#endif
#ifdef SYS_close_range
        CALL(close_range)
#endif
#ifdef SYS_syncfs
        CALL(syncfs)
#endif
    default:
        return NULL;
    }
}
