/* Functions of stdio: see hooked.c. glibc only: elsewhere they are not interposed. */
#include "hooked.h"

#ifdef __GLIBC__

#include <stdarg.h>

/* By the names of their symbols: headers replace some of them by others, or by code. */
#define NAMED(type, name, symbol, ...) extern type name(__VA_ARGS__) __asm__(#symbol)
NAMED(size_t, named_fwrite, fwrite, const void *, size_t, size_t, FILE *);
NAMED(size_t, named_fwrite_unlocked, fwrite_unlocked, const void *, size_t, size_t, FILE *);
NAMED(int, named_fputs, fputs, const char *, FILE *);
NAMED(int, named_fputs_unlocked, fputs_unlocked, const char *, FILE *);
NAMED(int, named_puts, puts, const char *);
NAMED(int, named_fputc, fputc, int, FILE *);
NAMED(int, named_putc, putc, int, FILE *);
NAMED(int, named_IO_putc, _IO_putc, int, FILE *);
NAMED(int, named_fputc_unlocked, fputc_unlocked, int, FILE *);
NAMED(int, named_putc_unlocked, putc_unlocked, int, FILE *);
NAMED(int, named_putchar, putchar, int);
NAMED(int, named_putchar_unlocked, putchar_unlocked, int);
NAMED(int, named_overflow, __overflow, FILE *, int);
NAMED(int, named_printf, printf, const char *, ...);
NAMED(int, named_fprintf, fprintf, FILE *, const char *, ...);
NAMED(int, named_dprintf, dprintf, int, const char *, ...);
NAMED(int, named_vprintf, vprintf, const char *, va_list);
NAMED(int, named_vfprintf, vfprintf, FILE *, const char *, va_list);
NAMED(int, named_vdprintf, vdprintf, int, const char *, va_list);
NAMED(int, named_printf_chk, __printf_chk, int, const char *, ...);
NAMED(int, named_fprintf_chk, __fprintf_chk, FILE *, int, const char *, ...);
NAMED(int, named_dprintf_chk, __dprintf_chk, int, int, const char *, ...);
NAMED(int, named_vprintf_chk, __vprintf_chk, int, const char *, va_list);
NAMED(int, named_vfprintf_chk, __vfprintf_chk, FILE *, int, const char *, va_list);
NAMED(int, named_vdprintf_chk, __vdprintf_chk, int, int, const char *, va_list);
NAMED(size_t, named_fread, fread, void *, size_t, size_t, FILE *);
NAMED(size_t, named_fread_unlocked, fread_unlocked, void *, size_t, size_t, FILE *);
NAMED(size_t, named_fread_chk, __fread_chk, void *, size_t, size_t, size_t, FILE *);
NAMED(size_t, named_fread_unlocked_chk, __fread_unlocked_chk, void *, size_t, size_t, size_t, FILE *);
NAMED(char *, named_fgets, fgets, char *, int, FILE *);
NAMED(char *, named_fgets_unlocked, fgets_unlocked, char *, int, FILE *);
NAMED(char *, named_fgets_chk, __fgets_chk, char *, size_t, int, FILE *);
NAMED(char *, named_fgets_unlocked_chk, __fgets_unlocked_chk, char *, size_t, int, FILE *);
NAMED(ssize_t, named_getline, getline, char **, size_t *, FILE *);
NAMED(ssize_t, named_getdelim, getdelim, char **, size_t *, int, FILE *);
NAMED(ssize_t, named_inner_getdelim, __getdelim, char **, size_t *, int, FILE *);
NAMED(int, named_fgetc, fgetc, FILE *);
NAMED(int, named_getc, getc, FILE *);
NAMED(int, named_IO_getc, _IO_getc, FILE *);
NAMED(int, named_fgetc_unlocked, fgetc_unlocked, FILE *);
NAMED(int, named_getc_unlocked, getc_unlocked, FILE *);
NAMED(int, named_getchar, getchar, void);
NAMED(int, named_getchar_unlocked, getchar_unlocked, void);
NAMED(int, named_uflow, __uflow, FILE *);
NAMED(int, named_underflow, __underflow, FILE *);
NAMED(int, named_scanf, scanf, const char *, ...);
NAMED(int, named_fscanf, fscanf, FILE *, const char *, ...);
NAMED(int, named_vscanf, vscanf, const char *, va_list);
NAMED(int, named_vfscanf, vfscanf, FILE *, const char *, va_list);
NAMED(int, named_isoc99_scanf, __isoc99_scanf, const char *, ...);
NAMED(int, named_isoc99_fscanf, __isoc99_fscanf, FILE *, const char *, ...);
NAMED(int, named_isoc99_vscanf, __isoc99_vscanf, const char *, va_list);
NAMED(int, named_isoc99_vfscanf, __isoc99_vfscanf, FILE *, const char *, va_list);
NAMED(int, named_fflush, fflush, FILE *);
NAMED(int, named_fflush_unlocked, fflush_unlocked, FILE *);
NAMED(FILE *, named_freopen, freopen, const char *, const char *, FILE *);
NAMED(FILE *, named_freopen64, freopen64, const char *, const char *, FILE *);

