/*
 * Streams of the C library on pipes, in a program without hotpath. The other end of each pipe is used by system
 * calls that are not seen, and counts what went through. Prints a line for each pipe: what was done, the number of
 * the pipe, the bytes. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEED(condition)                                                                                            \
    do {                                                                                                           \
        if (!(condition)) {                                                                                        \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, strerror(errno));                           \
            _exit(99);                                                                                             \
        }                                                                                                          \
    } while (0)

static FILE *told; /* the answers go here, not into the streams under test */

static void tell(const char *what, uint64_t value)
{
    fprintf(told, "%s %llu\n", what, (unsigned long long)value);
    fflush(told);
}

static void tell_pipe(const char *what, int number, uint64_t bytes)
{
    struct stat file;
    NEED(fstat(number, &file) == 0);
    fprintf(told, "%s [%llu] %llu\n", what, (unsigned long long)file.st_ino, (unsigned long long)bytes);
    fflush(told);
}

/* Pieces of all sizes, the same in each run. */
static uint32_t state = 1;
static size_t piece(size_t most) { return 1 + (state = state * 1664525u + 1013904223u) / 256 % most; }

/* ----------------------------------------------------------------------------------------------- the other end */

struct other_end {
    int number;
    uint64_t bytes;
    size_t most; /* of a piece that it writes */
};

static void *drain(void *end_)
{
    struct other_end *end = end_;
    char bytes[5000];
    for (long got; (got = syscall(SYS_read, end->number, bytes, sizeof bytes)) > 0;)
        end->bytes += (uint64_t)got;
    return NULL;
}

/* Lines of 7 bytes. */
static void *feed(void *end_)
{
    struct other_end *end = end_;
    static char bytes[70000];
    uint32_t own = 7;
    for (size_t at = 0; at + 7 <= sizeof bytes; at += 7)
        memcpy(bytes + at, "123456\n", 7);
    while (end->bytes < sizeof bytes) {
        size_t size = end->most / 2 + (own = own * 1664525u + 1013904223u) / 256 % end->most;
        const size_t left = sizeof bytes - (size_t)end->bytes;
        size = size < left ? size : left;
        NEED(syscall(SYS_write, end->number, bytes + end->bytes, size) == (long)size);
        end->bytes += size;
    }
    syscall(SYS_close, end->number);
    return NULL;
}

/* -------------------------------------------------------------------------------------------------- one by one */

static char text[12000];

static __attribute__((format(printf, 2, 3))) void print_by_list(FILE *stream, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    NEED(vfprintf(stream, format, list) >= 0);
    va_end(list);
}

static void write_by(int way, FILE *out)
{
    const size_t size = piece(way % 2 ? 60 : sizeof text - 1);
    const char saved = text[size];
    text[size] = '\0';
    if (way < 2)
        NEED(fwrite(text, 1, size, out) == size);
    else if (way < 4)
        NEED(fwrite_unlocked(text, size, 1, out) == 1);
    else if (way < 6)
        NEED(fputs(text, out) >= 0);
    else if (way < 8)
        NEED(fprintf(out, "%s", text) == (int)size);
    else if (way < 10)
        print_by_list(out, "%d %s\n", 42, text);
    else
        for (size_t at = 0; at < size; at++)
            NEED((way < 12   ? putc(text[at], out)
                  : way < 14 ? fputc(text[at], out)
                             : putc_unlocked(text[at], out)) >= 0);
    text[size] = saved;
    if (piece(5) == 1)
        NEED(fflush(out) == 0);
}

static const char *const writers[] = {"fwrite", "fwrite_unlocked", "fputs",        "fprintf", "vfprintf",
                                      "putc",   "fputc",           "putc_unlocked"};

static void write_each(void)
{
    memset(text, 'x', sizeof text);
    for (int way = 0; way < 16; way++)
        for (int buffer = 0; buffer < 3; buffer++) { /* whole blocks, lines, none */
            static const int modes[] = {_IOFBF, _IOLBF, _IONBF};
            int ends[2];
            pthread_t thread;
            NEED(pipe(ends) == 0);
            struct other_end end = {.number = ends[0]};
            NEED(pthread_create(&thread, NULL, drain, &end) == 0);
            FILE *out = fdopen(ends[1], "w");
            NEED(out != NULL && setvbuf(out, NULL, modes[buffer], way % 4 == 3 ? 1000 : 4096) == 0);
            for (int at = 0; at < (way < 10 ? 40 : 2); at++)
                write_by(way, out);
            NEED(fclose(out) == 0 && pthread_join(thread, NULL) == 0);
            tell_pipe(writers[way / 2], ends[0], end.bytes);
            syscall(SYS_close, ends[0]);
        }
}

