/*
 * A program that copies a file byte by byte: each byte costs two system calls. `hotpath run --io` names the
 * function, the file and the size: "emit_char writes 1 byte at a time to copy". A buffer, as stdio has one, makes
 * it a hundred times as fast: ./one_byte_reads buffered
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hotpath.h"

#define BYTES 200000

static char folder[] = "/tmp/one_byte_reads.XXXXXX", from[100], to[100];

__attribute__((noinline)) static int next_char(int fd)
{
    char byte;
    return read(fd, &byte, 1) == 1 ? byte : -1;
}

__attribute__((noinline)) static void emit_char(int fd, int byte)
{
    const char one = (char)byte;
    if (write(fd, &one, 1) != 1)
        exit(1);
}

static void copy_bytes(void)
{
    HOTPATH_MEASURE();
    int in = open(from, O_RDONLY), out = open(to, O_CREAT | O_WRONLY, 0600), byte;
    while ((byte = next_char(in)) >= 0)
        emit_char(out, byte);
    close(in);
    close(out);
}

static void copy_buffered(void)
{
    HOTPATH_MEASURE();
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    int byte;
    if (in == NULL || out == NULL)
        exit(1);
    while ((byte = getc(in)) != EOF)
        putc(byte, out);
    fclose(in);
    fclose(out);
}

int main(int count, char **arguments)
{
    HOTPATH_MAIN();
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(from, sizeof from, "%s/original", folder);
    snprintf(to, sizeof to, "%s/copy", folder);
    FILE *file = fopen(from, "w");
    for (int at = 0; at < BYTES && file != NULL; at++)
        putc('a' + at % 26, file);
    if (file == NULL || fclose(file) != 0)
        return 1;
    if (count > 1 && strcmp(arguments[1], "buffered") == 0)
        copy_buffered();
    else
        copy_bytes();
    unlink(from);
    unlink(to);
    rmdir(folder);
    return 0;
}