/* ---------------------------------------------------------------------------------------- one form for them all */

/* Writes a little to a stream, or reads a little. */
typedef long stream_function(FILE *stream);

/* With `stdout` or `stdin` as that stream. */
#define AS(standard, ...)                                                                                          \
    FILE *const saved = standard;                                                                                  \
    standard = stream;                                                                                             \
    const long result = (__VA_ARGS__);                                                                             \
    standard = saved;                                                                                              \
    return result

#define LIST_FORM(name, ...)                                                                                       \
    static long name(FILE *stream, ...)                                                                            \
    {                                                                                                              \
        va_list list;                                                                                              \
        va_start(list, stream);                                                                                    \
        __VA_ARGS__;                                                                                               \
        va_end(list);                                                                                              \
        return result;                                                                                             \
    }
#define AS_LIST(standard, ...)                                                                                     \
    FILE *const saved = standard;                                                                                  \
    standard = stream;                                                                                             \
    const long result = (__VA_ARGS__);                                                                             \
    standard = saved

static long by_fwrite(FILE *stream) { return (long)named_fwrite("text\n", 1, 5, stream); }
static long by_fwrite_unlocked(FILE *stream) { return (long)named_fwrite_unlocked("text\n", 1, 5, stream); }
static long by_fputs(FILE *stream) { return named_fputs("text\n", stream) >= 0; }
static long by_fputs_unlocked(FILE *stream) { return named_fputs_unlocked("text\n", stream) >= 0; }
static long by_puts(FILE *stream) { AS(stdout, named_puts("text") >= 0); }
static long by_fputc(FILE *stream) { return named_fputc('t', stream); }
static long by_putc(FILE *stream) { return named_putc('t', stream); }
static long by_IO_putc(FILE *stream) { return named_IO_putc('t', stream); }
static long by_fputc_unlocked(FILE *stream) { return named_fputc_unlocked('t', stream); }
static long by_putc_unlocked(FILE *stream) { return named_putc_unlocked('t', stream); }
static long by_putchar(FILE *stream) { AS(stdout, named_putchar('t')); }
static long by_putchar_unlocked(FILE *stream) { AS(stdout, named_putchar_unlocked('t')); }
static long by_overflow(FILE *stream) { return named_overflow(stream, 't'); }
static long by_printf(FILE *stream) { AS(stdout, named_printf("%s %d\n", "text", 7)); }
static long by_fprintf(FILE *stream) { return named_fprintf(stream, "%s %d\n", "text", 7); }
static long by_dprintf(FILE *stream) { return named_dprintf(fileno(stream), "%s %d\n", "text", 7); }
static long by_printf_chk(FILE *stream) { AS(stdout, named_printf_chk(1, "%s %d\n", "text", 7)); }
static long by_fprintf_chk(FILE *stream) { return named_fprintf_chk(stream, 1, "%s %d\n", "text", 7); }
static long by_dprintf_chk(FILE *stream) { return named_dprintf_chk(fileno(stream), 1, "%s %d\n", "text", 7); }
LIST_FORM(list_vprintf, AS_LIST(stdout, named_vprintf("%s %d\n", list)))
LIST_FORM(list_vfprintf, const long result = named_vfprintf(stream, "%s %d\n", list))
LIST_FORM(list_vdprintf, const long result = named_vdprintf(fileno(stream), "%s %d\n", list))
LIST_FORM(list_vprintf_chk, AS_LIST(stdout, named_vprintf_chk(1, "%s %d\n", list)))
LIST_FORM(list_vfprintf_chk, const long result = named_vfprintf_chk(stream, 1, "%s %d\n", list))
LIST_FORM(list_vdprintf_chk, const long result = named_vdprintf_chk(fileno(stream), 1, "%s %d\n", list))
static long by_vprintf(FILE *stream) { return list_vprintf(stream, "text", 7); }
static long by_vfprintf(FILE *stream) { return list_vfprintf(stream, "text", 7); }
static long by_vdprintf(FILE *stream) { return list_vdprintf(stream, "text", 7); }
static long by_vprintf_chk(FILE *stream) { return list_vprintf_chk(stream, "text", 7); }
static long by_vfprintf_chk(FILE *stream) { return list_vfprintf_chk(stream, "text", 7); }
static long by_vdprintf_chk(FILE *stream) { return list_vdprintf_chk(stream, "text", 7); }

