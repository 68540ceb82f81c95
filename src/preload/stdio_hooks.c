/*
 * stdio: printf, fread, getline and the like. Streams call the kernel inside the C library, where nothing can be
 * seen. So what a call has moved is computed from what it did to the buffer of the stream: bytes that the program
 * wrote have left the process unless they are still in the buffer, bytes that it read came in unless they were in
 * the buffer before. Only fields that glibc's header declares are read, and nothing of glibc is changed.
 *
 * A stream on anything but a channel costs one more load and a comparison. On a channel, calls that the buffer
 * satisfies cost little more; others are timed. The lock of the stream is held meanwhile, as the call itself would,
 * so that no other thread changes the buffer in between.
 *
 * With --io, all streams on descriptors are like those on channels: a call that moves bytes between the buffer and
 * the kernel is one operation with these bytes; calls that the buffer satisfies are none.
 *
 * What streams do when none of these functions was called stays unseen: fflush(NULL) and exit for streams other
 * than stdout, error(), wide characters. With any C library but glibc, streams are not seen at all.
 * SPDX-License-Identifier: MIT
 */
#undef _FORTIFY_SOURCE /* it has its own versions of some ... */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1 /* ... and this one of others */
#endif
#define _GNU_SOURCE 1
#include <stdio.h>

#include "descriptors.h"
#include "io_calls.h"
#include "real_functions.h"

#ifdef __GLIBC__
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* In our headers these two are the same. */
HP_PUBLIC FILE *reopen_large(const char *path, const char *mode, FILE *stream) __asm__("freopen64");
HP_PUBLIC FILE *reopen(const char *path, const char *mode, FILE *stream) __asm__("freopen");
/* Missing in our headers, or in those of some versions. */
/* NOLINTBEGIN(readability-redundant-declaration) */
HP_PUBLIC int __overflow(FILE *stream, int byte);
HP_PUBLIC int __uflow(FILE *stream);
HP_PUBLIC int __underflow(FILE *stream);
HP_PUBLIC int _IO_getc(FILE *stream);
HP_PUBLIC int _IO_putc(int byte, FILE *stream);
HP_PUBLIC size_t __fread_chk(void *bytes, size_t room, size_t size, size_t count, FILE *stream);
HP_PUBLIC size_t __fread_unlocked_chk(void *bytes, size_t room, size_t size, size_t count, FILE *stream);
HP_PUBLIC char *__fgets_chk(char *line, size_t room, int size, FILE *stream);
HP_PUBLIC char *__fgets_unlocked_chk(char *line, size_t room, int size, FILE *stream);
HP_PUBLIC ssize_t __getdelim(char **line, size_t *size, int delimiter, FILE *stream);
HP_PUBLIC int __printf_chk(int flag, const char *format, ...);
HP_PUBLIC int __fprintf_chk(FILE *stream, int flag, const char *format, ...);
HP_PUBLIC int __dprintf_chk(int fd, int flag, const char *format, ...);
HP_PUBLIC int __vprintf_chk(int flag, const char *format, va_list list);
HP_PUBLIC int __vfprintf_chk(FILE *stream, int flag, const char *format, va_list list);
HP_PUBLIC int __vdprintf_chk(int fd, int flag, const char *format, va_list list);
/* NOLINTEND(readability-redundant-declaration) */
#define DECLARE_SCANF(standard)                                                                                    \
    HP_PUBLIC int standard##scanf(const char *format, ...);                                                        \
    HP_PUBLIC int standard##fscanf(FILE *stream, const char *format, ...);                                         \
    HP_PUBLIC int standard##vscanf(const char *format, va_list list);                                              \
    HP_PUBLIC int standard##vfscanf(FILE *stream, const char *format, va_list list)
DECLARE_SCANF(__isoc99_);
DECLARE_SCANF(__isoc23_);
/* Headers may redirect the plain names to those above. */
HP_PUBLIC int scan(const char *format, ...) __asm__("scanf");
HP_PUBLIC int scan_stream(FILE *stream, const char *format, ...) __asm__("fscanf");
HP_PUBLIC int scan_list(const char *format, va_list list) __asm__("vscanf");
HP_PUBLIC int scan_stream_list(FILE *stream, const char *format, va_list list) __asm__("vfscanf");

