/*
 * I/O of stdio streams (printf, fread, getline) does not go through the program's read and write, but through
 * function tables that each stream points to, for streams of files and of popen. In glibc these tables are data
 * that is read-only after startup, and their entries for reading and writing are exported functions. If a table has
 * exactly these entries, we replace them by ours. With any other C library, streams are not seen.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <stdio.h>

#include "descriptors.h"
#include "real_functions.h"

#ifdef __GLIBC__
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loaded_image.h"

typedef ssize_t move_for_stream(FILE *stream, void *bytes, ssize_t size);

/* In our headers these two are the same. */
HP_PUBLIC FILE *reopen_large(const char *path, const char *mode, FILE *stream) __asm__("freopen64");
HP_PUBLIC FILE *reopen(const char *path, const char *mode, FILE *stream) __asm__("freopen");

static struct {
    HP_BEHIND_US(fclose);
    HP_BEHIND_US(pclose);
    HP_BEHIND_US(popen);
    __typeof__(reopen) *freopen;
    __typeof__(reopen_large) *freopen64;
    move_for_stream *_IO_file_read, *_IO_file_write;
} next;

/* ------------------------------------------------------------------------------------------------- streams */

static bool is_over; /* what is written from now on is counted already */

static void end(const struct hotpath_transfer_ *transfer, ssize_t result)
{
    hotpath_v1_transferred(transfer, result > 0, result > 0 ? (uint64_t)result : 0,
                           result < 0 && transfer->is_sending && errno == EAGAIN);
}

static ssize_t read_for_stream(FILE *stream, void *bytes, ssize_t size)
{
    struct hotpath_transfer_ transfer;
    const bool is_known = hp_transfer_begin(stream->_fileno, false, &transfer);
    const ssize_t result = next._IO_file_read(stream, bytes, size);
    if (is_known)
        end(&transfer, result);
    return result;
}

static ssize_t write_for_stream(FILE *stream, void *bytes, ssize_t size)
{
    struct hotpath_transfer_ transfer;
    const bool is_known = !is_over && hp_transfer_begin(stream->_fileno, true, &transfer);
    const ssize_t result = next._IO_file_write(stream, bytes, size);
    if (is_known)
        end(&transfer, result);
    return result;
}

/* ------------------------------------------------------------------------------------------------- tables */

/* Their indexes in a table, since glibc 2.1. */
enum { READ = 14, WRITE = 15 };

static int is_read_only(struct dl_phdr_info *image, size_t size, void *table)
{
    (void)size;
    return hp_loaded_segment(image, PT_GNU_RELRO, (uintptr_t)table) != NULL;
}

/* Stores whole pointers, so that concurrent users of the table call either one or the other. */
static void stand_in_front(move_for_stream **table)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)&table[READ] & ~(page - 1),
                    to = ((uintptr_t)&table[WRITE + 1] + page - 1) & ~(page - 1);
    if (table == NULL || next._IO_file_read == NULL || table[READ] != next._IO_file_read ||
        table[WRITE] != next._IO_file_write || dl_iterate_phdr(is_read_only, table) == 0 ||
        mprotect((void *)from, to - from, PROT_READ | PROT_WRITE) != 0)
        return;
    __atomic_store_n(&table[READ], read_for_stream, __ATOMIC_RELEASE);
    __atomic_store_n(&table[WRITE], write_for_stream, __ATOMIC_RELEASE);
    mprotect((void *)from, to - from, PROT_READ);
}

static void find_each(void)
{
    HP_FIND(fclose);
    HP_FIND(pclose);
    HP_FIND(popen);
    HP_FIND(freopen);
    HP_FIND(freopen64);
    HP_FIND(_IO_file_read);
    HP_FIND(_IO_file_write);
}

static void find_next(void) { hp_resolve_all(find_each); }

__attribute__((constructor)) static void begin(void)
{
    find_next();
    if (hp_resolve_has_sanitizer() || !HP_IS_THERE(_IO_file_write))
        return;
    stand_in_front(hp_resolve_symbol("_IO_file_jumps"));
    stand_in_front(hp_resolve_symbol("_IO_wfile_jumps"));
}

/*
 * The C library flushes streams at exit, when we are gone. So their contents are counted now, without the time it
 * will take. Flushing now would change the order of the output.
 */
__attribute__((destructor)) static void count_what_is_left(void)
{
    FILE *const *const first = hp_resolve_symbol("_IO_list_all");
    for (FILE *stream = first != NULL ? *first : NULL; stream != NULL; stream = stream->_chain) {
        struct hotpath_transfer_ transfer;
        const char *const from = stream->_IO_write_base, *const to = stream->_IO_write_ptr;
        move_for_stream **const table = *(move_for_stream ***)(void *)(stream + 1);
        if (to > from && table[WRITE] == write_for_stream && hp_transfer_begin(stream->_fileno, true, &transfer))
            hotpath_v1_transferred(&transfer, 1, (uint64_t)(to - from), 0);
    }
    is_over = true;
}

/* ------------------------------------------------------------------------------------ streams opened and closed */

#define NEED(name)                                                                                                 \
    if (__builtin_expect(!HP_IS_THERE(name), 0))                                                                   \
    find_next()

/* After the call, which flushes the stream. */
HP_PUBLIC int fclose(FILE *stream)
{
    NEED(fclose);
    const int number = stream->_fileno, result = HP_IS_THERE(fclose) ? next.fclose(stream) : EOF;
    hp_descriptor_forget(number);
    return result;
}

HP_PUBLIC int pclose(FILE *stream)
{
    NEED(pclose);
    const int number = stream->_fileno, result = HP_IS_THERE(pclose) ? next.pclose(stream) : hp_no_such_function();
    hp_descriptor_forget(number);
    return result;
}

/* popen streams have their own table, without a name; it is found behind the data that all streams have. */
HP_PUBLIC FILE *popen(const char *command, const char *mode)
{
    NEED(popen);
    FILE *stream = HP_IS_THERE(popen) ? next.popen(command, mode) : NULL;
    if (stream != NULL && !hp_resolve_has_sanitizer())
        stand_in_front(*(move_for_stream ***)(void *)(stream + 1));
    return stream;
}

static FILE *forget(int number, FILE *stream)
{
    hp_descriptor_forget(number);
    if (stream != NULL)
        hp_descriptor_forget(stream->_fileno);
    return stream;
}

HP_PUBLIC FILE *reopen(const char *path, const char *mode, FILE *stream)
{
    NEED(freopen);
    const int number = stream->_fileno;
    return forget(number, HP_IS_THERE(freopen) ? next.freopen(path, mode, stream) : NULL);
}

HP_PUBLIC FILE *reopen_large(const char *path, const char *mode, FILE *stream)
{
    NEED(freopen64);
    const int number = stream->_fileno;
    return forget(number, HP_IS_THERE(freopen64) ? next.freopen64(path, mode, stream) : NULL);
}
#endif