/* Something is there to flush. */
static long by_fflush(FILE *stream)
{
    setvbuf(stream, NULL, _IOFBF, 100);
    fputs("text\n", stream);
    errno = UNTOUCHED;
    return named_fflush(stream);
}

static long by_fflush_unlocked(FILE *stream)
{
    setvbuf(stream, NULL, _IOFBF, 100);
    fputs("text\n", stream);
    errno = UNTOUCHED;
    return named_fflush_unlocked(stream);
}

static long by_fread(FILE *stream)
{
    char bytes[8];
    return (long)named_fread(bytes, 1, 5, stream);
}

static long by_fread_unlocked(FILE *stream)
{
    char bytes[8];
    return (long)named_fread_unlocked(bytes, 1, 5, stream);
}

static long by_fread_chk(FILE *stream)
{
    char bytes[8];
    return (long)named_fread_chk(bytes, sizeof bytes, 1, 5, stream);
}

static long by_fread_unlocked_chk(FILE *stream)
{
    char bytes[8];
    return (long)named_fread_unlocked_chk(bytes, sizeof bytes, 1, 5, stream);
}

static long length_of(const char *line, const char *bytes) { return line == NULL ? -1 : (long)strlen(bytes); }

static long by_fgets(FILE *stream)
{
    char bytes[8];
    return length_of(named_fgets(bytes, sizeof bytes, stream), bytes);
}

static long by_fgets_unlocked(FILE *stream)
{
    char bytes[8];
    return length_of(named_fgets_unlocked(bytes, sizeof bytes, stream), bytes);
}

static long by_fgets_chk(FILE *stream)
{
    char bytes[8];
    return length_of(named_fgets_chk(bytes, sizeof bytes, sizeof bytes, stream), bytes);
}

static long by_fgets_unlocked_chk(FILE *stream)
{
    char bytes[8];
    return length_of(named_fgets_unlocked_chk(bytes, sizeof bytes, sizeof bytes, stream), bytes);
}

static __thread char *line_memory; /* kept: a cancelled thread could not free it */
static __thread size_t line_room;