/* clang-format off */
#define EACH(DO, AS)                                                                                               \
    DO(fwrite) DO(fwrite_unlocked) DO(fputs) DO(fputs_unlocked) DO(puts) DO(fputc) DO(putc) DO(_IO_putc)           \
    DO(putchar) DO(fputc_unlocked) DO(putc_unlocked) DO(putchar_unlocked) DO(__overflow) DO(vprintf)               \
    DO(vfprintf) DO(vdprintf) DO(__vprintf_chk) DO(__vfprintf_chk) DO(__vdprintf_chk) DO(fflush)                   \
    DO(fflush_unlocked) DO(fclose) DO(pclose) DO(fread) DO(fread_unlocked) DO(__fread_chk)                         \
    DO(__fread_unlocked_chk) DO(fgets) DO(fgets_unlocked) DO(__fgets_chk) DO(__fgets_unlocked_chk) DO(fgetc)       \
    DO(getc) DO(_IO_getc) DO(getchar) DO(fgetc_unlocked) DO(getc_unlocked) DO(getchar_unlocked) DO(__uflow)        \
    DO(__underflow) DO(getline) DO(getdelim) DO(__getdelim) DO(__isoc99_vscanf) DO(__isoc99_vfscanf)               \
    DO(__isoc23_vscanf) DO(__isoc23_vfscanf) AS(freopen, reopen) AS(freopen64, reopen_large)                       \
    AS(vscanf, scan_list) AS(vfscanf, scan_stream_list)
/* clang-format on */

HP_REAL_FUNCTIONS(EACH)

extern char __libc_single_threaded __attribute__((weak)); /* since glibc 2.32 */

static bool is_only_thread(void) { return &__libc_single_threaded != NULL && __libc_single_threaded; }

/*
 * A short program uses few of them, so each is looked up at its first call: all at once take 18 us. A forked child
 * of several threads must not be the first: the dynamic linker may hold a lock that is never released there.
 */
static void find_before_fork(void)
{
    if (!is_only_thread())
        hp_resolve_all(find_each);
}

__attribute__((constructor)) static void prepare_for_fork(void) { pthread_atfork(find_before_fork, NULL, NULL); }

static __attribute__((noinline, cold)) void find(hp_any_function **function, const char *name)
{
    static const char newest[] = "__isoc23_"; /* without it, no program should call it */
    const int saved = errno;
    const uintptr_t around = hp_inside;
    hp_inside = HP_INSIDE_OURSELVES;
    hp_resolve_one(function, name);
    if (__atomic_load_n(function, __ATOMIC_RELAXED) == NULL && strncmp(name, newest, sizeof newest - 1) == 0)
        hp_resolve_one(function, name + sizeof newest - 1);
    dlerror();
    hp_inside = around;
    errno = saved;
}