/* How much it read; 0: the end. */
static size_t read_by(int way, FILE *in)
{
    static char bytes[20000];
    static char *line;
    static size_t room;
    ssize_t length;
    switch (way) {
    case 0:
        return fread(bytes, 1, piece(300), in);
    case 1:
        return (fread_unlocked)(bytes, 1, piece(sizeof bytes), in); /* not the macro */
    case 2:
        return fgets(bytes, 5, in) != NULL ? strlen(bytes) : 0;
    case 3:
        return fgets(bytes, sizeof bytes, in) != NULL ? strlen(bytes) : 0;
    case 4:
        length = getline(&line, &room, in);
        return length > 0 ? (size_t)length : 0;
    case 5:
        length = getdelim(&line, &room, '\1', in); /* all of it */
        return length > 0 ? (size_t)length : 0;
    case 6:
        return getc(in) != EOF;
    case 7:
        return fgetc(in) != EOF && ungetc('u', in) != EOF && fgetc(in) == 'u'; /* put back another one */
    case 8:
        return getc_unlocked(in) != EOF;
    default:
        return fscanf(in, "%99s ", bytes) == 1 ? strlen(bytes) + 1 : 0;
    }
}

static void read_each(void)
{
    static const char *const readers[] = {"fread",    "fread_unlocked", "fgets", "fgets",         "getline",
                                          "getdelim", "getc",           "fgetc", "getc_unlocked", "fscanf"};
    for (int way = 0; way < 10; way++)
        for (size_t most = way < 9 ? 6 : 600; most <= 6000; most *= 10) {
            int ends[2];
            uint64_t got = 0;
            pthread_t thread;
            NEED(pipe(ends) == 0);
            struct other_end end = {.number = ends[1], .most = most};
            FILE *in = fdopen(ends[0], "r");
            NEED(in != NULL && pthread_create(&thread, NULL, feed, &end) == 0);
            for (size_t part; (part = read_by(way, in)) != 0;)
                got += part;
            NEED(pthread_join(thread, NULL) == 0 && got == end.bytes);
            tell_pipe(readers[way], ends[0], end.bytes);
            NEED(fclose(in) == 0);
        }
}

/* ----------------------------------------------------------------------------------------------------- threads */

static void *write_lines(void *stream)
{
    for (int at = 0; at < 5000; at++) {
        NEED(fprintf(stream, "line %d\n", at) > 0 && fputs("a text\n", stream) >= 0 && putc('\n', stream) == '\n');
        NEED(fwrite("some bytes\n", 1, 11, stream) == 11);
    }
    return NULL;
}

/* Several threads write to one stream. */
static void shared(void)
{
    int ends[2];
    pthread_t reader, writers_[4];
    NEED(pipe(ends) == 0);
    struct other_end end = {.number = ends[0]};
    FILE *out = fdopen(ends[1], "w");
    NEED(pthread_create(&reader, NULL, drain, &end) == 0);
    for (int at = 0; at < 4; at++)
        NEED(pthread_create(&writers_[at], NULL, write_lines, out) == 0);
    for (int at = 0; at < 4; at++)
        NEED(pthread_join(writers_[at], NULL) == 0);
    NEED(fclose(out) == 0 && pthread_join(reader, NULL) == 0);
    tell_pipe("shared", ends[0], end.bytes);
}

#define TABLE 21 /* the functions of a stream, after two words that are not used */

/* Whether the table of a stream's functions is as the C library made it: it points into the C library. */
static bool is_untouched(FILE *stream)
{
    Dl_info libc, own;
    void **const table = *(void ***)(void *)(stream + 1);
    NEED(dladdr((void *)(uintptr_t)gnu_get_libc_version, &libc) != 0);
    for (int at = 2; at < TABLE; at++)
        if (dladdr(table[at], &own) == 0 || own.dli_fbase != libc.dli_fbase)
            return false;
    return true;
}