static long by_getline(FILE *stream) { return named_getline(&line_memory, &line_room, stream); }
static long by_getdelim(FILE *stream) { return named_getdelim(&line_memory, &line_room, 'x', stream); }
static long by_inner_getdelim(FILE *stream) { return named_inner_getdelim(&line_memory, &line_room, 'x', stream); }
static long by_fgetc(FILE *stream) { return named_fgetc(stream); }
static long by_getc(FILE *stream) { return named_getc(stream); }
static long by_IO_getc(FILE *stream) { return named_IO_getc(stream); }
static long by_fgetc_unlocked(FILE *stream) { return named_fgetc_unlocked(stream); }
static long by_getc_unlocked(FILE *stream) { return named_getc_unlocked(stream); }
static long by_getchar(FILE *stream) { AS(stdin, named_getchar()); }
static long by_getchar_unlocked(FILE *stream) { AS(stdin, named_getchar_unlocked()); }
static long by_uflow(FILE *stream) { return named_uflow(stream); }
static long by_underflow(FILE *stream) { return named_underflow(stream); }

#define SCANS(name, symbol, ...)                                                                                   \
    static long name(FILE *stream)                                                                                 \
    {                                                                                                              \
        char word[8] = "";                                                                                         \
        FILE *const saved = stdin;                                                                                 \
        stdin = stream;                                                                                            \
        const long found = symbol(__VA_ARGS__);                                                                    \
        stdin = saved;                                                                                             \
        return found > 0 ? 100 * found + (long)strlen(word) : found;                                               \
    }
SCANS(by_scanf, named_scanf, "%5s", word)
SCANS(by_fscanf, named_fscanf, stream, "%5s", word)
SCANS(by_isoc99_scanf, named_isoc99_scanf, "%5s", word)
SCANS(by_isoc99_fscanf, named_isoc99_fscanf, stream, "%5s", word)
LIST_FORM(list_vscanf, AS_LIST(stdin, named_vscanf("%5s", list)))
LIST_FORM(list_vfscanf, const long result = named_vfscanf(stream, "%5s", list))
LIST_FORM(list_isoc99_vscanf, AS_LIST(stdin, named_isoc99_vscanf("%5s", list)))
LIST_FORM(list_isoc99_vfscanf, const long result = named_isoc99_vfscanf(stream, "%5s", list))
SCANS(by_vscanf, list_vscanf, stream, word)
SCANS(by_vfscanf, list_vfscanf, stream, word)
SCANS(by_isoc99_vscanf, list_isoc99_vscanf, stream, word)
SCANS(by_isoc99_vfscanf, list_isoc99_vfscanf, stream, word)

struct function {
    const char *name;
    stream_function *run;
    bool is_of_standard; /* uses stdin or stdout, of which there is only one */
};

static const struct function writers[] = {
    {"fwrite", by_fwrite, false},
    {"fwrite_unlocked", by_fwrite_unlocked, false},
    {"fputs", by_fputs, false},
    {"fputs_unlocked", by_fputs_unlocked, false},
    {"puts", by_puts, true},
    {"fputc", by_fputc, false},
    {"putc", by_putc, false},
    {"_IO_putc", by_IO_putc, false},
    {"fputc_unlocked", by_fputc_unlocked, false},
    {"putc_unlocked", by_putc_unlocked, false},
    {"putchar", by_putchar, true},
    {"putchar_unlocked", by_putchar_unlocked, true},
    {"__overflow", by_overflow, false},
    {"printf", by_printf, true},
    {"fprintf", by_fprintf, false},
    {"dprintf", by_dprintf, false},
    {"vprintf", by_vprintf, true},
    {"vfprintf", by_vfprintf, false},
    {"vdprintf", by_vdprintf, false},
    {"__printf_chk", by_printf_chk, true},
    {"__fprintf_chk", by_fprintf_chk, false},
    {"__dprintf_chk", by_dprintf_chk, false},
    {"__vprintf_chk", by_vprintf_chk, true},
    {"__vfprintf_chk", by_vfprintf_chk, false},
    {"__vdprintf_chk", by_vdprintf_chk, false},
    {"fflush", by_fflush, false},
    {"fflush_unlocked", by_fflush_unlocked, false},
};