#define NEED(name)                                                                                                 \
    if (__builtin_expect(!HP_IS_THERE(name), 0))                                                                   \
    find((hp_any_function **)(void *)&next.name, #name)
/* Threads that make the first calls at once all write it, and the same. */
#define REAL(name) __atomic_load_n(&next.name, __ATOMIC_RELAXED)

/* ------------------------------------------------------------------------------------------ buffers of streams */

/* Of `_flags`; glibc keeps them for programs that were built when its headers named them. */
enum { UNBUFFERED = 0x2, IN_BACKUP = 0x100, LINE_BUFFERED = 0x200, IS_FILE = 0x2000, LOCKED_BY_CALLER = 0x8000 };

/* Written by the program, and not yet by the stream. */
static size_t pending(const FILE *stream) { return (size_t)(stream->_IO_write_ptr - stream->_IO_write_base); }

/* Read by the stream, and not yet by the program. After ungetc the rest of the buffer may be set aside. */
static size_t available(const FILE *stream)
{
    return (size_t)(stream->_IO_read_end - stream->_IO_read_ptr) +
           (stream->_flags & IN_BACKUP ? (size_t)(stream->_IO_save_end - stream->_IO_save_base) : 0);
}

/* What the buffer takes without being written. */
static size_t room(const FILE *stream)
{
    const bool is_whole_block = !(stream->_flags & (UNBUFFERED | LINE_BUFFERED)) && stream->_IO_write_ptr != NULL &&
                                stream->_IO_write_ptr <= stream->_IO_buf_end;
    return is_whole_block ? (size_t)(stream->_IO_buf_end - stream->_IO_write_ptr) : 0;
}

#define A_GUESS 512u /* what printf and scanf may need; it decides only whether they are timed */

/* How many bytes a call needs that reads a line of at most `most` bytes: 0 if the line is there. */
static size_t needed_for_line(const FILE *stream, int delimiter, size_t most)
{
    const size_t there = (size_t)(stream->_IO_read_end - stream->_IO_read_ptr);
    return there != 0 && memchr(stream->_IO_read_ptr, delimiter, there < most ? there : most) != NULL ? 0 : most;
}

/* ----------------------------------------------------------------------------------------- a call on a channel */

enum way { READS, READS_UNLOCKED, WRITES, WRITES_UNLOCKED };

struct use {
    FILE *stream;
    const char *place, *end; /* in the buffer for reading */
    size_t before;           /* bytes in the buffer */
    uint64_t entry;
    bool is_sending, is_locked, is_timed, is_needed;
    int number; /* of the descriptor */
    /* With --io the channel is told afterwards: there is little stack for both. */
    union {
        struct hotpath_transfer_ transfer;
        struct {
            struct hp_io_call io;
            struct hp_caller caller;
        };
    };
};

extern struct _IO_FILE _IO_2_1_stdout_; /* stdout, unless the program has replaced it */
static bool is_over;                    /* what stdout still has was counted */

static bool is_plain(const FILE *stream)
{
    const int number = stream->_fileno;
    if (__builtin_expect(hp_io_is_counted, 0))
        return false;
    return (unsigned)number >= HP_DESCRIPTORS || hp_descriptor_what(hp_descriptor_entry(number)) == HP_NO_CHANNEL;
}

static uint64_t entry_of(const FILE *stream)
{
    if (HOTPATH_GET_(hotpath_v1_context->skip) != 0 || !(stream->_flags & IS_FILE) || stream->_mode > 0 ||
        (unsigned)stream->_fileno >= HP_DESCRIPTORS || (is_over && stream == &_IO_2_1_stdout_))
        return HP_NO_CHANNEL;
    const uint64_t entry = hp_descriptor_entry(stream->_fileno);
    return hp_descriptor_what(entry) == HP_UNKNOWN ? hp_descriptor_look(stream->_fileno) : entry;
}

/* With --io: the buffer has what the call needs, and no other thread changes that. It moves nothing. */
static inline bool is_satisfied(const FILE *stream, bool is_sending, size_t needed)
{
    const int number = stream->_fileno;
    return is_only_thread() && needed != A_GUESS && (unsigned)number < HP_DESCRIPTORS &&
           hp_descriptor_what(hp_descriptor_entry(number)) == HP_NO_CHANNEL &&
           needed <= (is_sending ? room(stream) : available(stream));
}

/* Whether --io counts what it does. */
static bool is_counted(const FILE *stream)
{
    return hp_io_is_counted && stream->_flags & IS_FILE && stream->_mode <= 0 && stream->_fileno >= 0 &&
           !(is_over && stream == &_IO_2_1_stdout_);
}

/* False: it is no channel, or not recorded. */
static bool begin(struct use *use, FILE *stream, enum way way)
{
    const uint64_t entry = entry_of(stream);
    if (hp_descriptor_what(entry) == HP_NO_CHANNEL && !is_counted(stream))
        return false;
    use->number = stream->_fileno;
    use->is_needed = false;
    const bool is_sending = way == WRITES || way == WRITES_UNLOCKED;
    use->stream = stream;
    use->entry = entry;
    use->is_sending = is_sending;
    use->is_timed = false;
    use->is_locked = (way == READS || way == WRITES) && !is_only_thread() && !(stream->_flags & LOCKED_BY_CALLER);
    if (use->is_locked)
        flockfile(stream);
    use->before = is_sending ? pending(stream) : available(stream);
    use->place = stream->_IO_read_ptr;
    use->end = stream->_IO_read_end;
    return true;
}

static void begin_transfer(struct use *use)
{
    if (hp_descriptor_what(use->entry) >= HP_FIRST_CHANNEL)
        use->is_timed = hp_descriptor_transfer(use->entry, use->is_sending, &use->transfer);
}

static void begin_io(struct use *use)
{
    hp_io_begin(&use->io, use->is_sending ? HP_IO_WRITE : HP_IO_READ, use->number);
}

/* Times the call if it needs more bytes than the buffer has, or has room for. False: it moves nothing. */
static bool expect(struct use *use, size_t needed)
{
    use->is_needed = needed > (use->is_sending ? room(use->stream) : use->before);
    if (use->is_needed && hp_io_is_counted)
        begin_io(use);
    else if (use->is_needed)
        begin_transfer(use);
    return use->is_needed || needed == A_GUESS;
}

/* Also if the thread is cancelled in the call. */
static void leave(void *use_)
{
    const struct use *use = use_;
    if (use->is_locked)
        funlockfile(use->stream);
}

/* A read at the end of a file moves nothing; a write that moved nothing was none. */
static void count_io(struct use *use, ssize_t moved, bool has_failed)
{
    if (moved <= 0 && !(use->is_needed && (has_failed || !use->is_sending)))
        return;
    if (!use->is_needed) {
        begin_io(use);
        use->io.since = 0; /* the time is not known */
    }
    hp_io_end(&use->io, &use->caller, moved > 0 ? moved : has_failed ? -1 : 0);
}

/* With --io the caller was set. */
static void count(struct use *use, ssize_t moved, bool has_failed)
{
    uint64_t since = 0;
    if (hp_io_is_counted) {
        count_io(use, moved, has_failed);
        since = use->is_needed ? hp_io_began(&use->io) : 0;
    }
    if (!use->is_timed && (moved > 0 || since != 0))
        begin_transfer(use);
    if (use->is_timed && since != 0)
        use->transfer.since = since;
    if (use->is_timed)
        hotpath_v1_transferred(&use->transfer, moved > 0, moved > 0 ? (uint64_t)moved : 0,
                               has_failed && use->is_sending && errno == EAGAIN);
}

static void count_by(struct use *use, ssize_t moved, const struct hp_caller *caller)
{
    if (hp_io_is_counted)
        use->caller = *caller;
    count(use, moved, false);
}

/* `passed`: bytes that went between the program and the stream; -1: the call failed. */
static void end(struct use *use, ssize_t passed)
{
    const ssize_t bytes = passed > 0 ? passed : 0, before = (ssize_t)use->before;
    count(use,
          use->is_sending ? before + bytes - (ssize_t)pending(use->stream)
                          : bytes + (ssize_t)available(use->stream) - before,
          use->is_sending ? passed < 0 : ferror_unlocked(use->stream) != 0 && passed <= 0);
    leave(use);
}

/*
 * The same for a call that does not tell how much it took. Each time the buffer is filled, reading begins at its
 * start again. So if the place has not moved forward, the buffer was filled; only the last time is known.
 */
static ssize_t taken(const struct use *use, bool is_any)
{
    const FILE *stream = use->stream;
    const bool is_filled = stream->_IO_read_end != use->end || stream->_IO_read_ptr < use->place ||
                           (stream->_IO_read_ptr == use->place && is_any);
    return (ssize_t)use->before - (ssize_t)available(stream) +
           (is_filled ? stream->_IO_read_end - stream->_IO_read_base : 0);
}

/* A line may contain zeros, and then is longer than it seems. */
static ssize_t taken_line(const struct use *use, const char *line)
{
    const ssize_t least = taken(use, line != NULL), length = line != NULL ? (ssize_t)strlen(line) : 0;
    return length > least ? length : least;
}

/* ----------------------------------------------------------------------------------------------- the functions */

/*
 * The hook of a function, and on_NAME for hooks that differ from it only in how they are called. Unlocking after
 * cancellation takes some stack, so that is left to calls that hold the lock, which a function of its own makes.
 */
#define LIST(...) __VA_ARGS__
#define ON(type, name, parameters, arguments, ...)                                                                 \
    ON_WITH(type, name, (struct use * use, LIST parameters), (&use, LIST arguments), parameters, arguments,        \
            __VA_ARGS__)
#define ON_WITH(type, name, with_use, also_use, parameters, arguments, stream_, way, needed, passed)               \
    static __attribute__((noinline, unused)) type locked_##name with_use                                           \
    {                                                                                                              \
        type result;                                                                                               \
        pthread_cleanup_push(leave, use);                                                                          \
        result = REAL(name) arguments;                                                                             \
        pthread_cleanup_pop(0);                                                                                    \
        return result;                                                                                             \
    }                                                                                                              \
    static __attribute__((noinline)) type through_##name parameters                                                \
    {                                                                                                              \
        struct use use;                                                                                            \
        type result;                                                                                               \
        if (!begin(&use, stream_, way))                                                                            \
            return REAL(name) arguments;                                                                           \
        const bool is_moving = expect(&use, needed);                                                               \
        if (((way) == READS || (way) == WRITES) && use.is_locked && is_moving)                                     \
            result = locked_##name also_use;                                                                       \
        else                                                                                                       \
            result = REAL(name) arguments;                                                                         \
        if (is_moving && hp_io_is_counted)                                                                         \
            use.caller = HP_CALLER();                                                                              \
        if (is_moving)                                                                                             \
            end(&use, passed);                                                                                     \
        else                                                                                                       \
            leave(&use);                                                                                           \
        return result;                                                                                             \
    }                                                                                                              \
    static inline __attribute__((always_inline)) type on_##name parameters                                         \
    {                                                                                                              \
        NEED(name);                                                                                                \
        if (__builtin_expect(is_plain(stream_), 1) ||                                                              \
            (hp_io_is_counted && is_satisfied(stream_, (way) == WRITES || (way) == WRITES_UNLOCKED, needed)))      \
            return REAL(name) arguments;                                                                           \
        return through_##name arguments;                                                                           \
    }
#define HOOK_AS(public_name, type, name, parameters, arguments, ...)                                               \
    ON(type, name, parameters, arguments, __VA_ARGS__)                                                             \
    HP_PUBLIC type public_name parameters { return on_##name arguments; }
#define HOOK(type, name, ...) HOOK_AS(name, type, name, __VA_ARGS__)

/* --- writing */

#define WRITE_BLOCK(name, way)                                                                                     \
    HOOK(size_t, name, (const void *bytes, size_t size, size_t count, FILE *stream), (bytes, size, count, stream), \
         stream, way, size *count, result == 0 && size * count != 0 ? -1 : (ssize_t)(result * size))
#define WRITE_TEXT(name, way)                                                                                      \
    HOOK(int, name, (const char *text, FILE *stream), (text, stream), stream, way, strlen(text),                   \
         result < 0 ? -1 : (ssize_t)strlen(text))
#define WRITE_BYTE(name, way)                                                                                      \
    HOOK(int, name, (int byte, FILE *stream), (byte, stream), stream, way, 1, result == EOF ? -1 : 1)
#define WRITE_BYTE_OUT(name, way) HOOK(int, name, (int byte), (byte), stdout, way, 1, result == EOF ? -1 : 1)

WRITE_BLOCK(fwrite, WRITES)
WRITE_BLOCK(fwrite_unlocked, WRITES_UNLOCKED)
WRITE_TEXT(fputs, WRITES)
WRITE_TEXT(fputs_unlocked, WRITES_UNLOCKED)
HOOK(int, puts, (const char *text), (text), stdout, WRITES, strlen(text) + 1,
     result < 0 ? -1 : (ssize_t)strlen(text) + 1)
WRITE_BYTE(fputc, WRITES)
WRITE_BYTE(putc, WRITES)
WRITE_BYTE(_IO_putc, WRITES)
WRITE_BYTE(fputc_unlocked, WRITES_UNLOCKED)
WRITE_BYTE(putc_unlocked, WRITES_UNLOCKED)
WRITE_BYTE_OUT(putchar, WRITES)
WRITE_BYTE_OUT(putchar_unlocked, WRITES_UNLOCKED)
/* Called by putc_unlocked in the program itself, if the buffer is full. */
HOOK(int, __overflow, (FILE * stream, int byte), (stream, byte), stream, WRITES_UNLOCKED, SIZE_MAX,
     result == EOF ? -1 : byte != EOF)

HOOK(int, vprintf, (const char *format, va_list list), (format, list), stdout, WRITES, A_GUESS, result)
HOOK(int, vfprintf, (FILE * stream, const char *format, va_list list), (stream, format, list), stream, WRITES,
     A_GUESS, result)
HOOK(int, __vprintf_chk, (int flag, const char *format, va_list list), (flag, format, list), stdout, WRITES,
     A_GUESS, result)
HOOK(int, __vfprintf_chk, (FILE * stream, int flag, const char *format, va_list list), (stream, flag, format, list),
     stream, WRITES, A_GUESS, result)

/* It has no stream: what it prints is written at once. */
#define WRITE_TO_NUMBER(name, parameters, arguments)                                                               \
    static int plain_##name parameters                                                                             \
    {                                                                                                              \
        struct hotpath_transfer_ transfer;                                                                         \
        NEED(name);                                                                                                \
        const bool is_known = hp_transfer_begin(fd, HP_SENDING, &transfer);                                        \
        const int result = REAL(name) arguments;                                                                   \
        if (is_known)                                                                                              \
            hotpath_v1_transferred(&transfer, result > 0, result > 0 ? (uint64_t)result : 0,                       \
                                   result < 0 && errno == EAGAIN);                                                 \
        return result;                                                                                             \
    }                                                                                                              \
    static int on_##name parameters                                                                                \
    {                                                                                                              \
        const struct hp_caller caller = HP_CALLER();                                                               \
        struct hp_io_call io;                                                                                      \
        if (!hp_io_is_counted)                                                                                     \
            return plain_##name arguments;                                                                         \
        hp_io_begin(&io, HP_IO_WRITE, fd);                                                                         \
        const int result = plain_##name arguments;                                                                 \
        hp_io_end(&io, &caller, result);                                                                           \
        return result;                                                                                             \
    }                                                                                                              \
    HP_PUBLIC int name parameters { return on_##name arguments; }

WRITE_TO_NUMBER(vdprintf, (int fd, const char *format, va_list list), (fd, format, list))
WRITE_TO_NUMBER(__vdprintf_chk, (int fd, int flag, const char *format, va_list list), (fd, flag, format, list))

/* As in the C library, the program's own vprintf is not called. */
#define WITH_LIST(public_name, name, parameters, last, ...)                                                        \
    HP_PUBLIC int public_name parameters                                                                           \
    {                                                                                                              \
        va_list list;                                                                                              \
        va_start(list, last);                                                                                      \
        const int result = on_##name(__VA_ARGS__, list);                                                           \
        va_end(list);                                                                                              \
        return result;                                                                                             \
    }

WITH_LIST(printf, vprintf, (const char *format, ...), format, format)
WITH_LIST(fprintf, vfprintf, (FILE * stream, const char *format, ...), format, stream, format)
WITH_LIST(dprintf, vdprintf, (int fd, const char *format, ...), format, fd, format)
WITH_LIST(__printf_chk, __vprintf_chk, (int flag, const char *format, ...), format, flag, format)
WITH_LIST(__fprintf_chk, __vfprintf_chk, (FILE * stream, int flag, const char *format, ...), format, stream, flag,
          format)
WITH_LIST(__dprintf_chk, __vdprintf_chk, (int fd, int flag, const char *format, ...), format, fd, flag, format)

/* --- reading */

#define READ_BLOCK(name, way)                                                                                      \
    HOOK(size_t, name, (void *bytes, size_t size, size_t count, FILE *stream), (bytes, size, count, stream),       \
         stream, way, size *count, (ssize_t)(result * size))
#define READ_BLOCK_CHECKED(name, way)                                                                              \
    HOOK(size_t, name, (void *bytes, size_t room_, size_t size, size_t count, FILE *stream),                       \
         (bytes, room_, size, count, stream), stream, way, size *count, (ssize_t)(result * size))
#define LINE_NEED needed_for_line(stream, '\n', size > 0 ? (size_t)size - 1 : 0)
#define READ_LINE(name, way)                                                                                       \
    HOOK(char *, name, (char *line, int size, FILE *stream), (line, size, stream), stream, way, LINE_NEED,         \
         taken_line(&use, result))
#define READ_LINE_CHECKED(name, way)                                                                               \
    HOOK(char *, name, (char *line, size_t room_, int size, FILE *stream), (line, room_, size, stream), stream,    \
         way, LINE_NEED, taken_line(&use, result))
#define READ_BYTE(name, way) HOOK(int, name, (FILE * stream), (stream), stream, way, 1, result != EOF)
#define READ_BYTE_IN(name, way)                                                                                    \
    ON_WITH(int, name, (struct use * use), (&use), (void), (), stdin, way, 1, result != EOF)                       \
    HP_PUBLIC int name(void) { return on_##name(); }
#define READ_DELIMITED(name)                                                                                       \
    HOOK(ssize_t, name, (char **line, size_t *size, int delimiter, FILE *stream), (line, size, delimiter, stream), \
         stream, READS, needed_for_line(stream, delimiter, SIZE_MAX), result)

READ_BLOCK(fread, READS)
READ_BLOCK(fread_unlocked, READS_UNLOCKED)
READ_BLOCK_CHECKED(__fread_chk, READS)
READ_BLOCK_CHECKED(__fread_unlocked_chk, READS_UNLOCKED)
READ_LINE(fgets, READS)
READ_LINE(fgets_unlocked, READS_UNLOCKED)
READ_LINE_CHECKED(__fgets_chk, READS)
READ_LINE_CHECKED(__fgets_unlocked_chk, READS_UNLOCKED)
READ_BYTE(fgetc, READS)
READ_BYTE(getc, READS)
READ_BYTE(_IO_getc, READS)
READ_BYTE(fgetc_unlocked, READS_UNLOCKED)
READ_BYTE(getc_unlocked, READS_UNLOCKED)
READ_BYTE_IN(getchar, READS)
READ_BYTE_IN(getchar_unlocked, READS_UNLOCKED)
/* Called by getc_unlocked in the program itself, if the buffer is empty. */
READ_BYTE(__uflow, READS_UNLOCKED)
HOOK(int, __underflow, (FILE * stream), (stream), stream, READS_UNLOCKED, 1, 0)
HOOK(ssize_t, getline, (char **line, size_t *size, FILE *stream), (line, size, stream), stream, READS,
     needed_for_line(stream, '\n', SIZE_MAX), result)
READ_DELIMITED(getdelim)
READ_DELIMITED(__getdelim)

#define SCAN_AS(in_name, stream_name, name, name_of_stream)                                                        \
    HOOK_AS(in_name, int, name, (const char *format, va_list list), (format, list), stdin, READS, A_GUESS,         \
            taken(&use, result > 0))                                                                               \
    HOOK_AS(stream_name, int, name_of_stream, (FILE * stream, const char *format, va_list list),                   \
            (stream, format, list), stream, READS, A_GUESS, taken(&use, result > 0))

SCAN_AS(scan_list, scan_stream_list, vscanf, vfscanf)
SCAN_AS(__isoc99_vscanf, __isoc99_vfscanf, __isoc99_vscanf, __isoc99_vfscanf)
SCAN_AS(__isoc23_vscanf, __isoc23_vfscanf, __isoc23_vscanf, __isoc23_vfscanf)
WITH_LIST(scan, vscanf, (const char *format, ...), format, format)
WITH_LIST(scan_stream, vfscanf, (FILE * stream, const char *format, ...), format, stream, format)
WITH_LIST(__isoc99_scanf, __isoc99_vscanf, (const char *format, ...), format, format)
WITH_LIST(__isoc99_fscanf, __isoc99_vfscanf, (FILE * stream, const char *format, ...), format, stream, format)
WITH_LIST(__isoc23_scanf, __isoc23_vscanf, (const char *format, ...), format, format)
WITH_LIST(__isoc23_fscanf, __isoc23_vfscanf, (FILE * stream, const char *format, ...), format, stream, format)

/* ---------------------------------------------------------------------------------------- flushing and closing */

/*
 * What a call will write that must not find the stream locked: it takes another lock first, or frees the stream.
 * Unknown (0) while another thread uses the stream.
 */
static size_t peek(struct use *use, FILE *stream)
{
    *use = (struct use){.stream = stream, .entry = entry_of(stream), .is_sending = true, .number = stream->_fileno};
    if ((hp_descriptor_what(use->entry) != HP_NO_CHANNEL || is_counted(stream)) && ftrylockfile(stream) == 0) {
        use->before = pending(stream);
        funlockfile(stream);
    }
    return use->before;
}

/* Of all streams, only stdout is sure to be still there. */
static int flush_all(int (*flush)(FILE *stream), const struct hp_caller *caller)
{
    struct use use;
    const bool is_seen = is_only_thread() && peek(&use, &_IO_2_1_stdout_) != 0;
    const int result = flush(NULL);
    if (is_seen)
        count_by(&use, (ssize_t)(use.before - pending(&_IO_2_1_stdout_)), caller);
    return result;
}

#define FLUSH(name, way)                                                                                           \
    ON(int, name, (FILE * stream), (stream), stream, way, pending(stream) != 0 ? SIZE_MAX : 0,                     \
       result == 0 ? 0 : -1)                                                                                       \
    HP_PUBLIC int name(FILE *stream)                                                                               \
    {                                                                                                              \
        NEED(name);                                                                                                \
        if (stream == NULL) {                                                                                      \
            const struct hp_caller caller = HP_CALLER();                                                           \
            return flush_all(REAL(name), &caller);                                                                 \
        }                                                                                                          \
        return on_##name(stream);                                                                                  \
    }

FLUSH(fflush, WRITES)
FLUSH(fflush_unlocked, WRITES_UNLOCKED)

/* A stream whose descriptor is closed or replaced. */
struct closing {
    struct use use;
    uint64_t was;
    int number;
};

static void begin_closing(struct closing *closing, FILE *stream, bool is_timed)
{
    closing->number = stream->_flags & IS_FILE ? stream->_fileno : -1;
    const bool is_any = peek(&closing->use, stream) != 0;
    if (is_any && is_timed) {
        expect(&closing->use, SIZE_MAX);
    } else if (is_any && hp_io_is_counted) { /* what it leads to is known while it is open */
        begin_io(&closing->use);
        closing->use.io.since = 0;
        closing->use.is_needed = true;
    }
    closing->was = hp_descriptor_forget(closing->number);
}

static void end_closing(struct closing *closing, bool is_good, const struct hp_caller *caller)
{
    count_by(&closing->use, is_good ? (ssize_t)closing->use.before : 0, caller);
    hp_descriptor_forget(closing->number);
    hp_descriptor_closed(closing->was);
}

HP_PUBLIC int fclose(FILE *stream)
{
    const struct hp_caller caller = HP_CALLER();
    struct closing closing;
    NEED(fclose);
    begin_closing(&closing, stream, true);
    const int result = REAL(fclose)(stream);
    end_closing(&closing, result == 0, &caller);
    return result;
}

/* Not timed: it also waits for the child. */
HP_PUBLIC int pclose(FILE *stream)
{
    const struct hp_caller caller = HP_CALLER();
    struct closing closing;
    NEED(pclose);
    begin_closing(&closing, stream, false);
    const int result = REAL(pclose)(stream);
    end_closing(&closing, true, &caller);
    return result;
}

#define REOPEN(public_name, name)                                                                                  \
    HP_PUBLIC FILE *public_name(const char *path, const char *mode, FILE *stream)                                  \
    {                                                                                                              \
        const struct hp_caller caller = HP_CALLER();                                                               \
        struct closing closing;                                                                                    \
        NEED(name);                                                                                                \
        begin_closing(&closing, stream, true);                                                                     \
        FILE *const result = REAL(name)(path, mode, stream);                                                       \
        end_closing(&closing, true, &caller);                                                                      \
        if (result != NULL)                                                                                        \
            hp_descriptor_forget(result->_fileno);                                                                 \
        return result;                                                                                             \
    }

REOPEN(reopen, freopen)
REOPEN(reopen_large, freopen64)

/*
 * The C library flushes streams at exit, when we are gone. So the contents of stdout are counted now, without the
 * time it will take. Flushing now would change the order of the output. Other streams may be closed by other
 * threads meanwhile: the list of them is the C library's, and so is its lock. Many processes print nothing, and end
 * sooner than a descriptor can be looked up.
 */
__attribute__((destructor)) static void count_what_is_left(void)
{
    static const struct hp_caller nobody;
    struct use use;
    if (pending(&_IO_2_1_stdout_) != 0 && !is_plain(&_IO_2_1_stdout_) && peek(&use, &_IO_2_1_stdout_) != 0)
        count_by(&use, (ssize_t)use.before, &nobody);
    is_over = true;
}
#endif