static pthread_barrier_t together;

static void *open_children(void *untouched)
{
    char line[20];
    for (int at = 0; at < 20; at++) {
        pthread_barrier_wait(&together);
        FILE *child = popen("echo 12345", "r");
        NEED(child != NULL && fgets(line, sizeof line, child) == line && strcmp(line, "12345\n") == 0);
        if (!is_untouched(child))
            *(bool *)untouched = false;
        NEED(pclose(child) == 0);
    }
    return NULL;
}

static void popens(void)
{
    pthread_t threads[4];
    bool untouched = is_untouched(stdout);
    NEED(pthread_barrier_init(&together, NULL, 4) == 0);
    for (int at = 0; at < 4; at++)
        NEED(pthread_create(&threads[at], NULL, open_children, &untouched) == 0);
    for (int at = 0; at < 4; at++)
        NEED(pthread_join(threads[at], NULL) == 0);
    tell("untouched", untouched);
}

/* The stream is not closed: what it has left is written by exit. */
static void left(void)
{
    FILE *out = fdopen(dup(1), "w");
    for (int at = 0; at < 1000; at++)
        NEED(fprintf(out, "line %d\n", at) > 0);
}

/* ------------------------------------------------------------------------------- what the program would notice */

static void *fill(void *stream)
{
    static char bytes[200000];
    return fwrite(bytes, 1, sizeof bytes, stream) != 0 ? stream : NULL;
}

static void outcomes(void)
{
    int ends[2];
    char bytes[100] = "";
    void *result;
    pthread_t thread;
    NEED(pipe(ends) == 0);
    FILE *in = fdopen(ends[0], "r"), *out = fdopen(ends[1], "w");
    NEED(pthread_create(&thread, NULL, fill, out) == 0);
    usleep(50000);
    NEED(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    tell("cancelled", result == PTHREAD_CANCELED);
    tell("unlocked", ftrylockfile(out) == 0);
    funlockfile(out);
    NEED(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    tell("refused", fputs("more", out) >= 0 && fflush(out) == EOF && errno == EAGAIN && ferror(out));
    clearerr(out);
    tell("bytes", fread(bytes, 1, sizeof bytes, in));
    tell("back", ungetc('b', in) == 'b' && getc(in) == 'b');
    tell("wrong", fputs("x", in) == EOF && errno == EBADF && fgetc(out) == EOF && errno == EBADF);
    signal(SIGPIPE, SIG_IGN);
    NEED(fclose(in) == 0);
    tell("broken", fputs("x", out) >= 0 && fclose(out) == EOF && errno == EPIPE);
    /* streams without a descriptor */
    char *made = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&made, &size);
    NEED(fprintf(memory, "%d %s", 1, "two") == 5 && putc('3', memory) == '3' && fclose(memory) == 0);
    tell("made", size == 6 && strcmp(made, "1 two3") == 0);
    memory = fmemopen(made, size, "r");
    NEED(fscanf(memory, "%d %s", &ends[0], bytes) == 2);
    tell("scanned", strcmp(bytes, "two3") == 0);
    NEED(fclose(memory) == 0);
    free(made);
    NEED(pipe(ends) == 0);
    out = fdopen(ends[1], "w");
    errno = E2BIG;
    NEED(fputs("something", out) >= 0 && fflush(NULL) == 0);
    tell("flushed", read(ends[0], bytes, sizeof bytes) == 9);
    NEED(fputs("more", out) >= 0 && (out = freopen("/dev/null", "w", out)) != NULL);
    tell("reopened", read(ends[0], bytes, sizeof bytes) == 4 && fileno(out) == ends[1]);
    tell("errno", (uint64_t)errno);
    NEED(fclose(out) == 0);
    tell("number", (uint64_t)open("/dev/null", O_RDONLY)); /* the lowest that is free */
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"write_each", write_each}, {"read_each", read_each}, {"shared", shared},
                 {"popens", popens},         {"left", left},           {"outcomes", outcomes}};
    told = stdout;
    for (size_t at = 0; count > 1 && at < sizeof cases / sizeof cases[0]; at++)
        if (strcmp(arguments[1], cases[at].name) == 0) {
            cases[at].run();
            return 0;
        }
    return 2;
}