static const struct function readers[] = {
    {"fread", by_fread, false},
    {"fread_unlocked", by_fread_unlocked, false},
    {"__fread_chk", by_fread_chk, false},
    {"__fread_unlocked_chk", by_fread_unlocked_chk, false},
    {"fgets", by_fgets, false},
    {"fgets_unlocked", by_fgets_unlocked, false},
    {"__fgets_chk", by_fgets_chk, false},
    {"__fgets_unlocked_chk", by_fgets_unlocked_chk, false},
    {"getline", by_getline, false},
    {"getdelim", by_getdelim, false},
    {"__getdelim", by_inner_getdelim, false},
    {"fgetc", by_fgetc, false},
    {"getc", by_getc, false},
    {"_IO_getc", by_IO_getc, false},
    {"fgetc_unlocked", by_fgetc_unlocked, false},
    {"getc_unlocked", by_getc_unlocked, false},
    {"getchar", by_getchar, true},
    {"getchar_unlocked", by_getchar_unlocked, true},
    {"__uflow", by_uflow, false},
    {"__underflow", by_underflow, false},
    {"scanf", by_scanf, true},
    {"fscanf", by_fscanf, true},
    {"vscanf", by_vscanf, true},
    {"vfscanf", by_vfscanf, true},
    {"__isoc99_scanf", by_isoc99_scanf, true},
    {"__isoc99_fscanf", by_isoc99_fscanf, true},
    {"__isoc99_vscanf", by_isoc99_vscanf, true},
    {"__isoc99_vfscanf", by_isoc99_vfscanf, true},
};

/* --------------------------------------------------------------------------------------------------- situations */

struct ends {
    int from, to;
};

static struct ends open_pipe(void)
{
    int ends[2];
    MUST(pipe(ends) == 0);
    return (struct ends){ends[0], ends[1]};
}

static FILE *open_stream(int fd, const char *mode, int buffering)
{
    FILE *stream = fdopen(fd, mode);
    MUST(stream != NULL && setvbuf(stream, NULL, buffering, buffering == _IONBF ? 0 : 4096) == 0);
    return stream;
}

static void set_nonblocking(int fd, bool is_nonblocking)
{
    const int flags = fcntl(fd, F_GETFL);
    MUST(fcntl(fd, F_SETFL, is_nonblocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) == 0);
}

static void fill(int fd)
{
    static char bytes[4096];
    set_nonblocking(fd, true);
    while (syscall(SYS_write, fd, bytes, sizeof bytes) > 0)
        ;
    set_nonblocking(fd, false);
}

static long arrived(int fd)
{
    char bytes[8192];
    set_nonblocking(fd, true);
    errno = UNTOUCHED;
    return syscall(SYS_read, fd, bytes, sizeof bytes);
}

static long run_on(const struct hooked_call *call)
{
    FILE *const *stream = call->what;
    stream_function *const *run = (stream_function *const *)(const void *)(stream + 1);
    return (*run)(*stream);
}

struct waiting {
    FILE *stream;
    stream_function *run;
};

static void tell_waiting(const struct function *function, FILE *stream)
{
    const struct waiting waiting = {stream, function->run};
    const struct hooked_call call = {.run = run_on, .what = &waiting};
    if (function->is_of_standard || strstr(function->name, "dprintf") != NULL)
        return; /* a standard stream would stay replaced; glibc's dprintf leaves a stream on the thread's stack */
    hooked_tell_cancelled(function->name, &call);
    const int status = ftrylockfile(stream);
    if (status == 0)
        funlockfile(stream);
    TELL(function->name, "its stream is unlocked then", status);
}

/* Through a pipe of its own. */
static long pass_out(const struct hooked_call *call)
{
    const struct function *function = call->what;
    const struct ends ends = open_pipe();
    FILE *stream = open_stream(ends.to, "w", _IOFBF);
    const long result = function->run(stream);
    const long status = fclose(stream);
    const long bytes = arrived(ends.from);
    close(ends.from);
    return result >= 0 && status == 0 && bytes > 0;
}

static long pass_in(const struct hooked_call *call)
{
    const struct function *function = call->what;
    const struct ends ends = open_pipe();
    FILE *stream = open_stream(ends.from, "r", _IOFBF);
    MUST(syscall(SYS_write, ends.to, "text\nx text\n", 12) == 12);
    const long result = function->run(stream);
    fclose(stream);
    close(ends.to);
    return result > 0;
}

static void tell_writer(const struct function *function)
{
    struct ends ends = open_pipe();
    FILE *stream = open_stream(ends.to, "w", _IOFBF);
    TELL(function->name, "into a buffer", function->run(stream));
    TELL(function->name, "nothing has arrived", arrived(ends.from));
    TELL(function->name, "flushed", fflush(stream));
    TELL(function->name, "has arrived", arrived(ends.from));
    fclose(stream);
    close(ends.from);
    ends = open_pipe();
    stream = open_stream(ends.to, "w", _IONBF);
    TELL(function->name, "without a buffer", function->run(stream));
    TELL(function->name, "without a buffer, arrived", arrived(ends.from));
    fill(ends.to);
    set_nonblocking(ends.to, true);
    TELL(function->name, "no room", function->run(stream));
    TELL(function->name, "no room, noted", ferror(stream));
    clearerr(stream);
    set_nonblocking(ends.to, false);
    hooked_disturb(0, -1);
    TELL(function->name, "interrupted", function->run(stream));
    hooked_calm();
    clearerr(stream);
    tell_waiting(function, stream);
    close(ends.from);
    clearerr(stream);
    TELL(function->name, "nobody reads it", function->run(stream));
    TELL(function->name, "nobody reads it, noted", ferror(stream));
    TELL(function->name, "closed after that", fclose(stream) >= -1);
    stream = fopen("/dev/null", "r");
    MUST(stream != NULL);
    if (function->run != by_overflow) /* which must not be called then */
        TELL(function->name, "to a stream for reading", function->run(stream));
    fclose(stream);
}

static void tell_reader(const struct function *function)
{
    struct ends ends = open_pipe();
    FILE *stream = open_stream(ends.from, "r", _IOFBF);
    MUST(syscall(SYS_write, ends.to, "text\nx text\n", 12) == 12);
    TELL(function->name, "first", function->run(stream));
    TELL(function->name, "second", function->run(stream));
    close(ends.to);
    while (fgetc(stream) != EOF)
        ;
    TELL(function->name, "the end", function->run(stream));
    TELL(function->name, "the end, noted", feof(stream) != 0);
    fclose(stream);
    ends = open_pipe();
    stream = open_stream(ends.from, "r", _IOFBF);
    set_nonblocking(ends.from, true);
    TELL(function->name, "nothing there", function->run(stream));
    TELL(function->name, "nothing there, noted", ferror(stream));
    clearerr(stream);
    set_nonblocking(ends.from, false);
    hooked_disturb(0, -1);
    TELL(function->name, "interrupted", function->run(stream));
    hooked_calm();
    clearerr(stream);
    tell_waiting(function, stream);
    fclose(stream);
    close(ends.to);
    stream = fopen("/dev/null", "w");
    MUST(stream != NULL);
    if (function->run != by_uflow && function->run != by_underflow)
        TELL(function->name, "from a stream for writing", function->run(stream));
    fclose(stream);
    stream = fopen("/", "r");
    if (stream != NULL) {
        TELL(function->name, "from a folder", function->run(stream));
        fclose(stream);
    }
}

/* --------------------------------------------------------------------------------------------- opening, closing */

static long run_shell(const struct hooked_call *call)
{
    char text[8] = "";
    FILE *stream = popen("echo text; exit 3", "r");
    (void)call;
    if (stream == NULL || fgets(text, sizeof text, stream) == NULL)
        return -1;
    const int status = pclose(stream);
    return WIFEXITED(status) ? WEXITSTATUS(status) + (strcmp(text, "text\n") == 0 ? 0 : 100) : -2;
}

static void tell_opening(void)
{
    const struct hooked_call shell = {.run = run_shell};
    TELL("popen", "a shell", run_shell(&shell));
    TELL("popen", "a bad mode", popen("true", "x") != NULL);
    FILE *to_shell = popen("cat > /dev/null; exit 4", "w");
    MUST(to_shell != NULL && fputs("text", to_shell) >= 0);
    TELL("pclose", "its status", WEXITSTATUS(pclose(to_shell)));
    hooked_tell_forked("popen", "in a child", &shell);
    struct ends ends = open_pipe();
    FILE *stream = open_stream(ends.to, "w", _IOFBF);
    fputs("text", stream);
    TELL("fclose", "flushes", fclose(stream));
    TELL("fclose", "arrived", arrived(ends.from));
    TELL("fclose", "its descriptor is closed", fcntl(ends.to, F_GETFD));
    close(ends.from);
    ends = open_pipe();
    stream = open_stream(ends.to, "w", _IOFBF);
    fputs("text", stream);
    close(ends.from);
    TELL("fclose", "nobody reads it", fclose(stream));
    stream = fopen("/dev/null", "w");
    MUST(stream != NULL);
    const int number = fileno(stream);
    TELL("freopen", "another file", named_freopen("/dev/zero", "r", stream) == stream);
    TELL("freopen", "with its number", fileno(stream) == number);
    TELL("freopen", "is read", fgetc(stream));
    TELL("freopen64", "another file", named_freopen64("/dev/null", "r", stream) == stream);
    TELL("freopen64", "is read", fgetc(stream));
    TELL("freopen", "no file", named_freopen("/nonexistent/file", "r", stream) != NULL);
    TELL("fflush", "all streams", named_fflush(NULL));
}

/* Streams that are there before, as opening one would put the threads in an order. */
struct prepared {
    FILE *streams[200];
    size_t taken;
};

static FILE *take(const struct hooked_call *call)
{
    struct prepared *prepared = (struct prepared *)(uintptr_t)call->what;
    return prepared->streams[__atomic_fetch_add(&prepared->taken, 1, __ATOMIC_RELAXED)];
}

static long close_prepared(const struct hooked_call *call) { return fclose(take(call)) == 0; }
static long flush_prepared(const struct hooked_call *call) { return named_fflush(take(call)) == 0; }
static long reopen_prepared(const struct hooked_call *call)
{
    return named_freopen("/dev/null", "w", take(call)) != NULL;
}

/* The first calls of these functions in the process, which look up the real ones, are made by several threads. */
static void tell_first_calls(void)
{
    static struct prepared prepared;
    const size_t count = sizeof prepared.streams / sizeof prepared.streams[0];
    for (size_t at = 0; at < count; at++)
        MUST((prepared.streams[at] = fopen("/dev/null", "w")) != NULL);
    hooked_tell_together("fflush", &(struct hooked_call){.run = flush_prepared, .what = &prepared});
    prepared.taken = 0;
    hooked_tell_together("freopen", &(struct hooked_call){.run = reopen_prepared, .what = &prepared});
    prepared.taken = 0;
    hooked_tell_together("fclose", &(struct hooked_call){.run = close_prepared, .what = &prepared});
}

/* Some use stdin or stdout, of which there is one. */
static void tell_all(const struct function *functions, size_t count, void (*tell)(const struct function *function),
                     long (*pass)(const struct hooked_call *call), bool is_crowd)
{
    for (size_t at = 0; at < count; at++) {
        const struct hooked_call call = {.run = pass, .what = &functions[at]};
        if (!is_crowd) {
            tell(&functions[at]);
            hooked_tell_forked(functions[at].name, "in a child", &call);
        }
        if (!functions[at].is_of_standard)
            hooked_tell_together(functions[at].name, &call);
    }
}

void hooked_streams(bool is_crowd)
{
    if (is_crowd)
        tell_first_calls();
    else
        tell_opening();
    tell_all(writers, sizeof writers / sizeof writers[0], tell_writer, pass_out, is_crowd);
    tell_all(readers, sizeof readers / sizeof readers[0], tell_reader, pass_in, is_crowd);
}
#else
void hooked_streams(bool is_crowd) { (void)is_crowd; }
#endif
